"""Several components found together, with one bound for all: `SparsePCA(joint=...)`.

The search is `laconic.search.several`, or `laconic.search.span` for components whose span counts. It begins with
components that were found one after the other, and knows the features at hand. The bound is about all features.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.bounds.prove_jointly import JointBound, prove_jointly
from laconic.core.arrays import PROVED, Floats, Indices
from laconic.core.monitor import Stop, warn
from laconic.core.rounding import sum_up
from laconic.core.words import Scope, counted, held_at_least_in_words, scope_of, several_in_words
from laconic.covariance import Covariance, largest_eigenpairs
from laconic.covariance.make import Made
from laconic.proof import Certificate, certify
from laconic.proof.certificate import lower_of
from laconic.proof.gate import relative_gap
from laconic.search.problem import Problem, Solution, Status, stopped_or
from laconic.search.several import JointProblem, Question, solve_jointly
from laconic.search.span import Span, basis_of_span, canonical
from laconic.search.support import signed

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# Relative residual of ordinary components. Their variance is then accurate to about 1e-5: shares are read to a tenth
# of a per cent.
ACCURACY = 1e-3
# A share of variance may be missed by this, relative to the target: rounding errors of eigenvalues are smaller.
ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class JointSolution:
    """Several components that were found together, and what is proved of all of them."""

    question: Question
    cardinalities: tuple[int, ...]  # the largest number of features of each
    total: int | None  # the largest number of features of all together, if that is limited
    vectors: Floats  # on all features, one in each row
    supports: list[Indices]
    value: float  # the variance that they hold together
    upper: float  # the proved limit of what such components hold together; infinite if there is none
    status: Status
    reason: str
    scope: Scope
    certificate: Certificate | None = None

    @property
    def support(self) -> Indices:
        """The features that any component uses."""
        return np.unique(np.concatenate(self.supports))

    @property
    def gap(self) -> float:
        """(upper - lower) / lower."""
        return relative_gap(self.value, self.upper)

    @property
    def verdict(self) -> str:
        """Full sentences: what is proved of all components together, and how the search ended if a gap is left."""
        several = several_in_words(self.question, self.cardinalities, self.total)
        ending = "" if self.status is Status.OPTIMAL else f" {self.status}"
        return held_at_least_in_words(several, self.gap, self.scope) + ending


def first_start(variances: Floats, sizes: Sequence[int], found: Sequence[Floats] = ()) -> Floats:
    """Return components to start from, one in each row: those found, then features of largest variance.

    Features that no component before uses come first.
    """
    start, used = np.zeros((len(sizes), len(variances))), np.zeros(len(variances), dtype=bool)
    start[: len(found)] = found if len(found) else 0.0
    for row, size in zip(start, sizes, strict=True):
        if not row.any():
            row[np.lexsort((-variances, used))[:size]] = size**-0.5
        used |= row != 0
    return start


def _at_hand(problem: JointProblem) -> JointProblem:
    """Return the problem on the features at hand: itself if all of them are."""
    hand = problem.covariance.at_hand
    if hand is None:
        return problem
    sizes = tuple(min(k, len(hand)) for k in problem.cardinalities)
    forced = np.searchsorted(hand, problem.forced)
    return replace(problem, covariance=problem.covariance.on_hand(), cardinalities=sizes, forced=forced)


def solve_together(
    model: "SparsePCA",
    made: Made,
    covariance: Covariance,
    problem: JointProblem,
    starts: Sequence[Floats],
    seed: int,
) -> JointSolution:
    """Find components together, and prove a bound on all. Both share the time that is left.

    `covariance` is about all features, and `problem` about those that vary. `starts` have one component in each row, on
    all features.
    """
    features, monitor, prove = np.flatnonzero(~made.constant), problem.monitor, model.proof is not None
    part = _at_hand(replace(problem, monitor=monitor.part(2 if prove else 1)))
    own = features if problem.covariance.at_hand is None else features[problem.covariance.at_hand]
    vectors = np.zeros((len(features), problem.count))
    among = np.searchsorted(features, own)
    vectors[among] = _found(part, [np.ascontiguousarray(start[:, own].T) for start in starts], seed)
    if part.monitor.stopped is Stop.INTERRUPTED:
        monitor.stopped = Stop.INTERRUPTED
    bound = None
    if prove:
        try:
            vectors, bound = prove_jointly(problem, vectors, model.proof)
        except KeyboardInterrupt:
            monitor.stopped = Stop.INTERRUPTED
    if problem.question == "span":
        vectors[among] = canonical(part.covariance, part.cardinalities, vectors[among])
        vectors = np.stack([signed(z, problem.forced) for z in vectors.T], axis=1)
    used = [np.union1d(np.flatnonzero(z), problem.forced) for z in vectors.T]
    if problem.question == "common":
        used = [np.unique(np.concatenate(used))] * problem.count
    whole = np.zeros((problem.count, covariance.n_features))
    whole[:, features] = vectors.T
    value = float(np.einsum("ij,ij->", *basis_of_span(vectors[among], part.covariance.product(vectors[among]))))
    words = made.recipe.in_words if prove else ""
    solution = JointSolution(
        problem.question,
        problem.cardinalities,
        problem.total,
        whole,
        [features[places] for places in used],
        value,
        math.inf,
        stopped_or(part.monitor.stopped or monitor.stopped, Status.TOGETHER),
        "",
        scope_of(features[:0], features[problem.forced], matrix=words, feature_names=made.names),
    )
    return solution if bound is None else _proved(solution, bound, made, covariance, problem)


def _proved(
    found: JointSolution, bound: JointBound, made: Made, covariance: Covariance, problem: JointProblem
) -> JointSolution:
    """Return the components with their bound and certificate, and how the work on them ended."""
    features, reason, certificate = np.flatnonzero(~made.constant), bound.reason, None
    try:
        certificate = certify(
            covariance,
            problem.cardinalities,
            found.support,
            found.vectors[:, found.support],
            bound.witness,
            digest=made.digest(),
            recipe=made.recipe,
            feature_names=made.names,
            allowed=None if len(features) == covariance.n_features else features,
            forced=features[problem.forced],
            proved=bound.proved,
            joint=problem.question,
            total=problem.total,
        )
    except ValueError as error:
        reason = f"{reason}; no certificate: {error}".removeprefix("; ")
    # The certificate leaves room for the rounding errors of other machines.
    upper = max(bound.proved.value if certificate is None else certificate.upper, found.value)
    status = bound.status or found.status if found.status is Status.TOGETHER else found.status
    if upper - found.value <= PROVED * found.value:
        status = Status.OPTIMAL
    return replace(found, upper=upper, status=status, reason=reason, certificate=certificate)


def _found(part: JointProblem, starts: Sequence[Floats], seed: int) -> Floats:
    """Return components in the columns of an array, as the search finds them among the features at hand."""
    if part.question != "span":
        return solve_jointly(part, starts, seed=seed)
    # Components that are disjoint or orthogonal have a span, too. A part of the time is for each of these searches.
    others: list[Question] = ["orthogonal"]
    if not len(part.forced) and sum(part.cardinalities) <= part.covariance.n_features:
        others.append("disjoint")
    found = [*starts]
    for place, question in enumerate(others):
        narrower = replace(part, question=question, monitor=part.monitor.part(len(others) + 1 - place))
        try:
            found.append(solve_jointly(narrower, starts, seed=seed))
        except ValueError:
            continue  # no such components contain the features forced in
    one = Problem(part.covariance, max(part.cardinalities), part.forced, monitor=part.monitor)
    return Span(seed=seed).solve(one, part.cardinalities, *found)


def each_of(whole: JointSolution, covariance: Covariance, features: Indices) -> tuple[list[Solution], Floats]:
    """Return each component, with what it adds to the others, and a proved bound on what one like it may add.

    `features` are those that vary, of `covariance` on all.
    """
    own = features if covariance.at_hand is None else np.intersect1d(features, covariance.at_hand)
    part = covariance if len(own) == covariance.n_features else covariance.part(own)
    added = _given_others(part, np.ascontiguousarray(whole.vectors[:, own].T))
    uppers = np.maximum(_bounded_given_others(covariance, whole), added)
    same: dict[str, Any] = {"method": whole.question, "reason": whole.reason, "scope": whole.scope}
    solutions = [
        Solution(support, z[support], float(value), whole.status, **same)
        for support, z, value in zip(whole.supports, whole.vectors, added, strict=True)
    ]
    return solutions, uppers


def _given_others(covariance: Covariance, vectors: Floats) -> Floats:
    """Return what each component adds to the span of the others. If they are orthonormal, it is its own variance."""
    images = covariance.product(vectors)
    whole = float(np.einsum("ij,ij->", *basis_of_span(vectors, images)))
    added = []
    for t in range(vectors.shape[1]):
        others = np.arange(vectors.shape[1]) != t
        added.append(whole - float(np.einsum("ij,ij->", *basis_of_span(vectors[:, others], images[:, others]))))
    return np.array(added)


def _bounded_given_others(covariance: Covariance, whole: JointSolution) -> Floats:
    """Return, for each component, a bound on what one like it may add to the others, from the joint bound.

    Let L be a lower bound on what the others hold. Components that include one that adds g hold L + g or more, so that
    g <= upper - L.
    """
    uppers = np.full(len(whole.vectors), math.inf)
    for t in range(len(whole.vectors)) if np.isfinite(whole.upper) else ():
        others = np.delete(whole.vectors, t, axis=0)
        used = np.flatnonzero(others.any(axis=0))
        try:
            uppers[t] = sum_up([whole.upper, -lower_of(covariance, used, others[:, used], whole.question)])
        except ValueError:
            continue
    return uppers


def fewest_that_keep(problem: JointProblem, share: float, seed: int) -> tuple[int, Floats]:
    """Return the least size found of a common support whose components keep a share of what ordinary ones hold.

    The components are the second result, one in each row, on the features of the problem. Bisection begins with the
    size at which the features of the largest loadings of the ordinary components, weighted by variance, keep the share.
    """
    part = _at_hand(problem)
    S, r, forced, monitor = part.covariance, part.count, part.forced, part.monitor
    values, dense = largest_eigenpairs(S, r)
    target = share * float(values.sum()) * (1 - ROUNDING)
    weights = (dense**2) @ np.maximum(values, 0.0)
    weights[forced] = np.inf
    order = np.argsort(-weights, kind="stable")

    def solved(k: int, vectors: Floats) -> tuple[float, Floats]:
        vectors = solve_jointly(replace(part, cardinalities=(k,) * r), [vectors], seed=seed)
        return float(np.einsum("ij,ij->", vectors, S.product(vectors))), vectors

    def cut_off(k: int, _: Floats) -> tuple[float, Floats]:
        block = S.part(np.sort(order[:k]))
        own, inside = largest_eigenpairs(block, r)
        vectors = np.zeros_like(dense)
        vectors[np.sort(order[:k])] = inside
        return float(own.sum()), vectors

    vectors, least, high = dense, max(r, len(forced)), S.n_features
    for find in (cut_off, solved):
        low = least - 1
        while high - low > 1 and not monitor.is_over:
            middle = (low + high) // 2
            reached, tried = find(middle, vectors)
            if reached >= target:
                high, vectors = middle, tried
            else:
                low = middle
    if monitor.is_over:
        warn(f"The search for cardinality={share} was stopped at {counted(high, 'feature')}; fewer may do.")
    whole = np.zeros((r, problem.covariance.n_features))
    whole[:, slice(None) if problem.covariance.at_hand is None else problem.covariance.at_hand] = vectors.T
    return high, whole
