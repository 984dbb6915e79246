"""Print the tables: python -m benchmarks [values] [speed] [relaxations] [bounds] [exact]."""

import sys

from benchmarks import bounds, exact, relaxations, speed, values

TABLES = {
    "values": ("Percent below the best known value (0 is best)", values.table),
    "speed": ("Speed and memory, one component", speed.table),
    "relaxations": ("The l1 relaxation, one BLAS thread, relative gap 1e-4", relaxations.table),
    "bounds": ("Upper bounds, one BLAS thread", bounds.table),
    "exact": ("The exact solver, one BLAS thread", exact.table),
}


def main(names: list[str]) -> None:
    for name in names or list(TABLES):
        title, table = TABLES[name]
        print(f"## {title}\n\n{table()}\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
