"""A fingerprint of numbers, the same for the same values however they are kept."""

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.covariance import (
    Covariance,
    DeflatedCovariance,
    DenseCovariance,
    FactorCovariance,
    SparseCovariance,
    SubsetCovariance,
)

# Entries of a working block, 8 MB.
BLOCK_ENTRIES = 1_000_000


def digest_of(data: Any) -> str:
    """Return the SHA-256 of data, by value.

    Dense arrays: the shape and the entries as little-endian float64 in C order, -0.0 as 0.0. Sparse ones: the shape and
    the three arrays of the CSR form, sorted, duplicates added up, zeros left out; a sparse matrix and its dense copy
    have different digests. A `DenseCovariance` has the digest of its array.

    Parameters
    ----------
    data
        An array or sparse matrix as `check_matrix` or `as_rows` returns it, sample weights, or a `Covariance`.
    """
    state = hashlib.sha256()
    _add(state, data)
    return state.hexdigest()


def _add(state: Any, data: Any) -> None:
    if isinstance(data, DenseCovariance):
        _add(state, data.matrix)
    elif isinstance(data, Covariance):
        state.update(type(data).__name__.encode())
        for part in _parts(data):
            _add(state, part)
    elif sp.issparse(data):
        rows = sp.csr_array(data, dtype=np.float64, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        rows.sort_indices()
        state.update(f"sparse {rows.shape}".encode())
        for indices in (rows.indptr, rows.indices):
            state.update(np.ascontiguousarray(indices, dtype="<i8"))
        _add(state, rows.data)
    else:
        array = np.atleast_1d(np.asarray(data))
        state.update(f"dense {array.shape}".encode())
        step = max(1, BLOCK_ENTRIES // max(array[:1].size, 1))
        for begin in range(0, len(array), step):
            block = np.asarray(array[begin : begin + step], dtype=np.float64) + 0.0  # -0.0 + 0.0 is 0.0
            state.update(np.ascontiguousarray(block, dtype="<f8"))


def _parts(covariance: Covariance) -> list[Any]:
    match covariance:
        case FactorCovariance():
            return [covariance.factor]
        case SparseCovariance():
            weights = np.ones(covariance.rows.shape[0]) if covariance.weights is None else covariance.weights
            return [covariance.rows, covariance.means, covariance.scales, weights, covariance.divisor]
        case DeflatedCovariance():
            return [covariance.base, covariance.factors, covariance.core]
        case SubsetCovariance():
            return [covariance.base, covariance.keep]
    return [covariance.submatrix(np.arange(covariance.n_features))]
