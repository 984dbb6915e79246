"""Components beside what the same search finds in tables with permuted columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from laconic.bounds.tight import solve_at_hand
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, Stop, threads_for
from laconic.covariance import Standardization, SubsetCovariance
from laconic.covariance.make import Made
from laconic.covariance.rows_left import RowsLeft
from laconic.model.resampling import for_each
from laconic.search.problem import Problem, Solution, Solver

# A component is called no better than noise if its p-value is above this.
LEVEL = 0.05
# The quantile of the values in noise that tables and pictures show.
QUANTILE = 0.95
# Values that differ by less than this share are equal. With one feature, all permuted tables have the same value.
EQUAL = 1e-9
# A component explains nothing if its variance is at most this share of the first one's: that is rounding.
NOTHING = 1e-15
NO_TIME = "It was not compared with noise: there was no time left."


@dataclass(frozen=True, eq=False)
class ComponentNoise:
    """One component beside what the same search finds in permuted tables."""

    component: int  # its number, from 1
    solution: Solution  # that was found in the data
    value: float  # its variance z'Sz, after the earlier components were taken out
    noise: Floats  # the values that were found in the permuted tables

    @property
    def permutations(self) -> int:
        """The number of permuted tables that were searched."""
        return len(self.noise)

    @property
    def as_large(self) -> int:
        """The number of permuted tables in which at least the value of the data was found."""
        return int(np.count_nonzero(self.noise >= self.value * (1 - EQUAL)))

    @property
    def mean(self) -> float:
        """The mean of the values in noise; NaN if there are none."""
        return float(self.noise.mean()) if len(self.noise) else np.nan

    @property
    def quantile(self) -> float:
        """The 95 % quantile of the values in noise; NaN if there are none."""
        return float(np.quantile(self.noise, QUANTILE)) if len(self.noise) else np.nan

    @property
    def p_value(self) -> float:
        """(1 + number of permuted tables with as large a value) / (1 + number of permuted tables)."""
        return (1 + self.as_large) / (1 + self.permutations)

    @property
    def resolution(self) -> float:
        """The smallest p-value that this number of permuted tables can give."""
        return 1 / (1 + self.permutations)

    @property
    def verdict(self) -> str:
        """A sentence: better than noise, or not."""
        count, fewer = self.permutations, self.permutations - self.as_large
        if not count:
            return NO_TIME
        tables = "permuted table" if count == 1 else f"of {count} permuted tables"
        p = f"p <= {self.resolution:.2g}" if not self.as_large else f"p = {self.p_value:.2g}"
        if self.p_value <= LEVEL:
            return f"It is better than in {fewer} {tables} ({p})."
        if self.resolution > LEVEL and not self.as_large:
            needed = round(1 / LEVEL) - 1
            return f"It is better than in {fewer} {tables} ({p}); at least {needed} are needed to tell it from noise."
        return f"It is no better than noise: permuted columns give as much in {self.as_large} of {count} tables ({p})."


def rows_left(made: Made) -> RowsLeft:
    """Return rows in memory, centred and scaled as S was made, from which components can be taken out."""
    standardization = Standardization(made.means, made.scales, made.constant)
    return RowsLeft.of(made.rows, standardization, center=made.recipe.center, scale=made.recipe.scale)


def compare(
    left: RowsLeft,
    solver: Solver,
    sizes: Sequence[int],
    free: Indices,
    forced: Indices,
    monitor: Monitor,
    *,
    permutations: int,
    seed: int,
    nonnegative: bool = False,
    disjoint: bool = False,
    found: Sequence[Solution] | None = None,
    n_jobs: int | None = None,
    stop_at: float | None = None,
) -> tuple[list[ComponentNoise], Stop | None]:
    """Compare components of some sizes with noise, one after the other, and say why the work was stopped, if it was.

    `found` holds components to take out of the rows in place of those of the search here. The value of each is still
    that of the search without a proof, as in the permuted tables: a proof may have improved the component.
    """
    records = list[ComponentNoise]()
    for index, size in enumerate(sizes):
        k = min(size, len(free))
        work = partial(_search, left, solver, free, k, forced, nonnegative)
        outcome = for_each(work, [None], n_jobs=1, monitor=monitor, stage=f"component {index + 1}")
        if not outcome:
            break
        own = outcome[0]
        if own.value <= NOTHING * max([own.value, *(record.value for record in records)]):
            raise ValueError(
                f"Component {index + 1} of n_components={len(sizes)} would explain nothing: the covariance is used up; "
                f"ask for n_components={index}."
            )
        stage = f"component {index + 1}: permuted table"
        tasks = [(seed, index, number) for number in range(permutations)]
        noise = for_each(partial(_value_in_noise, work), tasks, n_jobs=n_jobs, monitor=monitor, stage=stage)
        component = own if found is None else found[index]
        records.append(ComponentNoise(index + 1, component, own.value, np.array(noise, dtype=np.float64)))
        if monitor.stopped is not None or (stop_at is not None and records[-1].p_value > stop_at):
            break
        left = left.without(component.vector(left.rows.shape[1]))
        if disjoint:
            free = np.setdiff1d(free, component.support)
    return records, monitor.stopped


def _value_in_noise(work: Any, task: tuple[int, int, int], monitor: Monitor) -> float | None:
    """Return the value that a search finds in one permuted table."""
    solution = work(task, monitor)
    return None if solution is None else float(solution.value)


def _search(
    left: RowsLeft,
    solver: Solver,
    free: Indices,
    k: int,
    forced: Indices,
    nonnegative: bool,
    task: tuple[int, int, int] | None,
    monitor: Monitor,
) -> Solution | None:
    """Return what the search finds in the rows, or in permuted rows if there is a task; None if it was stopped."""
    if task is not None:
        left = left.permuted(np.random.default_rng(task))
    covariance = left.covariance(k, forced)
    if len(free) < covariance.n_features:
        covariance = SubsetCovariance(covariance, free)
    problem = Problem(covariance, k, np.searchsorted(free, forced), nonnegative, monitor)
    with threads_for(covariance.on_hand().n_features):
        solution = solve_at_hand(solver, problem)
    if monitor.stopped is not None:
        return None
    return replace(solution, support=free[solution.support], value=solution.value * left.unit)
