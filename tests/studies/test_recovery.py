"""Support recovery: curves against closed forms, and the study's results on the spiked model."""

import numpy as np
import pytest
from sklearn.metrics import auc
from studies.recovery import (
    DIAGONAL,
    DSPCA,
    METHODS,
    ONES,
    SCALED,
    THRESHOLDING,
    UNIT,
    Transition,
    count_recoveries,
    ranking_roc,
    recover,
    signal_of,
    spiked_covariance,
    supports_roc,
    threshold,
)

from laconic.datasets import spiked_rows
from studies import recovery


@pytest.fixture(scope="module")
def study():
    return recovery.run(quick=True)


def test_areas_of_a_ranking():
    # Equal scores are a random choice. In the last case three of the 2 x 2 pairs are in the right order.
    for scores, area in (([4, 3, 2, 1], 1), ([1, 2, 3, 4], 0), ([0, 0, 0, 0], 0.5), ([4, 2, 3, 1], 0.75)):
        assert auc(*ranking_roc(np.array(scores), np.array([0, 1]))) == area


def test_curve_of_supports_goes_through_their_points():
    false, true = supports_roc([np.array([0, 1]), np.array([0, 1, 2, 9])], np.arange(4), 10)
    np.testing.assert_allclose(false, [0, 0, 1 / 6, 1])
    np.testing.assert_allclose(true, [0, 0.5, 0.75, 1])


def test_every_method_finds_a_loud_spike():
    spiked = spiked_rows(400, 30, 5, signal=20.0, rng=2)
    curves = recover(spiked.data.T @ spiked.data / 400, spiked.support)
    assert set(curves) == set(METHODS)
    assert min(auc(*roc) for roc in curves.values()) > 0.99


def test_ratios_and_the_point_of_half_success():
    rates = {"a": np.array([0.25, 0.75]), "b": np.zeros(2), "c": np.array([0.75, 1])}
    t = Transition(104, 4, np.array([40, 160]), rates, np.ones(2))
    np.testing.assert_allclose(t.theta_sdp, np.array([40, 160]) / (4 * np.log(100)))
    np.testing.assert_allclose(t.theta_thres, t.theta_sdp / 4)
    assert t.half("a") == pytest.approx(80)  # The middle on a logarithmic scale.
    assert np.isnan(t.half("b"))
    assert t.half("c") == pytest.approx(40)


def test_success_with_many_rows_and_failure_with_few():
    t = count_recoveries(30, 3, np.array([0.4, 100.0]), 5, np.random.default_rng(0))
    for method in (DIAGONAL, THRESHOLDING, DSPCA):
        assert t.success[method][0] < 0.5
        assert t.success[method][1] == pytest.approx(1.0)


def test_as_printed_a_unit_spike_is_hidden_for_every_m(study):
    assert [signal_of(model, 400, 25) for model in (UNIT, ONES, SCALED)] == [1, 25, 20]
    assert threshold(250, 400) == pytest.approx(28.3, abs=0.05)
    assert study.facts["limits"][UNIT] == np.inf
    areas = [value for (model, _, _), value in study.facts["areas"].items() if model == UNIT]
    assert len(areas) == 2 * len(METHODS)
    # Test the mean over all m and methods. A single area comes from four small matrices and varies more.
    assert abs(np.mean(areas) - 0.5) < 0.12


def test_a_longer_u_or_less_noise_is_found(study):
    areas = study.facts["areas"]
    assert min(areas[SCALED, 800, method] for method in (THRESHOLDING, DSPCA)) > 0.98
    assert areas[ONES, 800, DSPCA] > areas[UNIT, 800, DSPCA] + 0.1


def test_the_relaxation_needs_fewer_rows_and_more_so_for_larger_k(study):
    ratios = [t.half(DIAGONAL) / t.half(DSPCA) for t in study.facts["transitions"]]
    assert 1.2 < ratios[0] < ratios[1]


def test_the_study_is_written_whole(study, tmp_path):
    page = study.write(tmp_path).read_text()
    assert page.count("\n| ") == 6 + 1
    assert "nan" not in page


@pytest.mark.parametrize("seed", range(3))
def test_spiked_covariance_noise_is_divided_by_the_root_of_m(seed):
    (weak, support), (spiked, _) = (spiked_covariance(100, 60, 10, signal, seed) for signal in (0.0, 7.0))
    u = np.isin(np.arange(100), support) / np.sqrt(10)
    assert spiked - 7 * np.outer(u, u) == pytest.approx(weak, abs=1e-12)
    # V V' has rank m. Its diagonal is m on average, and sqrt(m) after the division.
    assert (np.linalg.eigvalsh(weak) > 1e-8).sum() == 60
    assert np.trace(weak) / 100 == pytest.approx(np.sqrt(60), rel=0.1)
