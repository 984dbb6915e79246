"""The difference of two covariances: what it answers, the matrix above it, its bounds, and fits with contrast=."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import laconic.covariance.contrast
import laconic.covariance.contrast_of
from helpers import best_value
from laconic import Certificate, SparsePCA, certify_support, verify
from laconic.bounds.fast import estimates_from_above, large_estimates
from laconic.covariance import DenseCovariance, FactorCovariance, SubsetCovariance
from laconic.covariance.contrast import ContrastCovariance, raised_factor
from laconic.covariance.deflation import DEFLATIONS, Deflation
from laconic.problem import Problem
from laconic.proof import ProofError, prove
from laconic.proof.witnesses.contrast import ContrastWitness
from laconic.proof.witnesses.plain import TraceWitness
from laconic.search.auto import Auto

SEEDS = range(5)


def factors(seed, p=4, q=3, n=10, weight=0.8):
    """Two factors that have something in common."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((2, n)) * 2
    A = rng.standard_normal((p, n)) + rng.standard_normal((p, 2)) @ common
    B = weight * (rng.standard_normal((q, n)) + rng.standard_normal((q, 2)) @ common)
    return A, B


def fractions(M):
    return np.array([[Fraction(float(x)) for x in row] for row in M])


@pytest.mark.parametrize("seed", SEEDS)
def test_entries_lie_within_the_spread(seed):
    A, B = factors(seed, n=6)
    A, B = A * 10.0 ** np.arange(-2, 4), B * 10.0 ** np.arange(-2, 4)
    true = fractions(A).T @ fractions(A) - fractions(B).T @ fractions(B)
    S = ContrastCovariance(A, B).enclosure
    everything, spread, size = np.arange(6), fractions(S.spread[None])[0], fractions(S.size[None])[0]
    assert (abs(true - fractions(S.block(everything, everything))) <= spread[:, None] * spread).all()
    assert (abs(true) <= size[:, None] * size).all()
    assert (np.diagonal(true) <= fractions(S.variances[None])[0]).all()
    assert S.away <= 1e-11 * S.size.max() ** 2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [0.0, 0.3, 0.9, 0.999])
def test_a_semidefinite_matrix_lies_above(seed, size):
    A, B = factors(seed)
    H = np.random.default_rng(seed).standard_normal((3, 4))
    H *= size / np.linalg.norm(H, 2)
    made = raised_factor(A, B, H)
    S, above = A.T @ A - B.T @ B, made.factor.T @ made.factor
    assert np.linalg.eigvalsh(above - S)[0] >= -1e-12 * np.linalg.norm(above, 2)
    for k in (1, 3, 10):
        assert best_value(S, k) <= made.bound(best_value(above, k), k)
        assert made.bound(best_value(above, k), k) <= best_value(above, k) * (1 + 1e-9)
    if not size:
        np.testing.assert_allclose(above, A.T @ A, atol=1e-12 * np.abs(above).max())


@pytest.mark.parametrize("size", [1.0, 1.5, 100.0])
def test_a_matrix_of_norm_one_or_more_proves_nothing(size):
    A, B = factors(0)
    H = np.random.default_rng(0).standard_normal((3, 4))
    S = ContrastCovariance(A, B)
    witness = ContrastWitness(H * size / np.linalg.norm(H, 2), TraceWitness())
    with pytest.raises(ProofError, match="infinite"):
        prove(S, 2, witness)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", [(4, 3, 20), (3, 8, 30), (8, 1, 15), (2, 2, 5)])
@pytest.mark.parametrize("most_rows", [1000, 1])
def test_the_largest_eigenvalue_and_the_shift(seed, shape, most_rows, monkeypatch):
    monkeypatch.setattr(laconic.covariance.contrast, "MOST_ROWS", most_rows)
    p, q, n = shape
    A, B = factors(seed, p, q, n)
    values = np.linalg.eigvalsh(A.T @ A - B.T @ B)
    S = ContrastCovariance(A, B).enclosure
    assert values[-1] <= S.largest.value <= values[-1] * (1 + 1e-9)
    assert -values[0] * (1 - 1e-12) <= S.semidefinite_shift <= -values[0] * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("part", [False, True])
