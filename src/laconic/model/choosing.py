"""Choose the number of features and of components: `choose(model, X)`."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from laconic.bounds.names import get_solver
from laconic.core.arrays import Indices
from laconic.core.monitor import Monitor, Stop, threads_for, warn
from laconic.core.words import at_least, counted, is_whole
from laconic.covariance import Covariance, SubsetCovariance, largest_eigenpair, rank_at_least
from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Made
from laconic.covariance.of_rows import SMALL_NUMBERS
from laconic.model.bend import Bend, bend_of
from laconic.model.noise import ComponentNoise, RowsLeft, compare
from laconic.model.paths import DEFAULT_END, NOTHING, OneByOne
from laconic.model.resampling import seed_of
from laconic.model.settings import check_rank, check_settings, forced_places, is_sequence, made_of
from laconic.search.auto import FewStarts
from laconic.search.problem import PathSolver, Problem, Solution, Solver

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# A component counts if its p-value is at most this. The first component that is only noise passes with this chance.
LEVEL = 0.01
# With so many permuted tables a component counts if it is better than all of them.
PERMUTATIONS = 99
# With "parallel" at most this many components are looked at.
MOST_COMPONENTS = 20


@dataclass(frozen=True, eq=False)
class ComponentChoice:
    """The number of features of one component, and why."""

    component: int  # its number, from 1
    cardinality: int  # the number of features that is recommended
    solution: Solution = field(repr=False)  # found with so many features; a fit may find a better one
    reason: str  # in a sentence or two
    dense: float  # the variance of the dense component
    bend: Bend | None = field(default=None, repr=False)  # the curve of variance; None if the number was given
    noise: ComponentNoise | None = field(default=None, repr=False)  # the comparison with permuted columns, if any


@dataclass(frozen=True, eq=False)
class Choice:
    """A recommendation: how many components, and how many features in each; `choose` makes it."""

    cardinality: list[int]  # the number of features of each component, in order
    n_components: int  # 0 if the first one is no better than noise
    reason: str  # why, with a line for each component
    components: list[ComponentChoice]  # all that were looked at; the last may be no better than noise and not count
    stopped: Stop | None = None  # why the work was stopped early, if it was

    def __repr__(self) -> str:
        return f"Choice(n_components={self.n_components}, cardinality={self.cardinality})\n{self.reason}"

    @property
    def without_components(self) -> str:
        """A sentence that says why no component counts."""
        if self.components and self.components[0].noise is None:
            return "There was no time to compare the first component with noise."
        return "The first component is no better than noise."

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each component and cardinality.

        The columns are: component, cardinality, value (the variance), share (of the dense component's variance), ratio
        (of the slopes before and after a corner of the convex hull; the largest visible one is the sharpest bend), and
        recommended.
        """
        parts = []
        for one in self.components:
            k, value = np.array([one.cardinality]), np.array([one.solution.value])
            curve = one.bend or Bend(k, value, np.array([np.nan]), one.cardinality)
            columns = {
                "component": one.component,
                "cardinality": curve.cardinalities,
                "value": curve.values,
                "share": curve.values / one.dense,
                "ratio": curve.ratios,
                # A component that is no better than noise was tried, and is not among those to take.
                "recommended": (curve.cardinalities == one.cardinality) & (one.component <= self.n_components),
            }
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)


