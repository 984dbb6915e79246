"""From passes over blocks to a covariance: its rounding errors are bounded."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from laconic.covariance.standardization import standardize

from laconic.covariance.screening import Screening, covariance_from_gram
from laconic.data.passes import FirstPass, GramPass
from laconic.data.rows import ArraySource


def in_blocks(X, step):
    source = ArraySource(X)
    source._step = step
    return source


@pytest.mark.parametrize("centers", ["none", "means", "others"])
@pytest.mark.parametrize("seed", range(5))
def test_the_rounding_of_a_covariance_is_bounded(seed, centers):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4)) * [1, 10, 0.1, 3] + [0, 5, 1, -20]
    source = in_blocks(X, 17)
    moments = source.reduce(FirstPass()).moments
    standardization, _, divisor = standardize(moments, center=True, scale=False)
    columns = np.array([0, 1, 3])
    about = {"none": None, "means": standardization.means[columns], "others": np.array([1.0, 4.0, -21.0])}[centers]
    part = source.reduce(GramPass(columns, about))
    matrix, rounding = covariance_from_gram(part, columns, about, moments, standardization, divisor)
    m = [Fraction(float(x)) for x in standardization.means[columns]]
    rows = [[Fraction(float(x)) - c for x, c in zip(row, m, strict=True)] for row in X[:, columns]]
    exact = np.array([[float(sum(r[i] * r[j] for r in rows) / Fraction(divisor)) for j in range(3)] for i in range(3)])
    assert np.abs(np.linalg.eigvalsh(matrix - exact)).max() <= rounding + 1e-13 * np.abs(matrix).max()
    assert rounding <= 1e-9 * np.trace(exact)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_variances_of_hidden_columns_are_upper_bounds(convert, center, scale):
    X = np.random.default_rng(0).standard_normal((40, 8)) * 0.5 ** np.arange(8) + 2
    covariance = Screening(in_blocks(convert(X), 9), center, scale).with_columns(np.arange(3))
    C = X - X.mean(axis=0) if center else X
    S = C.T @ C / (len(X) - 1 if center and not scale else len(X))
    if scale:
        S = S / np.sqrt(np.outer(S.diagonal(), S.diagonal()))
    assert np.allclose(covariance.diagonal, S.diagonal(), rtol=1e-12)
    assert np.allclose(covariance.submatrix(np.arange(3)), S[:3, :3], rtol=1e-12, atol=1e-13)
    # Those of the columns at hand are the numbers computed, by definition of S.
    assert (covariance.enclosure.variances[3:] >= S.diagonal()[3:] * (1 - 1e-15)).all()
    assert (covariance.enclosure.variances <= S.diagonal() * (1 + 1e-9)).all()
