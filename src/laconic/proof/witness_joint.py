"""Proved bounds on the value of several components together.

S is a symmetric matrix, and u_1, ..., u_r are components with at most k_1, ..., k_r nonzeros. Four questions differ in
what the components have to do with each other:

    common      orthonormal, with one support of k features for all
    disjoint    no feature serves two components
    orthogonal  orthonormal, supports may overlap; perhaps all of them together have at most K nonzeros
    span        any; the value is Tr(PS), P the projection on their span

For the first three the value is the sum of u_t'Su_t, which is Tr(PS), too: so in all cases P has a rank of at most r,
and lives on at most K features. With a common support K = k, else K is the sum of all k_t.

Orthogonal components need only be so up to rounding, `ORTHONORMAL`. The sum X of their u u' is then at most 1 + r
delta times a matrix P of trace at most r with 0 <= P <= I, which lives on K features, too. Nothing else of P is used
below, but for the threshold, whose first case holds for any unit vectors. So the bound is multiplied by 1 + r delta.

**The sum of the largest eigenvalues.** For any F

    Tr(PS) = Tr(P(S - FF')) + Tr(PFF') <= r max(lmax(S - FF'), 0) + |F|^2,    |F|^2 the sum of the squared entries.

If F holds the leading eigenvectors v_t with the lengths (lambda_t - theta)^(1/2), t = 1, ..., r, and theta lies between
lambda_{r+1} >= 0 and lambda_r, this is the sum of the r largest eigenvalues, which no projection of rank r exceeds (Ky
Fan). A poor F gives a poor bound, never a wrong one. If S = A'A, then AA' has the same eigenvalues but for zeros, and F
may have the rows of A in place of the features.

**Threshold.** Off the diagonal, the sum of all |P_ij| is at most

    c = sum_t (k_t - 1)                      for disjoint and orthogonal components,
    c = max_{q <= r} (q (K - 1) (K - q))^(1/2)   for a common support, and for the span.

The first holds because |u_t|_1^2 <= k_t. The second by Cauchy and Schwarz over the K (K - 1) pairs, since the squares
of all entries of a projection of rank q add up to q, and those of its diagonal to at least q^2 / K. So S may be
replaced by a matrix whose entries off the diagonal are smaller by t at most, at the cost of c t.

**Hidden features.** Let H be the features at hand, B a set of at most K hidden ones, and e the excess of S
(`laconic.covariance.deflation`): S + e I_H is semidefinite on the union of both. A semidefinite matrix is A'A with
A = (A_H, A_B), and AA' = A_H A_H' + A_B A_B'. The sum of the r largest eigenvalues is subadditive. Therefore

    Tr(PS) <= [the sum of the r largest eigenvalues of S_HH] + r e + [the sum of the K largest hidden variances].

There is no threshold then.

**The trace.** P <= I on the features that it lives on. With S + d I semidefinite, Tr(PS) is at most the sum of the K
largest variances plus K d.

The least of these is the bound. The cover (`laconic.proof.witness_cover`) is another, mostly much lower. Rounding
errors are added throughout, as in `laconic.proof.gate`.
"""

import math
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices
from laconic.core.eigenvalues import proved_largest_by_rows, proved_largest_eigenvalue
from laconic.core.rounding import gamma, grown, sum_up, up
from laconic.covariance import Covariance
from laconic.proof.witness import (
    NO_BOUND,
    ProofError,
    Proved,
    checked_array,
    checked_features,
    checked_matrix,
    checked_number,
    lacking,
    largest,
    nearly_orthonormal,
    times_up,
)
from laconic.proof.witness_cover import CoverCase, CoverWitness, first_groups, ways_to_divide

QUESTIONS = ("common", "disjoint", "orthogonal", "span")
# A total budget that can be divided in more ways is bounded without looking at them one by one.
MOST_WAYS = 2000


@dataclass(frozen=True, eq=False)
class JointWitness:
    """The numbers from which a bound on several components can be computed again."""

    kept: Indices | None = None  # the features H at hand; None for all
    factor: Floats | None = None  # F, one row for each feature of H, or for each row of A; None for the trace alone
    by_rows: bool = False  # whether F has the rows of A
    threshold: float = 0.0  # t

    def kinds(self) -> tuple[str, ...]:
        """Return the names that the bound may go by; the first is its own."""
        return ("threshold" if self.threshold else "span",)

    def reads(self, n: int) -> Indices:
        """Return the features, of n, whose rows of S the bound needs."""
        if self.factor is None:
            return np.empty(0, dtype=np.intp)
        return np.arange(n) if self.kept is None else checked_features(self.kept, n, "kept")


