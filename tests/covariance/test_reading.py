"""One correlation matrix for all: functions, fits and the verification of what they prove."""

import numpy as np
import pytest

import laconic.covariance.reading
from helpers import certified
from laconic import SparsePCA, verify
from laconic.covariance import DenseCovariance
from laconic.covariance.reading import correlation_of, read_data

ROWS = np.random.default_rng(0).standard_normal((40, 9)) * np.logspace(-3, 4, 9)


@pytest.fixture
def seen(monkeypatch):
    """The matrices that S was made of, in order."""
    matrices = []

    class Noted(DenseCovariance):
        def __init__(self, matrix, *, semidefinite):
            matrices.append(np.array(matrix))
            super().__init__(matrix, semidefinite=semidefinite)

    monkeypatch.setattr(laconic.covariance.reading, "DenseCovariance", Noted)
    return matrices


def test_correlations_of_a_covariance():
    S = np.cov(ROWS, rowvar=False)
    R, scales = correlation_of(S)
    np.testing.assert_allclose(R, np.corrcoef(ROWS, rowvar=False), atol=1e-14)
    np.testing.assert_allclose(scales * ROWS.std(axis=0, ddof=1), 1)
    S[2] = S[:, 2] = 0
    R, scales = correlation_of(S)
    assert scales[2] == 1
    assert not R[2].any()


def test_functions_fits_and_proofs_are_about_the_same_digits(seen):
    S = np.cov(ROWS, rowvar=False)
    S = 0.5 * (S + S.T)
    certificate = certified(S, [1, 3, 5], "fast", scale=True)
    model = SparsePCA(cardinality=3, scale=True).fit_covariance(S)
    for proof in (certificate, model.certificates_[0]):
        assert verify(proof, S)
    assert len(seen) == 4
    for matrix in seen:
        assert np.array_equal(matrix, correlation_of(S)[0])


@pytest.mark.parametrize("effort", ["fast", "tight"])
def test_a_feature_without_variance_is_no_obstacle_to_a_proof(effort):
    """What stands off its diagonal is more than rounding, and as much as a matrix may have."""
    S = np.cov(ROWS, rowvar=False)
    S[2] = S[:, 2] = 0
    S[2, 8] = S[8, 2] = 1e-4 * S[8, 8]
    with pytest.warns(UserWarning, match="does not vary"):
        model = SparsePCA(3, cardinality=3, scale=True, proof=effort).fit_covariance(S)
    for proof in (*model.certificates_, certified(S, [0, 4, 8], effort, scale=True)):
        outcome = verify(proof, S)
        assert outcome, outcome.reason


@pytest.mark.parametrize("settings", [{"missing": "em"}, {"scale": True}])
def test_a_covariance_object_is_used_as_it_is(settings):
    with pytest.raises(ValueError, match="a Covariance is used as it is"):
        read_data(DenseCovariance(np.eye(3)), **settings)
