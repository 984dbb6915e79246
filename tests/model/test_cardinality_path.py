"""Variance against cardinality."""

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure

from helpers import assert_valid, best_nonnegative, best_value, random_psd
from laconic import CardinalityPath, Certificate, SparsePCA, cardinality_path, verify
from laconic.bounds.methods import SOLVERS
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.covariance.deflation import Deflation
from laconic.datasets import load_pitprops, load_senate109
from laconic.search import Exhaustive, TruncatedPower, VarianceSorting
from laconic.search.problem import Problem, Status

X = np.random.default_rng(0).standard_normal((40, 6)) @ np.random.default_rng(1).standard_normal((6, 6)) + 5
S = np.cov(X, rowvar=False)


@pytest.mark.parametrize("seed", range(4))
def test_best_value_at_every_cardinality(seed):
    matrix = random_psd(8, seed=seed)
    path = cardinality_path(matrix)
    assert path.cardinalities.tolist() == list(range(1, 9))
    np.testing.assert_allclose(path.values, [best_value(matrix, k) for k in range(1, 9)], rtol=1e-10)
    assert (path.upper_bounds >= path.values).all()
    assert path.dense_variance == pytest.approx(np.linalg.eigvalsh(matrix)[-1])
    assert path.total_variance == pytest.approx(np.trace(matrix))
    np.testing.assert_allclose(path.shares, path.values / path.dense_variance)
    assert path.shares[-1] == pytest.approx(1)
    for k, solution in enumerate(path.solutions, start=1):
        assert_valid(solution, matrix, k)


@pytest.mark.parametrize("seed", range(3))
def test_nonnegative(seed):
    matrix = random_psd(7, seed=seed)
    path = cardinality_path(matrix, 5, nonnegative=True)
    np.testing.assert_allclose(path.values, [best_nonnegative(matrix, k) for k in range(1, 6)], rtol=1e-8)
    # A proof of optimality is about loadings of either sign; everything else is about non-negative ones.
    for solution, verdict in zip(path.solutions, path.to_frame()["verdict"], strict=True):
        assert ("with non-negative loadings" in verdict) == (solution.status is not Status.OPTIMAL)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("method", [name for name in SOLVERS if name != "exhaustive"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_values_never_fall(method, nonnegative, seed):
    n = 10 if nonnegative else 25
    matrix = random_psd(n, 30, seed)
    root = np.sqrt(matrix.diagonal())
    for table in (matrix, matrix / root / root[:, None]):
        path = cardinality_path(table, n // 2, method=method, nonnegative=nonnegative)
        assert (np.diff(path.values) >= -1e-12 * path.values[1:]).all()
        for k, solution in enumerate(path.solutions, start=1):
            assert_valid(solution, table, k, nonnegative=nonnegative)


def test_values_never_fall_for_a_poor_method():
    """Short power runs from a start: each cardinality may find less than its neighbours know."""
    for seed in range(15):
        path = cardinality_path(random_psd(30, 15, seed), 15, method=TruncatedPower(max_iterations=2))
        assert (np.diff(path.values) >= -1e-12 * path.values[1:]).all()


@pytest.mark.parametrize("method", ["greedy", "approximate-greedy", "backward-greedy"])
def test_greedy_path_is_one_run(method):
    path = cardinality_path(S, method=method)
    for solution, expected in zip(path.solutions, SOLVERS[method].path(Problem(DenseCovariance(S), 6)), strict=True):
        assert solution.support.tolist() == expected.support.tolist()


@dataclass(frozen=True)
class _ProvesSmallOnly:
    """Exact up to two features, poor above: as any solver that looks at every support while there are few."""

    name: ClassVar[str] = "proves-small-only"

    def solve(self, problem, *, start=None):  # noqa: ARG002 - the contract
        return (Exhaustive() if problem.cardinality <= 2 else VarianceSorting()).solve(problem)


def test_a_bound_proved_for_one_cardinality_is_not_claimed_for_another():
    matrix = np.eye(6)
    matrix[4, 5] = matrix[5, 4] = 0.9
    matrix[3, 4] = matrix[4, 3] = matrix[3, 5] = matrix[5, 3] = 0.8
    path = cardinality_path(matrix, 4, method=_ProvesSmallOnly())
    for k in range(1, 5):
        assert path.upper_bounds[k - 1] >= best_value(matrix, k)
    assert path.values[2] >= path.values[1]


def test_pitprops():
    path = cardinality_path(load_pitprops().covariance)
    printed = [1.0, 1.954, 2.475, 2.937, 3.406, 3.771, 3.996, 4.069, 4.139, 4.173, 4.208, 4.218, 4.219]
    np.testing.assert_allclose(path.values, printed, atol=1e-3)


def test_nineteen_bills_of_the_senate():
    """The paper: with 19 of 48 bills sparse PCA almost reaches dense PCA."""
    path = cardinality_path(load_senate109().frame, 20)
    assert path.shares[18] > 0.97
    assert path.shares[4] < 0.5
    assert set(path.names(5)) == {"S. 1932", "S.Con.Res. 83", "S. 3930", "S. 403", "S. 397"}


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        sp.csr_array,
        sp.csc_array,
        sp.coo_array,
        pd.DataFrame,
        lambda data: pl.DataFrame(data, schema=list("abcdef")),
        lambda data: pl.DataFrame(data, schema=list("abcdef")).to_arrow(),
        lambda data: data.tolist(),
    ],
    ids=["numpy", "csr", "csc", "coo", "pandas", "polars", "pyarrow", "list"],
)
@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"center": False}])
def test_rows_of_every_kind(convert, settings):
    path = cardinality_path(convert(X), 4, **settings)
    for k in range(1, 5):
        model = SparsePCA(cardinality=k, **settings).fit(X)
        assert path.values[k - 1] == pytest.approx(model.lower_bound_[0], rel=1e-9)


