"""Proved bounds on what several components hold together, and certificates of them."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from certificate_examples import example, matrix, rows
from cover_problems import Question
from forging import checker

from laconic import verify
from laconic.bounds.prove_jointly import eigenvalue_witness as span_witness
from laconic.core.words import several_in_words
from laconic.covariance import DenseCovariance, FactorCovariance, ScreenedCovariance, SubsetCovariance
from laconic.covariance.make import Recipe
from laconic.data.passes import digest_of
from laconic.proof import ProofError, certify
from laconic.proof.certificate import lower_of
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


def test_a_threshold_by_hand():
    """S = I + J / 10 with n = 5. A threshold of 1/10 leaves 1.1 I, and each of r components 1.1."""
    S = np.eye(5) + 0.1
    none = np.zeros((5, 1))

    def bound(sizes, joint, total=None):
        return prove_joint(S, sizes, JointWitness(factor=none, threshold=0.1), joint=joint, total=total).value

    # c = sum of k_t - 1 for components with their own supports.
    assert bound((2, 3), "disjoint") == pytest.approx(2.2 + 0.1 * 3)
    assert bound((2, 3), "orthogonal") == pytest.approx(2.2 + 0.1 * 3)
    assert bound((2, 3), "orthogonal", total=4) == pytest.approx(2.2 + 0.1 * 2)
    # Two components on 3 features: the larger root of 1 * 2 * 2 and 2 * 2 * 1. On 4: of 1 * 3 * 3 and 2 * 3 * 2.
    assert bound((3, 3), "common") == pytest.approx(2.2 + 0.1 * 2)
    assert bound((2, 2), "span") == pytest.approx(2.2 + 0.1 * 12**0.5)
    # The trace is less: 5 variances of 1.1, and of 2 features it is 2.2.
    assert bound((1, 1), "span") == pytest.approx(2.2)


@pytest.mark.parametrize(
    ("witness", "reason"),
    [
        (JointWitness(factor=np.zeros((4, 1)), threshold=-0.1), "must not be negative"),
        (JointWitness(factor=np.zeros((4, 1)), threshold=np.nan), "finite number"),
        (JointWitness(np.arange(3), np.zeros((3, 1)), threshold=0.1), "must be written out"),
        (JointWitness(None, np.zeros((4, 1)), by_rows=True, threshold=0.1), "must be written out"),
    ],
)
def test_thresholds_that_are_refused(witness, reason):
    with pytest.raises(ProofError, match=reason):
        prove_joint(np.eye(4), (2, 2), witness, joint="orthogonal")


def test_the_trace_counts_the_features_of_the_question():
    S = np.diag([5.0, 4.0, 3.0, 2.0, 1.0])
    for joint, total, features in (
        ("common", None, 3),
        ("disjoint", None, 5),
        ("disjoint", 4, 4),
        ("orthogonal", 3, 3),
    ):
        most = np.sort(S.diagonal())[::-1][:features].sum()
        assert prove_joint(S, (3, 3), JointWitness(), joint=joint, total=total).value == pytest.approx(most)


@pytest.mark.parametrize("seed", range(6))
def test_the_questions_are_nested(seed):
    """Disjoint components are orthogonal, and orthogonal ones span what any do. So do those with a common support."""
    B = np.random.default_rng(seed).standard_normal((6, 6))
    values = {
        joint: Question(B @ B.T, joint, (3, 3), None, np.empty(0, dtype=np.intp)).truth()
        for joint in ("common", "disjoint", "orthogonal", "span")
    }
    assert values["disjoint"] <= values["span"] + 1e-12
    assert max(values["common"], values["orthogonal"]) <= values["span"] + 1e-12


def forge(name, folder, **changes):
    """Return what `verify` says of an example with other fields, and a bound that needs no cover."""
    certificate = replace(example(name).certificate, witness=JointWitness(), kind="span", upper=100.0, **changes)
    found, tool = verify(certificate, example(name).data), checker()
    try:
        other = tool.check(certificate.save(folder / "forged.json"), example(name).data)
    except (tool.RejectedError, tool.UnreadableError):
        other = []
    assert bool(found) == bool(other)
    return found


def turned(name, angle):
    """The components of an example after a turn of the second one towards the first."""
    u, v = example(name).certificate.loadings
    v = v + angle * u
    return np.array([u, v / np.linalg.norm(v)])


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("disjoint", {}, None),
        ("disjoint", {"joint": "orthogonal"}, None),
        ("disjoint", {"joint": "span"}, None),
        ("disjoint", {"joint": "orthogonal", "total": 5}, None),
        ("disjoint", {"joint": "orthogonal", "total": 4}, "5 loadings where at most 4"),
        ("disjoint", {"total": 4}, "5 loadings where at most 4"),
        ("disjoint", {"total": 5.0}, "a total of 5.0"),
        ("disjoint", {"total": True}, "a total of True"),
        ("disjoint", {"joint": "span", "total": 5}, "a total of 5"),
        ("disjoint", {"joint": None}, "2 components and joint=None"),
        ("disjoint", {"joint": "together"}, "joint='together'"),
        ("disjoint", {"joint": "common"}, "components of"),
        ("disjoint", {"joint": "common", "cardinalities": np.array([5, 5])}, None),
        ("disjoint", {"joint": "common", "cardinalities": np.array([5, 6])}, "several sizes"),
        ("disjoint", {"forced": np.array([0])}, "share a feature"),
        ("disjoint", {"loadings": turned("disjoint", 0.01), "cardinalities": np.array([5, 5])}, "share a feature"),
        ("orthogonal", {"joint": "disjoint"}, "share a feature"),
        ("orthogonal", {"loadings": turned("orthogonal", 1e-11), "total": 6}, "off orthogonal by 1e-11"),
        ("orthogonal", {"loadings": turned("orthogonal", 1e-11), "joint": "span", "total": None}, None),
        ("common", {"loadings": turned("common", 1e-11)}, "off orthogonal by 1e-11"),
        ("common", {"joint": "orthogonal"}, None),
        ("common", {"cardinalities": np.array([2, 2])}, "components of"),
    ],
)
def test_what_components_must_satisfy(name, changes, reason, tmp_path):
    found = forge(name, tmp_path, **changes)
    assert bool(found) == (reason is None), found.reason
    assert reason is None or reason in found.reason


def test_features_forced_in_count_even_if_their_loadings_are_zero():
    """Both components of Diag(3, 2, 1) must contain feature 2, which they do not use."""
    S, U = np.diag([3.0, 2.0, 1.0]), np.eye(3)[:2]
    options = {"digest": digest_of(S), "recipe": Recipe("covariance"), "joint": "orthogonal", "forced": [2]}

    def made(size, total):
        return certify(DenseCovariance(S), (size, size), [0, 1, 2], U, JointWitness(), total=total, **options)

    assert verify(made(2, 4), S)
    assert "4 loadings where at most 3" in verify(made(2, 3), S).reason
    assert "components of [2, 2] features" in verify(made(1, None), S).reason
    common = replace(made(3, None), joint="common")
    assert verify(common, S)
    assert not verify(replace(common, cardinalities=np.array([2, 2])), S)


def test_values_are_those_of_the_question():
    """Disjoint components that are not of unit length: the sum of z'Sz / z'z. Any others: the trace on their span."""
    certificate = example("disjoint").certificate
    longer = certificate.loadings * (1 + 1e-7)
    held = sum(
        z @ matrix()[np.ix_(certificate.support, certificate.support)] @ z / (z @ z) for z in certificate.loadings
    )
    for joint in ("disjoint", "orthogonal", "common", "span"):
        assert lower_of(DenseCovariance(matrix()), certificate.support, longer, joint) == pytest.approx(held, rel=1e-12)
    u, v = turned("disjoint", 0.5)
    apart = lower_of(DenseCovariance(matrix()), certificate.support, np.array([u, v]), "orthogonal")
    assert apart == pytest.approx(
        sum(z @ matrix()[np.ix_(certificate.support, certificate.support)] @ z for z in (u, v)), rel=1e-12
    )
    span = lower_of(DenseCovariance(matrix()), certificate.support, np.array([u, v]), "span")
    assert span == pytest.approx(held, rel=1e-12)


@pytest.mark.parametrize(
    ("joint", "sizes", "total", "words"),
    [
        ("common", (3, 3), None, "2 orthogonal components of 3 common features"),
        ("common", (1, 1), None, "2 orthogonal components of 1 common feature"),
        ("disjoint", (5, 4), None, "2 components with disjoint supports of at most 5 and 4 features"),
        ("disjoint", (4, 4), 5, "2 components with disjoint supports of at most 5 features in all"),
        ("disjoint", (3, 3), 5, "2 components with disjoint supports of at most 3 features each, 5 in all"),
        ("orthogonal", (9, 2), 8, "2 orthogonal components of at most 9 and 2 features, 8 in all"),
        ("orthogonal", (1500, 1500), 1501, "2 orthogonal components of at most 1,501 features in all"),
        ("span", (2, 2, 1), None, "3 components of at most 2, 2 and 1 features"),
    ],
)
def test_words_name_every_limit(joint, sizes, total, words):
    assert several_in_words(joint, sizes, total) == words
    assert checker().several(joint, list(sizes), total) == words
