"""Sparse eigenvalues: how far columns are from orthogonal, k at a time (the paper's use in compressed sensing).

The largest and the smallest k-sparse eigenvalue of F'F are the extremes of |Fx|^2 over unit x with at most k nonzeros.
F has the restricted isometry property of order k with constant delta if both lie in [1 - delta, 1 + delta] (Candes and
Tao 2005). The largest is what sparse PCA maximises; the smallest follows from the same bounds on c I - F'F with any c.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.bounds.tight import EFFORTS, Effort, bound_support
from laconic.bounds.tree.search import BranchAndBound
from laconic.core.arguments import is_whole
from laconic.core.arrays import Indices
from laconic.core.linalg import EPS, largest_eigenvalue
from laconic.core.monitor import Monitor, check_time_limit
from laconic.core.wording import PROVED
from laconic.covariance import DenseCovariance
from laconic.covariance.base import WRITE_OUT_LIMIT
from laconic.data.checks import check_magnitude
from laconic.data.tables import as_array_or_frame
from laconic.problem.problem import Problem
from laconic.search.auto import Auto
from laconic.search.exhaustive import Exhaustive, count_supports

# A tight bound looks at every support if there are no more than this.
EXHAUSTIVE = 100_000
# Otherwise it distinguishes so many cases.
NODES = 100


@dataclass(frozen=True)
class Interval:
    """Proved bounds on a number.

    Attributes
    ----------
    lower, upper
        The bounds.
    """

    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class SparseEigenvalues:
    """Bounds on the extreme k-sparse eigenvalues of F'F.

    Attributes
    ----------
    cardinality
        k.
    largest, smallest
        Bounds on both eigenvalues; on one side of each a support reaches the bound.
    largest_support, smallest_support
        Those supports.
    isometry_constant
        Bounds on the least delta with 1 - delta <= |Fx|^2 <= 1 + delta for all unit x with at most k nonzeros.
    kinds
        Which bound proved the upper bound on the largest, and the lower bound on the smallest eigenvalue.
    """

    cardinality: int
    largest: Interval
    smallest: Interval
    largest_support: Indices
    smallest_support: Indices
    isometry_constant: Interval
    kinds: tuple[str, str]


def sparse_eigenvalues(
    F: Any, cardinality: int, *, effort: Effort = "tight", time_limit: float | None = None, progress: bool = False
) -> SparseEigenvalues:
    """Return bounds on the largest and the smallest k-sparse eigenvalue of F'F.

    Parameters
    ----------
    F
        A matrix; its columns are taken as they are, neither centred nor scaled.
    cardinality
        k.
    effort
        As in `upper_bound`.
    time_limit
        Seconds for all of it; then the best bounds so far are returned.
    progress
        Show progress, on a terminal only.
    """
    given = as_array_or_frame(F, name="F")
    matrix = np.asarray(given.toarray() if sp.issparse(given) else given, dtype=np.float64)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        raise ValueError(f"F must be a matrix of finite numbers; its shape is {matrix.shape}.")
    n = matrix.shape[1]
    if not is_whole(cardinality) or not 1 <= cardinality <= n:
        raise ValueError(f"cardinality={cardinality!r} must be an int from 1 to the number of columns, {n}.")
    if effort not in EFFORTS:
        raise ValueError(f"effort={effort!r} must be 'fast' or 'tight'.")
    check_time_limit(time_limit)
    largest_entry = float(np.abs(matrix).max())
    check_magnitude(largest_entry * largest_entry, name="F'F")
    S = matrix.T @ matrix
    S = 0.5 * (S + S.T)
    # Rounding in the products: |F|'|F| has a norm of at most the trace.
    rounding = 2 * (len(matrix) + 2) * EPS * float(S.diagonal().sum())
    top = largest_eigenvalue(S) * (1 + 1e-9) + rounding
    turned = -S
    turned.flat[:: n + 1] += top
    with Monitor(time_limit, progress=progress) as monitor:
        high = _bounded(S, cardinality, effort, monitor)
        low = _bounded(turned, cardinality, effort, monitor)
    largest = Interval(max(high[0] - rounding, 0.0), high[1] + rounding)
    margin = rounding + 4 * EPS * top
    smallest = Interval(max(top - low[1] - margin, 0.0), max(top - low[0] + margin, 0.0))
    constant = Interval(
        max(largest.lower - 1, 1 - smallest.upper, 0.0), max(largest.upper - 1, 1 - smallest.lower, 0.0)
    )
    return SparseEigenvalues(cardinality, largest, smallest, high[2], low[2], constant, (high[3], low[3]))


def _bounded(S: Any, k: int, effort: Effort, monitor: Monitor) -> tuple[float, float, Indices, str]:
    problem = Problem(DenseCovariance(S), k, monitor=monitor)
    if effort == "tight" and len(S) <= WRITE_OUT_LIMIT:
        # c I - F'F has no variances to guide a search: what looks at more finds more.
        few = count_supports(problem) <= EXHAUSTIVE
        solution = (Exhaustive() if few else BranchAndBound(gap=PROVED / 10, node_limit=NODES)).solve(problem)
        bound = bound_support(problem, solution, "fast")
    else:
        solution = Auto().solve(problem)
        bound = bound_support(problem, solution, effort)
    return solution.value, max(bound.value, solution.value), solution.support, bound.kind
