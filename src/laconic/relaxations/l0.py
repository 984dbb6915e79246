"""The l0 relaxation (Proposition 1 of the paper): the problem, its dual, and the method that solves it.

With S = A'A, a_i the columns of A and B_i = a_i a_i' - rho I,

    max  z'Sz - rho |z|_0  over |z| = 1  <=  psi(rho) = max  sum_i Tr(X^1/2 B_i X^1/2)_+  over X >= 0, Tr X = 1
                                                      = min  lmax(sum_i Y_i)              over Y_i >= B_i, Y_i >= 0,

and at most k nonzeros give z'Sz <= min over rho of psi(rho) + rho k. Written out this is a semidefinite program with
n + 1 matrices. But each term of the maximum is the root of a scalar equation (`laconic.relaxations.secular`), and for
any vector w with d = (w'a)^2 - (|a|^2 - rho) |w|^2 > 0

    Y = c ww',    c = rho (|a|^2 - rho) / d   (c = 0 if |a|^2 <= rho)

is feasible for B = aa' - rho I. So *any* rho and any directions w_i bound every support,

    z'Sz  <=  lmax(sum_i c_i w_i w_i') + rho k,

and those of the roots, w_i = (l_i I + rho X)^-1 a_i, make sum_i c_i w_i w_i' = G the gradient at X: primal and dual
value agree at the optimum, where G <= t I and GX = tX.

The method climbs  f(X) + mu log det X,  X = LL'/|L|^2,  f(X) = min over rho of sum_i l_i + rho k,  by quasi-Newton
steps in L. At its top G = tI - mu X^-1 is below t: with t = Tr GX + q mu the two values differ by q mu, which is set to
a share of the tolerance. The barrier keeps X positive, as the dual directions need even where the optimal X is of rank
one, and it is what makes the steps few. A little of the identity is mixed into X, less than the barrier would leave
there, for the sake of steps along which L becomes singular.

A few such steps are enough where X has a low rank. Where the optimal G has the eigenvalue t many times over, as on
correlation matrices with k small, the primal value is soon right but lmax(G) is not, and Newton's method takes over
(`laconic.relaxations.l0_newton`): from a barrier as large as the gap it follows the top down to mu in a few steps, each
an eigendecomposition or two and some products with the second derivative. Should its steps be poor, both take turns.
"""

from dataclasses import dataclass, field
from typing import Any

from laconic.core.arrays import Floats
from laconic.core.monitor import Monitor
from laconic.core.threads import threads_for
from laconic.problem.status import Status
from laconic.proof.witnesses.dual import DualWitness
from laconic.relaxations.l0_ascent import Ascent
from laconic.relaxations.l0_bound import in_units, l0_bound, total_bound

__all__ = ["L0Relaxation", "L0Solution", "l0_bound"]


@dataclass(frozen=True, eq=False)
class L0Solution:
    """A primal value and a dual point of the l0 relaxation.

    Attributes
    ----------
    primal
        The value of the relaxation at a feasible X: no l0 bound on this factor can be below it.
    upper
        The value of the dual point, with a margin for rounding: proved to be above z'Sz for every unit z with k
        nonzeros, or above z'Sz - rho |z|_0 for every unit z.
    cardinality
        k, or None in the penalised form.
    rho
        The penalty.
    factor, directions
        A and W, a column for each feature.
    shift
        S + shift I = A'A up to the error.
    error
        A bound on what z'(S + shift I - A'A)z may add.
    largest
        An upper bound on lmax(sum_i c_i w_i w_i').
    status, iterations
        How the solve ended.
    state
        What a later solve for another k or rho starts from.
    """

    primal: float
    upper: float
    cardinality: int | None
    rho: float
    factor: Floats
    directions: Floats
    shift: float
    error: float
    largest: float
    status: Status
    iterations: int
    state: Any = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """(upper - primal) / |upper|: how far the relaxation is from solved."""
        return (self.upper - self.primal) / abs(self.upper) if self.upper else self.upper - self.primal

    def upper_bound(self, cardinality: int) -> float:
        """Return what this dual point proves about supports of any size.

        Parameters
        ----------
        cardinality
            The size of the supports.
        """
        return total_bound(self.largest, self.rho * cardinality, self.error, self.shift)

    def witness(self) -> DualWitness:
        """Return the dual point, from which the bound can be computed again."""
        return DualWitness(kind="l0", factor=self.factor, directions=self.directions, rho=self.rho, shift=self.shift)


