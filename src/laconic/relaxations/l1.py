"""The l1 relaxation (DSPCA; section 2.1 of the paper): the problem, its dual, and what a solution is.

A unit vector z with k nonzeros gives X = zz' with X >= 0, Tr X = 1 and sum_{i != j} |X_ij| = |z|_1^2 - 1 <= k - 1.
Dropping the rank leaves a convex program, in two forms:

    penalty rho       max  Tr SX - rho sum_ij |X_ij|      over X >= 0, Tr X = 1
                      min  lmax(S + U)                    over |U_ij| <= rho
    cardinality k     max  Tr SX                          over X >= 0, Tr X = 1, sum_{i != j} |X_ij| <= k - 1
                      min  lmax(S + U) + (k - 1) t        over |U_ij| <= t off the diagonal, U_ii = 0, t >= 0

The paper writes the constraint with the diagonal, sum_ij |X_ij| <= k. That is the same set, as the diagonal of X adds
up to one; with the diagonal left out the dual constant is (k - 1) t in place of k t with U_ii = -t, which is the same
number. In the penalty form U_ii = -rho is best, whatever the rest.

Optimality (KKT): X and U feasible, X (lmax(S + U) I - S - U) = 0, and U_ij = -t sign(X_ij) wherever X_ij != 0 (t =
rho in the penalty form; in the other, t > 0 only if the constraint is active).

Any feasible U, optimal or not, bounds the value of every support of size k from above,

    z'Sz  <=  lmax(S + U) + (k - 1) max |U_ij|,

and every X bounds the relaxation from below. The gap is the difference of the two bounds, relative to the upper: it
says how far the *relaxation* is from being solved. How far a support is from optimal is the difference between the
upper bound and the value of that support. If X has rank one it is zz', and z solves exactly the problem that has
|z|_1^2 in place of the cardinality; it solves the sparse problem itself if it has no more than k nonzeros.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import largest_eigenvalue
from laconic.problem.status import Status

# The share of the trace outside the leading eigenvector that counts as rank one.
RANK_ONE = 1e-3
EPS = float(np.finfo(float).eps)


def above_largest_eigenvalue(M: Floats) -> float:
    """Return an upper bound on the largest eigenvalue: LAPACK's, and a margin for its rounding."""
    # ||M||_2 <= ||M||_F, and the error of the computed eigenvalue is a modest multiple of eps ||M||_2.
    peak = float(np.abs(M).max(initial=0.0))
    if peak == 0:
        return 0.0
    # Scaled, as squares of small numbers vanish and those of large ones overflow.
    return largest_eigenvalue(M) + 16 * EPS * peak * float(np.linalg.norm(M / peak))


def dual_bound(S: Floats, U: Floats, cardinality: int) -> float:
    """Return lmax(S + U) + (k - 1) max |U_ij|, an upper bound on z'Sz over unit z with k nonzeros, for any symmetric U.

    Parameters
    ----------
    S
        The covariance.
    U
        Any symmetric matrix with zero diagonal.
    cardinality
        k.
    """
    return _rounded_up(above_largest_eigenvalue(S + U), (cardinality - 1) * float(np.abs(U).max(initial=0.0)))


def _rounded_up(first: float, second: float) -> float:
    """Return no less than a sum, the second number of which may be a product; what adds nothing changes nothing."""
    return first + second + (2 * EPS * (abs(first) + abs(second)) if second else 0.0)


class L1Form(Protocol):
    """What differs between the two forms, seen from a method that splits X and its l1 norm."""

    def threshold(self, size: Floats, stiffness: float, before: float) -> float:
        """Return the level to shrink off-diagonal entries by, given absolute values with a zero diagonal."""
        ...

    def shrink(self, off_diagonal: float) -> float:
        """Return the largest c in [0, 1] with cX + (1 - c) diag(X) feasible, given sum_{i != j} |X_ij|."""
        ...

    def primal(self, inner: float, diagonal_inner: float, off_diagonal: float) -> float:
        """Return the value of that point, given Tr SX, sum_i S_ii X_ii, and sum_{i != j} |X_ij|."""
        ...

    def dual(self, largest: float, level: float) -> float:
        """Return the value of the dual point with |U_ij| <= level off the diagonal and lmax(S + U) = largest."""
        ...


@dataclass(frozen=True)
class PenaltyForm:
    """Tr SX - rho sum_ij |X_ij|."""

    rho: float

    def __post_init__(self) -> None:
        if not self.rho > 0:
            raise ValueError(f"rho={self.rho} must be above zero.")

    def threshold(self, size: Floats, stiffness: float, before: float) -> float:  # noqa: ARG002 - the contract
        """Return rho in the units of X."""
        return self.rho / stiffness

    def shrink(self, off_diagonal: float) -> float:  # noqa: ARG002 - the contract
        """Return one: every X of the spectrahedron is feasible."""
        return 1.0

    def primal(self, inner: float, diagonal_inner: float, off_diagonal: float) -> float:  # noqa: ARG002 - the contract
        """Return the objective."""
        return inner - self.rho * (1.0 + off_diagonal)

    def dual(self, largest: float, level: float) -> float:  # noqa: ARG002 - the contract
        """Return lmax(S + U) with U_ii = -rho, rounded up."""
        return _rounded_up(largest, -self.rho)


