"""Several components: all are found first, then each is proved.

If the solver has a quick first stage, a fast bound follows it at once. Where that proves the support optimal, the whole
search is not run.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from laconic.bounds.fast import Proof
from laconic.bounds.least import closes
from laconic.bounds.tight import on_all, solve_at_hand
from laconic.core.arrays import PROVED, Floats, Indices
from laconic.core.monitor import Monitor, Stop, threads_for
from laconic.covariance import Covariance, SubsetCovariance, largest_eigenpair
from laconic.covariance.deflation import Deflation
from laconic.model.choosing.default_size import default_size
from laconic.model.conclusion import Question, Subject, bounded, concluded
from laconic.model.explained_variance import explained_variances
from laconic.model.joint import QUESTIONS, Together
from laconic.model.request import Request
from laconic.model.smallest_cardinality import smallest_cardinality
from laconic.proof import Certificate, UpperBound
from laconic.proof.witness import no_features
from laconic.search.problem import Problem, Solution, Solver, StagedSolver, Status, abilities_of
from laconic.search.support import EQUAL, finish, leading

# A component explains nothing if its variance is at most this share of the largest variance: that is rounding.
NOTHING = 1e-15
# Relative residual of the dense component. Its variance is then accurate to about 1e-5: shares are read to a tenth of a
# per cent.
ACCURACY = 1e-3
# The share of what the last feature of a support adds that a hidden feature may have as its variance.
HALF = 0.5


@dataclass(frozen=True, eq=False)
class Component:
    """One component as a model returns it."""

    solution: Solution  # on all features; its value is that on the covariance as deflated when it was found
    certificate: Certificate | None
    dense_variance: float  # of the dense component on the same covariance, of the features that were free
    covariance: Covariance  # before any deflation, with every feature at hand that the search needed
    together: Together | None = None  # the components that it is one of, if they answer a question together


@dataclass(eq=False)
class _Found:
    """A component during the fit: the question, the solution on the free features, and the best bound so far."""

    question: Question
    solution: Solution
    dense_variance: float
    bound: UpperBound | None = None
    stopped: Stop | None = None

    @property
    def vector(self) -> Floats:
        support = self.question.features[self.solution.support]
        return replace(self.solution, support=support).vector(self.question.covariance.n_features)


def find_components(
    covariance: Covariance,
    request: Request,
    solver: Solver,
    monitor: Monitor,
    proof: Proof | None = None,
    subject: Subject | None = None,
) -> list[Component]:
    """Find components one after the other, or together if the solver does that, and prove bounds for them.

    Without `proof` only the bounds that the solver gives are proved. Without a subject there are no certificates. There
    are fewer components than asked for only if the user interrupted the search.
    """
    with threads_for(covariance.on_hand().n_features):
        if request.joint is not None and request.n_components > 1:
            return _answering(covariance, request, solver, monitor, subject, prove=proof is not None)
        # A block method that is asked for one component finds it as any other method does.
        single = request.n_components == 1 and not abilities_of(solver).disjoint
        if abilities_of(solver).together and not single:
            found = _jointly(covariance, request, solver, monitor)
        else:
            search = _Search(covariance, request, solver, monitor, guided=proof in ("fast", "tight"))
            try:
                search.find()
                search.prove(proof)
            except KeyboardInterrupt:
                if not search.found:
                    raise
                for one in search.found:
                    one.stopped = Stop.INTERRUPTED
            found, covariance = search.found, search.covariance
        return _concluded(found, covariance, request, subject)


def _concluded(
    found: list[_Found], covariance: Covariance, request: Request, subject: Subject | None
) -> list[Component]:
    """Return the components with their certificates. After Ctrl-C no more certificates are made."""
    components = []
    for one in found:
        try:
            pair = concluded(one.question, one.solution, one.bound, one.stopped, subject, request.feature_names)
        except KeyboardInterrupt:
            subject = None
            pair = concluded(one.question, one.solution, one.bound, Stop.INTERRUPTED, None, request.feature_names)
        components.append(Component(*pair, one.dense_variance, covariance))
    return components


def _answering(
    covariance: Covariance,
    request: Request,
    solver: Solver,
    monitor: Monitor,
    subject: Subject | None,
    *,
    prove: bool,
) -> list[Component]:
    """Return components that answer a question together. They start from components found one after the other.

    If the user interrupts before all of those are found, they are returned as they are.
    """
    assert request.joint is not None
    assert request.cardinalities is not None
    search = _Search(covariance, request, solver, monitor.part(2), guided=False)
    try:
        search.find()
    except KeyboardInterrupt:
        if not search.found:
            raise
    if len(search.found) < request.n_components:
        for one in search.found:
            one.stopped = Stop.INTERRUPTED
        return _concluded(search.found, search.covariance, request, None)
    problem = _problem(search.covariance, request.allowed, max(request.cardinalities), request, monitor)
    vectors = np.array([one.vector for one in search.found])
    answer = QUESTIONS[request.joint](search.covariance, problem, vectors, request, subject, prove=prove)
    return [
        Component(solution, None, float(dense), search.covariance, answer)
        for solution, dense in zip(answer.solutions, answer.dense_variances, strict=True)
    ]


def _problem(
    covariance: Covariance, features: Indices, cardinality: int, request: Request, monitor: Monitor
) -> Problem:
    everything = len(features) == covariance.n_features
    return Problem(
        covariance if everything else SubsetCovariance(covariance, features),
        min(cardinality, len(features)),
        forced=np.searchsorted(features, request.forced),
        nonnegative=request.nonnegative,
        monitor=monitor,
    )


@dataclass(eq=False)
class _Search:
    """Finds components one after the other, each on the covariance without the components before it."""

    covariance: Covariance
    request: Request
    solver: Solver
    monitor: Monitor
    guided: bool  # a fast bound follows the first stage of the solver, if it has one
    found: list[_Found] = field(default_factory=list)

    def find(self) -> None:
        """Find all components. After Ctrl-C those found so far are kept.

        If features that are not at hand may matter for a component, they are read, and all components found again.
        """
        while True:
            self._extend(self.found, self.request.n_components, [])
            if self.monitor.is_over:
                return
            least = min(_least_variance_that_matters(one) for one in self.found)
            try:
                wider = self.covariance.widened(least, np.array([one.vector for one in self.found]))
            except TimeoutError:  # the components found so far are kept
                return
            if wider is None:
                return
            self.covariance = wider
            self.found = []

    def prove(self, proof: Proof | None) -> None:
        """Prove a bound for each component.

        A tight proof takes long. Each component gets a fast bound first, which is kept if time runs out. If a tight
        proof meets a better support, the component takes it, and the later components are found and bounded again.
        """
        self._prove_from(0, "fast" if proof == "tight" else proof)
        if proof != "tight":
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
            better = self._prove(one, "tight", part)
            overrun = max(overrun, -part.seconds_left)
            if better is one.solution:
                continue
            # The list is replaced as a whole: a second Ctrl-C on the way leaves components that belong together.
            found = [*self.found[:index], replace(one, solution=better)]
            self._extend(found, len(self.found), self.found[index + 1 :])
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

    def _prove(self, one: _Found, proof: Proof | None, monitor: Monitor) -> Solution:
        """Bound a component, and return its solution or a better one."""
        problem = replace(one.question.problem, monitor=monitor)
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

    def _extend(self, found: list[_Found], count: int, starts: list[_Found]) -> None:
        """Find the components that a list lacks; begin with earlier supports if there are any."""
        request = self.request
        deflation = Deflation(self.covariance, request.deflation)
        free = request.allowed
        scale = self.covariance.rounding_unit
        for one in found:
            deflation.remove(one.vector)
            free = self._left(free, one)
        for index in range(len(found), count):
            part = self.monitor.part(count - index, f"component {index + 1}")
            start = starts[index - count] if starts else None
            earlier = [one.vector for one in found]
            one = self._next(deflation.current, free, earlier, part, start)
            if one.solution.value <= NOTHING * scale:
                raise _nothing_left(index, request, one.solution, semidefinite=self.covariance.semidefinite)
            found.append(one)
            if part.stopped is Stop.INTERRUPTED and not starts:
                return
            if index + 1 < count:
                deflation.remove(one.vector)
            free = self._left(free, one)

    def _left(self, free: Indices, one: _Found) -> Indices:
        if not self.request.disjoint:
            return free
        return np.setdiff1d(free, one.question.features[one.solution.support])

    def _next(
        self, current: Covariance, free: Indices, earlier: list[Floats], monitor: Monitor, start: _Found | None
    ) -> _Found:
        request, index, bound = self.request, len(earlier), None
        if not len(free):
            raise ValueError(
                f"No feature is left for component {index + 1} of n_components={request.n_components} with disjoint "
                "supports; ask for fewer components or a smaller cardinality."
            )
        if request.cardinalities is None:
            problem = _problem(current, free, max(len(request.forced), 1), request, monitor)
            part = problem.at_hand()
            if request.min_variance is None:
                solution, dense = default_size(part, self.solver)
            else:
                solution, dense = smallest_cardinality(part, self.solver, request.min_variance)
            problem = problem.with_cardinality(max(len(solution.support), len(request.forced)))
            solution = on_all(problem, solution)
        else:
            problem = _problem(current, free, request.cardinalities[index], request, monitor)
            solution, bound = self._solve(problem, free, start)
            dense = largest_eigenpair(problem.at_hand().covariance, tolerance=ACCURACY)[0]
            if request.penalized:
                # The penalty decides on the size. The bound is about supports of that size.
                problem = problem.with_cardinality(len(solution.support))
                if solution.status is Status.COMPLETE and solution.estimated_gap <= PROVED:
                    solution = replace(solution, status=Status.PENALTY_COMPLETE)
        left_out = np.setdiff1d(request.allowed, free)
        size_is_open = request.cardinalities is None and monitor.stopped is not None
        question = Question(current, free, problem, left_out, earlier, size_is_open)
        return _Found(question, solution, dense, bound, monitor.stopped)

    def _solve(self, problem: Problem, free: Indices, start: _Found | None) -> tuple[Solution, UpperBound | None]:
        """Return a solution, and a bound if one was proved on the way."""
        if start is None:
            return self._solve_in_stages(problem)
        return self._solve_from(problem, free, start), None

    def _solve_in_stages(self, problem: Problem) -> tuple[Solution, UpperBound | None]:
        """Run the whole search only if a bound does not prove the support of the first stage."""
        first = None
        # If features are hidden, more of them may be read, and everything is found again: a bound would be too early.
        if self.guided and isinstance(self.solver, StagedSolver) and problem.covariance.at_hand is None:
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

    def _solve_from(self, problem: Problem, free: Indices, start: _Found) -> Solution:
        before = np.intersect1d(start.question.features[start.solution.support], free)
        if not len(before):
            return solve_at_hand(self.solver, problem)
        support = np.union1d(np.searchsorted(free, before), problem.forced)
        solution = solve_at_hand(self.solver, problem, start=support)
        kept = finish(problem, support, solution.status, method=solution.method)
        # A search that is stopped at once may return less than it began with.
        return kept if kept.value > solution.value else solution


def _least_variance_that_matters(one: _Found) -> float:
    """Return the variance below which a feature that is not at hand cannot improve a component by much.

    A hidden feature adds at most its variance to the value of the other k - 1 features. It matters if that is more than
    half of what the last feature of the support adds; the other half is for the gaps of the bounds at k - 1.
    """
    S, solution = one.question.problem.covariance, one.solution
    if len(solution.support) == 1:
        return solution.value
    smaller = np.sort(solution.support[np.argsort(-np.abs(solution.loadings), kind="stable")[:-1]])
    return HALF * (solution.value - leading(S.submatrix(smaller))[0])


def _nothing_left(index: int, request: Request, solution: Solution, *, semidefinite: bool) -> ValueError:
    filled = len(solution.support) == len(request.forced)
    cause = "forced_in leaves it no other feature" if filled else "the covariance is used up"
    if not semidefinite:
        cause = "no positive variance is left in a matrix that is not positive semidefinite"
    if index == 0:
        return ValueError(f"There is no component to find: {cause}.")
    return ValueError(
        f"Component {index + 1} of n_components={request.n_components} would explain nothing: {cause}; "
        f"ask for n_components={index}{' or a larger cardinality' if filled else ''}."
    )


def _jointly(covariance: Covariance, request: Request, solver: Any, monitor: Monitor) -> list[_Found]:
    """Find all components together. They are not deflated, so only the bounds that the solver gives are proved."""
    if request.cardinalities is None:
        raise ValueError("A block method needs cardinality=; min_variance chooses components one after the other.")
    if request.disjoint != abilities_of(solver).disjoint:
        raise ValueError(
            f"method={solver.name!r} finds components with disjoint supports; give disjoint=True with it."
            if abilities_of(solver).disjoint
            else "A block method finds all components together; disjoint=True needs one after the other."
        )
    free = request.allowed
    cardinalities = [min(k, len(free)) for k in request.cardinalities]
    problem = _problem(covariance, free, max(cardinalities), request, monitor)
    part = problem.at_hand()
    solutions = [on_all(problem, one) for one in solver.solve_jointly(part, cardinalities)]
    dense = largest_eigenpair(part.covariance, tolerance=ACCURACY)[0]
    found = []
    for k, solution in zip(cardinalities, solutions, strict=True):
        of_this_size = problem.with_cardinality(k)
        question = Question(covariance, free, of_this_size, no_features())
        solution, bound = bounded(of_this_size, solution, None)
        found.append(_Found(question, solution, dense, bound, monitor.stopped))
    spanned = explained_variances(covariance, np.array([one.vector for one in found]))["span"]
    nothing = np.flatnonzero(spanned <= NOTHING * covariance.rounding_unit)
    if len(nothing):
        raise ValueError(
            f"Component {nothing[0] + 1} of n_components={request.n_components}, found together, explains nothing that "
            "those before it do not; ask for fewer components, or for a method that finds one after the other."
        )
    return found
