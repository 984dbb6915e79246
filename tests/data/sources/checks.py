"""What every source must do: the same rows in every way of reading."""

import numpy as np
import scipy.sparse as sp

from laconic.data.passes import FirstPass
from laconic.data.sources.memory import ArraySource
from laconic.data.sources.progress import PassProgress


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


def together(source, columns=None, first=0):
    """All rows of a source, as one dense array."""
    blocks = [dense(block.rows) for block in source.blocks(columns, first)]
    width = source.n_features if columns is None else len(columns)
    return np.vstack([np.empty((0, width)), *blocks])


def check_source(source, expected, names=None, min_blocks=1):
    """Rows, columns, block numbers, moments and digests are those of an array in memory."""
    expected = np.asarray(expected, dtype=float)
    assert source.n_features == expected.shape[1]
    assert source.n_rows in (None, len(expected))
    assert source.feature_names == names
    blocks = list(source.blocks())
    assert len(blocks) >= min_blocks
    shares = [block.share for block in blocks]
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1
    np.testing.assert_array_equal(together(source), expected)
    for block in blocks:
        assert sp.issparse(block.rows) == source.sparse
        if source.sparse:
            assert block.rows.format == "csr"
            assert block.rows.has_canonical_format
    for columns in (np.array([0]), np.arange(1, source.n_features, 2), np.arange(source.n_features)):
        np.testing.assert_array_equal(together(source, columns), expected[:, columns])
    sizes = [block.rows.shape[0] for block in blocks]
    assert [block.rows.shape[0] for block in source.blocks(np.array([0]))] == sizes
    for first in {0, 1, len(blocks) // 2, len(blocks) - 1, len(blocks)}:
        begin = sum(sizes[:first])
        np.testing.assert_array_equal(together(source, None, first), expected[begin:])
        np.testing.assert_array_equal(together(source, np.array([1]), first), expected[begin:, [1]])
    found = source.reduce(FirstPass(), PassProgress())
    truth = ArraySource(expected).reduce(FirstPass(), PassProgress())
    assert found.column_digests.agrees_with(truth.column_digests)
    np.testing.assert_allclose(found.moments.means, truth.moments.means, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.moments.variances, truth.moments.variances, rtol=1e-10)


def message(error):
    """The text of an error, which must be one sentence."""
    text = str(error.value)
    assert text.endswith(".")
    assert "\n" not in text
    return text
