"""The cover proves what is true: by hand, on random trees of any numbers, and on trees that were grown."""

from dataclasses import replace

import numpy as np
import pytest
from certificate_examples import example
from cover_problems import Masks, Planter, Question, random_question
from forging import checker

from laconic import verify
from laconic.bounds.cover_tree import CoverTree
from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance
from laconic.covariance.make import Recipe
from laconic.data.passes import digest_of
from laconic.proof import ProofError, certify, proved_upper
from laconic.proof.witness import ORTHONORMAL, Proved, nearly_orthonormal
from laconic.proof.witness_cover import (
    BOUNDED,
    BY_SIZES,
    EMPTY,
    CoverPoint,
    CoverWitness,
    Group,
    GroupPoint,
    ways_to_divide,
    written_point,
)
from laconic.proof.witness_joint import JointWitness, cover_case, prove_joint

NOBODY = np.empty(0, dtype=np.intp)


def witness_of(cases, numbers=()):
    return CoverWitness(np.array(cases, dtype=np.intp), np.array(numbers, dtype=np.float32))


def both(question, witness):
    """The bound of the package and that of the checker; None for a witness that is refused."""
    tool, bounds = checker(), []
    options = (question.joint, question.total, question.inside)
    with np.errstate(all="ignore"):
        try:
            bounds.append(
                prove_joint(
                    question.covariance,
                    question.sizes,
                    witness,
                    joint=question.joint,
                    total=question.total,
                    inside=question.inside,
                ).value
            )
        except ProofError:
            bounds.append(None)
        if isinstance(witness, CoverWitness):
            stored = {"type": "CoverWitness", "cases": witness.cases.astype(np.int64), "numbers": witness.numbers}
        else:
            stored = {"type": "JointWitness", **vars(witness)}
        try:
            value = tool.joint_upper(stored, tool.Matrix(question.S), list(question.sizes), *options)
            bounds.append(value if np.isfinite(value) else None)
        except tool.RejectedError:
            bounds.append(None)
    return tuple(bounds)


def point(n, *, T=0.0, m=0.0, w=0.0, a=0.0, b=0.0, d=0.0, G=None, K=None):
    """A dual point of a group, with constants for vectors if they are numbers."""
    pairs = np.zeros((n, n)) + T
    np.fill_diagonal(pairs, 0.0)
    vectors = [np.zeros(n) + x for x in (m, w, a, b, d)]
    empty = np.zeros((n, 0))
    return GroupPoint(pairs, *vectors, factor=empty if G is None else G, turn=empty if K is None else K)


def bound_by_hand(S, sizes, joint, parts, *, F=None, e=0.0):
    """The bound of a tree that is one point."""
    n = len(S)
    case, _ = cover_case(DenseCovariance(S), sizes, joint, None, NOBODY)
    shared = np.zeros((n, 0)) if F is None else F
    cases, numbers = written_point(case, CoverPoint(tuple(parts), shared, np.zeros(n) + e))
    witness = witness_of([1, *cases, 0, BOUNDED], np.concatenate([np.ravel(part) for part in numbers]))
    ours, other = both(Question(S, joint, sizes, None, NOBODY), witness)
    assert ours == pytest.approx(other, abs=1e-13)
    return ours


