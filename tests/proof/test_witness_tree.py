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
from laconic.proof import certify, proved_upper
from laconic.proof import witness_tree as tree_of_cases
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness, TraceWitness
from laconic.proof.witness_tree import Decision, TreeNode, TreeWitness
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
        self.nodes = []

    def tree(self):
        self.grow(np.arange(self.n), self.inside, 0)
        return TreeWitness(tuple(self.nodes))

    def point(self, alive, members):
        """Levels on some features: of any size, or the entries of S cut off, which is what solvers come to."""
        rng = self.rng
        kept = np.sort(rng.choice(alive, int(rng.integers(1, len(alive) + 1)), replace=False))
        if rng.random() < 0.3:  # a feature that is gone already
            kept = np.union1d(kept, rng.integers(0, self.n, 1))
        shape = (len(kept), len(kept))
        cut = rng.random() * self.size
        levels = np.clip(self.S[np.ix_(kept, kept)], -cut, cut)
        if rng.random() < 0.6:
            levels = levels + rng.standard_normal(shape) * self.size * 10.0 ** rng.integers(-5, 0)
        return DualWitness(
            "row levels",
            levels=levels,
            norms=rng.standard_normal(shape) * self.size * 10.0 ** rng.integers(-5, 0) if rng.random() < 0.4 else None,
            inside=rng.choice(members, int(rng.integers(0, len(members) + 1)), replace=False),
            kept=rng.permutation(kept) if rng.random() < 0.2 else kept,
            price=float(rng.choice([0.0, cut, rng.standard_normal() * self.size])),
        )

    def grow(self, alive, members, depth):
        rng, place = self.rng, len(self.nodes)
        self.nodes.append(None)
        decisions = []
        for _ in range(int(rng.integers(0, 3)) if len(alive) else 0):
            point = self.point(alive, members)
            side = rng.random(self.n)
            free = np.setdiff1d(alive, members)
            # A feature that is in may be put out: then nothing is left.
            some = alive if rng.random() < 0.1 else free
            out = some[side[some] < 0.3]
            into = free[side[free] > 0.85]
            decisions.append(Decision(point, out, into))
            alive, members = np.setdiff1d(alive, out), np.union1d(members, into)
            if not len(alive) or not np.isin(members, alive).all():
                break
        node = TreeNode(tuple(decisions), ExhaustiveWitness())
        free = np.setdiff1d(alive, members)
        if len(free) and len(members) < self.k and depth < 4 and rng.random() < 0.7:
            feature = int(rng.choice(free))
            without = self.grow(np.setdiff1d(alive, [feature]), members, depth + 1)
            within = self.grow(alive, np.union1d(members, [feature]), depth + 1)
            node = TreeNode(tuple(decisions), None, feature, without, within)
        elif len(alive) and rng.random() < 0.6:
            node = replace(node, bound=self.point(alive, members))
        self.nodes[place] = node
        return place

    def scaled(self, tree, scale):
        def by(point):
            norms = None if point.norms is None else point.norms * scale
            return replace(point, levels=point.levels * scale, norms=norms, price=point.price * scale)

        nodes = []
        for node in tree.nodes:
            decisions = tuple(replace(d, witness=by(d.witness)) for d in node.decisions)
            bound = by(node.bound) if isinstance(node.bound, DualWitness) else node.bound
            nodes.append(replace(node, decisions=decisions, bound=bound))
        return TreeWitness(tuple(nodes))


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
        scaled = proved_upper(planter.S * scale, planter.k, planter.scaled(tree, scale), inside=planter.inside)
        assert scaled / scale == pytest.approx(bound, rel=1e-9, abs=1e-9 * planter.size)
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
        return S, TreeSearch(workers=1).search(problem, Auto().solve(problem), quick=False)


# Many leaves; a tree that puts features out.
LEAVES, OUT = (20, 4, 0, 0.8, True), (24, 5, 2, 0.0, False)
REAL = [LEAVES, OUT, (24, 5, 1, 0.0, True), (24, 5, 3, 0.8, True), (30, 4, 1, 0.0, False), (30, 4, 0, 1.1, True)]


