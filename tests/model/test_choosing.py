"""How many features and components: closed forms, planted components, constraints, errors, stops."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from laconic.model.choosing.choice import CRITERIA
from laconic.model.choosing.criteria import PathValues, bic, ebic, hull, sparseness
from matplotlib.figure import Figure
from sklearn.base import clone

from helpers import path_of
from laconic import Choice, SparsePCA, choose
from laconic.core.monitor import Stop
from laconic.datasets.synthetic import spiked_rows
from laconic.model.choosing import choose as module
from laconic.search.auto import FewStarts

ROWS = spiked_rows(200, 40, 6, signal=5.0, random_state=3)


def planted_block(m=80, n=20, k=5, seed=0):
    """Rows whose first k columns are one vector, up to sign; the others vary little."""
    rng = np.random.default_rng(seed)
    X = 1e-4 * rng.standard_normal((m, n))
    X[:, :k] = rng.standard_normal((m, 1)) * rng.choice([-1, 1], size=k)
    return X


def path_values(values, *, n=30, m=100, total=None, second=0.0):
    values = np.asarray(values, float)
    k = np.arange(1, len(values) + 1)
    return PathValues(k, values, 2 * values[-1] if total is None else total, values[-1], second, n, m)


@pytest.mark.parametrize("criterion", ["cv", "hull", "sparseness", "bic"])
@pytest.mark.parametrize("seed", range(3))
def test_every_criterion_finds_a_block_without_noise(criterion, seed):
    choice = choose(planted_block(seed=seed), criterion=criterion)
    assert choice.components[0].solution.support[:5].tolist() == [0, 1, 2, 3, 4]
    # BIC has no price for the search, and may take the best of the other features.
    assert 5 <= choice.cardinality[0] <= (6 if criterion == "bic" else 5)


def test_extended_bic_finds_a_block_in_noise():
    X = np.random.default_rng(1).standard_normal((100, 30))
    X[:, :5] += 3 * np.random.default_rng(2).standard_normal((100, 1))
    assert abs(choose(X, criterion="ebic").cardinality[0] - 5) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_planted_number_is_found_by_cross_validation(seed):
    made = spiked_rows(200, 60, 8, signal=5.0, random_state=seed)
    choice = choose(made.data, 30)
    assert abs(choice.cardinality[0] - 8) <= 1
    assert len(np.setdiff1d(made.support, choice.components[0].solution.support)) <= 1


def test_hull_takes_the_sharpest_bend():
    values = [1, 2, 3, 4, 4.1, 4.2, 4.3]
    curve = hull(path_values(values, second=0.0))
    assert curve.chosen == 4
    assert curve.values[3] == pytest.approx(10)
    assert np.isnan(curve.values[[0, 1, 2, 6]]).all()


def test_hull_chooses_one_feature_only_if_it_stands_out():
    assert hull(path_values([100, 101, 102, 103], second=1.0)).chosen == 1
    assert hull(path_values([2, 3, 4, 5, 5.1, 5.2, 5.3], second=1.9)).chosen == 4


def test_hull_ignores_bends_between_tiny_steps():
    values = np.cumsum([1, 1, 0.9, 0.4, 0.3, 0.2, 0.1, 1e-3, 1e-9])
    assert hull(path_values(values)).chosen == 3


def test_hull_of_a_straight_line_has_an_answer():
    assert 1 <= hull(path_values(np.arange(1.0, 6.0))).chosen <= 5
    assert hull(path_values([2.0, 2.0, 2.0], second=2.0)).chosen == 1


def test_index_of_sparseness_is_its_formula():
    path = path_values([2.0, 3.0], n=4, total=6.0)
    assert sparseness(path).values == pytest.approx([0.5 * (2 / 6) * 0.75, 0.5 * 0.5 * 0.5])


def test_bic_is_its_formula():
    path = path_values([2.0, 3.0], n=4, m=50, total=6.0)
    expected = np.log(np.array([4.0, 3.0]) / 4) + np.array([1, 2]) * np.log(200) / 200
    assert bic(path).values == pytest.approx(expected)


def test_ebic_is_twice_the_negative_log_likelihood_with_its_price():
    n, m, k = 4, 50, np.array([1, 2])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n)) * [2, 1, 1, 1]
    S = X.T @ X / m
    z = np.eye(n)[0]
    v = z @ S @ z
    s = (np.trace(S) - v) / (n - 1)
    model = s * np.eye(n) + (v - s) * np.outer(z, z)
    likelihood = m * (np.linalg.slogdet(model)[1] + np.trace(np.linalg.solve(model, S)))
    path = path_values([v, v], n=n, m=m, total=np.trace(S))
    price = k * np.log(m) + 2 * np.log([4, 6])
    # The likelihood has the constant term n m.
    assert ebic(path).values == pytest.approx(likelihood - n * m + price)


def test_extended_bic_prefers_nothing_to_noise_of_equal_variances():
    assert ebic(path_values([1.0, 1.0001], total=30.0)).chosen == 0


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


def test_same_seed_same_choice():
    first, second = (choose(ROWS.data, 15, random_state=4).to_frame() for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    other = choose(ROWS.data, 15, random_state=5).to_frame()
    assert not np.array_equal(first["cv"], other["cv"])


@pytest.mark.parametrize("criterion", ["hull", "bic", "ebic", "sparseness", "cv"])
def test_order_of_columns_does_not_matter(criterion):
    order = np.random.default_rng(0).permutation(40)
    first, second = (choose(X, 15, criterion=criterion) for X in (ROWS.data, ROWS.data[:, order]))
    assert first.cardinality == second.cardinality
    supports = [set(first.components[0].solution.support), set(order[second.components[0].solution.support])]
    assert supports[0] == supports[1]


def test_forced_features_are_used():
    names = [f"f{j}" for j in range(40)]
    inside = np.setdiff1d(np.arange(40), ROWS.support)[:2]
    choice = choose(pd.DataFrame(ROWS.data, columns=names), 15, forced_in=[names[j] for j in inside])
    one = choice.components[0]
    assert one.path.cardinalities[0] == 2
    assert set(inside) <= set(one.solution.support)
    assert set(ROWS.support) <= set(one.solution.support)


def test_nonnegative_loadings_and_disjoint_supports():
    choice = choose(np.abs(ROWS.data), 10, n_components=2, nonnegative=True, joint="disjoint")
    first, second = (one.solution for one in choice.components)
    assert (first.loadings >= 0).all()
    assert not np.intersect1d(first.support, second.support).size


def test_later_components_are_looked_at_after_the_earlier_ones_are_removed():
    choice = choose(ROWS.data, 12, n_components=2)
    first, second = choice.components
    z = first.solution.vector(40)
    left = path_of(ROWS.data, 12, earlier=z[None], kind="rows", proof=None)
    assert (second.path.values <= left.values * (1 + 1e-9)).all()
    assert second.path.values == pytest.approx(left.values, rel=0.02)


@pytest.mark.parametrize("convert", [sp.csr_matrix, pd.DataFrame])
def test_sparse_rows_and_frames_give_the_same_choice(convert):
    X = np.where(np.abs(ROWS.data) > 1, ROWS.data, 0.0)
    assert choose(convert(X), 10).cardinality == choose(X, 10).cardinality


def test_another_method_finds_the_path():
    choice = choose(ROWS.data, 10, method="auto")
    assert choice.cardinality == choose(ROWS.data, 10).cardinality
    assert choice.components[0].solution.method == "auto"


def test_table_has_every_curve_and_one_recommendation():
    choice = choose(ROWS.data, 12, n_components=2)
    frame = choice.to_frame()
    assert {*CRITERIA, "cv_error", "component", "cardinality", "value", "share", "chosen_by"} <= {*frame.columns}
    assert frame.groupby("component")["recommended"].sum().tolist() == [1, 1]
    assert frame.loc[frame["recommended"], "cardinality"].tolist() == choice.cardinality
    row = frame.query("component == 1").set_index("cardinality")["chosen_by"]
    for name, chosen in choice.components[0].chosen.items():
        assert not chosen or name in row[chosen].split(", ")
    assert repr(choice) == f"Choice(n_components=2, cardinality={choice.cardinality})"


def test_error_of_held_out_entries_is_that_of_the_mean_for_one_feature():
    curve = choose(ROWS.data, 12).components[0].curves["cv"]
    assert curve.values[0] == 1
    assert curve.values.min() < 1
    assert curve.errors[np.argmin(curve.values)] == 0
    assert (curve.errors >= 0).all()


def test_reason_says_which_criteria_disagree():
    choice = choose(ROWS.data, 12)
    one = choice.components[0]
    for name, chosen in one.chosen.items():
        if abs(chosen - one.cardinality) > 1 and name != "cv":
            assert "disagree" in one.reason
            assert f"{CRITERIA[name]} chooses {chosen or 'none'}" in one.reason


def test_reason_says_that_the_end_of_the_path_was_reached():
    assert "raise max_cardinality above 3" in choose(ROWS.data, 3).reason


def test_a_covariance_needs_no_rows_for_the_hull():
    S = np.cov(ROWS.data.T)
    assert choose(S, 12, kind="covariance", criterion="hull").cardinality == [6]
    assert choose(S, 12, kind="covariance", criterion="ebic", n_rows=200).cardinality == [6]


X = ROWS.data
S = np.cov(X.T)
ERRORS = {
    "criterion": (lambda: choose(X, criterion="aic"), "criterion='aic'"),
    "given": (lambda: choose(X, given="table"), "given='table'"),
    "cv of a covariance": (lambda: choose(S, kind="covariance"), "rows in memory"),
    "bic of a covariance": (lambda: choose(S, kind="covariance", criterion="bic"), "number of rows"),
    "parallel": (
        lambda: choose(S, kind="covariance", criterion="hull", n_components="parallel"),
        "permutes",
    ),
    "components": (lambda: choose(X, n_components=0), "n_components=0"),
    "components by word": (lambda: choose(X, n_components="many"), "n_components='many'"),
    "rank": (lambda: choose(X[:4], n_components=5), "rank of the covariance, 3"),
    "largest": (lambda: choose(X, 41), "max_cardinality=41"),
    "largest below forced": (lambda: choose(X, 2, forced_in=[0, 1, 2]), "max_cardinality=2"),
    "folds": (lambda: choose(X, folds=1), "folds=1"),
    "unknown": (lambda: choose(X, forced_in=["a"]), "forced_in names 'a'"),
    "constant": (lambda: choose(np.ones((5, 3))), "no column that varies"),
    "time": (lambda: choose(X, time_limit=0), "time_limit=0"),
    "rows": (lambda: choose(S, kind="covariance", criterion="bic", n_rows=1), "n_rows=1"),
    "fit of a covariance": (lambda: SparsePCA(cardinality="cv").fit_covariance(S), "rows in memory"),
    "fit with weights": (lambda: SparsePCA(cardinality="cv").fit(X, sample_weight=np.ones(200)), "of equal weight"),
    "missing": (lambda: choose(np.where(X > 2, np.nan, X)), "missing='pairwise'"),
    "missing and cv": (lambda: choose(np.where(X > 2, np.nan, X), missing="pairwise"), "choose hull"),
    "missing and a word": (lambda: choose(X, missing="mean"), "missing='mean'"),
    "fit with both": (lambda: SparsePCA(cardinality="cv", cardinality=0.5).fit(X), "cardinality=0.5"),
    "fit with a word": (lambda: SparsePCA(cardinality="best").fit(X), "'best'"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_bad_input_gets_one_sentence(case):
    call, words = ERRORS[case]
    with pytest.raises(ValueError, match=words.replace("(", r"\(")) as error:
        call()
    assert "\n" not in str(error.value)


def test_a_fit_chooses_by_cross_validation():
    model = SparsePCA(cardinality="cv").fit(ROWS.data)
    assert isinstance(model.choice_, Choice)
    assert model.cardinality_.tolist() == model.choice_.cardinality == choose(ROWS.data).cardinality
    assert clone(model).cardinality == "cv"


def test_a_fit_counts_components():
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((150, 20))
    for t in range(2):
        rows[:, 6 * t : 6 * t + 6] += np.outer(rng.standard_normal(150), np.full(6, 2.0 - 0.3 * t))
    model = SparsePCA("parallel", cardinality=6).fit(rows)
    assert model.n_components_ == 2
    assert model.choice_.criterion is None
    assert SparsePCA("parallel", cardinality=[6, 6, 6]).fit(rows).n_components_ == 2
    assert SparsePCA("parallel").fit(rows).cardinality_.tolist() == [6, 6]


def test_a_fit_of_noise_warns_and_has_one_component():
    noise = np.random.default_rng(5).standard_normal((60, 20))
    with pytest.warns(UserWarning, match="no better than noise"):
        model = SparsePCA("parallel", cardinality=3).fit(noise)
    assert model.n_components_ == 1


def test_a_fit_without_a_choice_has_none():
    assert SparsePCA(cardinality=3).fit(ROWS.data).choice_ is None


def test_time_limit_keeps_what_is_known(monkeypatch):
    calls = []

    class Slow(FewStarts):
        def path(self, problem):
            calls.append(problem)
            found = super().path(problem)
            if len(calls) == 3:  # the path of the data, and one fold
                problem.monitor._deadline = 0.0
                with problem.monitor.watch():
                    problem.monitor.tick()
            return found

    monkeypatch.setattr(module, "FewStarts", Slow)
    choice = choose(ROWS.data, 12, n_components=3, time_limit=1000)
    assert choice.stopped is Stop.TIME_LIMIT
    assert choice.n_components == 1
    assert "stopped early: time limit reached" in choice.reason
    assert "cv" in choice.components[0].curves


def test_interrupt_keeps_what_is_known(monkeypatch):
    calls = []

    class Interrupted(FewStarts):
        def path(self, problem):
            calls.append(problem)
            with problem.monitor.watch():
                if len(calls) == 2:  # the first fold
                    raise KeyboardInterrupt
            return super().path(problem)

    monkeypatch.setattr(module, "FewStarts", Interrupted)
    choice = choose(ROWS.data, 12, n_components=2)
    assert choice.stopped is Stop.INTERRUPTED
    assert "There was no time for cross-validation" in choice.reason
    assert choice.cardinality == [choice.components[0].chosen["hull"]]


def test_picture_marks_the_recommendation():
    choice = choose(ROWS.data, 12, n_components=2)
    figure = choice.plot(Figure()).figure_
    assert len(figure.axes) == 4
    for row, one in enumerate(choice.components):
        for ax in figure.axes[2 * row : 2 * row + 2]:
            assert f"recommended: {one.cardinality}" in [text.get_text() for text in ax.texts]


def test_missing_values_leave_the_criteria_of_a_covariance():
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    for missing in ("pairwise", "em"):
        choice = choose(holes, 20, criterion="hull", missing=missing)
        fit = SparsePCA(cardinality="hull", missing=missing).fit(holes)
        assert choice.cardinality == fit.cardinality_.tolist()
        assert {"hull", "bic", "ebic", "sparseness"} == set(choice.components[0].curves)
    assert choose(X, 20, missing="em").cardinality == choose(X, 20).cardinality
