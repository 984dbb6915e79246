"""A feasible point of the row-level relaxation near an iterate: its value is a lower bound on the relaxation."""

import numpy as np

from laconic.core.arrays import Floats, Mask

# Rows of the factor shorter than this share of the longest are set to zero. Small rows are noise, but how small they
# are depends on the problem, so three sizes are tried.
CUTS = (1e-6, 1e-2, 3e-2)
# Divisors are at least this.
LEAST_DIVISOR = 1e-300


def feasible_value(S: Floats, k: int, inside: Mask, F: Floats, *, norms: bool) -> float:
    """Return the value of a feasible point near X = FF'.

    A row counts in full, however small it is. Rows that are noise are therefore set to zero.
    """
    size = np.linalg.norm(F, axis=1)
    best = -np.inf
    for cut in CUTS:
        clean = F * (size > cut * size.max())[:, None]
        best = max(best, _shrunk(S, k, inside, clean / np.linalg.norm(clean), norms=norms))
    return best


def _shrunk(S: Floats, k: int, inside: Mask, F: Floats, *, norms: bool) -> float:
    """Return Tr S(cX + (1 - c) diag X) with the largest c in [0, 1] for which every constraint holds."""
    X = F @ F.T
    d = X.diagonal().copy()
    used = d > 0
    X, d, inside = X[np.ix_(used, used)], d[used], inside[used]
    rest = np.abs(X).sum(axis=1) - d
    s = int(inside.sum())
    free = ~inside
    # The rows not inside: sum (d + c r)^2 / d <= k (k - s), a quadratic in c. A row inside: d + c r <= sqrt(k d).
    c = _root(float((rest[free] ** 2 / d[free]).sum()), 2 * float(rest[free].sum()), float(d[free].sum()) - k * (k - s))
    if s:
        room = np.sqrt(k * d[inside]) - d[inside]
        c = min(c, float(np.where(rest[inside] > 0, room / np.maximum(rest[inside], LEAST_DIVISOR), np.inf).min()))
    if norms:
        square = ((X**2).sum(axis=1) - d**2) / d
        c = min(c, _root(float(square[free].sum()), 0.0, float(d[free].sum()) - (k - s)))
        if s:
            c = min(c, float(np.sqrt(np.maximum(1 - d[inside], 0) / np.maximum(square[inside], LEAST_DIVISOR)).min()))
    c = min(max(c, 0.0), 1.0)
    inner, on_diagonal = float(np.einsum("ij,ij->", S[np.ix_(used, used)], X)), float(S.diagonal()[used] @ d)
    return c * inner + (1 - c) * on_diagonal


def _root(a: float, b: float, c: float) -> float:
    """Return the positive root of a x^2 + b x + c with a, b >= 0; zero if c > 0, infinite if there is no root."""
    if c > 0:
        return 0.0
    if a <= 0:
        return -c / b if b > 0 else np.inf
    return (-b + float(np.sqrt(b * b - 4 * a * c))) / (2 * a)
