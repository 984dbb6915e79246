"""One component during a fit: the question it answers, the solution, its bound, and at the end its certificate."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.bounds.fast import Proof
from laconic.bounds.least import bound_and_improve, least_proved, with_note
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Stop
from laconic.core.words import scope_of
from laconic.covariance import Covariance
from laconic.covariance.make import Made
from laconic.proof import Certificate, Estimate, ProofError, Proved, UpperBound, certify
from laconic.proof.gate import kind_of
from laconic.search.problem import Problem, Solution, Status
from laconic.search.support import EQUAL

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# These searches compare more than the supports of one size. A bound for one size does not replace their status.
_LARGER_CLAIMS = (Status.PENALTY_COMPLETE, Status.JOINTLY_COMPLETE)


@dataclass(eq=False)
class Found:
    """A component: what was asked, and what is known so far."""

    covariance: Covariance  # S on all features, with the earlier components removed
    features: Indices  # those that were free; `problem` and `solution` number them from zero
    problem: Problem  # its cardinality is that of the supports that the solution is compared with
    solution: Solution
    earlier: list[Floats] = field(default_factory=list)  # the components removed before, as vectors on all features
    dense_variance: float = np.nan  # of the dense component on the same covariance, of the features that were free
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
        if proof is None:
            if solution.witness is None:
                return solution, None
            own = Estimate(solution.estimate, kind_of(solution.witness), problem.cardinality, solution.witness)
            bound = least_proved(problem, [own])
        else:
            bound, best = bound_and_improve(problem, solution, proof)
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
            certificate = _certificate(found, solution, bound, made, model.deflation)
        except ValueError as error:
            solution = with_note(solution, f"no certificate: {error}")
        else:
            # The certificate leaves room for the rounding errors of other machines.
            bound = bound.raised_to(certificate.upper, certificate.margin)
    search = solution.status
    if bound is not None:
        solution = solution.proved(bound)
    optimal = solution.status is Status.OPTIMAL and (certificate is None or certificate.proved)
    status = _status(found, search, optimal=optimal)
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


def _status(found: Found, search: Status, *, optimal: bool) -> Status:
    """Decide on the status: join how the search ended, why the work was stopped, and what is proved."""
    if found.size_is_open and found.stopped is not None:
        return Status[found.stopped.name]
    if search in _LARGER_CLAIMS:
        return search
    if optimal:
        return Status.OPTIMAL
    if found.stopped is not None and search in (Status.LOCAL, Status.HEURISTIC):
        return Status[found.stopped.name]
    return search


def described(made: Made) -> dict[str, Any]:
    """Return what a certificate says about the data: their digest, how the matrix was made of them, and its names."""
    return {"digest": made.digest(), "recipe": made.recipe, "feature_names": made.names}


def _certificate(found: Found, solution: Solution, bound: UpperBound, made: Made, deflation: str) -> Certificate:
    return certify(
        found.covariance,
        bound.cardinality,
        solution.support,
        solution.loadings,
        bound.witness,
        **described(made),
        kind=bound.kind,
        deflation=deflation if found.earlier else None,
        earlier=np.array(found.earlier) if found.earlier else None,
        allowed=None if len(found.features) == found.covariance.n_features else found.features,
        forced=found.features[found.problem.forced],
        proved=Proved(bound.value, bound.margin),
    )
