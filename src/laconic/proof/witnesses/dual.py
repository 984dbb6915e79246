"""The bound of a matrix M that differs from S, and of the difference."""

import math
from dataclasses import dataclass, field

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalue_proof import proved_largest_eigenvalue
from laconic.core.rounding import gamma, grown, norm_up, sum_up
from laconic.core.wording import counted
from laconic.covariance import Covariance
from laconic.proof.terms import (
    NO_BOUND,
    Proved,
    checked_array,
    checked_features,
    checked_number,
    largest,
    no_features,
    times_up,
    total,
)
from laconic.proof.witnesses.cancelled import Cancelled
from laconic.proof.witnesses.contract import BoundOf, Inner, Witness, up_to
from laconic.proof.witnesses.l0 import l0_bound
from laconic.proof.witnesses.prices import level_costs, norm_costs, row_levels, row_sum


@dataclass(frozen=True, eq=False)
class DualWitness(Witness):
    """A matrix M in place of S, the cost of the difference, and a way to bound x'Mx.

    M = S + U - (L + L')/2 - (N + N')/2, each part optional. For unit x with k nonzeros x'Sx <= x'Mx + the costs

        U   any symmetric matrix with zero diagonal              (k - 1) max |U_ij|
        L   any matrix; c_i = L_ii, m_i = max_j |L_ij| (j != i),
            g_i = c_i if m_i <= 2 c_i, else m_i^2 / (4 (m_i - c_i)), cut at zero from below      k^2 max_i g_i
        N   any matrix; c_i = N_ii, q_i the rest of the row,
            g_i = (c_i + sqrt(c_i^2 + |q_i|^2)) / 2                                              k max_i g_i

    With I = `inside` (s features known to be in the support) L costs k (sum_{i in I} g_i + (k - s) max_{i not in I}
    g_i), and N costs sum_{i in I} g_i + (k - s) max_{i not in I} g_i. x'Mx is bounded by lmax(M). With a factor it is
    bounded by the l0 relaxation of M + shift I = A'A (up to rounding, which is added), less the shift: for any rho and
    any w_i with d_i = (w_i'a_i)^2 - (|a_i|^2 - rho) |w_i|^2 > 0

        x'A'Ax <= lmax(sum_i c_i w_i w_i') + rho k,    c_i = rho (|a_i|^2 - rho) / d_i

    with c_i = 0, whatever w_i is, if |a_i|^2 <= rho.
    """

    kind: str  # the name of the bound: "largest eigenvalue", "l1 dual", "row levels", "l0", "combined"
    multiplier: Floats | None = None  # U
    levels: Floats | None = None  # L
    norms: Floats | None = None  # N
    inside: Indices = field(default_factory=no_features)  # I
    # If given, L and N are on these features only, and the rows of the others are cancelled (`Cancelled`).
    kept: Indices | None = None
    # About what the row of a feature not kept costs. The bound holds for any price.
    price: float = 0.0
    factor: Floats | None = None  # A, one column for each feature
    directions: Floats | None = None  # W, one column for each feature
    rho: float = 0.0
    shift: float = 0.0

    def bound(self, S: Covariance, k: int, inside: Indices, _bound_of: BoundOf) -> Proved:
        return dual_bound(S, k, self, inside)

    def kinds(self) -> tuple[str, ...]:
        # A tree that is only its root is known by the relaxation of the root.
        return self.kind, "row levels"

    def explained(self, S: Covariance, k: int, inside: Indices, _inner: Inner) -> list[str]:
        return dual_in_words(S, k, self, inside)

    def cancelled(self, S: Covariance, most: Floats | None = None) -> Cancelled:
        """Return M and the cost of each row if L and N are given only on `kept`; for `most` see `Cancelled`."""
        if self.multiplier is not None or self.factor is not None or self.directions is not None:
            raise ValueError("A witness with features kept may have levels and norms only.")
        if checked_number(self.shift, "shift") != 0:
            raise ValueError("A witness with features kept has no shift.")
        if self.levels is None:
            raise ValueError("A witness with features kept must have levels on them.")
        return Cancelled(S, self.kept, self.levels, self.norms, self.price, most)


