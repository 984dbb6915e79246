"""Proved bounds on what several components hold together, and certificates of them."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from laconic import SpanCertificate, SparsePCA, verify
from laconic.bounds.span_bound import span_witness
from laconic.covariance import DenseCovariance, FactorCovariance, ScreenedCovariance, SubsetCovariance
from laconic.proof import ProofError
from laconic.proof.storage import read_certificate
from laconic.proof.witness_joint import SpanWitness, prove_span, proved_span_lower
from matrices import kinds


def truth(S, r):
    """No r components hold more than this: the largest eigenvalues, and none below zero."""
    return float(np.maximum(np.linalg.eigvalsh(S)[-r:], 0).sum())


def held(S, components):
    Q = np.linalg.qr(components.T)[0]
    return float(np.trace(Q.T @ S @ Q))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", kinds(5, 0))
def test_the_bound_holds_and_is_sharp(name, seed):
    n = 7
    S = kinds(n, seed)[name]
    scale = np.abs(S).max()
    if scale == 0:
        assert prove_span(S, (2, 2), span_witness(DenseCovariance(S), 2)).value == 0
        return
    for r in (1, 2, 3, n):
        covariance = DenseCovariance(S, semidefinite=False)
        value, margin = prove_span(S, (n,) * r, span_witness(covariance, r))
        # LAPACK's eigenvalues are exact to some eps of the norm.
        assert value >= truth(S, r) - 1e-14 * scale * n
        assert value <= truth(S, r) + 1e-9 * scale * n
        assert 0 <= margin <= 1e-9 * scale * n


@pytest.mark.parametrize("seed", range(5))
def test_any_numbers_in_the_witness_give_a_true_bound(seed):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((6, 6))
    S = B + B.T
    for r in (1, 2, 3):
        for columns in (1, 2, 4):
            witness = SpanWitness(factor=rng.standard_normal((6, columns)) * rng.uniform(0.1, 3))
            assert prove_span(S, (6,) * r, witness).value >= truth(S, r)


@pytest.mark.parametrize("seed", range(3))
def test_a_factor_is_bounded_through_its_rows(seed):
    A = np.random.default_rng(seed).standard_normal((8, 60))
    covariance = FactorCovariance(A)
    witness = span_witness(covariance, 3)
    assert witness.by_rows
    assert witness.factor.shape == (8, 3)
    value = prove_span(covariance, (60, 60, 60), witness).value
    assert truth(A.T @ A, 3) * (1 - 1e-13) <= value <= truth(A.T @ A, 3) * (1 + 1e-9)
    with pytest.raises(ProofError, match="has none"):
        prove_span(A.T @ A, (3, 3), witness)


def test_few_features_are_bounded_by_their_variances():
    S = np.diag([3.0, 2.0, 1.0, 1.0]) + 0.01
    value = prove_span(S, (1, 1), span_witness(DenseCovariance(S), 2)).value
    assert value == pytest.approx(5.02)
    assert prove_span(S, (1, 1), SpanWitness()).value == pytest.approx(5.02)


@pytest.mark.parametrize("seed", range(4))
def test_hidden_features_count_with_their_variances(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((12, 9)) * np.linspace(2, 0.1, 9)
    S = A.T @ A
    at_hand = np.array([0, 1, 2, 3, 5])
    covariance = ScreenedCovariance(
        DenseCovariance(S[np.ix_(at_hand, at_hand)]), at_hand, S.diagonal().copy(), np.full(9, 1e-12), 1e-12
    )
    for sizes in ((1, 1), (2, 3), (4, 4, 4)):
        witness = span_witness(covariance, len(sizes))
        value = prove_span(covariance, sizes, witness).value
        # The truth over all supports of that many features together, hidden ones too.
        assert value >= best_of_union(S, len(sizes), sum(sizes)) * (1 - 1e-12)
        inside = truth(S[np.ix_(at_hand, at_hand)], len(sizes))
        hidden = np.sort(np.delete(S.diagonal(), at_hand))[::-1]
        assert value <= inside + hidden[: sum(sizes)].sum() + 1e-9
        subset = SubsetCovariance(covariance, np.array([0, 1, 3, 4, 6]))
        part = np.array([0, 1, 3, 4, 6])
        witness = span_witness(subset, len(sizes))
        value = prove_span(subset, sizes, witness).value
        assert value >= best_of_union(S[np.ix_(part, part)], len(sizes), sum(sizes)) * (1 - 1e-12)
    with pytest.raises(ProofError, match="at hand"):
        prove_span(covariance, (1, 1), SpanWitness(at_hand[:-1], np.ones((4, 1))))


def best_of_union(S, r, count):
    return max(truth(S[np.ix_(T, T)], r) for T in combinations(range(len(S)), min(count, len(S))))


@pytest.mark.parametrize("seed", range(5))
def test_lower_bound_of_a_span(seed):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((7, 7))
    for S in (B @ B.T, B + B.T):
        Z = rng.standard_normal((3, 4))
        features = np.array([0, 2, 3, 6])
        lower = proved_span_lower(S, features, Z)
        exact = held(S[np.ix_(features, features)], Z)
        assert exact - 1e-11 <= lower <= exact + 1e-13


def test_lower_bound_needs_independent_components():
    Z = np.array([[1.0, 0.0], [1.0, 1e-18]])
    with pytest.raises(ValueError, match=r"dependent|Singular"):
        proved_span_lower(np.eye(2), np.arange(2), Z)
    with pytest.raises(ValueError, match="no loadings"):
        proved_span_lower(np.eye(2), np.arange(2), np.zeros((1, 2)))


def fitted(**settings):
    X = np.random.default_rng(0).standard_normal((40, 9)) @ np.random.default_rng(1).standard_normal((9, 9))
    return X, SparsePCA(2, cardinality=[4, 3], joint="span", **settings).fit(X)


@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"forced_in": [0]}, {"center": False}])
def test_a_certificate_is_accepted_and_belongs_to_its_data(settings, tmp_path):
    X, model = fitted(**settings)
    certificate = model.certificates_[0]
    checked = verify(certificate, X)
    assert checked, checked.reason
    assert certificate.upper == model._together.upper
    assert certificate.lower <= model._together.held * (1 + 1e-12)
    assert checked.reason.startswith("Accepted. Together these 2 components hold at least")
    again = read_certificate(certificate.save(tmp_path / "together.json"))
    assert isinstance(again, SpanCertificate)
    assert verify(tmp_path / "together.json", X)
    assert repr(again) == repr(certificate)
    assert not verify(certificate, X + 1e-9 * X[::-1])


def test_weights_belong_to_the_claim():
    X = np.random.default_rng(0).standard_normal((40, 6))
    weights = np.arange(40.0)
    model = SparsePCA(2, cardinality=2, joint="span").fit(X, sample_weight=weights)
    assert verify(model.certificates_[0], X, sample_weight=weights)
    assert not verify(model.certificates_[0], X)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda c: {"upper": c.upper * (1 - 1e-6)}, "upper bound is not proved"),
        (lambda c: {"lower": c.lower * (1 + 1e-6)}, "lower bound is not proved"),
        (lambda c: {"loadings": np.full_like(c.loadings, 0.3)}, "more features"),
        (lambda c: {"loadings": c.loadings[:1]}, "one finite loading"),
        (lambda c: {"loadings": np.repeat(c.loadings[1:], 2, axis=0)}, "dependent|Singular"),
        (lambda _: {"cardinalities": np.array([1, 1])}, "more features"),
        (lambda _: {"cardinalities": np.array([4])}, "one finite loading"),
        (lambda _: {"witness": SpanWitness(factor=np.zeros((9, 2)))}, "upper bound is not proved"),
        (lambda _: {"witness": SpanWitness(factor=np.full((9, 2), np.nan))}, "NaN"),
        (lambda c: {"witness": SpanWitness(factor=c.witness.factor[:4])}, "shape"),
        (lambda c: {"witness": SpanWitness(np.arange(4), c.witness.factor[:4])}, "at hand"),
        (lambda _: {"allowed": np.arange(3)}, "not allowed|more features"),
        (lambda c: {"forced": np.setdiff1d(np.arange(9), c.support)[:1]}, "forced in"),
        (lambda _: {"upper": np.inf}, "not finite"),
        (lambda _: {"margin": -1.0}, "negative margin"),
        (lambda _: {"digest": "0" * 64}, "another matrix"),
        (lambda _: {"feature_names": ("a",)}, "names"),
    ],
)
def test_forged_certificates_are_rejected(change, reason):
    X, model = fitted()
    certificate = model.certificates_[0]
    found = verify(replace(certificate, **change(certificate)), X)
    assert not found
    assert re.search(reason, found.reason), found.reason
