"""Random rows with a known answer: the model that the docstring states."""

import numpy as np
import pytest

from laconic.datasets import spiked_rows


def test_seed_decides_everything():
    def make(seed):
        return spiked_rows(10, 20, 4, rng=seed).data

    assert np.array_equal(make(1), make(np.random.default_rng(1)))
    assert not np.array_equal(make(1), make(2))
    rng = np.random.default_rng(0)
    assert not np.array_equal(make(rng), make(rng))
    assert not np.array_equal(make(None), make(None))
    with pytest.raises(TypeError):
        make(1.5)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"n_features": 0}, "n_features=0"),
        ({"n_samples": 2.5}, "n_samples=2.5"),
        ({"n_samples": True}, "n_samples=True"),
        ({"cardinality": 251}, "at most n_features=250"),
        ({"signal": -1.0}, "signal=-1.0"),
        ({"signal": float("nan")}, "signal=nan"),
    ],
)
def test_settings_are_checked(settings, match):
    with pytest.raises(ValueError, match=match):
        spiked_rows(**{"n_samples": 10, "n_features": 250, "cardinality": 5, **settings})


def test_spike_truth_is_a_sparse_unit_vector():
    spiked = spiked_rows(5, 60, 12)
    assert np.array_equal(np.flatnonzero(spiked.component), spiked.support)
    assert spiked.component[spiked.support] == pytest.approx(np.full(12, 1 / np.sqrt(12)))


def test_spiked_rows_have_the_stated_covariance():
    spiked = spiked_rows(20_000, 30, 5, signal=4.0)
    sample = spiked.data.T @ spiked.data / 20_000
    population = np.eye(30) + 4 * np.outer(spiked.component, spiked.component)
    # An entry's standard error is at most sqrt(2) 5 / sqrt(20000) = 0.05.
    assert sample == pytest.approx(population, abs=0.25)
    assert np.abs(sample - population).mean() < 0.02
    assert spiked.component @ sample @ spiked.component == pytest.approx(5, rel=0.06)
