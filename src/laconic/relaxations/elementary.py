"""Cheap upper bounds on z'Sz over unit z with at most k nonzeros: no convex program, a sort or an eigenvalue each.

    trace            the k largest variances                                   (S semidefinite)
    row sums         max_i S_ii + the k - 1 largest |S_ij| of the row          (Gershgorin's circles)
    eigenvalue       lmax(S)
    soft threshold   lmax(soft_t(S) off the diagonal) + (k - 1) t, any t >= 0
    blocks           the largest bound of a block of S with |S_ij| <= t set to zero, + (k - 1) t

The last two use sum_{i != j} |z_i z_j| <= k - 1. A matrix that is not quite semidefinite pays for the trace: with
S + d I semidefinite, lmax(S_I) + d <= Tr S_I + k d, hence (k - 1) d on top; with E and S + E semidefinite Tr E will do.

Row sums are excellent on correlation matrices and useless where the variances decay, where the trace is good for small
k and lmax for large: take the least.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.sparse.linalg import ArpackError, eigsh

from laconic.core.arrays import Floats
from laconic.core.linalg import EPS, estimated_largest_eigenvalue_bound, largest_eigenvalue
from laconic.covariance import Covariance, DeflatedCovariance, DenseCovariance, FactorCovariance, SubsetCovariance
from laconic.covariance.base import WRITE_OUT_LIMIT
from laconic.covariance.magnitudes import column_magnitudes, largest_of_columns
from laconic.proof import proved_upper
from laconic.proof.estimate import Estimate
from laconic.proof.witness import BlockWitness, DualWitness, RowSumWitness, TraceWitness

Bound: TypeAlias = Callable[[Covariance, int], Estimate]

# What a sum may be off by, in units of eps times the sum of the absolute values.
ROUNDING = 64
# Above this size eigenvalues that only guide a search are found by Lanczos' method.
ROUGH = 150
# Power steps that show the largest eigenvalue to be above another bound.
POWER_STEPS = 3
# Shares of the off-diagonal entries left at zero by the thresholds that a search begins with.
SHARES = (0.5, 0.8, 0.9, 0.96, 0.99, 0.997, 0.999, 1.0)


def trace_bound(covariance: Covariance, cardinality: int) -> Estimate:
    """Return the sum of the k largest variances, from the diagonal alone if S is semidefinite by construction.

    Parameters
    ----------
    covariance
        S. Infinite if S is indefinite and too large to find out how far.
    cardinality
        k.
    """
    return _trace_bounds(covariance, [_checked(covariance, cardinality)])[0]


def row_sum_bound(covariance: Covariance, cardinality: int) -> Estimate:
    """Return the largest, over i, of S_ii + the k - 1 largest |S_ij|, for any symmetric S.

    Parameters
    ----------
    covariance
        S; a block of columns is looked at at a time.
    cardinality
        k.
    """
    return _row_sum_bounds(covariance, [_checked(covariance, cardinality)])[0]


def eigenvalue_bound(covariance: Covariance, cardinality: int) -> Estimate:
    """Return lmax(S), the bound of every cardinality.

    Parameters
    ----------
    covariance
        S; of a factor with fewer rows than columns, deflated or not, only the inner products of the rows are written
        out.
    cardinality
        k.
    """
    k = _checked(covariance, cardinality)
    return Estimate(_above_largest_of(covariance), "largest eigenvalue", k, DualWitness("largest eigenvalue"))


def elementary_bounds(covariance: Covariance, cardinalities: Sequence[int]) -> list[Estimate]:
    """Return the least of trace, row sums and largest eigenvalue for each cardinality.

    One sort of each row and one eigenvalue, if it can be the least, serve every cardinality. Where writing out S would
    be too much, row sums are left out, and the eigenvalue too unless S has a factor of few rows.

    Parameters
    ----------
    covariance
        S.
    cardinalities
        Each k.
    """
    sizes = [_checked(covariance, k) for k in cardinalities]
    if not sizes:
        return []
    kinds = []
    if covariance.n_features <= WRITE_OUT_LIMIT:
        kinds.append(_row_sum_bounds(covariance, sizes))
    # How far S is from semidefinite is of no account where the variances alone are too much.
    if not kinds or (_sums_of_variances(covariance, sizes) < [bound.value for bound in kinds[0]]).any():
        kinds.append(_trace_bounds(covariance, sizes))
    best = [min(bounds, key=float) for bounds in zip(*kinds, strict=True)]
    if side(covariance) > WRITE_OUT_LIMIT or max(sizes) == 1 or _reached(covariance) >= max(map(float, best)):
        return best
    largest = _above_largest_of(covariance)
    witness = DualWitness("largest eigenvalue")
    return [b if b.value <= largest else Estimate(largest, "largest eigenvalue", b.cardinality, witness) for b in best]


def _sums_of_variances(covariance: Covariance, sizes: Sequence[int]) -> Floats:
    """Return the sum of the k largest variances for each k."""
    return np.asarray(np.cumsum(np.sort(covariance.diagonal)[::-1])[np.asarray(sizes) - 1])


def _reached(covariance: Covariance) -> float:
    """Return a number that lmax(S) is not below but for rounding: v'Sv / v'v after a few power steps."""
    v = np.zeros(covariance.n_features)
    v[np.argmax(covariance.diagonal)] = 1.0
    reached = -np.inf
    for _ in range(POWER_STEPS):
        image = covariance.product(v)
        peak = float(np.abs(image).max())
        if not peak > 0:
            break
        image = image / peak
        reached, v = peak * (float(v @ image) / float(v @ v)), image
    return reached


def elementary_bound(covariance: Covariance, cardinality: int) -> Estimate:
    """Return the least of trace, row sums and largest eigenvalue for one cardinality.

    Parameters
    ----------
    covariance
        S.
    cardinality
        k.
    """
    return elementary_bounds(covariance, [cardinality])[0]


def soft_threshold_bound(covariance: Covariance, cardinality: int, *, evaluations: int = 12) -> Estimate:
    """Return the least lmax(soft_t(S) off the diagonal) + (k - 1) t that a search over t finds.

    Parameters
    ----------
    covariance
        S, written out.
    cardinality
        k.
    evaluations
        Thresholds tried after the first eight.
    """
    return soft_threshold_bounds(covariance, [cardinality], evaluations=evaluations)[0]


def soft_threshold_bounds(
    covariance: Covariance, cardinalities: Sequence[int], *, evaluations: int = 12
) -> list[Estimate]:
    """Return the bound of `soft_threshold_bound` for each cardinality.

    lmax(soft_t(S)) does not depend on k, so what is computed for one cardinality serves the others. It is convex in t
    where S has no negative entries off the diagonal (the leading eigenvector has none either, and each entry of
    soft_t(S) is convex in t); elsewhere nearly so. The bound holds for every t, the best or not.

    Parameters
    ----------
    covariance
        S, written out.
    cardinalities
        Each k.
    evaluations
        Thresholds tried for each cardinality after the first eight.
    """
    sizes = [_checked(covariance, k) for k in cardinalities]
    S = _written_out(covariance, "soft_threshold_bound")
    unit = _unit(S)
    curve = _Curve(S / unit)
    proved: dict[float, float] = {}
    bounds = []
    for k in sizes:
        t = unit * curve.best(k, evaluations)
        if t not in proved:
            proved[t] = estimated_largest_eigenvalue_bound(_soft(S, t))
        value = _raised(proved[t], (k - 1) * t) + k * ROUNDING * EPS * covariance.scale
        bounds.append(Estimate(value, "soft threshold", k, DualWitness("soft threshold", threshold=t)))
    return bounds


def block_bound(
    covariance: Covariance, cardinality: int, *, inner: Bound = elementary_bound, thresholds: int = 8
) -> Estimate:
    """Return the least bound that setting small entries to zero gives, S falling into blocks.

    With |S_ij| <= t set to zero the features fall into connected components. As t grows these change only at the
    weights of a spanning tree whose |S_ij| are as large as can be, so only those weights are worth trying; and only
    while (k - 1) t and the largest variance leave something to gain.

    Parameters
    ----------
    covariance
        S, written out.
    cardinality
        k.
    inner
        Bounds a block, with entries set to zero, for min(k, its size) features. It must hold for indefinite matrices:
        zeros take semidefiniteness away.
    thresholds
        How many to try at most.
    """
    k = _checked(covariance, cardinality)
    S = _written_out(covariance, "block_bound")
    size = np.abs(S)
    np.fill_diagonal(size, 0.0)
    best = _blocks_at(S, size, k, 0.0, inner, np.inf)
    if best is None:
        raise ValueError("inner gives an infinite bound for a block; give one that is finite, as elementary_bound.")
    for t in _levels(S, size, k, best.value, thresholds):
        best = _blocks_at(S, size, k, t, inner, best.value) or best
    return replace(best, value=best.value + k * ROUNDING * EPS * covariance.scale)


def _levels(S: Floats, size: Floats, k: int, target: float, count: int) -> list[float]:
    """Return thresholds at which the blocks change and that may do better than the target, increasing."""
    # A spanning tree of least -|S_ij|; zeros are no edges.
    tree = np.unique(-minimum_spanning_tree(-np.triu(size)).data)
    room = target - float(S.diagonal().max())
    worth = tree[(k - 1) * tree < room]
    places = np.unique(np.linspace(0, len(worth) - 1, min(count, len(worth))).round().astype(np.intp))
    return [float(t) for t in worth[places]]


def _blocks_at(S: Floats, size: Floats, k: int, t: float, inner: Bound, target: float) -> Estimate | None:
    """Return the bound at one threshold, or None as soon as it is seen to be no better than the target."""
    rows, columns = np.nonzero(size > t)
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=S.shape)
    count, label = connected_components(graph, directed=False)
    members = np.bincount(label, minlength=count)
    price = (k - 1) * t
    alone = members[label] == 1
    worst = float(S.diagonal()[alone].max(initial=-np.inf))
    if alone.any() and _raised(worst, price) >= target:
        return None
    order = np.argsort(label, kind="stable")
    blocks = np.split(order, np.cumsum(members)[:-1])
    found = []
    # The largest block is the most likely to be too large a bound.
    for block in sorted((b for b in blocks if len(b) > 1), key=len, reverse=True):
        part = S[np.ix_(block, block)]
        part[(size[np.ix_(block, block)] <= t) & ~np.eye(len(block), dtype=bool)] = 0.0
        bound = inner(DenseCovariance(part, semidefinite=False), min(k, len(block)))
        worst = max(worst, bound.value)
        if _raised(worst, price) >= target:
            return None
        found.append((block, bound.witness))
    return Estimate(_raised(worst, price), "blocks", k, BlockWitness(t, tuple(found)))


def _checked(covariance: Covariance, cardinality: int) -> int:
    n = covariance.n_features
    if not 1 <= cardinality <= n:
        raise ValueError(f"cardinality={cardinality} must lie between 1 and the number of features, {n}.")
    return int(cardinality)


def _written_out(covariance: Covariance, function: str) -> Floats:
    n = covariance.n_features
    _refuse_if_large(n, function)
    return covariance.submatrix(np.arange(n))


def _refuse_if_large(size: int, function: str) -> None:
    if size > WRITE_OUT_LIMIT:
        raise ValueError(
            f"covariance asks {function} for a matrix of size {size}, and at most {WRITE_OUT_LIMIT} is written out; "
            "screen features out first, or use trace_bound."
        )


def _raised(first: float, second: float) -> float:
    """Return the sum of two numbers, and a margin for its rounding and theirs."""
    return first + second + 4 * EPS * (abs(first) + abs(second))


def _trace_bounds(covariance: Covariance, sizes: Sequence[int]) -> list[Estimate]:
    top = np.sort(covariance.diagonal)[::-1][: max(sizes)]
    sums = np.cumsum(top)
    margins = ROUNDING * EPS * np.cumsum(np.abs(top)) + np.arange(1, len(top) + 1) * ROUNDING * EPS * covariance.scale
    bounds = []
    for k in sizes:
        # With one feature there is nothing to be semidefinite for.
        lacking = min((k - 1) * covariance.deficit, covariance.lack) if k > 1 else 0.0
        bounds.append(Estimate(_raised(float(sums[k - 1] + margins[k - 1]), lacking), "trace", k, TraceWitness()))
    return bounds


def _row_sum_bounds(covariance: Covariance, sizes: Sequence[int]) -> list[Estimate]:
    _refuse_if_large(covariance.n_features, "row_sum_bound")
    most = max(sizes)
    best = np.full(most, -np.inf)
    rounding = ROUNDING * EPS * covariance.scale
    for block, magnitudes in column_magnitudes(covariance, np.arange(covariance.n_features)):
        variances = covariance.diagonal[block]
        others = np.zeros((most, len(block)))
        others[1:] = np.cumsum(largest_of_columns(magnitudes, most - 1), axis=0)
        sums = variances + others + ROUNDING * EPS * (np.abs(variances) + others)
        best = np.maximum(best, sums.max(axis=1))
    return [Estimate(float(best[k - 1]) + k * rounding, "row sums", k, RowSumWitness()) for k in sizes]


def _factor_of(covariance: Covariance) -> Floats | None:
    """Return A with S = A'A, if S is known by it."""
    if isinstance(covariance, FactorCovariance):
        return covariance.factor
    if isinstance(covariance, SubsetCovariance):
        factor = _factor_of(covariance.base)
        return None if factor is None else factor[:, covariance.keep]
    return None


