"""Proofs for every matrix whose entries differ by at most some delta, against matrices drawn within that distance."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from helpers import best_value, random_psd
from laconic import Certificate, SparsePCA, certify_support, upper_bound, verify
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.covariance.deflation import Deflation
from laconic.covariance.uncertainty import Uncertainty
from symmetric import deflated, random_symmetric

LINEAR = ["projection", "hotelling", "orthogonalized-projection", "orthogonalized-hotelling"]
DELTA = 0.05


def moved(S, rng, towards=None):
    """S with every entry moved by delta: at random, or so that a vector gains most."""
    signs = np.sign(rng.standard_normal(S.shape)) if towards is None else np.sign(np.outer(towards, towards))
    signs = np.triu(signs) + np.triu(signs, 1).T
    return S + DELTA * signs


@pytest.mark.parametrize("deflation", LINEAR)
@pytest.mark.parametrize("seed", range(4))
def test_both_bounds_hold_for_every_matrix_within_the_distance(deflation, seed):
    rng = np.random.default_rng(seed)
    S, k = random_psd(7, seed=seed), 3
    model = SparsePCA(3, cardinality=k, deflation=deflation).fit_covariance(S, uncertainty=DELTA)
    for index, (z, certificate) in enumerate(zip(model.components_, model.certificates_, strict=True)):
        assert verify(certificate, S), verify(certificate, S).reason
        assert model.lower_bound_[index] <= model.upper_bound_[index]
        for towards in (None, None, None, z, -z, rng.standard_normal(7)):
            for sign in (1, -1):
                other = S + sign * (moved(S, rng, towards) - S)
                left = deflated(other, model.components_[:index], deflation)
                assert certificate.lower <= z @ left @ z + 1e-12
                assert best_value(left, k) <= certificate.upper + 1e-12
        assert certificate.lower == pytest.approx(model.lower_bound_[index])


@pytest.mark.parametrize("deflation", LINEAR)
@pytest.mark.parametrize("seed", range(4))
def test_the_cost_of_a_bound_holds_for_the_worst_matrix(deflation, seed):
    """The worst change E for a vector x has the signs of the adjoint of the deflation at xx'."""
    rng = np.random.default_rng(seed)
    n, S = 8, random_symmetric(rng, 8) + 20 * np.eye(8)
    left, removed = Deflation(DenseCovariance(S), deflation), []
    for _ in range(3):
        z = np.zeros(n)
        z[rng.permutation(n)[:3]] = rng.standard_normal(3)
        removed.append(z / np.linalg.norm(z))
        left.remove(removed[-1])
    cost = Uncertainty(left.current, DELTA)
    # The change of a linear map at E, entry by entry.
    change = np.zeros((n, n, n, n))
    for i in range(n):
        for j in range(n):
            E = np.zeros((n, n))
            E[i, j] += 0.5
            E[j, i] += 0.5
            change[i, j] = deflated(E, removed, deflation)
    for k in (1, 2, 4, 8):
        for _ in range(20):
            support = np.sort(rng.permutation(n)[:k])
            x = np.zeros(n)
            x[support] = rng.standard_normal(k)
            x /= np.linalg.norm(x)
            worst = DELTA * np.abs(np.einsum("ijab,a,b->ij", change, x, x)).sum()
            assert worst <= cost.of_vector(support, x[support]) * (1 + 1e-9)
            assert worst <= cost.of_bound(k) * (1 + 1e-9)


def test_without_deflation_a_bound_costs_k_times_the_uncertainty():
    S = np.round(np.corrcoef(np.random.default_rng(0).standard_normal((40, 8)), rowvar=False), 3)
    plain = SparsePCA(cardinality=3).fit_covariance(S)
    wide = SparsePCA(cardinality=3).fit_covariance(S, uncertainty=0.0005)
    assert wide.upper_bound_[0] - plain.upper_bound_[0] == pytest.approx(3 * 0.0005, rel=1e-6)
    lost = 0.0005 * np.abs(plain.components_[0]).sum() ** 2
    assert plain.lower_bound_[0] - wide.lower_bound_[0] == pytest.approx(lost, rel=1e-6)
    assert wide.gap_[0] == pytest.approx(wide.certificates_[0].gap, rel=1e-6)
    assert "for every matrix whose entries differ from those given by at most 0.0005 (proved)" in wide.verdicts_[0]
    # The search has compared the supports in one matrix only.
    assert "excluded every better support of this size, up to rounding errors." in wide.verdicts_[0]
    reason = verify(wide.certificates_[0], S).reason
    assert "for every matrix whose entries differ from those given by at most 0.0005" in reason
    bound = upper_bound(S, 3, uncertainty=0.0005)
    assert bound.value == pytest.approx(wide.upper_bound_[0], rel=1e-6)
    certificate = certify_support(S, wide.supports_[0], uncertainty=0.0005)
    assert verify(certificate, S)
    assert certificate.lower == pytest.approx(wide.lower_bound_[0], rel=1e-6)


