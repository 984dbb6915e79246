"""How many components and features: questionnaires, planted components, every kind of input, errors, stops."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure

from helpers import given
from laconic import SparsePCA, certify, noise, path, stability
from laconic import choose as choose_of
from laconic.core.monitor import Stop
from laconic.core.words import counted
from laconic.data import open_source
from laconic.datasets.synthetic import spiked_rows
from laconic.model import noise as noise_module
from laconic.model.choosing import Choice, sharpest_bend
from laconic.model.noise import LEVEL, TABLES, ComponentNoise, noise_line
from laconic.search.auto import FewStarts

ROWS = spiked_rows(200, 40, 6, signal=5.0, rng=3)
X = ROWS.data
S = np.cov(X.T)
NOISE = np.random.default_rng(0).standard_normal((80, 30))


def choose(data=X, *, kind="rows", **settings):
    return choose_of(SparsePCA(**settings), **given(data, kind))


def questionnaire(seed, sizes, people=600):
    """Answers from 1 to 5 to items of some scales, with a cross-loading in each scale."""
    rng = np.random.default_rng(seed)
    scale = np.repeat(np.arange(len(sizes)), sizes)
    loadings = np.zeros((len(scale), len(sizes)))
    loadings[np.arange(len(scale)), scale] = rng.uniform(0.45, 0.8, len(scale)) * rng.choice([-1, 1], len(scale))
    first = np.flatnonzero(np.diff(scale, prepend=-1))
    loadings[first, (scale[first] + 1) % len(sizes)] = 0.2
    own = np.sqrt(1 - (loadings**2).sum(axis=1))
    answers = rng.standard_normal((people, len(sizes))) @ loadings.T + own * rng.standard_normal((people, len(scale)))
    return 1.0 + np.digitize(answers, [-1.5, -0.5, 0.5, 1.5])


def several(count, seed):
    """Rows with planted components of six features each."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((150, 40))
    for t in range(count):
        rows[:, 6 * t : 6 * t + 6] += np.outer(rng.standard_normal(150), np.full(6, 2.0 - 0.3 * t))
    return rows


@pytest.mark.parametrize(
    ("seed", "sizes"), list(enumerate([[5] * 5, [3] * 4, [7] * 3, [4, 6, 8, 3], [8, 5, 3, 5, 8, 4]]))
)
def test_the_scales_of_a_questionnaire(seed, sizes):
    choice = choose(questionnaire(seed, sizes), scale=True)
    assert choice.n_components == len(sizes)
    assert (np.abs(np.sort(choice.cardinality) - np.sort(sizes)) <= 2).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_planted_component(seed):
    made = spiked_rows(200, 60, 8, signal=5.0, rng=seed)
    model = SparsePCA().fit(made.data)
    assert abs(model.choice_.cardinality[0] - 8) <= 1
    assert len(np.setdiff1d(made.support, model.supports_[0])) <= 1


@pytest.mark.parametrize("count", [1, 2, 3])
def test_planted_components_are_counted(count):
    choice = choose(several(count, 10 + count))
    assert choice.n_components == choice.scree.n_above_noise == count
    assert choice.cardinality == [6] * count
    assert f"{counted(count, 'component')} of ordinary PCA" in choice.reason


def test_more_columns_than_are_looked_at():
    made = spiked_rows(60, 1500, 12, signal=20.0, rng=0)
    choice = choose(made.data)
    assert choice.n_components == 1
    assert abs(choice.cardinality[0] - 12) <= 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 2, 3, 4, 4.1, 4.2, 4.3], 4), ([1, 1.1, 2, 3, 3.01], 4), ([1, 2, 3, 4], 4), ([5, 5, 5], 1)],
)
def test_the_sharpest_bend(values, expected):
    assert sharpest_bend(np.arange(1, len(values) + 1), np.array(values, float)) == expected


