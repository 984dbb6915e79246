"""What every source must do: the same rows in every way of reading."""

import numpy as np
import scipy.sparse as sp

from laconic.data.passes import FirstPass
from laconic.data.rows import ArraySource


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


def together(source, columns=None):
    """All rows of a source, as one dense array."""
    blocks = [dense(block.rows) for block in source.blocks(columns)]
    width = source.n_features if columns is None else len(columns)
    return np.vstack([np.empty((0, width)), *blocks])


def check_source(source, expected, names=None, min_blocks=1):
    """Rows, columns, moments and digests are those of an array in memory."""
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
        assert not source.sparse or block.rows.has_canonical_format
    for columns in (np.array([0]), np.arange(1, source.n_features, 2), np.arange(source.n_features)):
        np.testing.assert_array_equal(together(source, columns), expected[:, columns])
    job = FirstPass(allow_missing=bool(np.isnan(expected).any()))
    found, truth = (data.reduce(job) for data in (source, ArraySource(expected)))
    assert found.column_digests.agrees_with(truth.column_digests)
    np.testing.assert_allclose(found.moments.means, truth.moments.means, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.moments.variances, truth.moments.variances, rtol=1e-10)


def message(error):
    """The text of an error, which must be one line."""
    text = str(error.value)
    assert text.endswith(".")
    assert "\n" not in text
    return text
