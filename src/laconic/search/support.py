"""The best loadings on a given support, and the best support so far.

The largest eigenvalue after one feature joins or leaves a support, for all features at once.
"""

import numpy as np

from laconic.core.arrays import SMALLEST_NORMAL, Floats, Indices
from laconic.core.eigenvalues import EPS, eigh, eigvalsh, extreme_eigenpair
from laconic.covariance import SubsetCovariance, largest_eigenpair
from laconic.search.problem import Problem, Solution, Status, stopped_or

# A loading this small relative to the largest is a rounding error, and its feature is dropped.
NEGLIGIBLE = 1e-10
# Two values that agree to this relative accuracy are equal. The support that comes first is kept.
EQUAL = 1e-12
# For supports larger than this, use products with S and never form the k x k block.
MOST_IN_BLOCK = 256
# The number of single features from which a search for non-negative loadings starts.
SINGLE = 64


def leading(block: Floats, *, nonnegative: bool = False) -> tuple[float, Floats]:
    """Return the largest value of z'Bz over unit z and the z that reaches it.

    With `nonnegative` the maximum is over z >= 0, which is a hard problem. A local maximum from several starts is
    returned. Its value is attained, so it is a valid lower bound.
    """
    m = len(block)
    if m == 1:
        return float(block[0, 0]), np.ones(1)
    if nonnegative:
        return _leading_nonnegative(block)
    # For small blocks the whole decomposition is faster than a single pair.
    if m <= 32:
        values, vectors = eigh(block)
        return float(values[-1]), vectors[:, -1]
    return extreme_eigenpair(block, -1)


def leading_on(problem: Problem, support: Indices) -> tuple[float, Floats]:
    """Return the value of a support and its loadings. A large support needs only products with S."""
    if len(support) > MOST_IN_BLOCK and not problem.nonnegative:
        return largest_eigenpair(SubsetCovariance(problem.covariance, support))
    return leading(problem.covariance.submatrix(support), nonnegative=problem.nonnegative)


def _leading_nonnegative(block: Floats) -> tuple[float, Floats]:
    """Ascend by projected power steps, then finish on the positive part by an eigenvector.

    Let J be the positive part of a maximum. On J it is an interior local maximum on the sphere, and so the leading
    eigenvector of B_JJ. The ascent only has to find J.
    """
    m = len(block)
    values, vectors = eigh(block)
    shifted = block + max(0.0, -float(values[0])) * np.eye(m)
    single = np.eye(m)[:, np.sort(np.argsort(-block.diagonal(), kind="stable")[:SINGLE])]
    starts = np.concatenate([np.maximum(vectors[:, -3:], 0), np.maximum(-vectors[:, -3:], 0), single], axis=1)
    starts = starts[:, starts.any(axis=0)]
    if not block.max() > 0:
        # Without positive entries no mixture beats the largest diagonal entry.
        return float(block.diagonal().max()), np.eye(m)[:, int(block.diagonal().argmax())]
    for _ in range(200):
        moved = np.maximum(shifted @ starts, 0.0)
        norms = np.linalg.norm(moved, axis=0)
        # A start whose image has no positive entry stays where it is.
        moved = np.where(norms > 0, moved / np.where(norms > 0, norms, 1.0), starts)
        change = np.abs(moved - starts).max()
        starts = moved
        if change < 1e-9:
            break
    quality = np.einsum("ij,ij->j", starts, block @ starts)
    z = starts[:, int(quality.argmax())]
    best = (float(quality.max()), z)
    positive = np.flatnonzero(z > 1e-7 * z.max())
    pair, inner = eigh(block[np.ix_(positive, positive)])
    polished = inner[:, -1] * np.sign(inner[:, -1].sum())
    if polished.min() >= 0 and pair[-1] >= best[0]:
        z = np.zeros(m)
        z[positive] = polished
        best = (float(pair[-1]), z)
    return best


def values_of(problem: Problem, supports: Indices) -> Floats:
    """Return the value of each row of `supports`."""
    if supports.shape[1] > MOST_IN_BLOCK and not problem.nonnegative:
        return np.array([leading_on(problem, support)[0] for support in supports])
    return leading_values(problem.covariance.submatrices(supports), nonnegative=problem.nonnegative)


def leading_values(blocks: Floats, *, nonnegative: bool = False) -> Floats:
    """Return the largest value of z'Bz over unit z, or over z >= 0, for each block of a stack."""
    if nonnegative:
        return np.array([leading(block, nonnegative=True)[0] for block in blocks])
    return eigvalsh(blocks)[:, -1]


