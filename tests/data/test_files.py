"""Parquet, Arrow, spreadsheets, NumPy and SciPy files: the same numbers whole and in blocks, and clear sentences."""

import gzip
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from tests.data.checks import check_source, message, together

from laconic import read_table
from laconic.core.monitor import Hint
from laconic.data import files
from laconic.data.rows import open_source

RNG = np.random.default_rng(0)
NAMES = ["height", "weight", "a.1", "µ", "a"]
FRAME = pd.DataFrame(RNG.standard_normal((150, 5)).round(6), columns=NAMES)
LABELLED = FRAME.set_axis([f"row {i}" for i in range(150)], axis=0).rename_axis("name")
ARROW = ["t.parquet", "t.pq", "t.arrow", "t.feather"]


def write(frame, path, rows=23):
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    if path.suffix in (".parquet", ".pq"):
        pq.write_table(table, path, row_group_size=rows)
    else:
        options = pa.ipc.IpcWriteOptions(compression="lz4" if path.suffix == ".feather" else None)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=rows)
    return path


@pytest.fixture(autouse=True)
def _small_frames(monkeypatch):
    monkeypatch.setattr(files, "FRAME_NUMBERS", 100)
    monkeypatch.setattr(files, "FRAME_ROWS", 1)


@pytest.mark.parametrize("name", ARROW)
@pytest.mark.parametrize("rows", [1, 23, 150])
def test_arrow_in_blocks(tmp_path, name, rows):
    path = write(FRAME, tmp_path / name, rows)
    check_source(open_source(path), FRAME, NAMES)
    source = open_source(path, blocks=True)
    assert (source.name, source.n_rows) == (name, 150)
    check_source(source, FRAME, NAMES, min_blocks=5)
    pd.testing.assert_frame_equal(read_table(path), FRAME)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_row_labels(tmp_path, name):
    path = write(LABELLED.reset_index(), tmp_path / name)
    check_source(open_source(path), FRAME, NAMES)
    pd.testing.assert_frame_equal(read_table(path), LABELLED)
    assert [label for labels in open_source(path).row_labels() for label in labels] == list(LABELLED.index)
    for frame in (LABELLED, FRAME, FRAME[FRAME["a"] > 0]):
        frame.to_parquet(tmp_path / "p.parquet")
        check_source(open_source(tmp_path / "p.parquet"), frame, NAMES)
        assert list(read_table(tmp_path / "p.parquet").index) == list(frame.index)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_kinds_of_numbers(tmp_path, name):
    n = 60
    columns = {
        "whole": pa.array(np.arange(n), pa.int64()),
        "single": pa.array(np.arange(n) / 3, pa.float32()),
        "truth": pa.array(np.arange(n) % 2 == 0),
        "coded": pa.array([0.5 * (i % 3) for i in range(n)]).dictionary_encode(),
        "decimal": pa.array([Decimal(i) / 10 for i in range(n)], pa.decimal128(20, 3)),
    }
    expected = np.column_stack([np.array(c.to_pylist(), dtype=float) for c in columns.values()])
    check_source(open_source(write(pa.table(columns), tmp_path / name)), expected, list(columns))
    empty = pa.table({"a": pa.array([1, None, 3]), "b": pa.array([True, None, False])})
    source = open_source(write(empty, tmp_path / name))
    np.testing.assert_array_equal(together(source), [[1, 1], [np.nan, np.nan], [3, 0]])


def test_columns_and_marks_of_a_parquet_file(tmp_path):
    table = FRAME.assign(day=pd.Timestamp("2024-01-31"), note="x", ok=True, q=np.arange(150) % 5)
    table.insert(0, "name", [f"row {i}" for i in range(150)])
    path = write(table, tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"numbers: 'day' \('2024-01-31'\), 'note' \('x'\)") as error:
        open_source(path, columns="day,note,q")
    message(error)
    for blocks in (False, True):
        source = open_source(path, blocks=blocks)
        assert source.feature_names == [*NAMES, "ok", "q"]
        assert source.note.startswith("2 columns of t.parquet are left out")
    frame = read_table(path, columns="q", na=3)
    assert frame["q"].isna().sum() == 30
    np.testing.assert_array_equal(together(open_source(path, columns="q", na=3, blocks=True)), frame)
    # Numbers that are stored as text are numbers, until one is not.
    write(pa.table({"a": ["1.5"] * 40 + ["?"], "b": [1.0] * 41}), path)
    with pytest.raises(ValueError, match=r"cells that are not numbers: 'a' 1 of 41 \('\?'; first in row 40\)"):
        together(open_source(path))


