"""Choose the number of features and of components: `choose(model, X)`."""

from collections.abc import Sequence
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
from laconic.model.criteria import CRITERIA, Curve, PathValues, bic, ebic, hold_out, hull, sparseness
from laconic.model.noise import ComponentNoise, RowsLeft, compare
from laconic.model.paths import DEFAULT_END, NOTHING, OneByOne
from laconic.model.resampling import seed_of
from laconic.model.settings import check_count, check_rank, check_settings, forced_places, is_sequence, made_of
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
# Two criteria agree if they differ by at most this share of the number of features, and always if by one feature.
NEAR = 0.1
NEEDED = "rows in memory, complete and of equal weight"
NEEDS_ROWS = f"it needs {NEEDED}, not a covariance matrix"


@dataclass(frozen=True, eq=False)
class ComponentChoice:
    """The number of features of one component, and why."""

    component: int  # its number, from 1
    cardinality: int  # the number of features that is recommended
    solution: Solution = field(repr=False)  # found with so many features; a fit may find a better one
    reason: str  # in a sentence or two
    path: PathValues = field(repr=False)  # variance against cardinality
    curves: dict[str, Curve] = field(repr=False)  # for each criterion its values and the cardinality it chooses
    noise: ComponentNoise | None = field(default=None, repr=False)  # the comparison with permuted columns, if any

    @property
    def chosen(self) -> dict[str, int]:
        """The cardinality that each criterion chooses; 0 if it prefers no component at all."""
        return {name: curve.chosen for name, curve in self.curves.items()}


