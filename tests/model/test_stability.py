"""Stability: samples, frequencies, the index, the matching of components, and the bound on chance."""

import numpy as np
import pytest
import scipy.sparse as sp

from laconic import SparsePCA, stability
from laconic.core.monitor import Stop
from laconic.model.stability import _fit_sample, drawn, stability_index


def drawn_again(X, *, resamples=100, n_jobs=None, **settings):
    return stability(SparsePCA(**settings), X, resamples=resamples, n_jobs=n_jobs)


def planted(seed=0, n=120, p=15, strengths=(2.0, 1.2), k=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for t, strength in enumerate(strengths):
        X[:, t * k : (t + 1) * k] += strength * rng.standard_normal((n, 1))
    return X


def test_the_index_of_a_small_example_by_hand():
    # Three samples of four features. f = (1, 2/3, 1/3, 0), m = 2, and every sample chooses two: (m/d)(1 - m/d) = 1/4.
    # Mean of f(1 - f) = (2/9 + 2/9)/4 = 1/9, times M/(M - 1) = 3/2: 1/6. The index is 1 - (1/6)/(1/4) = 1/3.
    chosen = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]], dtype=bool)
    index, (low, high) = stability_index(chosen)
    assert index == pytest.approx(1 / 3)
    # Influences differ only in (1/d) sum_j z_j f_j / (1/4): 5/3, 5/3, 4/3, mean 14/9. Squares add up to 6/81.
    deviation = np.sqrt(4 / 9 * 6 / 81)
    assert low == pytest.approx(1 / 3 - 1.959963985 * deviation)
    assert high == pytest.approx(1 / 3 + 1.959963985 * deviation)


def test_the_index_is_one_for_equal_choices_and_about_zero_for_random_ones():
    assert stability_index(np.tile([True, False, True, False], (5, 1))) == (1.0, (1.0, 1.0))
    rng = np.random.default_rng(0)
    chosen = np.zeros((400, 30), dtype=bool)
    for row in chosen:
        row[rng.choice(30, 6, replace=False)] = True
    index, (low, high) = stability_index(chosen)
    assert low < 0 < high
    assert abs(index) < 0.02
    assert np.isnan(stability_index(np.ones((3, 4), dtype=bool))[0])


@pytest.mark.parametrize("n", [10, 11])
def test_half_samples_come_in_pairs_without_a_common_row(n):
    for pair in range(5):
        a, b = drawn(n, 3, 2 * pair), drawn(n, 3, 2 * pair + 1)
        assert len(a) == len(b) == n // 2
        assert not np.intersect1d(a, b).size
    assert not np.array_equal(drawn(n, 3, 0), drawn(n, 3, 2))


def test_planted_features_are_found_again_and_noise_is_not():
    found = drawn_again(planted(), n_components=2, cardinality=3, resamples=40)
    assert sorted(found.selected(0.9)) == [0, 1, 2, 3, 4, 5]
    assert sorted(found.selected(0.9, component=1)) == [0, 1, 2]
    assert (found.indices > 0.9).all()
    assert found.verdict.startswith("Component 1: 3 of its 3 features are chosen in at least 75 % of 40 half samples.")
    noise = drawn_again(np.random.default_rng(1).standard_normal((60, 15)), cardinality=3, resamples=40)
    assert noise.index < 0.4
    assert "Its stability is low" in noise.verdict


def test_frequencies_count_the_supports():
    found = drawn_again(planted(), n_components=2, cardinality=[3, 2], resamples=10)
    for t, size in enumerate((3, 2)):
        counted = np.zeros(15)
        for sample in found.supports:
            assert len(sample[t]) in (2, 3)
            counted[sample[t]] += 0.1
        np.testing.assert_allclose(found.frequencies[t], counted)
        assert np.count_nonzero(found.components[t]) == size
    union = np.mean([np.isin(np.arange(15), np.concatenate(sample)) for sample in found.supports], axis=0)
    np.testing.assert_allclose(found.any_frequencies, union)
    frame = found.to_frame()
    assert set(frame.columns) == {"component", "feature", "frequency", "in_support"}
    first = frame[frame["component"] == 1]
    assert first["frequency"].is_monotonic_decreasing
    assert first["in_support"].sum() == 3


