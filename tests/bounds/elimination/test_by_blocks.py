"""Matrices in blocks are solved block by block."""

import numpy as np
import pytest
from laconic.methods.exact import BranchAndBound

from helpers import best_value, random_psd
from laconic.bounds.elimination.by_blocks import blocks_of
from laconic.bounds.tree.search import TreeSearch
from laconic.covariance import DenseCovariance
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status
from laconic.proof import proved_upper
from laconic.proof.witnesses.blocks import BlockWitness
from laconic.search.support import finish


def in_blocks(sizes, seed):
    n = sum(sizes)
    S, begin = np.zeros((n, n)), 0
    for number, size in enumerate(sizes):
        block = slice(begin, begin + size)
        S[block, block] = random_psd(size, size + 2, 10 * seed + number)
        begin += size
    order = np.random.default_rng(seed).permutation(n)
    return S[np.ix_(order, order)]


def test_blocks_are_found():
    S = in_blocks((3, 1, 2), 0)
    assert sorted(len(block) for block in blocks_of(S)) == [1, 2, 3]
    assert len(blocks_of(np.eye(4))) == 4


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [(4, 4), (5, 1, 1, 2), (1, 1, 1, 1, 1), (3, 3, 3)])
def test_the_best_of_the_blocks_is_proved(seed, sizes):
    S = in_blocks(sizes, seed)
    n = len(S)
    for k in range(1, n + 1):
        bad = Solution(np.array([0]), np.ones(1), float(S[0, 0]), Status.LOCAL)
        found = TreeSearch(workers=1).search(Problem(DenseCovariance(S), k), bad)
        truth = best_value(S, k)
        assert found.status is Status.COMPLETE
        assert found.value == pytest.approx(truth, rel=2e-7)
        assert found.estimate >= truth * (1 - 1e-13)
        assert len(found.support) <= k
        z = found.vector(n)
        assert z @ S @ z == pytest.approx(found.value, rel=1e-9)
        assert isinstance(found.witness, BlockWitness)
        assert truth * (1 - 1e-13) <= proved_upper(S, k, found.witness) <= found.estimate * (1 + 1e-6)


def test_large_blocks_need_trees_of_their_own():
    S = in_blocks((26, 22), 1)
    found = BranchAndBound().solve(Problem(DenseCovariance(S), 6))
    whole = BranchAndBound().solve(Problem(DenseCovariance(S + 1e-13 * np.ones_like(S)), 6))
    assert found.status is Status.COMPLETE
    assert found.value == pytest.approx(whole.value, rel=1e-7)
    assert "2 blocks" in found.reason


@pytest.mark.parametrize(("gap", "noise"), [(1e-7, 1e-10), (0.2, 5e-3)])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_that_little_connects_are_taken_apart(gap, noise, seed):
    """Entries that the gap asked for leaves room for do not connect, and are paid for."""
    S = in_blocks([7, 5, 4], seed)
    n, k = len(S), 3
    E = noise * S.diagonal().max() * np.random.default_rng(seed).uniform(-1, 1, (n, n))
    S = S + 0.5 * (E + E.T)
    problem = Problem(DenseCovariance(S, semidefinite=False), k)
    truth = best_value(S, k)
    assert len(blocks_of(S)) == 1
    found = TreeSearch(gap=gap).search_all(problem, finish(problem, np.arange(k), Status.LOCAL, method=""))
    assert "3 blocks" in found.reason or gap > 0.1
    assert truth * (1 - 1e-12) <= found.estimate <= found.value * (1 + gap) * (1 + 1e-12)
    if isinstance(found.witness, BlockWitness):
        assert truth * (1 - 1e-12) <= proved_upper(S, k, found.witness) <= found.estimate * (1 + 1e-9)


def test_what_connects_blocks_and_what_is_left_open_in_them_share_the_gap():
    """Three features of correlation a, and a ring of four whose row sums promise a little more than 1 + 2a."""
    gap, a, k = 0.01, 0.5, 3
    b = 0.5 * ((1 + 2 * a) * (1 + 0.9 * gap) - 1)
    S = np.full((7, 7), 0.24 * gap)
    S[:3, :3] = a
    S[3:, 3:] = b * (np.eye(4)[[1, 2, 3, 0]] + np.eye(4)[[3, 0, 1, 2]])
    np.fill_diagonal(S, 1.0)
    problem = Problem(DenseCovariance(S, semidefinite=False), k)
    found = TreeSearch(gap=gap).search_all(problem, finish(problem, np.arange(k), Status.LOCAL, method=""))
    assert "2 blocks" in found.reason
    assert found.value == pytest.approx(1 + 2 * a)
    assert best_value(S, k) * (1 - 1e-12) <= found.estimate <= found.value * (1 + gap) * (1 + 1e-12)


def test_small_entries_within_a_block_stay_in_its_proof():
    """Many entries that would not connect blocks, in a block that others hold together."""
    S = np.full((65, 65), 0.01)
    S[:62, :62] = 0.14
    S[:2, 2:62] = S[2:62, :2] = 3.0
    S[:2, :2] = 20.0
    np.fill_diagonal(S, [100.0] * 2 + [0.6] * 60 + [50.0] * 3)
    found = BranchAndBound(gap=0.01).solve(Problem(DenseCovariance(S), 3))
    assert isinstance(found.witness, BlockWitness)
    assert found.value <= proved_upper(S, 3, found.witness) <= found.estimate * (1 + 1e-9)
