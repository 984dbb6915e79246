"""The l1 relaxation (DSPCA; section 2.1 of the paper): the problem, its dual, and the form of a solution.

A unit vector z with k nonzeros gives X = zz' with X >= 0, Tr X = 1 and sum_{i != j} |X_ij| = |z|_1^2 - 1 <= k - 1.
The relaxation drops the condition that X has rank one. This leaves a convex program, in two forms:

    penalty rho       max  Tr SX - rho sum_ij |X_ij|      over X >= 0, Tr X = 1
                      min  lmax(S + U)                    over |U_ij| <= rho
    cardinality k     max  Tr SX                          over X >= 0, Tr X = 1, sum_{i != j} |X_ij| <= k - 1
                      min  lmax(S + U) + (k - 1) t        over |U_ij| <= t off the diagonal, U_ii = 0, t >= 0

The paper includes the diagonal in the constraint: sum_ij |X_ij| <= k. This is the same set, because the diagonal of X
sums to one. In the penalty form, U_ii = -rho is always best. The code stores U with a zero diagonal in both forms.

Optimality (KKT): X and U are feasible, X (lmax(S + U) I - S - U) = 0, and U_ij = -t sign(X_ij) wherever X_ij != 0. The
level t is rho in the penalty form. In the cardinality form, t > 0 only if the constraint is active.

Any U, optimal or not, bounds the value of every support of size k from above:

    z'Sz  <=  lmax(S + U) + (k - 1) max |U_ij|.

Every X gives a lower bound of the relaxation. The gap is the difference of the two bounds, relative to the upper one.
It says how far the *relaxation* is from solved. It does not say how far a support is from optimal: compare the
support's own value with the upper bound for that. If X has rank one, X = zz', and z solves the problem with |z|_1^2 in
place of the cardinality. If z also has at most k nonzeros, it solves the sparse problem itself.

The paper's first-order method (Algorithm 1).
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalues import EPS, eigh
from laconic.core.monitor import Monitor, threads_for
from laconic.relaxations.elementary import RelaxationStatus, estimated_largest_eigenvalue_bound, final_status

# X counts as rank one if the other eigenvectors carry at most this share of its trace.
RANK_ONE = 1e-3
# Halvings of an interval: the threshold is then known to the ninth digit, which is more than a primal point needs.
HALVINGS = 30


def _rounded_up(first: float, second: float) -> float:
    """Return the sum of two numbers, plus its rounding error and that of a product in the second number."""
    return first + second + (2 * EPS * (abs(first) + abs(second)) if second else 0.0)


def shrunk(v: Floats, t: float) -> Floats:
    """Return v with every entry moved towards zero by t >= 0, or to zero."""
    return np.asarray(np.sign(v) * np.maximum(np.abs(v) - t, 0.0))


def row_maxima(S: Floats) -> Floats:
    """Return max_j |S_ij|, j != i, for each row i."""
    size = np.abs(S)
    np.fill_diagonal(size, 0.0)
    return np.asarray(size.max(axis=1, initial=0.0))


@dataclass(frozen=True)
class PenaltyForm:
    """The form with a penalty: Tr SX - rho sum_ij |X_ij|.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import PenaltyForm, Splitting
    >>> found = Splitting().solve(load_pitprops().covariance, PenaltyForm(0.3))
    >>> round(found.primal, 3), round(found.dual, 3), found.rank
    (2.014, 2.014, 1)
    """

    rho: float

    def __post_init__(self) -> None:
        if not self.rho > 0:
            raise ValueError(f"rho={self.rho} must be above zero.")

    @property
    def fixed_level(self) -> float:
        """The largest |U_ij| allowed."""
        return self.rho

    def threshold(self, size: Floats, stiffness: float) -> float:  # noqa: ARG002 - the contract
        """Return the amount by which to shrink the off-diagonal entries of X, given their absolute values."""
        return self.rho / stiffness

    def ascend(self, image: Floats, z: Floats) -> Floats:
        """Return the vector, up to its length, that a step from a unit z with image Sz leads to."""
        return shrunk(image, self.rho * float(np.abs(z).sum()))

    def primal(self, inner: float, diagonal_inner: float, off_diagonal: float) -> tuple[float, float]:  # noqa: ARG002
        """Return the value of the feasible cX + (1 - c) diag(X) with the largest c in [0, 1], and c.

        Given are Tr SX, sum_i S_ii X_ii and sum_{i != j} |X_ij|.
        """
        return inner - self.rho * (1.0 + off_diagonal), 1.0

    def dual(self, largest: float, level: float) -> float:  # noqa: ARG002 - the contract
        """Return the value of a dual point U, rounded up, given lmax(S + U) and max |U_ij|."""
        return _rounded_up(largest, -self.rho)


@dataclass(frozen=True)
class CardinalityForm:
    """The form with a constraint: Tr SX subject to sum_{i != j} |X_ij| <= k - 1.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import CardinalityForm, Splitting
    >>> found = Splitting().solve(load_pitprops().covariance, CardinalityForm(5))
    >>> round(found.dual, 3)
    3.458
    """

    cardinality: int

    def __post_init__(self) -> None:
        if self.cardinality < 1:
            raise ValueError(f"cardinality={self.cardinality} must be at least 1.")

    @property
    def fixed_level(self) -> float | None:
        """Infinite for k = 1, where the level t costs nothing; otherwise None, because t is a dual variable."""
        return np.inf if self.cardinality == 1 else None

    def threshold(self, size: Floats, stiffness: float) -> float:  # noqa: ARG002 - the contract
        """Return t with sum (size - t)_+ = k - 1: the projection on the l1 ball.

        Newton's method solves this convex, piecewise linear equation. From the left it climbs to the root in a finite
        number of steps, and entries below a step are not needed any more.
        """
        values, t = size[size > 0], 0.0
        while (moved := (float(values.sum()) - (self.cardinality - 1)) / max(len(values), 1)) > t:
            t, values = moved, values[values > moved]
        return t

    def ascend(self, image: Floats, z: Floats) -> Floats:  # noqa: ARG002 - the contract
        """Return Sz, shrunk just enough that its squared l1 norm is at most k at unit length.

        Among all such unit vectors this one has the largest product with Sz.
        """
        size, radius = np.abs(image), float(np.sqrt(self.cardinality))
        low, high = 0.0, float(size.max(initial=0.0))
        if float(size.sum()) <= radius * float(np.linalg.norm(size)):
            return image
        for _ in range(HALVINGS):
            t = 0.5 * (low + high)
            left = np.maximum(size - t, 0.0)
            low, high = (low, t) if float(left.sum()) <= radius * float(np.linalg.norm(left)) else (t, high)
        return shrunk(image, high)

    def primal(self, inner: float, diagonal_inner: float, off_diagonal: float) -> tuple[float, float]:
        """Return the value of cX + (1 - c) diag(X) and c: diag(X) is always in the l1 ball."""
        radius = float(self.cardinality - 1)
        c = 1.0 if off_diagonal <= radius else radius / off_diagonal
        return c * inner + (1.0 - c) * diagonal_inner, c

    def dual(self, largest: float, level: float) -> float:
        """Return lmax(S + U) + (k - 1) t, rounded up."""
        return _rounded_up(largest, (self.cardinality - 1) * level)


L1Form: TypeAlias = PenaltyForm | CardinalityForm


def primal_point(S: Floats, form: L1Form, factor: Floats) -> tuple[float, float]:
    """Return the value and the shrinking factor c of the feasible point that FF' gives, for F of Frobenius norm one."""
    on_diagonal = (factor**2).sum(axis=1)
    off_diagonal = float(np.abs(factor @ factor.T).sum() - on_diagonal.sum())
    inner = float(np.einsum("ij,ij->", factor, S @ factor))
    return form.primal(inner, float(S.diagonal() @ on_diagonal), off_diagonal)


