"""Trees of cases: whatever is in one, it bounds every support, or is refused; forged ones do not pass."""

from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from forging import best_value

from helpers import Blurred
from laconic import verify
from laconic.bounds import fixing as nodes_of_the_tree
from laconic.bounds import tree as run_of_the_tree
from laconic.bounds.tree import TreeSearch
from laconic.covariance import DenseCovariance
from laconic.covariance.make import Recipe
from laconic.data.passes import digest_of
from laconic.proof import ProofError, certify, proved_upper
from laconic.proof.gate import prove_grown
from laconic.proof.witness_tree import (
    BOUNDED,
    LISTED,
    Branch,
    Case,
    Decision,
    Point,
    Round,
    TreeNode,
    TreeWitness,
)
from laconic.relaxations.rows import RowLevels
from laconic.search import Auto
from laconic.search.problem import Problem

NOBODY = np.empty(0, dtype=np.intp)


class Planter:
    """Grows a random tree for a random matrix."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.n = n = int(rng.integers(2, 9))
        self.k = int(rng.integers(1, n + 1))
        A = rng.standard_normal((int(rng.integers(1, 10)), n)) * 10.0 ** rng.integers(-1, 2, n)
        G = rng.standard_normal((n, n))
        matrices = [A.T @ A, G + G.T, np.diag(rng.random(n)), np.ones((n, n)), np.eye(n) + 0.1 * (G + G.T)]
        S = matrices[int(rng.integers(len(matrices)))]
        self.S = 0.5 * (S + S.T)
        self.size = np.abs(self.S).max()
        self.inside = np.sort(rng.choice(n, int(rng.integers(0, self.k)), replace=False)) if seed % 3 == 0 else NOBODY

    def tree(self):
        nodes = []
        self.grow(nodes, np.arange(self.n), self.inside, 0)
        return TreeWitness.of(nodes)

    def point(self, alive, members):
        """Levels on some features: of any size, or the entries of S cut off, which is what solvers come to."""
        rng = self.rng
        kept = np.sort(rng.choice(alive, int(rng.integers(1, len(alive) + 1)), replace=False))
        if rng.random() < 0.3:  # a feature that is gone already
            kept = np.union1d(kept, rng.integers(0, self.n, 1))
        cut = rng.random() * self.size
        levels = np.clip(self.S[np.ix_(kept, kept)], -cut, cut)
        if rng.random() < 0.6:
            levels = levels + rng.standard_normal(levels.shape) * self.size * 10.0 ** rng.integers(-5, 0)
        inside = np.sort(rng.choice(members, int(rng.integers(0, len(members) + 1)), replace=False))
        price = float(rng.choice([0.0, cut, rng.standard_normal() * self.size]))
        kept = rng.permutation(kept) if rng.random() < 0.2 else kept
        return self.packed(levels, kept, inside, price)

    def packed(self, levels, kept, inside, price):
        rng, n = self.rng, len(kept)
        m = np.abs(levels - np.diag(levels.diagonal())).max(axis=1) * (1.0 if rng.random() < 0.5 else 0.5)
        half = 0.5 * (m[:, None] + m)[np.triu_indices(n, 1)]
        shares = levels[np.triu_indices(n, 1)] / np.maximum(half, 0.01 * self.size)
        largest = int(rng.choice([7, 127, 3000]))
        steps = largest / float(np.abs(shares).max(initial=0.0)) if shares.any() else 1.0
        known = int(np.isin(kept, inside).sum())
        norm_price = float(rng.choice([0.0, rng.random() * self.size, -self.size]))
        own = np.abs(rng.standard_normal(2 * known)) * self.size * 0.1
        codes = np.rint(shares * steps).astype(int)
        return Point(kept, inside, price, norm_price, own, m, rng.random(n), steps, 0.01 * self.size, codes)

    def grow(self, nodes, alive, members, depth):
        rng, place = self.rng, len(nodes)
        nodes.append(None)
        rounds = []
        for _ in range(int(rng.integers(0, 3)) if len(alive) else 0):
            point = self.point(alive, members)
            side = rng.random(self.n)
            free = np.setdiff1d(alive, members)
            # A feature that is in may be put out: then nothing is left.
            some = alive if rng.random() < 0.1 else free
            out = some[side[some] < 0.3]
            into = free[side[free] > 0.85]
            prices = np.array([point.price, point.norm_price]) * rng.choice([1, 0.7, -0.1], 2)
            rounds.append(Round(point, (Decision(out, into, *prices.tolist()),)))
            alive, members = np.setdiff1d(alive, out), np.union1d(members, into)
            if not len(alive) or not np.isin(members, alive).all():
                break
        free, end = np.setdiff1d(alive, members), LISTED
        if len(free) and len(members) < self.k <= len(alive) and depth < 4 and rng.random() < 0.7:
            end = int(rng.choice(free))
            self.grow(nodes, np.setdiff1d(alive, [end]), members, depth + 1)
            self.grow(nodes, alive, np.union1d(members, [end]), depth + 1)
        elif len(alive) and rng.random() < 0.6:
            rounds.append(Round(self.point(alive, members)))
            end = BOUNDED
        nodes[place] = TreeNode(tuple(rounds), end)


def with_points(tree, change):
    """The tree with other points, and their decisions with other prices if `change` says so."""

    def changed(part):
        point, factor = change(part.point)
        return Round(
            point, tuple(replace(d, price=d.price * factor, norm_price=d.norm_price * factor) for d in part.decisions)
        )

    return TreeWitness.of([replace(node, rounds=tuple(changed(part) for part in node.rounds)) for node in tree.nodes()])


def scaled(tree, scale):
    """The tree of a matrix `scale` times as large."""

    def by(point):
        prices = {name: getattr(point, name) * scale for name in ("price", "norm_price", "own", "most", "floor")}
        return replace(point, **prices), scale

    return with_points(tree, by)


@pytest.mark.parametrize("block", range(10))
def test_any_tree_gives_a_true_bound(block):
    near = 0
    for seed in range(block * 60, block * 60 + 60):
        planter = Planter(seed)
        tree = planter.tree()
        truth = best_value(planter.S, planter.k, planter.inside)
        bound = proved_upper(planter.S, planter.k, tree, inside=planter.inside)
        assert bound >= truth - 1e-13 * planter.size, seed
        near += bound <= truth + 0.1 * planter.size
        scale = 10.0 ** [-55, 4, 55][seed % 3]
        larger = proved_upper(planter.S * scale, planter.k, scaled(tree, scale), inside=planter.inside)
        assert larger / scale == pytest.approx(bound, rel=1e-9, abs=1e-9 * planter.size)
    # A true bound that is far from the truth would hide a false step.
    assert near >= 4


def spiked(n, k, seed, signal=0.8, *, correlation=True):
    """A matrix with a hidden component of a few more than k features."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((60, n))
    rows[:, : k + 2] += signal * rng.standard_normal((60, 1))
    S = np.corrcoef(rows, rowvar=False) if correlation else np.cov(rows * np.linspace(2, 0.5, n), rowvar=False)
    return 0.5 * (S + S.T)


