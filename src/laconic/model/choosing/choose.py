"""Choose the number of features and of components."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from laconic.bounds.methods import get_solver
from laconic.core.arguments import is_whole
from laconic.core.arrays import Indices
from laconic.core.monitor import Monitor, check_time_limit, threads_for
from laconic.covariance import Covariance, Standardization, SubsetCovariance, largest_eigenpair, rank_at_least
from laconic.covariance.deflation import Deflation
from laconic.covariance.from_data import SMALL_NUMBERS, covariance_from
from laconic.covariance.missing import Missing, check_missing
from laconic.covariance.reading import read_data
from laconic.covariance.rows_left import RowsLeft
from laconic.model.cardinality_path import OneByOne
from laconic.model.choosing.choice import CRITERIA, Choice, ComponentChoice, reason_of
from laconic.model.choosing.criteria import Curve, PathValues, bic, ebic, hull, sparseness
from laconic.model.choosing.held_out import hold_out
from laconic.model.forced import forced_places
from laconic.model.noise import compare, rows_in_memory
from laconic.model.request import Request
from laconic.model.resampling import check_count, seed_of
from laconic.search.auto import FewStarts
from laconic.search.problem import PathSolver, Problem, Solution, Solver

Criterion: TypeAlias = Literal["cv", "hull", "sparseness", "bic", "ebic"]

# The path ends here if the user gives no end and there are more features.
DEFAULT_END = 100
# A component counts if its p-value is at most this. The first component that is only noise passes with this chance.
LEVEL = 0.01
# With so many permuted tables a component counts if it is better than all of them.
PERMUTATIONS = 99
# With "parallel" at most this many components are looked at.
MOST_COMPONENTS = 20
# A component explains nothing if its variance is at most this share of the largest single one: that is rounding.
NOTHING = 1e-12


def choose(
    X: Any,
    max_cardinality: int | None = None,
    *,
    n_components: int | Literal["parallel"] = 1,
    criterion: Criterion = "cv",
    folds: int = 5,
    given: Literal["rows", "covariance"] = "rows",
    n_rows: int | None = None,
    method: str | Solver | None = None,
    disjoint: bool = False,
    nonnegative: bool = False,
    forced_in: Sequence[str | int] | None = None,
    center: bool = True,
    scale: bool = False,
    missing: Missing = "error",
    feature_names: Sequence[str] | None = None,
    random_state: Any = 0,
    time_limit: float | None = None,
    progress: bool = False,
) -> Choice:
    """Choose the number of features of each component, and the number of components.

    All criteria look at one path of components with 1, 2, ... features. A later component has a path of its own, after
    the components before it are removed with the numbers of features recommended for them. docs/how-many.md says when
    each criterion is right.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_samples, n_features)
        Rows of data in memory, or a covariance matrix with ``given="covariance"``.
    max_cardinality : int, optional
        The largest number of features that is tried. By default all features, but at most 100.
    n_components : int or "parallel", default=1
        The number of components. With "parallel" a component counts if its variance is larger than in all of 99 tables
        with permuted columns; the first that does not count ends the search (parallel analysis).
    criterion : {"cv", "hull", "sparseness", "bic", "ebic"}, default="cv"
        What to recommend. "cv" holds out single entries, predicts them, and takes the fewest features whose error is
        within one standard error of the least. "hull" takes the sharpest bend of the convex hull of variance against
        the number of features. "sparseness" is the index of sparseness. "bic" and "ebic" are Bayesian information
        criteria; "ebic" counts the number of possible supports, too. All of them are in the result.
    folds : int, default=5
        The number of parts into which "cv" divides the entries.
    given : {"rows", "covariance"}, default="rows"
        What X is: "rows" or "covariance".
    n_rows : int, optional
        The number of rows behind a covariance matrix; "bic" and "ebic" need it.
    method : str or Solver, optional
        The solver of the paths, or its short name. By default the truncated power method from few starts, which is
        fast. A fit with the numbers recommended may find slightly better components.
    disjoint, nonnegative, forced_in, center, scale : as in `SparsePCA`
        As in `SparsePCA`.
    missing : {"error", "pairwise", "em"}, default="error"
        What to do about missing values in rows: "error", "pairwise" or "em", as in `SparsePCA`. If there are
        any, "cv" and "parallel" are not possible.
    feature_names : sequence of str, optional
        The names of the features; by default the column names of a table.
    random_state : int, RandomState instance or None, default=0
        The seed of the folds and of the permutations.
    time_limit : float, optional
        Seconds. If time runs out, what is known so far decides, and the reason says so.
    progress : bool, default=False
        Show progress, on a terminal only.

    Returns
    -------
    Choice
        The numbers, the reasons for them, and the curves of all criteria.

    See Also
    --------
    SparsePCA : ``SparsePCA("parallel", cardinality="cv")`` chooses inside a fit.
    cardinality_path : Variance and proved bound for each number of features.
    compare_with_noise : The comparison behind "parallel".

    Notes
    -----
    "hull" is the rule of [1]_, "ebic" that of [2]_, and "parallel" follows [3]_. [4]_ compares such rules for sparse
    PCA: cross-validation if the loadings are to be interpreted, the hull if scores from few features are wanted.

    References
    ----------
    .. [1] E. Ceulemans and H. A. L. Kiers (2006). Selecting among three-mode principal component models of different
       types and complexities: a numerical convex hull based method. British Journal of Mathematical and Statistical
       Psychology 59, 133-150.
    .. [2] J. Chen and Z. Chen (2008). Extended Bayesian information criteria for model selection with large model
       spaces. Biometrika 95(3), 759-771.
    .. [3] J. L. Horn (1965). A rationale and test for the number of factors in factor analysis. Psychometrika 30,
       179-185.
    .. [4] N. C. de Schipper and K. Van Deun (2021). Model selection techniques for sparse weight-based principal
       component analysis. Journal of Chemometrics 35(2), e3289.

    Examples
    --------
    >>> from laconic import choose
    >>> from laconic.datasets.synthetic import spiked_rows
    >>> choose(spiked_rows(200, 60, 8, signal=4).data, 20).cardinality
    [8]
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion={criterion!r} is not known; choose one of {', '.join(CRITERIA)}.")
    if given not in ("rows", "covariance"):
        raise ValueError(f"given={given!r} must be 'rows' or 'covariance'.")
    check_time_limit(time_limit)
    with Monitor(time_limit, progress=progress) as monitor:
        if given == "covariance":
            reading = read_data(X, "covariance", scale=scale, feature_names=feature_names)
            covariance, names, rows = reading.covariance, reading.feature_names, None
            constant = ~covariance.varies
            if n_rows is not None:
                n_rows = check_count("n_rows", n_rows, 2)
        else:
            check_missing(missing)
            table, names = rows_in_memory(X, feature_names, missing=missing)
            made = covariance_from(
                table, center=center, scale=scale, missing=missing, feature_names=names, with_digest=False
            )
            covariance, constant, n_rows = made.covariance, made.standardization.constant, table.shape[0]
            if not constant.all():
                made.standardization.warn_of_constant(names)
            complete = made.missing is None
            rows = rows_left_of(table, made.standardization, center=center, scale=scale) if complete else None
        forced, allowed = forced_places(forced_in, names, ~constant), np.flatnonzero(~constant)
        question = Question(
            covariance,
            rows,
            n_rows,
            allowed,
            forced,
            monitor,
            criterion=criterion,
            max_cardinality=max_cardinality,
            folds=folds,
            solver=path_solver(method),
            disjoint=disjoint,
            nonnegative=nonnegative,
            seed=seed_of(random_state),
        )
        return answer(question, n_components)