def test_rows_and_covariance_are_told_apart():
    np.testing.assert_allclose(cardinality_path(X, 4).values, cardinality_path(S, 4).values, rtol=1e-9)
    correlation = cardinality_path(S, 4, scale=True).values
    np.testing.assert_allclose(correlation, cardinality_path(X, 4, scale=True).values, rtol=1e-9)
    # square rows that are not symmetric are rows; symmetric ones with a negative diagonal entry too
    square = X[:6]
    np.testing.assert_allclose(cardinality_path(square, 3).values, cardinality_path(np.cov(square.T), 3).values)
    symmetric = np.array([[-1.0, 2.0], [2.0, 5.0]])
    np.testing.assert_allclose(cardinality_path(symmetric, 2).values, cardinality_path(np.cov(symmetric.T), 2).values)
    # and the caller may say
    as_rows = cardinality_path(S, 3, given="rows").values
    np.testing.assert_allclose(as_rows, cardinality_path(np.cov(S, rowvar=False), 3).values, rtol=1e-9)
    with pytest.raises(ValueError, match=r"\(40, 6\); a covariance matrix is square"):
        cardinality_path(X, 3, given="covariance")
    with pytest.raises(ValueError, match="given='matrix' must be 'auto', 'rows' or 'covariance'"):
        cardinality_path(X, 3, given="matrix")


def test_rounding_does_not_turn_a_covariance_into_rows():
    matrix = np.diag([3.0, 2.0, 1.0])
    matrix[0, 1] = 1e-17
    np.testing.assert_allclose(cardinality_path(matrix, 2).values, [3, 3])
    np.testing.assert_allclose(cardinality_path(sp.csr_array(np.diag([3.0, 2.0, 1.0])), 2).values, [3, 3])


def test_a_covariance_object_is_taken_as_it_is():
    A = np.random.default_rng(2).standard_normal((4, 30))
    path = cardinality_path(FactorCovariance(A), 5)
    np.testing.assert_allclose(path.values, cardinality_path(A.T @ A, 5).values, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.float32, bool])
def test_sparse_counts_do_not_overflow(dtype):
    rng = np.random.default_rng(3)
    counts = (rng.random((200, 30)) < 0.1) * rng.integers(50, 120, (200, 30))
    counts = counts.astype(dtype)
    exact = cardinality_path(counts.astype(float), 5).values
    for convert in (np.asarray, sp.csr_array, sp.csc_array):
        np.testing.assert_allclose(cardinality_path(convert(counts), 5).values, exact, rtol=1e-6)


