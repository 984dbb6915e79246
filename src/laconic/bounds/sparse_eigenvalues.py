"""Sparse eigenvalues: how far columns are from orthogonal, k at a time (the paper's use in compressed sensing).

The largest and the smallest k-sparse eigenvalue of F'F are the extremes of |Fx|^2 over unit x with at most k nonzeros.
F has the restricted isometry property of order k with constant delta if both lie in [1 - delta, 1 + delta] (Candes and
Tao 2005). Sparse PCA maximises |Fx|^2. For the smallest eigenvalue it maximises x'(c I - F'F)x, with any c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.bounds.prove import Proof, check_proof, prove
from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalues import EPS, largest_eigenvalue
from laconic.core.monitor import Monitor, check_time_limit
from laconic.core.words import at_least, at_most, is_whole
from laconic.covariance import DenseCovariance
from laconic.data.tables import as_array_or_frame, check_magnitude, check_names, feature_names_of
from laconic.proof.gate import proved_lower
from laconic.search import Auto, Exhaustive
from laconic.search.exhaustive import count_supports
from laconic.search.problem import Problem

# A tight bound evaluates every support if there are at most this many: that takes a second. Otherwise it grows a tree.
EXHAUSTIVE = 100_000


@dataclass(frozen=True)
class Interval:
    """Proved bounds on a number. Rounding errors are included.

    Attributes
    ----------
    lower, upper
        The number lies between these two.
    """

    lower: float
    upper: float

    def __str__(self) -> str:
        return f"[{at_least(self.lower, 6)}, {at_most(self.upper, 6)}]"


@dataclass(frozen=True, eq=False, repr=False)
class SparseEigenvalues:
    """Proved bounds on the extreme k-sparse eigenvalues of F'F.

    Attributes
    ----------
    cardinality : int
        The number of nonzeros k.
    largest, smallest : Interval
        Bounds on the largest and the smallest eigenvalue.
    largest_support, smallest_support : ndarray of int
        The columns that reach the lower bound on the largest, and the upper bound on the smallest eigenvalue.
    isometry_constant : Interval
        Bounds on the least delta with ``1 - delta <= |Fx|^2 <= 1 + delta`` for all unit x with at most k nonzeros.
    kinds : tuple of str
        The names of the bounds behind the upper end of `largest` and the lower end of `smallest`.
    feature_names : tuple of str or None
        The names of the columns, or None.

    See Also
    --------
    sparse_eigenvalues : Makes it.

    Examples
    --------
    >>> from laconic import sparse_eigenvalues
    >>> found = sparse_eigenvalues([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]], 2, proof="fast")
    >>> found.largest_support
    array([1, 2])
    """

    cardinality: int
    largest: Interval
    smallest: Interval
    largest_support: Indices
    smallest_support: Indices
    isometry_constant: Interval
    kinds: tuple[str, str]
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return (
            f"SparseEigenvalues(cardinality={self.cardinality})\n"
            f"  largest            in {self.largest}, columns {self._named(self.largest_support)}\n"
            f"  smallest           in {self.smallest}, columns {self._named(self.smallest_support)}\n"
            f"  isometry constant  in {self.isometry_constant}"
        )

    def _named(self, support: Indices) -> str:
        return ", ".join(str(i) if self.feature_names is None else self.feature_names[i] for i in support)


def sparse_eigenvalues(
    F: Any,
    cardinality: int,
    *,
    proof: Proof = "tight",
    feature_names: Sequence[str] | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> SparseEigenvalues:
    """Return proved bounds on the largest and the smallest k-sparse eigenvalue of F'F.

    Parameters
    ----------
    F : array, sparse matrix or table of shape (n_samples, n_features)
        A matrix. Its columns are neither centred nor scaled.
    cardinality : int
        The number of nonzeros k.
    proof : {"fast", "tight", "exact"} or Bound, default="tight"
        How much work to spend: "fast", "tight", "exact" or your own bound, as in `SparsePCA`.
    feature_names : sequence of str, optional
        Names of the columns; by default the column names of a frame.
    time_limit : float, optional
        The time in seconds after which the best bounds so far are returned.
    verbose : bool, default=False
        Whether to show progress. It is shown on a terminal only.

    Returns
    -------
    SparseEigenvalues
        An interval for each of the two eigenvalues, and for the isometry constant.

    See Also
    --------
    certify : A bound on the largest sparse eigenvalue of a covariance matrix.

    Notes
    -----
    The largest k-sparse eigenvalue of F'F is the largest x'F'Fx over unit vectors x with at most k nonzeros; the
    smallest is defined in the same way. If both are close to one, any k columns of F are nearly orthogonal. The
    isometry constant of compressed sensing [1]_ says how close.

    References
    ----------
    .. [1] E. J. Candes and T. Tao (2005). Decoding by linear programming. IEEE Transactions on Information Theory
       51(12), 4203-4215.

    Examples
    --------
    >>> from laconic import sparse_eigenvalues
    >>> found = sparse_eigenvalues([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]], 2, proof="fast")
    >>> found.isometry_constant.upper < 0.8001
    True
    """
    check_proof(proof)
    check_time_limit(time_limit)
    frame = as_array_or_frame(F, name="F")
    matrix = np.asarray(frame.toarray() if sp.issparse(frame) else frame, dtype=np.float64)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        raise ValueError(f"F must be a matrix of finite numbers; its shape is {matrix.shape}.")
    n = matrix.shape[1]
    if not is_whole(cardinality) or not 1 <= cardinality <= n:
        raise ValueError(f"cardinality={cardinality!r} must be an int from 1 to the number of columns, {n}.")
    k = int(cardinality)
    names = feature_names_of(frame) if feature_names is None else check_names(feature_names, n, of="columns")
    largest_entry = float(np.abs(matrix).max())
    check_magnitude(largest_entry * largest_entry, name="F'F")
    S = matrix.T @ matrix
    S = 0.5 * (S + S.T)
    # A bound on the rounding errors of the products: |F|'|F| has a norm of at most the trace.
    rounding = 2 * (len(matrix) + 2) * EPS * float(S.diagonal().sum())
    c = largest_eigenvalue(S) * (1 + 1e-9) + rounding if largest_entry else 0.0
    flipped = -S
    flipped.flat[:: n + 1] += c
    with Monitor(time_limit, progress=verbose) as monitor:
        # The first search must not take the time of the second.
        top, largest_support, kind = _bounded(S, k, proof, monitor.part(2))
        bottom, smallest_support, kind_of_flipped = _bounded(flipped, k, proof, monitor)
    largest = Interval(max(top.lower - rounding, 0.0), top.upper + rounding)
    # The diagonal of c I - S is rounded as well.
    margin = rounding + 4 * EPS * c
    smallest = Interval(max(c - bottom.upper - margin, 0.0), max(c - bottom.lower + margin, 0.0))
    constant = Interval(
        max(largest.lower - 1, 1 - smallest.upper, 0.0), max(largest.upper - 1, 1 - smallest.lower, 0.0)
    )
    kinds, labels = (kind, kind_of_flipped), None if names is None else tuple(names)
    return SparseEigenvalues(k, largest, smallest, largest_support, smallest_support, constant, kinds, labels)


def _bounded(S: Floats, k: int, proof: Proof, monitor: Monitor) -> tuple[Interval, Indices, str]:
    """Return bounds on the largest k-sparse eigenvalue, the support of the lower one, and the kind of the upper one."""
    problem = Problem(DenseCovariance(S), k, monitor=monitor)
    # All columns of c I - F'F have similar variances, so a search that begins with large variances is not enough.
    few = proof != "fast" and count_supports(problem) <= EXHAUSTIVE
    solution, bound = prove(problem, (Exhaustive() if few else Auto(polish=20)).solve(problem), proof)
    lower = proved_lower(problem.covariance, solution.support, solution.loadings)
    return Interval(lower, max(bound.value, lower)), solution.support, bound.kind
