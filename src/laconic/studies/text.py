"""Functions that the studies of text share: words of a component, sentences and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.monitor import Monitor
from laconic.search.problem import Solution
from laconic.studies.base import Statement

if TYPE_CHECKING:
    import pandas as pd


def show(monitor: Monitor, stage: str) -> None:
    """Show the next stage of a study.

    This never stops the study. After the time limit the solvers return at once, and the study ends with the results it
    has.

    Parameters
    ----------
    monitor
        The monitor of the study.
    stage
        The next stage, for the display.
    """
    with monitor.watch():
        monitor.tick(stage)


def words_of(solution: Solution, names: Sequence[str]) -> list[str]:
    """Return the words of a component, largest loading first.

    Parameters
    ----------
    solution
        The component.
    names
        The words of all features.
    """
    return [names[i] for i in solution.support[np.argsort(-np.abs(solution.loadings), kind="stable")]]


def side_by_side(columns: Mapping[str, Sequence[str]]) -> "pd.DataFrame":
    """Return lists of words as columns of a table. Shorter lists end with empty cells.

    Parameters
    ----------
    columns
        The lists by column heading.
    """
    import pandas as pd

    longest = max(len(column) for column in columns.values())
    return pd.DataFrame({name: [*column, *[""] * (longest - len(column))] for name, column in columns.items()})


def listed(items: Sequence[object]) -> str:
    """Return the items as "a, b and c", or "none" if there are none.

    Parameters
    ----------
    items
        The items to list.
    """
    if not items:
        return "none"
    *others, last = map(str, items)
    return f"{', '.join(others)} and {last}" if others else last


def marked_if_stopped(summary: str, statements: tuple[Statement, ...], monitor: Monitor) -> dict[str, Any]:
    """Return summary and statements as arguments of `Study`. If the run was stopped early, both say so.

    Parameters
    ----------
    summary, statements
        The texts of a full run.
    monitor
        The monitor of the study. It knows whether the run was stopped.
    """
    if monitor.stopped is not None:
        summary = f"This run was stopped early. Its numbers are not final. {summary}"
        verdict = "differs because the run was stopped early."
        statements = tuple(replace(statement, verdict=verdict) for statement in statements)
    return {"summary": summary, "statements": statements}


def agrees_if(holds: bool, otherwise: str) -> str:
    """Return the verdict "agrees" if a condition holds, and another verdict if not.

    Parameters
    ----------
    holds
        The condition.
    otherwise
        The verdict if the condition does not hold.
    """
    return "agrees" if holds else otherwise