def test_a_certificate_that_claims_more_is_rejected(tmp_path):
    S = random_psd(6)
    certificate = SparsePCA(cardinality=2).fit_covariance(S, uncertainty=0.01).certificates_[0]
    assert verify(Certificate.load(certificate.save(tmp_path / "certificate.json")), S)
    for wider in (0.02, np.inf, np.nan, -1.0):
        assert not verify(replace(certificate, matrix=replace(certificate.matrix, uncertainty=wider)), S)
    exact = SparsePCA(cardinality=2).fit_covariance(S).certificates_[0]
    assert not verify(replace(exact, matrix=replace(exact.matrix, uncertainty=0.01)), S)
    later = SparsePCA(2, cardinality=2, deflation="schur").fit_covariance(S).certificates_[1]
    assert "schur" in verify(replace(later, matrix=replace(later.matrix, uncertainty=1e-12)), S).reason


@pytest.mark.parametrize(
    ("settings", "uncertainty", "words"),
    [
        ({}, -1.0, r"uncertainty=-1.0 must be a number"),
        ({}, np.inf, r"uncertainty=inf must be a number"),
        ({}, "small", r"uncertainty='small' must be a number"),
        ({"scale": True}, 0.1, r"scale=True changes them; give the correlation matrix"),
        ({"indefinite": "nearest"}, 0.1, r"indefinite='nearest' replaces it"),
        ({"proof": None}, 0.1, r"proof=None asks for none"),
        ({"deflation": "schur", "n_components": 2}, 0.1, r"deflation='schur'; use deflation='projection'"),
        ({"deflation": "schur", "cardinality": [2, 2]}, 0.1, r"deflation='schur'; use deflation='projection'"),
    ],
)
def test_one_clear_sentence(settings, uncertainty, words):
    with pytest.raises(ValueError, match=words):
        SparsePCA(**({"cardinality": 2} | settings)).fit_covariance(random_psd(5), uncertainty=uncertainty)


def test_functions_refuse_rows():
    X = np.random.default_rng(0).standard_normal((20, 5))
    with pytest.raises(ValueError, match=r"uncertainty=0.1 is for a covariance or correlation matrix"):
        upper_bound(X, 2, uncertainty=0.1)
    with pytest.raises(ValueError, match=r"uncertainty=0.1 is about the entries of a matrix"):
        upper_bound(FactorCovariance(X), 2, uncertainty=0.1)


def test_scaling_a_correlation_matrix_changes_nothing():
    S = np.corrcoef(np.random.default_rng(0).standard_normal((40, 6)), rowvar=False)
    np.fill_diagonal(S, 1.0)
    model = SparsePCA(cardinality=2, scale=True).fit_covariance(S, uncertainty=0.001)
    assert verify(model.certificates_[0], S)


@pytest.mark.parametrize("seed", range(5))
def test_indefinite_matrices(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((6, 6))
    S = A + A.T
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        model = SparsePCA(cardinality=2).fit_covariance(S, uncertainty=DELTA)
    for _ in range(20):
        other = moved(S, rng)
        assert best_value(other, 2) <= model.upper_bound_[0]
        assert model.lower_bound_[0] <= model.components_[0] @ other @ model.components_[0]


def test_a_component_that_no_bound_is_proved_for():
    S = np.cov(np.random.default_rng(0).standard_normal((20, 6)), rowvar=False)
    model = SparsePCA(2, cardinality=2, method="gpower-l1-block").fit_covariance(S, uncertainty=0.1)
    for z, lower in zip(model.components_, model.lower_bound_, strict=True):
        signs = np.where(z < 0, -1.0, 1.0)
        assert lower <= z @ (S - 0.1 * np.outer(signs, signs)) @ z + 1e-12


def test_a_direction_without_variance_is_not_left_out_in_silence():
    """The second direction, made orthogonal to the first, has no variance in S, but has some in matrices near it."""
    A = np.random.default_rng(5).standard_normal((4, 4))
    S = 0.5 * (A + A.T)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        model = SparsePCA(3, cardinality=2, deflation="orthogonalized-hotelling").fit_covariance(S, uncertainty=0.001)
        exact = SparsePCA(3, cardinality=2, deflation="orthogonalized-hotelling").fit_covariance(S)
    first, second, third = model.certificates_
    assert first is not None
    assert second is not None
    assert third is None
    assert model.upper_bound_[2] == np.inf
    assert model.lower_bound_[2] == -np.inf
    certificate = exact.certificates_[2]
    wider = replace(certificate, upper=2.0, lower=0.0, matrix=replace(certificate.matrix, uncertainty=0.001))
    assert "needs earlier components" in verify(wider, S).reason
