"""The applications of the paper, repeated: each study makes figures, tables and a page."""

from importlib import import_module

from laconic.studies.base import Runner, Settings, Statement, Study

# Study name -> module with a function `run(settings)`. A module is imported when its study is requested.
STUDIES = {
    "news": "news",
    "china": "china",
    "senate": "senate",
    "stocks": "stocks",
    "random-matrices": "random_matrices",
    "recovery": "recovery",
}


def get_study(name: str) -> Runner:
    """Return the function that runs a study.

    Parameters
    ----------
    name
        One of the names in `STUDIES`.
    """
    if name not in STUDIES:
        raise ValueError(f"study {name!r} is not known; choose one of {', '.join(STUDIES)}.")
    runner: Runner = import_module(f"laconic.studies.{STUDIES[name]}").run
    return runner


__all__ = ["STUDIES", "Runner", "Settings", "Statement", "Study", "get_study"]
