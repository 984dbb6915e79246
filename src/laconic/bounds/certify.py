"""From a solution to its certificate: the bound that was asked for, and its proof."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from laconic.bounds.tight import EFFORTS, Effort, bound_and_improve, bound_support, least_proved
from laconic.core.arguments import places_of
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, check_time_limit
from laconic.covariance import Covariance, Kind, is_covariance, read_covariance
from laconic.data.checks import check_matrix
from laconic.data.tables import as_array_or_frame, as_rows
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status
from laconic.proof import Certificate, MatrixDescription, Proved, certify, digest_of
from laconic.proof.estimate import Estimate
from laconic.proof.gate import ProofError
from laconic.proof.upper_bound import UpperBound
from laconic.proof.witness import kind_of
from laconic.search.auto import Auto
from laconic.search.support import leading


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


def with_bound(
    problem: Problem, solution: Solution, effort: Effort | None, *, improve: bool = False
) -> tuple[Solution, UpperBound | None]:
    """Return the solution with the bound that an effort buys.

    Parameters
    ----------
    problem
        The problem. A solution of a penalised problem is compared with supports of its own size.
    solution
        Its solution.
    effort
        "fast", "tight", or None to take what the solver gives.
    improve
        Return a better solution if the proof comes across one, and not only say so.
    """
    if solution.value <= 0:
        return solution, None
    best = solution
    try:
        if effort is None:
            if solution.witness is None:
                return solution, None
            own = Estimate(solution.estimate, kind_of(solution.witness), problem.cardinality, solution.witness)
            bound = least_proved(problem, [own])
        else:
            bound, best = bound_and_improve(problem, solution, effort)
    except ProofError as error:
        return _with_reason(solution, f"no bound is proved: {error}"), None
    if improve:
        solution = best
    elif best is not solution:
        solution = _with_reason(
            solution, f"the proof met a support of value {best.value:.6g}, which method='auto' would return"
        )
    return solution.proved(bound), bound


def _with_reason(solution: Solution, note: str) -> Solution:
    return replace(solution, reason=f"{solution.reason}; {note}" if solution.reason else note)


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
    if monitor.stopped is not None and solution.status in (Status.LOCAL, Status.HEURISTIC):
        solution = replace(solution, status=Status[monitor.stopped.name])
    try:
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
            proved=Proved(bound.value, bound.margin),
            enclosed=problem.enclosed if problem.covariance is covariance else None,
        )
    except ValueError as error:
        return _with_reason(solution, f"no certificate: {error}"), None
    # A certificate leaves room for the rounding of other machines.
    solution = replace(solution, bound=replace(bound, value=certificate.upper, margin=certificate.margin))
    if solution.status is Status.OPTIMAL and not certificate.proved:
        solution = replace(solution, status=Status.COMPLETE)
    return solution, certificate


def certify_support(
    X_or_covariance: Any,
    support: Sequence[str | int],
    effort: Effort = "tight",
    *,
    kind: Kind = "auto",
    center: bool = True,
    scale: bool = False,
    time_limit: float | None = None,
    progress: bool = False,
) -> Certificate:
    """Return the certificate of a set of features chosen by hand, which says how far from optimal it can be.

    Parameters
    ----------
    X_or_covariance
        Rows of data, or a covariance or correlation matrix.
    support
        The features, by name or place.
    effort
        "fast" or "tight", as in `upper_bound`.
    kind, center, scale
        As in `cardinality_path`.
    time_limit
        Seconds; then the least bound so far is used.
    progress
        Show progress, on a terminal only.
    """
    if effort not in EFFORTS:
        raise ValueError(f"effort={effort!r} must be 'fast' or 'tight'.")
    covariance, names = read_covariance(X_or_covariance, kind, center=center, scale=scale)
    places = _places(support, names, covariance.n_features)
    check_time_limit(time_limit)
    source: Literal["rows", "covariance"] = "rows"
    given = X_or_covariance
    if isinstance(given, Covariance):
        # Taken as it is.
        source, scale = "covariance", False
    elif is_covariance(given, kind):
        source, given = "covariance", check_matrix(as_array_or_frame(given))
    else:
        given = as_rows(given)[0]
    with Monitor(time_limit, progress=progress) as monitor:
        problem = Problem(covariance, len(places), monitor=monitor)
        value, z = leading(covariance.submatrix(places))
        if value <= 0:
            raise ValueError(f"support={list(support)} has no variance; choose features that vary.")
        own = Solution(places, z, value, Status.HEURISTIC)
        best = Auto().solve(problem, start=places)
        bound = bound_support(problem, best if best.value > value else own, effort)
    description = MatrixDescription(source, center, scale)
    labels = None if names is None else tuple(names)
    return certify(
        covariance,
        len(places),
        own.support,
        own.loadings,
        bound.witness,
        digest=digest_of(given),
        matrix=description,
        kind=bound.kind,
        feature_names=labels,
        proved=Proved(bound.value, bound.margin),
    )


def _places(support: Sequence[str | int], names: list[str] | None, n: int) -> Indices:
    places = places_of(support, names, n, argument="support")
    if not places or len(set(places)) < len(places):
        raise ValueError(f"support={list(support)} must name at least one feature, and none twice.")
    return np.sort(np.array(places, dtype=np.intp))
