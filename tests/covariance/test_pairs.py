"""The look at all pairs against a plain double loop, and against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from laconic.core.monitor import Monitor, Note, Stop
from laconic.covariance import (
    DenseCovariance,
    FactorCovariance,
    Screening,
    SparseCovariance,
    SubsetCovariance,
    covariance_of,
    pairs,
)
from laconic.covariance.deflation import DEFLATIONS, Deflation
from laconic.data.rows import ArraySource
from matrices import KINDS

ROOM = 1e-12


@pytest.fixture(params=["double", "single"])
def precision(request, monkeypatch):
    """Products in single precision also where double precision is cheap."""
    if request.param == "single":
        monkeypatch.setattr(pairs, "CHEAP", 0)
        return 1e-5
    return ROOM


@pytest.fixture
def in_small_blocks(monkeypatch):
    monkeypatch.setattr(pairs, "ROWS_IN_A_BLOCK", 7)
    monkeypatch.setattr(pairs, "BLOCK", 1)


def check(S, matrix, count, room):
    """`matrix` is S by other means; `room` is how far above the bounds may be, relative to the largest entry."""
    n, found = S.n_features, S.pairs(count)
    room *= max(float(np.abs(matrix).max()), 1e-300)
    size = np.abs(matrix)
    np.fill_diagonal(size, -1.0)
    count = min(count, n - 1)
    assert found.largest.shape == found.partners.shape == (n, count)
    large = found.large.toarray()
    assert np.array_equal(large, large.T)
    assert not large.diagonal().any()
    for i in range(n):
        truth = sorted((size[i, j] for j in range(n) if j != i), reverse=True)[:count]
        assert (found.largest[i] >= np.array(truth) - ROOM * room).all()
        assert (found.largest[i] <= np.array(truth) + room).all()
        assert len(set(found.partners[i].tolist()) - {i}) == count
        assert (found.largest[i] <= size[i, found.partners[i]] + room).all()
        for j in range(n):
            if j != i:
                assert size[i, j] <= (large[i, j] if large[i, j] else found.floor) + ROOM * room
                assert large[i, j] <= size[i, j] + room
    return found


def standardised(seed, m=12, n=70):
    X = np.random.default_rng(seed).standard_normal((m, n))
    X[:, :6] += 2 * X[:, [0]]
    return X


@pytest.mark.parametrize("n", [1, 2, 5, 20])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("in_small_blocks")
def test_matrices_of_every_kind(kind, n):
    """Also indefinite ones, with ties, zeros and extreme units. Nothing is rounded in a matrix that is given."""
    matrix = KINDS[kind](n, 3)
    matrix = 0.5 * (matrix + matrix.T)
    for count in (1, 3, n):
        found = check(DenseCovariance(matrix), matrix, count, 1e-15)
        assert np.array_equal(found.largest, np.take_along_axis(np.abs(matrix), found.partners, axis=1))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.usefixtures("in_small_blocks")
def test_rows(convert, scale, seed, precision):
    X = standardised(seed) * (np.random.default_rng(seed).random((12, 70)) < 0.8)
    X[:, 9] = 0
    S, standard = covariance_of(convert(X), scale=scale)
    Z = (X - standard.means) * standard.scales
    assert isinstance(S, FactorCovariance if convert is np.asarray else SparseCovariance)
    assert S.pairs_cost == 12 * 70**2
    check(S, Z.T @ Z / 11, 5, precision)


@pytest.mark.usefixtures("in_small_blocks")
def test_rows_that_are_nearly_empty():
    X = sp.random(400, 80, 0.02, format="csr", random_state=1)
    standard = covariance_of(X)[1]
    check(SparseCovariance(X, standard), np.cov(X.toarray().T), 4, ROOM)


@pytest.mark.parametrize("units", [1.0, 1e-140, 1e140])
def test_single_precision_gives_upper_bounds(units, monkeypatch):
    """Against rational numbers, for more rows than one sum of single precision has."""
    monkeypatch.setattr(pairs, "CHEAP", 0)
    rng = np.random.default_rng(0)
    A = rng.standard_normal((1100, 40)) * 10.0 ** rng.integers(-3, 3, 40) * units
    A[:, 1] = A[:, 0] * (1 + 1e-9 * rng.standard_normal(1100))
    S = FactorCovariance(A)
    found = S.pairs(6)
    exact = [[Fraction(float(x)) for x in column] for column in A.T]
    for i in (0, 1, 7, 20):
        size = [abs(sum(x * y for x, y in zip(exact[i], other, strict=True))) for other in exact]
        del size[i]
        for bound, truth in zip(found.largest[i].tolist(), sorted(size, reverse=True), strict=False):
            assert Fraction(bound) >= truth
        bounds = np.delete(found.large[[i]].toarray()[0], i).tolist()
        for bound, truth in zip(bounds, size, strict=True):
            assert Fraction(bound or found.floor) >= truth


@pytest.mark.parametrize("base", ["dense", "factor", "sparse", "subset"])
@pytest.mark.parametrize("rule", DEFLATIONS)
@pytest.mark.usefixtures("in_small_blocks")
def test_deflated(rule, base, precision):
    X = standardised(4)
    S = covariance_of(sp.csr_array(X) if base == "sparse" else X, scale=True)[0]
    if base == "dense":
        S = DenseCovariance(S.matrix)
    elif base == "subset":
        S = SubsetCovariance(S, np.arange(3, 68))
    deflation, n = Deflation(S, rule), S.n_features
    for support in ([0, 1, 2], [2, 4]):
        z = np.zeros(n)
        z[support] = np.arange(1, len(support) + 1)
        deflated = deflation.remove(z / np.linalg.norm(z))
        check(deflated, deflated.submatrix(np.arange(n)), 4, precision)
    check(deflated.part(np.arange(1, n)), deflated.submatrix(np.arange(1, n)), 4, precision)


def test_lists_that_lose_most_entries_are_made_again(monkeypatch):
    """All rows have the same partners, and these are taken out."""
    monkeypatch.setattr(pairs, "AHEAD", 1)
    monkeypatch.setattr(pairs, "FEWEST", 1)
    A = np.random.default_rng(1).standard_normal((5, 80))
    A[:, :4] = 10 * A[:, [0]]
    S = FactorCovariance(A)
    z = np.zeros(80)
    z[:4] = 0.5
    deflated = Deflation(S, "projection").remove(z)
    check(deflated, deflated.submatrix(np.arange(80)), 4, ROOM)
    assert S.pairs(1).largest.shape == (80, 1)
    assert S.widest_pairs(1, Monitor()).largest.shape == (80, 8)


def test_subset_of_few_features(precision):
    S = covariance_of(standardised(5), scale=True)[0]
    keep = np.array([30, 2, 1, 0, 60])
    check(SubsetCovariance(S, keep), S.submatrix(keep), 3, precision)


def test_a_subset_whose_lists_lose_nothing():
    """No row is looked at again."""
    S = covariance_of(standardised(5, n=300), scale=True)[0]
    last = np.setdiff1d(np.arange(300), S.pairs(1).partners)
    keep = np.delete(np.arange(300), last[:1])
    check(SubsetCovariance(S, keep), S.submatrix(keep), 1, ROOM)


def test_the_look_is_kept(monkeypatch):
    S = covariance_of(standardised(6))[0]
    S.pairs(3)
    monkeypatch.setattr(type(S), "columns", None)
    assert S.pairs(2).largest.shape == (70, 2)


def test_equal_entries_come_in_order():
    S = DenseCovariance(np.eye(300) + 0.5)
    assert np.array_equal(S.pairs(3).partners[[0, 1, 299]], [[1, 2, 3], [0, 2, 3], [0, 1, 2]])


def test_the_floor_rises(monkeypatch):
    monkeypatch.setattr(pairs, "MOST_PAIRS", 100)
    monkeypatch.setattr(pairs, "DEVIATIONS", 0.5)
    S = covariance_of(standardised(7), scale=True)[0]
    found = check(S, S.submatrix(np.arange(70)), 3, ROOM)
    assert 50 < found.large.nnz <= 200


def test_hidden_features_have_no_pairs():
    screened = Screening(ArraySource(sp.csr_array(standardised(8)))).with_columns(np.arange(9))
    with pytest.raises(ValueError, match="not at hand"):
        screened.pairs(2)
    assert screened.on_hand().pairs(2).largest.shape == (9, 2)


def test_a_stop_ends_the_look_and_keeps_nothing():
    S = covariance_of(standardised(9))[0]
    monitor = Monitor(1e-9)
    with monitor.watch():
        S.pairs(2, monitor)
        pytest.fail("The time limit did not end the look.")
    assert monitor.stopped is Stop.TIME_LIMIT
    assert S.pairs(2).largest.shape == (70, 2)


def test_an_expensive_look_is_announced(monkeypatch):
    monkeypatch.setattr(pairs, "EXPENSIVE", 0)
    with pytest.warns(Note, match=r"All pairs of 70 columns .* 10\^4 multiplications"):
        covariance_of(standardised(10))[0].pairs(2)