@dataclass(frozen=True)
class L0Relaxation:
    """The l0 relaxation by quasi-Newton steps on a factor of X, and Newton steps where these are not enough.

    A quasi-Newton step costs an eigendecomposition of the size of the rank of S and a few matrix products, a Newton
    step two and a few dozen products.

    Attributes
    ----------
    tolerance
        The relative gap between the primal and the dual value at which to stop.
    max_iterations
        Steps at most.
    singular
        Whether to solve for S less its least eigenvalue, which is then added to the bound: another bound than that of
        Proposition 1 on S itself, lower as a rule, by up to a percent, but not always.
    """

    tolerance: float = 1e-6
    max_iterations: int = 1000
    singular: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance={self.tolerance} must lie between 0 and 1.")
        if self.max_iterations < 0:
            raise ValueError(f"max_iterations={self.max_iterations} must not be negative.")

    def solve(
        self, S: Floats, cardinality: int, *, start: L0Solution | None = None, monitor: Monitor | None = None
    ) -> L0Solution:
        """Solve the cardinality form: bound z'Sz over unit z with at most k nonzeros.

        Parameters
        ----------
        S
            A symmetric matrix; one that is not positive semidefinite is shifted until it is.
        cardinality
            k.
        start
            The solution for another k or rho of the same S.
        monitor
            Stops the solve in time; the best bound so far is returned.
        """
        if cardinality < 1:
            raise ValueError(f"cardinality={cardinality} must be at least 1.")
        return self._solve(S, min(cardinality, len(S)), None, start, monitor or Monitor())

    def solve_penalty(
        self, S: Floats, rho: float, *, start: L0Solution | None = None, monitor: Monitor | None = None
    ) -> L0Solution:
        """Solve the penalised form: bound z'Sz - rho |z|_0 over unit z.

        Parameters
        ----------
        S
            A symmetric matrix; one that is not positive semidefinite is shifted until it is.
        rho
            The penalty, above zero.
        start
            The solution for another k or rho of the same S.
        monitor
            Stops the solve in time; the best bound so far is returned.
        """
        if not rho > 0:
            raise ValueError(f"rho={rho} must be above zero.")
        return self._solve(S, None, rho, start, monitor or Monitor())

    def _solve(
        self, S: Floats, k: int | None, rho: float | None, start: L0Solution | None, monitor: Monitor
    ) -> L0Solution:
        with threads_for(len(S)):
            factored, root = in_units(S, singular=self.singular)
            unit = root * root
            penalty = None if rho is None else rho / root / root
            ascent = Ascent(factored.A, k, penalty, shift=factored.shift, tolerance=self.tolerance)
            state = start.state if start is not None else None
            best, status, steps = ascent.climb(state, self.max_iterations, monitor)
            largest = l0_bound(factored.A, best.directions, best.rho, 0)
        upper = total_bound(largest, best.rho * (k or 0), factored.error, factored.shift)
        primal = best.primal - factored.shift
        return L0Solution(
            primal=primal * unit,
            upper=max(upper, primal) * unit,
            cardinality=k,
            rho=best.rho * unit,
            factor=factored.A * root,
            directions=best.directions,
            shift=factored.shift * unit,
            error=factored.error * unit,
            largest=largest * unit,
            status=status,
            iterations=steps,
            state=ascent.state,
        )
