"""Long tables: entries of rows and columns, as sparse blocks."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.data.sources.checks import check_source, message, together

from laconic.data.passes import FirstPass
from laconic.data.sources.arrow import ArrowFile
from laconic.data.sources.long import LONG, LongArrow, LongText
from laconic.data.sources.progress import PassProgress
from laconic.data.sources.registry import open_source
from laconic.data.sources.text import TextTable
from laconic.data.sources.triples import Triples, TripleSource

NAMES = ["row", "column", "value"]


def matrix(n=120, p=15, seed=0):
    """Counts with empty rows at the beginning, in the middle and, but for one entry, at the end."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (n, p)).astype(float)
    X[:3] = X[40:60] = X[-5:-1] = 0
    X[-1, -1] = 2
    return X


def long_table(X, names=NAMES, words=None):
    triples = sp.coo_array(sp.csr_array(X))
    columns = triples.col if words is None else np.array(words)[triples.col]
    return pd.DataFrame(dict(zip(names, (triples.row, columns, triples.data), strict=True)))


class Given(TripleSource):
    """Entries in memory, yielded a few at a time."""

    name = "given"

    def __init__(self, rows, columns, shape, block_entries, chunk=7):
        super().__init__(block_entries)
        self._entries, self._chunk = (np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)), chunk
        self.n_rows, self.n_features = shape
        self.n_entries = len(rows)

    def triples(self, first):
        rows, columns = self._entries
        for begin in range(first, len(rows), self._chunk):
            part = slice(begin, begin + self._chunk)
            yield Triples(rows[part], columns[part], np.ones(len(rows[part])), begin / len(rows), "given", begin)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), max_size=40), st.integers(1, 12), st.integers(1, 50))
def test_any_entries_in_any_blocks(entries, size, chunk):
    """Rows longer than a block, repeated entries, empty rows: every block begins where the one before ends."""
    entries.sort()
    rows, columns = [e[0] for e in entries], [e[1] for e in entries]
    source = Given(rows, columns, (14, 3), size, chunk)
    expected = np.zeros((14, 3))
    np.add.at(expected, (rows, columns), 1.0)
    blocks = [block.rows.toarray() for block in source.blocks()]
    np.testing.assert_array_equal(np.vstack(blocks), expected)
    for first in range(len(blocks) + 1):
        found = [block.rows.toarray() for block in source.blocks(None, first)]
        assert [len(b) for b in found] == [len(b) for b in blocks[first:]]
        np.testing.assert_array_equal(
            np.vstack([np.zeros((0, 3)), *found]), np.vstack([np.zeros((0, 3)), *blocks[first:]])
        )


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.csv", "t.tsv", "t.csv.gz"])
@pytest.mark.parametrize("names", LONG)
def test_long_tables_in_every_format(tmp_path, name, names):
    X, path = matrix(), tmp_path / name
    frame = long_table(X, names)[list(names[::-1])]
    write(frame, path)
    source = open_source(path)
    assert source.sparse
    np.testing.assert_array_equal(together(source), X)


def write(frame, path, groups=50):
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False, row_group_size=groups)
    elif path.suffix == ".feather":
        frame.to_feather(path, chunksize=groups)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def small(path):
    if path.suffix in (".parquet", ".feather"):
        return LongArrow([ArrowFile(path)], NAMES, 40)
    return LongText(TextTable([path], 120), NAMES, 40)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.csv"])
@pytest.mark.parametrize("words", [None, [f"word {j:02d}" for j in range(15)]])
def test_blocks_are_the_table(tmp_path, name, words):
    X = matrix()
    path = write(long_table(X, words=words), tmp_path / name)
    check_source(small(path), X, words, min_blocks=3)


def test_words_are_in_alphabetical_order(tmp_path):
    words = ["pear", "apple", "fig"]
    X = np.array([[1.0, 0, 2], [0, 3, 0], [4, 5, 6]])
    for name in ("t.parquet", "t.csv"):
        path = write(long_table(X, words=words), tmp_path / name)
        source = open_source(path)
        assert source.feature_names == ["apple", "fig", "pear"]
        np.testing.assert_array_equal(together(source), X[:, [1, 2, 0]])
    table = long_table(X, words=words)
    table["column"] = table["column"].astype("category")
    np.testing.assert_array_equal(together(open_source(write(table, tmp_path / "t.parquet"))), X[:, [1, 2, 0]])


@pytest.mark.parametrize("separator", [",", " "])
def test_words_that_look_like_something_else(tmp_path, separator):
    words = ["12:30", "2020-01-01", "NA", "null", "true"]
    X = np.array([[1.0, 2, 3, 4, 5], [0, 0, 6, 0, 7]])
    path = tmp_path / "t.csv"
    long_table(X, words=words).to_csv(path, index=False, sep=separator)
    check_source(open_source(path), X, words)