@dataclass(frozen=True, eq=False, repr=False)
class L1Solution:
    """A primal and a dual point of the l1 relaxation. One dual point bounds the supports of every size.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import CardinalityForm, Splitting
    >>> found = Splitting().solve(load_pitprops().covariance, CardinalityForm(5))
    >>> found.gap < 1e-4 < found.estimate(6) - found.estimate(5)
    True
    """

    form: L1Form
    factor: Floats  # F with X = cFF' + (1 - c) diag(FF'), a column for each eigenvector of FF', the leading one first
    primal: float  # the value of X: a lower bound of the relaxation
    keep: Indices  # features not eliminated; for the others, U cancels the whole row of S off the diagonal
    multiplier: Floats  # U on the features in `keep`, with a zero diagonal
    largest: float  # lmax(S + U) on all features, with a margin for rounding
    level: float  # max |U_ij| over all features
    status: RelaxationStatus
    iterations: int
    shrink: float = 1.0  # c, below one only if FF' is outside the l1 ball

    def __repr__(self) -> str:
        return (
            f"L1Solution of {self.form} on {len(self.factor)} features\n"
            f"  value between {self.primal:.6g} and {self.dual:.6g}, gap {self.gap:.1e}, rank of X: {self.rank}\n"
            f"  {self.status} ({self.iterations} steps)"
        )

    @property
    def dual(self) -> float:
        """The value of U: an upper bound of the relaxation."""
        return max(self.form.dual(self.largest, self.level), self.primal)

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
        """True if X has rank one, so that its eigenvector solves the problem with the l1 norm."""
        return self.rank == 1

    @property
    def vector(self) -> Floats:
        """The leading eigenvector of X, of unit length."""
        leading = self.factor[:, 0]
        return leading / np.linalg.norm(leading)

    @property
    def X(self) -> Floats:
        """The primal matrix X, a feasible point."""
        full = self.factor @ self.factor.T
        X = self.shrink * full
        np.fill_diagonal(X, full.diagonal())
        return X

    def dual_matrix(self, S: Floats) -> Floats:
        """Return U on all features, with a zero diagonal. S is the matrix that was solved for."""
        U = -S
        U[np.ix_(self.keep, self.keep)] = self.multiplier
        np.fill_diagonal(U, 0.0)
        return U

    def estimate(self, cardinality: int) -> float:
        """Return lmax(S + U) + (k - 1) max |U_ij|, which bounds the value of every support of k features, for any k."""
        return CardinalityForm(cardinality).dual(self.largest, self.level)

    def at(self, S: Floats, form: L1Form) -> "L1Solution":
        """Return the same two points as points of another form of the same problem; the gap may then be larger.

        X and U are feasible for every k, and for every rho that is not smaller than the present one.
        """
        primal, shrink = primal_point(S, form, self.factor)
        return replace(self, form=form, primal=primal, shrink=shrink, iterations=0)