@cache
def proved(case):
    n, k, seed, signal, correlation = case
    S = spiked(n, k, seed, signal, correlation=correlation)
    S.flags.writeable = False
    problem = Problem(DenseCovariance(S), k)
    # Bounds this loose, and no list of supports, make trees of problems small enough to look into.
    loose = RowLevels(norms=False, max_iterations=20)
    with (
        patch.object(nodes_of_the_tree, "SUPPORTS_ONE_BY_ONE", 2),
        patch.object(run_of_the_tree, "BELOW", loose),
        patch.object(run_of_the_tree, "ROOT", loose),
    ):
        return S, TreeSearch(workers=1).search(problem, Auto().solve(problem))


# Several leaves; a tree that puts features out.
LEAVES, OUT = (20, 4, 1, 0.4, True), (24, 5, 2, 0.0, False)
REAL = [LEAVES, OUT, (24, 5, 1, 0.0, True), (24, 5, 3, 0.4, True), (30, 4, 1, 0.0, False), (20, 4, 0, 0.4, True)]


@pytest.mark.parametrize("case", REAL, ids=str)
def test_trees_of_the_search_prove_what_it_claims(case):
    S, found = proved(case)
    k = case[1]
    assert isinstance(found.witness, TreeWitness)
    assert found.witness.count >= 3
    bound = proved_upper(S, k, found.witness)
    assert found.value <= bound <= found.estimate * (1 + 1e-9)
    # The bound was proved while the tree grew. The walk through the whole tree comes to the same.
    assert bound == pytest.approx(found.bound.value, rel=1e-13)
    assert bound <= found.bound.value * (1 + 1e-14)
    if case == LEAVES:
        assert bound >= best_value(S, k) * (1 - 1e-14)


