"""The paper's first-order method (Algorithm 1)."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from laconic.core.arrays import Floats
from laconic.core.monitor import Monitor
from laconic.core.threads import threads_for
from laconic.problem.status import Status, stopped_or
from laconic.relaxations.l1 import L1Solution, PenaltyForm, above_largest_eigenvalue

# exp(-36) is below the rounding of one: eigenvalues further than 36 mu below the largest do not count.
NEGLIGIBLE_EXPONENT = 36.0


@dataclass(frozen=True)
class FirstOrder:
    """Smooth the largest eigenvalue and minimise over the box by Nesterov's method, as in section 3.1 of the paper.

        f_mu(U) = mu log Tr exp((S + U)/mu) - mu log n,   mu = eps / (2 log n),   gradient Lipschitz with L = 1/mu,

    is within eps/2 of lmax(S + U). Each step takes the gradient X = exp((S + U)/mu) / Tr, which is a primal point, a
    projected gradient step Y, the minimiser W of the estimate sequence, and a mean of both. It needs O(rho n sqrt(log
    n) / eps) steps.

    The paper's slips are put right: the box is |U_ij| <= rho (printed as 1), the estimate sequence adds up the
    gradients so far (printed to N), the gap carries rho on the l1 norm. Only the eigenvectors are computed whose
    exponential counts.

    This is the reference; `Splitting` is the solver to use.

    Attributes
    ----------
    tolerance
        The relative gap at which to stop; eps is this times the largest variance or the current bound, whichever is
        larger.
    max_iterations
        Steps at most.
    check_every
        Steps between two looks at the gap, 100 in the paper.
    """

    tolerance: float = 1e-3
    max_iterations: int = 100_000
    check_every: int = 10

    def solve(self, S: Floats, form: PenaltyForm, *, monitor: Monitor | None = None) -> L1Solution:
        """Solve the penalised relaxation.

        Parameters
        ----------
        S
            A symmetric matrix.
        form
            The penalty.
        monitor
            Stops the solve in time; the best primal and dual points so far are returned.
        """
        with threads_for(len(S)):
            return self._solve(S, form, monitor or Monitor())

    def _solve(self, S: Floats, form: PenaltyForm, monitor: Monitor) -> L1Solution:
        n, rho = len(S), form.rho
        U = np.zeros((n, n))
        gradients = np.zeros((n, n))
        average = np.zeros((n, n))
        # The largest variance alone is a primal point, and no U at all a dual one.
        single = int(S.diagonal().argmax())
        primal, dual = float(S[single, single]) - rho, above_largest_eigenvalue(S)
        best_X, best_U = np.zeros((n, n)), U
        best_X[single, single] = 1.0
        epsilon = self.tolerance * max(float(S.diagonal().max()), dual - rho)
        mu = epsilon / (2 * np.log(max(n, 2)))
        status = Status.ITERATION_LIMIT
        i = 0
        with monitor.watch():
            for i in range(self.max_iterations):
                largest, X = _smoothed(S + U, mu)
                gradients += 0.5 * (i + 1) * X
                average += (2 / (i + 2)) * (X - average)
                if largest < dual:
                    dual, best_U = largest, U
                if i % self.check_every == 0:
                    monitor.tick("first-order method", best=dual)
                    # The last gradient is the paper's primal point; the mean is the one the theory speaks of.
                    for point in (X, average):
                        value = float((S * point).sum()) - rho * float(np.abs(point).sum())
                        if value > primal:
                            primal, best_X = value, point.copy()
                    if dual - primal <= self.tolerance * max(abs(dual), 1e-3 * float(S.diagonal().max())):
                        status = Status.OPTIMAL
                        break
                Y = np.clip(U - mu * X, -rho, rho)
                W = np.clip(-mu * gradients, -rho, rho)
                U = (2.0 * W + (i + 1) * Y) / (i + 3)
        return _solution(S, form, best_X, primal, best_U, stopped_or(monitor.stopped, status), i + 1)


def _smoothed(M: Floats, mu: float) -> tuple[float, Floats]:
    """Return the largest eigenvalue and exp(M/mu)/Tr exp(M/mu), from the eigenvectors that count."""
    n = len(M)
    # The eigenvalues alone cost less than half of it all; most of their vectors are not needed.
    d = eigh(M, eigvals_only=True) if n > 32 else None
    low = 0 if d is None else int(np.searchsorted(d, d[-1] - NEGLIGIBLE_EXPONENT * mu))
    if low > n // 2:
        values, vectors = eigh(M, subset_by_index=[low, n - 1])
    else:
        values, vectors = np.linalg.eigh(M)
    weights = np.exp((values - values[-1]) / mu)
    weights /= weights.sum()
    return float(values[-1]), (vectors * weights) @ vectors.T


def _solution(
    S: Floats, form: PenaltyForm, X: Floats, primal: float, U: Floats, status: Status, steps: int
) -> L1Solution:
    n = len(S)
    values, vectors = np.linalg.eigh(X)
    used = max(int(np.count_nonzero(values > 1e-12)), 1)
    factor = (vectors[:, -used:] * np.sqrt(np.maximum(values[-used:], 0.0)))[:, ::-1]
    multiplier = np.clip(U, -form.rho, form.rho)
    np.fill_diagonal(multiplier, 0.0)
    dual = max(form.dual(above_largest_eigenvalue(S + multiplier), form.rho), primal)
    return L1Solution(form, factor, primal, dual, np.arange(n), multiplier, form.rho, status, steps)