def test_three_features_by_hand():
    """S = 2I + J: its eigenvalues are 5, 2 and 2, those of a pair 4 and 2."""
    S = 2 * np.eye(3) + 1.0
    u = np.full((3, 1), 3**-0.5)

    # Levels T_ij = 1 at m = 1 leave M = 3I. A row with a = 0 costs k/4 = 1/2. Two components may use all features.
    pair = point(3, T=1.0, m=1.0)
    assert bound_by_hand(S, (2, 2), "disjoint", [replace(pair, turn=np.zeros((3, 2)))]) == pytest.approx(2 * 3 + 3 / 2)
    # One component pays two rows: 3 + 1 = 4. With k = 1 and a = 1/2 the diagonal of M is 5/2, and one row costs 1/2: 3.
    # Supports {i, j} and {l} hold 4 + 3.
    single = point(3, T=1.0, m=1.0, a=0.5)
    assert bound_by_hand(S, (2, 1), "disjoint", [pair, single]) == pytest.approx(7, abs=1e-12)
    # The same with norms: N_ij = 1, of length 2^(1/2). With b = 1/2 the row costs (1/2 + (9/4)^(1/2))/2 = 1.
    normed = point(3, T=1.0, w=1.0, b=0.5)
    assert bound_by_hand(S, (1, 1), "disjoint", [replace(normed, turn=np.zeros((3, 2)))]) == pytest.approx(5 + 2)

    # Two components that may use everything hold 5 + 2: K takes the first eigenvector down to the second.
    K = np.hstack([3**0.5 * u, np.zeros((3, 1))])
    for joint in ("common", "orthogonal", "disjoint"):
        assert bound_by_hand(S, (3, 3), joint, [point(3, K=K)]) == pytest.approx(7, abs=1e-10)
    # In two groups F does that for both.
    assert bound_by_hand(S, (3, 2), "orthogonal", [point(3), point(3)], F=3**0.5 * u) == pytest.approx(7, abs=1e-10)
    # The vector G = u 3^(1/2) costs 1 for each feature: one component of two features has at most 2 + 2 = 4.
    assert bound_by_hand(S, (2,), "common", [point(3, G=3**0.5 * u)]) == pytest.approx(4, abs=1e-12)


def test_the_diagonal_and_fees_by_hand():
    """Diag(3, 2, 1): d = (2, 1, 0) leaves the identity."""
    S, d = np.diag([3.0, 2.0, 1.0]), np.array([2.0, 1.0, 0.0])
    # Two disjoint components of one feature pay 2 + 1.
    assert bound_by_hand(S, (1, 1), "disjoint", [point(3, d=d, K=np.zeros((3, 2)))]) == pytest.approx(5, abs=1e-12)
    # Two that may overlap pay twice for feature 0. So do two groups, unless there is a fee for each feature.
    assert bound_by_hand(S, (1, 1), "orthogonal", [point(3, d=d, K=np.zeros((3, 2)))]) == pytest.approx(6, abs=1e-12)
    groups = [point(3, d=d), point(3, d=d)]
    assert bound_by_hand(S, (2, 1), "disjoint", groups) == pytest.approx(1 + 1 + 3 + 2, abs=1e-12)
    assert bound_by_hand(S, (2, 1), "disjoint", groups, e=d) == pytest.approx(1 + 1 + 3, abs=1e-12)


# A problem takes about 50 milliseconds.
@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 10))])
def test_any_tree_of_any_numbers_proves_what_is_true(block):
    """All parts of a tree, and the tree, are bounds. Both programs say the same of it, and of an altered one."""
    tried = proved = 0
    for seed in range(block * 120, block * 120 + 120):
        rng = np.random.default_rng([seed, 1])
        question = random_question(rng, largest=5)
        witness, truth = Planter(rng, question).witness(depth=int(rng.integers(0, 3))), question.truth()
        size = float(np.abs(question.S).max()) or 1.0
        ours, other = both(question, witness)
        assert (ours is None) == (other is None)
        assert ours is not None or truth == -np.inf
        if ours is not None:
            assert min(ours, other) >= truth - question.tolerance
            assert ours == pytest.approx(other, rel=1e-10, abs=1e-10 * size)
            tried, proved = tried + 1, proved + (ours <= truth + 0.2 * abs(truth))
        ours, other = both(question, altered(rng, witness, size))
        assert (ours is None) == (other is None)
        if ours is not None:
            assert min(ours, other) >= truth - question.tolerance
    # A good part of the bounds is close to the truth, so that a wrong one would be noticed.
    assert proved >= 0.2 * tried