def test_repeated_entries_of_sparse_rows_are_summed():
    data, rows, columns = [1.0, 2, 3, 4, 5], [0, 0, 1, 2, 2], [1, 1, 0, 1, 1]
    twice = sp.coo_array((data, (rows, columns)), shape=(4, 2))
    indptr = np.array([0, 2, 3, 5, 5])
    unsorted = sp.csr_array((np.array(data), np.array(columns), indptr), shape=(4, 2))
    expected = cardinality_path(twice.toarray(), 2).values
    np.testing.assert_allclose(cardinality_path(twice, 2).values, expected)
    np.testing.assert_allclose(cardinality_path(unsorted, 2).values, expected)
    assert unsorted.nnz == 5  # the caller's matrix is as it was


def test_frames_that_the_estimator_takes():
    frame = pd.DataFrame(X[:, :3], columns=list("abc"))
    frame["d"] = frame["a"] > 5
    frame["e"] = pd.array(np.arange(40) % 7, dtype="Int64")
    path = cardinality_path(frame, 2)
    assert path.values[1] == pytest.approx(SparsePCA(cardinality=2).fit(frame).lower_bound_[0])


@pytest.mark.parametrize("K", [0, -1, 7, 2.5, "3", True])
def test_bad_max_cardinality(K):
    with pytest.raises(ValueError, match=rf"max_cardinality={K!r}.*6\.$"):
        cardinality_path(S, K)


def test_default_end_of_the_path():
    assert len(cardinality_path(S).solutions) == 6
    wide = cardinality_path(np.random.default_rng(4).standard_normal((5, 130)), method="approximate-greedy")
    assert len(wide.solutions) == 100


def test_bad_input_gets_the_same_sentences():
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="X has NaN at row 3, column 2"):
        cardinality_path(bad, 3)
    with pytest.raises(ValueError, match="X has 1 row"):
        cardinality_path(X[:1], 3)
    with pytest.raises(ValueError, match="feature_names has 1 names for 6 features"):
        cardinality_path(X, 3, feature_names=["a"])
    with pytest.raises(ValueError, match="no column that varies"):
        cardinality_path(np.ones((5, 3)), 2)
    with pytest.raises(ValueError, match="method='simplex' is not known"):
        cardinality_path(X, 3, method="simplex")
    with pytest.raises(FileNotFoundError, match="There is no file table"):
        cardinality_path("table.csv", 3)
    with pytest.raises(ValueError, match="'a' more than once"):
        cardinality_path(pd.DataFrame(X, columns=list("abcdea")), 3)
    with pytest.raises(ValueError, match="'a' more than once"):
        cardinality_path(X, 3, feature_names=list("abcdea"))
    with pytest.warns(UserWarning, match="largest eigenvalue is 3 and its smallest -1"):
        cardinality_path(np.array([[1.0, 2.0], [2.0, 1.0]]), 1)


def test_constant_columns_warn_and_are_never_selected():
    with pytest.warns(UserWarning, match="does not vary"):
        path = cardinality_path(np.insert(X, 2, 1.0, axis=1), 7)
    assert all(2 not in support for support in path.supports)


def test_table_of_the_path():
    names = ["one", "two", "three", "four", "five", "six"]
    path = cardinality_path(pd.DataFrame(X, columns=names), 4)
    assert isinstance(path, CardinalityPath)
    assert path.feature_names == names
    table = path.to_frame()
    assert table.columns.tolist() == [
        "cardinality",
        "value",
        "share",
        "total_share",
        "upper_bound",
        "gap",
        "verdict",
        "features",
    ]
    assert table["cardinality"].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(table["value"], path.values)
    np.testing.assert_allclose(table["share"], path.values / np.linalg.eigvalsh(S)[-1])
    np.testing.assert_allclose(table["total_share"], path.values / np.trace(S))
    assert table["verdict"].str.startswith("Optimal").all()
    for features, solution in zip(table["features"], path.solutions, strict=True):
        assert set(features) == {names[i] for i in solution.support}
        largest = solution.support[np.abs(solution.loadings).argmax()]
        assert features[0] == names[largest]


