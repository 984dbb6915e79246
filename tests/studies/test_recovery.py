"""Support recovery: curves against closed forms, and the study's results on the spiked model."""

import numpy as np
import pytest
from laconic.studies.recovery import ONES, SCALED, UNIT, signal_of, threshold
from laconic.studies.support_recovery import (
    DIAGONAL,
    DSPCA,
    METHODS,
    THRESHOLDING,
    Transition,
    count_recoveries,
    ranking_roc,
    recover,
    supports_roc,
)

from laconic.datasets import spiked_rows
from laconic.studies import Settings, get_study


@pytest.fixture(scope="module")
def study():
    return get_study("recovery")(Settings(quick=True))


def area(study, model, m, method):
    return study.facts[f"area: {model}; m = {m}; {method}"]


def test_areas_of_a_ranking():
    support = np.array([0, 1])
    assert ranking_roc(np.array([4.0, 3.0, 2.0, 1.0]), support).area == 1.0
    assert ranking_roc(np.array([1.0, 2.0, 3.0, 4.0]), support).area == 0.0
    assert ranking_roc(np.zeros(4), support).area == 0.5  # Equal scores are a random choice.
    # Three of the 2 x 2 pairs of a feature inside and a feature outside are in the right order.
    assert ranking_roc(np.array([4.0, 2.0, 3.0, 1.0]), support).area == 0.75


def test_curve_of_supports_goes_through_their_points():
    support = np.array([0, 1, 2, 3])
    roc = supports_roc([np.array([0, 1]), np.array([0, 1, 2, 9])], support, 10)
    np.testing.assert_allclose(roc.false, [0, 0, 1 / 6, 1])
    np.testing.assert_allclose(roc.true, [0, 0.5, 0.75, 1])
    np.testing.assert_allclose(roc.at(np.array([1 / 6])), [0.75])
    assert roc.area == pytest.approx((0.5 + 0.75) / 2 / 6 + (0.75 + 1) / 2 * 5 / 6)


def test_every_method_finds_a_loud_spike():
    spiked = spiked_rows(400, 30, 5, signal=20.0, random_state=2)
    curves = recover(spiked.data.T @ spiked.data / 400, spiked.support)
    assert set(curves) == set(METHODS)
    for method, roc in curves.items():
        assert roc.area > 0.99, method


def test_ratios_and_the_point_of_half_success():
    t = Transition(104, 4, np.array([40, 160]), {"a": np.array([0.25, 0.75]), "b": np.zeros(2)}, np.ones(2))
    np.testing.assert_allclose(t.theta_sdp, np.array([40, 160]) / (4 * np.log(100)))
    np.testing.assert_allclose(t.theta_thres, t.theta_sdp / 4)
    assert t.half("a") == pytest.approx(80)  # The middle on a logarithmic scale.
    assert np.isnan(t.half("b"))


def test_success_with_many_rows_and_failure_with_few():
    rng = np.random.default_rng(0)
    t = count_recoveries(30, 3, np.array([0.4, 100.0]), signal=3.0, repetitions=5, rng=rng, tick=lambda _: None)
    for method in (DIAGONAL, THRESHOLDING, DSPCA):
        assert t.success[method][0] < 0.5
        assert t.success[method][1] == 1.0


def test_the_models_differ_by_the_signal():
    assert signal_of(UNIT, 400, 25) == 1
    assert signal_of(ONES, 400, 25) == 25
    assert signal_of(SCALED, 400, 25) == 20
    assert threshold(250, 400) == pytest.approx(28.3, abs=0.05)


def test_as_printed_a_unit_spike_is_hidden_for_every_m(study):
    assert study.facts[f"eigenvector threshold: {UNIT}"] == np.inf
    areas = [value for name, value in study.facts.items() if name.startswith(f"area: {UNIT};")]
    assert len(areas) == 2 * len(METHODS)
    # Test the mean over all m and methods. A single area comes from four small matrices and varies more.
    assert abs(np.mean(areas) - 0.5) < 0.12
    assert study.statements[0].verdict.startswith("differs because")


def test_a_longer_u_or_less_noise_is_found(study):
    for method in (THRESHOLDING, DSPCA):
        assert area(study, SCALED, 800, method) > 0.98
    assert area(study, ONES, 800, DSPCA) > area(study, UNIT, 800, DSPCA) + 0.1


def test_the_relaxation_needs_fewer_rows_and_more_so_for_larger_k(study):
    ratios = [study.facts[f"half: n = {n}; {DIAGONAL}"] / study.facts[f"half: n = {n}; {DSPCA}"] for n in (40, 80)]
    assert 1.2 < ratios[0] < ratios[1]


def test_the_study_is_written_whole(study, tmp_path):
    names = {path.name for path in study.write(tmp_path)}
    assert set(study.figures) == set(study.captions)
    assert {f"{name}.png" for name in study.figures} <= names
    assert {f"{name}.csv" for name in study.tables} <= names
    page = (tmp_path / "README.md").read_text()
    assert "seed 0" in page
    assert page.count("\n| ") == len(study.statements) + 1
    assert "nan" not in page
