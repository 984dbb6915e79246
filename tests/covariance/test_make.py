"""One function makes S of data: the same numbers give the same S in every container, and proofs hold in all."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from laconic import SparsePCA, verify
from laconic.covariance import DenseCovariance, FactorCovariance, Recipe, make, make_of_matrix
from laconic.covariance.make import correlation_of, is_semidefinite

NAMES = [f"gene {i}" for i in range(100)]


def table(n, p, far=0.0):
    """Numbers that single precision holds, many of them zero, with some correlated columns."""
    rng = np.random.default_rng(p)
    X = np.round(rng.gamma(1.0, 2.0, (n, p)), 2) * (rng.random((n, p)) < 0.4)
    X[:, :4] += X[:, 4:5]
    return (X + far).astype(np.float32).astype(np.float64)


def containers(X, folder):
    """The same table in everything that a user may give."""
    names = NAMES[: X.shape[1]]
    frame = pd.DataFrame(X, columns=names)
    found = {
        "array": X,
        "single precision": X.astype(np.float32),
        "frame": frame,
        "CSR": sp.csr_array(X),
        "CSC": sp.csc_array(X),
        "blocks": [X[:7], X[7:20], X[20:]],
        "sparse blocks": [sp.csr_array(X[:30]), sp.csr_array(X[30:])],
    }
    frame.to_csv(folder / "x.csv", index=False)
    found["CSV"] = folder / "x.csv"
    np.save(folder / "x.npy", X)
    found["memory map"] = np.load(folder / "x.npy", mmap_mode="r")
    anndata = pytest.importorskip("anndata")
    annotated = anndata.AnnData(sp.csr_matrix(X.astype(np.float32)), var=pd.DataFrame(index=names))
    annotated.write_h5ad(folder / "x.h5ad")
    found |= {"AnnData": annotated, "AnnData, dense": anndata.AnnData(X, var=annotated.var)}
    found["h5ad"] = folder / "x.h5ad"
    dask = pytest.importorskip("dask.array")
    found["Dask"] = dask.from_array(X, chunks=(13, X.shape[1]))
    return found


SHAPES = {"tall": (60, 12, 0.0), "wide": (40, 90, 0.0), "far from zero": (60, 12, 1000.0)}
SETTINGS = {
    "plain": {},
    "scaled": {"scale": True},
    "not centred": {"center": False},
    "scaled, not centred": {"scale": True, "center": False},
    "hotelling": {"deflation": "hotelling", "scale": True},
    "schur": {"deflation": "schur"},
}


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_certificate_made_from_one_container_is_accepted_on_every_other(shape, settings, tmp_path):
    given = containers(table(*SHAPES[shape]), tmp_path)
    firsts = given if settings in ("plain", "scaled") else ("array", "CSR", "blocks", "AnnData", "CSV")
    for first in firsts:
        data = given[first]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SparsePCA(cardinality=[3, 3], **SETTINGS[settings]).fit(data)
        for second, other in given.items():
            for certificate in model.certificates_:
                outcome = verify(certificate, other)
                assert outcome, f"{first}, then {second}: {outcome.reason}"


@pytest.mark.parametrize("settings", ["plain", "scaled", "not centred"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("whole", [False, True])
def test_weighted_rows_are_the_same_in_every_container(shape, settings, whole, tmp_path):
    X = table(*SHAPES[shape])
    given = containers(X, tmp_path)
    weights = np.random.default_rng(0).random(len(X)) + 0.5
    weights = np.floor(4 * weights) if whole else weights
    recipe = Recipe(weighted=True, **SETTINGS[settings])
    made = {name: make(data, recipe, weights=weights, quiet=True) for name, data in given.items()}
    assert len({one.digest() for one in made.values()}) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        certificate = SparsePCA(cardinality=3, **SETTINGS[settings]).fit(X, sample_weight=weights).certificates_[0]
    for name, data in given.items():
        outcome = verify(certificate, data, sample_weight=weights)
        assert outcome, f"{name}: {outcome.reason}"
    assert "other data" in verify(certificate, X, sample_weight=weights[::-1].copy()).reason


def test_many_sparse_columns_are_screened_and_the_proof_holds_in_full():
    """Of 2100 columns few are at hand after two passes. The dense copy is a factor with all of them."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, (150, 2100)) * np.linspace(3, 0.1, 2100)
    X[:, :5] += 3 * rng.poisson(2.0, (150, 1))
    sparse = sp.csr_array(X)
    assert make(sparse, Recipe(), features=5).covariance.at_hand is not None
    assert isinstance(make(X, Recipe(), features=5).covariance, FactorCovariance)
    for deflation in ("projection", "hotelling"):
        for data in (sparse, X, [X[:70], X[70:]]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = SparsePCA(2, cardinality=5, deflation=deflation).fit(data)
            for other in (sparse, X, [sparse[:70], sparse[70:]]):
                for certificate in model.certificates_:
                    outcome = verify(certificate, other)
                    assert outcome, outcome.reason


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_variance_of_scores_is_that_of_the_matrix(scale, weighted):
    """Weights of whole numbers are as good as rows repeated."""
    X = table(50, 6)
    weights = np.arange(50) % 3 + 1.0 if weighted else None
    made = make(X, Recipe(scale=scale), weights=weights)
    S = made.covariance.submatrix(np.arange(6))
    Z = (X - made.means) * made.scales
    np.testing.assert_allclose(
        np.cov(Z, rowvar=False, fweights=None if weights is None else weights.astype(int)), S, atol=1e-12
    )
    if scale:
        np.testing.assert_allclose(S.diagonal(), 1)
    repeated = make(np.repeat(X, np.arange(50) % 3 + 1, axis=0), Recipe(scale=scale)).covariance
    if weighted:
        np.testing.assert_allclose(repeated.submatrix(np.arange(6)), S, rtol=1e-9)


def test_what_is_made():
    X = pd.DataFrame(table(30, 5), columns=list("abcde"))
    made = make(X, Recipe(scale=True), needed=["c"])
    assert made.names == tuple("abcde")
    assert made.in_memory
    assert made.rows.shape == (30, 5)
    assert made.missing is None
    assert made.recipe == Recipe(scale=True)
    blocks = make([X[:10], X[10:]], Recipe(missing="em"))
    assert blocks.recipe.missing is None, "nothing is missing"
    assert not blocks.in_memory
    assert blocks.digest() == made.digest() != make(2 * X, Recipe()).digest()
    matrix = make_of_matrix(X.cov(), scale=True)
    assert matrix.recipe == Recipe("covariance", scale=True)
    np.testing.assert_allclose(matrix.covariance.matrix, X.corr(), atol=1e-14)
    assert not make_of_matrix(made.covariance.part(np.arange(3))).in_memory


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: make(X, Recipe(missing="mean")), "missing='mean' must be one of 'error', 'pairwise'"),
        (lambda X: make(X, Recipe("covariance")), "the data are rows"),
        (lambda X: make(X, Recipe(), names=["a"]), "feature_names has 1 names for 5"),
        (lambda X: make(pd.DataFrame(X, columns=list("abcde")), Recipe(), names=list("abcdf")), "feature_names differ"),
        (lambda X: make(X, Recipe(), weights=np.ones(3)), "3 numbers for 30 rows"),
        (lambda X: make(X, Recipe(), weights=-np.ones(30)), "negative, NaN or infinite"),
        (lambda X: make(X, Recipe(), weights=np.eye(30)[0]), "fewer than 2 rows"),
        (lambda X: make(X, Recipe(), weights=np.ones((30, 1))), "1D"),
        (lambda X: make(X, Recipe(), needed=[7]), "from 0 to 4"),
        (lambda X: make_of_matrix(FactorCovariance(X), scale=True), "used as it is"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call(table(30, 5))


def test_constant_columns_are_named_once():
    X = table(30, 5)
    X[:, 2] = 7
    for data in (X, [X[:9], X[9:]], sp.csr_array(X)):
        with pytest.warns(UserWarning, match="One column does not vary and will not be selected: 2") as told:
            made = make(data, Recipe(scale=True))
        assert len(told) == 1
        assert made.constant.tolist() == [False, False, True, False, False]
        assert not made.covariance.submatrix(np.arange(5))[2].any()


def test_correlations_of_a_covariance():
    rows = np.random.default_rng(0).standard_normal((40, 9)) * np.logspace(-3, 4, 9)
    S = np.cov(rows, rowvar=False)
    R, scales = correlation_of(S)
    np.testing.assert_allclose(R, np.corrcoef(rows, rowvar=False), atol=1e-14)
    np.testing.assert_allclose(scales * rows.std(axis=0, ddof=1), 1)
    S[2] = S[:, 2] = 0
    R, scales = correlation_of(S)
    assert scales[2] == 1
    assert not R[2].any()
    S[2, 8] = S[8, 2] = S[8, 8]
    with pytest.raises(ValueError, match="feature 2 has none"):
        correlation_of(S)


@pytest.mark.parametrize("level", [1e-9, 1e-7])
def test_rounding_is_never_mentioned(level):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_semidefinite(np.diag([1.0, 0.5, -level]), "S")


def test_an_indefinite_matrix_is_accepted_with_one_warning():
    words = "its largest eigenvalue is 2 and its smallest -0.5 .0.25 times as large.; it is used as it is"
    with pytest.warns(UserWarning, match=f"^S is not positive semidefinite: {words}") as told:
        made = make_of_matrix(np.diag([2.0, 1.0, -0.5]))
    assert len(told) == 1
    assert isinstance(made.covariance, DenseCovariance)
    assert not made.covariance.semidefinite
    assert not is_semidefinite(-np.eye(3))
    assert is_semidefinite(np.zeros((3, 3)))