def test_features_that_add_little_and_components_of_one_feature_are_left_out():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 14))
    rows[:, :6] += 1.5 * rng.standard_normal((300, 1))
    rows[:, 6:9] += 1.5 * rng.standard_normal((300, 1))
    rows[:, 9] *= 1.6  # varies more than noise, alone
    choice = choose(rows)
    assert choice.cardinality == [6, 3]
    assert choice.bend == 6
    assert "a component has fewer if they add little to it" in choice.reason


def test_noise_is_said_to_be_noise():
    choice = choose(NOISE)
    assert choice.scree.n_above_noise == 0
    assert choice.n_components == 1
    assert "No component is better than noise; one is kept" in choice.reason
    with pytest.warns(UserWarning, match="No component is better than noise, so the one that is kept"):
        assert SparsePCA().fit(NOISE).n_components_ == 1


def test_the_line_and_the_p_value_agree():
    assert TABLES == 19
    for tables in (19, 39, 99, 200):
        values = np.random.default_rng(tables).standard_normal(tables)
        line = float(noise_line(values))
        for value, real in ((line * (1 + 1e-6) if line > 0 else 1e-6, True), (line, False)):
            assert (ComponentNoise(1, None, value, values).p_value <= LEVEL) == real


def test_what_is_recommended_is_printed_and_listed():
    choice = choose(several(2, 12), scale=True)
    printed = repr(choice).splitlines()
    assert printed[0] == "Choice(n_components=2, cardinality=[6, 6])"
    assert printed[1].startswith("2 components of 6, 6 features hold ")
    assert "ordinary PCA holds" in printed[1]
    assert printed[2].startswith("For prediction: ")
    assert str(choice).splitlines() == printed[1:]
    frame = choice.to_frame()
    assert frame.loc[frame["bend"], "cardinality"].tolist() == [6]
    held = SparsePCA(cardinality=[6, 6], scale=True).fit(several(2, 12)).explained_variance_ratio_.sum()
    assert frame.loc[frame["bend"], "share"].item() == pytest.approx(held, rel=0.01)
    assert (frame["ordinary_share"] <= 1 + 1e-9).all()
    left, right = choice.plot(Figure())
    assert left.get_xlabel() == "Component"
    assert choice.plot([left, right])[0] is left


def test_numbers_that_are_given_are_kept():
    rows = several(3, 13)
    assert choose(rows, n_components=2).cardinality == [6, 6]
    assert "2 components were asked for" in choose(rows, n_components=2).reason
    assert choose(rows, cardinality=4).cardinality == [4, 4, 4]
    assert choose(rows, cardinality=[5, 2]).cardinality == [5, 2]
    assert SparsePCA(cardinality=4).fit(rows).n_components_ == 1
    assert min(choose(rows, forced_in=[30, 31, 32]).cardinality) >= 3


def test_a_fit_chooses_the_same():
    rows = several(2, 12)
    model = SparsePCA().fit(rows)
    assert isinstance(model.choice_, Choice)
    assert [len(s) for s in model.supports_] == choose(rows).cardinality == [6, 6]
    assert model.choice_.reason == choose(rows).reason
    assert SparsePCA(cardinality=3).fit(rows).choice_ is None


KINDS = {
    "sparse": lambda X, _: ({"X": sp.csr_array(np.where(np.abs(X) > 0.3, X, 0.0))}, {}),
    "covariance": lambda X, _: ({"covariance": np.cov(X.T)}, {"n_components": 2}),
    "weights": lambda X, _: ({"X": X, "sample_weight": np.arange(len(X)) % 3 / 7}, {}),
    "counts": lambda X, _: ({"X": X, "sample_weight": np.ones(len(X), dtype=int)}, {}),
    "pairwise": lambda X, _: ({"X": holes(X)}, {"missing": "pairwise"}),
    "em": lambda X, _: ({"X": holes(X)}, {"missing": "em"}),
    "file": lambda X, folder: ({"X": written(X, folder)}, {}),
    "nonnegative": lambda X, _: ({"X": X}, {"nonnegative": True}),
    "uncentred": lambda X, _: ({"X": X}, {"center": False}),
    "hotelling": lambda X, _: ({"X": X}, {"deflation": "hotelling"}),
}