def dual_bound(S: Covariance, k: int, witness: DualWitness, inside: Indices, *, most: Floats | None = None) -> Proved:
    """Bound x'Sx by x'Mx and the cost of the difference.

    x'Sx = x'Mx - x'Ux + x'Lx + x'Nx, and with s_i = |x_i|, sigma = |x|_1 <= sqrt(k):

    U     |x'Ux| <= max |U_ij| sum_{i != j} s_i s_j = max |U_ij| (sigma^2 - 1) <= (k - 1) max |U_ij|.
    L     Row i gives at most c s_i^2 + m s_i (sigma - s_i) = sigma^2 ((c - m) h^2 + m h) with h = s_i / sigma in
          [0, 1]. The largest value over h is g_i: at h = m / (2 (m - c)) if that is below one, else at h = 1. Hence
          x'Lx <= k (the sum of the k largest g_i), and features inside count first.
    N     Row i gives at most c s_i^2 + |q| s_i (1 - s_i^2)^(1/2), a quadratic form in (s_i, (1 - s_i^2)^(1/2)) whose
          larger eigenvalue is g_i. Therefore x'Nx <= the sum of the k largest g_i.
    """
    known = checked_features(witness.inside, S.n_features, "inside of the witness")
    if not np.isin(known, inside).all():
        raise ValueError("The witness takes features for granted (inside) that need not be in a support.")
    if witness.factor is None and witness.directions is not None:
        raise ValueError("The witness has directions but no factor.")
    if witness.kept is not None:
        point = witness.cancelled(S, most)
        return point.total([times_up(k, budget(point.levels, k, known)), budget(point.norms, k, known)])
    parts = (witness.multiplier, witness.levels, witness.norms, witness.factor)
    if all(part is None for part in parts):
        value, estimate = S.largest
        return Proved(value, value - estimate)
    M, sizes, costs = _difference(S, k, witness, known)
    # Each sum is rounded once: u times both terms bounds the error.
    away = [S.away, grown(sizes * gamma(2), 3) if costs else 0.0]
    if not np.isfinite(M).all():
        return NO_BOUND
    if witness.factor is None:
        value, estimate = proved_largest_eigenvalue(M)
        return total([value, *costs, *away], value - estimate, away)
    A = checked_array(witness.factor, (None, S.n_features), "factor")
    shift = checked_number(witness.shift, "shift")
    W = checked_array(witness.directions, A.shape, "directions", below=math.inf)
    relaxed = l0_bound(A, W, checked_number(witness.rho, "rho"), k)
    lengths = grown(np.einsum("ij,ij->", A, A), A.size + 1)
    distance = M - A.T @ A
    rounding = [grown(lengths * gamma(len(A) + 4), 3), grown((row_sum(M, distance) + 2 * abs(shift)) * gamma(4), 3)]
    distance[np.diag_indices(S.n_features)] += shift
    off = norm_up(0.5 * (distance + distance.T))
    return total([relaxed.value, -shift, off, *costs, *away, *rounding], relaxed.margin + off, [*away, *rounding])


def dual_in_words(
    S: Covariance, k: int, witness: DualWitness, inside: Indices, *, most: Floats | None = None
) -> list[str]:
    """Return what `dual_bound` does, in words."""
    value = dual_bound(S, k, witness, inside, most=most).value
    if all(part is None for part in (witness.multiplier, witness.levels, witness.norms, witness.factor)):
        return [f"Largest eigenvalue: no component has more than the dense one, which has at most {up_to(value)}."]
    known = checked_features(witness.inside, S.n_features, "inside of the witness")
    words = []
    if witness.kept is not None:
        point = witness.cancelled(S, most)
        costs = [times_up(k, budget(point.levels, k, known)), budget(point.norms, k, known)]
        aside = counted(len(point.aside), "feature")
        words.append(
            f"Row levels: a matrix is subtracted that cancels all covariances of {aside} and reduces those of the "
            f"other {len(witness.kept)}. Each row has a price for what it takes away."
        )
    else:
        _, _, costs = _difference(S, k, witness, known)
        if witness.multiplier is not None:
            words.append(
                "Changed covariances: a symmetric matrix U with a zero diagonal is added. A unit vector with k "
                "nonzeros loses at most (k - 1) times the largest entry by it."
            )
        if witness.levels is not None or witness.norms is not None:
            words.append(
                "Row levels: a matrix is subtracted that reduces the covariances. Each row has a price for what it "
                "takes away."
            )
    cost = sum_up(costs)
    if costs:
        words.append(f"No support of {counted(k, 'feature')} loses more than {up_to(cost)} by the change.")
    if witness.factor is None:
        words.append(
            f"The largest eigenvalue of the changed matrix is at most {up_to(value - cost)}, rounding included. Both "
            f"together are at most {up_to(value)}."
        )
    else:
        words.append(
            f"l0 relaxation: the matrix is A'A for a factor A of {counted(len(witness.factor), 'row')}, up to a shift "
            f"of {witness.shift:.6g} of its diagonal. Each feature costs {witness.rho:.6g}, {k} features "
            f"{up_to(times_up(k, witness.rho))}, and no more than {up_to(value - cost - k * witness.rho)} is left "
            f"beside that, shift and rounding included. In all that is at most {up_to(value)}."
        )
    return words


def _difference(S: Covariance, k: int, witness: DualWitness, known: Indices) -> tuple[Floats, float, list[float]]:
    """Return M, the sizes of the terms that were added (for their rounding), and the costs."""
    M, sizes, costs = S.matrix, 0.0, []
    shape = (S.n_features, S.n_features)
    if witness.multiplier is not None:
        U = checked_array(witness.multiplier, shape, "multiplier")
        if U.diagonal().any() or not np.array_equal(U, U.T):
            raise ValueError("The multiplier must be symmetric with a zero diagonal.")
        M, sizes = M + U, sizes + row_sum(M, U)
        costs.append(times_up(k - 1, float(np.abs(U).max())))
    if witness.levels is not None:
        L = checked_array(witness.levels, shape, "levels")
        part = 0.5 * (L + L.T)
        M, sizes = M - part, sizes + 2 * row_sum(M, part)
        costs.append(times_up(k, budget(level_costs(L.diagonal(), row_levels(L)), k, known)))
    if witness.norms is not None:
        N = checked_array(witness.norms, shape, "norms")
        part = 0.5 * (N + N.T)
        M, sizes = M - part, sizes + 2 * row_sum(M, part)
        costs.append(budget(norm_costs(N), k, known))
    return M, sizes, costs


def budget(costs: Floats, k: int, inside: Indices) -> float:
    """Return the most that k features cost, those inside among them."""
    free = np.delete(costs, inside)
    return sum_up([*costs[inside], *largest(free, k - len(inside))])
