"""Proved bounds on what several components hold together, and certificates of them."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from certificate_examples import example, rows

from laconic import verify
from laconic.bounds.joint import eigenvalue_witness as span_witness
from laconic.covariance import DenseCovariance, FactorCovariance, ScreenedCovariance, SubsetCovariance
from laconic.proof import ProofError
from laconic.proof.witness_joint import JointWitness, prove_joint, proved_joint_lower
from matrices import kinds


def truth(S, r):
    """No r components hold more than this: the largest eigenvalues, and none below zero."""
    return float(np.maximum(np.linalg.eigvalsh(S)[-r:], 0).sum())


def best_of_union(S, r, count):
    return max(truth(S[np.ix_(T, T)], r) for T in combinations(range(len(S)), min(count, len(S))))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", kinds(5, 0))
def test_the_bound_holds_and_is_sharp(name, seed):
    n = 7
    S = kinds(n, seed)[name]
    scale = np.abs(S).max()
    if scale == 0:
        assert prove_joint(S, (2, 2), span_witness(DenseCovariance(S), 2)).value == 0
        return
    for r in (1, 2, 3, n):
        covariance = DenseCovariance(S, semidefinite=False)
        value, margin = prove_joint(S, (n,) * r, span_witness(covariance, r))
        # LAPACK's eigenvalues are exact to some eps of the norm.
        assert truth(S, r) - 1e-14 * scale * n <= value <= truth(S, r) + 1e-9 * scale * n
        assert 0 <= margin <= 1e-9 * scale * n


@pytest.mark.parametrize("seed", range(5))
def test_any_numbers_in_the_witness_give_a_true_bound(seed):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((6, 6))
    S = B + B.T
    for r in (1, 2, 3):
        for columns in (1, 2, 4):
            witness = JointWitness(factor=rng.standard_normal((6, columns)) * rng.uniform(0.1, 3))
            assert prove_joint(S, (6,) * r, witness).value >= truth(S, r)
        # Features that are left out count with their variances, hidden or not, semidefinite or not.
        kept = np.sort(rng.choice(6, 4, replace=False))
        witness = JointWitness(kept, rng.standard_normal((4, 2)))
        for sizes in ((2,) * r, (1,) * r):
            assert prove_joint(S, sizes, witness).value >= best_of_union(S, r, sum(sizes)) - 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_a_factor_is_bounded_through_its_rows(seed):
    A = np.random.default_rng(seed).standard_normal((8, 60))
    covariance = FactorCovariance(A)
    witness = span_witness(covariance, 3)
    assert witness.by_rows
    assert witness.factor.shape == (8, 3)
    value = prove_joint(covariance, (60, 60, 60), witness).value
    assert truth(A.T @ A, 3) * (1 - 1e-13) <= value <= truth(A.T @ A, 3) * (1 + 1e-9)
    with pytest.raises(ProofError, match="has none"):
        prove_joint(A.T @ A, (3, 3), witness)


def test_few_features_are_bounded_by_their_variances():
    S = np.diag([3.0, 2.0, 1.0, 1.0]) + 0.01
    for witness in (span_witness(DenseCovariance(S), 2), JointWitness()):
        assert prove_joint(S, (1, 1), witness).value == pytest.approx(5.02)


@pytest.mark.parametrize("seed", range(4))
def test_hidden_features_count_with_their_variances(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((12, 9)) * np.linspace(2, 0.1, 9)
    S = A.T @ A
    at_hand = np.array([0, 1, 2, 3, 5])
    covariance = ScreenedCovariance(
        DenseCovariance(S[np.ix_(at_hand, at_hand)]), at_hand, S.diagonal().copy(), np.full(9, 1e-12)
    )
    for sizes in ((1, 1), (2, 3), (4, 4, 4)):
        witness = span_witness(covariance, len(sizes))
        value = prove_joint(covariance, sizes, witness).value
        # The truth over all supports of that many features together, hidden ones too.
        assert value >= best_of_union(S, len(sizes), sum(sizes)) * (1 - 1e-12)
        inside = truth(S[np.ix_(at_hand, at_hand)], len(sizes))
        hidden = np.sort(np.delete(S.diagonal(), at_hand))[::-1]
        assert value <= inside + hidden[: sum(sizes)].sum() + 1e-9
        # The same witness on the whole matrix, where nothing is hidden.
        assert prove_joint(S, sizes, witness).value <= value * (1 + 1e-9)
        part = np.array([0, 1, 3, 4, 6])
        subset = SubsetCovariance(covariance, part)
        value = prove_joint(subset, sizes, span_witness(subset, len(sizes))).value
        assert value >= best_of_union(S[np.ix_(part, part)], len(sizes), sum(sizes)) * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_lower_bound_of_a_span(seed):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((7, 7))
    for S in (B @ B.T, B + B.T):
        Z = rng.standard_normal((3, 4))
        features = np.array([0, 2, 3, 6])
        Q = np.linalg.qr(Z.T)[0]
        exact = float(np.trace(Q.T @ S[np.ix_(features, features)] @ Q))
        assert exact - 1e-11 <= proved_joint_lower(S, features, Z) <= exact + 1e-13
    with pytest.raises(ValueError, match=r"dependent|Singular"):
        proved_joint_lower(np.eye(2), np.arange(2), np.array([[1.0, 0.0], [1.0, 1e-18]]))
    with pytest.raises(ValueError, match="no loadings"):
        proved_joint_lower(np.eye(2), np.arange(2), np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda c: {"upper": c.upper * (1 - 1e-6)}, "upper bound is not proved"),
        (lambda c: {"lower": c.lower * (1 + 1e-6)}, "lower bound is not proved"),
        (lambda c: {"loadings": np.full_like(c.loadings, c.loadings.shape[1] ** -0.5)}, r"components of \[\d, \d\]"),
        (lambda c: {"loadings": c.loadings[:1]}, "one finite loading"),
        (lambda c: {"loadings": np.repeat(c.loadings[1:], 2, axis=0)}, "dependent|Singular"),
        (lambda _: {"cardinalities": np.array([1, 1])}, r"for the cardinalities \[1, 1\]"),
        (lambda _: {"cardinalities": np.array([4])}, "one finite loading"),
        (lambda _: {"witness": JointWitness(factor=np.zeros((8, 2)))}, "upper bound is not proved"),
        (lambda _: {"witness": JointWitness(factor=np.full((8, 2), np.nan))}, "NaN"),
        (lambda c: {"witness": JointWitness(factor=c.witness.factor[:4])}, "shape"),
        (lambda c: {"witness": JointWitness(np.arange(4), c.witness.factor[:4])}, "upper bound is not proved"),
        (lambda _: {"witness": example("trace").certificate.witness}, "different numbers of components"),
        (lambda _: {"kind": "row sums"}, "another kind"),
        (lambda _: {"allowed": np.arange(3)}, r"not allowed|of 3 features"),
    ],
)
def test_forged_certificates_are_rejected(change, reason):
    certificate = example("joint").certificate
    found = verify(replace(certificate, **change(certificate)), rows())
    assert not found
    assert re.search(reason, found.reason), found.reason
