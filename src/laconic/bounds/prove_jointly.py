"""Prove how good several components are together: cheap bounds first, then the cover and its tree."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from laconic.bounds.cover_tree import CoverTree
from laconic.bounds.prove import Effort, Proof, effort_of
from laconic.core.arrays import PROVED, WRITE_OUT_LIMIT, Floats, Indices
from laconic.core.eigenvalues import eigh
from laconic.covariance import Covariance, DenseCovariance, largest_eigenpairs
from laconic.proof.witness import ProofError, Proved
from laconic.proof.witness_cover import CoverWitness, Group
from laconic.proof.witness_joint import JointWitness, cover_case, prove_joint, threshold_cost
from laconic.search.problem import Status, how_it_ended
from laconic.search.several import JointProblem, components_from, value_of

# Relative accuracy of eigenvalues. The proof corrects for it, so it costs a little of the bound and never its truth.
ACCURACY_OF_EIGENVALUES = 1e-9
# Thresholds are tried for matrices up to this size, so many of them.
MOST_FOR_THRESHOLD, THRESHOLDS = 2000, 12
# The cover is solved for at most this many features.
MOST_FOR_COVER = 1600
# A fast proof has less work than this, and ends with the cheap bounds.
LEAST_WORK = 1e8


@dataclass(frozen=True, eq=False)
class JointBound:
    """A proved bound on the value of several components."""

    witness: JointWitness | CoverWitness
    proved: Proved
    status: Status | None = None  # why the proof ended, if there is more to say than the gap
    reason: str = ""


def prove_jointly(problem: JointProblem, vectors: Floats, proof: Proof | None) -> tuple[Floats, JointBound | None]:
    """Return the components in the columns of `vectors` or better ones, and the least bound that is proved, or None.

    `proof` is "fast", "tight", "exact" or an `Exact`. A bound of the user's own is about one component only.
    """
    effort = effort_of(proof)
    if effort is None:
        return vectors, None
    best: JointBound | None = None
    with problem.monitor.watch():
        for witness in _cheap(problem):
            found = _proved(problem, witness)
            if found is not None and (best is None or found.proved.value < best.proved.value):
                best = found
            problem.monitor.tick("bounds")
    value = value_of(problem, vectors)
    closed = best is not None and best.proved.value - value <= PROVED / 2 * abs(value)
    S = problem.covariance
    if effort.work < LEAST_WORK or closed or problem.monitor.stopped is not None:
        return vectors, best
    if S.at_hand is not None or S.n_features > MOST_FOR_COVER:
        if best is not None:
            note = f"the cover takes at most {MOST_FOR_COVER:,} features, all of them at hand"
            best = JointBound(best.witness, best.proved, Status.TOO_MANY, note)
        return vectors, best
    return _by_tree(problem, vectors, value, effort, best)


def _proved(problem: JointProblem, witness: JointWitness | CoverWitness) -> JointBound | None:
    try:
        proved = prove_joint(
            problem.covariance,
            problem.cardinalities,
            witness,
            joint=problem.question,
            total=problem.total,
            inside=problem.forced if problem.question in ("common", "orthogonal") else (),
        )
    except ProofError:
        return None
    return JointBound(witness, proved)


def _cheap(problem: JointProblem) -> Iterator[JointWitness]:
    """Yield witnesses by the trace and eigenvalues, and by a threshold."""
    S, r = problem.covariance, problem.count
    yield eigenvalue_witness(S, r)
    if S.at_hand is not None or S.n_features > MOST_FOR_THRESHOLD:
        return
    matrix = S.matrix
    variances, size = np.diag(matrix.diagonal()), np.abs(matrix - np.diag(matrix.diagonal()))
    cost = threshold_cost(problem.question, problem.cardinalities, problem.total, S.n_features)

    def shrunk(t: float) -> Floats:
        return np.asarray(variances + np.sign(matrix) * np.maximum(size - t, 0.0))

    def at(t: float) -> float:
        problem.monitor.tick("bounds")
        return float(np.linalg.eigvalsh(shrunk(t))[-r:].sum()) + cost * t

    # The bound is convex in t.
    found = minimize_scalar(at, bounds=(0.0, float(size.max())), method="bounded", options={"maxiter": THRESHOLDS})
    t = float(found.x)
    yield JointWitness(factor=_leading_factor(DenseCovariance(shrunk(t), semidefinite=False), r), threshold=t)


def _by_tree(
    problem: JointProblem, vectors: Floats, value: float, effort: Effort, best: JointBound | None
) -> tuple[Floats, JointBound | None]:
    inside = problem.forced if problem.question in ("common", "orthogonal") else problem.forced[:0]
    case, ways = cover_case(problem.covariance, problem.cardinalities, problem.question, problem.total, inside)
    seen: set[bytes] = set()
    S = problem.covariance

    def offer(chosen: list[tuple[Group, Indices]]) -> float:
        """Evaluate components on supports, and keep them if they are better."""
        nonlocal vectors, value
        key = b"".join(features.tobytes() + b"|" for _, features in chosen)
        if key in seen or problem.question == "span":
            return value
        seen.add(key)
        columns = []
        for group, features in chosen:
            directions = np.zeros((S.n_features, group.count))
            own = eigh(S.submatrix(features))[1][:, ::-1][:, : group.count]
            directions[features, : own.shape[1]] = own
            columns.append(directions)
        found = components_from(problem, np.hstack(columns), value)
        if found is not None:
            vectors, value = found, value_of(problem, found)
        return value

    # The cover of a span bounds any components on the union of the supports. A tree would come to an end at these.
    limit = 1 if problem.question == "span" else effort.node_limit
    tree = CoverTree(case, value, problem.monitor, offer, ways=ways, gap=effort.gap, work=effort.work, node_limit=limit)
    result = tree.run()
    found = JointBound(result.witness, result.proved)
    if best is not None and best.proved.value <= result.proved.value:
        found = best
    stopped, otherwise = problem.monitor.stopped, Status.NODE_LIMIT if tree.limited_by_nodes else Status.WORK_LIMIT
    if result.stuck and not result.complete:
        otherwise = Status.UNDIVIDED
    if problem.question == "span":
        otherwise = Status.TOGETHER
    status = how_it_ended(value, found.proved.value, effort.gap, stopped, otherwise)
    status = Status.JOINTLY_COMPLETE if status is Status.COMPLETE else status
    reason = f"tree of cases: {result.nodes} node{'' if result.nodes == 1 else 's'}"
    return vectors, JointBound(found.witness, found.proved, status, reason)


def eigenvalue_witness(covariance: Covariance, n_components: int) -> JointWitness:
    """Return a witness of the sum of the largest eigenvalues; of the trace if no matrix is small enough for them."""
    part = covariance.on_hand()
    factor = part.factor
    by_rows = factor is not None and len(factor) < part.n_features
    if (len(factor) if by_rows and factor is not None else part.n_features) > WRITE_OUT_LIMIT:
        return JointWitness(covariance.at_hand)
    matrix = DenseCovariance(factor @ factor.T) if by_rows and factor is not None else part
    return JointWitness(covariance.at_hand, _leading_factor(matrix, n_components), by_rows)


def _leading_factor(matrix: Covariance, r: int) -> Floats:
    """Return the leading eigenvectors, each with the root of its eigenvalue above theta as its length."""
    values, vectors = largest_eigenpairs(matrix, r + 1, tolerance=ACCURACY_OF_EIGENVALUES)
    top = values[:r]
    following = max(float(values[r]), 0.0) if len(values) > r else 0.0
    # In the middle between two eigenvalues theta leaves room for the errors of both.
    theta = 0.5 * (following + max(float(top[-1]), following))
    return np.asarray(vectors[:, : len(top)] * np.sqrt(np.maximum(top - theta, 0.0)))
