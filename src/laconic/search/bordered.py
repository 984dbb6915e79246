"""The largest eigenvalue after one feature joins or leaves a support, for all features at once."""

import numpy as np

from laconic.core.arrays import Floats


def added(eigenvalues: Floats, couplings: Floats, variances: Floats) -> Floats:
    """Return the largest eigenvalue of [[D, g], [g', a]] for each column g of `couplings` and entry a of `variances`.

    D holds the eigenvalues of the block that the feature joins, and g its covariances with that block in the
    eigenbasis. The answer is the largest root of  f(t) = t - a - sum_j g_j^2 / (t - d_j). To the right of the poles f
    is increasing and concave. A Ritz value is never above the root, and Newton's method rises from it to the root
    without passing it.
    """
    d = eigenvalues[:, None]
    squares = couplings**2
    half = 0.5 * (d - variances)
    t = (0.5 * (d + variances) + np.sqrt(half**2 + squares)).max(axis=0)
    floor = np.finfo(float).eps * max(float(np.abs(eigenvalues).max()), float(np.abs(variances).max(initial=0)), 1e-300)
    for _ in range(50):
        distance = np.maximum(t - d, floor)
        terms = squares / distance
        step = (terms.sum(axis=0) + variances - t) / (1.0 + (terms / distance).sum(axis=0))
        t += np.maximum(step, 0.0)
        if not (step > 4 * np.finfo(float).eps * np.abs(t)).any():
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
        if not (high - low > 2 * np.finfo(float).eps * np.abs(high)).any():
            break
    return np.asarray(0.5 * (low + high))