def point_on(kept, n_codes=None, **parts):
    """A point of which every number can be given."""
    n = len(kept)
    codes = np.zeros(n * (n - 1) // 2 if n_codes is None else n_codes, dtype=int)
    values = {"inside": NOBODY, "price": 0.0, "norm_price": 0.0, "own": np.empty(0), "most": np.ones(n)}
    values |= {"weights": np.ones(n), "steps": 100.0, "floor": 0.1, "codes": codes}
    return Point(np.asarray(kept), **(values | parts))


@pytest.mark.parametrize("seed", range(5))
def test_a_point_that_loses_features_bounds_no_worse(seed):
    """What a row kept may hold is not less for want of the feature it held most of."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((4, 12))
    S, k = A.T @ A, 3
    most = 0.1 * np.abs(S[:8, :8]).max(axis=1)
    point = point_on(np.arange(8), most=most, price=0.01, codes=rng.integers(-100, 101, 28))
    whole, after = DenseCovariance(S), np.arange(1, 12)
    before = Case(whole, k, np.arange(12), NOBODY).bounded(point)
    assert Case(whole, k, after, NOBODY).bounded(point).value <= before.value * (1 + 1e-12)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_row_kept_pays_for_what_it_cancels_though_its_level_is_gone(size):
    """The column that its level came from is branched on; what the rows aside do not pay for is paid by those kept."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((5, 5))
        S, k, feature = A.T @ A, 3, int(rng.integers(5))
        S = 0.5 * (S + S.T)
        others = rng.permutation(np.delete(np.arange(5), feature))
        kept = np.sort([feature, *others[: size - 1]])
        point = point_on(kept, most=np.where(kept == feature, 0.0, 3 * np.abs(S).max()))
        tree = TreeWitness.of([TreeNode(end=feature), TreeNode((Round(point),), BOUNDED), TreeNode()])
        assert proved_upper(S, k, tree) >= best_value(S, k) * (1 - 1e-13)


def test_codes_of_two_bytes_come_back():
    codes = np.array([0, 127, 128, -128, -129, 32639, -32639, 255, -256, 1])
    tree = TreeWitness.of([TreeNode((Round(point_on(np.arange(5), codes=codes)),), BOUNDED)])
    assert tree.codes.dtype == np.int8
    assert next(tree.nodes()).rounds[0].point.codes.tolist() == codes.tolist()


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.1])
def test_any_tree_of_a_matrix_known_up_to_a_spread(share):
    """What is computed of S is off by all that the spread allows."""
    for seed in range(60):
        planter = Planter(seed)
        spread = np.sqrt(share * planter.size) * planter.rng.random(planter.n)
        bound = proved_upper(Blurred(planter.S, spread), planter.k, planter.tree(), inside=planter.inside)
        assert bound >= best_value(planter.S, planter.k, planter.inside) - 1e-11 * planter.size, seed


