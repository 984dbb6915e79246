"""Bad input gets one clear sentence, and nothing else happens."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from helpers import path_of
from laconic import SparsePCA, sparse_eigenvalues
from laconic.methods import Dspca
from laconic.search import Greedy

X = np.random.default_rng(0).standard_normal((20, 4))
S = np.cov(X, rowvar=False)
FRAME = pd.DataFrame(X, columns=list("abcd"))


def spoiled(*entries):
    bad = X.copy()
    for row, column, value in entries:
        bad[row, column] = value
    return bad


def fit(data, sample_weight=None, **settings):
    return SparsePCA(**settings), lambda model: model.fit(data, sample_weight=sample_weight)


def fit_covariance(matrix, feature_names=None, **settings):
    return SparsePCA(**settings), lambda model: model.fit_covariance(matrix, feature_names=feature_names)


NAN = spoiled((3, 2, np.nan))
INF = spoiled((5, 1, -np.inf), (3, 2, np.inf))
TEXT = FRAME.assign(e="x")

# name -> (what is done, words the sentence must hold: the argument, the value, the place)
SENTENCES = {
    "NaN": (fit(NAN), ["X ", "NaN", "row 3", "column 2"]),
    "NaN in a frame": (fit(pd.DataFrame(NAN, columns=list("abcd"))), ["X ", "NaN", "row 3", "column 'c'"]),
    "NaN in CSR": (fit(sp.csr_array(NAN)), ["X ", "NaN", "row 3", "column 2"]),
    "NaN in CSC": (fit(sp.csc_array(NAN)), ["X ", "NaN", "row 3", "column 2"]),
    "NaN in polars": (fit(pl.DataFrame(NAN, schema=list("abcd"))), ["X ", "NaN", "row 3", "column 'c'"]),
    "null in polars": (fit(pl.DataFrame({"a": [1.0, None, 2], "b": [1, 2, 4]})), ["X ", "NaN", "row 1", "column 'a'"]),
    "null in pyarrow": (fit(pa.table({"a": [1.0, None, 2], "b": [1, 2, 4]})), ["X ", "NaN", "row 1", "column 'a'"]),
    "NA in pandas": (
        fit(pd.DataFrame({"a": pd.array([1, None, 2], dtype="Int64"), "b": [1.0, 2, 4]})),
        ["X ", "NaN", "row 1", "column 'a'"],
    ),
    "infinite": (fit(INF), ["X ", "inf", "row 3", "column 2", "2 entries"]),
    "no rows": (fit(np.empty((0, 4))), ["X has no rows", "at least two"]),
    "one row": (fit(X[:1]), ["X has 1 row ", "at least two"]),
    "no columns": (fit(np.empty((5, 0))), ["0 feature(s)", "(5, 0)"]),
    "three axes": (fit(X[None]), ["dim 3"]),
    "cardinality 0": (fit(X, cardinality=0), ["cardinality", "0"]),
    "cardinality 5": (fit(X, cardinality=5), ["cardinality=5", "number of features, 4"]),
    "cardinality 2 of one feature": (fit(X[:, :1], cardinality=2), ["cardinality=2", "X has n_features=1."]),
    "cardinality 2.5": (fit(X, cardinality=2.5), ["cardinality", "2.5"]),
    "cardinality text": (fit(X, cardinality="2"), ["cardinality", "'2'"]),
    "cardinality of floats": (fit(X, cardinality=[2.0]), ["cardinality=[2.0]", "whole numbers"]),
    "too many cardinalities": (
        fit(X, n_components=1, cardinality=[1, 2]),
        ["cardinality=[1, 2] has 2", "n_components=1"],
    ),
    "no cardinality": (fit(X, cardinality=[]), ["cardinality=[] is empty"]),
    "a share and a number": (fit(X, cardinality=[0.9, 5]), ["cardinality=[0.9, 5]", "one share counts for all"]),
    "a number as a float": (fit(X, cardinality=5.0), ["cardinality=5.0", "such as 5", "share"]),
    "both": (fit(X, cardinality=2, method=Dspca(0.5)), ["cardinality=2", "penalty of 0.5"]),
    "filled by forced_in": (
        fit(X, n_components=2, cardinality=1, forced_in=[0]),
        ["Component 2", "forced_in leaves it no other feature", "a larger cardinality"],
    ),
    "share 0": (fit(X, cardinality=0.0), ["cardinality=0.0", "share"]),
    "unknown proof": (fit(X, proof="sloppy"), ["proof='sloppy'", "exact"]),
    "exact method": (fit(X, method="exact"), ["method='exact'", "proof='exact'"]),
    "n_components 0": (fit(X, n_components=0), ["n_components", "0"]),
    "n_components 5": (fit(X, n_components=5, cardinality=1), ["n_components=5", "number of features, 4"]),
    "more components than rank": (
        fit(np.random.default_rng(0).standard_normal((4, 10)), n_components=4, cardinality=2),
        ["n_components=4", "rank", "n_components=3"],
    ),
    "more components than rank of a covariance": (
        fit_covariance(X[:2].T @ X[:2], n_components=3, cardinality=2),
        ["n_components=3", "rank", "n_components=2"],
    ),
    "not square": (fit_covariance(X), ["S ", "(20, 4)", "square"]),
    "not symmetric": (fit_covariance(S + np.triu(np.ones((4, 4)), 1)), ["S ", "symmetric", "S[0, ", f"{S[1, 0]:.6g}"]),
    "NaN in S": (fit_covariance(np.array([[1, np.nan], [np.nan, 1.0]])), ["S ", "NaN", "row 0", "column 1"]),
    "text in S": (fit_covariance(np.array([["a", 2], [2, 1.0]], dtype=object)), ["S ", "object", "'a'"]),
    "complex S": (fit_covariance(S + 0j), ["S ", "complex128"]),
    "empty S": (fit_covariance(np.empty((0, 0))), ["S ", "empty"]),
    "vanishing S": (fit_covariance(np.zeros((2, 2))), ["S ", "varies"]),
    "too few names": (fit_covariance(S, feature_names=["a"]), ["feature_names", "1 names", "4 features"]),
    "a name twice": (fit_covariance(S, feature_names=list("abca")), ["feature_names", "'a'", "more than once"]),
    "a name twice in a frame": (fit(pd.DataFrame(X, columns=list("abca"))), ["X ", "'a'", "more than once"]),
    "a name twice in a frame S": (
        fit_covariance(pd.DataFrame(S, columns=list("abca"))),
        ["S ", "'a'", "more than once"],
    ),
    "text in objects": (
        fit(np.array([[1, 2], [2, "x"], [3, 4]], dtype=object)),
        ["X ", "object", "'x'", "row 1", "column 1"],
    ),
    "things in objects": (
        fit(np.array([[1, {}], [2, 3]], dtype=object)),
        ["X ", "object", "dict", "row 0", "column 1"],
    ),
    "text column": (fit(TEXT), ["X ", "'e'"]),
    "date column": (fit(FRAME.assign(e=pd.Timestamp("2020-01-01"))), ["X ", "'e'", "'2020-01-01"]),
    "text column in polars": (fit(pl.from_pandas(TEXT)), ["X ", "'e'", "'x'"]),
    "lazy frame": (fit(pl.from_pandas(FRAME).lazy()), ["X ", "LazyFrame", "collect()"]),
    "forced in more than k": (fit(X, cardinality=1, forced_in=[0, 1]), ["forced_in", "2 features", "cardinality=1"]),
    "forced unknown name": (fit(FRAME, forced_in=["z"]), ["forced_in", "'z'"]),
    "forced name without names": (fit(X, forced_in=["z"]), ["forced_in", "'z'", "no feature names"]),
    "forced place too large": (fit(X, forced_in=[4]), ["forced_in", "4", "0 to 3"]),
    "forced place negative": (fit(X, forced_in=[-1]), ["forced_in", "-1", "0 to 3"]),
    "forced by a mask": (fit(X, forced_in=[True, False, False, False]), ["forced_in", "True"]),
    "cardinality true": (fit(X, cardinality=True), ["cardinality=True", "whole number"]),
    "n_components true": (fit(X, n_components=True), ["n_components=True", "int"]),
    "forced in and disjoint": (
        fit(X, n_components=2, cardinality=2, joint="disjoint", forced_in=[1]),
        ["forced_in", "joint='disjoint'"],
    ),
    "forced in and constant": (
        fit(FRAME.assign(e=1.0), cardinality=2, forced_in=["e"]),
        ["forced_in", "'e'", "does not vary"],
    ),
    "disjoint without enough": (
        fit(X, n_components=2, cardinality=3, joint="disjoint"),
        ["joint='disjoint'", "6 features", "cardinality=3", "n_components=2", "4"],
    ),
    "nothing varies": (fit(np.ones((5, 3))), ["X ", "varies"]),
    "unknown method": (fit(X, method="simplex"), ["method", "'simplex'", "auto"]),
    "a class for a method": (fit(X, method=Greedy, cardinality=2), ["method", "Greedy"]),
    "unknown deflation": (fit(X, deflation="none"), ["deflation", "'none'", "projection"]),
    "no time": (fit(X, time_limit=0), ["time_limit", "0"]),
    "negative weights": (fit(X, -np.ones(20)), ["sample_weight", "egative"]),
    "no weights": (fit(X, np.zeros(20)), ["eight"]),  # refused by scikit-learn or, before its 1.7, by us
    "one row of weight": (fit(X, np.r_[1, np.zeros(19)]), ["sample_weight", "2 rows"]),
    "all but one row negligible": (fit(X, np.r_[1, np.full(19, 1e-20)]), ["sample_weight"]),
    "too few weights": (fit(X, np.ones(3)), ["sample_weight", "3 numbers for 20 rows"]),
    "overflow": (fit(1e200 * X), ["X ", "large"]),
    "large": (fit(1e80 * X), ["X has variances up to", "e+160", "1e-60 and 1e+60"]),
    "large covariance": (fit_covariance(1e150 * np.eye(3)), ["S has variances up to 1e+150"]),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_one_clear_sentence(name):
    (model, act), words = SENTENCES[name]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises((ValueError, TypeError)) as caught:
            act(model)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    spoken = [str(w.message) for w in heard if "not vary" not in str(w.message)]
    assert not spoken
    # nothing else happened: it is not fitted, and says so
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.transform(X)


@pytest.mark.parametrize("name", ["NaN", "cardinality 5", "not symmetric", "forced unknown name", "a name twice"])
def test_a_failed_fit_leaves_nothing_of_the_one_before(name):
    (model, act), _ = SENTENCES[name]
    model = (
        SparsePCA(cardinality=2).fit(np.random.default_rng(1).standard_normal((9, 6))).set_params(**model.get_params())
    )
    with pytest.raises(ValueError, match=r".+"):
        act(model)
    with pytest.raises(NotFittedError):
        model.transform(X)


def test_wrong_shape_after_the_fit():
    model = SparsePCA(cardinality=2).fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but SparsePCA is expecting 4"):
        model.transform(X[:, :2])
    with pytest.raises(ValueError, match=r"X has shape \(20, 4\); scores have 1 columns"):
        model.inverse_transform(X)
    with pytest.raises(ValueError, match="X has NaN at row 3, column 2"):
        model.transform(NAN)


SCORES = SparsePCA(2, cardinality=2).fit(X).transform(X)


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (np.where(SCORES[3, 1] == SCORES, np.nan, SCORES), "X has NaN at row 3, column 1; fill"),
        (np.where(SCORES[3, 1] == SCORES, np.inf, SCORES), r"X has an infinite entry \(inf\) at row 3, column 1; fill"),
        (sp.csr_array([[0, 1], [np.nan, 0]]), "X has NaN at row 1, column 0"),
        (pd.DataFrame({"p": [1.0, 2.0], "q": [None, 1.0]}), "X has NaN at row 0, column 'q'"),
        (pd.DataFrame({"p": [1.0, 2.0], "q": ["x", "y"]}), "X has a column that does not hold numbers: 'q'"),
        (sp.csr_array(X), r"X has shape \(20, 4\); scores have 2 columns"),
        (SCORES[0], r"X has shape \(2,\); scores have 2 columns"),
        (SCORES[None], r"X has shape \(1, 20, 2\); scores have 2 columns"),
        (SCORES + 1j, "Complex data not supported"),
    ],
)
def test_scores_that_make_no_sense(scores, words):
    with pytest.raises(ValueError, match=words):
        SparsePCA(2, cardinality=2).fit(X).inverse_transform(scores)


@pytest.mark.parametrize("convert", [sp.csr_array, sp.csc_matrix, sp.coo_array, pl.DataFrame, np.ndarray.tolist])
def test_scores_of_every_form(convert):
    model = SparsePCA(2, cardinality=2).fit(X)
    np.testing.assert_allclose(model.inverse_transform(convert(SCORES)), model.inverse_transform(SCORES), rtol=1e-12)
    assert model.inverse_transform(SCORES.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("level", [0.0, 1.0, 0.1, 1e9, -3.3e-7])
def test_constant_columns_warn_and_are_never_selected(convert, level):
    bad = np.insert(X, [0, 2], level, axis=1)  # the constant ones are 0 and 3
    with pytest.warns(UserWarning, match=r"2 columns do not vary and will not be selected: 0, 3\.") as caught:
        model = SparsePCA(2, cardinality=3).fit(convert(bad))
    assert len(caught) == 1
    assert (model.components_[:, [0, 3]] == 0).all()
    plain = SparsePCA(2, cardinality=3).fit(X)
    np.testing.assert_allclose(np.delete(model.components_, [0, 3], axis=1), plain.components_, atol=1e-8)


def test_constant_columns_are_named():
    with pytest.warns(UserWarning, match=r"One column does not vary and will not be selected: 'e'\."):
        SparsePCA(cardinality=2, scale=True).fit(FRAME.assign(e=2.0))
    with pytest.warns(UserWarning, match=r"One column does not vary"):
        SparsePCA(cardinality=1).fit_covariance(np.diag([1.0, 0.0, 2.0]))


@pytest.mark.filterwarnings("ignore:One column does not vary")
def test_fewer_features_than_asked_for_warn():
    with pytest.warns(UserWarning, match="cardinality=4 but only 3 features may be used"):
        model = SparsePCA(cardinality=4).fit(X * [0, 1, 1, 1])
    assert model.supports_[0].tolist() == [1, 2, 3]


def test_warnings_point_at_the_caller():
    with pytest.warns(UserWarning, match="not vary") as caught:
        SparsePCA(cardinality=2).fit(FRAME.assign(e=2.0))
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="not vary") as caught:
        SparsePCA(cardinality=1).fit_covariance(np.diag([1.0, 0.0, 2.0]))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("level", [1e-16, 1e-12, 1e-9])
def test_rounding_is_no_mistake(level):
    """Asymmetry and negative eigenvalues of the size of rounding are taken."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 6))
    singular = A.T @ A
    noise = level * rng.standard_normal((6, 6))
    assert np.linalg.eigvalsh(singular - level * np.eye(6))[0] < 0
    model = SparsePCA(2, cardinality=3).fit_covariance(singular - level * np.eye(6) + noise)
    clean = SparsePCA(2, cardinality=3).fit_covariance(singular)
    assert [s.tolist() for s in model.supports_] == [s.tolist() for s in clean.supports_]


def test_numbers_in_an_object_array_are_numbers():
    model = SparsePCA(cardinality=2).fit(X.astype(object))
    assert np.array_equal(model.components_, SparsePCA(cardinality=2).fit(X).components_)
    by_frame = SparsePCA(cardinality=2).fit(FRAME.astype(object))
    np.testing.assert_allclose(by_frame.components_, model.components_, atol=1e-12)


@pytest.mark.filterwarnings("ignore:2 columns do not vary")
def test_more_components_than_deflation_leaves():
    """Two features used up by one component each: a third finds nothing, and the sentence says how many there are."""
    with pytest.raises(ValueError, match="n_components="):
        SparsePCA(3, cardinality=1).fit(X * [1, 1, 0, 0])


def test_functions_refuse_what_squares_of_variances_lose():
    with pytest.raises(ValueError, match="S has variances up to 1e-150; rescale its columns"):
        path_of(1e-150 * np.eye(3))
    with pytest.raises(ValueError, match="F'F has variances up to"):
        sparse_eigenvalues(1e-160 * X, 2)