def finish(
    problem: Problem,
    support: Indices,
    status: Status,
    *,
    method: str,
    iterations: int = 0,
    pair: tuple[float, Floats] | None = None,
) -> Solution:
    """Turn a support into a solution: compute the loadings, drop zero loadings, fix the sign.

    `pair` is the value and the loadings of this support, if the caller has them already.
    """
    if pair is None:
        pair = leading_on(problem, support)
    value, z = pair
    order = np.argsort(support)
    support, z = support[order], z[order]
    forced = np.flatnonzero(np.isin(support, problem.forced))
    z = signed(z, forced)
    keep = z != 0
    keep[forced] = True
    return Solution(support[keep], z[keep], value, status, method=method, iterations=iterations)


def signed(vector: Floats, forced: Indices) -> Floats:
    """Return a vector of unit length without negligible loadings, but on features forced in, and with its sign.

    The largest loading is positive. If several tie, the first one is.
    """
    size = np.abs(vector)
    small = size <= NEGLIGIBLE * size.max()
    small[forced] = False
    z = np.where(small, 0.0, vector)
    first = int((size >= (1 - 1e-9) * size.max()).argmax())
    return np.asarray(z * (np.sign(z[first]) / np.linalg.norm(z)))


class Incumbent:
    """The best support so far. Among equal ones it keeps the first in lexicographic order, so runs are repeatable."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._best: tuple[float, Indices] | None = None

    @property
    def value(self) -> float:
        """The best value so far."""
        return -np.inf if self._best is None else self._best[0]

    @property
    def support(self) -> Indices | None:
        """The best support so far."""
        return None if self._best is None else self._best[1]

    def offer(self, value: float, support: Indices) -> None:
        """Take a support if it is better, or if it is equal and comes first."""
        support, margin = np.sort(support), EQUAL * abs(self.value)
        if self._best is None or value > self.value + margin:
            self._best = (value, support)
        elif value >= self.value - margin and tuple(support) < tuple(self._best[1]):
            self._best = (max(value, self.value), support)

    def offer_all(self, supports: Indices) -> None:
        """Take the best of some supports, one in each row, if it is better."""
        for value, support in zip(values_of(self.problem, supports), supports, strict=True):
            self.offer(float(value), support)

    def take(self, other: "Incumbent", features: Indices | None = None) -> None:
        """Take the support of another search if it is better; the search may have been among some features only."""
        if other.support is not None:
            self.offer(other.value, other.support if features is None else features[other.support])

    def solution(self, status: Status, *, method: str, iterations: int = 0) -> Solution:
        """Return the best. If the search stopped before it found any, return the features of largest variance."""
        support = self.support
        if support is None:
            support = self.problem.largest_variances()
        stopped = self.problem.monitor.stopped
        return finish(self.problem, support, stopped_or(stopped, status), method=method, iterations=iterations)


def added(eigenvalues: Floats, couplings: Floats, variances: Floats) -> Floats:
    """Return the largest eigenvalue of [[D, g], [g', a]] for each column g of `couplings` and entry a of `variances`.

    D holds the eigenvalues of the block that the feature joins, and g its covariances with that block in the
    eigenbasis. The answer is the largest root of  f(t) = t - a - sum_j g_j^2 / (t - d_j). To the right of the poles f
    is increasing and concave. A Ritz value is never above the root, and Newton's method rises from it to the root
    without passing it.
    """
    d = eigenvalues[:, None] if eigenvalues.ndim == 1 else eigenvalues
    squares = couplings**2
    half = 0.5 * (d - variances)
    t = (0.5 * (d + variances) + np.sqrt(half**2 + squares)).max(axis=0)
    floor = EPS * max(float(np.abs(eigenvalues).max()), float(np.abs(variances).max(initial=0)), SMALLEST_NORMAL)
    for _ in range(50):
        distance = np.maximum(t - d, floor)
        terms = squares / distance
        step = (terms.sum(axis=0) + variances - t) / (1.0 + (terms / distance).sum(axis=0))
        t += np.maximum(step, 0.0)
        if not (step > 4 * EPS * np.abs(t)).any():
            break
    return np.asarray(t)


def removed(eigenvalues: Floats, eigenvectors: Floats) -> Floats:
    """Return the largest eigenvalue of a block after its i-th row and column are taken out, for each i.

    It is the root of  sum_j v_ij^2 / (d_j - t) = 0  between the two largest eigenvalues d_2 and d_1 (the sum is the
    leading cofactor of t - B). The sum increases from minus to plus infinity there, so bisection finds the root.
    """
    m = len(eigenvalues)
    squares = eigenvectors**2
    low, high = np.full(m, eigenvalues[-2]), np.full(m, eigenvalues[-1])
    for _ in range(60):
        middle = 0.5 * (low + high)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = squares / (eigenvalues - middle[:, None])
        rising = np.nan_to_num(terms, nan=0.0).sum(axis=1) > 0
        high = np.where(rising, middle, high)
        low = np.where(rising, low, middle)
        if not (high - low > 2 * EPS * np.abs(high)).any():
            break
    return np.asarray(0.5 * (low + high))
