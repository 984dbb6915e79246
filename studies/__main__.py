"""Run one study, or all: `python -m studies NAME [--out FOLDER] [--quick] [--seed INT]`."""

import argparse
from importlib import import_module
from pathlib import Path

from studies import STUDIES


def main():
    parser = argparse.ArgumentParser(prog="python -m studies", description="Repeat an application of the paper.")
    parser.add_argument("name", choices=[*STUDIES, "all"])
    parser.add_argument("--out", type=Path, default=Path("build/studies"), help="the folder of the results")
    parser.add_argument("--quick", action="store_true", help="run a smaller version")
    parser.add_argument("--seed", type=int, default=0, help="the seed of random numbers")
    given = parser.parse_args()
    for name in STUDIES if given.name == "all" else [given.name]:
        try:
            study = import_module(f"studies.{name.replace('-', '_')}").run(quick=given.quick, seed=given.seed)
        except FileNotFoundError as error:
            raise SystemExit(str(error)) from None
        page = study.write(given.out / name)
        for _, ours, verdict in study.statements:
            print(f"{verdict}: {ours}")
        print(f"Wrote {page}.")


if __name__ == "__main__":
    main()
