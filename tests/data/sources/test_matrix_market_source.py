"""Matrix Market files in the order of rows and of columns."""

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from tests.data.sources.checks import check_source, message, together

from laconic.data.sources.by_column import EntriesByColumn, in_its_order
from laconic.data.sources.matrix_market import MatrixMarketSource
from laconic.data.sources.registry import open_source

rng = np.random.default_rng(0)
COUNTS = rng.poisson(0.4, (120, 16)).astype(float)
COUNTS[:3] = COUNTS[40:60] = COUNTS[-2:] = 0
COUNTS[:, -1] = 0


def small(path):
    return in_its_order(MatrixMarketSource(path, 50, 300), 200)


@pytest.mark.parametrize("order", ["rows", "columns"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
def test_coordinates(tmp_path, order, field):
    path = tmp_path / "t.mtx"
    X = COUNTS * np.pi if field == "real" else COUNTS if field == "integer" else np.sign(COUNTS)
    triples = sp.coo_array(sp.csr_array(X) if order == "rows" else sp.csc_array(X))
    scipy.io.mmwrite(path, triples, field=field, symmetry="general", precision=17, comment="a\nb")
    source = open_source(path)
    assert isinstance(source, MatrixMarketSource if order == "rows" else EntriesByColumn)
    check_source(source, X)
    check_source(small(path), X, min_blocks=6)
    packed = tmp_path / "p.mtx.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(together(open_source(packed)), X)


def test_arrays(tmp_path):
    path = tmp_path / "t.mtx"
    X = COUNTS + rng.standard_normal(COUNTS.shape)
    scipy.io.mmwrite(path, X, precision=17, symmetry="general")
    check_source(open_source(path), X)
    check_source(EntriesByColumn(MatrixMarketSource(path, 50, 900), 700), X, min_blocks=20)


HEAD = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("hello\n", r"must begin with '%%MatrixMarket matrix coordinate'"),
        ("%%MatrixMarket matrix coordinate complex general\n", r"has complex entries; give real numbers"),
        ("%%MatrixMarket matrix coordinate real symmetric\n", r"is a symmetric matrix, which has no rows of data"),
        (HEAD + "% note\n4 4\n", r"must have the numbers of rows, columns and entries in line 3"),
        (HEAD, r"must have the numbers of rows, columns and entries in line 2"),
        (HEAD + "4 4 3\n1 1 1\n2 2 2\n", r"has 2 entries, and line 2 says 3; copy the file again"),
        (HEAD + "4 4 1\n1 1 1\n2 2 2\n", r"has more than 1 entries, and line 2 says 1"),
        (HEAD + "4 4 3\n1 1 1\n3 1 1\n2 2 2\n1 3 1\n", r"has more than 3 entries, and line 2 says 3"),
        (HEAD + "4 4 3\n1 1 1\n2 5 2\n3 1 1\n", r"has column 5 in line 4, and 4 columns"),
        (HEAD + "4 4 3\n1 1 1\n2 1 2\n1 5 1\n", r"has column 5 in line 5, and 4 columns"),
        (HEAD + "4 4 3\n1 2 1\n3 1 2\n2 4 1\n", r"is sorted neither by row nor by column; sort its entries"),
        (HEAD + "4 4 2\n1 1 1\n2 2\n", r"has '2 2' in line 4; write 3 numbers"),
        (HEAD + "4 4 2\n1 1 1\n2.5 2 1\n", r"has an index that is not whole at or below line 3"),
        ("", r"is empty"),
    ],
)
def test_wrong_files(tmp_path, content, words):
    path = tmp_path / "t.mtx"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"^t\.mtx " + words) as error:
        together(open_source(path))
    message(error)


def test_two_files(tmp_path):
    for i in range(2):
        scipy.io.mmwrite(tmp_path / f"{i}.mtx", sp.coo_array(COUNTS))
    with pytest.raises(ValueError, match="a Matrix Market file is a table of its own; give one"):
        open_source(tmp_path)


def test_a_matrix_without_entries(tmp_path):
    path = tmp_path / "t.mtx"
    path.write_text(HEAD + "4 3 0\n")
    check_source(open_source(path), np.zeros((4, 3)))