def choose(
    model: "SparsePCA",
    X: Any = None,
    *,
    covariance: Any = None,
    sample_weight: Any = None,
    max_cardinality: int | None = None,
) -> Choice:
    """Choose the number of features of each component, and the number of components.

    The number of features is the sharpest bend of variance against the number of features: features before it carry the
    component, and those after it add little. A later component has a curve of its own, after the components before it
    are removed with the numbers of features recommended for them. docs/choosing.md says when this is right.

    Parameters
    ----------
    model : SparsePCA
        Its settings count: `n_components`, the constraints, how S is made, the time limit. With
        ``n_components="parallel"`` a component counts if its variance is larger than in all of 99 tables with permuted
        columns; the first that does not count ends the search (parallel analysis). With ``method="auto"`` the curves
        come from the truncated power method with few starts, which is fast. A fit may find slightly better components.
    X : array, sparse matrix, table, or data that are read in blocks, optional
        Rows of data. "parallel" needs rows in memory, complete and of equal weight.
    covariance : array or frame of shape (n_features, n_features), optional
        A covariance matrix, in place of X.
    sample_weight : array-like of shape (n_samples,), optional
        How much each row counts.
    max_cardinality : int, optional
        The largest number of features that is tried. By default all features, but at most 100.

    Returns
    -------
    Choice
        The numbers, the reasons for them, and the curves.

    See Also
    --------
    SparsePCA : ``SparsePCA("parallel", cardinality="hull")`` chooses inside a fit.
    path : Variance and proved bound for each number of features.
    noise : The comparison behind "parallel".

    Examples
    --------
    >>> from laconic import SparsePCA, choose
    >>> from laconic.datasets.synthetic import spiked_rows
    >>> choose(SparsePCA(), spiked_rows(200, 60, 8, signal=4).data, max_cardinality=20).cardinality
    [8]
    """
    check_settings(model)
    with Monitor(model.time_limit, progress=model.verbose) as monitor:
        made = made_of(model, X, covariance, sample_weight, monitor)
        solver: Solver = FewStarts() if model.method == "auto" else get_solver(model.method)
        paths = solver if isinstance(solver, PathSolver) else OneByOne(solver)
        chooser = _Chooser(model, made, monitor, max_cardinality=max_cardinality, solver=paths)
        count = len(model.cardinality) if is_sequence(model.cardinality) else 1
        return chooser.answer(count if model.n_components is None else model.n_components)


def choice_in_fit(model: "SparsePCA", made: Made, monitor: Monitor) -> Choice:
    """Return what the parameters of a model leave to be chosen. It takes at most half of the time that is left."""
    given = None if isinstance(model.cardinality, str) else model.cardinality
    choice = _Chooser(model, made, monitor.part(2), given).answer(model.n_components or 1)
    if not choice.n_components:
        warn(f"{choice.without_components} The fit has one component all the same.")
    return choice


