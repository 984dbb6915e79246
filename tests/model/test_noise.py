"""Components beside noise: noise is called noise, planted components are found, and the p-value is a p-value."""

import numpy as np
import pandas as pd
import pytest

from laconic import SparsePCA, noise
from laconic.core.monitor import Stop
from laconic.data import open_source
from laconic.methods import Penalized
from laconic.model.noise import ComponentNoise, _search
from laconic.search.problem import Solution, Status


def compared(X, *, permutations=99, n_jobs=None, **settings):
    return noise(SparsePCA(**settings), X, permutations=permutations, n_jobs=n_jobs)


def noise_table(seed, n=40, p=12):
    return np.random.default_rng(seed).standard_normal((n, p))


def planted(seed, n=120, p=24, count=2, k=4, strength=2.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for t in range(count):
        X[:, t * k : (t + 1) * k] += np.sqrt(strength) * rng.standard_normal((n, 1))
    return X


def record(value, noise):
    solution = Solution(np.array([0]), np.array([1.0]), value, Status.LOCAL)
    return ComponentNoise(1, solution, value, np.asarray(noise, dtype=float))


@pytest.mark.parametrize(
    ("value", "noise", "expected"),
    [
        (2.0, np.ones(99), "It is better than in 99 of 99 permuted tables (p <= 0.01)."),
        (2.0, [*np.ones(97), 3, 3], "It is better than in 97 of 99 permuted tables (p = 0.03)."),
        (2.0, [*np.ones(62), *[3] * 37], "It is no better than noise: permuted columns give as much in 37 of 99 tables"
                                         " (p = 0.38)."),
        (2.0, np.ones(9), "It is better than in 9 of 9 permuted tables (p <= 0.1); at least 19 are needed to tell it "
                          "from noise."),
        (2.0, [], "It was not compared with noise: there was no time left."),
    ],
)  # fmt: skip
def test_the_sentence(value, noise, expected):
    assert record(value, noise).verdict == expected


def test_p_values_of_noise_are_uniform_or_larger():
    # 60 tables of pure noise. If p were uniform, P(max over a of the excess of the empirical distribution > 0.174)
    # would be 0.025 (one-sided Kolmogorov-Smirnov). The seeds are fixed.
    p = np.array([
        compared(noise_table(seed), cardinality=4, permutations=19, random_state=seed).p_values[0]
        for seed in range(60)
    ])  # fmt: skip
    levels = np.arange(1, 21) / 20
    below = np.array([(p <= level + 1e-12).mean() for level in levels])
    assert (below - levels).max() < 0.174
    # They are not all near one either: the test would then never find anything.
    assert (p <= 0.5).mean() > 0.3


@pytest.mark.parametrize("seed", range(4))
def test_planted_components_are_found_and_the_next_is_noise(seed):
    found = compared(planted(seed), n_components=3, cardinality=4, permutations=39)
    assert found.n_real() == 2
    assert found.components[2].verdict.startswith("It is no better than noise")
    supports = sorted(tuple(one.solution.support) for one in found.components[:2])
    assert supports == [(0, 1, 2, 3), (4, 5, 6, 7)]


@pytest.mark.slow
def test_the_first_noise_after_planted_components_is_called_real_at_about_the_level():
    # Residual columns permuted as they are would reject 40 % here; see the module.
    p = np.array([
        compared(planted(seed, 250, 20, 3, 5), n_components=4, cardinality=5, permutations=19).p_values[3]
        for seed in range(100)
    ])  # fmt: skip
    # The 0.999 quantile of a binomial with 100 trials of 0.05 is 13.
    assert np.count_nonzero(p <= 0.05) <= 13


def test_values_are_those_of_a_fit_and_do_not_depend_on_the_number_of_jobs():
    X = planted(0)
    one = compared(X, n_components=3, cardinality=[4, 3, 2], permutations=5)
    two = compared(X, n_components=3, cardinality=[4, 3, 2], permutations=5, n_jobs=2)
    model = SparsePCA(cardinality=[4, 3, 2], proof=None).fit(X)
    for a, b, value in zip(one.components, two.components, model.lower_bound_, strict=True):
        np.testing.assert_array_equal(a.noise, b.noise)
        assert a.value == pytest.approx(value)
    other = compared(X, n_components=3, cardinality=[4, 3, 2], permutations=5, random_state=1)
    assert not np.array_equal(one.components[0].noise, other.components[0].noise)


@pytest.fixture
def five_tables_of_time(monkeypatch):
    """The time is over in the sixth permuted table."""
    calls = []

    def limited(*arguments):
        calls.append(1)
        return None if len(calls) > 1 + 5 else _search(*arguments)  # the first search is in the data

    monkeypatch.setattr("laconic.model.noise._search", limited)


@pytest.mark.usefixtures("five_tables_of_time")
def test_a_time_limit_keeps_what_is_done():
    found = compared(planted(0), n_components=2, cardinality=4, permutations=99)
    (one,) = found.components
    assert found.stopped is Stop.TIME_LIMIT
    assert one.permutations == 5
    assert "Only 5 of 99 permuted tables were done." in found.verdict
    assert "stopped early" in found.verdict


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"permutations": 0}, "permutations=0 must be an int of at least 1."),
        ({"permutations": 2.5}, "permutations=2.5 must be an int"),
        ({"method": "gpower-l1-block", "n_components": 2}, "one after the other"),
        ({"method": Penalized(0.5), "cardinality": None}, "a penalty finds another size in each permuted table"),
        ({"n_components": 2, "deflation": "schur"}, "give deflation='projection'"),
        ({"n_components": 2, "joint": "span"}, "joint='span' finds them together"),
        ({"forced_in": ["a"]}, "no feature names"),
    ],
)
def test_errors_are_one_sentence(settings, message):
    with pytest.raises(ValueError, match=message):
        compared(noise_table(0), **{"cardinality": 3, **settings})


def test_a_model_that_finds_the_cardinality_is_compared_at_that_cardinality():
    X = planted(1)
    model = SparsePCA(n_components=2, cardinality=0.7, proof=None)
    found = noise(model, X, permutations=9)
    model.fit(X)
    assert [len(one.solution.support) for one in found.components] == [len(s) for s in model.supports_]
    np.testing.assert_allclose([one.value for one in found.components], model.lower_bound_)


def test_rows_are_needed_in_memory_and_of_equal_weight(tmp_path):
    X = noise_table(0)
    file = tmp_path / "rows.csv"
    pd.DataFrame(X).to_csv(file, index=False)
    with pytest.raises(ValueError, match="read in blocks; load it"):
        compared(open_source(file, blocks=True), cardinality=2)
    with pytest.raises(ValueError, match=r"^noise needs rows in memory, and a covariance matrix has none"):
        noise(SparsePCA(cardinality=2), covariance=np.cov(X.T))
    with pytest.raises(ValueError, match="would lose the weight of its row; leave sample_weight out, or repeat rows"):
        noise(SparsePCA(cardinality=2), X, sample_weight=2)
