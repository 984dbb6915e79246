"""Blocks of rows out: a table that is written block by block and appears when it is complete."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from laconic.core.arrays import Floats
from laconic.data.rows import needed

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")


def write_blocks(blocks: Iterator[Floats], path: Path, columns: Sequence[str]) -> Path:
    """Write blocks of rows as one table: Parquet if the name ends in .parquet or .pq, text if it ends in .csv."""
    import pandas as pd

    frames = (pd.DataFrame(np.asarray(block, dtype=np.float64), columns=list(columns)) for block in blocks)
    return write_frames(frames, path, labels=False)


def write_frames(frames: "Iterator[pd.DataFrame]", path: Path, *, labels: bool = True) -> Path:
    """Write frames as one table, with their row labels as its first column, in the formats of `write_blocks`."""
    with _complete(path) as name:
        if path.suffix.lower() not in PARQUET:
            with Path(name).open("w", encoding="utf-8", newline="") as text:
                print_frames(frames, text, labels=labels)
            return path
        pa, parquet = (needed(module, path.name, "app") for module in ("pyarrow", "pyarrow.parquet"))
        first = next(frames)
        schema = pa.Table.from_pandas(first, preserve_index=labels).schema
        with parquet.ParquetWriter(name, schema) as file:
            for frame in chain([first], frames):
                file.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=labels))
    return path


def print_frames(frames: "Iterator[pd.DataFrame]", text: TextIO, *, labels: bool = True) -> None:
    """Write frames as one table of text, with their row labels as its first column."""
    for number, frame in enumerate(frames):
        frame.to_csv(text, header=number == 0, lineterminator="\n", index=labels)


@contextmanager
def _complete(path: Path) -> Iterator[str]:
    """Give the name of a temporary file that takes the place of `path` once the block has ended without an error."""
    if path.suffix.lower() not in (*PARQUET, ".csv"):
        raise ValueError(f"{path.name} must end in .parquet or .csv.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} for {path.name}.")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        yield name
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
