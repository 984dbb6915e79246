"""Choose the number of features and of components: `choose(model, X)`."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from laconic.bounds.names import get_solver
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, Stop, threads_for, warn
from laconic.core.words import at_least, counted, is_whole
from laconic.covariance import rank_at_least
from laconic.covariance.make import Made
from laconic.model.noise import ComponentNoise, RowsLeft, compare
from laconic.model.paths import DEFAULT_END, Path, path_of
from laconic.model.resampling import seed_of
from laconic.model.settings import check_rank, check_settings, forced_places, is_sequence, joint_of, made_of
from laconic.search.auto import FewStarts
from laconic.search.problem import Solution, Solver

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# A component counts if its p-value is at most this. The first component that is only noise passes with this chance.
LEVEL = 0.01
# With so many permuted tables a component counts if it is better than all of them.
PERMUTATIONS = 99
# With "parallel" at most this many components are looked at.
MOST_COMPONENTS = 20
NOTHING_BUT_NOISE = "The first component is no better than noise."


@dataclass(frozen=True, eq=False)
class ComponentChoice:
    """The number of features of one component, and why."""

    component: int  # its number, from 1
    cardinality: int  # the number of features that is recommended
    solution: Solution = field(repr=False)  # found with so many features; a fit may find a better one
    reason: str  # in a sentence or two
    dense: float  # the variance of the dense component; NaN if the number of features was given
    cardinalities: Indices = field(repr=False)  # those that were tried
    values: Floats = field(repr=False)  # the variance that was found with each
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

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each component and cardinality.

        The columns are: component, cardinality, value (the variance), share (of the dense component's variance), and
        recommended.
        """
        parts = [
            pd.DataFrame(
                {
                    "component": one.component,
                    "cardinality": one.cardinalities,
                    "value": one.values,
                    "share": one.values / one.dense,
                    # A component that is no better than noise was tried, and is not among those to take.
                    "recommended": (one.cardinalities == one.cardinality) & (one.component <= self.n_components),
                }
            )
            for one in self.components
        ]
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
        Rows of data. "parallel" needs rows in memory, of equal weight.
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
    if joint_of(model) is not None:
        raise ValueError(
            f"choose looks at components one after the other, and joint={model.joint!r} finds them together; leave out "
            "joint=, or take path(model, X).suggested."
        )
    with Monitor(model.time_limit, progress=model.verbose) as monitor:
        made = made_of(model, X, covariance, sample_weight, monitor)
        count = len(model.cardinality) if is_sequence(model.cardinality) else 1
        wanted = count if model.n_components is None else model.n_components
        return _chosen(model, made, monitor, wanted, last=max_cardinality)


def choice_in_fit(model: "SparsePCA", made: Made, monitor: Monitor) -> Choice:
    """Return what the parameters of a model leave to be chosen. It takes at most half of the time that is left."""
    sizes = None if isinstance(model.cardinality, str) else model.cardinality
    quick = clone(model).set_params(method="auto")
    choice = _chosen(quick, made, monitor.part(2), model.n_components or 1, sizes)
    if not choice.n_components:
        warn(f"{choice.reason.splitlines()[-1]} The fit has one component all the same.")
    return choice