def altered(rng, witness, size):
    cases, numbers = witness.cases.copy(), witness.numbers.copy()
    if rng.random() < 0.5 and len(numbers):
        i = rng.integers(len(numbers))
        numbers[i] = rng.choice([0, -numbers[i], 2 * numbers[i], np.inf, np.nan, -size, size])
    else:
        i = rng.integers(len(cases))
        cases[i] = rng.choice([cases[i] + 1, cases[i] - 1, -cases[i], 0, -1, -2, -3, 2**62, -(2**62)])
    return CoverWitness(cases, numbers)


@pytest.mark.parametrize("seed", range(12))
def test_trees_that_were_grown(seed):
    """The tree of a search is true, both programs find the same bound, and most of them reach the value."""
    rng = np.random.default_rng([seed, 2])
    joint = ("common", "disjoint", "orthogonal", "span")[seed % 4]
    question = random_question(rng, largest=5, joint=joint)
    truth = question.truth()
    case, ways = question.case()
    tree = CoverTree(case, truth, Monitor(), lambda _: truth, ways=ways, node_limit=6)
    if truth == -np.inf:
        return
    ours, other = both(question, tree.run().witness)
    assert truth - question.tolerance <= min(ours, other)
    assert ours == pytest.approx(other, rel=1e-10)


@pytest.mark.parametrize("seed", range(40))
def test_other_witnesses_on_every_question(seed):
    """The trace, any factor F, and a threshold."""
    rng = np.random.default_rng([seed, 3])
    for _ in range(3):
        question = random_question(rng, largest=5)
        S, truth = question.S, question.truth()
        size = float(np.abs(S).max()) or 1.0
        values, vectors = np.linalg.eigh(S)
        F = vectors * np.sqrt(np.maximum(values - rng.choice(values), 0.0))
        F = F + rng.choice([0.0, 0.0, 0.1]) * np.sqrt(size) * rng.standard_normal(F.shape)
        t = float(size * rng.choice([0.0, rng.random()]))
        for witness in (JointWitness(), JointWitness(factor=F), JointWitness(factor=F, threshold=t)):
            ours, other = both(question, witness)
            assert min(ours, other) >= truth - question.tolerance
            assert ours == pytest.approx(other, rel=1e-10, abs=1e-10 * size)


def test_a_component_alone_is_a_question_with_a_common_support():
    found = example("cover, one component")
    witness, S, k = found.certificate.witness, found.data, 5
    value = proved_upper(S, k, witness)
    assert value == pytest.approx(prove_joint(S, (k,), witness, joint="common").value)
    assert value >= Masks(S).values[Masks(S).count == k, 0].max()
    tool = checker()
    stored = {"type": "CoverWitness", "cases": witness.cases.astype(np.int64), "numbers": witness.numbers}
    assert tool.bound(stored, tool.Matrix(S), k, NOBODY) == pytest.approx(value, rel=1e-12)


def test_more_components_than_features_span_them_all():
    """Three components of two features span two dimensions at most. A node is not empty because it has fewer than 3."""
    S = np.diag([2.0, 1.0])
    for sizes in ((1, 1, 1), (2, 2, 2)):
        question = Question(S, "span", sizes, None, NOBODY)
        case, _ = question.case()
        assert not case.empty
        tree = CoverTree(case, 3.0, Monitor(), lambda _: 3.0).run()
        assert 3.0 <= min(both(question, tree.witness)) < 3.1
        assert both(question, witness_of([0, EMPTY])) == (None, None)