def rows_left_of(table: Any, standardization: Standardization, *, center: bool, scale: bool) -> RowsLeft | None:
    """Return centred and scaled rows, dense; None if they would be too large."""
    if table.shape[0] * table.shape[1] > SMALL_NUMBERS:
        return None
    dense = table.toarray() if sp.issparse(table) else table
    return RowsLeft.of(dense, standardization, center=center, scale=scale)


def path_solver(method: str | Solver | None) -> PathSolver:
    """Return the solver of the paths."""
    solver: Solver = FewStarts() if method is None else get_solver(method)
    return solver if isinstance(solver, PathSolver) else OneByOne(solver)


@dataclass(frozen=True, eq=False)
class Question:
    """The data, the constraints and the criterion."""

    covariance: Covariance
    rows: RowsLeft | None  # None if only a covariance is known
    n_rows: int | None
    allowed: Indices  # the features that may be used
    forced: Indices
    monitor: Monitor
    criterion: str | None = "cv"  # None if the numbers of features are given
    sizes: Sequence[int] | int | None = None  # given numbers of features: one for each component, or one for all
    max_cardinality: int | None = None
    folds: int = 5
    solver: PathSolver = FewStarts()  # noqa: RUF009 - it has no state
    deflation: str = "projection"
    disjoint: bool = False
    nonnegative: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        n, last = len(self.allowed), self.max_cardinality
        if last is not None and (not is_whole(last) or not max(1, len(self.forced)) <= last <= n):
            least = f"{len(self.forced)}, as many as are forced in," if len(self.forced) > 1 else "1"
            raise ValueError(
                f"max_cardinality={last!r} must be an int from {least} to the number of features that vary and may be "
                f"used, {n}."
            )
        if not is_whole(self.folds) or self.folds < 2:
            raise ValueError(f"folds={self.folds!r} must be an int of at least 2.")
        if self.criterion == "cv" and self.rows is None:
            raise ValueError(
                "The criterion cv holds out single entries; it needs rows in memory, complete and of equal weight, not "
                "a covariance matrix; choose hull or sparseness."
            )
        if self.criterion in ("bic", "ebic") and self.n_rows is None:
            raise ValueError(
                f"The criterion {self.criterion} needs the number of rows, which is not known; choose hull or "
                "sparseness."
            )

    @property
    def last(self) -> int:
        """The largest cardinality of a path."""
        end = max(DEFAULT_END, len(self.forced)) if self.max_cardinality is None else self.max_cardinality
        return min(len(self.allowed), end)


