"""The paper's first-order method (Algorithm 1)."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from laconic.core.arrays import Floats
from laconic.core.linalg import estimated_largest_eigenvalue_bound
from laconic.core.monitor import Monitor
from laconic.core.threads import threads_for
from laconic.relaxations.l1.relaxation import L1Solution, PenaltyForm
from laconic.relaxations.status import RelaxationStatus, final_status

# An eigenvalue more than 36 mu below the largest has a weight below exp(-36), which is less than the rounding of one.
NEGLIGIBLE_EXPONENT = 36.0
# Steps between two evaluations of the gap. The paper has 100; an evaluation costs little beside a step.
CHECK_EVERY = 10
# Eigenvalues of X up to this size are rounding errors.
NO_WEIGHT = 1e-12


@dataclass(frozen=True)
class FirstOrder:
    """Smooth the largest eigenvalue and minimise over the box by Nesterov's method, as in section 3.1 of the paper.

        f_mu(U) = mu log Tr exp((S + U)/mu) - mu log n,   mu = eps / (2 log n),   gradient Lipschitz with L = 1/mu,

    is within eps/2 of lmax(S + U). Each step computes the gradient X = exp((S + U)/mu) / Tr, which is a primal point, a
    projected gradient step Y, and the minimiser W of the estimate sequence. The next U is a mean of Y and W. The method
    needs O(rho n sqrt(log n) / eps) steps. Only the eigenvectors with a noticeable weight are computed.

    Three slips of the paper are corrected. The box is |U_ij| <= rho (printed: 1). The estimate sequence sums the
    gradients so far (printed: up to N). The l1 norm in the gap is multiplied by rho.

    eps is the tolerance times the largest variance or the first dual value, whichever is larger. This method is the
    reference; `Splitting` is much faster.
    """

    tolerance: float = 1e-3  # the relative gap at which to stop
    max_iterations: int = 100_000

    def solve(self, S: Floats, form: PenaltyForm, *, monitor: Monitor | None = None) -> L1Solution:
        """Solve the relaxation with a penalty. If the monitor stops the solve, the best points so far are returned."""
        if not isinstance(form, PenaltyForm):
            raise TypeError(f"FirstOrder solves the form with a penalty, not {form}; use Splitting for a cardinality.")
        monitor = monitor or Monitor()
        n, rho = len(S), form.rho
        U = np.zeros((n, n))
        gradients = np.zeros((n, n))
        average = np.zeros((n, n))
        # The first primal point is the largest variance alone. The first dual point is U = 0.
        single = int(S.diagonal().argmax())
        primal, dual = float(S[single, single]) - rho, estimated_largest_eigenvalue_bound(S)
        best_X, best_U = np.zeros((n, n)), U
        best_X[single, single] = 1.0
        scale = float(np.abs(S).max())
        epsilon = self.tolerance * max(scale, dual - rho)
        mu = epsilon / (2 * np.log(max(n, 2)))
        status = RelaxationStatus.ITERATION_LIMIT
        i = 0
        with threads_for(n), monitor.watch():
            for i in range(self.max_iterations):
                largest, X = _smoothed(S + U, mu)
                gradients += 0.5 * (i + 1) * X
                average += (2 / (i + 2)) * (X - average)
                if largest < dual:
                    dual, best_U = largest, U
                if i % CHECK_EVERY == 0:
                    monitor.tick("first-order method", bound=dual)
                    # The paper evaluates the last gradient. The theory is about the mean of all gradients.
                    for point in (X, average):
                        value = float((S * point).sum()) - rho * float(np.abs(point).sum())
                        if value > primal:
                            primal, best_X = value, point.copy()
                    if dual - primal <= self.tolerance * max(abs(dual), 1e-3 * scale):
                        status = RelaxationStatus.CONVERGED
                        break
                Y = np.clip(U - mu * X, -rho, rho)
                W = np.clip(-mu * gradients, -rho, rho)
                U = (2.0 * W + (i + 1) * Y) / (i + 3)
        return _solution(S, form, best_X, primal, best_U, final_status(monitor.stopped, status), i + 1)


def _smoothed(M: Floats, mu: float) -> tuple[float, Floats]:
    """Return the largest eigenvalue and exp(M/mu)/Tr exp(M/mu)."""
    n = len(M)
    # The eigenvalues alone take less than half of the time, and they tell which eigenvectors are needed.
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
    S: Floats, form: PenaltyForm, X: Floats, primal: float, U: Floats, status: RelaxationStatus, steps: int
) -> L1Solution:
    values, vectors = np.linalg.eigh(X)
    used = max(int(np.count_nonzero(values > NO_WEIGHT)), 1)
    factor = (vectors[:, -used:] * np.sqrt(np.maximum(values[-used:], 0.0)))[:, ::-1]
    multiplier = np.clip(U, -form.rho, form.rho)
    np.fill_diagonal(multiplier, 0.0)
    largest = estimated_largest_eigenvalue_bound(S + multiplier)
    level = float(np.abs(multiplier).max(initial=0.0))
    return L1Solution(form, factor, primal, np.arange(len(S)), multiplier, largest, level, status, steps)
