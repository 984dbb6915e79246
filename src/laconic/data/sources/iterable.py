"""Objects that yield blocks of rows each time they are iterated over: lists of arrays, and classes with `__iter__`."""

from collections.abc import Iterable, Iterator, Sized
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices
from laconic.data.names import feature_names_of
from laconic.data.sources.contract import Block, Source
from laconic.data.tables import as_array_or_frame, without_duplicates


class IterableSource(Source):
    """Blocks of rows from an iterable: arrays, sparse matrices or tables with the same columns."""

    def __init__(self, blocks: Iterable[Any], name: str = "X") -> None:
        self._blocks = blocks
        self.name = name
        first = as_array_or_frame(next(iter(blocks)), name="block 0 of X")
        self.n_features = first.shape[1]
        self.feature_names = feature_names_of(first)
        self.sparse = bool(sp.issparse(first))
        # Without a length, the number of blocks is known after the first reading.
        self._count = len(blocks) if isinstance(blocks, Sized) else None

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        number = -1
        for number, given in enumerate(self._blocks):
            if number >= first:
                rows = self._rows(given, number)
                share = min((number + 1) / self._count, 1.0) if self._count else 0.0
                yield Block(rows if columns is None else rows[:, columns], share)
        self._count = number + 1

    def _rows(self, given: Any, number: int) -> Any:
        block = as_array_or_frame(given, name=f"block {number} of {self.name}")
        if len(getattr(block, "shape", ())) != 2 or block.shape[1] != self.n_features:
            raise ValueError(
                f"block {number} of {self.name} has shape {getattr(block, 'shape', None)}, and block 0 has "
                f"{self.n_features} columns; give blocks of rows with the same columns."
            )
        names = feature_names_of(block)
        if names is not None and self.feature_names is not None and names != self.feature_names:
            own, other = next((a, b) for a, b in zip(names, self.feature_names, strict=True) if a != b)
            raise ValueError(
                f"block {number} of {self.name} has the column {own!r} where block 0 has {other!r}; give blocks "
                "with the same columns."
            )
        if sp.issparse(block):
            return without_duplicates(sp.csr_array(block)) if self.sparse else block.toarray()
        array = np.asarray(block)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"block {number} of {self.name} has entries of type {array.dtype}; give real numbers.")
        array = array if array.dtype.kind in "iuf" else array.astype(np.float64)
        return sp.csr_array(array) if self.sparse else array


def open_iterable(X: Any) -> Source | None:
    """Return a source if an object yields blocks of rows, and None if it is anything else.

    The rule is narrow: an array, a table, a sparse matrix, and a list of rows or of numbers are none. An object is one
    if it has no shape of its own, can be iterated over, and its first item has rows and columns. An iterator, such as a
    generator, can be read only once, which is a TypeError.
    """
    if (
        not isinstance(X, Iterable)
        or isinstance(X, str | bytes | dict)
        or hasattr(X, "shape")
        or hasattr(X, "__array__")
    ):
        return None
    if iter(X) is X:
        raise TypeError(
            f"X is a {type(X).__name__}, which can be read only once, and the data are read twice; give a list of "
            "blocks, or an object whose __iter__ begins anew."
        )
    first = next(iter(X), None)
    return IterableSource(X) if len(getattr(first, "shape", ())) == 2 else None