@pytest.mark.parametrize("case", REAL, ids=str)
def test_trees_of_the_search_prove_what_it_claims(case):
    S, found = proved(case)
    k = case[1]
    assert isinstance(found.witness, TreeWitness)
    assert len(found.witness.nodes) >= 3
    bound = proved_upper(S, k, found.witness)
    assert found.value <= bound <= found.estimate * (1 + 1e-9)
    if case == LEAVES:
        assert bound >= best_value(S, k) * (1 - 1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_a_point_that_loses_features_bounds_no_worse(seed):
    """What a row kept may hold is not less for want of the feature it held most of."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((4, 12))
    S, k, kept = A.T @ A, 3, np.arange(8)
    levels = 0.1 * S[:8, :8]
    levels[:, 0] *= 8
    point = DualWitness("row levels", levels=levels, kept=kept, price=0.01)
    nothing = Decision(replace(point, levels=1e-9 * np.eye(8)), np.array([0]), NOBODY)
    after = TreeWitness((TreeNode((nothing,), point),))
    with patch.object(tree_of_cases._Walk, "_decided", lambda *_: tree_of_cases.NO_SUPPORT):
        assert proved_upper(S, k, after) <= proved_upper(S, k, point) * (1 + 1e-12)


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
        levels = np.zeros((size, size))
        levels[kept != feature, kept == feature] = 3 * np.abs(S).max()
        point = TreeNode((), DualWitness("row levels", levels=levels, kept=kept))
        tree = TreeWitness((TreeNode((), None, feature, 1, 2), point, TreeNode((), ExhaustiveWitness())))
        assert proved_upper(S, k, tree) >= best_value(S, k) * (1 - 1e-13)


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
    into = deciding(into=[2]).nodes[0].decisions[0]
    out = deciding(out=[2]).nodes[0].decisions[0]
    tree = TreeWitness((TreeNode((into, out), ExhaustiveWitness()),))
    assert truth <= proved_upper(S, 3, tree) <= np.linalg.eigvalsh(S - 0.1 * np.eye(6))[-1] + 0.9 + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_real_trees_with_other_numbers_in_them_stay_true(seed):
    """The same cases with the arrays disturbed, which puts the bounds near the truth on either side."""
    rng = np.random.default_rng(seed)
    S, found = proved(LEAVES if seed % 2 else OUT)
    k = len(found.support)

    def disturbed(point):
        factor = 1 + 0.3 * rng.standard_normal(point.levels.shape) * (rng.random(point.levels.shape) < 0.1)
        return replace(point, levels=point.levels * factor, price=point.price * (1 + 0.2 * rng.standard_normal()))

    for _ in range(5):
        nodes = []
        for node in found.witness.nodes:
            decisions = tuple(replace(d, witness=disturbed(d.witness)) for d in node.decisions)
            bound = disturbed(node.bound) if isinstance(node.bound, DualWitness) else node.bound
            nodes.append(replace(node, decisions=decisions, bound=bound))
        assert proved_upper(S, k, TreeWitness(tuple(nodes))) >= found.value * (1 - 1e-14)


def branching(feature=0, without=1, within=2, leaves=2, **parts):
    leaf = TreeNode((), ExhaustiveWitness())
    return TreeWitness((TreeNode((), None, feature, without, within, **parts), *[leaf] * leaves))


def deciding(out=(), into=(), *, members=(), **point):
    """A root that is divided once if members are asked for, and a node with one decision."""
    values = {"levels": 0.1 * np.eye(6), "kept": np.arange(6), **point}
    decision = Decision(DualWitness("row levels", **values), np.array(out, dtype=int), np.array(into, dtype=int))
    node = TreeNode((decision,), ExhaustiveWitness())
    if not members:
        return TreeWitness((node,))
    return TreeWitness((TreeNode((), None, members[0], 1, 2), TreeNode((), ExhaustiveWitness()), node))


REFUSED = {
    "no nodes": (TreeWitness(()), "no node 0"),
    "a node that is none": (TreeWitness((TraceWitness(),)), "no node 0"),
    "a child is missing": (branching(leaves=1), "no node 2"),
    "a child with a negative place": (branching(without=-1), "not divided"),
    "a child that is the node itself": (branching(without=0), "not divided"),
    "a circle": (
        TreeWitness((TreeNode((), None, 0, 1, 2), TreeNode((), None, 1, 0, 2), TreeNode((), ExhaustiveWitness()))),
        "not divided",
    ),
    "one child for both": (branching(without=1, within=1), "reached twice"),
    "a feature out of range": (branching(feature=6), "outside"),
    "a feature that is out": (
        TreeWitness((*branching(feature=0).nodes[:1], *branching(0, 3, 4, leaves=3).nodes)),
        "not divided",
    ),
    "neither a bound nor children": (TreeWitness((TreeNode((), None),)), "feature"),
    "puts out and in": (deciding(out=[2], into=[2]), "both"),
    "out of range": (deciding(out=[6]), "outside"),
    "twice": (deciding(out=[1, 1]), "twice"),
    "takes for granted": (deciding(out=[1], inside=np.array([0])), "for granted"),
    "levels of another shape": (deciding(out=[1], levels=np.eye(5)), "shape"),
    "levels with NaN": (deciding(out=[1], levels=np.full((6, 6), np.nan)), "NaN"),
    "norms of another shape": (deciding(out=[1], norms=np.ones(6)), "norms"),
    "no levels": (deciding(out=[1], levels=None), "levels"),
    "no kept": (deciding(out=[1], kept=None), "levels on some features"),
    "kept twice": (deciding(out=[1], kept=np.zeros(6, dtype=int)), "kept has a feature twice"),
    "a multiplier": (deciding(out=[1], multiplier=np.zeros((6, 6))), "nothing else"),
    "a price that is none": (deciding(out=[1], price=np.inf), "price"),
    "a decision without a point": (
        TreeWitness((TreeNode((Decision(TraceWitness(), NOBODY, NOBODY),), ExhaustiveWitness()),)),
        "dual point",
    ),
    "a point on features that are not there": (
        TreeWitness((TreeNode((), DualWitness("", levels=np.eye(1), kept=np.array([9]))),)),
        "kept has features outside",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_trees_that_do_not_cover_are_refused(case):
    tree, words = REFUSED[case]
    S = spiked(6, 3, 0)
    with pytest.raises(ValueError, match=words):
        proved_upper(S, 3, tree)


def test_a_short_tree_is_no_long_walk():
    """Nodes that share their children have two to the depth of ways through them."""
    n = 60
    nodes = [TreeNode((), None, i, i + 1, i + 1) for i in range(50)]
    tree = TreeWitness((*nodes, TreeNode((), ExhaustiveWitness())))
    with pytest.raises(ValueError, match="twice"):
        proved_upper(np.eye(n), 10, tree)


def certificate_of(case):
    S, found = proved(case)
    options = {"digest": digest_of(S), "recipe": Recipe("covariance")}
    return S, certify(DenseCovariance(S), case[1], found.support, found.loadings, found.witness, **options)


def with_node(witness, place, **changes):
    nodes = list(witness.nodes)
    nodes[place] = replace(nodes[place], **changes)
    return TreeWitness(tuple(nodes))


def _leaf_removed(c):
    return {"witness": TreeWitness(c.witness.nodes[:-1])}


def _out_extended(c):
    for place, node in enumerate(c.witness.nodes):
        for number, decision in enumerate(node.decisions):
            if len(decision.out):
                wrong = np.union1d(decision.out, c.support[:1])
                decisions = list(node.decisions)
                decisions[number] = replace(decision, out=wrong)
                return {"witness": with_node(c.witness, place, decisions=tuple(decisions))}
    raise AssertionError("no decision to forge")


def _into_extended(c):
    """Claim that a feature is in which the best support does not hold."""
    stranger = np.setdiff1d(np.arange(c.n_features), c.support)[:1]
    point = DualWitness("row levels", levels=np.zeros((c.n_features,) * 2), kept=np.arange(c.n_features))
    decision = Decision(point, NOBODY, stranger)
    return {"witness": with_node(c.witness, 0, decisions=(decision, *c.witness.nodes[0].decisions))}


def _feature_changed(c):
    place = next(i for i, entry in enumerate(c.witness.nodes) if entry.bound is None)
    other = next(i for i in range(c.n_features) if i not in c.support)
    return {"witness": with_node(c.witness, place, feature=other)}


FORGERIES = {
    "a leaf removed": _leaf_removed,
    "a feature of the best support put out": _out_extended,
    "a feature put in that is not in the best support": _into_extended,
    "another feature branched on": _feature_changed,
    "upper nudged": lambda c: {"upper": c.upper * (1 - 1e-9)},
    "the root alone": lambda c: {"witness": TreeWitness(c.witness.nodes[:1])},
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