def answer(question: Question, n_components: int | str) -> Choice:
    """Return the choice for a number of components, or for as many as are better than noise ("parallel")."""
    parallel = n_components == "parallel"
    if not parallel and (not is_whole(n_components) or n_components < 1):
        raise ValueError(f"n_components={n_components!r} must be an int of at least 1, or 'parallel'.")
    if parallel and question.rows is None:
        raise ValueError(
            "n_components='parallel' permutes columns; it needs rows in memory, complete and of equal weight, not a "
            "covariance matrix; give a number."
        )
    most = _most_components(question) if parallel else int(n_components)
    rank = rank_at_least(question.covariance.on_hand(), most)
    if rank < most and not parallel:
        raise ValueError(f"n_components={most} exceeds the rank of the covariance, {rank}; ask for at most {rank}.")
    deflation = Deflation(question.covariance, question.deflation)
    rows, free = question.rows, question.allowed
    found: list[ComponentChoice] = []
    real = 0
    with threads_for(question.covariance.on_hand().n_features):
        for index in range(min(most, rank)):
            if len(free) < max(1, len(question.forced)) or (found and question.monitor.is_over):
                break
            one = _component(question, deflation.current, rows, free, index)
            if one is None:
                break
            if parallel:
                assert rows is not None
                one = _beside_noise(question, rows, free, one)
            found.append(one)
            if parallel and (one.noise is None or one.noise.p_value > LEVEL):
                break
            real += 1
            z = one.solution.vector(question.covariance.n_features)
            deflation.remove(z)
            rows = None if rows is None else rows.without(z)
            if question.disjoint:
                free = np.setdiff1d(free, one.solution.support)
    if question.monitor.is_over and not found:
        raise TimeoutError("time_limit was reached before the first path was found; give more time.")
    sizes = [one.cardinality for one in found[:real]]
    stopped = question.monitor.stopped
    reason = " ".join(f"Component {one.component}: {one.reason}" for one in found)
    if stopped is not None:
        reason += f" The work was stopped early: {stopped.value}."
    return Choice(sizes, real, question.criterion, reason, found, stopped)