@dataclass(frozen=True)
class CardinalityForm:
    """Tr SX subject to sum_{i != j} |X_ij| <= k - 1."""

    cardinality: int

    def __post_init__(self) -> None:
        if self.cardinality < 1:
            raise ValueError(f"cardinality={self.cardinality} must be at least 1.")

    def threshold(self, size: Floats, stiffness: float, before: float) -> float:  # noqa: ARG002 - the contract
        """Return t with sum (size - t)_+ = k - 1: the projection on the l1 ball.

        Newton's method on a convex, piecewise linear function: from any start the second point is to the left of the
        root, and the rest climb to it in finitely many steps, few if the start is the last answer.
        """
        radius = float(self.cardinality - 1)
        if radius == 0:
            return float(size.max(initial=0.0))
        if float(size.sum()) <= radius:
            return 0.0
        t = before
        for _ in range(200):
            above = size > t
            count = int(np.count_nonzero(above))
            if not count:
                t = 0.0
                continue
            moved = max((float(size.sum(where=above)) - radius) / count, 0.0)
            if abs(moved - t) <= 1e-14 * moved:
                return moved
            t = moved
        return t

    def shrink(self, off_diagonal: float) -> float:
        """Return what brings the off-diagonal entries into the l1 ball; diag(X) is in the spectrahedron with X."""
        radius = float(self.cardinality - 1)
        return 1.0 if off_diagonal <= radius else radius / off_diagonal

    def primal(self, inner: float, diagonal_inner: float, off_diagonal: float) -> float:
        """Return Tr S (cX + (1 - c) diag(X))."""
        c = self.shrink(off_diagonal)
        return c * inner + (1.0 - c) * diagonal_inner

    def dual(self, largest: float, level: float) -> float:
        """Return lmax(S + U) + (k - 1) t, rounded up."""
        return _rounded_up(largest, (self.cardinality - 1) * level)


@dataclass(frozen=True, eq=False)
class L1Solution:
    """A primal and a dual point of the relaxation.

    Attributes
    ----------
    form
        Which relaxation, with its rho or k.
    factor, shrink
        F and c with X = cFF' + (1 - c) diag(FF'): F has one column for each eigenvector of FF', the leading first, and
        c is one but for what the l1 ball asks.
    primal, dual
        The values of both points: the relaxation's value lies between them.
    keep
        The features that were not removed. For the others U cancels the whole row of S off the diagonal.
    multiplier
        U on the features kept, with zero diagonal.
    level
        max |U_ij| over all features, off the diagonal.
    status, iterations
        How the solve ended.
    state
        What a later solve starts from.
    """

    form: L1Form
    factor: Floats
    primal: float
    dual: float
    keep: Indices
    multiplier: Floats
    level: float
    status: Status
    iterations: int
    shrink: float = 1.0
    state: Any = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """(dual - primal) / |dual|: how far the relaxation is from solved."""
        return (self.dual - self.primal) / abs(self.dual) if self.dual else self.dual - self.primal

    @property
    def rank(self) -> int:
        """The number of eigenvectors of X that carry more than a thousandth of its trace."""
        return max(int(np.count_nonzero((self.factor**2).sum(axis=0) > RANK_ONE)), 1)

    @property
    def tight(self) -> bool:
        """Whether X is of rank one, so that its eigenvector solves the l1 problem; otherwise that is a rounding."""
        return self.rank == 1

    @property
    def vector(self) -> Floats:
        """The leading eigenvector of X, of unit length."""
        leading = self.factor[:, 0]
        return leading / np.linalg.norm(leading)

    @property
    def X(self) -> Floats:
        """The primal matrix, written out: a feasible point."""
        full = self.factor @ self.factor.T
        X = self.shrink * full
        np.fill_diagonal(X, full.diagonal())
        return X

    def dual_matrix(self, S: Floats) -> Floats:
        """Return U on all features, with zero diagonal.

        Parameters
        ----------
        S
            The covariance that was solved for.
        """
        return self.dual_on(S, np.arange(len(S)))

    def dual_on(self, S: Floats, features: Indices) -> Floats:
        """Return U on some features, among them all that were kept, with zero diagonal.

        Parameters
        ----------
        S
            The covariance that was solved for.
        features
            The features, increasing.
        """
        U = -S[np.ix_(features, features)]
        places = np.searchsorted(features, self.keep)
        U[np.ix_(places, places)] = self.multiplier
        np.fill_diagonal(U, 0.0)
        return U

    @property
    def largest(self) -> float:
        """What lmax(S + U) is at most, by the dual value."""
        return _rounded_up(self.dual, -self.form.dual(0.0, self.level))

    def upper_bound(self, cardinality: int) -> float:
        """Return what this dual point proves about supports of any size, as `dual_bound` does.

        Parameters
        ----------
        cardinality
            The size of the supports.
        """
        return CardinalityForm(cardinality).dual(self.largest, self.level)