def test_every_bound_holds(seed, part):
    A, B = factors(seed, n=11)
    covariance = ContrastCovariance(A, B)
    S = A.T @ A - B.T @ B
    if part:
        keep = np.array([0, 2, 3, 5, 6, 7, 9, 10])
        covariance, S = SubsetCovariance(covariance, keep), S[np.ix_(keep, keep)]
    for k in (1, 2, 4):
        problem = Problem(covariance, k)
        solution = Auto().solve(problem)
        assert solution.value == pytest.approx(best_value(S, k))
        kinds = set()
        for estimate in (*large_estimates(problem, solution), *estimates_from_above(problem, solution)):
            bound = prove(covariance.enclosure, k, estimate.witness, kind=estimate.kind)
            assert best_value(S, k) <= bound.value
            kinds.add(type(estimate.witness).__name__)
        assert "ContrastWitness" in kinds


def test_the_matrix_above_gives_the_better_bound():
    """Two tables with a strong common part, which is the same in both: the trace of X is far too high."""
    rng = np.random.default_rng(0)
    common = 5 * rng.standard_normal((2, 300))
    A, B = np.vstack([common, rng.standard_normal((5, 300))]), common
    problem = Problem(ContrastCovariance(A, B), 3)
    solution = Auto().solve(problem)
    least = min(estimate.value for estimate in estimates_from_above(problem, solution))
    assert least < 1.5 * solution.value < 0.1 * np.sort((A**2).sum(axis=0))[-3:].sum()