def test_a_feature_that_is_in_is_put_out():
    """Then nothing is left but what the decision leaves out, which its point bounds."""
    S = spiked(6, 3, 0)
    truth = best_value(S, 3)
    assert proved_upper(S, 3, deciding(out=[2], members=(2,))) >= truth
    into = next(deciding(into=[2]).nodes()).rounds[0]
    out = next(deciding(out=[2]).nodes()).rounds[0]
    tree = TreeWitness.of([TreeNode((into, out))])
    assert truth <= proved_upper(S, 3, tree) <= np.linalg.eigvalsh(S - 0.1 * np.eye(6))[-1] + 0.9 + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_real_trees_with_other_numbers_in_them_stay_true(seed):
    """The same cases with the arrays disturbed, which puts the bounds near the truth on either side."""
    rng = np.random.default_rng(seed)
    S, found = proved(LEAVES if seed % 2 else OUT)
    k = len(found.support)

    def disturbed(point):
        codes = np.rint(point.codes * (1 + 0.3 * rng.standard_normal(point.codes.shape))).astype(int)
        codes = np.where(rng.random(codes.shape) < 0.1, codes, point.codes)
        return replace(point, codes=codes, price=point.price * (1 + 0.2 * rng.standard_normal())), 1.0

    for _ in range(5):
        assert proved_upper(S, k, with_points(found.witness, disturbed)) >= found.value * (1 - 1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_real_trees_with_any_number_altered_stay_true(seed):
    """A change in one of the three lists gives a true bound, or a tree that is refused."""
    rng = np.random.default_rng(seed)
    S, found = proved(LEAVES if seed % 2 else OUT)
    k, tree = len(found.support), found.witness
    refused = 0
    for _ in range(30):
        cases, numbers, codes = tree.cases.copy(), tree.numbers.copy(), tree.codes.copy()
        match rng.integers(3):
            case 0:
                cases[rng.integers(len(cases))] = rng.integers(-3, len(S) + 2)
            case 1:
                place = rng.integers(len(numbers))
                numbers[place] = rng.choice([*(numbers[place] * np.array([0, -1, 0.9, 2, 1e9])), np.inf, np.nan])
            case _:
                codes[rng.integers(len(codes))] = rng.integers(-128, 128)
        try:
            bound = proved_upper(S, k, TreeWitness(cases, numbers, codes))
        except ValueError:
            refused += 1
        else:
            assert bound >= found.value * (1 - 1e-14)
    assert refused < 30


def branching(feature=0, leaves=2):
    return TreeWitness.of([TreeNode(end=feature), *[TreeNode()] * leaves])


def deciding(out=(), into=(), *, members=(), **point):
    """A root that is divided once if members are asked for, and a node with one decision."""
    values = {"kept": np.arange(6), "price": 0.1, "most": np.zeros(6), **point}
    decision = Decision(np.array(out, dtype=int), np.array(into, dtype=int), 0.1, 0.2)
    node = TreeNode((Round(point_on(**values), (decision,)),))
    return TreeWitness.of([TreeNode(end=members[0]), TreeNode(), node] if members else [node])


def altered(tree, **parts):
    """The tree with other lists: each is made from the present one."""
    return replace(tree, **{name: change(getattr(tree, name)) for name, change in parts.items()})


REFUSED = {
    "no nodes": (TreeWitness.of([]), "ends before"),
    "a child is missing": (branching(leaves=1), "ends before"),
    "a child too many": (branching(leaves=3), "belongs to no case"),
    "a feature out of range": (branching(feature=6), "not open"),
    "a feature that is out": (TreeWitness.of([TreeNode(end=0), TreeNode(end=0), *[TreeNode()] * 3]), "not open"),
    "neither a bound nor children": (TreeWitness.of([TreeNode(end=BOUNDED)]), "without a bound"),
    "an end that is none": (TreeWitness.of([TreeNode(end=-3)]), "without a bound"),
    "puts out and in": (deciding(out=[2], into=[2]), "both"),
    "out of range": (deciding(out=[6]), "outside"),
    "twice": (deciding(out=[1, 1]), "twice"),
    "takes for granted": (deciding(out=[1], inside=np.array([0]), own=np.zeros(2)), "for granted"),
    "codes that are missing": (deciding(out=[1], n_codes=14), "cut short"),
    "codes that are left": (deciding(out=[1], n_codes=16), "no node"),
    "levels with NaN": (deciding(out=[1], most=np.full(6, np.nan)), "NaN"),
    "levels that are missing": (deciding(out=[1], most=np.ones(5)), "cut short"),
    "kept twice": (deciding(out=[1], kept=np.zeros(6, dtype=int)), "kept has a feature twice"),
    "a price that is none": (deciding(out=[1], price=np.inf), "price|NaN"),
    "a step that is none": (deciding(out=[1], most=np.ones(6), steps=np.nan), "NaN"),
    "nothing kept": (deciding(out=[1], kept=np.empty(0, dtype=int), most=np.empty(0)), "shape"),
    "a point on features that are not there": (
        TreeWitness.of([TreeNode((Round(point_on(np.array([9]))),), BOUNDED)]),
        "kept has features outside",
    ),
    "a negative length": (altered(branching(), cases=lambda cases: cases * 0 - 1), "cut short|without a bound"),
    "numbers cut short": (altered(deciding(out=[1]), numbers=lambda numbers: numbers[:-1]), "cut short"),
    "cases cut short": (altered(deciding(out=[1]), cases=lambda cases: cases[:-1]), "cut short"),
    "cases that are floats": (altered(branching(), cases=lambda cases: cases * 1.0), "list of whole numbers"),
    "codes in a table": (altered(deciding(out=[1]), codes=lambda codes: codes[None]), "list of whole numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_trees_that_do_not_cover_are_refused(case):
    tree, words = REFUSED[case]
    S = spiked(6, 3, 0)
    with pytest.raises(ValueError, match=words):
        proved_upper(S, 3, tree)


def test_a_growing_tree_refuses_parts_about_other_supports():
    S = DenseCovariance(spiked(6, 3, 0))
    root = Branch.root(S, 3, NOBODY)
    with pytest.raises(ValueError, match="other supports"):
        root.divided(0, Branch(root.case.without(1)), Branch(root.case.within(0)))
    with pytest.raises(ProofError, match="proves nothing"):
        prove_grown(root)
    part = Branch(root.case.without(0))
    part.listed()
    with pytest.raises(ProofError, match="not on all supports"):
        prove_grown(part)


def certificate_of(case):
    S, found = proved(case)
    options = {"digest": digest_of(S), "recipe": Recipe("covariance")}
    return S, certify(DenseCovariance(S), case[1], found.support, found.loadings, found.witness, **options)


def with_node(witness, place, change):
    nodes = list(witness.nodes())
    nodes[place] = change(nodes[place])
    return TreeWitness.of(nodes)


def _leaf_removed(c):
    return {"witness": TreeWitness.of(list(c.witness.nodes())[:-1])}


def _out_extended(c):
    def extended(part):
        return Round(part.point, tuple(replace(d, out=np.union1d(d.out, c.support[:1])) for d in part.decisions))

    def wrong(node):
        return replace(node, rounds=tuple(extended(part) for part in node.rounds))

    for place, node in enumerate(c.witness.nodes()):
        if any(len(d.out) for part in node.rounds for d in part.decisions):
            return {"witness": with_node(c.witness, place, wrong)}
    raise AssertionError("no decision to forge")


def _into_extended(c):
    """Claim that a feature is in which the best support does not hold."""
    stranger = np.setdiff1d(np.arange(c.n_features), c.support)[:1]
    part = Round(point_on(np.arange(c.n_features), most=np.zeros(c.n_features)), (Decision(NOBODY, stranger),))
    return {"witness": with_node(c.witness, 0, lambda node: replace(node, rounds=(part, *node.rounds)))}


def _feature_changed(c):
    place = next(i for i, node in enumerate(c.witness.nodes()) if node.end >= 0)
    other = next(i for i in range(c.n_features) if i not in c.support)
    return {"witness": with_node(c.witness, place, lambda node: replace(node, end=other))}


FORGERIES = {
    "a leaf removed": _leaf_removed,
    "a feature of the best support put out": _out_extended,
    "a feature put in that is not in the best support": _into_extended,
    "another feature branched on": _feature_changed,
    "upper nudged": lambda c: {"upper": c.upper * (1 - 1e-9)},
    "the root alone": lambda c: {"witness": TreeWitness.of(list(c.witness.nodes())[:1])},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_trees_are_rejected(tmp_path, forgery):
    S, certificate = certificate_of(OUT)
    assert verify(certificate, S)
    forged = replace(certificate, **FORGERIES[forgery](certificate))
    outcome = verify(forged, S)
    assert not outcome
    assert any(words in outcome.reason for words in ("not proved", "proves nothing", "above the upper"))
    assert not verify(forged.save(tmp_path / "forged.json"), S)