def test_components_that_are_orthogonal_up_to_rounding_are_below_the_bound():
    S = np.diag([1.0, -1.0])
    u = np.array([1.0, 1.0]) / 2**0.5
    v = np.array([-1.0, 1.0]) / 2**0.5 - 0.9 * ORTHONORMAL * u
    U = np.column_stack([u, v / np.linalg.norm(v)])
    value = float(np.einsum("it,ij,jt->", U, S, U))
    assert value > 1.7 * ORTHONORMAL  # and the trace, that of two components, is zero
    K = np.array([[2**0.5, 0.0], [0.0, 0.0]])
    cover, plain = point(2, K=K), JointWitness(factor=np.array([[1.0], [0.0]]))
    assert bound_by_hand(S, (2, 2), "orthogonal", [cover]) >= value
    assert prove_joint(S, (2, 2), plain, joint="orthogonal").value >= value
    assert nearly_orthonormal(2) > 1 + 2 * ORTHONORMAL - 1e-16
    assert nearly_orthonormal(10**13) == np.inf
    options = {"digest": digest_of(S), "recipe": Recipe("covariance"), "joint": "orthogonal"}
    certificate = certify(DenseCovariance(S), (2, 2), [0, 1], U.T, plain, **options)
    assert verify(certificate, S)


REFUSED = {
    "no number": [],
    "no end": [0],
    "nothing is bounded": [0, BOUNDED],
    "not empty": [0, EMPTY],
    "sizes without a total": [0, BY_SIZES],
    "another end": [0, -4],
    "a feature that there is not": [0, 3, 0],
    "a group that there is not": [0, 0, 1],
    "a negative group": [0, 0, -1],
    "a part is missing": [0, 0, 0, 0, EMPTY],
    "numbers that nobody reads": [1, 0, 0, 0, 0, BOUNDED, 7],
    "negative rounds": [-1, EMPTY],
    "negative columns": [1, -1, 0, 0, 0, BOUNDED],
    "too many columns": [1, 2**62, 0, 0, 0, BOUNDED],
    "columns that overflow": [1, 2**63 - 1, 0, 0, 0, BOUNDED],
    "half a point": [1, 0, 2, 0, 0, BOUNDED],
    "too many rounds": [2**62, 0, 0, 0, 0, BOUNDED],
    "too many decisions": [1, 0, 0, 0, 2**62, BOUNDED],
    "a list too long": [1, 0, 0, 0, 1, 0, 9, 0, BOUNDED],
}


@pytest.mark.parametrize("name", REFUSED)
def test_trees_that_are_refused(name):
    question = Question(np.eye(3), "common", (2, 2), None, NOBODY)
    turn = [0.0] * 6
    assert both(question, witness_of([1, 0, 0, 0, 0, BOUNDED], turn)) == pytest.approx((2, 2))
    numbers = turn if REFUSED[name][:1] == [1] or REFUSED[name][:1] == [2**62] else []
    assert both(question, witness_of(REFUSED[name], [*numbers, 1.0] if "list" in name else numbers)) == (None, None)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(number):
    question = Question(np.eye(3), "common", (2, 2), None, NOBODY)
    assert both(question, witness_of([1, 0, 0, 0, 0, BOUNDED], [number] + [0.0] * 5)) == (None, None)


def test_negative_levels_and_weights_are_refused():
    question = Question(np.eye(2), "common", (2,), None, NOBODY)
    cases = [1, 0, 1, 0, 0, BOUNDED]
    good = [0.5, 0.1, 0.1, *[0.1] * 8]
    assert None not in both(question, witness_of(cases, good))
    for place in (1, 2, 3, 4):
        numbers = list(good)
        numbers[place] = -0.1
        assert both(question, witness_of(cases, numbers)) == (None, None)


def test_decisions_that_are_refused():
    question = Question(np.eye(3), "orthogonal", (2, 2), None, NOBODY)
    turn = [0.0] * 6

    def tree(group, share, out=(), into=()):
        decision = [group, len(out), *out, len(into), *into]
        return witness_of(
            [2, 0, 0, 0, 1, *decision, 0, 0, 0, 0, BOUNDED], [*turn, share, *[0.0] * (2 * (3 - len(set(out))))]
        )

    assert None not in both(question, tree(0, 1.0, [2]))
    refused = [tree(1, 1.0), tree(-1, 1.0), tree(0, 1.5), tree(0, -0.5), tree(0, 1.0, [3]), tree(0, 1.0, [1, 1])]
    for witness in [*refused, tree(0, 1.0, [], [0])]:
        assert both(question, witness) == (None, None)
    # Features that are already out, or already in, change nothing.
    assert None not in both(Question(np.eye(3), "common", (2, 2), None, np.array([0])), tree(0, 1.0, [2], [0]))


