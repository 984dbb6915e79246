"""A digest of data that depends on the values only, not on their precision, memory layout or storage order."""

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.thresholds import BLOCK_ENTRIES

# Rows of at most this many entries are also tried in the other form (dense instead of sparse, or sparse instead of
# dense). It then takes up to 400 MB and two seconds.
OTHER_FORM_ENTRIES = 50_000_000


def digest_of(data: Any) -> str:
    """Return the SHA-256 of an array, a sparse matrix, or an object whose `digest_parts` lists texts and data.

    A dense array is hashed as its shape and its entries, as little-endian float64 in C order, with -0.0 as 0.0. A
    sparse matrix is hashed as its shape and the three arrays of its CSR form: sorted, duplicates added, zeros left
    out. A sparse matrix and its dense copy have different digests; see `in_the_form_of`.
    """
    state = hashlib.sha256()
    _add(state, data)
    return state.hexdigest()


def _add(state: Any, data: Any) -> None:
    if isinstance(data, str):
        state.update(data.encode())
    elif hasattr(data, "digest_parts"):
        for part in data.digest_parts():
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
        step = max(1, BLOCK_ENTRIES // max(int(np.prod(array.shape[1:])), 1))
        for begin in range(0, len(array), step):
            block = np.asarray(array[begin : begin + step], dtype=np.float64) + 0.0  # -0.0 + 0.0 is 0.0
            state.update(np.ascontiguousarray(block, dtype="<f8"))


def in_the_form_of(digest: str, rows: Any) -> Any:
    """Return rows in the form, sparse or dense, that has the digest; None if neither has."""
    if digest_of(rows) == digest:
        return rows
    if not has_cheap_other_form(rows):
        return None
    other = rows.toarray() if sp.issparse(rows) else sp.csr_array(rows)
    return other if digest_of(other) == digest else None


def has_cheap_other_form(rows: Any) -> bool:
    """Say whether rows are few enough to compute their digest in the other form."""
    return bool(rows.shape[0] * rows.shape[1] <= OTHER_FORM_ENTRIES)