def test_entries_of_a_row_in_any_order_and_twice(tmp_path):
    table = pd.DataFrame({"i": [0, 0, 0, 2], "j": [3, 1, 3, 0], "x": np.array([200, 1, 200, 4], dtype=np.uint8)})
    expected = [[0, 1, 0, 400], [0, 0, 0, 0], [4, 0, 0, 0]]
    for name in ("t.parquet", "t.csv"):
        check_source(open_source(write(table, tmp_path / name)), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint32, np.uint64])
def test_kinds_of_ids(tmp_path, dtype):
    X = matrix(128)
    table = long_table(X).astype({"row": dtype, "column": dtype})
    check_source(small(write(table, tmp_path / "t.parquet")), X, min_blocks=3)


def test_several_files_are_one_table(tmp_path):
    X = matrix()
    table = long_table(X)
    cut = len(table) // 3  # within a row
    write(table[:cut], tmp_path / "1.parquet")
    write(table[cut:], tmp_path / "2.parquet")
    check_source(LongArrow([ArrowFile(tmp_path / f"{i}.parquet") for i in (1, 2)], NAMES, 40), X, min_blocks=3)
    write(table[:cut], tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"^2\.parquet is not sorted by row: entry 0 has row \d+ after") as error:
        together(open_source([tmp_path / "1.parquet", tmp_path / "2.parquet"]))
    message(error)


def test_statistics_save_the_scan_and_are_not_needed(tmp_path, monkeypatch):
    X = matrix()
    path = tmp_path / "t.parquet"
    table = pa.Table.from_pandas(long_table(X), preserve_index=False)
    pq.write_table(table, path, write_statistics=False)
    check_source(open_source(path), X)
    pq.write_table(table, path)
    monkeypatch.setattr(ArrowFile, "batches", None)
    assert (open_source(path).n_rows, open_source(path).n_features) == X.shape


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"row": [0, 2, 1, 3]}, r"is not sorted by row: entry 2 has row 1 after row 2; sort the entries by row"),
        ({"row": [-1, 0, 1, 3]}, r"has row -1 in entry 0, and 4 rows"),
        ({"column": [0, -2, 1, 3]}, r"has column -2 in entry 1, and 4 columns"),
        ({"row": [0, 1, 2, 10**12]}, r"has row ids up to 1000000000000 in 4 entries; number the rows 0, 1, 2"),
        ({"row": [0.0, 1.0, 2.0, 3.0]}, r"has row ids of the type double in 'row'; number the rows"),
        ({"row": ["a", "b", "c", "d"]}, r"has row ids of the type .*string in 'row'; number the rows"),
        ({"column": [0.0, 1.5, 2.0, 3.0]}, r"has column ids of the type double in 'column'; use whole numbers or text"),
        ({"value": ["a", "b", "c", "d"]}, r"has values of the type .*string in 'value'; use numbers"),
        ({"row": pd.array([0, 1, None, 3], "Int64")}, r"has no id in entry 2; fill or drop this entry"),
    ],
)
def test_wrong_parquet_tables(tmp_path, changes, words):
    table = pd.DataFrame({"row": [0, 1, 2, 3], "column": [0, 1, 2, 3], "value": [1, 2, 3, 4]}).assign(**changes)
    path = write(table, tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"^t\.parquet " + words) as error:
        together(open_source(path))
    message(error)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("0,1,2\n2,1,1\n1,0,1\n", r"is not sorted by row: line 4 has row 1 after row 2"),
        ("0,1,2\n1,-1,1\n", r"has column -1 in line 3, and 2 columns"),
        ("0,1,2\na,1,1\n", r"has cells that are not numbers: 'row' 1 of 2 \('a'\).*'a' in line 3"),
        ("0,1,2\n1,1,x\n", r"has cells that are not numbers: 'value' 1 of 2 \('x'\).*'x' in line 3"),
        ("0.5,1,2\n1,1,1\n", r"has a row id that is not a whole number at or below line 2"),
        ("", r"has no rows"),
    ],
)
def test_wrong_text_tables(tmp_path, lines, words):
    path = tmp_path / "t.csv"
    path.write_text("row,column,value\n" + lines)
    with pytest.raises(ValueError, match=r"^t\.csv " + words) as error:
        together(open_source(path))
    message(error)


def test_a_missing_value_is_named_by_its_row_and_column(tmp_path):
    table = pd.DataFrame({"row": [0, 4, 5], "column": [0, 2, 1], "value": [1.0, np.nan, 2.0]})
    source = open_source(write(table, tmp_path / "t.parquet"))
    with pytest.raises(ValueError, match=r"^t\.parquet has NaN at row 4, column 2"):
        source.reduce(FirstPass(None, source.name), PassProgress())