@pytest.mark.parametrize("proof", ["fast", "tight", "l1"])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("table", [pd.DataFrame(X, columns=list("abcdef")), sp.csr_array(X), S])
def test_every_bound_has_a_certificate_that_verifies_and_saves(table, scale, proof, tmp_path):
    path = cardinality_path(table, 4, proof=proof, scale=scale)
    for k, (solution, certificate) in enumerate(zip(path.solutions, path.certificates, strict=True), start=1):
        assert certificate.cardinality == k
        assert certificate.upper == solution.upper
        assert certificate.support.tolist() == solution.support.tolist()
        again = Certificate.load(certificate.save(tmp_path / f"{k}.json"))
        assert verify(again, table)


def test_without_a_proof_there_is_no_certificate():
    path = cardinality_path(S, 4, method="greedy", proof=None)
    assert path.certificates == [None] * 4
    assert np.isinf(path.upper_bounds).all()
    # A bound that the method itself gives is proved all the same.
    own = cardinality_path(S, 4, method="exhaustive", proof=None)
    assert [s.status for s in own.solutions] == [Status.OPTIMAL] * 4


def test_a_smaller_support_that_does_better_keeps_the_estimate_of_its_own_cardinality():
    matrix = np.eye(6)
    matrix[4, 5] = matrix[5, 4] = 0.9
    path = cardinality_path(matrix, 4, method=_ProvesSmallOnly(), proof=None)
    assert path.values[2] == path.values[1]
    assert np.isinf(path.upper_bounds[2])


def test_names_of_a_cardinality_beyond_the_path():
    with pytest.raises(ValueError, match=r"cardinality=3 is not on the path, which goes from 1 to 2\."):
        cardinality_path(S, 2).names(3)


def test_names_given_and_missing():
    assert cardinality_path(S, 2, feature_names=list("uvwxyz")).names(1) == ["uvwxyz"[int(S.diagonal().argmax())]]
    assert cardinality_path(S, 2).names(1) == [str(int(S.diagonal().argmax()))]
    frame = pd.DataFrame(S, columns=list("uvwxyz"), index=list("uvwxyz"))
    assert cardinality_path(frame, 2).names(1) == ["uvwxyz"[int(S.diagonal().argmax())]]


def test_plot_is_drawn_on_the_axes_given():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    path = cardinality_path(S, 5)
    assert path.plot(ax).ax_ is ax
    drawn = [line for line in ax.get_lines() if len(line.get_xdata()) == 5]
    assert drawn
    y = np.asarray(drawn[0].get_ydata(), dtype=float)
    assert np.allclose(y, path.shares) or np.allclose(y, 100 * path.shares)
    plt.close(figure)
    assert path.plot().ax_ is not ax
    plt.close("all")


@pytest.mark.parametrize("method", ["auto", "greedy", "exact"])
@pytest.mark.parametrize("seed", range(2))
def test_bounds_of_every_effort_hold(method, seed):
    S = random_psd(9, seed=seed)
    truth = np.array([best_value(S, k) for k in range(1, 10)])
    paths = {effort: cardinality_path(S, proof=effort, method=method) for effort in ("fast", "tight", "l1", None)}
    for effort, found in paths.items():
        assert (found.upper_bounds >= truth * (1 - 1e-14)).all(), effort
        gaps = (found.upper_bounds - found.values) / found.values
        np.testing.assert_allclose(found.to_frame()["gap"], np.where(gaps <= 1e-6, 0, gaps), rtol=1e-9)
        for solution in found.solutions:
            assert (solution.status is Status.OPTIMAL) == solution.verdict.startswith("Optimal")
            if solution.status is Status.OPTIMAL:
                assert solution.gap <= 2e-6
    # A bound that proves a support optimal is not improved any further.
    assert (paths["tight"].upper_bounds <= paths["fast"].upper_bounds * (1 + 1e-6)).all()
    if method == "exact":
        for found in paths.values():
            np.testing.assert_allclose(found.values, truth, rtol=1e-7)
            assert all(s.status is Status.OPTIMAL for s in found.solutions)
    with pytest.raises(ValueError, match="proof='loose' must be"):
        cardinality_path(S, proof="loose")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("deflation", ["projection", "hotelling", "schur", "orthogonalized-projection"])
