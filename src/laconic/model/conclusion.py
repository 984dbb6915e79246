"""From a solution to its bound, its certificate, its status and the scope of its verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from laconic.bounds.fast import Proof
from laconic.bounds.least import bound_and_improve, least_proved, with_note
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Stop
from laconic.core.words import scope_of
from laconic.covariance import Covariance
from laconic.covariance.reading import Reading
from laconic.proof import Certificate, Estimate, MatrixDescription, ProofError, Proved, UpperBound, certify
from laconic.proof.gate import kind_of
from laconic.search.problem import Problem, Solution, Status

# These searches compare more than the supports of one size. A bound for one size does not replace their status.
_LARGER_CLAIMS = (Status.PENALTY_COMPLETE, Status.JOINTLY_COMPLETE)


@dataclass(frozen=True, eq=False)
class Subject:
    """The data that certificates are about."""

    digest: str  # as `laconic.data.digest.digest_of` gives it
    matrix: MatrixDescription
    deflation: str = ""  # the rule by which earlier components are removed
    feature_names: tuple[str, ...] | None = None


def subject_of(reading: Reading) -> Subject:
    """Return the subject of certificates about data that a function has read."""
    names = None if reading.feature_names is None else tuple(reading.feature_names)
    matrix = MatrixDescription(reading.given, reading.center, reading.scale, sparse=reading.sparse).with_missing(
        reading.missing
    )
    return Subject(reading.digest, matrix, feature_names=names)


@dataclass(frozen=True, eq=False)
class Question:
    """The question that a component answers, recorded when it was asked."""

    covariance: Covariance  # S on all features, with the earlier components removed
    features: Indices  # those that were free; `problem` numbers them from zero
    problem: Problem  # its cardinality is that of the supports that the solution is compared with
    left_out: Indices  # features that vary and were not free
    earlier: Sequence[Floats] = ()  # the components that were removed before, as vectors on all features
    size_is_open: bool = False  # the search for the smallest cardinality was stopped: a smaller support may do


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
    if improve:
        return best, bound
    if best is not solution:
        note = f"the proof met a support of value {best.value:.6g}, which method='auto' would return"
        return with_note(solution, note), bound
    return solution, bound


def concluded(
    question: Question,
    solution: Solution,
    bound: UpperBound | None,
    stopped: Stop | None = None,
    subject: Subject | None = None,
    feature_names: Sequence[str] | None = None,
) -> tuple[Solution, Certificate | None]:
    """Return the solution in terms of all features, with its bound, status and scope, and its certificate.

    `stopped` says why the work on this solution was stopped, if it was. Without a subject there is no certificate.
    """
    solution = replace(solution, support=question.features[solution.support])
    certificate = None
    if bound is not None and subject is not None:
        try:
            certificate = _certificate(question, solution, bound, subject)
        except ValueError as error:
            solution = with_note(solution, f"no certificate: {error}")
        else:
            # The certificate leaves room for the rounding errors of other machines.
            bound = bound.raised_to(certificate.upper, certificate.margin)
    search = solution.status
    if bound is not None:
        solution = solution.proved(bound)
    optimal = solution.status is Status.OPTIMAL and (certificate is None or certificate.proved)
    status = _status(search, stopped, optimal=optimal, size_is_open=question.size_is_open)
    problem = question.problem
    scope = scope_of(
        question.left_out,
        question.features[problem.forced],
        earlier=len(question.earlier),
        # A bound holds for loadings of either sign. A search with non-negative loadings compares only those.
        nonnegative=problem.nonnegative and status is not Status.OPTIMAL,
        matrix="" if subject is None else subject.matrix.in_words,
        feature_names=feature_names,
    )
    return replace(solution, status=status, scope=scope), certificate


def _status(search: Status, stopped: Stop | None, *, optimal: bool, size_is_open: bool) -> Status:
    """Decide on the status: join how the search ended, why the work was stopped, and what is proved."""
    if size_is_open and stopped is not None:
        return Status[stopped.name]
    if search in _LARGER_CLAIMS:
        return search
    if optimal:
        return Status.OPTIMAL
    if stopped is not None and search in (Status.LOCAL, Status.HEURISTIC):
        return Status[stopped.name]
    return search


def _certificate(question: Question, solution: Solution, bound: UpperBound, subject: Subject) -> Certificate:
    problem, covariance = question.problem, question.covariance
    return certify(
        covariance,
        bound.cardinality,
        solution.support,
        solution.loadings,
        bound.witness,
        digest=subject.digest,
        matrix=subject.matrix,
        kind=bound.kind,
        deflation=subject.deflation if question.earlier else None,
        earlier=np.array(question.earlier) if question.earlier else None,
        allowed=None if len(question.features) == covariance.n_features else question.features,
        forced=question.features[problem.forced],
        feature_names=subject.feature_names,
        proved=Proved(bound.value, bound.margin),
    )
