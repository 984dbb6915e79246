import json

import numpy as np
import pandas as pd
import pytest
from tests.report.page.models import senate

import laconic
from laconic import SparsePCA, cardinality_path, stability
from laconic.report.page.content import content_of
from laconic.report.page.of_data import IN_BLOCKS, OTHER_DATA
from laconic.report.page.payload import path_in_words, payload_of


@pytest.fixture(scope="module")
def page():
    votes, frame, model = senate()
    return content_of(model, frame, color_by=votes.parties, labels=votes.senators, title="Votes")


def test_numbers_are_those_of_the_model(page):
    _, frame, model = senate()
    for place, one in enumerate(page.components):
        table = model.loadings().query(f"component == {place + 1}")
        assert [page.name(j) for j in one.features] == list(table["feature"])
        np.testing.assert_array_equal(one.loadings, table["loading"])
        assert one.verdict == model.verdicts_[place]
    np.testing.assert_allclose(page.points.scores, model.transform(frame))
    assert page.together == model.joint_verdict_
    assert page.digest == model.certificates_[0].digest


def test_paths_hold_the_model_and_agree_with_cardinality_path(page):
    _, frame, model = senate()
    for place, part in enumerate(page.data.paths):
        path = cardinality_path(frame, 20, earlier=model.components_[:place] if place else None)
        np.testing.assert_allclose(part.found, path.values, rtol=1e-6)
        assert (np.array(part.upper) <= path.upper_bounds * (1 + 1e-12)).all()
        assert (np.diff(part.upper) >= 0).all()
        assert part.chosen == model.cardinality_[place]
        at = part.cardinalities.index(part.chosen)
        assert sorted(part.supports[at]) == model.supports_[place].tolist()
    assert path_in_words(page.data.paths[0], 4, page.total).endswith("no other 5 can keep more: proved.")


def test_what_a_proof_has_eliminated_is_listed_and_is_in_no_component(page):
    group = next(one for one in page.left_out if one.reason.startswith("Safe elimination for component 1"))
    assert group.count > 20
    assert not set(group.features) & set(senate()[2].supports_[0])


def test_certificates_are_the_files_that_save_writes(page, tmp_path):
    _, frame, model = senate()
    for one, certificate in zip(page.certificates, model.certificates_, strict=True):
        name, content = one.files[0]
        assert certificate.save(tmp_path / name).read_bytes() == content
        assert laconic.verify(tmp_path / name, frame).accepted


def test_without_data_the_page_shows_what_the_model_keeps():
    page = content_of(senate()[2])
    assert page.points is None
    assert page.data is None
    assert len(page.certificates) == 2
    numbers = json.loads(payload_of(page))
    assert numbers["paths"] == []
    assert len(numbers["names"]) == 48


def test_other_rows_are_shown_by_their_scores_only():
    _, frame, model = senate()
    half = frame.iloc[:50]
    page = content_of(model, half)
    assert page.notes == [OTHER_DATA]
    assert page.data.paths == []
    assert page.data.scree is None
    assert page.points.n_rows == 50
    used = frame.columns[model.components_.any(axis=0)]
    few = content_of(model, frame[used])
    assert few.notes == [OTHER_DATA]
    np.testing.assert_allclose(few.points.scores, model.transform(frame))


def test_weights_are_no_covariance_of_the_rows():
    frame = senate()[1]
    weighted = SparsePCA(cardinality=3).fit(frame, sample_weight=np.arange(1, 102))
    assert content_of(weighted, frame).notes == [OTHER_DATA]


def test_many_rows_are_sampled_by_a_stated_rule():
    rows = np.random.default_rng(0).standard_normal((4500, 4))
    model = SparsePCA(cardinality=2).fit(rows)
    points = content_of(model, rows, labels=range(4500), color_by=np.arange(4500.0)).points
    assert points.rule == "every 3rd row of 4,500"
    assert points.labels == [str(3 * i) for i in range(1500)]
    np.testing.assert_allclose(points.scores, model.transform(rows)[::3])
    assert points.ordered
    assert len(points.groups) == 5
    assert np.bincount(points.codes).tolist() == [300] * 5


def test_data_in_blocks_are_sampled_and_have_no_path(tmp_path):
    rows = np.random.default_rng(0).standard_normal((5000, 4))
    np.save(tmp_path / "rows.npy", rows)
    model = SparsePCA(cardinality=2).fit(tmp_path / "rows.npy")
    page = content_of(model, tmp_path / "rows.npy")
    assert page.notes == [IN_BLOCKS]
    assert page.points.rule == "every 4th row of 5,000"
    np.testing.assert_allclose(page.points.scores, model.transform(rows)[::4])


def test_groups():
    votes, frame, model = senate()
    points = content_of(model, frame, color_by=pd.Series(votes.states, name="state")).points
    assert points.group_title == "state"
    assert points.groups[-1] == "other"
    assert len(points.groups) == 6
    assert len(points.codes) == 101
    some = [None, *votes.parties[1:]]
    assert content_of(model, frame, color_by=some).points.groups[0] == "(missing)"


def test_rare_kinds_of_models():
    frame = senate()[1]
    constant = frame.assign(same=1.0)
    with pytest.warns(UserWarning, match="same"):
        model = SparsePCA(cardinality=[3, 3], disjoint=True).fit(constant)
    page = content_of(model, constant)
    reasons = {one.reason: [page.name(j) for j in one.features] for one in page.left_out}
    assert reasons["They do not vary, or their variance is rounding only."] == ["same"]
    second = page.data.paths[1]
    assert not {j for support in second.supports for j in support} & set(model.supports_[0])
    together = SparsePCA(cardinality=[3, 3], joint="span").fit(frame)
    assert "found together" in content_of(together, frame).notes[0]
    matrix = SparsePCA(cardinality=3).fit_covariance(frame.cov())
    page = content_of(matrix, frame.cov())
    assert page.points is None
    assert page.data.paths[0].chosen == 3
    assert "fit_covariance(S)" in page.python


def test_stability_noise_and_choice():
    frame = senate()[1]
    model = SparsePCA(2, cardinality="hull", permutations=5).fit(frame)
    again = stability(frame, cardinality=model.cardinality_.tolist(), resamples=4)
    page = content_of(model, frame, stability=again)
    np.testing.assert_allclose(page.components[0].frequencies, again.frequencies[0, page.components[0].features])
    assert len(json.loads(payload_of(page))["noise"]) == 2
    assert page.choice is model.choice_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"color_by": [1, 2]}, "color_by has 2 values, and X has 101 rows; give one value a row."),
        ({"labels": "name"}, "labels='name' must have one value for each row"),
        ({"stability": 3}, "stability=3 must be what laconic.stability returns."),
        ({"time_limit": -1}, "time_limit=-1 must be above zero."),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        content_of(senate()[2], senate()[1], **options)


def test_groups_need_rows():
    with pytest.raises(ValueError, match="no rows are given; give X, too"):
        content_of(senate()[2], color_by=[1])