@dataclass
class BestPoints:
    """The best primal point and the best dual point so far."""

    factor: Floats  # F with X = cFF' + (1 - c) diag(FF')
    multiplier: Floats  # U
    primal: float = -np.inf
    dual: float = np.inf
    shrink: float = 1.0  # c
    largest: float = -np.inf  # a bound on lmax(S + U)

    @classmethod
    def none(cls, n: int) -> "BestPoints":
        """Return points that any others are better than."""
        return cls(np.zeros((n, 1)), np.zeros((n, n)))

    @property
    def level(self) -> float:
        """The largest |U_ij|."""
        return float(np.abs(self.multiplier).max(initial=0.0))

    def closed(self, tolerance: float, scale: float) -> bool:
        """Say whether the gap is below a tolerance; `scale` is that of S."""
        return bool(self.dual - self.primal <= tolerance * max(abs(self.dual), 1e-3 * scale)) and self.dual < np.inf

    def offer_primal(self, S: Floats, form: L1Form, F: Floats) -> None:
        """Take the point that FF' gives, if it is better."""
        primal, shrink = primal_point(S, form, F)
        if primal > self.primal:
            self.primal, self.factor, self.shrink = primal, F, shrink

    def offer_dual(self, S: Floats, form: L1Form, U: Floats) -> None:
        """Take a multiplier with a zero diagonal, if it is better."""
        U = 0.5 * (U + U.T)
        largest = estimated_largest_eigenvalue_bound(S + U)
        dual = form.dual(largest, float(np.abs(U).max(initial=0.0)))
        if dual < self.dual:
            self.dual, self.multiplier, self.largest = dual, U, largest

    def solution(self, S: Floats, form: L1Form, keep: Indices, status: RelaxationStatus, iterations: int) -> L1Solution:
        """Return these points on all features, when U cancels the rows of those that are not kept."""
        n, variances = len(S), S.diagonal()
        aside = np.setdiff1d(np.arange(n), keep)
        # The largest variance alone is a primal point, too.
        factor = np.eye(n)[:, [int(variances.argmax())]]
        primal, shrink = primal_point(S, form, factor)
        if self.primal >= primal:
            primal, shrink, factor = self.primal, self.shrink, np.zeros((n, self.factor.shape[1]))
            factor[keep] = self.factor
        return L1Solution(
            form=form,
            factor=factor,
            primal=primal,
            keep=keep,
            multiplier=self.multiplier,
            # Off the diagonal U cancels the rows of the others: their variances are eigenvalues of S + U.
            largest=max(self.largest, float(variances[aside].max(initial=-np.inf))),
            level=max(self.level, float(row_maxima(S)[aside].max(initial=0.0))),
            status=status,
            iterations=iterations,
            shrink=shrink,
        )


