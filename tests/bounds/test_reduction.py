"""Elimination against exhaustive search: no feature of a best support is ever removed.

The bound from two groups of features. Matrices in blocks are solved block by block.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from laconic.proof.witness_reduction import BlockWitness, EliminationWitness

from helpers import PROBLEMS, SEEDS, best_value, case, random_psd, solved_exactly
from laconic.bounds.reduction import (
    added_by_second_group,
    blocks_of,
    eliminate_by_variance,
    kept_by_penalty,
    kept_by_value,
    two_groups_bound,
)
from laconic.bounds.tree import TreeSearch
from laconic.core.eigenvalues import proved_semidefinite_shift
from laconic.covariance import DenseCovariance, FactorCovariance, covariance_of
from laconic.proof import proved_upper
from laconic.proof.gate import Estimate
from laconic.proof.witness_plain import TraceWitness
from laconic.relaxations.elementary import elementary_bound, trace_bound
from laconic.relaxations.l1 import PenaltyForm
from laconic.relaxations.l1_splitting import Splitting
from laconic.search import Auto
from laconic.search.problem import Problem, Solution, Status
from laconic.search.support import finish
from matrices import MORE as KINDS
from matrices import supports

TIE = 1e-12


def _decaying(rng, n):
    A = rng.standard_normal((n + 2, n)) * np.arange(1, n + 1.0) ** -1.5
    return A.T @ A


PER_SIZE = {1: 2, 2: 5, 3: 6, 4: 6, 5: 6, 6: 5, 7: 4, 8: 2}


def values_of_all(S):
    """The largest eigenvalue on every support of every size, for a stack of matrices: a list over k = 1..n."""
    n = S.shape[-1]
    return [
        np.linalg.eigvalsh(S[:, supports(n, k)[:, :, None], supports(n, k)[:, None, :]])[..., -1]
        for k in range(1, n + 1)
    ]


def features_of(S_values, k, least):
    """Every feature of a support that reaches a value, ties included."""
    n = next(n for n in range(k, 10) if len(supports(n, k)) == len(S_values))
    return set(supports(n, k)[S_values >= least - TIE * abs(least)].ravel().tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_no_feature_of_a_good_support_is_removed(kind):
    """With the sharpest numbers there are: the best value itself, and the best of one feature fewer."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    looked, removed = 0, 0
    for n, count in PER_SIZE.items():
        stack = np.array([KINDS[kind](n, int(rng.integers(10**6))) for _ in range(count)])
        stack = 0.5 * (stack + stack.transpose(0, 2, 1))
        values = values_of_all(stack)
        for place, S in enumerate(stack):
            covariance = DenseCovariance(S)
            for k in range(1, n + 1):
                reached = values[k - 1][place]
                before = values[k - 2][place].max() if k > 1 else 0.0
                for value in (reached.max(), np.quantile(reached, 0.7)):
                    needed = features_of(reached, k, value)
                    for rows in (False, True):
                        kept = kept_by_value(covariance, k, value, before, rows=rows)
                        assert needed <= set(kept.tolist())
                        looked, removed = looked + n, removed + n - len(kept)
    # It is no proof of anything if nothing is ever removed.
    assert removed > 0.01 * looked or kind in {"equicorrelated", "negative correlations", "rank one", "signs", "zero"}


@pytest.mark.parametrize("kind", KINDS)
def test_elimination_in_passes_is_safe(kind):
    rng = np.random.default_rng(1 + sum(map(ord, kind)))
    for n in (2, 5, 8):
        stack = np.array([KINDS[kind](n, int(rng.integers(10**6))) for _ in range(5)])
        stack = 0.5 * (stack + stack.transpose(0, 2, 1))
        values = values_of_all(stack)
        for place, S in enumerate(stack):
            for k in range(1, n + 1):
                best = values[k - 1][place].max()
                needed = features_of(values[k - 1][place], k, best)
                for bound in (elementary_bound, exact):
                    found = eliminate_by_variance(DenseCovariance(S), k, best, bound)
                    assert needed <= set(found.kept.tolist())
                    check(S, k, best, found.lift(TraceWitness()), found.kept)


def exact(covariance, k):
    """The best value of a cardinality, which is the sharpest of bounds."""
    n = covariance.n_features
    S = covariance.submatrix(np.arange(n))
    return Estimate(values_of_all(S[None])[k - 1].max(), "exhaustive", k, TraceWitness())