def holes(rows):
    return np.where(np.random.default_rng(0).random(rows.shape) < 0.05, np.nan, rows)


def written(rows, folder):
    pd.DataFrame(rows).add_prefix("x").to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_input(kind, tmp_path):
    data, settings = KINDS[kind](several(2, 12), tmp_path)
    choice = choose_of(SparsePCA(**settings), **data)
    assert choice.n_components == 2
    assert all(abs(size - 6) <= 1 for size in choice.cardinality)


def test_whole_weights_count_rows():
    weights = np.arange(150) % 3
    weighted = choose_of(SparsePCA(), several(2, 12), sample_weight=weights)
    assert weighted.reason == choose(np.repeat(several(2, 12), weights, axis=0)).reason


def test_a_covariance_alone_has_one_component():
    choice = choose(S, kind="covariance")
    assert choice.n_components == 1
    assert "A covariance matrix has no rows to compare with noise, so one component is taken" in choice.reason
    assert choice.prediction == ""


def test_part_of_the_rows_is_compared_with_noise(monkeypatch, tmp_path):
    rows = np.tile(several(2, 12), (8, 1)) + np.random.default_rng(0).standard_normal((1200, 40))
    monkeypatch.setattr(noise_module, "MOST_NUMBERS", 20_000)
    choice = choose(rows)
    assert choice.n_components == 2
    assert "better than noise (compared on 600 rows)" in choice.reason
    assert (
        "better than noise (compared on the first 600 rows)"
        in choose(open_source(written(rows, tmp_path), blocks=True)).reason
    )


ERRORS = {
    "rank": (lambda: choose(X[:4], n_components=5), "rank of the covariance, 3"),
    "constant": (lambda: choose(np.ones((5, 3))), "no column that varies"),
    "word": (lambda: choose(cardinality="hull"), "cardinality='hull' must be a number, or a share"),
    "components": (lambda: choose(n_components="parallel"), "n_components='parallel' must be an int of at least 1"),
    "share": (lambda: choose(cardinality=0.9), "recommends numbers of features; leave out cardinality=0.9"),
    "joint": (lambda: SparsePCA(joint="span").fit(X), "joint='span' needs a number of features"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_bad_input_gets_one_sentence(case):
    call, words = ERRORS[case]
    with pytest.raises(ValueError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("function", [choose_of, path, stability, noise, certify])
def test_data_in_place_of_the_model(function):
    with pytest.raises(TypeError, match=r"^model is a ndarray; give a SparsePCA, fitted or not, and then the data"):
        function(X, X)
    with pytest.raises(TypeError, match=r"^model is the class SparsePCA; give"):
        function(SparsePCA, X)


@pytest.mark.parametrize("cardinality", [0.9, None])
def test_certify_needs_features_or_their_number(cardinality):
    with pytest.raises(ValueError, match=f"^cardinality={cardinality!r} is not a number of features such as 5; give"):
        certify(SparsePCA(cardinality=cardinality), X)


def test_a_time_limit_keeps_what_is_known(monkeypatch):
    calls = []
    own = FewStarts.solve

    def slow(self, problem, *, start=None):
        calls.append(problem)
        if len(calls) > 20:
            problem.monitor._deadline = 0.0
        return own(self, problem, start=start)

    monkeypatch.setattr(FewStarts, "solve", slow)
    choice = choose(several(2, 12), time_limit=1000)
    assert choice.stopped is Stop.TIME_LIMIT
    assert choice.n_components == 2
    assert "The work was stopped early: time limit reached" in choice.reason
    assert choice.prediction == ""
    assert choose(time_limit=1e-9).n_components == 1
