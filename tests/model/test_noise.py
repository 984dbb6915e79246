"""Components beside noise: noise is called noise, planted components are found, and the p-value is a p-value."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from laconic.model.request import make_request

from laconic import SparsePCA, compare_with_noise
from laconic.core.monitor import Stop
from laconic.covariance import covariance_of
from laconic.datasets import load_senate109
from laconic.model.noise import ComponentNoise, _value_in_noise, check_comparable
from laconic.search import Auto
from laconic.search.problem import Solution, Status


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


def test_the_p_value_counts_the_tables_that_reach_the_value():
    one = record(2.0, [1.0, 2.0, 3.0, 1.5])
    assert one.as_large == 2
    assert one.p_value == pytest.approx(3 / 5)
    assert one.resolution == pytest.approx(1 / 5)
    assert one.mean == pytest.approx(1.875)
    assert one.quantile == pytest.approx(np.quantile([1, 2, 3, 1.5], 0.95))


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
        compare_with_noise(noise_table(seed), cardinality=4, permutations=19, random_state=seed).p_values[0]
        for seed in range(60)
    ])  # fmt: skip
    levels = np.arange(1, 21) / 20
    below = np.array([(p <= level + 1e-12).mean() for level in levels])
    assert (below - levels).max() < 0.174
    # They are not all near one either: the test would then never find anything.
    assert (p <= 0.5).mean() > 0.3


@pytest.mark.parametrize("seed", range(4))
def test_planted_components_are_found_and_the_next_is_noise(seed):
    found = compare_with_noise(planted(seed), n_components=4, cardinality=4, permutations=39, stop_at=0.05)
    assert found.n_real() == 2
    assert len(found) == 3
    assert found.components[2].verdict.startswith("It is no better than noise")
    supports = sorted(tuple(one.solution.support) for one in found.components[:2])
    assert supports == [(0, 1, 2, 3), (4, 5, 6, 7)]


@pytest.mark.slow
def test_the_first_noise_after_planted_components_is_called_real_at_about_the_level():
    # Residual columns permuted as they are would reject 40 % here; see the module.
    p = np.array([
        compare_with_noise(planted(seed, 250, 20, 3, 5), n_components=4, cardinality=5, permutations=19).p_values[3]
        for seed in range(100)
    ])  # fmt: skip
    # The 0.999 quantile of a binomial with 100 trials of 0.05 is 13.
    assert np.count_nonzero(p <= 0.05) <= 13


def test_values_are_those_of_a_fit_and_do_not_depend_on_the_number_of_jobs():
    X = planted(0)
    one = compare_with_noise(X, n_components=3, cardinality=[4, 3, 2], permutations=5)
    two = compare_with_noise(X, n_components=3, cardinality=[4, 3, 2], permutations=5, n_jobs=2)
    model = SparsePCA(cardinality=[4, 3, 2], proof=None).fit(X)
    for a, b, value in zip(one.components, two.components, model.lower_bound_, strict=True):
        np.testing.assert_array_equal(a.noise, b.noise)
        assert a.value == pytest.approx(value)
    other = compare_with_noise(X, n_components=3, cardinality=[4, 3, 2], permutations=5, random_state=1)
    assert not np.array_equal(one.components[0].noise, other.components[0].noise)


def test_the_order_of_rows_does_not_matter_to_the_value():
    X = planted(1)
    order = np.random.default_rng(0).permutation(len(X))
    a = compare_with_noise(X, n_components=2, cardinality=4, permutations=19)
    b = compare_with_noise(X[order], n_components=2, cardinality=4, permutations=19)
    for one, other in zip(a.components, b.components, strict=True):
        assert one.value == pytest.approx(other.value)
        assert one.mean == pytest.approx(other.mean, rel=0.1)


@pytest.mark.parametrize("scale", [False, True])
def test_sparse_rows_give_the_values_of_dense_ones(scale):
    rng = np.random.default_rng(5)
    X = rng.poisson(0.3, (80, 15)).astype(float)
    X[:, :3] += rng.poisson(0.8, (80, 1))
    dense = compare_with_noise(X, n_components=2, cardinality=3, permutations=29, scale=scale)
    sparse = compare_with_noise(sp.csr_array(X), n_components=2, cardinality=3, permutations=29, scale=scale)
    for a, b in zip(dense.components, sparse.components, strict=True):
        assert a.value == pytest.approx(b.value)
        assert a.mean == pytest.approx(b.mean, rel=0.05)
    assert dense.p_values[0] == sparse.p_values[0] == pytest.approx(1 / 30)


def test_one_feature_has_the_same_variance_in_every_permuted_table():
    found = compare_with_noise(noise_table(0), cardinality=1, permutations=19).components[0]
    assert found.p_value == 1.0


def test_constraints_hold_in_the_permuted_tables_too():
    X = noise_table(1)
    # With as many features forced in as the cardinality, each table has one support, and its values are known.
    found = compare_with_noise(X, cardinality=2, forced_in=[0, 1], permutations=19).components[0]
    S = np.cov(X[:, :2].T)
    assert found.value == pytest.approx(np.linalg.eigvalsh(S)[1])
    c = np.sqrt((found.noise - S[0, 0]) * (found.noise - S[1, 1]))
    assert (c <= np.sqrt(S[0, 0] * S[1, 1])).all()
    disjoint = compare_with_noise(X, n_components=3, cardinality=4, joint="disjoint", permutations=2)
    used = np.concatenate([one.solution.support for one in disjoint.components])
    assert len(np.unique(used)) == 12


def test_a_table_has_names_and_a_frame_of_results():
    votes = load_senate109().to_frame()
    found = compare_with_noise(votes, n_components=2, cardinality=[5, 2], permutations=19)
    frame = found.to_frame()
    assert list(frame["p_value"]) == [0.05, 0.05]
    assert found.feature_names == list(votes.columns)
    assert "p-values 0.05, 0.05" in repr(found)
    assert found.verdict.count("\n") == 1


@pytest.fixture
def five_tables_of_time(monkeypatch):
    """The time is over in the sixth permuted table."""
    calls = []

    def limited(*arguments):
        calls.append(1)
        return None if len(calls) > 5 else _value_in_noise(*arguments)

    monkeypatch.setattr("laconic.model.noise._value_in_noise", limited)


@pytest.mark.usefixtures("five_tables_of_time")
def test_a_time_limit_keeps_what_is_done():
    found = compare_with_noise(planted(0), n_components=2, cardinality=4, permutations=99)
    (one,) = found.components
    assert found.stopped is Stop.TIME_LIMIT
    assert one.permutations == 5
    assert one.resolution == 1 / 6
    assert "stopped early" in found.verdict


def test_no_time_at_all_is_an_error():
    with pytest.raises(TimeoutError, match="The time limit was reached before 1 component could be searched"):
        compare_with_noise(planted(0), cardinality=4, time_limit=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"permutations": 0}, "permutations=0 must be an int of at least 1."),
        ({"permutations": 2.5}, "permutations=2.5 must be an int"),
        ({"cardinality": 50}, "cardinality=50 must lie between 1"),
        ({"time_limit": 0}, "time_limit=0 must be above zero"),
        ({"feature_names": ["a"]}, "feature_names has 1 names for 12 features"),
        ({"method": "gpower-l1-block", "n_components": 2}, "finds them together"),
        ({"forced_in": ["a"]}, "no feature names"),
    ],
)
def test_errors_are_one_sentence(settings, message):
    with pytest.raises(ValueError, match=message):
        compare_with_noise(noise_table(0), **{"cardinality": 3, **settings})


def test_blocks_of_rows_are_refused(tmp_path):
    file = tmp_path / "rows.csv"
    pd.DataFrame(noise_table(0)).to_csv(file, index=False)
    with pytest.raises(ValueError, match="read in blocks, and columns are permuted and rows drawn in memory"):
        compare_with_noise(file, cardinality=2)


def test_a_fit_compares_its_components_on_request():
    X = planted(0)
    model = SparsePCA(n_components=3, cardinality=4, permutations=19).fit(X)
    alone = compare_with_noise(X, n_components=3, cardinality=4, permutations=19)
    np.testing.assert_array_equal(model.noise_.p_values, alone.p_values)
    assert [v.endswith(o.verdict) for v, o in zip(model.verdicts_, model.noise_.components, strict=True)] == [True] * 3
    assert model.verdicts_[0].endswith("(proved). It is better than in 19 of 19 permuted tables (p <= 0.05).")
    assert "It is no better than noise" in model.verdicts_[2]
    np.testing.assert_array_equal(model.summary()["p_value"], alone.p_values)
    plain = SparsePCA(n_components=3, cardinality=4).fit(X)
    assert plain.noise_ is None
    assert "p_value" not in plain.summary()
    np.testing.assert_array_equal(plain.components_, model.components_)


def test_a_fit_that_chooses_the_cardinality_is_compared_at_that_cardinality():
    model = SparsePCA(n_components=2, cardinality=0.7, permutations=9).fit(planted(1))
    assert [len(one.solution.support) for one in model.noise_.components] == list(model.cardinality_)
    np.testing.assert_allclose([one.value for one in model.noise_.components], model.lower_bound_)


@pytest.mark.usefixtures("five_tables_of_time")
def test_a_fit_without_time_for_the_comparison_says_so():
    model = SparsePCA(n_components=2, cardinality=4, permutations=99).fit(planted(0))
    assert model.noise_.stopped is Stop.TIME_LIMIT
    assert len(model.noise_) == 1
    assert model.verdicts_[0].endswith("Only 5 of 99 permuted tables were done: time limit reached.")
    assert model.verdicts_[1].endswith("It was not compared with noise: there was no time left.")
    assert np.isnan(model.summary()["p_value"][2])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": 0.5, "proof": "exact"}, "a penalty finds another size in each permuted table"),
        ({"cardinality": 3, "n_components": 2, "deflation": "schur"}, "give deflation='projection'"),
        ({"cardinality": 3, "n_components": 2, "method": "gpower-l1-block"}, "finds them together"),
    ],
)
def test_fits_that_cannot_be_compared(settings, message):
    with pytest.raises(ValueError, match=message):
        SparsePCA(permutations=9, **settings).fit(noise_table(0))


def test_components_that_are_found_together_cannot_be_compared():
    X = noise_table(0)
    covariance, standardization = covariance_of(X)
    settings = {**SparsePCA(2, cardinality=2, permutations=9).get_params(), "joint": "span"}
    request = make_request(settings, Auto(), covariance, standardization, None, "X")
    with pytest.raises(ValueError, match=r"permutations=9 compares components .* joint='span' finds them together"):
        check_comparable(settings, request, Auto())
    check_comparable({**settings, "joint": None}, request, Auto())


def test_fits_without_rows_cannot_be_compared(tmp_path):
    model, X = SparsePCA(cardinality=2, permutations=9), noise_table(0)
    with pytest.raises(ValueError, match=r"permutations=9 .* a covariance matrix has none; give the rows to fit"):
        model.fit_covariance(np.cov(X.T))
    with pytest.raises(ValueError, match=r"permutations=9 .* partial_fit keeps only sums"):
        model.partial_fit(X)
    with pytest.raises(ValueError, match=r"permutations=9 .* sample_weight"):
        model.fit(X, sample_weight=np.ones(len(X)))
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match=r"permutations=9 .* read in blocks"):
        model.fit(tmp_path / "rows.npy")