def check(S, k, value, witness, kept):
    """Follow nested witnesses: what they leave is what was kept, and each test is as the witness says it is."""
    places = np.arange(len(S))
    while isinstance(witness, EliminationWitness):
        M = S[np.ix_(places, places)]
        # The sharpest b there is: whatever the test used, it was no lower.
        b = values_of_all(M[None])[k - 2].max() if k > 1 else 0.0
        out = np.setdiff1d(np.arange(len(M)), witness.kept)
        assert len(out)
        for i in out:
            others = np.sort(np.delete(M[i], i) ** 2)[::-1][: k - 1].sum()
            eigenvalue = np.linalg.eigvalsh([[b, np.sqrt(others)], [np.sqrt(others), M[i, i]]])[-1]
            sums = b + M[i, i] + (proved_semidefinite_shift(M) if k > 1 else 0.0)
            assert min(sums, eigenvalue if witness.rows and k > 1 else np.inf) < value
        places = places[witness.kept]
        witness = witness.inner
    assert np.array_equal(places, kept)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_kind_of_covariance(problem, seed):
    covariance, S = case(problem, seed)
    values = values_of_all(np.asarray(S)[None])
    for k in range(1, len(S) + 1):
        best = values[k - 1][0].max()
        before = values[k - 2][0].max() if k > 1 else 0.0
        needed = features_of(values[k - 1][0], k, best)
        assert needed <= set(kept_by_value(covariance, k, best, before).tolist())
        assert needed <= set(eliminate_by_variance(covariance, k, best, elementary_bound).kept.tolist())


@given(seed=st.integers(0, 10_000), n=st.integers(2, 7), data=st.data())
def test_forced_features_stay_and_so_does_what_goes_best_with_them(seed, n, data):
    S = _decaying(np.random.default_rng(seed), n)
    k = data.draw(st.integers(1, n))
    forced = data.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1, max_size=k))
    values = values_of_all(S[None])
    holds = np.array([set(forced) <= set(support) for support in supports(n, k).tolist()])
    best = values[k - 1][0][holds].max()
    before = values[k - 2][0].max() if k > 1 else 0.0
    needed = set(supports(n, k)[holds & (values[k - 1][0] >= best * (1 - TIE))].ravel().tolist())
    for value in (best, 2 * best):
        kept = kept_by_value(DenseCovariance(S), k, value, before, forced=np.array(forced))
        assert set(forced) <= set(kept.tolist())
        found = eliminate_by_variance(DenseCovariance(S), k, value, exact, forced=np.array(forced))
        assert set(forced) <= set(found.kept.tolist())
        if value == best:
            assert needed <= set(kept.tolist())
            assert needed <= set(found.kept.tolist())


def test_variances_alone_are_no_test_for_an_indefinite_matrix():
    S = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    # b + S_ii = 1 < 2 for the two features that make the best support.
    assert list(kept_by_value(DenseCovariance(S), 2, 2.0, 1.0, rows=False)) == [0, 1, 2]
    assert list(kept_by_value(DenseCovariance(S), 2, 2.0, 1.0, rows=True)) == [1, 2]


def text_like(n, seed, words=10):
    """Counts whose variances fall off as in text, with a topic and a smaller one among the common words."""
    rng = np.random.default_rng(seed)
    rate = np.repeat(1 / np.arange(1, n + 1.0)[None], 1500, axis=0)
    places = 3 * np.arange(words)
    for first, often in ((0, 0.4), (1, 0.2)):
        rate[:, places + first] = often * rng.gamma(0.3, 1 / 0.3, (1500, 1))
    return sp.csr_array(rng.poisson(rate).astype(float))


@pytest.mark.parametrize("k", [3, 5, 8])
def test_text_loses_almost_everything(k):
    covariance = covariance_of(text_like(1200, 0))[0]
    found = Auto().solve(Problem(covariance, k))
    before = float(elementary_bound(covariance, k - 1))
    by_variance = kept_by_value(covariance, k, found.value, before, rows=False)
    by_rows = kept_by_value(covariance, k, found.value, before)
    in_passes = eliminate_by_variance(covariance, k, found.value, elementary_bound).kept
    for fewer, more in ((found.support, in_passes), (in_passes, by_rows), (by_rows, by_variance)):
        assert set(fewer.tolist()) <= set(more.tolist())
    assert len(by_variance) <= 40
    assert len(in_passes) <= 12


def test_many_features_by_variance_alone():
    """No column of S is asked for."""

    class Untouchable(FactorCovariance):
        def columns(self, indices):
            raise AssertionError(f"columns of {len(indices)} features were asked for")

        product = submatrix = columns

    A = np.random.default_rng(0).standard_normal((3, 100_000)) * np.arange(1, 100_001.0) ** -1
    covariance = Untouchable(A)
    value = float(np.linalg.svd(A[:, :3], compute_uv=False)[0] ** 2)
    before = float(trace_bound(covariance, 2))
    kept = kept_by_value(covariance, 3, value, before, rows=False)
    np.testing.assert_array_equal(kept, np.flatnonzero(before + (A**2).sum(axis=0) >= value * (1 - 1e-11)))
    found = eliminate_by_variance(covariance, 3, value, trace_bound, rows=False)
    assert {0, 1, 2} <= set(found.kept.tolist())
    assert len(found.kept) <= len(kept)


