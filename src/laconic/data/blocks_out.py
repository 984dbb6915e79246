"""Blocks of rows out: a table that is written block by block and appears when it is complete."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from laconic.core.arrays import Floats


def write_blocks(blocks: Iterator[Floats], path: Path, columns: Sequence[str]) -> Path:
    """Write blocks of rows as one table: Parquet if the name ends in .parquet or .pq, text if it ends in .csv."""
    ending = path.suffix.lower()
    if ending not in (".parquet", ".pq", ".csv"):
        raise ValueError(f"{path.name} must end in .parquet or .csv.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} for {path.name}.")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        with closing(_writer(name, ending, list(columns))) as writer:
            next(writer)
            for block in blocks:
                writer.send(block)
        Path(name).chmod(0o644)
        return Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _writer(name: str, ending: str, columns: list[str]) -> Any:
    """Receive blocks and write them."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    schema = pa.schema([(column, pa.float64()) for column in columns])
    opener: Any = csv.CSVWriter if ending == ".csv" else parquet.ParquetWriter
    with opener(name, schema) as file:
        while True:
            block = yield
            arrays = [pa.array(np.ascontiguousarray(values)) for values in np.asarray(block, dtype=np.float64).T]
            file.write_table(pa.Table.from_arrays(arrays, schema=schema))