def _chosen(
    model: "SparsePCA", made: Made, monitor: Monitor, n_components: int | str, sizes: Any = None, *, last: Any = None
) -> Choice:
    """Return the choice for a number of components, or for as many as are better than noise ("parallel").

    `sizes` are given numbers of features: one for each component, or one for all. `last` is the largest that is tried.
    """
    covariance, forced, free = made.covariance, forced_places(model, made), np.flatnonzero(~made.constant)
    least = max(1, len(forced))
    if last is not None and (not is_whole(last) or not least <= last <= len(free)):
        start = f"{least}, as many as are forced in," if least > 1 else "1"
        raise ValueError(
            f"max_cardinality={last!r} must be an int from {start} to the number of features that vary and may be "
            f"used, {len(free)}."
        )
    rows, most = None, n_components
    if n_components == "parallel":
        if not made.in_memory or made.weights is not None:
            raise ValueError(
                "n_components='parallel' permutes columns; it needs rows in memory, of equal weight; give a number."
            )
        rows = RowsLeft.of(made)
        most = len(sizes) if is_sequence(sizes) else min(MOST_COMPONENTS, covariance.n_features)
    rank = rank_at_least(covariance.on_hand(), int(most))
    if rows is None:
        check_rank(rank, int(most))
    solver: Solver = FewStarts() if model.method == "auto" else get_solver(model.method)
    quick = clone(model).set_params(method=solver, proof=None)
    found: list[ComponentChoice] = []
    earlier: list[Floats] = []  # the components that count
    with threads_for(covariance.on_hand().n_features):
        for number in range(1, min(int(most), rank) + 1):
            if found and monitor.is_over:
                break
            one, size = None, sizes[number - 1] if is_sequence(sizes) else sizes
            if size is None:
                end = min(max(DEFAULT_END, least) if last is None else last, len(free))
                own = None if len(free) == covariance.n_features else free
                try:
                    curve = path_of(quick, made, monitor, last=end, earlier=np.array(earlier), free=own)
                except ValueError:
                    if not found:
                        raise
                    break  # nothing is left to explain
                one = _at_the_bend(number, curve, len(free))
                size = one.cardinality
            if rows is not None:
                task = (rows, solver, [size], free, forced, monitor)
                seed = seed_of(model) + number
                records = compare(*task, permutations=PERMUTATIONS, seed=seed, nonnegative=model.nonnegative)
                one = _beside_noise(number, one, records)
            if one is None:
                break
            found.append(one)
            if rows is not None and (one.noise is None or one.noise.p_value > LEVEL):
                break
            z = one.solution.vector(covariance.n_features)
            earlier.append(z)
            rows = None if rows is None else rows.without(z)
    if monitor.is_over and not found:
        raise TimeoutError("time_limit was reached before the first path was found; give more time.")
    reason = "\n".join(f"Component {one.component}: {one.reason}" for one in found)
    if monitor.stopped is not None:
        reason += f"\nThe work was stopped early: {monitor.stopped.value}."
    if not earlier:
        reason += f"\n{NOTHING_BUT_NOISE if found[0].noise else 'There was no time to compare it with noise.'}"
    count = len(earlier)
    return Choice([one.cardinality for one in found[:count]], count, reason, found, monitor.stopped)


def _at_the_bend(number: int, curve: Path, free: int) -> ComponentChoice:
    """Return the component at the sharpest bend of its curve."""
    k, last = curve.suggested or int(curve.cardinalities[-1]), int(curve.cardinalities[-1])
    solution = curve.solutions[int(np.flatnonzero(curve.cardinalities == k)[0])]
    assert isinstance(solution, Solution)  # the path is that of one component
    kept = at_least(100 * solution.value / curve.dense_variance, 3)
    reason = f"Variance bends most at {counted(k, 'feature')}: {kept} % of the dense component's variance."
    if k == last < free:
        reason += f" That is the largest number that was tried; raise max_cardinality above {k}."
    return ComponentChoice(number, k, solution, reason, curve.dense_variance, curve.cardinalities, curve.values)


def _beside_noise(number: int, one: ComponentChoice | None, records: list[ComponentNoise]) -> ComponentChoice | None:
    """Return a component with what the search finds in permuted columns. If its size was given, it is found there."""
    if one is None and records:
        solution = records[0].solution
        k, reason = len(solution.support), f"{len(solution.support)} features were asked for."
        one = ComponentChoice(number, k, solution, reason, np.nan, np.array([k]), np.array([solution.value]))
    if one is None or not records or records[0].permutations < PERMUTATIONS:
        return one
    noise = replace(records[0], component=number)
    verdict = noise.verdict if noise.p_value <= LEVEL else f"{noise.verdict} It does not count: p is above {LEVEL}."
    return replace(one, noise=noise, reason=f"{one.reason} {verdict}")
