"""How many features and components: closed forms, planted components, constraints, errors, stops."""

import numpy as np
import pytest
from sklearn.base import clone

from helpers import given, path_of
from laconic import SparsePCA, certify, noise, path, stability
from laconic import choose as choose_of
from laconic.core.monitor import Stop
from laconic.datasets.synthetic import spiked_rows
from laconic.model import choosing
from laconic.model.bend import sharpest_bend
from laconic.model.choosing import Choice
from laconic.search.auto import FewStarts

ROWS = spiked_rows(200, 40, 6, signal=5.0, rng=3)


def choose(X, last=None, *, kind="rows", **settings):
    return choose_of(SparsePCA(**settings), **given(X, kind), max_cardinality=last)


def planted_block(m=80, n=20, k=5, seed=0):
    """Rows whose first k columns are one vector, up to sign; the others vary little."""
    rng = np.random.default_rng(seed)
    X = 1e-4 * rng.standard_normal((m, n))
    X[:, :k] = rng.standard_normal((m, 1)) * rng.choice([-1, 1], size=k)
    return X


def chosen(values, second=0.0):
    return sharpest_bend(np.arange(1, len(values) + 1), np.asarray(values, float), second)


@pytest.mark.parametrize("seed", range(3))
def test_a_block_without_noise_is_found(seed):
    choice = choose(planted_block(seed=seed))
    assert choice.components[0].solution.support.tolist() == [0, 1, 2, 3, 4]
    assert choice.cardinality == [5]


@pytest.mark.parametrize("seed", range(4))
def test_planted_number_is_found(seed):
    made = spiked_rows(200, 60, 8, signal=5.0, rng=seed)
    choice = choose(made.data, 30)
    assert abs(choice.cardinality[0] - 8) <= 1
    assert len(np.setdiff1d(made.support, choice.components[0].solution.support)) <= 1


def test_hull_takes_the_sharpest_bend():
    ratios, k = chosen([1, 2, 3, 4, 4.1, 4.2, 4.3])
    assert k == 4
    assert ratios[3] == pytest.approx(10)
    assert np.isnan(ratios[[0, 1, 2, 6]]).all()


def test_hull_chooses_one_feature_only_if_it_stands_out():
    assert chosen([100, 101, 102, 103], second=1.0)[1] == 1
    assert chosen([2, 3, 4, 5, 5.1, 5.2, 5.3], second=1.9)[1] == 4


def test_noise_is_said_to_be_noise():
    X = np.random.default_rng(0).standard_normal((80, 30))
    choice = choose(X, 15, n_components="parallel")
    assert choice.n_components == 0
    assert choice.cardinality == []
    assert "no better than noise" in choice.reason or "does not count" in choice.reason


@pytest.mark.parametrize("count", [1, 2, 3])
def test_planted_components_are_counted(count):
    rng = np.random.default_rng(10 + count)
    X = rng.standard_normal((150, 40))
    for t in range(count):
        X[:, 6 * t : 6 * t + 6] += np.outer(rng.standard_normal(150), np.full(6, 2.0 - 0.3 * t))
    choice = choose(X, 15, n_components="parallel")
    assert choice.n_components == count
    assert choice.cardinality == [6] * count
    assert [one.component for one in choice.components] == list(range(1, count + 2))
    assert choice.components[-1].noise.p_value > 0.01


def test_later_components_are_looked_at_after_the_earlier_ones_are_removed():
    choice = choose(ROWS.data, 12, n_components=2)
    first, second = choice.components
    left = path_of(ROWS.data, 12, component=2, cardinality=first.cardinality, kind="rows", proof=None)
    assert (second.values <= left.values * (1 + 1e-9)).all()
    assert second.values == pytest.approx(left.values, rel=0.02)


def test_table_has_the_curve_and_one_recommendation():
    choice = choose(ROWS.data, 12, n_components=2)
    frame = choice.to_frame()
    assert list(frame.columns) == ["component", "cardinality", "value", "share", "recommended"]
    assert frame.groupby("component")["recommended"].sum().tolist() == [1, 1]
    assert frame.loc[frame["recommended"], "cardinality"].tolist() == choice.cardinality
    printed = repr(choice).splitlines()
    assert printed[0] == f"Choice(n_components=2, cardinality={choice.cardinality})"
    assert [line.partition(":")[0] for line in printed[1:]] == ["Component 1", "Component 2"]


