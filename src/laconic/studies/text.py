"""What the studies of text share: words, bounds along a path, tables of words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.monitor import Monitor
from laconic.problem.solution import Solution
from laconic.relaxations.row_levels import RowLevels, RowLevelSolution
from laconic.studies.base import Statement

if TYPE_CHECKING:
    import pandas as pd

# Bounds are read to a tenth of a per cent.
BOUND = RowLevels(tolerance=1e-4, max_iterations=200, least_progress=0.02)


def show(monitor: Monitor, stage: str) -> None:
    """Show how far a study is. When time is up the solvers answer at once, and the study ends with what it has.

    Parameters
    ----------
    monitor
        Of the study.
    stage
        What comes next.
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
        Of all features.
    """
    return [names[i] for i in solution.support[np.argsort(-np.abs(solution.loadings), kind="stable")]]


def row_level_bounds(S: Floats, solutions: Sequence[Solution], monitor: Monitor) -> list[float]:
    """Return a proved upper bound for each cardinality 1, 2, ..., each solve started from the one before.

    Parameters
    ----------
    S
        A symmetric matrix.
    solutions
        What was found for each cardinality; a bound down to its value needs no more work.
    monitor
        Stops in time.
    """
    bounds: list[float] = []
    last: RowLevelSolution | None = None
    for k, found in enumerate(solutions, start=1):
        if monitor.stopped is not None:
            bounds.append(found.upper)
            continue
        last = BOUND.solve(
            S, k, start=last, vector=found.vector(len(S)), known=found.value * (1 + 1e-9), monitor=monitor
        )
        bounds.append(min(last.upper, found.upper))
    return bounds


def side_by_side(columns: Mapping[str, Sequence[str]]) -> "pd.DataFrame":
    """Return lists of words as columns of a table, the shorter ones filled up with nothing.

    Parameters
    ----------
    columns
        The lists by heading.
    """
    import pandas as pd

    longest = max(len(column) for column in columns.values())
    return pd.DataFrame({name: [*column, *[""] * (longest - len(column))] for name, column in columns.items()})


def listed(items: Sequence[object]) -> str:
    """Return "a, b and c".

    Parameters
    ----------
    items
        What to list.
    """
    if not items:
        return "none"
    *others, last = map(str, items)
    return f"{', '.join(others)} and {last}" if others else last


def marked_if_stopped(summary: str, statements: tuple[Statement, ...], monitor: Monitor) -> dict[str, Any]:
    """Return summary and statements by the names that `Study` has for them; a run that was stopped says so.

    Parameters
    ----------
    summary, statements
        As they are after a full run.
    monitor
        Of the study.
    """
    if monitor.stopped is not None:
        summary = f"This run was stopped before its end, and its numbers are those of that moment. {summary}"
        verdict = "differs because the run was stopped before its end."
        statements = tuple(replace(statement, verdict=verdict) for statement in statements)
    return {"summary": summary, "statements": statements}


def agrees_if(holds: bool, otherwise: str) -> str:
    """Return the verdict "agrees" if something holds, and another if not.

    Parameters
    ----------
    holds
        What decides.
    otherwise
        The verdict if it does not hold.
    """
    return "agrees" if holds else otherwise
