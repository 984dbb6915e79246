import numpy as np
import pytest

from laconic.datasets import gaussian_gram, noisy_rank_one, planted_topics, spiked_covariance, spiked_rows

SEEDS = range(5)


GENERATORS = {
    "spiked_covariance": lambda seed: spiked_covariance(20, 30, 4, random_state=seed).covariance,
    "spiked_rows": lambda seed: spiked_rows(10, 20, 4, random_state=seed).data,
    "gaussian_gram": lambda seed: gaussian_gram(10, 20, random_state=seed).covariance,
    "noisy_rank_one": lambda seed: noisy_rank_one(20, random_state=seed).covariance,
    "planted_topics": lambda seed: planted_topics(200, 60, 3, 5, random_state=seed).data.toarray(),
}


@pytest.mark.parametrize("make", list(GENERATORS.values()), ids=list(GENERATORS))
@pytest.mark.parametrize("seed", SEEDS)
def test_seed_decides_everything(make, seed):
    assert np.array_equal(make(seed), make(seed))
    assert np.array_equal(make(seed), make(np.random.default_rng(seed)))
    assert not np.array_equal(make(seed), make(seed + 1))


@pytest.mark.parametrize("make", list(GENERATORS.values()), ids=list(GENERATORS))
def test_generator_is_drawn_from(make):
    rng = np.random.default_rng(0)
    assert not np.array_equal(make(rng), make(rng))


@pytest.mark.parametrize("make", list(GENERATORS.values()), ids=list(GENERATORS))
@pytest.mark.parametrize(
    ("random_state", "error"),
    [(None, TypeError), (True, TypeError), (1.0, TypeError), (np.random, TypeError), (-1, ValueError)],
    ids=["none", "bool", "float", "module", "negative"],
)
def test_random_state_is_checked(make, random_state, error):
    with pytest.raises(error, match="random_state"):
        make(random_state)


@pytest.mark.parametrize(
    ("make", "settings", "error", "match"),
    [
        (spiked_covariance, {"n_features": 0}, ValueError, "n_features"),
        (spiked_covariance, {"n_samples": 2.5}, TypeError, "n_samples"),
        (spiked_covariance, {"cardinality": 251}, ValueError, "at most n_features = 250"),
        (spiked_covariance, {"signal": -1.0}, ValueError, "signal"),
        (spiked_covariance, {"signal": float("nan")}, ValueError, "signal"),
        (spiked_covariance, {"entries": "ones"}, ValueError, "'equal', 'signed' or 'gaussian'"),
        (gaussian_gram, {"n_rows": True, "n_features": 3}, TypeError, "n_rows"),
        (noisy_rank_one, {"n_features": 0}, ValueError, "n_features"),
        (planted_topics, {"topic_share": 0.0}, ValueError, "topic_share"),
        (planted_topics, {"topic_share": 1.1}, ValueError, "topic_share"),
        (planted_topics, {"topic_rate": -1.0}, ValueError, "topic_rate"),
        (planted_topics, {"n_words": 60}, ValueError, "half of 60 words is 30"),
    ],
)
def test_settings_are_checked(make, settings, error, match):
    with pytest.raises(error, match=match):
        make(**settings)


@pytest.mark.parametrize("entries", ["equal", "signed", "gaussian"])
@pytest.mark.parametrize("seed", SEEDS)
def test_spike_truth_is_a_sparse_unit_vector(entries, seed):
    for spiked in (
        spiked_covariance(60, 80, 12, entries=entries, random_state=seed),
        spiked_rows(5, 60, 12, entries=entries, random_state=seed),
    ):
        assert np.linalg.norm(spiked.component) == pytest.approx(1)
        assert np.array_equal(np.flatnonzero(spiked.component), spiked.support)
        assert len(spiked.support) == 12
        values = spiked.component[spiked.support]
        if entries == "equal":
            assert values == pytest.approx(np.full(12, 1 / np.sqrt(12)))
        elif entries == "signed":
            assert np.abs(values) == pytest.approx(np.full(12, 1 / np.sqrt(12)))
        else:
            assert len(np.unique(np.abs(values))) == 12


def test_signed_entries_have_both_signs():
    assert set(np.sign(spiked_rows(1, 60, 30, entries="signed").component)) == {-1, 0, 1}