X = ROWS.data
S = np.cov(X.T)
ERRORS = {
    "rule": (lambda: choose(X, cardinality="cv"), "cardinality='cv' is no rule; give 'hull'"),
    "parallel": (lambda: choose(S, kind="covariance", n_components="parallel"), "permutes"),
    "rank": (lambda: choose(X[:4], n_components=5), "rank of the covariance, 3"),
    "largest": (lambda: choose(X, 41), "max_cardinality=41"),
    "largest below forced": (lambda: choose(X, 2, forced_in=[0, 1, 2]), "max_cardinality=2"),
    "constant": (lambda: choose(np.ones((5, 3))), "no column that varies"),
    "parallel fit of a covariance": (lambda: SparsePCA("parallel").fit_covariance(S), "permutes"),
    "fit with weights": (lambda: SparsePCA("parallel").fit(X, sample_weight=np.ones(200)), "of equal weight"),
    "fit with both": (lambda: SparsePCA("parallel", cardinality=0.5).fit(X), "cardinality=0.5"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_bad_input_gets_one_sentence(case):
    call, words = ERRORS[case]
    with pytest.raises(ValueError, match=words.replace("(", r"\(")) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("data", [{"covariance": S}, {"X": X, "sample_weight": np.ones(200)}])
def test_a_covariance_is_enough(data):
    model = SparsePCA(2)
    assert choose_of(model, **data).cardinality == choose_of(model, X).cardinality


@pytest.mark.parametrize("function", [choose_of, path, stability, noise, certify])
def test_data_in_place_of_the_model(function):
    with pytest.raises(TypeError, match=r"^model is a ndarray; give a SparsePCA, fitted or not, and then the data"):
        function(X, X)
    with pytest.raises(TypeError, match=r"^model is the class SparsePCA; give"):
        function(SparsePCA, X)


@pytest.mark.parametrize("cardinality", [0.9, "hull", None])
def test_certify_needs_features_or_their_number(cardinality):
    with pytest.raises(ValueError, match=f"^cardinality={cardinality!r} is not a number of features such as 5; give"):
        certify(SparsePCA(cardinality=cardinality), X)


def test_a_fit_chooses():
    model = SparsePCA(cardinality="hull").fit(ROWS.data)
    assert isinstance(model.choice_, Choice)
    assert [len(s) for s in model.supports_] == model.choice_.cardinality == choose(ROWS.data).cardinality
    assert clone(model).cardinality == "hull"


def test_a_fit_counts_components():
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((150, 20))
    for t in range(2):
        rows[:, 6 * t : 6 * t + 6] += np.outer(rng.standard_normal(150), np.full(6, 2.0 - 0.3 * t))
    model = SparsePCA("parallel", cardinality=6).fit(rows)
    assert model.n_components_ == 2
    assert model.choice_.components[0].cardinalities.tolist() == [6]
    assert SparsePCA("parallel", cardinality=[6, 6, 6]).fit(rows).n_components_ == 2
    assert [len(s) for s in SparsePCA("parallel").fit(rows).supports_] == [6, 6]


def test_time_limit_keeps_what_is_known(monkeypatch):
    calls = []

    class Slow(FewStarts):
        def path(self, problem):
            calls.append(problem)
            found = super().path(problem)
            if len(calls) == 1:
                problem.monitor._deadline = 0.0
                with problem.monitor.watch():
                    problem.monitor.tick()
            return found

    monkeypatch.setattr(choosing, "FewStarts", Slow)
    choice = choose(ROWS.data, 12, n_components=3, time_limit=1000)
    assert choice.stopped is Stop.TIME_LIMIT
    assert choice.n_components == 1
    assert "stopped early: time limit reached" in choice.reason


def test_missing_values():
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    for missing in ("pairwise", "em"):
        choice = choose(holes, missing=missing)
        fit = SparsePCA(cardinality="hull", missing=missing).fit(holes)
        assert choice.cardinality == [len(s) for s in fit.supports_]
    assert choose(X, 20, missing="em").cardinality == choose(X, 20).cardinality
