"""Several components, one after the other: all are found first, then each is proved. Or all are found together.

If the solver has a quick first stage, a fast bound follows it at once. Where that proves the support optimal, the whole
search is not run.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from laconic.bounds.names import get_solver
from laconic.bounds.prove import Proof, closes, prove, takes_long, with_note
from laconic.core.arrays import PROVED, Floats, Indices
from laconic.core.monitor import Monitor, Stop, threads_for
from laconic.core.words import scope_of
from laconic.covariance import Covariance, SubsetCovariance, largest_eigenpair, largest_eigenpairs
from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Made
from laconic.covariance.screening import widened
from laconic.model.joint import ACCURACY, JointSolution, each_of, fewest_that_keep, first_start, solve_together
from laconic.model.settings import Sizes, forced_places, joint_of, penalty_of, smallest_that_keeps
from laconic.proof import Certificate, ProofError, Proved, UpperBound, certify
from laconic.search.problem import Problem, Solution, Solver, StagedSolver, Status, abilities_of, on_all, solve_at_hand
from laconic.search.several import JointProblem
from laconic.search.support import EQUAL, finish, leading

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# A component explains nothing if its variance is at most this share of the largest variance: that is rounding.
NOTHING = 1e-15
# The share of what the last feature of a support adds that a hidden feature may have as its variance.
HALF = 0.5
# A vector depends on those before it if the square of the rest is at most this share of its own: that is rounding.
ROUNDING = 1e-14


@dataclass(eq=False)
class Found:
    """A component: what was asked, and what is known so far."""

    covariance: Covariance  # S on all features, with the earlier components removed
    features: Indices  # those that were free; `problem` and `solution` number them from zero
    problem: Problem  # its cardinality is that of the supports that the solution is compared with
    solution: Solution
    earlier: list[Floats] = field(default_factory=list)  # the components removed before, as vectors on all features
    dense_variance: float = np.nan  # of the ordinary component on the same covariance, of the features that were free
    bound: UpperBound | None = None
    stopped: Stop | None = None  # why the work on it was stopped, if it was
    size_is_open: bool = False  # the search for the smallest cardinality was stopped: a smaller support may do

    @property
    def support(self) -> Indices:
        """The features that it uses."""
        return np.asarray(self.features[self.solution.support])

    @property
    def vector(self) -> Floats:
        """The component as a vector on all features."""
        return replace(self.solution, support=self.support).vector(self.covariance.n_features)


def bounded(
    problem: Problem, solution: Solution, proof: Proof | None, *, improve: bool = False
) -> tuple[Solution, UpperBound | None]:
    """Return the solution or a better one, and a proved bound on supports of the problem's cardinality, or None.

    Without `proof` only the bound that the solver gives is proved. Without `improve` a better solution that the proof
    meets is not taken: the `reason` of the solution then names its value.
    """
    if solution.value <= 0:
        return solution, None
    best = solution
    try:
        if proof is None and solution.witness is None:
            return solution, None
        best, bound = prove(problem, solution, proof)
    except ProofError as error:
        noted = with_note(solution, f"a proof failed: {error}")
        if proof is None or solution.witness is None:
            return noted, None
        # The solver's own witness failed, and other bounds may pass.
        return bounded(problem, replace(noted, estimate=np.inf, witness=None), proof, improve=improve)
    if not improve and best.value > solution.value * (1 + EQUAL):
        note = f"the proof met a support of value {best.value:.6g}, which method='auto' would return"
        return with_note(solution, note), bound
    return best, bound


def concluded(
    found: Found, made: Made, model: "SparsePCA", *, certified: bool = True
) -> tuple[Solution, Certificate | None]:
    """Return the solution in terms of all features, with its bound, status and scope, and its certificate."""
    solution, bound = replace(found.solution, support=found.support), found.bound
    certificate = None
    if bound is not None and certified:
        try:
            certificate = certify(
                found.covariance,
                bound.cardinality,
                solution.support,
                solution.loadings,
                bound.witness,
                digest=made.digest(),
                recipe=made.recipe,
                feature_names=made.names,
                kind=bound.kind,
                deflation=model.deflation if found.earlier else None,
                earlier=np.array(found.earlier) if found.earlier else None,
                allowed=None if len(found.features) == found.covariance.n_features else found.features,
                forced=found.features[found.problem.forced],
                proved=Proved(bound.value, bound.margin),
            )
        except ValueError as error:
            solution = with_note(solution, f"no certificate: {error}")
        else:
            # The certificate leaves room for the rounding errors of other machines.
            bound = bound.raised_to(certificate.upper, certificate.margin)
    search = solution.status
    if bound is not None:
        solution = solution.proved(bound)
    optimal = solution.status is Status.OPTIMAL and (certificate is None or certificate.proved)
    status, stopped = Status.OPTIMAL if optimal else search, found.stopped
    if search is Status.PENALTY_COMPLETE:
        # It compares more than the supports of one size. A bound for one size does not replace that.
        status = search
    if stopped is not None and (found.size_is_open or (status in (Status.LOCAL, Status.HEURISTIC))):
        status = Status[stopped.name]
    scope = scope_of(
        np.setdiff1d(np.flatnonzero(~made.constant), found.features),
        found.features[found.problem.forced],
        earlier=len(found.earlier),
        # A bound holds for loadings of either sign. A search with non-negative loadings compares only those.
        nonnegative=found.problem.nonnegative and status is not Status.OPTIMAL,
        matrix=made.recipe.in_words if certified else "",
        feature_names=made.names,
    )
    return replace(solution, status=status, scope=scope), certificate


def explained_variances(covariance: Covariance, components: Floats) -> dict[str, Floats]:
    """Return the variance that each component explains, by three definitions.

    The components z_1, ..., z_m are unit vectors, one in each row, and S is the covariance before any deflation.

        span  The variance that z_j adds if the data are projected on the span of z_1, ..., z_j: q'Sq, where q is the
              part of z_j orthogonal to the components before it, scaled to unit length. The sum over all components is
              the variance that they explain together.
        raw   z_j'Sz_j, the variance of the scores. Variance that two components share is counted twice.
        qr    The variance of the scores of z_j that the scores before it do not predict (Zou, Hastie and Tibshirani
              2006): R_jj^2 in the QR decomposition of the scores. It is NaN if S is not semidefinite: there are no
              scores with the covariance S then.
    """
    hand = slice(None) if covariance.at_hand is None else covariance.at_hand
    own = components[:, hand]
    gram = own @ covariance.on_hand().product(np.ascontiguousarray(own.T))
    residual, squares = _one_after_the_other(components @ components.T)
    span = (residual @ gram @ residual.T).diagonal() * np.divide(1, squares, out=np.zeros(len(gram)), where=squares > 0)
    qr = np.full(len(gram), np.nan)
    if covariance.semidefinite:
        span, qr = np.maximum(span, 0.0), _one_after_the_other(gram)[1]
    return {"span": span, "raw": gram.diagonal().copy(), "qr": qr}


def _one_after_the_other(gram: Floats) -> tuple[Floats, Floats]:
    """Return T such that the rows of TZ are orthogonal, given the inner products ZZ', and their squared lengths.

    Each row of TZ is one of Z less its projection on those before it. If nothing but rounding is left, its length is 0.
    """
    transform, squares = np.eye(len(gram)), np.zeros(len(gram))
    for j, row in enumerate(transform):
        earlier = np.flatnonzero(squares)
        # The second pass removes the rounding errors of the first.
        for _ in range(2):
            row -= (transform[earlier] @ gram @ row / squares[earlier]) @ transform[earlier]
        square = float(row @ gram @ row)
        squares[j] = square if square > ROUNDING * gram[j, j] else 0.0
    return transform, squares


def dense_variance(covariance: Covariance, features: Indices, count: int, monitor: Monitor) -> float:
    """Return about the variance that a number of ordinary components hold, of the features at hand that may be used.

    It is NaN if the user interrupts the computation.
    """
    everything = len(features) == covariance.n_features
    part: Covariance = covariance if everything else SubsetCovariance(covariance, features)
    values = np.array([math.nan])
    with monitor.watch():
        values, _ = largest_eigenpairs(part.on_hand(), count, tolerance=ACCURACY)
    return float(np.maximum(values, 0.0).sum())


@dataclass(frozen=True, eq=False)
class Components:
    """The components of a fit."""

    solutions: list[Solution]  # on all features; each value is that on the covariance as deflated when it was found
    certificates: list[Any]  # one for each component, or one for all that were found together
    dense_variances: Floats  # of the ordinary component on the same covariance; NaN if they were found together
    covariance: Covariance  # before any deflation, with every feature at hand that the search needed
    together: JointSolution | None = None  # all components, if they were found together
    uppers: Floats | None = None  # a proved bound on what one like each of these adds to the others


def components(
    model: "SparsePCA", made: Made, sizes: Sizes, monitor: Monitor, starts: Sequence[Indices] = ()
) -> Components:
    """Find components one after the other, or together if the solver does that, and prove bounds for them.

    With `starts`, a support for each component, no component is worse than its own if those before it are the same.

    There are fewer components than asked for only if the user interrupted the search.
    """
    search = Search(model, made, sizes, monitor, made.covariance)
    with threads_for(made.covariance.on_hand().n_features):
        # A question about all components, or a block method, makes no difference to a single one.
        if model.joint is not None and sizes.count > 1:
            return _jointly(search)
        if abilities_of(search.solver).together and sizes.count > 1:
            search.found = _in_blocks(search)
            return _concluded(search)
        try:
            if len(starts):
                search.extend(search.found, sizes.count, starts)
            else:
                search.find()
            search.prove()
        except KeyboardInterrupt:
            if not search.found:
                raise
            for one in search.found:
                one.stopped = Stop.INTERRUPTED
        return _concluded(search)


def _concluded(search: "Search") -> Components:
    """Return the components with their certificates. After Ctrl-C no more certificates are made."""
    pairs = []
    certified = search.model.proof is not None
    for one in search.found:
        try:
            pairs.append(concluded(one, search.made, search.model, certified=certified))
        except KeyboardInterrupt:
            certified, one.stopped = False, Stop.INTERRUPTED
            pairs.append(concluded(one, search.made, search.model, certified=False))
    dense = np.array([one.dense_variance for one in search.found])
    solutions, certificates = [solution for solution, _ in pairs], [certificate for _, certificate in pairs]
    return Components(solutions, certificates, dense, search.covariance)


def _jointly(search: "Search") -> Components:
    """Return components that were found together. The search starts from components found one after the other."""
    model, made, sizes, whole = search.model, search.made, search.sizes, search.monitor
    count, total, ks, starts = sizes.count, sizes.total, sizes.cardinalities, list[Floats]()
    if sizes.share is not None:
        fewest = search.jointly([count] * count, whole.part(3))
        k, kept = fewest_that_keep(fewest, sizes.share, search.seed)
        starts.append(np.zeros((count, made.covariance.n_features)))
        starts[0][:, search.varying] = kept
        ks = [k] * count
    assert ks is not None
    apart = ks if total is None else [total // count] * count
    search.sizes = Sizes(count, apart)
    search.monitor = whole.part(2 if model.proof is None else 3)
    try:
        search.find()
    except KeyboardInterrupt:
        if not search.found:
            raise
    first = first_start(search.covariance.diagonal, apart, [one.vector for one in search.found])
    if len(search.found) < count:
        whole.stopped = Stop.INTERRUPTED
    problem = search.jointly(ks, whole, total)
    found = solve_together(model, made, search.covariance, problem, [first, *starts], search.seed)
    solutions, uppers = each_of(found, search.covariance, search.varying)
    return Components(solutions, [found.certificate], np.full(count, np.nan), search.covariance, found, uppers)


@dataclass(eq=False)
class Search:
    """Finds components one after the other, each on the covariance without the components before it."""

    model: "SparsePCA"
    made: Made
    sizes: Sizes
    monitor: Monitor
    covariance: Covariance  # before any deflation; it is replaced if more of its features are read
    found: list[Found] = field(default_factory=list)

    def __post_init__(self) -> None:
        state = self.model.random_state
        seed = None if state is None else int(check_random_state(state).randint(2**31 - 1))
        self.seed: int = seed or 0
        self.solver: Solver = get_solver(self.model.method, seed=seed)
        self.proof: Proof | None = self.model.proof
        # Each component gets a fast bound before a proof that takes long.
        self.long: bool = takes_long(self.proof)
        self.varying: Indices = np.flatnonzero(~self.made.constant)
        self.forced: Indices = forced_places(self.model, self.made)

    def problem(self, covariance: Covariance, features: Indices, cardinality: int) -> Problem:
        """Return the problem on some features of a covariance."""
        everything = len(features) == covariance.n_features
        return Problem(
            covariance if everything else SubsetCovariance(covariance, features),
            min(cardinality, len(features)),
            forced=np.searchsorted(features, self.forced),
            nonnegative=self.model.nonnegative,
            monitor=self.monitor,
        )

    def jointly(self, cardinalities: list[int], monitor: Monitor, total: int | None = None) -> JointProblem:
        """Return the problem of finding components of some sizes together, among the features that vary."""
        one = self.problem(self.covariance, self.varying, max(cardinalities))
        question = joint_of(self.model)
        assert question is not None
        sizes = tuple(min(k, one.n_features) for k in cardinalities)
        return JointProblem(one.covariance, question, sizes, total, one.forced, self.model.nonnegative, monitor)

    def find(self) -> None:
        """Find all components. After Ctrl-C those found so far are kept.

        If features that are not at hand may matter for a component, they are read, and all components found again.
        """
        while True:
            self.extend(self.found, self.sizes.count, [])
            if self.monitor.is_over or self.covariance.at_hand is None:
                return
            least = min(_least_variance_that_matters(one) for one in self.found)
            try:
                wider = widened(self.covariance, least, np.array([one.vector for one in self.found]))
            except TimeoutError:  # the components found so far are kept
                return
            if wider is None:
                return
            self.covariance = wider
            self.found = []

    def prove(self) -> None:
        """Prove a bound for each component.

        A tight or exact proof takes long. Each component gets a fast bound first, which is kept if time runs out. If a
        long proof meets a better support, the component takes it, and the later ones are found and bounded again.
        """
        self._prove_from(0, "fast" if self.long else self.proof)
        if not self.long:
            return
        # A proof ends between two steps and may exceed its part of the time. The next proof has steps of that length.
        overrun = 0.0
        for index in range(len(self.found)):
            one = self.found[index]
            if closes(one.bound, one.solution):
                continue
            stop = self._stop(overrun)
            if stop is not None:
                one.stopped = one.stopped or stop
                continue
            part = self.monitor.part(len(self.found) - index, f"component {index + 1}")
            better = self._prove(one, self.proof, part)
            overrun = max(overrun, -part.seconds_left)
            if better is one.solution:
                continue
            # The list is replaced as a whole: a second Ctrl-C on the way leaves components that belong together.
            found = [*self.found[:index], replace(one, solution=better)]
            self.extend(found, len(self.found), [one.support for one in self.found[index + 1 :]])
            self.found = found
            self._prove_from(index + 1, "fast")

    def _stop(self, seconds: float) -> Stop | None:
        """Return why no proof may begin that takes so many seconds; None if there is time."""
        if any(one.stopped is Stop.INTERRUPTED for one in self.found):
            return Stop.INTERRUPTED
        return Stop.TIME_LIMIT if self.monitor.seconds_left <= seconds else None

    def _prove_from(self, first: int, proof: Proof | None) -> None:
        for index in range(first, len(self.found)):
            one = self.found[index]
            if proof == "fast" and one.bound is not None:
                # It was proved during the search.
                continue
            one.solution = self._prove(one, proof, self.monitor.part(len(self.found) - index, f"component {index + 1}"))

    def _prove(self, one: Found, proof: Proof | None, monitor: Monitor) -> Solution:
        """Bound a component, and return its solution or a better one."""
        problem = replace(one.problem, monitor=monitor)
        # A method that was chosen by name keeps its own support.
        improve = abilities_of(self.solver).improvable
        solution, bound = bounded(problem, one.solution, proof, improve=improve)
        if bound is not None and (one.bound is None or bound.value < one.bound.value):
            one.bound = bound
        one.stopped = one.stopped or monitor.stopped
        if solution.value == one.solution.value:
            # It is the same solution, perhaps with a note in its reason.
            one.solution = solution
        return solution

    def extend(self, found: list[Found], count: int, starts: Sequence[Indices]) -> None:
        """Find the components that a list lacks; begin with the supports `starts` if there are any."""
        deflation = Deflation(self.covariance, self.model.deflation)
        scale = self.covariance.rounding_unit
        for one in found:
            deflation.remove(one.vector)
        for index in range(len(found), count):
            part = self.monitor.part(count - index, f"component {index + 1}")
            start = starts[index - count] if starts else None
            earlier = [one.vector for one in found]
            one = self._next(deflation.current, earlier, part, start)
            if one.solution.value <= NOTHING * scale:
                raise self._nothing_left(index, one.solution)
            found.append(one)
            if part.stopped is Stop.INTERRUPTED and not starts:
                return
            if index + 1 < count:
                deflation.remove(one.vector)

    def _next(self, current: Covariance, earlier: list[Floats], monitor: Monitor, start: Indices | None) -> Found:
        index, bound, free = len(earlier), None, self.varying
        cardinalities, share = self.sizes.cardinalities, self.sizes.share
        size = max(len(self.forced), 1) if cardinalities is None else cardinalities[index]
        problem = replace(self.problem(current, free, size), monitor=monitor)
        if cardinalities is None:
            assert share is not None  # without a number of features or a share, the numbers are chosen before
            solution, dense = smallest_that_keeps(problem.at_hand(), self.solver, share)
            problem = problem.with_cardinality(max(len(solution.support), len(self.forced)))
            solution = on_all(problem, solution)
        else:
            solution, bound = self._solve(problem, start)
            dense = largest_eigenpair(problem.at_hand().covariance, tolerance=ACCURACY)[0]
            if penalty_of(self.solver) is not None:
                # The penalty decides on the size. The bound is about supports of that size.
                problem = problem.with_cardinality(len(solution.support))
                if solution.status is Status.COMPLETE and solution.estimated_gap <= PROVED:
                    solution = replace(solution, status=Status.PENALTY_COMPLETE)
        size_is_open = cardinalities is None and monitor.stopped is not None
        return Found(current, free, problem, solution, earlier, dense, bound, monitor.stopped, size_is_open)

    def _solve(self, problem: Problem, start: Indices | None) -> tuple[Solution, UpperBound | None]:
        """Return a solution, and a bound if one was proved on the way."""
        if start is None:
            return self._solve_in_stages(problem)
        support = np.searchsorted(self.varying, start)
        solution = solve_at_hand(self.solver, problem, start=support)
        kept = finish(problem, support, solution.status, method=solution.method)
        # A search that is stopped at once may return less than it began with.
        return (kept if kept.value > solution.value else solution), None

    def _solve_in_stages(self, problem: Problem) -> tuple[Solution, UpperBound | None]:
        """Run the whole search only if a bound does not prove the support of the first stage."""
        first = None
        guided = joint_of(self.model) is None and (self.proof == "fast" or self.long)
        # If features are hidden, more of them may be read, and everything is found again: a bound would be too early.
        if guided and isinstance(self.solver, StagedSolver) and problem.covariance.at_hand is None:
            first = self.solver.first(problem)
        if first is None:
            return solve_at_hand(self.solver, problem), None
        first, bound = bounded(problem, first, "fast")
        if closes(bound, first):
            return first, bound
        solution = self.solver.solve(problem, start=first.support)
        if solution.value > first.value * (1 + EQUAL):
            # The bound holds for this support, too. But a lower one may be found from it.
            return solution, None
        # A search that is stopped at once may return less than it began with.
        return (solution if solution.value >= first.value * (1 - EQUAL) else first), bound

    def _nothing_left(self, index: int, solution: Solution) -> ValueError:
        filled = len(solution.support) == len(self.forced)
        cause = "forced_in leaves it no other feature" if filled else "the covariance is used up"
        if not self.covariance.semidefinite:
            cause = "no positive variance is left in a matrix that is not positive semidefinite"
        if index == 0:
            return ValueError(f"There is no component to find: {cause}.")
        return ValueError(
            f"Component {index + 1} of n_components={self.sizes.count} would explain nothing: {cause}; "
            f"ask for n_components={index}{' or a larger cardinality' if filled else ''}."
        )


def _least_variance_that_matters(one: Found) -> float:
    """Return the variance below which a feature that is not at hand cannot improve a component by much.

    A hidden feature adds at most its variance to the value of the other k - 1 features. It matters if that is more than
    half of what the last feature of the support adds; the other half is for the gaps of the bounds at k - 1.
    """
    S, solution = one.problem.covariance, one.solution
    if len(solution.support) == 1:
        return solution.value
    smaller = np.sort(solution.support[np.argsort(-np.abs(solution.loadings), kind="stable")[:-1]])
    return HALF * (solution.value - leading(S.submatrix(smaller))[0])


def _in_blocks(search: Search) -> list[Found]:
    """Find all components together. They are not deflated, so only the bounds that the solver gives are proved."""
    solver: Any = search.solver
    if search.sizes.cardinalities is None:
        raise ValueError("A block method needs cardinality= as a number; a share finds components one after the other.")
    covariance, free = search.covariance, search.varying
    cardinalities = [min(k, len(free)) for k in search.sizes.cardinalities]
    problem = search.problem(covariance, free, max(cardinalities))
    part = problem.at_hand()
    solutions = [on_all(problem, one) for one in solver.solve_jointly(part, cardinalities)]
    dense = largest_eigenpair(part.covariance, tolerance=ACCURACY)[0]
    found = []
    for k, solution in zip(cardinalities, solutions, strict=True):
        of_this_size = problem.with_cardinality(k)
        solution, bound = bounded(of_this_size, solution, None)
        one = Found(covariance, free, of_this_size, solution, [], dense, bound, search.monitor.stopped)
        found.append(one)
    spanned = explained_variances(covariance, np.array([one.vector for one in found]))["span"]
    nothing = np.flatnonzero(spanned <= NOTHING * covariance.rounding_unit)
    if len(nothing):
        raise ValueError(
            f"Component {nothing[0] + 1} of n_components={len(found)}, found together, explains nothing that those "
            "before it do not; ask for fewer components, or for a method that finds one after the other."
        )
    return found
