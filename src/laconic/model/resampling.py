"""Tables that are made at random, and the same work on many: in order, in parallel, and until the time is over."""

import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed

from laconic.core.monitor import Monitor, Stop
from laconic.core.words import is_whole
from laconic.covariance.make import Made, Recipe

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

Result = TypeVar("Result")

# EM makes at most so many steps in each table. It mostly needs fewer: its steps come near the end long before it.
MOST_STEPS = 50


def seed_of(model: "SparsePCA") -> int:
    """Return the seed that all tables of a run are made from."""
    state: Any = 0 if model.random_state is None else model.random_state
    return int(state) if is_whole(state) else int(state.randint(2**31 - 1))


def check_rows(made: Made, function: str) -> None:
    """Raise a ValueError unless there are rows in memory."""
    if not made.in_memory:
        why = f"{made.name} is read in blocks; load it first, for example with laconic.read_table"
        why = "a covariance matrix has none; give X" if made.rows is None else why
        raise ValueError(f"{function} needs rows in memory, and {why}.")


def recipe_again(made: Made) -> Recipe:
    """Return how S of a table that is made at random is made: as that of all rows, with at most `MOST_STEPS` of EM."""
    return replace(made.recipe, iterations=min(made.recipe.iterations, MOST_STEPS))


def permuted(rows: Any, random: np.random.Generator) -> Any:
    """Return rows with each column in a random order of its own.

    In dense rows a missing value stays in its place. So any two columns have as many rows in common as before, and
    which values are missing is not part of what is tested.
    """
    if sp.issparse(rows):
        rows = sp.csc_array(rows)
        # Each entry of a column gets another row, at random, no two the same one.
        places = [random.choice(rows.shape[0], size=count, replace=False) for count in np.diff(rows.indptr)]
        return sp.csc_array((rows.data, np.concatenate(places), rows.indptr), shape=rows.shape)
    rows = rows.copy()
    for column in rows.T:
        there = ~np.isnan(column)
        column[there] = random.permutation(column[there])
    return rows


def check_enough_done(done: int, least: int, noun: str, stopped: Stop | None) -> None:
    """Raise an error if the work was stopped before there was anything to return."""
    if done >= least:
        return
    if stopped is Stop.INTERRUPTED:
        raise KeyboardInterrupt(f"Interrupted before {least} {noun} could be searched.")
    raise TimeoutError(f"The time limit was reached before {least} {noun} could be searched; give more time.")


def for_each(
    work: Callable[[Any, Monitor], Result | None],
    tasks: Sequence[Any],
    *,
    n_jobs: int | None,
    monitor: Monitor,
    stage: str,
) -> list[Result]:
    """Return the results of `work(task, monitor)`, in the order of the tasks.

    They do not depend on the number of jobs. Work that its monitor stopped returns None. Then, at the time limit and
    at Ctrl-C, the results so far are returned.
    """
    results: list[Result] = []
    with monitor.watch():
        calls = (delayed(_within)(work, task, monitor.seconds_left) for task in tasks)
        outcomes: Generator[Result | None, None, None] = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
        try:
            while len(results) < len(tasks):
                monitor.tick(f"{stage} {len(results) + 1} of {len(tasks)}")
                try:
                    outcome = next(outcomes)
                except BrokenExecutor:
                    # Ctrl-C reaches the other processes, too, and may end one of them.
                    monitor.tick()
                    raise
                if outcome is None:
                    break
                results.append(outcome)
        finally:
            with warnings.catch_warnings():
                # joblib warns of work that is cancelled. Here that is meant.
                warnings.simplefilter("ignore", UserWarning)
                outcomes.close()
    if len(results) < len(tasks) and monitor.stopped is None:
        # The monitor of a task has stopped it just before that of the caller would have.
        monitor.stopped = Stop.TIME_LIMIT
    return results


def _within(work: Callable[[Any, Monitor], Result | None], task: Any, seconds: float) -> Result | None:
    """Do some work with a monitor of its own: that of the caller cannot be sent to another process."""
    return work(task, Monitor(seconds))
