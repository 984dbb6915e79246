"""Objects that yield blocks of rows."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from tests.data.sources.checks import check_source, message, together

from laconic.data.passes import FirstPass
from laconic.data.sources.progress import PassProgress
from laconic.data.sources.registry import open_source

rng = np.random.default_rng(0)
X = rng.poisson(0.7, (60, 5)).astype(float)
NAMES = list("abcde")


class Blocks:
    """Begins anew each time."""

    def __init__(self, convert, rows=X):
        self._convert, self._rows = convert, rows

    def __iter__(self):
        return (self._convert(self._rows[i : i + 13]) for i in range(0, len(self._rows), 13))


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
    assert source.fingerprint() is None
    assert [block.share for block in source.blocks()] == [0.0] * 5
    check_source(source, X, names, min_blocks=5)  # the number of blocks is known now


def test_truth_values_and_empty_blocks():
    source = open_source([X > 0, X[:0] > 0, X[:1] > 0])
    expected = np.vstack([X, X[:1]]) > 0
    np.testing.assert_array_equal(together(source), expected)
    assert source.reduce(FirstPass(), PassProgress()).n_rows == 61


@pytest.mark.parametrize(
    "given",
    [
        X,
        X.tolist(),
        list(X),
        tuple(map(tuple, X)),
        [],
        [1.0, 2.0],
        [X.tolist(), X.tolist()],
        pd.DataFrame(X),
        sp.csr_array(X),
        sp.lil_matrix(X),
        pa.table({"a": X[:, 0]}),
        {"a": X},
        {1, 2},
        range(5),
        3.0,
        None,
    ],
    ids=str,
)
def test_what_is_in_memory_or_no_table(given):
    assert open_source(given) is None


@pytest.mark.parametrize("given", [(X for _ in range(3)), iter([X, X]), map(np.asarray, [X]), io.StringIO("a")])
def test_what_can_be_read_once(given):
    with pytest.raises(TypeError, match="can be read only once, and the data are read twice; give a list") as error:
        open_source(given)
    message(error)


def test_blocks_that_do_not_fit():
    with pytest.raises(ValueError, match=r"^block 1 of X has shape \(60, 4\), and block 0 has 5 columns") as error:
        together(open_source([X, X[:, :4]]))
    message(error)
    frames = [pd.DataFrame(X, columns=list(names)) for names in ("abcde", "abxde")]
    with pytest.raises(ValueError, match=r"^block 1 of X has the column 'x' where block 0 has 'c'") as error:
        together(open_source(frames))
    message(error)
    with pytest.raises(TypeError, match=r"^block 1 of X has entries of type complex128; give real numbers") as error:
        together(open_source([X, X + 1j]))
    message(error)
    with pytest.raises(ValueError, match=r"^block 0 of X has a column that does not hold numbers: 'a'"):
        open_source([pd.DataFrame({"a": ["x"]})])


def test_a_missing_entry_is_named_by_its_row_in_all_blocks():
    Y = X.copy()
    Y[33, 2] = np.inf
    with pytest.raises(ValueError, match=r"^X has an infinite entry \(inf\) at row 33, column 2"):
        open_source(Blocks(np.asarray, Y)).reduce(FirstPass(), PassProgress())