@dataclass(frozen=True, eq=False)
class Choice:
    """A recommendation: how many components, and how many features in each; `choose` makes it."""

    cardinality: list[int]  # the number of features of each component, in order
    n_components: int  # 0 if the first one is no better than noise
    criterion: str | None  # for the number of features; None if it was given
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

        The columns are: component, cardinality, value (the variance), share (of the dense component's variance); a
        column for each criterion; cv_error, the standard error of the difference to the least cross-validated error;
        chosen_by, the criteria that choose this cardinality; and recommended.
        """
        parts = []
        for one in self.components:
            k, values = one.path.cardinalities, one.path.values
            columns = {"component": one.component, "cardinality": k, "value": values, "share": values / one.path.dense}
            for name, curve in one.curves.items():
                columns[name] = curve.values
                if curve.errors is not None:
                    columns[f"{name}_error"] = curve.errors
            columns["chosen_by"] = [", ".join(n for n, chosen in one.chosen.items() if chosen == i) for i in k]
            # A component that is no better than noise was tried, and is not among those to take.
            columns["recommended"] = (k == one.cardinality) & (one.component <= self.n_components)
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)

    def plot(self, ax: Any = None, *, component: int = 1) -> Any:
        """Draw the variance and the criterion of a component against the number of features; return the axes."""
        from laconic.report.plot_results import choice

        return choice(self, component=component, ax=ax)


def choose(
    model: "SparsePCA",
    X: Any = None,
    *,
    covariance: Any = None,
    sample_weight: Any = None,
    criteria: str | Sequence[str] | None = None,
    max_cardinality: int | None = None,
    folds: int = 5,
    n_rows: int | None = None,
) -> Choice:
    """Choose the number of features of each component, and the number of components.

    All criteria look at one path of components with 1, 2, ... features. A later component has a path of its own, after
    the components before it are removed with the numbers of features recommended for them. docs/choosing.md says where
    each criterion comes from, and when it is right.

    Parameters
    ----------
    model : SparsePCA
        Its settings count: `n_components`, the constraints, how S is made, the time limit. With
        ``n_components="parallel"`` a component counts if its variance is larger than in all of 99 tables with permuted
        columns; the first that does not count ends the search (parallel analysis). With ``method="auto"`` the paths
        come from the truncated power method with few starts, which is fast. A fit may find slightly better components.
    X : array, sparse matrix or table of shape (n_samples, n_features), optional
        Rows of data in memory.
    covariance : array or frame of shape (n_features, n_features), optional
        A covariance matrix, in place of X.
    sample_weight : array-like of shape (n_samples,), optional
        How much each row counts. With weights, "cv" and "parallel" are not possible.
    criteria : str or sequence of str, optional
        What decides: "cv", "hull", "sparseness", "bic" or "ebic"; of several, the first. By default that of the model's
        `cardinality`, otherwise "cv", or "hull" where "cv" is not possible: with a matrix, weights, missing values, or
        rows that are not in memory. "cv" holds out single entries, predicts them, and takes the fewest features whose
        error is within one standard error of the least. "hull" takes the sharpest bend of the convex hull of variance
        against the number of features. "sparseness" is the index of sparseness. "bic" and "ebic" are Bayesian
        information criteria; "ebic" counts the number of possible supports, too. All are in the result, "cv" if it is
        asked for or decides.
    max_cardinality : int, optional
        The largest number of features that is tried. By default all features, but at most 100.
    folds : int, default=5
        The number of parts into which "cv" divides the entries.
    n_rows : int, optional
        The number of rows behind a covariance matrix; "bic" and "ebic" need it.

    Returns
    -------
    Choice
        The numbers, the reasons for them, and the curves of all criteria.

    See Also
    --------
    SparsePCA : ``SparsePCA("parallel", cardinality="cv")`` chooses inside a fit.
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
    asked = [criteria] if isinstance(criteria, str) else list(criteria or [])
    if not asked and isinstance(model.cardinality, str):
        asked = [model.cardinality]
    for name in asked:
        if name not in CRITERIA:
            raise ValueError(f"criteria={name!r} is not known; choose one of {', '.join(CRITERIA)}.")
    if n_rows is not None:
        n_rows = check_count("n_rows", n_rows, 2)
    with Monitor(model.time_limit, progress=model.verbose) as monitor:
        made = made_of(model, X, covariance, sample_weight, monitor)
        solver: Solver = FewStarts() if model.method == "auto" else get_solver(model.method)
        paths = solver if isinstance(solver, PathSolver) else OneByOne(solver)
        chooser = _Chooser(
            model,
            made,
            monitor,
            asked,
            None,
            max_cardinality,
            folds,
            paths,
            n_rows,
            "criteria" if criteria else "cardinality",
        )
        count = len(model.cardinality) if is_sequence(model.cardinality) else 1
        return chooser.answer(count if model.n_components is None else model.n_components)


def choice_in_fit(model: "SparsePCA", made: Made, monitor: Monitor) -> Choice:
    """Return what the parameters of a model leave to be chosen. It takes at most half of the time that is left."""
    given = None if isinstance(model.cardinality, str) else model.cardinality
    asked = [model.cardinality] if isinstance(model.cardinality, str) else []
    chooser = _Chooser(model, made, monitor.part(2), asked, given, argument="cardinality")
    choice = chooser.answer(model.n_components or 1)
    if not choice.n_components:
        warn(f"{choice.without_components} The fit has one component all the same.")
    return choice


@dataclass(eq=False)
class _Chooser:
    """Chooses components one after the other."""

    model: "SparsePCA"
    made: Made
    monitor: Monitor
    criteria: Sequence[str]  # those asked for; the first decides
    sizes: Any = None  # given numbers of features: one for each component, or one for all
    max_cardinality: int | None = None
    folds: int = 5
    solver: PathSolver = field(default_factory=FewStarts)
    n_rows: int | None = None
    argument: str = "criteria"  # what errors call the criteria

    def __post_init__(self) -> None:
        made, last, n = self.made, self.max_cardinality, int((~self.made.constant).sum())
        self.forced = forced_places(self.model, made)
        least = max(1, len(self.forced))
        self.rows: RowsLeft | None = None
        if made.in_memory:
            self.n_rows, columns = made.rows.shape
            if self.n_rows * columns <= SMALL_NUMBERS and made.weights is None and made.missing is None:
                dense = made.rows.toarray() if sp.issparse(made.rows) else made.rows
                self.rows = RowsLeft.of(replace(made, rows=dense))
        self.seed = seed_of(self.model)
        if last is not None and (not is_whole(last) or not least <= last <= n):
            start = f"{least}, as many as are forced in," if least > 1 else "1"
            raise ValueError(
                f"max_cardinality={last!r} must be an int from {start} to the number of features that vary and may be "
                f"used, {n}."
            )
        check_count("folds", self.folds, 2)
        default = "hull" if self.rows is None else "cv"
        instead = f"give {self.argument}='hull' or 'sparseness'"
        # None if the numbers of features are given.
        self.criterion = None if self.sizes is not None else self.criteria[0] if self.criteria else default
        self.held_out = "cv" in (self.criterion, *self.criteria)
        self.by_default = self.sizes is None and not self.criteria
        if self.held_out and self.rows is None:
            raise ValueError(f"The criterion cv holds out single entries; {NEEDS_ROWS}; {instead}.")
        if self.criterion in ("bic", "ebic") and self.n_rows is None:
            raise ValueError(f"The criterion {self.criterion} needs the number of rows, which is not known; {instead}.")

    def answer(self, n_components: int | str) -> Choice:
        """Return the choice for a number of components, or for as many as are better than noise ("parallel")."""
        parallel, covariance = n_components == "parallel", self.made.covariance
        if parallel and self.rows is None:
            raise ValueError(f"n_components='parallel' permutes columns; {NEEDS_ROWS}; give a number.")
        most = int(n_components) if not parallel else min(MOST_COMPONENTS, covariance.n_features)
        if parallel and is_sequence(self.sizes):
            most = len(self.sizes)
        rank = rank_at_least(covariance.on_hand(), most)
        if not parallel:
            check_rank(rank, most)
        deflation = Deflation(covariance, self.model.deflation)
        rows, free = self.rows, np.flatnonzero(~self.made.constant)
        found: list[ComponentChoice] = []
        real = 0
        with threads_for(covariance.on_hand().n_features):
            for index in range(min(most, rank)):
                if len(free) < max(1, len(self.forced)) or (found and self.monitor.is_over):
                    break
                one = self._component(deflation.current, rows, free, index)
                if one is None:
                    break
                if parallel:
                    assert rows is not None
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
        if self.by_default and self.rows is None:
            reason += f"\nThe convex hull decides, because cross-validation needs {NEEDED}."
        if stopped is not None:
            reason += f"\nThe work was stopped early: {stopped.value}."
        return Choice([one.cardinality for one in found[:real]], real, self.criterion, reason, found, stopped)

    def _component(
        self, covariance: Covariance, rows: RowsLeft | None, free: Indices, index: int
    ) -> ComponentChoice | None:
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
        solutions = self.solver.path(problem) if size is None else [self.solver.solve(problem)]
        path = PathValues.of(problem, solutions, largest_eigenpair(problem.covariance)[0], self.n_rows)
        curves: dict[str, Curve] = {}
        if size is not None:
            k, reason = last, f"{len(solutions[0].support)} features were asked for."
        else:
            if rows is not None and self.held_out:
                entries = rows.rows[:, hand]
                curve = hold_out(entries, problem, self.solver, folds=self.folds, seed=self.seed + index)
                if curve is not None:
                    curves["cv"] = curve
            curves["hull"], curves["sparseness"] = hull(path), sparseness(path)
            if self.n_rows is not None:
                curves["bic"], curves["ebic"] = bic(path), ebic(path)
            k, reason = _reason_of(curves, self.criterion, path)
        solution = solutions[k - int(path.cardinalities[0])]
        solution = replace(solution, support=hand[solution.support])
        return ComponentChoice(index + 1, k, solution, reason, path, curves)

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
            seed=self.seed + one.component,
            nonnegative=self.model.nonnegative,
        )
        if not found or found[0].permutations < PERMUTATIONS:
            return replace(one, reason=f"{one.reason} There was no time to compare it with noise.")
        noise = replace(found[0], component=one.component)
        verdict = noise.verdict if noise.p_value <= LEVEL else f"{noise.verdict} It does not count: p is above {LEVEL}."
        return replace(one, noise=noise, reason=f"{one.reason} {verdict}")


