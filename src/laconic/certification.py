"""From a solution to its certificate: the bound that was asked for, and its proof."""

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from laconic._typing import Floats, Indices
from laconic.bounds import Effort, bound_support
from laconic.certificate import Certificate, MatrixDescription, certify
from laconic.covariance import Covariance
from laconic.problem import Problem
from laconic.solution import Solution, Status
from laconic.witness import UpperBound, kind_of


@dataclass(frozen=True, eq=False)
class Subject:
    """What certificates are about.

    Attributes
    ----------
    digest
        Of the data.
    matrix
        How the covariance was made of them.
    deflation
        The rule by which components are taken out.
    feature_names
        Of all features, or None.
    """

    digest: str
    matrix: MatrixDescription
    deflation: str
    feature_names: tuple[str, ...] | None = None


def with_bound(problem: Problem, solution: Solution, effort: Effort | None) -> tuple[Solution, UpperBound | None]:
    """Return the solution with the bound that an effort buys.

    Parameters
    ----------
    problem
        The problem. A solution of a penalised problem is compared with supports of its own size.
    solution
        Its solution.
    effort
        "fast", "tight", or None to take what the solver gives.
    """
    k = problem.cardinality
    if solution.value <= 0:
        return solution, None
    if effort is None:
        if solution.witness is None:
            return solution, None
        return solution, UpperBound(solution.upper, kind_of(solution.witness), k, solution.witness)
    bound = bound_support(problem, solution, effort)
    if not np.isfinite(bound.value):
        return solution, None
    return solution.bounded(bound.value, bound.witness), bound


def with_certificate(
    covariance: Covariance,
    problem: Problem,
    features: Indices,
    solution: Solution,
    bound: UpperBound | None,
    earlier: list[Floats],
    subject: Subject,
) -> tuple[Solution, Certificate | None]:
    """Return the solution with the rigorous bounds of its certificate.

    Parameters
    ----------
    covariance
        On all features, as deflated when the component was found.
    problem, features
        The problem that was solved, and the features it was about.
    solution
        Its solution, in terms of all features.
    bound
        The bound with its witness, in terms of `features`; without one there is no certificate.
    earlier
        The components taken out before, as vectors.
    subject
        What the certificate is about.
    """
    if bound is None:
        return solution, None
    monitor = problem.monitor
    certificate = None
    # A bound that holds may rest on more than can be looked at again, or be lost in rounding: then there is no proof.
    with monitor.watch(), suppress(ValueError):
        certificate = certify(
            covariance,
            bound.cardinality,
            solution.support,
            solution.loadings,
            bound.witness,
            digest=subject.digest,
            matrix=subject.matrix,
            kind=bound.kind,
            deflation=subject.deflation if earlier else None,
            earlier=np.array(earlier) if earlier else None,
            allowed=None if len(features) == covariance.n_features else features,
            forced=features[problem.forced],
            feature_names=subject.feature_names,
        )
    if monitor.stopped is not None and solution.status in (Status.LOCAL, Status.HEURISTIC):
        solution = replace(solution, status=monitor.stopped)
    if certificate is None or bound.value > solution.upper:
        # What the method has proved in its own way is better.
        return solution, certificate
    # The rigorous number replaces the one with an estimated margin, even where it is larger.
    status = solution.status
    if certificate.proved:
        status = Status.OPTIMAL
    elif status is Status.OPTIMAL:
        status = Status.LOCAL
    return replace(solution, upper=max(certificate.upper, solution.value), status=status), certificate
