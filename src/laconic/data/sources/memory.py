"""Rows that are in memory, or in a file that is mapped to memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices
from laconic.data.sources.contract import BLOCK_NUMBERS, Block, CountedSource


class ArraySource(CountedSource):
    """A NumPy array or memory map, or a SciPy CSR or CSC matrix without duplicates."""

    def __init__(self, X: Any, name: str = "X", feature_names: list[str] | None = None) -> None:
        self._rows = X
        if getattr(X, "filename", None) is not None:
            self.files = [Path(X.filename)]
        self.name = name
        self.feature_names = feature_names
        self.n_rows, self.n_features = X.shape
        self.sparse = bool(sp.issparse(X))
        numbers = X.nnz / max(self.n_rows, 1) if self.sparse else self.n_features
        self._step = max(1, int(BLOCK_NUMBERS / max(numbers, 1)))

    @property
    def n_blocks(self) -> int:
        return -(-self.n_rows // self._step)

    def in_memory(self) -> Any:
        return None if isinstance(self._rows, np.memmap) else self._rows

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        rows = self._rows
        if self.sparse and rows.format == "csc":
            if columns is None:
                # Sums over columns need no rows, and the other form would be a copy of all data.
                yield Block(rows, 1.0)
                return
            rows, columns = rows[:, columns].tocsr(), None
        for begin in range(first * self._step, self.n_rows, self._step):
            end = min(begin + self._step, self.n_rows)
            block = rows[begin:end]
            block = block if columns is None else block[:, columns]
            yield Block(block if self.sparse else np.asarray(block), end / self.n_rows)