def _reason_of(curves: dict[str, Curve], criterion: str | None, path: PathValues) -> tuple[int, str]:
    """Return the number of features that a criterion recommends, and the reason, which says who disagrees."""
    assert criterion is not None
    curve = curves.get(criterion)
    used, note = criterion, ""
    if curve is None:
        used, note = "hull", f"There was no time for {CRITERIA[criterion]}. "
    elif not curve.chosen:
        used, note = "hull", f"By {CRITERIA[criterion]} no number of features is better than none: it may be noise. "
    k = curves[used].chosen
    text = note + _why(used, curves[used], k, path)
    if k == path.cardinalities[-1] < path.n_features:
        text += f" That is the largest number that was tried; raise max_cardinality above {k}."
    others = {CRITERIA[name]: c.chosen for name, c in curves.items() if name not in (used, criterion)}
    agree = [name for name, chosen in others.items() if abs(chosen - k) <= max(1.0, NEAR * k)]
    differ = [f"{name} chooses {chosen or 'none'}" for name, chosen in others.items() if name not in agree]
    if agree:
        text += f" {_sentence(agree)} agree{'s' if len(agree) == 1 else ''}."
    if differ:
        text += f" The criteria {'partly ' if agree else ''}disagree: {_listed(differ)}."
    return k, text


def _why(criterion: str, curve: Curve, k: int, path: PathValues) -> str:
    place = int(np.flatnonzero(path.cardinalities == k)[0])
    features = counted(k, "feature")
    if criterion == "cv":
        least = int(path.cardinalities[np.argmin(curve.values)])
        error = f"{100 * curve.values[place]:.3g} % of their variance"
        if least == k:
            return f"With {features} the held-out entries are predicted best: the error is {error}."
        return (
            f"{features} are the fewest whose error in held-out entries, {error}, is within one standard error of the "
            f"least, at {least}."
        )
    if criterion == "hull":
        kept = at_least(100 * path.values[place] / path.dense, 3)
        return f"The curve of variance bends most at {features}, which keep {kept} % of the dense component's variance."
    return f"{_sentence([CRITERIA[criterion]])} is {'largest' if criterion == 'sparseness' else 'least'} at {features}."


def _sentence(parts: list[str]) -> str:
    """Return the parts as the beginning of a sentence."""
    text = _listed(parts)
    return text[0].upper() + text[1:]


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
