"""Bounds on a covariance of which only some features are at hand, against exhaustive search on the whole."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from laconic.bounds.least import bound_support
from laconic.bounds.tight import solve_at_hand
from laconic.proof.witness_reduction import TwoGroupsWitness, _with_excess

from helpers import bound_of, certified, path_of
from laconic import SparsePCA, verify
from laconic.covariance import DenseCovariance, Screening
from laconic.covariance.deflation import DEFLATIONS, Deflation
from laconic.data.rows import ArraySource
from laconic.proof import ProofError, prove
from laconic.proof.witness_plain import RowSumWitness, TraceWitness
from laconic.search import Auto
from laconic.search.problem import Problem


def decaying_rows(seed, n=12, rows=40):
    """Rows with correlated columns whose variances decay."""
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((rows, 3)) @ rng.standard_normal((3, n)) + rng.standard_normal((rows, n))
    return mixed * 0.75 ** np.arange(n)


def screened(rows, kept, **settings):
    return Screening(ArraySource(rows), **settings).with_columns(np.asarray(kept))


def best_value(S, k):
    supports = np.array(list(combinations(range(len(S)), k)))
    return float(np.linalg.eigvalsh(S[supports[:, :, None], supports[:, None, :]])[:, -1].max())


def deflated_array(S, components, kind):
    """Deflate a whole array by textbook formulas."""
    left = Deflation(DenseCovariance(S), kind)
    for z in components:
        left.remove(z)
    return left.current.submatrix(np.arange(len(S)))


@pytest.mark.parametrize("proof", ["fast", "tight"])
@pytest.mark.parametrize("deflation", DEFLATIONS)
@pytest.mark.parametrize("seed", range(4))
def test_a_bound_holds_for_all_features(seed, deflation, proof):
    rows = decaying_rows(seed)
    S = np.cov(rows, rowvar=False)
    kept = np.sort(np.argsort(-S.diagonal())[:7])
    left = Deflation(screened(rows, kept), deflation)
    components = []
    for k in (3, 2, 4):
        problem = Problem(left.current, k)
        solution = solve_at_hand(Auto(), problem)
        bound = bound_support(problem, solution, proof)
        whole = deflated_array(S, components, deflation)
        truth = best_value(whole, k)
        assert bound.value >= truth * (1 - 1e-12)
        # The value found is that of its support in the whole matrix.
        block = whole[np.ix_(solution.support, solution.support)]
        assert solution.value == pytest.approx(np.linalg.eigvalsh(block)[-1])
        assert set(solution.support) <= set(kept)
        components.append(solution.vector(len(S)))
        left.remove(components[-1])


@pytest.mark.parametrize("seed", range(20))
def test_a_poor_first_group_gives_a_poor_bound_and_not_a_wrong_one(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((30, 9)) @ rng.standard_normal((9, 9))
    kept = np.sort(rng.choice(9, 4, replace=False))
    kind = str(rng.choice(list(DEFLATIONS)))
    left = Deflation(screened(rows, kept), kind)
    z = np.zeros(9)
    z[kept[:2]] = rng.standard_normal(2)
    left.remove(z / np.linalg.norm(z))
    whole = deflated_array(np.cov(rows, rowvar=False), [z / np.linalg.norm(z)], kind)
    witness = TwoGroupsWitness(np.arange(4), ((3, RowSumWitness()), (1, TraceWitness())))
    witness = TwoGroupsWitness(kept, witness.bounds)
    assert prove(left.current, 3, witness).value >= best_value(whole, 3) * (1 - 1e-12)
    assert prove(left.current, 3, TraceWitness()).value >= best_value(whole, 3) * (1 - 1e-12)
    # A first group that leaves out features at hand.
    fewer = TwoGroupsWitness(kept[1:], ((2, RowSumWitness()),))
    assert prove(left.current, 3, fewer).value >= best_value(whole, 3) * (1 - 1e-12)


def _name(left):
    return next(
        k for k, (rule, orthogonal) in DEFLATIONS.items() if (rule, orthogonal) == (left._rule, left._orthogonalized)
    )


def test_after_hotelling_the_correction_is_needed_and_small():
    """Two strongly correlated features, one of them hidden, after Hotelling's deflation of the other by a part."""
    rows = decaying_rows(0, n=6)
    S = np.cov(rows, rowvar=False)
    kept = np.arange(4)
    left = Deflation(screened(rows, kept), "hotelling")
    z = np.zeros(6)
    z[:2] = [0.8, 0.6]
    left.remove(z)
    c = float(z @ S @ z)
    assert left.current.excess(np.array([4, 5])) == pytest.approx(c)
    inner = prove(left.current.on_hand(), 2, RowSumWitness()).value
    bound = prove(left.current, 2, TwoGroupsWitness(kept, ((2, RowSumWitness()),))).value
    b = S[4, 4]
    a = min(inner, float(np.sort(left.current.diagonal[:4])[-2:].sum() + c))
    expected = (a + b) / 2 + np.hypot((a - b) / 2, np.sqrt((a + c) * b))
    assert bound <= expected * (1 + 1e-9)
    assert bound > inner


