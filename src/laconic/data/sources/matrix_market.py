"""Matrix Market files (.mtx): coordinates in the order of rows or of columns, or an array, which is by column."""

from pathlib import Path
from typing import Any

import numpy as np

from laconic.data.sources.by_column import EntriesByColumn, in_its_order
from laconic.data.sources.contract import Source
from laconic.data.sources.entry_lines import PIECE_BYTES, LineSource, head_lines
from laconic.data.sources.streams import name_of
from laconic.data.sources.triples import BLOCK_ENTRIES


def open_matrix_market(files: list[Path]) -> Source:
    """Open one Matrix Market file."""
    if len(files) > 1:
        raise ValueError(f"{name_of(files)} cannot be one table: a Matrix Market file is a table of its own; give one.")
    source = MatrixMarketSource(files[0])
    return EntriesByColumn(source) if source.is_array else in_its_order(source)


class MatrixMarketSource(LineSource):
    """Coordinates in the order of rows. `EntriesByColumn` takes those in the order of columns, and arrays."""

    def __init__(self, file: Path, block_entries: int = BLOCK_ENTRIES, piece_bytes: int = PIECE_BYTES) -> None:
        super().__init__(file, block_entries, piece_bytes)
        lines = head_lines(file)
        kind = lines[0].lower().split()
        if len(kind) != 5 or kind[:2] != ["%%matrixmarket", "matrix"] or kind[2] not in ("coordinate", "array"):
            raise ValueError(
                f"{self.name} must begin with '%%MatrixMarket matrix coordinate' or '... array'; make it again."
            )
        if kind[3] not in ("real", "double", "integer", "pattern"):
            raise ValueError(f"{self.name} has {kind[3]} entries; give real numbers or integers.")
        if kind[4] != "general":
            raise ValueError(f"{self.name} is a {kind[4]} matrix, which has no rows of data; give one that is general.")
        self.is_array, is_pattern = kind[2] == "array", kind[3] == "pattern"
        self.n_fields = 1 if self.is_array else 2 if is_pattern else 3
        number = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("%")), len(lines))
        self.header_lines = number + 1
        sizes = lines[number].split() if number < len(lines) else []
        if len(sizes) != (2 if self.is_array else 3) or not all(size.isdigit() for size in sizes):
            what = "rows and columns" if self.is_array else "rows, columns and entries"
            raise ValueError(f"{self.name} must have the numbers of {what} in line {number + 1}; correct the line.")
        self.n_rows, self.n_features = int(sizes[0]), int(sizes[1])
        self.n_entries = self.n_rows * self.n_features if self.is_array else int(sizes[2])

    def entries(self, fields: list[Any], done: int) -> tuple[Any, Any, Any]:
        if self.is_array:
            places = np.arange(done, done + len(fields[0]))
            return places % self.n_rows + 1, places // self.n_rows + 1, fields[0]
        return fields[0], fields[1], fields[2] if self.n_fields == 3 else np.ones(len(fields[0]))
