"""Five deflations against their dense formulas."""

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import random_psd
from laconic.covariance import (
    DeflatedCovariance,
    DenseCovariance,
    FactorCovariance,
    ScreenedCovariance,
    covariance_of,
)
from laconic.covariance.deflation import DEFLATIONS, Deflation
from matrices import sparse_unit_vectors


def dense_deflation(S, Z, kind):
    """Mackey's formulas, with matrices written out."""
    n = len(S)
    directions = []
    for z in Z:
        if kind.startswith("orthogonalized"):
            for d in directions:
                z = z - d * (d @ z)
            for d in directions:
                z = z - d * (d @ z)
            z = z / np.linalg.norm(z)
            directions.append(z)
        value = z @ S @ z
        if kind.endswith("hotelling"):
            S = S - value * np.outer(z, z)
        elif kind.endswith("projection"):
            P = np.eye(n) - np.outer(z, z)
            S = P @ S @ P
        else:
            S = S - S @ np.outer(z, z) @ S / value
    return S


BASES = {
    "dense": lambda seed: (lambda S: (DenseCovariance(S), S))(random_psd(10, 20, seed)),
    "factor": lambda seed: (lambda A: (FactorCovariance(A), A.T @ A))(
        np.random.default_rng(seed).standard_normal((6, 15))
    ),
    "sparse": lambda seed: (lambda X: (covariance_of(X)[0], np.cov(X.toarray(), rowvar=False)))(
        sp.random(12, 20, 0.4, format="csr", random_state=seed)
    ),
}


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("kind", DEFLATIONS)
def test_equals_the_dense_formula_after_each_of_four_components(kind, base, seed, scale):
    covariance, S = BASES[base](seed)
    if scale != 1.0:
        covariance, S = DenseCovariance(scale * S), scale * S
    Z = sparse_unit_vectors(4, len(S), 3, seed)
    deflation = Deflation(covariance, kind)
    everything = np.arange(len(S))
    for count in range(1, 5):
        left = deflation.remove(Z[count - 1])
        expected = dense_deflation(S, Z[:count], kind)
        tolerance = 1e-10 * np.abs(S).max()
        assert left is deflation.current
        np.testing.assert_allclose(left.submatrix(everything), expected, rtol=0, atol=tolerance)
        np.testing.assert_allclose(left.diagonal, expected.diagonal(), rtol=0, atol=tolerance)
        np.testing.assert_allclose(left.columns(np.array([2, 0])), expected[:, [2, 0]], rtol=0, atol=tolerance)
        v = np.random.default_rng(seed).standard_normal(len(S))
        np.testing.assert_allclose(left.product(v), expected @ v, rtol=0, atol=10 * tolerance)


@pytest.mark.parametrize("kind", DEFLATIONS)
def test_what_is_left_is_an_operator_of_low_rank(kind):
    """No n x n matrix is kept beside the one there was: two columns a component at most."""
    covariance = FactorCovariance(np.random.default_rng(0).standard_normal((5, 400)))
    deflation = Deflation(covariance, kind)
    for count, z in enumerate(sparse_unit_vectors(3, 400, 4, 1), start=1):
        left = deflation.remove(z)
        assert isinstance(left, DeflatedCovariance)
        assert left.base is covariance
        assert left.factors.shape[0] == 400
        assert left.factors.shape[1] <= 2 * count


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", DEFLATIONS)
def test_semidefinite_where_claimed(kind, seed):
    S = random_psd(9, 12, seed)
    deflation = Deflation(DenseCovariance(S), kind)
    for z in sparse_unit_vectors(5, 9, 3, seed):
        left = deflation.remove(z)
        smallest = np.linalg.eigvalsh(left.submatrix(np.arange(9)))[0]
        if left.semidefinite:
            assert smallest >= -1e-10
    claimed = kind in {"projection", "schur", "orthogonalized-projection"}
    assert deflation.current.semidefinite == claimed
    if kind == "hotelling":
        assert smallest < -1e-3  # and rightly not claimed


@pytest.mark.parametrize("kind", ["projection", "orthogonalized-projection", "schur"])
@pytest.mark.parametrize("seed", range(3))
def test_earlier_components_stay_out(kind, seed):
    """The Schur complement and the orthogonalised projection never bring back what was taken out before."""
    S = random_psd(9, 12, seed)
    Z = sparse_unit_vectors(3, 9, 3, seed)
    deflation = Deflation(DenseCovariance(S), kind)
    for z in Z:
        left = deflation.remove(z)
    if kind == "projection":  # the plain one does bring it back, which is why the other exists
        assert np.abs(left.product(Z[0])).max() > 1e-3
    else:
        assert np.abs(left.product(Z.T)).max() < 1e-10


def test_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="deflation='qr' is not known; choose one of hotelling, projection, schur"):
        Deflation(DenseCovariance(np.eye(2)), "qr")


@pytest.mark.parametrize("kind", DEFLATIONS)
def test_parts_of_what_is_left_if_some_features_are_hidden(kind):
    """The part at hand is deflated as alone; a part of it may leave features of the components out."""
    S = random_psd(9, 12, 0)
    hand = np.array([0, 2, 3, 5, 8])
    inner = DenseCovariance(S[np.ix_(hand, hand)])
    screened = ScreenedCovariance(inner, hand, S.diagonal().copy(), np.zeros(9))
    z = np.zeros(9)
    z[[2, 5]] = [0.6, 0.8]
    left, alone = Deflation(screened, kind).remove(z), Deflation(inner, kind).remove(z[hand])
    everything = np.arange(5)
    np.testing.assert_allclose(left.on_hand().submatrix(everything), alone.submatrix(everything), atol=1e-12)
    np.testing.assert_allclose(left.diagonal[[1, 4, 6, 7]], S.diagonal()[[1, 4, 6, 7]])
    for keep in ([0, 3, 8], [8, 2, 0], [3, 0]):
        part, places = left.part(np.array(keep)), np.searchsorted(hand, keep)
        np.testing.assert_allclose(part.columns(np.arange(len(keep))), alone.submatrix(places), atol=1e-12)
    mixed = left.part(np.array([0, 1, 2, 8]))
    assert mixed.at_hand.tolist() == [0, 2, 3]
    np.testing.assert_allclose(
        mixed.on_hand().submatrix(np.arange(3)), alone.submatrix(np.array([0, 1, 4])), atol=1e-12
    )
    with pytest.raises(ValueError, match="not at hand"):
        mixed.submatrix(np.arange(4))