@dataclass(eq=False)
class _Chooser:
    """Chooses components one after the other."""

    model: "SparsePCA"
    made: Made
    monitor: Monitor
    sizes: Any = None  # given numbers of features: one for each component, or one for all
    max_cardinality: int | None = None
    solver: PathSolver = field(default_factory=FewStarts)

    def __post_init__(self) -> None:
        last, n = self.max_cardinality, int((~self.made.constant).sum())
        self.forced = forced_places(self.model, self.made)
        least = max(1, len(self.forced))
        if last is not None and (not is_whole(last) or not least <= last <= n):
            start = f"{least}, as many as are forced in," if least > 1 else "1"
            raise ValueError(
                f"max_cardinality={last!r} must be an int from {start} to the number of features that vary and may be "
                f"used, {n}."
            )

    def _rows(self) -> RowsLeft:
        """Return the rows, which "parallel" needs."""
        made = self.made
        if not made.in_memory or made.weights is not None or made.missing is not None:
            raise ValueError(
                "n_components='parallel' permutes columns; it needs rows in memory, complete and of equal weight; "
                "give a number."
            )
        small = sp.issparse(made.rows) and int(np.prod(made.rows.shape)) <= SMALL_NUMBERS
        return RowsLeft.of(replace(made, rows=made.rows.toarray()) if small else made)

    def answer(self, n_components: int | str) -> Choice:
        """Return the choice for a number of components, or for as many as are better than noise ("parallel")."""
        parallel, covariance = n_components == "parallel", self.made.covariance
        rows = self._rows() if parallel else None
        most = int(n_components) if not parallel else min(MOST_COMPONENTS, covariance.n_features)
        if parallel and is_sequence(self.sizes):
            most = len(self.sizes)
        rank = rank_at_least(covariance.on_hand(), most)
        if not parallel:
            check_rank(rank, most)
        deflation = Deflation(covariance, self.model.deflation)
        free = np.flatnonzero(~self.made.constant)
        found: list[ComponentChoice] = []
        real = 0
        with threads_for(covariance.on_hand().n_features):
            for index in range(min(most, rank)):
                if len(free) < max(1, len(self.forced)) or (found and self.monitor.is_over):
                    break
                one = self._component(deflation.current, free, index)
                if one is None:
                    break
                if rows is not None:
                    one = self._beside_noise(rows, free, one)
                found.append(one)
                if parallel and (one.noise is None or one.noise.p_value > LEVEL):
                    break
                real += 1
                z = one.solution.vector(covariance.n_features)
                deflation.remove(z)
                rows = None if rows is None else rows.without(z)
                if self.model.joint == "disjoint":
                    free = np.setdiff1d(free, one.solution.support)
        stopped = self.monitor.stopped
        if self.monitor.is_over and not found:
            raise TimeoutError("time_limit was reached before the first path was found; give more time.")
        reason = "\n".join(f"Component {one.component}: {one.reason}" for one in found)
        if stopped is not None:
            reason += f"\nThe work was stopped early: {stopped.value}."
        return Choice([one.cardinality for one in found[:real]], real, reason, found, stopped)

    def _component(self, covariance: Covariance, free: Indices, index: int) -> ComponentChoice | None:
        """Choose the number of features of the next component; None if nothing is left to explain."""
        part = SubsetCovariance(covariance, free) if len(free) < covariance.n_features else covariance
        size = self.sizes[index] if is_sequence(self.sizes) else self.sizes
        end = max(DEFAULT_END, len(self.forced)) if self.max_cardinality is None else self.max_cardinality
        last = min(end if size is None else int(size), len(free))
        forced = np.searchsorted(free, self.forced)
        problem = Problem(part, last, forced, self.model.nonnegative, self.monitor).at_hand()
        hand = free if part.at_hand is None else free[part.at_hand]
        if not float(problem.covariance.diagonal.max()) > NOTHING * float(self.made.covariance.diagonal.max()):
            return None
        dense, bend = largest_eigenpair(problem.covariance)[0], None
        if size is not None:
            solution, k = self.solver.solve(problem), last
            reason = f"{len(solution.support)} features were asked for."
        else:
            solutions = self.solver.path(problem)
            bend = bend_of(problem, solutions)
            k = bend.chosen
            solution = solutions[k - int(bend.cardinalities[0])]
            kept = at_least(100 * solution.value / dense, 3)
            reason = f"Variance bends most at {counted(k, 'feature')}: {kept} % of the dense component's variance."
            if k == last < len(hand):
                reason += f" That is the largest number that was tried; raise max_cardinality above {k}."
        solution = replace(solution, support=hand[solution.support])
        return ComponentChoice(index + 1, k, solution, reason, dense, bend)

    def _beside_noise(self, rows: RowsLeft, free: Indices, one: ComponentChoice) -> ComponentChoice:
        """Compare a component with what the same search finds in permuted columns."""
        found = compare(
            rows,
            self.solver,
            [one.cardinality],
            free,
            self.forced,
            self.monitor,
            permutations=PERMUTATIONS,
            seed=seed_of(self.model) + one.component,
            nonnegative=self.model.nonnegative,
        )
        if not found or found[0].permutations < PERMUTATIONS:
            return replace(one, reason=f"{one.reason} There was no time to compare it with noise.")
        noise = replace(found[0], component=one.component)
        verdict = noise.verdict if noise.p_value <= LEVEL else f"{noise.verdict} It does not count: p is above {LEVEL}."
        return replace(one, noise=noise, reason=f"{one.reason} {verdict}")
