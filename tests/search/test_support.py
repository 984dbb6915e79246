import numpy as np
import pytest

from helpers import equicorrelated, random_psd
from laconic.search.support import added, removed

BLOCKS = {
    "random": lambda seed: random_psd(6, seed=seed),
    "singular": lambda seed: random_psd(6, 2, seed),
    "rank-one": lambda seed: random_psd(6, 1, seed),
    "diagonal": lambda seed: np.diag(np.random.default_rng(seed).random(6)),
    "identity": lambda seed: np.eye(6) * (1 + seed),
    "equicorrelated": lambda seed: equicorrelated(6, 0.3 * seed),
    "indefinite": lambda seed: random_psd(6, seed=seed) - np.diag([3.0, 0, 3, 0, 0, 3]),
    "one": lambda seed: np.array([[1.0 + seed]]),
    "large": lambda seed: random_psd(40, seed=seed),
}


@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", BLOCKS)
def test_added_is_the_largest_eigenvalue_of_the_bordered_matrix(name, seed, scale):
    block = scale * BLOCKS[name](seed)
    rng = np.random.default_rng(seed)
    m = len(block)
    couplings = scale * rng.standard_normal((m, 8)) * 10.0 ** rng.integers(-9, 2, 8)
    couplings[:, 0] = 0  # joins without touching anything
    variances = scale * rng.standard_normal(8) * 10.0 ** rng.integers(-3, 3, 8)
    variances[1] = np.abs(block).max()
    values, vectors = np.linalg.eigh(block)
    found = added(values, vectors.T @ couplings, variances)
    for g, a, reached in zip(couplings.T, variances, found, strict=True):
        matrix = np.block([[block, g[:, None]], [g[None], np.array([[a]])]])
        expected = np.linalg.eigvalsh(matrix)
        assert abs(reached - expected[-1]) <= 1e-13 * m * np.abs(expected).max()


@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", [name for name in BLOCKS if name != "one"])
def test_removed_is_the_largest_eigenvalue_of_what_is_left(name, seed, scale):
    block = scale * BLOCKS[name](seed)
    found = removed(*np.linalg.eigh(block))
    for i, reached in enumerate(found):
        rest = np.delete(np.delete(block, i, 0), i, 1)
        # squared eigenvectors below rounding cannot move the root, so the error is of the order of rounding
        assert abs(reached - np.linalg.eigvalsh(rest)[-1]) <= 1e-12 * np.abs(block).max() * len(block)


def test_removing_a_feature_that_stands_alone():
    block = np.diag([5.0, 3.0, 1.0])
    assert removed(*np.linalg.eigh(block)) == pytest.approx([3, 5, 5], rel=1e-14)
