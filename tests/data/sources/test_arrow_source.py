"""Parquet and Arrow tables in blocks, and only the columns that are wanted."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.sources.checks import check_source, message, together

from laconic import read_table
from laconic.data.passes import FirstPass
from laconic.data.sources.arrow import ArrowFile, ArrowSource
from laconic.data.sources.progress import PassProgress
from laconic.data.sources.registry import open_source

RNG = np.random.default_rng(0)
NAMES = ["height", "weight", "age", "µ", "with space"]
FRAME = pd.DataFrame(RNG.standard_normal((150, 5)), columns=NAMES)
LABELLED = FRAME.set_axis([f"row {i}" for i in range(150)], axis=0).rename_axis("name")


def write(frame, path, rows=23):
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    if path.suffix in (".parquet", ".pq"):
        pq.write_table(table, path, row_group_size=rows)
    else:
        options = pa.ipc.IpcWriteOptions(compression="lz4" if path.suffix == ".feather" else None)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=rows)
    return path


def small(path, rows=20):
    return ArrowSource(ArrowFile(path), block_numbers=rows * 5)


@pytest.mark.parametrize("name", ["t.parquet", "t.pq", "t.arrow", "t.feather"])
@pytest.mark.parametrize("rows", [1, 7, 23, 150])
def test_blocks_are_the_table(tmp_path, name, rows):
    path = write(FRAME, tmp_path / name, rows)
    check_source(small(path), FRAME, NAMES, min_blocks=8)
    source = open_source(path)
    assert (source.name, source.n_rows) == (name, 150)
    np.testing.assert_array_equal(together(source), read_table(path))


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_row_labels_are_left_out(tmp_path, name):
    check_source(small(write(LABELLED.reset_index(), tmp_path / name)), FRAME, NAMES)


def test_an_index_of_pandas_is_left_out(tmp_path):
    for frame in (LABELLED, FRAME.set_axis(range(5, 155), axis=0), FRAME[FRAME["age"] > 0]):
        frame.to_parquet(tmp_path / "t.parquet")
        check_source(open_source(tmp_path / "t.parquet"), frame, NAMES)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_kinds_of_numbers(tmp_path, name):
    n = 60
    columns = {
        "whole": pa.array(np.arange(n), pa.int64()),
        "small": pa.array(np.arange(n) % 7, pa.uint8()),
        "single": pa.array(np.arange(n) / 3, pa.float32()),
        "truth": pa.array(np.arange(n) % 2 == 0),
        "coded": pa.array([0.5 * (i % 3) for i in range(n)]).dictionary_encode(),
        "decimal": pa.array([Decimal(i) / 10 for i in range(n)], pa.decimal128(20, 3)),
    }
    expected = np.column_stack([np.array(c.to_pylist(), dtype=float) for c in columns.values()])
    path = write(pa.table(columns), tmp_path / name)
    check_source(small(path), expected, list(columns), min_blocks=3)
    write(pa.table({c: pa.array(FRAME[c], pa.float32()) for c in NAMES}), path)
    assert next(small(path).blocks()).rows.dtype == np.float32


def test_a_folder_is_one_table(tmp_path):
    folder = tmp_path / "counts"
    folder.mkdir()
    for i in range(3):
        write(FRAME[50 * i : 50 * i + 50], folder / f"part-{i}.parquet")
    source = open_source(folder)
    assert source.name == "3 files in counts"
    check_source(source, FRAME, NAMES, min_blocks=3)
    assert source.fingerprint() is not None
    write(FRAME.rename(columns={"age": "Age"})[:9], folder / "part-9.parquet")
    with pytest.raises(ValueError, match=r"^part-9\.parquet has 'Age' where part-0\.parquet has 'age'") as error:
        open_source(folder)
    message(error)
    write(FRAME.assign(age="x"), folder / "part-9.parquet")
    with pytest.raises(ValueError, match=r"^part-9\.parquet has a column that does not hold numbers: 'age'"):
        open_source(folder)


def test_a_folder_may_have_the_ending_of_its_files(tmp_path):
    """As Spark and Dask write them, with marks beside the files."""
    folder = tmp_path / "counts.parquet"
    folder.mkdir()
    for i in range(3):
        write(FRAME[50 * i : 50 * i + 50], folder / f"part.{i}.parquet")
    for mark in ("_SUCCESS", "_metadata.parquet", ".part.0.parquet"):
        (folder / mark).write_bytes(b"")
    check_source(open_source(folder), FRAME, NAMES, min_blocks=3)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_names_with_points(tmp_path, name):
    names = ["a", "a.1", "a.1.b", "b.1", "b"]
    check_source(small(write(FRAME.set_axis(names, axis=1), tmp_path / name)), FRAME, names)


def test_an_empty_entry_is_named_by_its_row(tmp_path):
    frame = FRAME.copy()
    frame.loc[77, "age"] = None
    for table in (frame, frame.assign(age=frame["age"].round().astype("Int64"))):
        source = small(write(table, tmp_path / "t.parquet"))
        with pytest.raises(ValueError, match=r"^t\.parquet has NaN at row 77, column 'age'; fill or drop it"):
            source.reduce(FirstPass(tuple(NAMES), source.name), PassProgress())


def test_text_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    write(LABELLED.reset_index().assign(age="x"), path)
    with pytest.raises(ValueError, match=r"^t\.parquet has columns that do not hold numbers: .*, 'age' \(") as error:
        open_source(path)
    message(error)
    write(pd.DataFrame({"a": ["1", "?"], "b": [1.0, 2.0]}), path)
    with pytest.raises(ValueError, match="does not hold numbers: 'a'"):
        open_source(path)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_damaged_files(tmp_path, name):
    path = write(FRAME, tmp_path / name)
    content = path.read_bytes()
    for damaged in (b"", b"not a table", content[:-200]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"^{name} is damaged or incomplete \(.*\); copy or make it") as error:
            open_source(path)
        message(error)


def test_a_damaged_row_group_is_found_when_it_is_read(tmp_path):
    path = write(FRAME, tmp_path / "t.parquet")
    content = bytearray(path.read_bytes())
    content[1000:3000] = bytes(2000)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"^t\.parquet is damaged"):
        together(open_source(path))


def test_a_compressed_parquet_file(tmp_path):
    (tmp_path / "t.parquet.gz").write_bytes(b"")
    with pytest.raises(ValueError, match="decompress it first") as error:
        open_source(tmp_path / "t.parquet.gz")
    message(error)
