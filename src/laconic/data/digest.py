"""A digest of data that depends on the values only: not on their precision, memory layout, storage form or blocks.

Each column has a number D = sum over the rows i of mix(x_i) g^i, modulo 2^64. `mix` scatters the 64 bits of a float,
and mix(0) = 0, so that a sparse matrix and its dense copy agree. Parts are merged: rows A followed by rows B have
D(A) + g^|A| D(B). Two readings of some columns can be compared without the others. The digest of a table is the SHA-256
of its shape and of the numbers of its columns. It tells two data sets apart; it is not meant to withstand a forger,
who could not gain from it: `laconic.verify` computes every bound from the data at hand.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from laconic.core.arrays import BLOCK_ENTRIES, Indices
from laconic.data.tables import without_duplicates

Words: TypeAlias = NDArray[np.uint64]

# Odd numbers with well scattered bits: the base g of the powers, and the multipliers of `mix`.
BASE, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
MODULUS = 1 << 64


@dataclass(frozen=True, eq=False)
class ColumnDigests:
    """The numbers D of some columns, and g to the power of the number of rows."""

    n_rows: int
    power: int  # g^n_rows modulo 2^64
    columns: Words

    @classmethod
    def of(cls, X: Any) -> Self:
        """Return the digests of the columns of an array, or of a CSR or CSC matrix without duplicates."""
        n, p = X.shape
        total = cls(0, 1, np.zeros(p, dtype=np.uint64))
        step = max(1, BLOCK_ENTRIES // max(p, 1)) if not sp.issparse(X) else max(n, 1)
        for begin in range(0, n, step):
            block = X[begin : begin + step] if step < n else X
            total = total.merge(cls._of_block(block))
        return total

    @classmethod
    def _of_block(cls, block: Any) -> Self:
        n = block.shape[0]
        powers = np.multiply.accumulate(np.full(n, BASE, dtype=np.uint64))
        power = int(powers[-1]) if n else 1
        # The first row has the power 0.
        powers = np.concatenate([np.ones(1, dtype=np.uint64), powers[:-1]])
        if sp.issparse(block):
            words = type(block)((mixed(block.data), block.indices, block.indptr), shape=block.shape)
            return cls(n, power, np.asarray(words.T @ powers, dtype=np.uint64))
        words = mixed(block)
        words *= powers[:, None]
        return cls(n, power, words.sum(axis=0, dtype=np.uint64))

    def merge(self, other: "ColumnDigests") -> Self:
        """Return the digests of these rows, followed by others."""
        columns = self.columns + np.uint64(self.power) * other.columns
        return type(self)(self.n_rows + other.n_rows, self.power * other.power % MODULUS, columns)

    def part(self, columns: Indices) -> Self:
        """Return the digests of some of the columns."""
        return type(self)(self.n_rows, self.power, self.columns[columns])

    def agrees_with(self, other: "ColumnDigests") -> bool:
        """Say whether two readings of the same columns gave the same numbers."""
        return self.n_rows == other.n_rows and bool(np.array_equal(self.columns, other.columns))

    def hexdigest(self) -> str:
        """Return the digest of the table as text."""
        state = hashlib.sha256(f"table {self.n_rows} x {len(self.columns)}".encode())
        state.update(self.columns.astype("<u8").tobytes())
        return state.hexdigest()


def mixed(values: Any) -> Words:
    """Return the scattered bits of float64 numbers, as a copy; zeros of both signs give zero, and all NaN are alike."""
    numbers = np.asarray(values, dtype=np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    missing = np.isnan(numbers)
    if missing.any():
        numbers[missing] = np.nan
    words: Words = numbers.view(np.uint64)
    words ^= words >> np.uint64(33)
    words *= np.uint64(FIRST)
    words ^= words >> np.uint64(33)
    words *= np.uint64(SECOND)
    words ^= words >> np.uint64(33)
    return words


def digest_of(data: Any) -> str:
    """Return the digest of an array, a sparse matrix, or an object whose `digest_parts` lists texts and data."""
    if hasattr(data, "digest_parts"):
        parts = data.digest_parts()
        if len(parts) == 1:
            return digest_of(parts[0])
        state = hashlib.sha256()
        for part in parts:
            state.update((part if isinstance(part, str) else digest_of(part)).encode())
        return state.hexdigest()
    if sp.issparse(data):
        data = data if data.format in ("csr", "csc") else data.tocsr()
        return ColumnDigests.of(without_duplicates(data)).hexdigest()
    array = np.asarray(data)
    return ColumnDigests.of(array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)).hexdigest()