def test_a_proof_that_needs_hidden_rows_is_refused():
    covariance = screened(decaying_rows(0), [0, 1, 2, 3])
    with pytest.raises(ProofError, match="not at hand"):
        prove(covariance, 2, RowSumWitness())
    with pytest.raises(ValueError, match="not at hand"):
        covariance.submatrix(np.array([2, 7]))


def made_counts(rows=3000, columns=4000, seed=0):
    """Counts with columns that thin out as words do, and two groups of words that occur together."""
    rng = np.random.default_rng(seed)
    rate = 0.8 / (1 + np.arange(columns)) ** 0.9
    counts = rng.poisson(rate, (rows, columns)).astype(np.float64)
    counts[np.arange(columns) % rows, np.arange(columns)] += 1  # no column is constant
    counts[: rows // 4, [20, 30, 40]] += rng.poisson(4.0, (rows // 4, 1))
    counts[-rows // 5 :, [25, 35]] += rng.poisson(4.0, (rows // 5, 1))
    return sp.csr_array(counts)


@pytest.fixture(scope="module")
def counts():
    return made_counts()


def test_sparse_rows_take_the_road_of_two_passes(counts):
    model = SparsePCA(2, cardinality=[3, 2]).fit(counts)
    assert [s.tolist() for s in model.supports_] == [[20, 30, 40], [25, 35]]
    for certificate in model.certificates_:
        assert len(certificate.witness.kept) < counts.shape[1] / 2
        assert verify(certificate, counts)
        assert verify(certificate, counts.tocsc())
        assert verify(certificate, ArraySource(counts))
        assert not verify(certificate, counts * 2)
    dense = np.cov(counts.toarray(), rowvar=False)
    z = model.components_[0]
    assert model.lower_bound_[0] == pytest.approx(float(z @ dense @ z), rel=1e-12)
    assert model.explained_variance_ratio_[0] == pytest.approx(float(z @ dense @ z) / np.trace(dense), rel=1e-12)
    assert np.allclose(model.transform(ArraySource(counts)), model.transform(counts))


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_later_components_are_proved_for_all_features(counts, deflation):
    model = SparsePCA(2, cardinality=[3, 2], deflation=deflation, proof="tight").fit(counts)
    assert (model.gap_ <= 1e-6).all()
    for certificate in model.certificates_:
        assert verify(certificate, counts), verify(certificate, counts).reason


def test_settings_that_name_features_work_with_hidden_ones(counts):
    last = counts.shape[1] - 1
    model = SparsePCA(cardinality=3, forced_in=[last]).fit(counts)
    assert last in model.supports_[0]
    assert verify(model.certificates_[0], counts)
    model = SparsePCA(2, cardinality=2, joint="disjoint").fit(counts)
    assert not set(model.supports_[0]) & set(model.supports_[1])
    assert all(verify(certificate, counts) for certificate in model.certificates_)


def test_paths_bounds_and_chosen_supports_work_with_hidden_features(counts):
    path = path_of(counts, 4)
    assert (np.diff(path.values) >= 0).all()
    assert all(verify(certificate, counts) for certificate in path.certificates)
    bound = bound_of(counts, 3)
    assert bound == pytest.approx(path.upper_bounds[2], rel=0.05)
    own = certified(counts, [20, 30, counts.shape[1] - 1])
    assert own.upper >= path.values[2] * (1 - 1e-9)
    assert verify(own, counts)


@pytest.mark.parametrize("method", ["greedy", "gpower-l0-block", "dspca"])
def test_other_methods_see_the_features_at_hand(counts, method):
    model = SparsePCA(2, cardinality=3, method=method).fit(counts)
    assert model.supports_[0].tolist() == [20, 30, 40]
    assert all(c is None or verify(c, counts) for c in model.certificates_)


@np.errstate(all="ignore")  # as in the gate
def test_nothing_is_proved_if_nothing_is_known_of_the_excess():
    assert _with_excess(2.0, 0.0, np.inf) == np.inf
    assert _with_excess(2.0, 1.0, np.inf) == np.inf
    assert 3.0 <= _with_excess(2.0, 1.0, 0.0) <= 3.0 + 1e-12
