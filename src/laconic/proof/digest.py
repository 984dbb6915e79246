"""A fingerprint of numbers, the same for the same values in any precision, layout and order of keeping."""

import hashlib
from collections.abc import Iterator
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
# The digest of the other form, dense in place of sparse or sparse in place of dense, takes up to three seconds.
OTHER_FORM_ENTRIES = 100_000_000


def digest_of(data: Any) -> str:
    """Return the SHA-256 of data, by value.

    Dense arrays: the shape and the entries as little-endian float64 in C order, -0.0 as 0.0. Sparse ones: the shape and
    the three arrays of the CSR form, sorted, duplicates added up, zeros left out; a sparse matrix and its dense copy
    have different digests (see `in_the_form_of`). A `DenseCovariance` has the digest of its array.

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
        for block in _blocks(array):
            state.update(np.ascontiguousarray(block, dtype="<f8"))


def in_the_form_of(digest: str, rows: Any) -> Any:
    """Return rows in the form, sparse or dense, that has a digest; None if neither has.

    The other form is written out only if its digest is the one sought, and looked at only if that is cheap.

    Parameters
    ----------
    digest
        What is sought.
    rows
        An array or sparse matrix as `as_rows` returns it.
    """
    if digest_of(rows) == digest:
        return rows
    if not has_cheap_other_form(rows):
        return None
    if sp.issparse(rows):
        return rows.toarray() if _dense_digest(rows) == digest else None
    return sp.csr_array(rows) if _sparse_digest(rows) == digest else None


def has_cheap_other_form(rows: Any) -> bool:
    """Say whether rows are few enough to look at their digest in the other form."""
    return bool(rows.shape[0] * rows.shape[1] <= OTHER_FORM_ENTRIES)


def _dense_digest(rows: Any) -> str:
    """Return the digest of the dense copy of sparse rows."""
    state: Any = hashlib.sha256(f"dense {rows.shape}".encode())
    for block in _blocks(rows.tocsr()):
        state.update(np.ascontiguousarray(block, dtype="<f8"))
    return str(state.hexdigest())


def _sparse_digest(rows: Any) -> str:
    """Return the digest of the sparse copy of dense rows: the ends of rows, the columns, the entries."""
    ends = np.concatenate([[0], *(np.count_nonzero(block, axis=1) for block in _blocks(rows))]).cumsum()
    state: Any = hashlib.sha256(f"sparse {rows.shape}".encode())
    state.update(np.ascontiguousarray(ends, dtype="<i8"))
    for block in _blocks(rows):
        state.update(np.ascontiguousarray(block.nonzero()[1], dtype="<i8"))
    state.update(f"dense {(int(ends[-1]),)}".encode())
    for block in _blocks(rows):
        state.update(np.ascontiguousarray(block[block != 0], dtype="<f8"))
    return str(state.hexdigest())


def _blocks(array: Any) -> Iterator[Any]:
    """Yield an array, or the dense copy of a CSR matrix, in blocks of rows as float64, -0.0 as 0.0."""
    step = max(1, BLOCK_ENTRIES // max(int(np.prod(array.shape[1:])), 1))
    for begin in range(0, array.shape[0], step):
        block = array[begin : begin + step]
        yield np.asarray(block.toarray() if sp.issparse(block) else block, dtype=np.float64) + 0.0  # -0.0 + 0.0 is 0.0


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
