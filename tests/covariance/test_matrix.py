"""Every kind of covariance against the explicit matrix, and against exact arithmetic."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import minus, random_psd
from laconic.covariance import (
    DenseCovariance,
    FactorCovariance,
    Screening,
    SparseCovariance,
    SubsetCovariance,
    covariance_of,
)
from laconic.data.rows import ArraySource
from laconic.proof import proved_lower, proved_upper
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, ThresholdWitness, TraceWitness
from laconic.proof.witness_steps import ByRows, ByVariances, Step, StepsWitness


def counts(n, p, seed, density=0.3):
    """Sparse rows of the kind met in text: few entries, non-negative, one column nearly full, one empty."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(2.0, (n, p)) * (rng.random((n, p)) < density) * 1.0
    X[:, 1] = rng.poisson(5.0, n)
    X[:, 2] = 0
    return X


def explicit(X, *, center=True, scale=False, weights=None):
    """The covariance as a textbook writes it."""
    w = np.ones(len(X)) if weights is None else weights
    mean = (w @ X) / w.sum() if center else np.zeros(X.shape[1])
    Z = X - mean
    divisor = w.sum() - (w**2).sum() / w.sum() if center else w.sum()
    S = (Z * w[:, None]).T @ Z / divisor
    if scale:
        root = np.sqrt(np.where(S.diagonal() > 0, S.diagonal(), 1))
        S = S / root / root[:, None]
    return S


def sparse_kind(convert, seed, *, n=40, p=60, density=0.3, weighted=False, **settings):
    """The sparse kind, whatever `covariance_of` would choose."""
    X = counts(n, p, seed, density)
    weights = np.random.default_rng(seed).random(n) + 0.1 if weighted else None
    _, standard = covariance_of(convert(X), weights=weights, **settings)
    return SparseCovariance(convert(X), standard, weights), explicit(X, weights=weights, **settings)


def factor(seed):
    A = np.random.default_rng(seed).standard_normal((5, 20))
    return FactorCovariance(A), A.T @ A


def deflated(base, seed):
    covariance, S = base(seed)
    z = np.random.default_rng(seed).standard_normal(len(S))
    return minus(covariance, z, 0.3), S - 0.3 * np.outer(z, z)


