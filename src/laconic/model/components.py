"""Several components: solve, deflate, solve again."""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from laconic.bounds.certify import Subject, with_bound, with_certificate
from laconic.bounds.tight import Effort
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, Stop
from laconic.core.threads import threads_for
from laconic.core.wording import PROVED
from laconic.covariance import Covariance, SubsetCovariance, largest_eigenpair
from laconic.covariance.deflation import Deflation
from laconic.model.request import Request
from laconic.problem.contract import Solver, abilities_of
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status
from laconic.proof import Certificate
from laconic.search.support import Incumbent
from laconic.search.thresholding import Thresholding, cut_off

# A component whose value is this small beside the largest variance explains nothing but rounding.
NOTHING = 1e-15


@dataclass
class _Search:
    """What is asked for, the features still free, and what was found."""

    request: Request
    solver: Solver
    free: Indices
    effort: Effort | None = None
    subject: Subject | None = None
    found: list[Solution] = field(default_factory=list)
    certificates: list[Certificate | None] = field(default_factory=list)

    def problem(self, covariance: Covariance, cardinality: int, monitor: Monitor) -> Problem:
        keep = self.free
        inner = covariance if len(keep) == covariance.n_features else SubsetCovariance(covariance, keep)
        return Problem(
            inner,
            min(cardinality, len(keep)),
            forced=np.searchsorted(keep, self.request.forced),
            nonnegative=self.request.nonnegative,
            monitor=monitor,
        )


def find_components(
    covariance: Covariance,
    request: Request,
    solver: Solver,
    monitor: Monitor,
    effort: Effort | None = None,
    subject: Subject | None = None,
) -> tuple[list[Solution], list[Certificate | None]]:
    """Find the components one after the other, or together if the solver asks for that.

    Returns
    -------
    The solutions, with supports in terms of all features and values in terms of the covariance as it was deflated when
    each was found, and their certificates if a subject is given. Fewer than asked only if the user interrupted the
    search.
    """
    search = _Search(request, solver, request.allowed, effort, subject)
    with threads_for(covariance.n_features):
        if abilities_of(solver).together and not _is_single(solver, request):
            together = _jointly(covariance, search, solver, monitor)
            return together, [None] * len(together)
        try:
            _one_after_the_other(covariance, search, monitor)
        except KeyboardInterrupt:
            if not search.found:
                raise
    return search.found, search.certificates


def _is_single(solver: Solver, request: Request) -> bool:
    """Whether there is nothing to find together, so that the one component may be bounded as any other."""
    return request.n_components == 1 and not abilities_of(solver).disjoint


def _one_after_the_other(covariance: Covariance, search: _Search, monitor: Monitor) -> None:
    request = search.request
    deflation = Deflation(covariance, request.deflation)
    scale = float(covariance.diagonal.max())
    for index in range(request.n_components):
        # The proof of one component must not take the time in which the next are found.
        part = monitor.part(request.n_components - index)
        solution, certificate = _next(search, deflation.current, index, part)
        if solution.value <= NOTHING * scale:
            filled = len(solution.support) == len(request.forced)
            cause = "forced_in leaves it no other feature" if filled else "the covariance is used up"
            raise ValueError(
                f"Component {index + 1} of n_components={request.n_components} would explain nothing: {cause}; "
                f"ask for n_components={index}{' or a larger cardinality' if filled else ''}."
            )
        search.found.append(solution)
        search.certificates.append(certificate)
        if part.stopped is Stop.INTERRUPTED:
            return
        if index + 1 < request.n_components:
            deflation.remove(solution.vector(covariance.n_features))
        if request.disjoint:
            search.free = np.setdiff1d(search.free, solution.support)


def _next(search: _Search, current: Covariance, index: int, monitor: Monitor) -> tuple[Solution, Certificate | None]:
    request = search.request
    if not len(search.free):
        raise ValueError(
            f"No feature is left for component {index + 1} of n_components={request.n_components} with disjoint "
            "supports; ask for fewer components or a smaller cardinality."
        )
    final: Status | None = None
    if request.cardinalities is None:
        problem = search.problem(current, max(len(request.forced), 1), monitor)
        solution = smallest_cardinality(problem, search.solver, request.min_variance)
        # Whatever is proved of a support of this size, it is not known to be the size asked for.
        final = None if monitor.stopped is None else Status[monitor.stopped.name]
        problem = problem.with_cardinality(max(len(solution.support), len(request.forced)))
    else:
        problem = search.problem(current, request.cardinalities[index], monitor)
        solution = search.solver.solve(problem)
        if request.penalized:
            # The penalty decides on the size; what is bounded are supports of that size.
            problem = problem.with_cardinality(len(solution.support))
            if solution.status is Status.COMPLETE and solution.estimated_gap <= PROVED:
                final = Status.PENALTY_COMPLETE
    # A method chosen by name answers for its own support.
    solution, bound = with_bound(problem, solution, search.effort, improve=abilities_of(search.solver).improvable)
    solution = replace(solution, support=search.free[solution.support])
    certificate = None
    if search.subject is not None:
        earlier = [found.vector(current.n_features) for found in search.found]
        solution, certificate = with_certificate(
            current, problem, search.free, solution, bound, earlier, search.subject
        )
    return replace(solution, status=final or solution.status), certificate