@pytest.mark.parametrize(
    "kind", ["gaussian", "decaying", "indefinite", "deflated", "diagonal", "duplicated and zero columns"]
)
def test_the_penalised_problem_needs_only_what_is_kept(kind):
    rng = np.random.default_rng(3)
    removed = 0
    for _ in range(30):
        S = KINDS[kind](6, int(rng.integers(10**6)))
        values = values_of_all(S[None])
        for rho in np.quantile(np.abs(S), [0.2, 0.5, 0.9]):
            best = max(v[0].max() - k * rho for k, v in enumerate(values, 1))
            kept = kept_by_penalty(DenseCovariance(S), float(rho))
            removed += 6 - len(kept)
            left = [values_of_all(S[np.ix_(kept, kept)][None])] if len(kept) else []
            reached = max((v[0].max() - k * rho for vs in left for k, v in enumerate(vs, 1)), default=-np.inf)
            # With nothing selected at all the penalised value is zero.
            assert max(reached, 0.0) == pytest.approx(max(best, 0.0), abs=1e-9 * np.abs(S).max())
    assert removed > 0 or kind == "indefinite"


def test_penalty_of_the_l1_relaxation():
    S = np.array([[100.0, 9.0], [9.0, 0.9]])
    assert list(kept_by_penalty(DenseCovariance(S), 1.0)) == [0]
    assert list(Splitting().solve(S, PenaltyForm(9.0)).keep) == []
    # The second feature is in the solution of the relaxation, as the docstring says.
    with_both = Splitting(tolerance=1e-9).solve(S, PenaltyForm(1.0))
    assert list(with_both.keep) == [0, 1]
    assert with_both.primal > 100 - 1 + 0.1
    assert abs(with_both.vector[1]) > 1e-3


def test_bad_arguments():
    S = DenseCovariance(np.eye(3))
    with pytest.raises(ValueError, match="cardinality=4 must lie between 1 and the number of features, 3"):
        kept_by_value(S, 4, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"value=nan and before=1\.0 must be numbers"):
        kept_by_value(S, 2, np.nan, 1.0)
    with pytest.raises(ValueError, match=r"rho=-1\.0 must not be negative"):
        kept_by_penalty(S, -1.0)


def of_falling_variance(n, seed, *, semidefinite=True):
    rng = np.random.default_rng(seed)
    scale = np.exp(-rng.random() * np.arange(n))
    S = random_psd(n, seed=seed) * scale * scale[:, None]
    return S if semidefinite else S - 0.3 * S.diagonal().mean() * np.eye(n)


def test_by_hand():
    """diag(5, 4, 1), the first two kept: the trace gives 9 for both, and 5 + 1 for one of them and the third."""
    covariance = DenseCovariance(np.diag([5.0, 4.0, 1.0]))
    kept = np.array([0, 1])
    part = DenseCovariance(np.diag([5.0, 4.0]))
    np.testing.assert_allclose(added_by_second_group(covariance, kept, 2), [0, 1], rtol=1e-12)
    # The largest eigenvalue of the first group is 5, for one feature and for both.
    bounds = [elementary_bound(part, 2)]
    assert bounds[0].value == pytest.approx(5)
    assert two_groups_bound(covariance, kept, 2, bounds).value == pytest.approx(6)
    assert two_groups_bound(covariance, kept, 2, []).value == pytest.approx(9)


@pytest.mark.parametrize("semidefinite", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_holds_the_truth_and_is_proved(seed, semidefinite):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    S = of_falling_variance(n, seed, semidefinite=semidefinite)
    covariance = DenseCovariance(S, semidefinite=semidefinite)
    kept = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
    part = DenseCovariance(S[np.ix_(kept, kept)], semidefinite=semidefinite)
    for k in range(1, n + 1):
        cardinalities = {min(k, len(kept)), *rng.integers(1, min(k, len(kept)) + 1, 2).tolist()}
        found = two_groups_bound(covariance, kept, k, [elementary_bound(part, q) for q in cardinalities])
        truth = best_value(S, k)
        rounding = 1e-12 * np.abs(S).max()
        assert truth - rounding <= proved_upper(S, k, found.witness) <= found.value + rounding


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


@pytest.mark.parametrize("seed", range(2))
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


@pytest.mark.parametrize(("gap", "noise"), [(1e-7, 1e-10), (0.2, 5e-3)])
@pytest.mark.parametrize("seed", range(2))
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


def test_small_entries_within_a_block_stay_in_its_proof():
    """Many entries that would not connect blocks, in a block that others hold together."""
    S = np.full((65, 65), 0.01)
    S[:62, :62] = 0.14
    S[:2, 2:62] = S[2:62, :2] = 3.0
    S[:2, :2] = 20.0
    np.fill_diagonal(S, [100.0] * 2 + [0.6] * 60 + [50.0] * 3)
    found = solved_exactly(Problem(DenseCovariance(S), 3), gap=0.01)
    assert isinstance(found.witness, BlockWitness)
    assert found.value <= proved_upper(S, 3, found.witness) <= found.estimate * (1 + 1e-9)
