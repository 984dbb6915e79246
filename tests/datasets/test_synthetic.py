import numpy as np
import pytest

from laconic.datasets import gaussian_gram, noisy_rank_one, spiked_covariance, spiked_rows

SEEDS = range(3)
GENERATORS = {
    "spiked_covariance": lambda seed: spiked_covariance(20, 30, 4, rng=seed).covariance,
    "spiked_rows": lambda seed: spiked_rows(10, 20, 4, rng=seed).data,
    "gaussian_gram": lambda seed: gaussian_gram(10, 20, rng=seed).covariance,
    "noisy_rank_one": lambda seed: noisy_rank_one(20, rng=seed).covariance,
}


@pytest.mark.parametrize("make", list(GENERATORS.values()), ids=list(GENERATORS))
def test_seed_decides_everything(make):
    assert np.array_equal(make(1), make(np.random.default_rng(1)))
    assert not np.array_equal(make(1), make(2))
    rng = np.random.default_rng(0)
    assert not np.array_equal(make(rng), make(rng))
    assert not np.array_equal(make(None), make(None))
    with pytest.raises(TypeError):
        make(1.5)


@pytest.mark.parametrize(
    ("make", "settings", "error", "match"),
    [
        (spiked_covariance, {"n_features": 0}, ValueError, "n_features"),
        (spiked_covariance, {"n_samples": 2.5}, TypeError, "n_samples"),
        (spiked_covariance, {"cardinality": 251}, ValueError, "at most n_features = 250"),
        (spiked_covariance, {"signal": -1.0}, ValueError, "signal"),
        (spiked_covariance, {"signal": float("nan")}, ValueError, "signal"),
        (gaussian_gram, {"n_rows": True, "n_features": 3}, TypeError, "n_rows"),
        (noisy_rank_one, {"n_features": 0}, ValueError, "n_features"),
    ],
)
def test_settings_are_checked(make, settings, error, match):
    with pytest.raises(error, match=match):
        make(**settings)


def test_spike_truth_is_a_sparse_unit_vector():
    for spiked in (spiked_covariance(60, 80, 12), spiked_rows(5, 60, 12)):
        assert np.array_equal(np.flatnonzero(spiked.component), spiked.support)
        assert spiked.component[spiked.support] == pytest.approx(np.full(12, 1 / np.sqrt(12)))


@pytest.mark.parametrize("seed", SEEDS)
def test_spiked_covariance_noise_is_divided_by_the_root_of_m(seed):
    weak, spiked = (spiked_covariance(100, 60, 10, signal=s, rng=seed) for s in (0.0, 7.0))
    noise = spiked.covariance - 7 * np.outer(spiked.component, spiked.component)
    assert noise == pytest.approx(weak.covariance, abs=1e-12)
    eigenvalues = np.linalg.eigvalsh(noise)
    # V V' has rank m. Its diagonal is m on average, and sqrt(m) after the division.
    assert (eigenvalues > 1e-8).sum() == 60
    assert eigenvalues[0] > -1e-10
    assert np.trace(noise) / 100 == pytest.approx(np.sqrt(60), rel=0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_spiked_covariance_threshold_of_the_docstring(seed):
    # sqrt(250) (1 + sqrt(250 / 400)) = 28.3
    above = spiked_covariance(signal=100.0, rng=seed)
    leading = np.linalg.eigh(above.covariance)[1][:, -1]
    assert (leading @ above.component) ** 2 > 0.9
    assert np.array_equal(np.sort(np.argsort(-np.abs(leading))[:25]), above.support)
    below = spiked_covariance(rng=seed)
    assert (np.linalg.eigh(below.covariance)[1][:, -1] @ below.component) ** 2 < 0.1


def test_spiked_rows_have_the_stated_covariance():
    spiked = spiked_rows(20_000, 30, 5, signal=4.0)
    sample = spiked.data.T @ spiked.data / 20_000
    population = np.eye(30) + 4 * np.outer(spiked.component, spiked.component)
    # An entry's standard error is at most sqrt(2) 5 / sqrt(20000) = 0.05.
    assert sample == pytest.approx(population, abs=0.25)
    assert np.abs(sample - population).mean() < 0.02
    assert spiked.component @ sample @ spiked.component == pytest.approx(5, rel=0.06)


@pytest.mark.parametrize("seed", SEEDS)
def test_gaussian_gram(seed):
    gram = gaussian_gram(100, 150, rng=seed)
    assert gram.factor.shape == (100, 150)
    assert np.array_equal(gram.covariance, gram.factor.T @ gram.factor)
    assert gram.factor.mean() == pytest.approx(0, abs=0.05)
    assert gram.factor.var() == pytest.approx(1, abs=0.05)
    normalized = gaussian_gram(100, 150, normalized=True, rng=seed)
    assert np.allclose(normalized.covariance, gram.covariance / 100)


def test_noisy_rank_one_is_the_printed_formula():
    noisy = noisy_rank_one(3, rng=3)
    V = np.random.default_rng(3).random((3, 3))
    # ||(1, 1/2, 1/3)||^2 = 49/36
    spike = np.array([[36, 18, 12], [18, 9, 6], [12, 6, 4]]) / 49
    assert np.allclose(noisy.covariance, spike + 2 * V.T @ V)
    assert noisy.u == pytest.approx([1, 1 / 2, 1 / 3])


@pytest.mark.parametrize("seed", SEEDS)
def test_noisy_rank_one_is_close_to_ones_and_not_to_u(seed):
    noisy = noisy_rank_one(100, rng=seed)
    leading = np.abs(np.linalg.eigh(noisy.covariance)[1][:, -1])
    assert leading.sum() / 10 > 0.99
    assert leading @ noisy.u / np.linalg.norm(noisy.u) < 0.6