class Forged(CoverWitness):
    """Says whatever it likes."""

    def bound_of(self, *_):
        return Proved(-1.0, 0.0)


def test_questions_that_make_no_sense_are_refused():
    S, witness = np.eye(4), JointWitness()
    for options in (
        {"joint": "anything"},
        {"joint": "common", "total": 4},
        {"joint": "disjoint", "total": 1},
        {"joint": "disjoint", "inside": [0]},
        {"joint": "orthogonal", "inside": [4]},
    ):
        with pytest.raises(ProofError):
            prove_joint(S, (2, 2), witness, **options)
    for sizes in ((), (0, 2), (-1, 3)):
        with pytest.raises(ProofError):
            prove_joint(S, sizes, witness)
    with pytest.raises(ProofError, match="no witness"):
        prove_joint(S, (2, 2), Forged(NOBODY, np.empty(0, dtype=np.float32)), joint="common")
    with pytest.raises(ProofError, match="single precision"):
        prove_joint(S, (2, 2), CoverWitness(np.array([0, EMPTY]), np.empty(0)), joint="common")


def test_a_group_pays_for_its_features():
    group = Group(2, 2, 4, 2, np.arange(4), NOBODY)
    cost = np.array([3.0, -1.0, 2.0, 1.0])
    assert group.paid(cost) == pytest.approx(2 * 3 + 2 * 2)
    assert group.paid(cost, fewer=1) == pytest.approx(2 * 3 + 2)
    # A feature inside is paid even if that is less than nothing, and leaves fewer for the others.
    assert replace(group, inside=np.array([1])).paid(cost) == pytest.approx(-2 + 2 * 3)
    # A feature that is out does not come back when all places are taken.
    assert replace(group, count=1, inside=np.array([0])).without(np.array([0])).within(
        np.array([1])
    ).alive.tolist() == [1]
    # More places than features.
    assert replace(group, budget=20).paid(cost) == pytest.approx(2 * (3 + 2 + 1))


def test_ways_to_divide_a_total():
    assert list(ways_to_divide(5, (3, 3, 3))) == [(3, 1, 1), (2, 2, 1)]
    assert list(ways_to_divide(9, (2, 3))) == [(3, 2)]
    assert list(ways_to_divide(1, (2, 3))) == []
    for total, sizes in ((6, (4, 2, 3)), (7, (1, 5, 5)), (4, (2, 2, 2))):
        found = list(ways_to_divide(total, sizes))
        assert found == list(checker().ways(total, sizes))
        assert len(set(found)) == len(found)
        limits = sorted(sizes, reverse=True)
        for some in np.ndindex(*limits):
            counts = sorted((k + 1 for k in some), reverse=True)
            if sum(counts) <= total and all(np.array(counts) <= limits):
                assert any((np.array(counts) <= way).all() for way in found)


def test_a_total_budget_may_be_divided_by_features():
    """One of three components takes feature 2 of a total of 5. The other two share 4, at most 3 each."""
    case, ways = cover_case(DenseCovariance(np.eye(6)), (4, 4, 4), "disjoint", 5, NOBODY)
    assert ways == [(3, 1, 1), (2, 2, 1)]
    [whole] = case.groups
    assert (whole.count, whole.size, whole.budget) == (3, 3, 5)
    _, within = case.divided(0, 2)
    single, rest = within.groups
    assert (single.count, single.size, single.budget, single.inside.tolist()) == (1, 3, 3, [2])
    assert (rest.count, rest.size, rest.budget, rest.alive.tolist()) == (2, 3, 4, [0, 1, 3, 4, 5])
    tree = CoverTree(case, 3.0, Monitor(), lambda _: 3.0).run()
    assert 3 <= min(both(Question(np.eye(6), "disjoint", (4, 4, 4), 5, NOBODY), tree.witness)) <= 3.001