def subset(base, seed):
    covariance, S = base(seed)
    keep = np.sort(np.random.default_rng(seed).permutation(len(S))[: len(S) // 2])
    return SubsetCovariance(covariance, keep), S[np.ix_(keep, keep)]


def dense(seed):
    S = random_psd(12, seed=seed)
    return DenseCovariance(S), S


KINDS = {
    "dense": dense,
    "factor": factor,
    "csr": lambda seed: sparse_kind(sp.csr_array, seed),
    "csr, very sparse": lambda seed: sparse_kind(sp.csr_array, seed, density=0.02),
    "csc, very sparse, weighted, scaled": lambda seed: sparse_kind(
        sp.csc_array, seed, density=0.02, weighted=True, scale=True
    ),
    "csr matrix, weighted": lambda seed: sparse_kind(sp.csr_matrix, seed, weighted=True),
    "csc, scaled": lambda seed: sparse_kind(sp.csc_array, seed, scale=True),
    "csc, not centred, weighted, scaled": lambda seed: sparse_kind(
        sp.csc_array, seed, center=False, weighted=True, scale=True
    ),
    "subset of dense": lambda seed: subset(dense, seed),
    "subset of factor": lambda seed: subset(factor, seed),
    "subset of csr": lambda seed: subset(KINDS["csr"], seed),
    "deflated dense": lambda seed: deflated(dense, seed),
    "deflated factor": lambda seed: deflated(factor, seed),
    "deflated csc": lambda seed: deflated(KINDS["csc, scaled"], seed),
    "subset of deflated factor": lambda seed: subset(KINDS["deflated factor"], seed),
    "deflated subset": lambda seed: deflated(KINDS["subset of csr"], seed),
    "deflated twice": lambda seed: deflated(KINDS["deflated dense"], seed + 7),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_explicit_matrix(kind, seed):
    covariance, S = KINDS[kind](seed)
    n = len(S)
    rng = np.random.default_rng(seed)
    tolerance = {"rtol": 0, "atol": 1e-11 * np.abs(S).max()}
    assert covariance.n_features == n
    np.testing.assert_allclose(covariance.diagonal, S.diagonal(), **tolerance)
    assert covariance.trace == pytest.approx(np.trace(S), rel=1e-10)
    for indices in (np.array([n - 1]), rng.permutation(n)[:4], np.arange(n), np.empty(0, dtype=np.intp)):
        np.testing.assert_allclose(covariance.columns(indices), S[:, indices], **tolerance)
        np.testing.assert_allclose(covariance.block(indices, np.array([0, 1])), S[indices][:, :2], **tolerance)
        block = covariance.submatrix(indices)
        np.testing.assert_allclose(block, S[np.ix_(indices, indices)], **tolerance)
        assert np.array_equal(block, block.T)
    supports = np.sort(np.array([rng.permutation(n)[:3] for _ in range(6)]), axis=1)
    expected = S[supports[:, :, None], supports[:, None, :]]
    np.testing.assert_allclose(covariance.submatrices(supports), expected, **tolerance)
    vector, matrix = rng.standard_normal(n), rng.standard_normal((n, 5))
    wide = {"rtol": 0, "atol": 1e-11 * np.abs(S).sum(axis=1).max() * 4}
    np.testing.assert_allclose(covariance.product(vector), S @ vector, **wide)
    np.testing.assert_allclose(covariance.product(matrix), S @ matrix, **wide)
    part = covariance.part(np.array([3, 0, 5]))
    np.testing.assert_allclose(part.submatrix(np.arange(3)), S[np.ix_([3, 0, 5], [3, 0, 5])], **tolerance)
    columns = covariance.columns(np.array([0, 1]))
    columns[:] = 7  # no view that a caller could spoil
    np.testing.assert_allclose(covariance.columns(np.array([0, 1])), S[:, :2], **tolerance)
    with pytest.raises(ValueError, match="read-only"):
        covariance.diagonal[0] = 7


@pytest.mark.parametrize("shape", [(50, 10), (20, 30)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("convert", [np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"center": False}, {"center": False, "scale": True}])
def test_built_from_rows(shape, dtype, convert, weighted, settings):
    X = counts(*shape, seed=4)
    weights = np.random.default_rng(5).random(shape[0]) if weighted else None
    covariance, standard = covariance_of(convert(X.astype(dtype)), weights=weights, **settings)
    S = explicit(X, weights=weights, **settings)
    np.testing.assert_allclose(covariance.submatrix(np.arange(shape[1])), S, atol=1e-12 * np.abs(S).max())
    np.testing.assert_allclose(covariance.diagonal, S.diagonal(), atol=1e-12 * np.abs(S).max())
    Z = (X - standard.means) * standard.scales
    np.testing.assert_allclose(explicit(Z, weights=weights, center=settings.get("center", True)), S, atol=1e-11)
    assert standard.constant.tolist() == [j == 2 for j in range(shape[1])]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("shape", [(300, 6), (40, 60)])
@pytest.mark.parametrize("weighted", [False, True])
def test_huge_means_cost_no_accuracy(convert, shape, weighted):
    """Mean 1e6, unit variance: E[xy] - E[x]E[y] would keep four digits; ten are asked for here."""
    rng = np.random.default_rng(6)
    deviations = rng.standard_normal(shape)
    X = 1e6 + deviations
    X[:, ::2] = deviations[:, ::2] * (rng.random((shape[0], (shape[1] + 1) // 2)) < 0.3)
    weights = rng.random(shape[0]) if weighted else None
    S = np.cov(X.astype(np.longdouble), rowvar=False, aweights=weights).astype(float)
    covariance, _ = covariance_of(convert(X), weights=weights)
    p = shape[1]
    np.testing.assert_allclose(covariance.diagonal, S.diagonal(), rtol=1e-9)
    np.testing.assert_allclose(covariance.submatrix(np.arange(p)), S, atol=1e-9)
    np.testing.assert_allclose(covariance.columns(np.array([0, 3])), S[:, [0, 3]], atol=1e-9)
    v = rng.standard_normal((p, 2))
    np.testing.assert_allclose(covariance.product(v), S @ v, atol=1e-8 * np.sqrt(p))


def test_a_wide_table_stays_a_factor_and_a_tall_one_is_written_out():
    rng = np.random.default_rng(8)
    assert isinstance(covariance_of(rng.standard_normal((50, 10)))[0], DenseCovariance)
    assert isinstance(covariance_of(rng.standard_normal((10, 50)))[0], FactorCovariance)
    assert isinstance(covariance_of(sp.random(10, 50, 0.5, format="csr", random_state=0))[0], SparseCovariance)


def fractions(array):
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array, dtype=float))


def exact_covariance(X, *, center=True, scale=False, weights=None):
    """The covariance of the rows in fractions; the roots of a correlation have sixty digits."""
    X, w = fractions(X), fractions(np.ones(len(X)) if weights is None else weights)
    W = w.sum()
    Z = X - (w @ X) / W if center else X
    S = Z.T @ (w[:, None] * Z) / (W - (w @ w) / W if center else W)
    if scale:
        with localcontext() as context:
            context.prec = 60
            roots = [(Decimal(x.numerator) / Decimal(x.denominator)).sqrt() if x else Decimal(1) for x in S.diagonal()]
            roots = np.array([Fraction(root) for root in roots])
        S = S / roots / roots[:, None]
    return S


ROWS = {
    "small": lambda rng: rng.standard_normal((30, 6)),
    "sparse": lambda rng: rng.standard_normal((30, 6)) * (rng.random((30, 6)) < 0.3) + 0.0,
    "far from zero": lambda rng: rng.standard_normal((30, 6)) + 1e5,
    "of all sizes": lambda rng: rng.standard_normal((30, 6)) * 10.0 ** rng.integers(-3, 4, 6) + rng.random(6),
    "wide": lambda rng: rng.standard_normal((4, 6)) + 3,
}


def made_of_rows(X, weights, **settings):
    """S of rows in every way in which it is made."""
    yield covariance_of(X, weights=weights, **settings)[0]
    dense, standard = covariance_of(sp.csr_array(X), weights=weights, **settings)
    yield dense
    yield SparseCovariance(sp.csc_array(X), standard, weights)
    if weights is None:
        for rows in (X, sp.csr_array(X)):
            source = ArraySource(rows)
            source._step = 7
            yield Screening(source, **settings).with_columns(np.arange(X.shape[1]))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"center": False}])
@pytest.mark.parametrize("rows", ROWS)
def test_entries_lie_within_the_spread_of_the_exact_covariance(rows, settings, weighted):
    rng = np.random.default_rng(3)
    X = ROWS[rows](rng)
    weights = rng.random(len(X)) + 0.1 if weighted else None
    true, everything = exact_covariance(X, weights=weights, **settings), np.arange(6)
    limit = Fraction(1, 10**40)
    for S in made_of_rows(X, weights, **{"center": True, "scale": False, **settings}):
        spread, size = fractions(S.spread), fractions(S.size)
        for computed in (S.block(everything, everything), S.matrix):
            assert (abs(true - fractions(computed)) <= spread[:, None] * spread + limit).all()
        assert (abs(np.diagonal(true) - fractions(S.diagonal)) <= spread**2 + limit).all()
        assert (abs(true) <= size[:, None] * size + limit).all()
        assert (np.diagonal(true) <= fractions(S.variances) + limit).all()
        assert Fraction(S.away) >= sum(spread**2)
        assert S.away <= 1e-7 * S.size.max() ** 2, "and it says something"
        assert S.semidefinite_shift == 0
        factor = S.rows_as_factor(everything)
        if factor is not None:
            product = fractions(factor).T @ fractions(factor)
            apart = np.array(true - product, dtype=float)
            assert np.linalg.norm(apart, 2) <= S.factor_error + 1e-30


def witnesses(n, k):
    """Bounds that are sharp for a matrix of equal entries, or nearly so."""
    largest, every, all_of_them = DualWitness("largest eigenvalue"), ExhaustiveWitness(), np.arange(n)
    few = Step(k, all_of_them[:-1] if n > 1 else all_of_them, every)
    return (
        TraceWitness(),
        RowSumWitness(),
        every,
        largest,
        DualWitness("row levels", levels=np.zeros((n, n)), kept=all_of_them),
        ThresholdWitness(0.0),
        StepsWitness((few, Step(max(k - 1, 1), None, largest), Step(k, None, ByRows(0, 1, all_of_them)))),
        StepsWitness((few, Step(k, None, ByVariances((0,))))),
    )


def is_semidefinite(M):
    """By elimination in fractions: no pivot is negative, and below a zero pivot there is nothing."""
    M = M.copy()
    for j in range(len(M)):
        if M[j, j] < 0 or (M[j, j] == 0 and any(M[j + 1 :, j])):
            return False
        if M[j, j]:
            M[j + 1 :, j + 1 :] -= M[j + 1 :, [j]] * M[[j], j + 1 :] / M[j, j]
    return True


@pytest.mark.parametrize("settings", [{}, {"center": False}])
@pytest.mark.parametrize("rows", ROWS)
def test_bounds_hold_for_the_exact_covariance(rows, settings):
    """For the best support T the matrix u I - S_T is semidefinite in fractions."""
    X = ROWS[rows](np.random.default_rng(0))
    true, k = exact_covariance(X, **settings), 3
    best = max(combinations(range(6), k), key=lambda T: np.linalg.eigvalsh(true.astype(float)[np.ix_(T, T)])[-1])
    for S in made_of_rows(X, None, **{"center": True, "scale": False, **settings}):
        for witness in witnesses(6, k):
            bound = Fraction(proved_upper(S, k, witness))
            assert is_semidefinite(bound * fractions(np.eye(k)) - true[np.ix_(best, best)])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bounds_of_a_column_and_its_copy_hold_exactly(sign):
    """The best value is twice the sum of squares, of which most terms are lost when they are added one by one."""
    count, small = 2**18, 2.0**-29
    column = np.concatenate([np.ones(64), np.full(count, small)])
    covariance = FactorCovariance(np.stack([column, sign * column], axis=1))
    truth = 2 * (64 + count * Fraction(small) ** 2)
    for witness in witnesses(2, 2):
        assert truth <= Fraction(proved_upper(covariance, 2, witness)) <= truth * Fraction(1 + 1e-9)
    assert Fraction(proved_upper(covariance, 1, TraceWitness())) >= truth / 2
    assert Fraction(proved_lower(covariance, [0, 1], [1.0, sign])) <= truth