# Steps between two evaluations of the gap. The paper has 100; an evaluation costs little beside ten steps.
CHECK_EVERY = 10


@dataclass(frozen=True)
class FirstOrder:
    """Smooth the largest eigenvalue and minimise over the box by Nesterov's method, as in section 3.1 of the paper.

        f_mu(U) = mu log Tr exp((S + U)/mu) - mu log n,   mu = eps / (2 log n),   gradient Lipschitz with L = 1/mu,

    is within eps/2 of lmax(S + U). Each step computes the gradient X = exp((S + U)/mu) / Tr, which is a primal point, a
    projected gradient step Y, and the minimiser W of the estimate sequence. The next U is a mean of Y and W. The method
    needs O(rho n sqrt(log n) / eps) steps.

    Three slips of the paper are corrected. The box is |U_ij| <= rho (printed: 1). The estimate sequence sums the
    gradients so far (printed: up to N). The l1 norm in the gap is multiplied by rho.

    eps is the tolerance times the largest variance or the first dual value, whichever is larger. This method is the
    reference; `Splitting` is much faster.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.relaxations import FirstOrder, PenaltyForm
    >>> found = FirstOrder(tolerance=0.01).solve(load_pitprops().covariance, PenaltyForm(0.5))
    >>> found.gap <= 0.01
    True
    """

    tolerance: float = 1e-3  # the relative gap at which to stop
    max_iterations: int = 100_000

    def solve(self, S: Floats, form: PenaltyForm, *, monitor: Monitor | None = None) -> L1Solution:
        """Solve the relaxation with a penalty. If the monitor stops the solve, the best points so far are returned."""
        if not isinstance(form, PenaltyForm):
            raise TypeError(f"FirstOrder solves the form with a penalty, not {form}; use Splitting for a cardinality.")
        monitor = monitor or Monitor()
        n, rho = len(S), form.rho
        U, gradients, average = np.zeros((3, n, n))
        # The first dual point is U = 0.
        best = BestPoints.none(n)
        best.offer_dual(S, form, U)
        scale = float(np.abs(S).max())
        mu = self.tolerance * max(scale, best.dual) / (2 * np.log(max(n, 2)))
        status = RelaxationStatus.ITERATION_LIMIT
        i = 0
        with threads_for(n), monitor.watch():
            for i in range(self.max_iterations):
                values, vectors = eigh(S + U)
                X = _of_trace_one(np.exp((values - values[-1]) / mu), vectors)
                gradients += 0.5 * (i + 1) * X[1]
                average += (2 / (i + 2)) * (X[1] - average)
                if i % CHECK_EVERY == 0:
                    monitor.tick("first-order method", bound=best.dual)
                    best.offer_dual(S, form, U - np.diag(U.diagonal()))
                    # The paper evaluates the last gradient. The theory is about the mean of all gradients.
                    best.offer_primal(S, form, X[0])
                    best.offer_primal(S, form, _of_trace_one(*eigh(average))[0])
                    if best.closed(self.tolerance, scale):
                        status = RelaxationStatus.CONVERGED
                        break
                Y = np.clip(U - mu * X[1], -rho, rho)
                W = np.clip(-mu * gradients, -rho, rho)
                U = (2.0 * W + (i + 1) * Y) / (i + 3)
        return best.solution(S, form, np.arange(n), final_status(monitor.stopped, status), i + 1)


def _of_trace_one(values: Floats, vectors: Floats) -> tuple[Floats, Floats]:
    """Return F and X = FF' of trace one with these eigenvectors and about these eigenvalues, the last one the first."""
    weights = np.maximum(values[::-1], 0.0)
    F = vectors[:, ::-1] * np.sqrt(weights / weights.sum())
    return F, F @ F.T