@pytest.mark.parametrize("kind", DEFLATIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_deflation_leaves_a_difference(kind, seed):
    A, B = factors(seed)
    S = A.T @ A - B.T @ B
    by_factors, by_matrix = Deflation(ContrastCovariance(A, B), kind), Deflation(DenseCovariance(S), kind)
    for k in (2, 3):
        z = Auto().solve(Problem(by_factors.current, k)).vector(10)
        left = by_factors.remove(z)
        assert isinstance(left, ContrastCovariance)
        expected = by_matrix.remove(z).submatrix(np.arange(10))
        np.testing.assert_allclose(left.submatrix(np.arange(10)), expected, atol=1e-9 * np.abs(S).max())


def test_a_witness_of_a_contrast_is_for_contrasts_only():
    A, _ = factors(0)
    with pytest.raises(ProofError, match="difference of two covariances"):
        prove(FactorCovariance(A), 2, ContrastWitness(np.zeros((3, 4)), TraceWitness()))
    with pytest.raises(ProofError, match=r"shape \(2, 4\) where \(3, 4\)"):
        prove(ContrastCovariance(*factors(0)), 2, ContrastWitness(np.zeros((2, 4)), TraceWitness()))


@pytest.fixture(params=[True, False], ids=["written out", "by factors"])
def written_out(request, monkeypatch):
    """Both forms of a difference, whatever the number of columns."""
    if not request.param:
        monkeypatch.setattr(laconic.covariance.contrast_of, "WRITE_OUT_COLUMNS", 3)
        monkeypatch.setattr(laconic.covariance.contrast_of, "WRITE_OUT_LIMIT", 3)
    return request.param


def tables(seed=0, n=12):
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((2, n)) * 3
    X = rng.standard_normal((9, 2)) @ common + rng.standard_normal((9, n)) + 5
    X[:, [1, 4, 6]] += 3 * rng.standard_normal((9, 1))
    Y = rng.standard_normal((8, 2)) @ common + rng.standard_normal((8, n)) - 2
    return X, Y


@pytest.mark.usefixtures("written_out")
@pytest.mark.parametrize("deflation", DEFLATIONS)
@pytest.mark.parametrize("center", [True, False])
def test_a_fit_is_that_of_the_difference(deflation, center):
    X, Y = tables()
    moment = (lambda Z: np.cov(Z, rowvar=False)) if center else (lambda Z: Z.T @ Z / len(Z))
    S = moment(X) - 0.7 * moment(Y)
    model = SparsePCA(2, cardinality=3, deflation=deflation, center=center).fit(X, contrast=(Y, 0.7))
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        same = SparsePCA(2, cardinality=3, deflation=deflation).fit_covariance(S)
    np.testing.assert_allclose(model.components_, same.components_, atol=1e-7)
    np.testing.assert_allclose(model.lower_bound_, same.lower_bound_)
    np.testing.assert_allclose(model.total_variance_, np.trace(S))
    assert model.lower_bound_[0] == pytest.approx(best_value(S, 3))
    assert (model.upper_bound_ >= model.lower_bound_).all()
    np.testing.assert_allclose(model.mean_, X.mean(axis=0) if center else np.zeros(12))
    for certificate in model.certificates_:
        outcome = verify(certificate, X, contrast=Y)
        assert outcome, outcome.reason
        assert "less 0.7 times that of the contrast" in outcome.reason


@pytest.mark.usefixtures("written_out")
def test_scaling_is_by_the_deviations_of_x():
    X, Y = tables()
    deviations = X.std(axis=0)
    # The difference of the covariances, scaled by the deviations of X: a table against itself leaves nothing.
    own = X.std(axis=0, ddof=1)
    S = (np.cov(X, rowvar=False) - 0.5 * np.cov(Y, rowvar=False)) / np.multiply.outer(own, own)
    model = SparsePCA(cardinality=3, scale=True).fit(X, contrast=(Y, 0.5))
    assert model.lower_bound_[0] == pytest.approx(best_value(S, 3))
    np.testing.assert_allclose(model.scale_, deviations)
    assert verify(model.certificates_[0], X, contrast=Y)
    np.testing.assert_allclose(model.transform(X), (X - X.mean(axis=0)) / deviations @ model.components_.T)


@pytest.mark.usefixtures("written_out")
def test_sparse_rows_and_weights():
    X, Y = tables()
    X, Y = np.where(np.abs(X - 5) > 2, X, 0), np.where(np.abs(Y + 2) > 2, Y, 0)
    dense = SparsePCA(cardinality=3).fit(X, contrast=(Y, 0.5))
    sparse = SparsePCA(cardinality=3).fit(sp.csr_array(X), contrast=(sp.csr_array(Y), 0.5))
    assert sparse.lower_bound_[0] == pytest.approx(dense.lower_bound_[0])
    assert verify(sparse.certificates_[0], sp.csr_array(X), contrast=Y)
    weights = np.arange(1.0, 10)
    model = SparsePCA(cardinality=3).fit(X, sample_weight=weights, contrast=(Y, 0.5))
    S = np.cov(X, rowvar=False, aweights=weights) - 0.5 * np.cov(Y, rowvar=False)
    assert model.lower_bound_[0] == pytest.approx(best_value(S, 3))
    assert verify(model.certificates_[0], X, sample_weight=weights, contrast=Y)


@pytest.mark.usefixtures("written_out")
def test_a_forged_certificate_is_rejected(tmp_path):
    X, Y = tables()
    model = SparsePCA(cardinality=3).fit(X, contrast=(Y, 0.5))
    certificate = Certificate.load(model.certificates_[0].save(tmp_path / "proof.json"))
    assert verify(certificate, X, contrast=Y)
    assert "give the background rows, too (contrast=Y)" in verify(certificate, X).reason
    assert "another contrast" in verify(certificate, X, contrast=Y + 1e-9).reason
    assert not verify(certificate, Y, contrast=X)
    assert not verify(replace(certificate, matrix=replace(certificate.matrix, contrast_weight=0.6)), X, contrast=Y)
    assert not verify(replace(certificate, matrix=replace(certificate.matrix, contrast_weight=-1.0)), X, contrast=Y)
    assert not verify(replace(certificate, upper=certificate.upper * 0.99), X, contrast=Y)
    plain = SparsePCA(cardinality=3).fit(X).certificates_[0]
    assert "without a contrast" in verify(plain, X, contrast=Y).reason


def test_a_feature_that_is_constant_in_x_is_not_selected():
    X, Y = tables()
    X[:, 4] = 1.0
    with pytest.warns(UserWarning, match=r"One column does not vary and will not be selected: 4\."):
        model = SparsePCA(cardinality=4).fit(X, contrast=(Y, 0.5))
    assert 4 not in model.supports_[0]


@pytest.mark.parametrize(
    ("contrast", "words"),
    [
        (np.ones((3, 12)), r"contrast must be a pair \(Y, g\)"),
        ((tables()[1],), r"contrast must be a pair \(Y, g\)"),
        ((tables()[1], 0.0), r"the weight 0.0; it must be a finite number above zero"),
        ((tables()[1], np.nan), r"the weight nan"),
        ((tables()[1], "1"), r"the weight '1'"),
        ((tables()[1][:, :5], 1.0), r"contrast has 5 columns and X has 12"),
        (
            (np.full((4, 12), np.nan), 1.0),
            r"contrast has 48 missing values .* at row 0, column 0; fill or drop them first",
        ),
        (("rows.csv", 1.0), r"contrast|No such file|rows\.csv"),
    ],
)
def test_one_clear_sentence(contrast, words):
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        SparsePCA(cardinality=3).fit(tables()[0], contrast=contrast)


def test_names_must_agree():
    X, Y = (pd.DataFrame(t, columns=list("abcdefghijkl")) for t in tables())
    assert SparsePCA(cardinality=2).fit(X, contrast=(Y, 0.5)).feature_names_in_[0] == "a"
    with pytest.raises(ValueError, match="other column names than X"):
        SparsePCA(cardinality=2).fit(X, contrast=(Y[list("bacdefghijkl")], 0.5))


def test_too_many_sparse_entries(monkeypatch):
    monkeypatch.setattr(laconic.covariance.contrast_of, "WRITE_OUT_COLUMNS", 3)
    monkeypatch.setattr(laconic.covariance.contrast_of, "MOST_ENTRIES", 10)
    X, Y = tables()
    with pytest.raises(ValueError, match="X is sparse with 9 rows and 12 columns, which a contrast would write out"):
        SparsePCA(cardinality=2).fit(sp.csr_array(X), contrast=(Y, 0.5))


def test_supports_of_the_truth_are_all_compared():
    """The test's own truth: the planted features are the best support."""
    X, Y = tables()
    S = np.cov(X, rowvar=False) - 3 * np.cov(Y, rowvar=False)
    best = max(combinations(range(12), 3), key=lambda T: np.linalg.eigvalsh(S[np.ix_(T, T)])[-1])
    assert SparsePCA(cardinality=3).fit(X, contrast=(Y, 3.0)).supports_[0].tolist() == list(best)


def test_a_correlation_matrix_as_rows_gets_a_warning():
    R = np.corrcoef(tables()[0], rowvar=False)
    np.fill_diagonal(R, 1.0)
    with pytest.warns(UserWarning, match="use fit_covariance"):
        SparsePCA(cardinality=2).fit(0.5 * (R + R.T))
    SparsePCA(cardinality=2).fit(np.eye(5)[:, :5])


def test_annotated_data_in_memory():
    anndata = pytest.importorskip("anndata")
    X, Y = tables()
    model = SparsePCA(cardinality=2).fit(anndata.AnnData(X), contrast=(anndata.AnnData(Y), 0.5))
    assert model.lower_bound_[0] == SparsePCA(cardinality=2).fit(X, contrast=(Y, 0.5)).lower_bound_[0]
    assert verify(model.certificates_[0], anndata.AnnData(X), contrast=anndata.AnnData(Y))


@pytest.mark.parametrize("other", [{"indefinite": "nearest"}, {"missing": "pairwise"}, {"weights": "0"}])
def test_a_certificate_about_a_matrix_made_from_the_one_given_is_not_about_it(other):
    rng = np.random.default_rng(0)
    covariance = ContrastCovariance(rng.standard_normal((3, 9)), rng.standard_normal((3, 9)))
    certificate = certify_support(covariance, [0, 1, 2])
    assert verify(certificate, covariance)
    assert not verify(replace(certificate, matrix=replace(certificate.matrix, **other)), covariance)


def test_the_difference_of_rows_is_never_replaced_by_the_nearest_matrix():
    rng = np.random.default_rng(0)
    X, Y = 2 * rng.standard_normal((9, 5)), rng.standard_normal((9, 5))
    certificate = SparsePCA(cardinality=3).fit(X, contrast=(Y, 2.0)).certificates_[0]
    assert verify(certificate, X, contrast=Y)
    nearest = replace(certificate, matrix=replace(certificate.matrix, indefinite="nearest"))
    assert "never replaced" in verify(nearest, X, contrast=Y).reason


def test_rounding_is_relative_to_the_two_tables():
    X = np.random.default_rng(0).standard_normal((12, 4))
    covariance, _ = laconic.covariance.contrast_of.contrast_of(X, X, 1.0, center=True, scale=False)
    assert covariance.rounding_unit == pytest.approx(X.var(axis=0, ddof=1).max())
    with pytest.raises(ValueError, match=r"rank of the covariance, 0|no component to find"):
        SparsePCA(cardinality=2).fit(X[[0, 1, 1, 0, 2]], contrast=(X[[2, 0, 1, 0, 1]], 1.0))
