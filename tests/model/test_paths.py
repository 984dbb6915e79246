"""Variance against cardinality, and against the penalty."""

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from helpers import assert_valid, best_value, path_of, random_psd
from laconic import Certificate, SparsePCA, path, verify
from laconic.bounds.names import SOLVERS
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.covariance.deflation import Deflation
from laconic.datasets import load_pitprops, load_senate109
from laconic.search import Exhaustive, TruncatedPower, VarianceSorting
from laconic.search.problem import Status

X = np.random.default_rng(0).standard_normal((40, 6)) @ np.random.default_rng(1).standard_normal((6, 6)) + 5
S = np.cov(X, rowvar=False)
PITPROPS = load_pitprops().covariance
VOTES = load_senate109().frame


@pytest.mark.parametrize("seed", range(4))
def test_best_value_at_every_cardinality(seed):
    matrix = random_psd(8, seed=seed)
    found = path_of(matrix)
    assert found.cardinalities.tolist() == list(range(1, 9))
    np.testing.assert_allclose(found.values, [best_value(matrix, k) for k in range(1, 9)], rtol=1e-10)
    assert (found.upper_bounds >= found.values).all()
    assert found.dense_variance == pytest.approx(np.linalg.eigvalsh(matrix)[-1])
    assert found.total_variance == pytest.approx(np.trace(matrix))
    assert found.shares[-1] == pytest.approx(1)
    for k, solution in enumerate(found.solutions, start=1):
        assert_valid(solution, matrix, k)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize(
    "method", [*(name for name in SOLVERS if name != "exhaustive"), TruncatedPower(max_iterations=2)]
)
def test_values_never_fall(method, nonnegative):
    n = 10 if nonnegative else 25
    matrix = random_psd(n, 30, 0)
    root = np.sqrt(matrix.diagonal())
    for table in (matrix, matrix / root / root[:, None]):
        found = path_of(table, n // 2, method=method, nonnegative=nonnegative)
        assert (np.diff(found.values) >= -1e-12 * found.values[1:]).all()
        for k, solution in enumerate(found.solutions, start=1):
            assert_valid(solution, table, k, nonnegative=nonnegative)


@dataclass(frozen=True)
class _ProvesSmallOnly:
    """Exact up to two features, poor above: as any solver that looks at every support while there are few."""

    name: ClassVar[str] = "proves-small-only"

    def solve(self, problem, *, start=None):  # noqa: ARG002 - the contract
        return (Exhaustive() if problem.cardinality <= 2 else VarianceSorting()).solve(problem)


def test_a_bound_proved_for_one_cardinality_is_not_claimed_for_another():
    matrix = np.eye(6)
    matrix[4, 5] = matrix[5, 4] = 0.9
    unproved = path_of(matrix, 4, method=_ProvesSmallOnly(), proof=None)
    assert unproved.values[2] == unproved.values[1]
    assert np.isinf(unproved.upper_bounds[2])
    matrix[3, 4] = matrix[4, 3] = matrix[3, 5] = matrix[5, 3] = 0.8
    found = path_of(matrix, 4, method=_ProvesSmallOnly())
    for k in range(1, 5):
        assert found.upper_bounds[k - 1] >= best_value(matrix, k)
    assert found.values[2] >= found.values[1]


def test_published_paths():
    """The pit props, and the paper's remark that 19 of 48 bills almost reach ordinary PCA."""
    printed = [1.0, 1.954, 2.475, 2.937, 3.406, 3.771, 3.996, 4.069, 4.139, 4.173, 4.208, 4.218, 4.219]
    np.testing.assert_allclose(path_of(PITPROPS).values, printed, atol=1e-3)
    found = path_of(VOTES, 20)
    assert found.shares[18] > 0.97
    assert found.shares[4] < 0.5
    assert set(found.names(5)) == {"S. 1932", "S.Con.Res. 83", "S. 3930", "S. 403", "S. 397"}


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame])
@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"center": False}])
def test_a_path_holds_what_fits_find(convert, settings):
    found = path_of(convert(X), 4, kind="rows", **settings)
    for k in range(1, 5):
        model = SparsePCA(cardinality=k, **settings).fit(X)
        assert found.values[k - 1] == pytest.approx(model.lower_bound_[0], rel=1e-9)


def test_a_covariance_in_place_of_rows():
    np.testing.assert_allclose(path_of(X, 4).values, path_of(S, 4).values, rtol=1e-9)
    correlation = path_of(S, 4, scale=True).values
    np.testing.assert_allclose(correlation, path_of(X, 4, scale=True).values, rtol=1e-9)
    A = np.random.default_rng(2).standard_normal((4, 30))
    np.testing.assert_allclose(path_of(FactorCovariance(A), 5).values, path_of(A.T @ A, 5).values, rtol=1e-9)
    with pytest.raises(ValueError, match=r"\(40, 6\); a covariance matrix is square"):
        path_of(X, 3, kind="covariance")
    with pytest.raises(ValueError, match="Rows X and covariance= are given; give one of them"):
        path(SparsePCA(), X, covariance=S)
    with pytest.raises(TypeError, match="X is None; give a table"):
        path(SparsePCA())


@pytest.mark.parametrize("sizes", [0, -1, 7, 2.5, "3", True])
def test_bad_sizes(sizes):
    with pytest.raises((ValueError, TypeError), match=r"sizes|int"):
        path_of(S, sizes)