@np.errstate(all="ignore")  # an overflow gives an infinite bound, which is true
def prove_joint(
    S: Any,
    cardinalities: tuple[int, ...],
    witness: JointWitness | CoverWitness,
    *,
    joint: str = "span",
    total: int | None = None,
    inside: Any = (),
) -> Proved:
    """Return an upper bound on the value of all components of these cardinalities; a ProofError if there is none.

    `joint` is the question, `total` the most nonzeros of all components together, and `inside` are features that every
    component uses (with a common support, the support).
    """
    if joint not in QUESTIONS:
        raise ProofError(f"joint={joint!r} is none of {', '.join(QUESTIONS)}.")
    if type(witness) not in (JointWitness, CoverWitness):
        raise ProofError(f"{type(witness).__name__} is no witness of several components that the gate knows.")
    r = len(cardinalities)
    divided = total is None or (total >= r and joint in ("disjoint", "orthogonal"))
    if not r or min(cardinalities) < 1 or not divided:
        raise ProofError(f"There is no question joint={joint!r} about {list(cardinalities)} features, total={total!r}.")
    try:
        matrix = checked_matrix(S)
        members = checked_features(inside, matrix.n_features, "inside")
        if joint == "disjoint" and len(members) and r > 1:
            raise ValueError("Disjoint components cannot share features that all of them use.")
        if isinstance(witness, CoverWitness):
            found = [_by_cover(matrix, cardinalities, witness, joint, total, members)]
        else:
            found = _plain(matrix, cardinalities, witness, joint, total)
    except ValueError as error:
        raise ProofError(str(error)) from None
    value, margin = min(found)
    if joint == "orthogonal" and isinstance(witness, JointWitness):
        value = max(value, times_up(nearly_orthonormal(r), value))
    if not math.isfinite(value):
        raise ProofError("The witness proves nothing: its bound is infinite.")
    return Proved(value, max(margin, 0.0))


def cover_case(
    S: Covariance, cardinalities: tuple[int, ...], joint: str, total: int | None, inside: Indices
) -> tuple[CoverCase, list[tuple[int, ...]] | None]:
    """Return all components of a question, and the ways in which a total budget can be divided."""
    everything = np.arange(S.n_features)
    common, overlap = joint in ("common", "span"), joint != "disjoint"
    if joint == "span":
        # They span at most n dimensions, on as many features as they have nonzeros together.
        sizes, ways = (sum(cardinalities),) * min(len(cardinalities), S.n_features), None
    elif total is None or common:
        sizes, ways = cardinalities, None
    else:
        sizes = cardinalities
        room = min(total, S.n_features if joint == "disjoint" else total)
        ways = list(islice(ways_to_divide(room, sizes), MOST_WAYS + 1))
        ways = ways if len(ways) <= MOST_WAYS else None
    groups = first_groups(sizes, everything, inside, common=common, overlap=overlap, total=total)
    return CoverCase(S, groups, common=common, overlap=overlap, spanning=joint == "span"), ways


def _by_cover(
    S: Covariance, cardinalities: tuple[int, ...], witness: CoverWitness, joint: str, total: int | None, inside: Indices
) -> Proved:
    case, ways = cover_case(S, cardinalities, joint, total, inside)
    proved = witness.bound_of(case, ways)
    # Components that span less than r dimensions hold no more than zero in the others.
    return Proved(max(proved.value, 0.0), proved.margin) if joint == "span" else proved


def _plain(
    S: Covariance, cardinalities: tuple[int, ...], witness: JointWitness, joint: str, total: int | None
) -> list[Proved]:
    """Return the bound by the trace, and that by eigenvalues if there is one."""
    r = len(cardinalities)
    most = max(cardinalities) if joint == "common" else sum(cardinalities)
    count = min(most, S.n_features, total if total is not None else most)
    by_trace = sum_up([*largest(S.variances, count), lacking(S, count)])
    found = [Proved(by_trace, by_trace - math.fsum(largest(S.diagonal, count)))]
    if witness.factor is not None:
        cost = threshold_cost(joint, cardinalities, total, S.n_features) if witness.threshold else 0.0
        found.append(_by_eigenvalues(S, r, count, witness, cost))
    return found


def threshold_cost(joint: str, cardinalities: tuple[int, ...], total: int | None, n: int) -> float:
    """Return an upper bound on c, the sum of all |P_ij| off the diagonal; see the top of this file."""
    r, nonzeros = len(cardinalities), sum(cardinalities)
    if joint in ("disjoint", "orthogonal"):
        return float(min(nonzeros, nonzeros if total is None else total) - r)
    K = min(max(cardinalities) if joint == "common" else nonzeros, n)
    squares = max(q * (K - 1) * max(K - q, 0) for q in range(1, r + 1))
    return float(up(up(math.sqrt(squares))))  # a large whole number is rounded before its root is