def test_folders_patterns_and_lists(tmp_path):
    folder = tmp_path / "counts.parquet"
    folder.mkdir()
    for i in range(3):
        write(FRAME[50 * i : 50 * i + 50], folder / f"part.{i}.parquet")
    for mark in ("_SUCCESS", "_metadata.parquet", ".part.0.parquet"):  # as Spark and Dask write them
        (folder / mark).write_bytes(b"")
    for given in (folder, str(folder / "part*"), sorted(folder.glob("part*"))):
        source = open_source(given)
        assert source.name == "3 files in counts.parquet"
        check_source(source, FRAME, NAMES, min_blocks=3)
    write(FRAME.rename(columns={"a": "A"})[:9], folder / "part.9.parquet")
    with pytest.raises(ValueError, match=r"^part\.9\.parquet has 'A' where part\.0\.parquet has 'a'"):
        open_source(folder)
    write(FRAME.assign(a="x"), folder / "part.9.parquet")
    with pytest.raises(ValueError, match=r"^part\.9\.parquet has a column that does not hold numbers: 'a'"):
        open_source(folder)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.npz", "t.npy"])
def test_damaged_files(tmp_path, name):
    path = tmp_path / name
    if name in ARROW:
        write(FRAME, path)
    else:
        (np.savez if name == "t.npz" else np.save)(path, FRAME.to_numpy())
    content = path.read_bytes()
    for damaged in (b"", b"not a table", content[:-200]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"^{name} is (damaged or|not a) (in)?complete") as error:
            together(open_source(path))
        message(error)


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    path = write(FRAME, tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for read in (read_table, open_source):
        with pytest.raises(
            ImportError, match=r"^Reading or writing t.parquet needs the package pyarrow; .*'laconic\[app\]'$"
        ):
            read(path)
    FRAME.to_excel(tmp_path / "t.xlsx")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(
        ImportError, match=r"^Reading or writing t.xlsx needs the package python-calamine; .*'laconic\[excel\]'$"
    ):
        read_table(tmp_path / "t.xlsx")


def test_paths_that_cannot_be_opened(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("t.xyz", "t.npy.gz", "t.parquet.gz"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    np.save(tmp_path / "t.npy", np.eye(3))
    for given, words in [
        ("none.parquet", r"There is no file .*none\.parquet"),
        ("none-*.csv", r"No file matches '.*none-\*\.csv'"),
        ("empty", r"has no file with a known ending; use one of \.arrow"),
        ("t.xyz", r"^t\.xyz has no known ending; use one of \.arrow, \.csv"),
        ("t.[cn][sp][vy]", r"several formats, such as t.csv, t.npy; give files of one format"),
        ("t.npy.gz", "t.npy.gz is compressed as a whole; unpack it first"),
        ("t.parquet.gz", "t.parquet.gz is compressed as a whole; unpack it first"),
    ]:
        with pytest.raises((ValueError, FileNotFoundError), match=words) as error:
            open_source(tmp_path / given)
        message(error)
    for given, words in [("", "is a directory; give a file"), ("t.xyz", "no known ending"), ("x.csv", "no file")]:
        with pytest.raises((ValueError, FileNotFoundError), match=words):
            read_table(tmp_path / given)


@pytest.mark.parametrize(
    ("name", "option"),
    [("t.npy", "na"), ("t.npy", "index"), ("t.parquet", "sep"), ("t.csv", "sheet"), ("t.npy", "sheet")],
)
def test_options_of_other_formats(tmp_path, name, option):
    np.save(tmp_path / "t.npy", np.eye(3))
    FRAME.to_parquet(tmp_path / "t.parquet")
    FRAME.to_csv(tmp_path / "t.csv")
    with pytest.raises(ValueError, match=rf"^{option}='x' is not for {name}; leave it out\.$"):
        open_source(tmp_path / name, **{option: "x"})
    with pytest.raises(TypeError, match="'color' is no option of a table; the options are sep, decimal, "):
        open_source(tmp_path / name, color="red")


COUNTS = RNG.poisson(0.4, (120, 16)) * 1.0
COUNTS[:3] = COUNTS[40:60] = COUNTS[-2:] = COUNTS[:, 5] = 0


@pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, np.float32, np.int16, lambda X: X > 0])
def test_numpy_files(tmp_path, convert, monkeypatch):
    monkeypatch.setattr("laconic.data.rows.BLOCK_NUMBERS", 200)
    np.save(tmp_path / "t.npy", convert(COUNTS))
    source = open_source(tmp_path / "t.npy")
    check_source(source, convert(COUNTS), min_blocks=9)
    assert source.in_memory() is None
    np.savez_compressed(tmp_path / "t.npz", X=convert(COUNTS), note=np.arange(4))
    check_source(open_source(tmp_path / "t.npz"), convert(COUNTS))
    np.savez(tmp_path / "t.npz", X=COUNTS, Y=COUNTS)
    with pytest.raises(
        ValueError, match=r"^t\.npz is not a complete array .* has 2 arrays with rows and columns, and one"
    ):
        open_source(tmp_path / "t.npz")


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
def test_sparse_files(tmp_path, form):
    matrix = sp.coo_array(COUNTS).asformat(form)
    for i in range(2):
        sp.save_npz(tmp_path / f"{i}.npz", matrix.tocsr()[60 * i : 60 * i + 60].asformat(form))
        scipy.io.mmwrite(tmp_path / f"{i}.mtx", sp.coo_array(COUNTS[60 * i : 60 * i + 60]), precision=17)
    (tmp_path / "0.mtx.gz").write_bytes(gzip.compress((tmp_path / "0.mtx").read_bytes()))
    for ending in ("npz", "mtx"):
        check_source(open_source(tmp_path / f"[01].{ending}"), COUNTS, min_blocks=2)
        assert sp.issparse(open_source(tmp_path / f"0.{ending}").in_memory())
    check_source(open_source(tmp_path / "0.mtx.gz"), COUNTS[:60])
    source = open_source(tmp_path / "[01].npz", columns="1?", drop="12")
    check_source(source, COUNTS[:, [10, 11, 13, 14, 15]], ["10", "11", "13", "14", "15"])
    np.save(tmp_path / "2.npy", COUNTS)
    np.save(tmp_path / "3.npy", COUNTS[:, :5])
    with pytest.raises(ValueError, match=r"^3\.npy has 5 dense columns, and 2\.npy has 16 dense columns"):
        open_source(tmp_path / "[23].npy")


def test_arrays_that_are_no_tables(tmp_path):
    for wrong in (np.arange(5), np.zeros((2, 2, 2)), np.array([["a", "b"]])):
        np.save(tmp_path / "t.npy", wrong)
        with pytest.raises(ValueError, match=r"^t\.npy has an array of shape .* give numbers in rows and columns"):
            open_source(tmp_path / "t.npy")
    sp.save_npz(tmp_path / "t.npz", sp.csr_array(COUNTS))
    with np.load(tmp_path / "t.npz") as archive:
        arrays = dict(archive)
    arrays["indices"][100] = 500
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(ValueError, match=r"^t\.npz is not a complete array of numbers \(.*\); make it again"):
        open_source(tmp_path / "t.npz")
    (tmp_path / "t.mtx").write_text("no matrix")
    with pytest.raises(ValueError, match=r"^t\.mtx is not a complete array of numbers \("):
        open_source(tmp_path / "t.mtx")


@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_a_sheet_is_the_table_that_was_saved(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    LABELLED.to_excel(path)
    pd.testing.assert_frame_equal(read_table(path), LABELLED)
    check_source(open_source(path), FRAME, NAMES)


def test_sheets(tmp_path):
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as writer:
        LABELLED.to_excel(writer, sheet_name="one")
        (2 * LABELLED).to_excel(writer, sheet_name="the second", startrow=3, startcol=2)
    with pytest.warns(Hint, match=r"2 sheets; the first, 'one', is read. Give sheet='the second' for another"):
        assert read_table(path).equals(LABELLED)
    assert read_table(path, sheet="the second").equals(2 * LABELLED)
    with pytest.raises(ValueError, match=r"sheet='The sekond' is not a sheet of book.xlsx; did you mean 'the second'"):
        read_table(path, sheet="The sekond")
    cells = {"n": ["1.5", "2.5", 3], "t": [True, False, True], "m": [1, "n/a", 3], "d": pd.Timestamp("2024-01-31")}
    pd.DataFrame(cells).to_excel(path, index=False)
    found = read_table(path)
    assert found["n"].tolist() == [1.5, 2.5, 3]
    assert found["t"].tolist() == [True, False, True]
    assert list(found.columns) == ["n", "t", "m"]
    assert np.isnan(found["m"][1])


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[None]], "is empty"),
        ([["Report", None, None], ["a", "b", "c"], [1, 2, 3]], "has 2 columns without a name in its first row"),
        ([["a", "a"], [1, 2], [3, 4]], "the column name 'a' more than once"),
        ([["note"], ["see the next sheet"], ["thanks"]], "has one column, of text such as 'see the next sheet'"),
        (None, "t.xlsx cannot be read as a spreadsheet ("),
    ],
)
def test_sheets_that_are_no_tables(tmp_path, rows, sentence):
    path = tmp_path / "t.xlsx"
    if rows is None:
        path.write_text("no workbook")
    else:
        pd.DataFrame(rows).to_excel(path, header=False, index=False)
    for read in (read_table, open_source):
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the sentence is compared below
            read(path)
        assert sentence in message(error)