def side(covariance: Covariance) -> int:
    """Return the size of the matrix whose largest eigenvalue is that of S.

    Parameters
    ----------
    covariance
        S.
    """
    inner = covariance
    while isinstance(inner, SubsetCovariance | DeflatedCovariance):
        inner = inner.base
    rows = len(inner.factor) if isinstance(inner, FactorCovariance) else covariance.n_features
    return min(rows, covariance.n_features)


def _above_largest_of(covariance: Covariance) -> float:
    n = covariance.n_features
    _refuse_if_large(side(covariance), "eigenvalue_bound")
    factor = _factor_of(covariance)
    if factor is None:
        if side(covariance) < n:
            # What is left of a factor of few rows: how it is bounded is a matter of its enclosure.
            try:
                return proved_upper(covariance, n, DualWitness("largest eigenvalue"))
            except ValueError:
                # Too much was taken out to look at it again, and S is too large to write out.
                return np.inf
        return (
            estimated_largest_eigenvalue_bound(covariance.submatrix(np.arange(n)))
            + n * ROUNDING * EPS * covariance.scale
        )
    # The inner products are off by eps/2 for each term, relative to the lengths: in all at most so much of the trace.
    rounding = float(max(factor.shape)) * EPS * float(np.abs(covariance.diagonal).sum())
    gram = factor @ factor.T if len(factor) < n else factor.T @ factor
    return estimated_largest_eigenvalue_bound(0.5 * (gram + gram.T)) + rounding