def _by_eigenvalues(S: Covariance, r: int, count: int, witness: JointWitness, cost: float) -> Proved:
    t = checked_number(witness.threshold, "threshold")
    if t < 0 or (t and (witness.kept is not None or witness.by_rows)):
        raise ValueError(f"threshold={t!r} of the witness must not be negative, and S must be written out for it.")
    added: list[float] = [times_up(cost, t)]
    part = S
    if witness.kept is not None:
        kept = checked_features(witness.kept, S.n_features, "kept")
        others = np.setdiff1d(np.arange(S.n_features), kept)
        excess = S.excess(others) if len(others) else 0.0
        part = S.part(kept)
        # With S + d I semidefinite, the features left out, at most `count` of them, add d each.
        lack = lacking(S, count) if excess is None else min(lacking(S, count), times_up(r, excess))
        added += [*largest(S.variances[others], count), lack]
    if witness.by_rows:
        A = part.rows_as_factor(np.arange(part.n_features))
        if A is None:
            raise ValueError("The witness is about the rows of a factor, and the matrix has none.")
        F = checked_array(witness.factor, (len(A), None), "factor")
        top, estimate = proved_largest_by_rows(A, F, np.eye(F.shape[1]))
        top = sum_up([top, part.factor_error])
    else:
        F = checked_array(witness.factor, (part.n_features, None), "factor")
        M = _shrunk(part.matrix, t) - F @ F.T
        squares = np.einsum("ij,ij->i", F, F)
        top, estimate = proved_largest_eigenvalue(0.5 * (M + M.T))
        # Entries of at most x_i x_j make a norm of at most |x|^2. The product rounds by gamma |f_i||f_j|, and the three
        # sums round entries of at most |B_ij| + |f_i||f_j| once each.
        product = float(grown(squares.sum(), len(F) + F.shape[1])) * gamma(F.shape[1] + 8)
        sums = float(grown((part.size**2 + part.spread**2).sum(), part.n_features + 2)) * gamma(4)
        top = sum_up([top, float(grown(product, 2)), float(grown(sums, 2)), part.away])
    square = float(grown(np.einsum("ij,ij->", F, F), F.size + 1))
    value = sum_up([times_up(r, max(top, 0.0)), square, *added])
    plain = r * max(estimate, 0.0) + float(np.einsum("ij,ij->", F, F)) + math.fsum(added)
    return NO_BOUND if math.isnan(value) else Proved(value, value - plain)


def _shrunk(S: Floats, t: float) -> Floats:
    """Return S with its entries off the diagonal moved towards zero by t at most."""
    if not t:
        return S
    # A difference is rounded once, which the sums of the caller include.
    M = S - np.clip(S, -t, t)
    np.fill_diagonal(M, S.diagonal())
    return M


@np.errstate(all="ignore")
def proved_joint_lower(S: Any, features: Any, loadings: Any) -> float:
    """Return a lower bound on Tr(PS), P the projection on the span of the rows of `loadings`, on some features.

    Let Z be the loadings as columns, R an invertible matrix such that Y = ZR has nearly orthonormal columns, G = Y'Y
    and N = Y'SY. Then Tr(PS) = Tr(G^{-1}N) >= Tr(N) - e/(1-e) |N|_*, where e >= |G - I|, and the sum of the singular
    values |N|_* is at most r |N| for an r x r matrix, and |N| at most |Y|^2 times the trace of the bound on |S|.

    The computed Y differs from ZR by at most D, which bounds the rounding of the product.
    """
    matrix = checked_matrix(S)
    places = checked_features(features, matrix.n_features, "features")
    Z = checked_array(loadings, (None, len(places)), "loadings").T
    m, r = Z.shape
    if m > WRITE_OUT_LIMIT:
        raise ValueError(f"{m} features are more than {WRITE_OUT_LIMIT}; nothing is proved for so many.")
    lengths = np.sqrt(np.einsum("ij,ij->j", Z, Z))
    if not (lengths > 0).all() or r > m:
        raise ValueError("A component has no loadings, or there are more components than features.")
    R = np.linalg.inv(np.linalg.qr(Z / lengths, mode="r")) / lengths[:, None]
    Y = Z @ R
    size_Y = np.abs(Y)
    D = grown(np.abs(Z) @ np.abs(R), r + 1) * gamma(r + 2)
    gram = Y.T @ Y - np.eye(r)
    within = grown(size_Y.T @ size_Y, m) * gamma(m + 4) + grown(2 * size_Y.T @ D + D.T @ D, m + 2)
    off = np.abs(gram) + 0.5 * (within + within.T)
    e = float(grown(np.sqrt(grown(np.einsum("ij,ij->", off, off), r * r + 1)), 4))
    if not e < 0.5:
        raise ValueError("The components are dependent, so that their span is not known well enough.")
    B = matrix.block(places, places)
    value = float(np.einsum("ij,ij->", Y, B @ Y))
    size, spread = matrix.size[places], matrix.spread[places]
    terms = m + m * r + 8  # roundings in a row behind the value
    rounding = float(grown(np.einsum("ij,ij->", size_Y, np.abs(B) @ size_Y), terms)) * gamma(terms)
    away = float(grown(((spread @ size_Y) ** 2).sum(), m + r + 1))
    bounds, moved = size @ size_Y, size @ D
    shifted = float(grown((moved * (2 * bounds + moved)).sum(), 2 * m + r + 2))
    whole = float(grown(np.einsum("i,i->", size, size), m + 1)) * r * (1 + e)
    singular = float(grown(whole * up(e / (1 - e)), 6))
    return -sum_up([-value, float(grown(rounding, 2)), away, shifted, singular])