def _jointly(covariance: Covariance, search: _Search, solver: Any, monitor: Monitor) -> list[Solution]:
    request = search.request
    if request.cardinalities is None:
        raise ValueError("A block method needs cardinality=; min_variance chooses components one after the other.")
    if request.disjoint != abilities_of(solver).disjoint:
        raise ValueError(
            "DisjointExact finds components with disjoint supports; give disjoint=True with it."
            if abilities_of(solver).disjoint
            else "A block method finds all components together; disjoint=True needs one after the other."
        )
    cardinalities = [min(k, len(search.free)) for k in request.cardinalities]
    found = solver.solve_jointly(search.problem(covariance, max(cardinalities), monitor), cardinalities)
    solutions = [replace(solution, support=search.free[solution.support]) for solution in found]
    components = np.array([solution.vector(covariance.n_features) for solution in solutions])
    spanned = explained_variances(covariance, components)["span"]
    nothing = np.flatnonzero(spanned <= NOTHING * float(covariance.diagonal.max()))
    if len(nothing):
        raise ValueError(
            f"Component {nothing[0] + 1} of n_components={request.n_components}, found together, explains nothing that "
            "those before it do not; ask for fewer components, or for a method that finds one after the other."
        )
    return solutions


def smallest_cardinality(problem: Problem, solver: Solver, share: float) -> Solution:
    """Return the solution of least cardinality that keeps a share of the dense component's variance.

    The dense component, cut off where it still keeps the share, says where to begin. From there the cardinality is
    lowered by steps that double, then bisected; the support one smaller has been tried and falls short. A search that
    is stopped on the way keeps the share too, with more features. If not even all features reach it (with non-negative
    loadings), the best found is returned.
    """
    dense, vector = largest_eigenpair(problem.covariance)
    if dense <= 0:
        return solver.solve(problem)
    target = share * dense * (1 - 1e-10)
    n, monitor = problem.n_features, problem.monitor
    low = max(len(problem.forced), 1) - 1
    high, cut = _cut_off_where_it_keeps(problem, vector, target)
    solution = solver.solve(problem.with_cardinality(high), start=cut.support)
    if monitor.stopped is not None and solution.value < cut.value:
        solution = cut.solution(Status[monitor.stopped.name], method=Thresholding.name)
    step = 1
    while solution.value < target and high < n and monitor.stopped is None:
        low, high, step = high, min(2 * high, n), n
        solution = solver.solve(problem.with_cardinality(high), start=solution.support)
    while high - low > 1 and monitor.stopped is None:
        middle = max(high - step, (low + high) // 2)
        trial = solver.solve(problem.with_cardinality(middle), start=solution.support)
        if trial.value >= target:
            high, solution, step = middle, trial, 2 * step
        else:
            low = middle
    kept = f"{solution.value / dense:.3g} of the dense component's variance is kept"
    if monitor.stopped is not None:
        warnings.warn(
            f"The search for min_variance={share} was stopped at {len(solution.support)} features: {kept}.",
            stacklevel=8,
        )
    elif solution.value < target:
        warnings.warn(f"min_variance={share} is out of reach with these constraints: {kept}.", stacklevel=8)
    return solution


def _cut_off_where_it_keeps(problem: Problem, vector: Floats, target: float) -> tuple[int, Incumbent]:
    """Return the least cardinality at which the dense component, cut off, reaches a value, and its support there."""
    n = problem.n_features
    high = max(len(problem.forced), 1)
    low = high - 1
    cut = cut_off(problem.with_cardinality(high), vector)
    while cut.value < target and high < n:
        low, high = high, min(2 * high, n)
        cut = cut_off(problem.with_cardinality(high), vector)
    while high - low > 1:
        middle = (low + high) // 2
        trial = cut_off(problem.with_cardinality(middle), vector)
        if trial.value >= target:
            high, cut = middle, trial
        else:
            low = middle
    return high, cut


def explained_variances(covariance: Covariance, components: Floats) -> dict[str, Floats]:
    """Return the variance explained by components that are not orthogonal, by three definitions.

    With unit components z_1, ..., z_m and S the covariance before any deflation:

    span
        The variance of the data projected on the span of z_1..z_j, in increments: q_j'Sq_j with q_j the part of z_j
        orthogonal to those before. The increments add up to what the components explain together and never exceed the
        total.
    raw
        z_j'Sz_j: the variance of the scores, counting shared variance again.
    qr
        The variance of the scores of z_j not predicted by the scores before (Zou, Hastie and Tibshirani 2006): R_jj^2
        of the QR decomposition of the scores.
    """
    images = covariance.product(np.ascontiguousarray(components.T))
    gram = components @ images
    raw = gram.diagonal().copy()
    lengths = components @ components.T
    residual = _without_earlier(lengths)
    transformed = residual @ gram @ residual.T
    span = np.maximum(transformed.diagonal(), 0.0)
    return {"span": span, "raw": raw, "qr": _pivots(gram)}


def _without_earlier(lengths: Floats) -> Floats:
    """Return T with rows of T Z orthonormal, or zero where a row depends on those before, from ZZ' = `lengths`."""
    m = len(lengths)
    transform = np.zeros((m, m))
    for j in range(m):
        row = np.zeros(m)
        row[j] = 1.0
        for _ in range(2):
            row -= (transform[:j] @ lengths @ row) @ transform[:j]
        square = float(row @ lengths @ row)
        if square > 1e-20:
            transform[j] = row / np.sqrt(square)
    return transform


def _pivots(gram: Floats) -> Floats:
    """Return the squared diagonal of the Cholesky factor of a semidefinite matrix."""
    work = gram.copy()
    pivots = np.zeros(len(gram))
    for j in range(len(gram)):
        pivots[j] = max(float(work[j, j]), 0.0)
        if pivots[j] > 1e-14 * gram[j, j]:
            work[j + 1 :, j + 1 :] -= np.outer(work[j + 1 :, j] / pivots[j], work[j, j + 1 :])
    return pivots