def test_each_sample_is_fitted_as_well_as_a_fit_of_its_own():
    for strength in (0.0, 0.5, 1.5):
        X = planted(5, n=240, p=120, strengths=(strength,), k=6)
        found = drawn_again(X, cardinality=6, resamples=6)
        for number, (support,) in enumerate(found.supports):
            rows = X[drawn(240, 0, number)]
            cold = SparsePCA(cardinality=6, proof=None).fit(rows)
            S = np.cov(rows.T)
            assert np.linalg.eigvalsh(S[np.ix_(support, support)])[-1] >= cold.lower_bound_[0] * (1 - 1e-9)


def test_rows_are_drawn_with_their_weights():
    X, weights = planted(2, strengths=(0.8, 0.7)), np.r_[np.random.default_rng(0).random(100) + 0.1, np.zeros(20)]
    model = SparsePCA(2, cardinality=3)
    found = stability(model, X, sample_weight=weights, resamples=6)
    for number, sample in enumerate(found.supports):
        own = drawn(100, 0, number)
        alone = SparsePCA(2, cardinality=3, proof=None).fit(X[own], sample_weight=weights[own])
        assert {tuple(s) for s in sample} == {tuple(s) for s in alone.supports_}
    shorter = stability(model, X[:100], sample_weight=weights[:100], resamples=6)
    np.testing.assert_array_equal(found.frequencies, shorter.frequencies)
    equal = stability(model, X, sample_weight=2.5, resamples=6).frequencies
    np.testing.assert_array_equal(equal, stability(model, X, resamples=6).frequencies)
    assert not np.array_equal(found.frequencies, stability(model, X[:100], resamples=6).frequencies)


def test_a_matrix_has_no_rows_to_draw():
    with pytest.raises(ValueError, match=r"^stability needs rows in memory, and a covariance matrix has none"):
        stability(SparsePCA(cardinality=2), covariance=np.eye(4))


def test_the_bound_on_chance():
    X = planted(p=30)
    found = drawn_again(X, cardinality=3, resamples=4)
    assert found.expected_by_chance(0.75) == pytest.approx(9 / (0.5 * 30))
    assert found.expected_by_chance(1.0) == pytest.approx(9 / 30)
    with pytest.raises(ValueError, match=r"threshold=0\.5 must be above 0\.5"):
        found.expected_by_chance(0.5)
    # Features forced in are not chosen: two of 29 are.
    forced = drawn_again(X, cardinality=3, resamples=4, forced_in=[7])
    assert (forced.frequencies[:, 7] == 1).all()
    assert forced.expected_by_chance(0.75) == pytest.approx(4 / (0.5 * 29))


def test_the_result_depends_on_the_seed_and_on_nothing_else():
    X = planted(2, strengths=(0.8, 0.7))
    one = drawn_again(X, n_components=2, cardinality=3, resamples=6)
    two = drawn_again(X, n_components=2, cardinality=3, resamples=6, n_jobs=2)
    np.testing.assert_array_equal(one.frequencies, two.frequencies)
    assert one.interval == two.interval
    sparse = drawn_again(sp.csr_array(X), n_components=2, cardinality=3, resamples=6)
    np.testing.assert_allclose(one.frequencies, sparse.frequencies)
    other = drawn_again(X, n_components=2, cardinality=3, resamples=6, random_state=1)
    assert not np.array_equal(one.frequencies, other.frequencies)


def test_a_time_limit_keeps_the_samples_that_are_done(monkeypatch):
    # The time is over in the sixth sample. The fifth has no other half.
    def limited(*arguments):
        return None if arguments[-2] == 5 else _fit_sample(*arguments)

    monkeypatch.setattr("laconic.model.stability._fit_sample", limited)
    found = drawn_again(planted(), cardinality=3, resamples=20)
    assert found.stopped is Stop.TIME_LIMIT
    assert len(found.supports) == 4
    assert "Stopped early, after 4 of 20 samples: time limit reached." in found.verdict


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"resamples": 7}, "resamples=7 must be even: half samples come in pairs."),
        ({"resamples": 0}, "resamples=0 must be an int of at least 2."),
        ({"cardinality": 99}, "cardinality=99 must lie between 1 and the number of features, 15"),
    ],
)
def test_errors_are_one_sentence(settings, message):
    with pytest.raises(ValueError, match=message):
        drawn_again(planted(), **{"cardinality": 3, **settings})
