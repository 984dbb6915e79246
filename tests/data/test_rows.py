"""Rows in blocks: arrays in memory, memory maps, some columns, blocks that an object yields."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from tests.data.checks import check_source, message, together

from laconic.core.monitor import Monitor, Stop
from laconic.data import rows
from laconic.data.passes import FirstPass
from laconic.data.rows import ArraySource, PassProgress, SelectedSource, open_source

X = np.random.default_rng(0).poisson(0.7, (60, 5)).astype(float)
NAMES = list("abcde")


@pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, np.float32, np.int16, sp.csr_array, sp.csc_array])
def test_arrays_in_memory(convert, monkeypatch):
    monkeypatch.setattr(rows, "BLOCK_NUMBERS", 50)
    data = convert(X)
    source = ArraySource(data, feature_names=NAMES)
    check_source(source, X, NAMES, min_blocks=1 if convert is sp.csc_array else 4)
    assert open_source(source) is source
    assert source.in_memory() is data
    assert open_source(data) is None
    chosen = SelectedSource(source, np.array([4, 0, 3]))
    check_source(chosen, X[:, [4, 0, 3]], ["e", "a", "d"])
    np.testing.assert_array_equal(together(chosen, np.array([0, 2])), X[:, [4, 3]])


def test_a_memory_map_is_a_source(tmp_path):
    np.save(tmp_path / "t.npy", X)
    check_source(open_source(np.load(tmp_path / "t.npy", mmap_mode="r")), X)


def test_a_time_limit_stops_a_pass():
    monitor = Monitor(time_limit=1e-9)
    with monitor.watch():
        ArraySource(X).reduce(FirstPass(), PassProgress("pass 1", monitor))
    assert monitor.stopped is Stop.TIME_LIMIT


class Blocks:
    """Begins anew each time."""

    def __init__(self, convert, data=X):
        self._convert, self._data = convert, data

    def __iter__(self):
        return (self._convert(self._data[i : i + 13]) for i in range(0, len(self._data), 13))


KINDS = {
    "numpy": (np.asarray, None),
    "int8": (np.int8, None),
    "csr": (sp.csr_array, None),
    "csc": (sp.csc_matrix, None),
    "pandas": (lambda X: pd.DataFrame(X, columns=NAMES), NAMES),
    "pyarrow": (lambda X: pa.table({n: X[:, j] for j, n in enumerate(NAMES)}), NAMES),
}


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_are_the_table(kind):
    convert, names = KINDS[kind]
    check_source(open_source(list(Blocks(convert))), X, names, min_blocks=5)
    source = open_source(Blocks(convert))
    assert [block.share for block in source.blocks()] == [0.0] * 5
    check_source(source, X, names, min_blocks=5)  # the number of blocks is known now


def test_truth_values_and_empty_blocks():
    source = open_source([X > 0, X[:0] > 0, X[:1] > 0])
    np.testing.assert_array_equal(together(source), np.vstack([X, X[:1]]) > 0)
    assert source.reduce(FirstPass()).n_rows == 61


@pytest.mark.parametrize(
    "given",
    [X.tolist(), list(X), [], [1.0, 2.0], [X.tolist()] * 2, pd.DataFrame(X), sp.lil_matrix(X), {"a": X}, {1, 2}, 3.0],
    ids=str,
)
def test_what_is_in_memory_or_no_table(given):
    assert open_source(given) is None


@pytest.mark.parametrize("given", [(X for _ in range(3)), iter([X, X]), map(np.asarray, [X]), io.StringIO("a")])
def test_what_can_be_read_once(given):
    with pytest.raises(TypeError, match="can be read only once, and the data are read twice; give a list") as error:
        open_source(given)
    message(error)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([X, X[:, :4]], r"^block 1 of X has shape \(60, 4\), and block 0 has 5 columns"),
        (
            [pd.DataFrame(X, columns=list(n)) for n in ("abcde", "abxde")],
            r"^block 1 of X has 'x' where block 0 has 'c'",
        ),
        ([X, X + 1j], r"^block 1 of X has entries of type complex128; give real numbers"),
        ([pd.DataFrame({"a": ["x"]})], r"^block 0 of X has a column that does not hold numbers: 'a'"),
    ],
)
def test_blocks_that_do_not_fit(given, words):
    with pytest.raises((ValueError, TypeError), match=words) as error:
        together(open_source(given))
    message(error)


def test_a_bad_entry_is_named_by_its_row_in_all_blocks():
    Y = X.copy()
    Y[33, 2] = np.inf
    with pytest.raises(ValueError, match=r"^X has an infinite entry \(inf\) at row 33, column 2"):
        open_source(Blocks(np.asarray, Y)).reduce(FirstPass())
