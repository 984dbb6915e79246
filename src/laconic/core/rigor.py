"""Floating point with a bound on its error: what holds of the real numbers, not of their approximations.

Every operation +, -, *, /, sqrt of binary64 is right up to a factor 1 + d, |d| <= u = 2^-53, and underflow. So m
operations in a chain of nonnegative numbers are right up to (1 + u)^m, and an inner product of m terms, added up in any
order, with or without fused multiplications, has an error of at most gamma_m |x|'|y| with gamma_m = m u / (1 - m u)
(Higham, Accuracy and Stability of Numerical Algorithms, chapter 3). Nothing else is asked of NumPy and BLAS.
"""

import math
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dsyevr
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from laconic.core.arrays import Floats, Mask
from laconic.core.threads import threads_for

UNIT = 2.0**-53
# More than all underflows of a computation together; what is computed here is scaled to be far larger.
TINY = 2.0**-700
# Matrices with entries between 4^-100 and 4^100 are taken as they are; others are scaled by a power of four first.
PLAIN_EXPONENT = 100
# So many matrices of a stack, chosen by so many power steps, give a first guess at its largest eigenvalue.
FIRST, STEPS = 16, 4
# Above this size Lanczos guesses the largest eigenvalue.
WRITE_OUT = 1000
# Restarts after which it gives up: a bound that was minimised has its largest eigenvalues close together, and LAPACK is
# faster there.
RESTARTS = 20


def gamma(operations: int) -> float:
    """Return an upper bound on m u / (1 - m u)."""
    if operations * UNIT > 0.01:
        raise ValueError(f"{operations} roundings in a row are beyond what these bounds cover.")
    return 1.02 * operations * UNIT


def up(x: Any) -> Any:
    """Return the next number above: an upper bound on a result of one operation."""
    return np.nextafter(x, np.inf)


def down(x: Any) -> Any:
    """Return the next number below: a lower bound on a result of one operation."""
    return np.nextafter(x, -np.inf)


def grown(x: Any, operations: int) -> Any:
    """Return an upper bound on what x >= 0 stands for, computed from nonnegative numbers.

    Parameters
    ----------
    x
        The computed value.
    operations
        The roundings in a row it may have gone through; the two made here are covered besides.
    """
    return (x + TINY) * (1.0 + gamma(operations + 4))


def shrunk(x: Any, operations: int) -> Any:
    """Return a lower bound on what x >= 0 stands for, computed from nonnegative numbers; see `grown`."""
    return np.maximum((x - TINY) * (1.0 - gamma(operations + 4)), 0.0)


def sum_up(values: Any) -> float:
    """Return an upper bound on the sum of numbers; infinite if one of them is."""
    terms = values if isinstance(values, list) else np.ravel(np.asarray(values, dtype=np.float64)).tolist()
    try:
        total = math.fsum(terms)  # rounded once
    except (OverflowError, ValueError):
        # The sum is too large, or both infinities are among the terms.
        return math.inf
    return math.inf if math.isnan(total) else math.nextafter(total, math.inf) if math.isfinite(total) else total


