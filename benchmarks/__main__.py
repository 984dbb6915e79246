"""Print the tables of docs/benchmarks.md: python -m benchmarks [values] [speed] [relaxations] [bounds] [exact] [span].

The parts `large`, `ssvd`, `missing` and `wide` need 15 GB of disk, R, or half an hour, and `joint` takes hours. They,
`choosing`, `resampling` and `instances` run only if they are named. `instances` writes docs/instances.md.
"""

import importlib
import sys

TITLES = {
    "values": "Value",
    "speed": "Speed and memory",
    "relaxations": "The l1 relaxation",
    "bounds": "Upper bounds",
    "exact": "The exact solver",
    "span": "Components together",
}
ON_REQUEST = {
    "joint": "Joint questions",
    "choosing": "How many",
    "large": "Large data",
    "missing": "Missing values",
    "resampling": "Rows drawn again",
    "wide": "Wide standardised data",
    "ssvd": "Compared with ssvd",
    "instances": "Instances",
}


def main(names: list[str]) -> None:
    for name in names or list(TITLES):
        # A part is imported when it runs, because each needs packages of its own.
        table = importlib.import_module(f"benchmarks.{name}").table
        try:
            print(f"## {(TITLES | ON_REQUEST)[name]}\n\n{table()}\n", flush=True)
        except FileNotFoundError as error:
            raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main(sys.argv[1:])