def _most_components(question: Question) -> int:
    if isinstance(question.sizes, Sequence):
        return len(question.sizes)
    return min(MOST_COMPONENTS, question.covariance.n_features)


def _component(
    question: Question, covariance: Covariance, rows: RowsLeft | None, free: Indices, index: int
) -> ComponentChoice | None:
    """Choose the number of features of the next component; None if nothing is left to explain."""
    part = SubsetCovariance(covariance, free) if len(free) < covariance.n_features else covariance
    forced = np.searchsorted(free, question.forced)
    size = question.sizes[index] if isinstance(question.sizes, Sequence) else question.sizes
    last = min(question.last if size is None else int(size), len(free))
    problem = Problem(part, last, forced, question.nonnegative, question.monitor).at_hand()
    hand = free if part.at_hand is None else free[part.at_hand]
    if not float(problem.covariance.diagonal.max()) > NOTHING * float(question.covariance.diagonal.max()):
        return None
    if size is not None:
        solution = question.solver.solve(problem)
        path = _path_values(problem, [solution], question.n_rows)
        reason = f"{len(solution.support)} features were asked for."
        return ComponentChoice(index + 1, last, _on_all(solution, hand), reason, path, {})
    solutions = question.solver.path(problem)
    path = _path_values(problem, solutions, question.n_rows)
    curves: dict[str, Curve] = {}
    if rows is not None and question.criterion == "cv":
        curve = hold_out(rows.rows[:, hand], problem, question.solver, folds=question.folds, seed=question.seed + index)
        if curve is not None:
            curves["cv"] = curve
    curves["hull"], curves["sparseness"] = hull(path), sparseness(path)
    if question.n_rows is not None:
        curves["bic"], curves["ebic"] = bic(path), ebic(path)
    k, reason = reason_of(curves, question.criterion, path)
    solution = solutions[k - int(path.cardinalities[0])]
    return ComponentChoice(index + 1, k, _on_all(solution, hand), reason, path, curves)


def _on_all(solution: Solution, features: Indices) -> Solution:
    return replace(solution, support=features[solution.support])


def _path_values(problem: Problem, solutions: Sequence[Solution], n_rows: int | None) -> PathValues:
    covariance = problem.covariance
    variances = np.sort(covariance.diagonal)
    return PathValues(
        np.arange(problem.cardinality - len(solutions) + 1, problem.cardinality + 1),
        np.array([solution.value for solution in solutions]),
        covariance.trace,
        largest_eigenpair(covariance)[0],
        float(variances[-2]) if len(variances) > 1 else 0.0,
        covariance.n_features,
        n_rows,
    )


def _beside_noise(question: Question, rows: RowsLeft, free: Indices, one: ComponentChoice) -> ComponentChoice:
    """Compare a component with what the same search finds in permuted columns."""
    request = Request(
        n_components=1,
        cardinalities=[one.cardinality],
        min_variance=None,
        deflation="projection",
        disjoint=False,
        joint=None,
        nonnegative=question.nonnegative,
        allowed=free,
        forced=question.forced,
    )
    seed = question.seed + one.component
    comparison = compare(rows, request, question.solver, question.monitor, PERMUTATIONS, seed)
    if not comparison.components or comparison.components[0].permutations < PERMUTATIONS:
        return replace(one, reason=f"{one.reason} There was no time to compare it with noise.")
    noise = replace(comparison.components[0], component=one.component)
    verdict = noise.verdict if noise.p_value <= LEVEL else f"{noise.verdict} It does not count: p is above {LEVEL}."
    return replace(one, noise=noise, reason=f"{one.reason} {verdict}")
