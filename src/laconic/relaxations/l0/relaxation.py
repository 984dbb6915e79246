"""The l0 relaxation (Proposition 1 of the paper): the problem, its dual, and the method that solves it.

Let S = A'A, a_i the columns of A and B_i = a_i a_i' - rho I. Then

    max  z'Sz - rho |z|_0  over |z| = 1  <=  psi(rho) = max  sum_i Tr(X^1/2 B_i X^1/2)_+  over X >= 0, Tr X = 1
                                                      = min  lmax(sum_i Y_i)              over Y_i >= B_i, Y_i >= 0.

A vector z with at most k nonzeros has z'Sz <= min over rho of psi(rho) + rho k. Written out, this is a semidefinite
program with n + 1 matrices. Each term of the maximum is also the root of a scalar equation
(`laconic.relaxations.l0.secular`), and for any vector w with d = (w'a)^2 - (|a|^2 - rho) |w|^2 > 0 the matrix

    Y = c ww',    c = rho (|a|^2 - rho) / d   (c = 0 if |a|^2 <= rho)

is feasible for B = aa' - rho I. Therefore *any* rho and any directions w_i give a bound on every support,

    z'Sz  <=  lmax(sum_i c_i w_i w_i') + rho k.

The roots give the best directions, w_i = (l_i I + rho X)^-1 a_i. With them sum_i c_i w_i w_i' is the gradient G at X.
At the optimum G <= t I and GX = tX, and the primal and the dual value agree.

The method maximises  f(X) + mu log det X,  X = LL'/|L|^2,  f(X) = min over rho of sum_i l_i + rho k,  by quasi-Newton
steps in L. At the maximum G = tI - mu X^-1 is below t I. With t = Tr GX + q mu the two values differ by q mu, and mu is
chosen so that this is a share of the tolerance. The barrier keeps X positive definite, which the dual directions need
even where the optimal X has rank one, and it keeps the number of steps small. A small multiple of the identity is mixed
into X, because L may become singular along a step.
"""

from dataclasses import dataclass

from laconic.core.arrays import Floats
from laconic.core.monitor import Monitor
from laconic.core.threads import threads_for
from laconic.proof.witnesses.dual import DualWitness
from laconic.relaxations.l0.ascent import Ascent
from laconic.relaxations.l0.bound import FactoredMatrix, l0_bound, total_bound
from laconic.relaxations.status import RelaxationStatus


@dataclass(frozen=True, eq=False, repr=False)
class L0Solution:
    """A primal value and a dual point of the l0 relaxation."""

    primal: float  # the value at a feasible X; no l0 bound from this factor is below it
    estimate: float  # the value of the dual point with a margin for rounding: an upper bound on z'Sz
    cardinality: int
    rho: float  # the penalty at the dual point
    factor: Floats  # A, one column for each feature
    directions: Floats  # W, one column for each feature
    shift: float  # S + shift I = A'A up to rounding
    status: RelaxationStatus
    iterations: int

    def __repr__(self) -> str:
        return (
            f"L0Solution(cardinality={self.cardinality}, primal={self.primal:.6g}, estimate={self.estimate:.6g},\n"
            f"           gap={self.gap:.2g}, status={self.status.name}, iterations={self.iterations})"
        )

    @property
    def gap(self) -> float:
        """(estimate - primal) / |estimate|: the relative distance between the primal and the dual value."""
        return (self.estimate - self.primal) / abs(self.estimate) if self.estimate else self.estimate - self.primal

    def witness(self) -> DualWitness:
        """Return the dual point, from which the bound can be computed again."""
        return DualWitness(kind="l0", factor=self.factor, directions=self.directions, rho=self.rho, shift=self.shift)


@dataclass(frozen=True)
class L0Relaxation:
    """The l0 relaxation. A step costs an eigendecomposition of the size of the rank of S and a few products."""

    tolerance: float = 1e-6  # the relative gap between the primal and the dual value at which to stop
    max_iterations: int = 1000

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance={self.tolerance} must lie between 0 and 1.")
        if self.max_iterations < 0:
            raise ValueError(f"max_iterations={self.max_iterations} must not be negative.")

    def solve(self, S: Floats, cardinality: int, *, monitor: Monitor | None = None) -> L0Solution:
        """Bound z'Sz over unit z with at most k nonzeros. If the monitor stops, it is the best so far."""
        if cardinality < 1:
            raise ValueError(f"cardinality={cardinality} must be at least 1.")
        k = min(cardinality, len(S))
        with threads_for(len(S)):
            factored = FactoredMatrix.of(S)
            ascent = Ascent(factored.A, k, shift=factored.shift, tolerance=self.tolerance)
            best, status, steps = ascent.climb(self.max_iterations, monitor or Monitor())
            largest = l0_bound(factored.A, best.directions, best.rho, 0)
        primal = best.primal - factored.shift
        return L0Solution(
            primal=primal,
            estimate=max(total_bound(largest, best.rho * k, factored.error, factored.shift), primal),
            cardinality=k,
            rho=best.rho,
            factor=factored.A,
            directions=best.directions,
            shift=factored.shift,
            status=status,
            iterations=steps,
        )