def test_path_of_a_later_component(seed, deflation):
    X = np.random.default_rng(seed).standard_normal((30, 7)) @ np.random.default_rng(seed + 9).standard_normal((7, 7))
    model = SparsePCA(cardinality=[3, 2], deflation=deflation).fit(X)
    path = cardinality_path(X, given="rows", earlier=model, deflation=deflation, method="exhaustive")
    next_one = SparsePCA(cardinality=[3, 2, 4], deflation=deflation, method="exhaustive").fit(X)
    if np.array_equal(next_one.components_[:2], model.components_):
        assert path.values[3] == pytest.approx(next_one.lower_bound_[2])
    left = Deflation(DenseCovariance(np.cov(X.T)), deflation)
    for z in model.components_:
        left.remove(z)
    matrix = left.current.submatrix(np.arange(7))
    for k, (value, upper) in enumerate(zip(path.values, path.upper_bounds, strict=True), start=1):
        assert value == pytest.approx(best_value(matrix, k))
        assert upper >= best_value(matrix, k) * (1 - 1e-12)
    assert "after components 1 and 2" in path.solutions[2].verdict
    for certificate in path.certificates:
        assert verify(certificate, X).accepted


def test_earlier_components_may_be_given_as_rows():
    X = np.random.default_rng(0).standard_normal((30, 6))
    z = SparsePCA(cardinality=2).fit(X).components_
    first, second = (cardinality_path(X, 3, given="rows", earlier=e) for e in (z, 5 * z[0]))
    assert first.values == pytest.approx(second.values)


def test_path_with_features_forced_in():
    X = np.random.default_rng(1).standard_normal((40, 8))
    C = np.cov(X.T)
    path = cardinality_path(X, 5, given="rows", forced_in=[1, 6], method="exhaustive")
    assert path.cardinalities.tolist() == [2, 3, 4, 5]
    for k, solution, upper in zip(path.cardinalities, path.solutions, path.upper_bounds, strict=True):
        supports = [(*extra, 1, 6) for extra in combinations([0, 2, 3, 4, 5, 7], int(k) - 2)]
        truth = max(np.linalg.eigvalsh(C[np.ix_(s, s)])[-1] for s in supports)
        assert solution.value == pytest.approx(truth)
        assert upper >= truth * (1 - 1e-12)
    assert len(path.names(2)) == 2
    assert repr(path).startswith("CardinalityPath(cardinality 2 to 5")
    for certificate in path.certificates:
        assert verify(certificate, X).accepted
    with pytest.raises(ValueError, match="goes from 2 to 5"):
        path.names(1)


@pytest.mark.parametrize("proof", ["l1", "tight", None])
def test_forced_features_with_every_proof(proof):
    X = np.random.default_rng(2).standard_normal((40, 7))
    path = cardinality_path(X, 4, given="rows", forced_in=[3], proof=proof)
    assert all(3 in support for support in path.supports)
    assert (path.upper_bounds >= path.values * (1 - 1e-12)).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"earlier": np.zeros((1, 6))}, "earlier must be"),
        ({"earlier": np.ones((1, 5))}, "components of 5 features, and the data have 6"),
        ({"earlier": np.eye(6)}, "leave no variance"),
        ({"deflation": "other", "earlier": np.eye(6)[:1]}, "deflation='other'"),
        ({"forced_in": [9]}, "forced_in holds 9"),
        ({"forced_in": [0, 1, 2], "max_cardinality": 2}, "features forced in, 3, to the number of features, 6"),
    ],
)
def test_later_paths_refuse_in_one_sentence(settings, words):
    with pytest.raises(ValueError, match=words):
        cardinality_path(S, **settings)


def test_suggested_number_is_at_the_bend():
    block = np.eye(9)
    block[:4, :4] += 4.0
    path = cardinality_path(block, proof=None)
    assert path.suggested == 4
    legend = path.plot(Figure()).ax_.get_legend()
    assert "suggested: 4 features" in [text.get_text() for text in legend.get_texts()]
    assert cardinality_path(block, 2, proof=None).suggested is None