def norm_up(E: Floats) -> float:
    """Return an upper bound on the spectral norm of a matrix that is symmetric.

    The lesser of the largest row sum of |E_ij| and the root of the sum of squares.
    """
    largest = float(np.abs(E).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    if not math.isfinite(largest):
        return math.inf
    exponent = math.frexp(largest)[1]
    scaled = np.abs(np.ldexp(E, -exponent))
    rows = float(grown(scaled.sum(axis=1).max(), len(E)))
    root = float(grown(np.sqrt(grown(np.einsum("ij,ij->", scaled, scaled), E.size + 1)), 1))
    return scaled_up(min(rows, root), exponent)


def scaled_up(x: float, exponent: int) -> float:
    """Return an upper bound on x 2^exponent, infinite if it is too large for a float."""
    try:
        result = math.ldexp(x, exponent)
    except OverflowError:
        return math.inf if x > 0 else -np.finfo(float).max
    # A power of two changes no digit unless the result is among the smallest floats there are.
    return result if abs(result) > 2.0**-1021 or x == 0 else math.nextafter(result, math.inf)


def entry_sizes(E: Floats) -> Floats:
    """Return l with |E_ij| <= l_i l_j for a symmetric matrix: the roots of the largest entries of its rows."""
    return np.asarray(up(np.sqrt(np.abs(E).max(axis=1, initial=0.0))))


def _check_symmetric(M: Floats) -> None:
    if M.ndim != 2 or M.shape[0] != M.shape[1] or not M.size:
        raise ValueError(f"M has shape {M.shape}; an eigenvalue is asked of a square matrix.")
    if not np.isfinite(M).all():
        raise ValueError("M has entries that are NaN or infinite; nothing can be proved of it.")
    if not (M == M.T).all():
        raise ValueError("M is not symmetric; average it with its transpose.")


def proved_largest_eigenvalue(M: Floats, error: Any = 0.0) -> float:
    """Return a number that the largest eigenvalue of M does not exceed, whatever the rounding.

    LAPACK gives an estimate, and tau is a little above it. Where a Cholesky factorisation R of tau I - M is found, by
    whatever means, tau I - M = R'R + D, so lmax(M) <= tau + |D|. And |D| is known: its computed entries, and at most

        sum_j gamma_j |r_j|^2  for the rounding of R'R  (r_j the columns of R, of j entries),
        u (tau - M_jj)         for that of tau - M_jj.

    The first is the a-priori bound for the Cholesky factorisation itself (Rump, Verification of positive definiteness,
    BIT 2006: |D_ij| <= d_i d_j with d_j^2 = gamma_{j+1} |r_j|^2, hence |D| <= sum d_j^2); taken of the product it does
    not depend on how the factor was computed. If there is no factor, tau is moved up; no more than to the largest
    M_ii + sum of |M_ij|, which always holds (Gershgorin).

    Parameters
    ----------
    M
        A symmetric matrix. It is scaled by a power of two, which is exact, so that it may be huge or tiny.
    error
        A bound on the distance of each entry from that of the matrix meant, a number or an array.
    """
    return eigenvalue_bound(M, error)[0]


def eigenvalue_bound(M: Floats, error: Any = 0.0) -> tuple[float, float]:
    """Return `proved_largest_eigenvalue`, and what plain floating point takes the eigenvalue for."""
    M = np.asarray(M, dtype=np.float64)
    _check_symmetric(M)
    away = 0.0 if isinstance(error, float) and error == 0.0 else _norm_of_error(error, M.shape)
    largest = float(np.abs(M).max())
    if largest == 0.0:
        return sum_up([0.0, away]) if away else 0.0, 0.0
    exponent = math.frexp(largest)[1]
    with threads_for(len(M)):
        value, estimate = _scaled_bound(np.ldexp(M, -exponent))
    value = scaled_up(value, exponent)
    return sum_up([value, away]) if away else value, scaled_up(estimate, exponent)


def _norm_of_error(error: Any, shape: tuple[int, ...]) -> float:
    error = np.asarray(error, dtype=np.float64)
    if not (np.isfinite(error).all() and (error >= 0).all()):
        raise ValueError("error has entries that are negative or not finite; it bounds distances.")
    return norm_up(np.maximum(error, error.T) if error.ndim else np.full(shape, float(error)))


def proved_defect(M: Floats) -> float:
    """Return a number d >= 0 with M + d I semidefinite, whatever the rounding.

    As `proved_largest_eigenvalue` of -M, without its estimate: a matrix that is positive definite, or semidefinite but
    for rounding, has a factor with as much taken off or added to its diagonal as the proof loses.

    Parameters
    ----------
    M
        A symmetric matrix.
    """
    _check_symmetric(M)
    n, largest = len(M), float(np.abs(M).max())
    if largest == 0.0:
        return 0.0
    exponent = math.frexp(largest)[1]
    scaled = np.ldexp(M, -exponent) * -1.0
    with threads_for(n):
        for tau in (-2 * n * (n + 4) * UNIT, 4 * n * UNIT, 64 * n * UNIT):
            factor = _factor(scaled, tau)
            if factor is not None:
                return max(scaled_up(sum_up([tau, _residual(scaled, tau, factor)]), exponent), 0.0)
    return max(eigenvalue_bound(-M)[0], 0.0)


def _scaled_bound(M: Floats) -> tuple[float, float]:
    """Bound the largest eigenvalue of a matrix with entries in [-1, 1].

    Rows that are nothing but rounding off the diagonal are taken for diagonal, and what they hold for a distance.
    """
    n = len(M)
    diagonal = M.diagonal()
    off = np.abs(M)
    off.flat[:: n + 1] = 0.0
    rows = off.sum(axis=1)
    always = float(up(diagonal + grown(rows, n)).max())
    if n == 1:
        return float(diagonal[0]), float(diagonal[0])
    apart = rows <= 16 * n * UNIT
    if apart.any():
        if apart.all():
            return always, float(diagonal.max())
        rest = ~apart
        value, estimate = _scaled_bound(M[np.ix_(rest, rest)])
        alone = float(diagonal[apart].max())
        # Its norm is at most its largest row sum.
        distance = max(rows[apart].max(), off[np.ix_(rest, apart)].sum(axis=1).max())
        return min(sum_up([max(value, alone), float(grown(distance, n))]), always), max(estimate, alone)
    for guess in [_lapack] if n <= WRITE_OUT else [_lanczos, _lapack]:
        estimate = guess(M)
        margin = 4 * n * UNIT * max(abs(estimate), 1.0)
        last = margin * 8 if guess is _lanczos else math.inf
        while estimate + margin < always and margin <= last:
            top = estimate + margin
            factor = _factor(M, top)
            if factor is not None:
                return min(sum_up([top, _residual(M, top, factor)]), always), estimate
            margin *= 2
    return always, min(estimate, always)


def _lapack(M: Floats) -> float:
    # The routine itself: what SciPy wraps around it takes longer than a small matrix.
    values, _, found, _, info = dsyevr(M.T, compute_v=0, range="I", il=len(M), iu=len(M))
    return float(values[0]) if info == 0 and found == 1 else float(np.linalg.eigvalsh(M)[-1])


def _lanczos(M: Floats) -> float:
    start = np.random.default_rng(0).standard_normal(len(M))
    try:
        return float(eigsh(M, k=1, which="LA", v0=start, tol=1e-13, maxiter=RESTARTS, return_eigenvectors=False)[0])
    except ArpackNoConvergence:
        return _lapack(M)


def _factor(M: Floats, top: float) -> Floats | None:
    shifted = -M
    shifted.flat[:: len(M) + 1] += top
    factor, info = dpotrf(shifted.T, overwrite_a=1)
    return np.asarray(factor) if info == 0 else None


def _residual(M: Floats, top: float, factor: Floats) -> float:
    """Bound the spectral norm of top I - M - R'R, M with entries in [-1, 1]."""
    n = len(M)
    distance = -M
    distance.flat[:: n + 1] += top
    rounding = UNIT * (abs(top) + 1)
    lengths = grown(np.einsum("ij,ij->j", factor, factor), n + 1)
    gammas = gamma(1) * np.arange(2, n + 2)
    product = float(grown(lengths @ gammas, n + 2))
    distance -= factor.T @ factor
    # The norm is at most the root of the sum of squares; one rounding of each entry in the last subtraction.
    root = float(grown(math.sqrt(grown(float(np.vdot(distance, distance)), n * n + 1)), 1))
    return sum_up([root * (1 + 8 * UNIT), product, 2 * rounding, TINY])


def _reached(stack: Floats) -> Floats:
    """Return about the largest eigenvalue of each matrix of a stack, by a few power steps."""
    v = stack[np.arange(len(stack)), :, np.argmax(np.einsum("bii->bi", stack), axis=1)]
    for _ in range(STEPS):
        before, v = v, np.einsum("bij,bj->bi", stack, v)
    lengths = np.einsum("bi,bi->b", before, before)
    return np.asarray(np.einsum("bi,bi->b", v, before) / np.maximum(lengths, TINY))


def _indefinite(stack: Floats) -> Mask:
    """Return which matrices of a stack have a pivot that is not positive."""
    work, found = stack.copy(), np.zeros(len(stack), dtype=bool)
    for j in range(stack.shape[-1]):
        pivots = work[:, j, j].copy()
        found |= ~(pivots > 0)
        pivots[found] = 1.0
        work[:, j + 1 :] -= (work[:, j + 1 :, j] / pivots[:, None])[:, :, None] * work[:, j, None]
    return found


def proved_largest_of_stack(stack: Floats) -> tuple[float, float]:
    """Return a number no eigenvalue of any matrix of a stack exceeds, and its plain estimate.

    As `proved_largest_eigenvalue`, with one tau for all, moved up until each tau I - M has a factor. The largest
    eigenvalue of those that power steps say are the largest gives a first tau. Those with roots of the sum of squares
    below it need no factor, and of those that have none the eigenvalues are computed.
    """
    n = stack.shape[-1]
    largest = float(np.abs(stack).max())
    if largest == 0.0:
        return 0.0, 0.0
    if not math.isfinite(largest):
        return math.inf, math.inf
    exponent = math.frexp(largest)[1]
    scaled = np.ldexp(stack, -exponent)
    with threads_for(n):
        first = np.argsort(-_reached(scaled))[:FIRST]
        estimate = float(np.linalg.eigvalsh(scaled[first])[:, -1].max())
        margin = 4 * n * UNIT * max(abs(estimate), 1.0)
        norms = grown(np.sqrt(grown(np.einsum("bij,bij->b", scaled, scaled), n * n + 1)), 1)
        left = ~(norms <= estimate)
        left[first[0]] = True
        scaled = scaled[left]
        while True:
            top = estimate + margin
            shifted = -scaled
            diagonals = np.einsum("bii->bi", shifted)  # a view
            diagonals += top
            try:
                factors = np.linalg.cholesky(shifted)
                break
            except np.linalg.LinAlgError:
                margin *= 2
                above = scaled[_indefinite(shifted)]
                if len(above) and (larger := float(np.linalg.eigvalsh(above)[:, -1].max())) > estimate:
                    estimate, margin = larger, 4 * n * UNIT * max(abs(larger), 1.0)
        rounding = 2 * UNIT * (abs(top) + 1)
        distance = shifted - factors @ factors.transpose(0, 2, 1)
    off = float(np.einsum("bij,bij->b", distance, distance).max())
    root = float(grown(math.sqrt(grown(off, n * n + 1)), 2))
    product = gamma(n + 2) * float(grown(np.einsum("bij,bij->b", factors, factors).max(), n * n + 1))
    value = sum_up([top, root, float(grown(product, 2)), rounding, TINY])
    return scaled_up(value, exponent), scaled_up(estimate, exponent)