@pytest.mark.parametrize("seed", SEEDS)
def test_spiked_covariance_noise_is_divided_by_the_root_of_m(seed):
    spiked = spiked_covariance(100, 60, 10, signal=7.0, random_state=seed)
    S = spiked.covariance
    assert np.array_equal(S, S.T)
    noise = S - 7 * np.outer(spiked.component, spiked.component)
    eigenvalues = np.linalg.eigvalsh(noise)
    # V V' has rank m. Its diagonal is m on average, and sqrt(m) after the division.
    assert (eigenvalues > 1e-8).sum() == 60
    assert eigenvalues[0] > -1e-10
    assert np.trace(noise) / 100 == pytest.approx(np.sqrt(60), rel=0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_spiked_covariance_signal_scales_only_the_spike(seed):
    weak, strong = (spiked_covariance(30, 40, 5, signal=s, random_state=seed) for s in (0.0, 3.0))
    difference = strong.covariance - weak.covariance
    assert difference == pytest.approx(3 * np.outer(strong.component, strong.component), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_spiked_covariance_threshold_of_the_docstring(seed):
    # sqrt(250) (1 + sqrt(250 / 400)) = 28.3
    above = spiked_covariance(signal=100.0, random_state=seed)
    leading = np.linalg.eigh(above.covariance)[1][:, -1]
    assert (leading @ above.component) ** 2 > 0.9
    assert np.array_equal(np.sort(np.argsort(-np.abs(leading))[:25]), above.support)
    below = spiked_covariance(random_state=seed)
    assert (np.linalg.eigh(below.covariance)[1][:, -1] @ below.component) ** 2 < 0.1


@pytest.mark.parametrize("entries", ["equal", "signed", "gaussian"])
@pytest.mark.parametrize("seed", SEEDS)
def test_spiked_rows_have_the_stated_covariance(entries, seed):
    spiked = spiked_rows(20_000, 30, 5, signal=4.0, entries=entries, random_state=seed)
    assert spiked.data.shape == (20_000, 30)
    sample = spiked.data.T @ spiked.data / 20_000
    population = np.eye(30) + 4 * np.outer(spiked.component, spiked.component)
    # An entry's standard error is at most sqrt(2) 5 / sqrt(20000) = 0.05.
    assert sample == pytest.approx(population, abs=0.25)
    assert np.abs(sample - population).mean() < 0.02
    assert spiked.component @ sample @ spiked.component == pytest.approx(5, rel=0.06)


@pytest.mark.parametrize("seed", SEEDS)
def test_spiked_rows_support_is_recovered_from_many_rows(seed):
    spiked = spiked_rows(4000, 100, 5, signal=4.0, random_state=seed)
    by_variance = np.argsort(-spiked.data.var(axis=0))[:5]
    assert np.array_equal(np.sort(by_variance), spiked.support)


@pytest.mark.parametrize("seed", SEEDS)
def test_gaussian_gram(seed):
    gram = gaussian_gram(100, 150, random_state=seed)
    assert gram.factor.shape == (100, 150)
    assert np.array_equal(gram.covariance, gram.factor.T @ gram.factor)
    assert np.linalg.matrix_rank(gram.covariance) == 100
    assert gram.factor.mean() == pytest.approx(0, abs=0.05)
    assert gram.factor.var() == pytest.approx(1, abs=0.05)
    normalized = gaussian_gram(100, 150, normalized=True, random_state=seed)
    assert np.allclose(normalized.covariance, gram.covariance / 100)
    assert np.diag(normalized.covariance).mean() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_noisy_rank_one(seed):
    n = 100
    noisy = noisy_rank_one(n, random_state=seed)
    assert noisy.u == pytest.approx([1 / i for i in range(1, n + 1)])
    noise = noisy.covariance - np.outer(noisy.u, noisy.u) / (noisy.u @ noisy.u)
    assert np.array_equal(noisy.covariance, noisy.covariance.T)
    assert np.linalg.eigvalsh(noise)[0] > -1e-9
    # 2 V'V with V uniform on [0, 1]: n/2 off the diagonal, 2n/3 on it.
    off_diagonal = noise[~np.eye(n, dtype=bool)]
    assert off_diagonal.mean() == pytest.approx(n / 2, rel=0.03)
    assert np.diag(noise).mean() == pytest.approx(2 * n / 3, rel=0.03)
    leading = np.abs(np.linalg.eigh(noisy.covariance)[1][:, -1])
    assert leading.sum() / np.sqrt(n) > 0.99
    assert leading @ noisy.u / np.linalg.norm(noisy.u) < 0.6


def test_noisy_rank_one_is_the_printed_formula():
    noisy = noisy_rank_one(3, random_state=3)
    V = np.random.default_rng(3).random((3, 3))
    # ||(1, 1/2, 1/3)||^2 = 49/36
    spike = np.array([[36, 18, 12], [18, 9, 6], [12, 6, 4]]) / 49
    assert np.allclose(noisy.covariance, spike + 2 * V.T @ V)