def test_bad_input_gets_the_same_sentences():
    for data, settings, words in [
        (X[:1], {}, "X has 1 row"),
        (X, {"method": "simplex"}, "method='simplex' is not known"),
        (X, {"component": 0}, "component=0 must be an int of at least 1"),
        (S, {"forced_in": [9]}, "forced_in holds 9"),
        (S, {"forced_in": [0, 1, 2], "sizes": 2}, "features forced in, 3, to the number of features, 6"),
    ]:
        with pytest.raises(ValueError, match=words):
            path_of(data, **settings)


def test_table_of_the_path():
    names = ["one", "two", "three", "four", "five", "six"]
    found = path_of(pd.DataFrame(X, columns=names), 4)
    assert repr(found).startswith("Path(1 to 4 features, 4 of them optimal")
    table = found.to_frame()
    columns = ["cardinality", "value", "share", "total_share", "upper_bound", "gap", "verdict", "features"]
    assert table.columns.tolist() == columns
    np.testing.assert_allclose(table["share"], found.values / np.linalg.eigvalsh(S)[-1])
    np.testing.assert_allclose(table["total_share"], found.values / np.trace(S))
    for features, solution in zip(table["features"], found.solutions, strict=True):
        assert set(features) == {names[i] for i in solution.support}
        assert features[0] == names[solution.support[np.abs(solution.loadings).argmax()]]
    assert path_of(S, 2).names(1) == [str(int(S.diagonal().argmax()))]
    with pytest.raises(ValueError, match=r"cardinality=5 is not on the path, which goes from 1 to 4\."):
        found.names(5)


@pytest.mark.parametrize("proof", ["fast", "tight", "exact"])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("table", [pd.DataFrame(X, columns=list("abcdef")), sp.csr_array(X), S])
def test_every_bound_has_a_certificate_that_verifies_and_saves(table, scale, proof, tmp_path):
    found = path_of(table, 4, proof=proof, scale=scale)
    for k, (solution, certificate) in enumerate(zip(found.solutions, found.certificates, strict=True), start=1):
        assert certificate.cardinalities == (k,)
        assert certificate.upper == solution.upper
        assert certificate.support.tolist() == solution.support.tolist()
        assert verify(Certificate.load(certificate.save(tmp_path / f"{k}.json")), table)


@pytest.mark.parametrize("method", ["auto", "greedy", "dspca"])
@pytest.mark.parametrize("seed", range(2))
def test_bounds_of_every_effort_hold(method, seed):
    matrix = random_psd(9, seed=seed)
    truth = np.array([best_value(matrix, k) for k in range(1, 10)])
    paths = {effort: path_of(matrix, 9, proof=effort, method=method) for effort in ("fast", "tight", "exact", None)}
    for effort, found in paths.items():
        assert (found.upper_bounds >= truth * (1 - 1e-14)).all(), effort
        gaps = (found.upper_bounds - found.values) / found.values
        np.testing.assert_allclose(found.to_frame()["gap"], np.where(gaps <= 1e-6, 0, gaps), rtol=1e-9)
        for solution in found.solutions:
            assert (solution.status is Status.OPTIMAL) == solution.verdict.startswith("Optimal")
    assert (paths["tight"].upper_bounds <= paths["fast"].upper_bounds * (1 + 1e-6)).all()
    np.testing.assert_allclose(paths["exact"].upper_bounds, truth, rtol=1e-6)
    assert paths[None].certificates == [None] * 9


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("deflation", ["projection", "hotelling", "schur", "orthogonalized-projection"])
def test_path_of_a_later_component(seed, deflation):
    rows = np.random.default_rng(seed).standard_normal((30, 7)) @ np.random.default_rng(seed + 9).standard_normal(
        (7, 7)
    )
    settings = {"cardinality": [3, 2], "deflation": deflation, "method": "exhaustive"}
    model = SparsePCA(**settings).fit(rows)
    found = path_of(rows, kind="rows", component=3, **settings)
    left = Deflation(DenseCovariance(np.cov(rows.T)), deflation)
    for z in model.components_:
        left.remove(z)
    matrix = left.current.submatrix(np.arange(7))
    for k, (value, upper) in enumerate(zip(found.values, found.upper_bounds, strict=True), start=1):
        assert value == pytest.approx(best_value(matrix, k))
        assert upper >= best_value(matrix, k) * (1 - 1e-12)
    assert "after components 1 and 2" in found.solutions[2].verdict
    for certificate in found.certificates:
        assert verify(certificate, rows).accepted


@pytest.mark.parametrize("proof", ["fast", "tight", None])
def test_path_with_features_forced_in(proof):
    rows = np.random.default_rng(1).standard_normal((40, 8))
    C = np.cov(rows.T)
    found = path_of(rows, 5, kind="rows", forced_in=[1, 6], method="exhaustive", proof=proof)
    assert found.cardinalities.tolist() == [2, 3, 4, 5]
    for k, solution, upper in zip(found.cardinalities, found.solutions, found.upper_bounds, strict=True):
        supports = [(*extra, 1, 6) for extra in combinations([0, 2, 3, 4, 5, 7], int(k) - 2)]
        truth = max(np.linalg.eigvalsh(C[np.ix_(s, s)])[-1] for s in supports)
        assert solution.value == pytest.approx(truth)
        assert upper >= truth * (1 - 1e-12)
    for certificate in found.certificates:
        assert certificate is None or verify(certificate, rows).accepted
