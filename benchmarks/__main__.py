"""Print the tables of docs/benchmarks.md: python -m benchmarks [values] [speed] [relaxations] [bounds] [exact]."""

import sys

from benchmarks import bounds, exact, relaxations, speed, values

TABLES = {
    "values": ("Value", values.table),
    "speed": ("Speed and memory", speed.table),
    "relaxations": ("The l1 relaxation", relaxations.table),
    "bounds": ("Upper bounds", bounds.table),
    "exact": ("The exact solver", exact.table),
}


def main(names: list[str]) -> None:
    for name in names or list(TABLES):
        title, table = TABLES[name]
        print(f"## {title}\n\n{table()}\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