def _unit(M: Floats) -> float:
    """Return a power of two near the largest entry, so that squares neither overflow nor vanish."""
    largest = float(np.abs(M).max())
    return float(np.ldexp(1.0, np.frexp(largest)[1] - 1)) if largest else 1.0


def _start(n: int) -> Floats:
    return np.random.default_rng(0).standard_normal(n)


def _soft(S: Floats, t: float) -> Floats:
    """Return S with its entries moved by t towards zero, the diagonal left alone."""
    M = S - np.clip(S, -t, t)
    np.fill_diagonal(M, S.diagonal())
    return M


@dataclass
class _Curve:
    """The largest eigenvalue of soft_t(S) for the thresholds tried so far, not proved."""

    S: Floats
    values: dict[float, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._noise = _start(len(self.S)) / np.sqrt(len(self.S))
        self._vector = np.zeros(len(self.S))
        size = np.abs(self.S[np.triu_indices(len(self.S), 1)])
        for t in {0.0, *(np.quantile(size, SHARES).tolist() if size.size else ())}:
            self._look(t)

    def _look(self, t: float) -> None:
        self.values[t] = self._rough(_soft(self.S, t))

    def _rough(self, M: Floats) -> float:
        if len(M) <= ROUGH:
            return largest_eigenvalue(M)
        try:
            # Not from the last eigenvector itself: Lanczos' method has nowhere to go from an exact one.
            start = self._vector + 0.01 * self._noise
            values, vectors = eigsh(M, k=1, which="LA", v0=start, tol=1e-4, ncv=12)
        except ArpackError:
            return largest_eigenvalue(M)
        self._vector = np.asarray(vectors[:, 0])
        return float(values[0])

    def best(self, k: int, evaluations: int) -> float:
        """Return the best threshold for k features, after some more have been tried around the best so far."""
        for _ in range(evaluations):
            tried = sorted(self.values)
            bounds = [self.values[t] + (k - 1) * t for t in tried]
            place = int(np.argmin(bounds))
            left, best, right = tried[max(place - 1, 0)], tried[place], tried[min(place + 1, len(tried) - 1)]
            if (k - 1) * (right - left) <= 1e-5 * abs(bounds[place]):
                break
            # The wider of the two gaps around the best is halved.
            middle = 0.5 * (left + best) if best - left > right - best else 0.5 * (best + right)
            if middle in self.values:
                break
            self._look(middle)
        return min(self.values, key=lambda t: self.values[t] + (k - 1) * t)
