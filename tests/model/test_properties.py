"""Laws that hold for every matrix (Hypothesis)."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from helpers import assert_valid, best_value, path_of, scale_of
from laconic import SparsePCA
from laconic.bounds.names import SOLVERS
from laconic.covariance import DenseCovariance
from laconic.search.problem import Problem, Status

METHODS = sorted({name for name in SOLVERS if not name.startswith("gpower")} - {"dspca", "exhaustive"})


@st.composite
def factors(draw, max_features=7):
    """A factor A of S = A'A: small whole numbers, so that ties, zeros and low rank are common, or any floats."""
    n = draw(st.integers(1, max_features))
    rows = draw(st.integers(1, 8))
    elements = draw(
        st.sampled_from(
            [
                st.integers(-3, 3).map(float),
                st.floats(-10, 10, allow_nan=False, width=32),
                st.sampled_from([0.0, 1.0, -1.0, 1e-6, 1e4]),
            ]
        )
    )
    A = draw(hnp.arrays(np.float64, (rows, n), elements=elements))
    assume(np.abs(A).max() > 1e-3)
    return A


def covariance(A):
    S = A.T @ A
    return 0.5 * (S + S.T)


def solve(method, S, k):
    return SOLVERS[method].solve(Problem(DenseCovariance(S), k))


@given(factors(8), st.data())
@settings(max_examples=150)
def test_lower_and_upper_enclose_the_truth(A, data):
    S = covariance(A)
    k = data.draw(st.integers(1, len(S)))
    method = data.draw(st.sampled_from([*METHODS, "exhaustive"]))
    solution = solve(method, S, k)
    best = best_value(S, k)
    assert_valid(solution, S, k)
    assert solution.value <= best + 1e-9 * scale_of(S)
    assert solution.upper >= best - 1e-14 * scale_of(S)
    if solution.status is Status.OPTIMAL:
        assert solution.value >= best - 1e-9 * scale_of(S)


@given(factors(), st.data())
def test_the_order_of_the_features_does_not_matter(A, data):
    """For an exact method the value is the same in any order."""
    S = covariance(A)
    n = len(S)
    k = data.draw(st.integers(1, n))
    order = np.array(data.draw(st.permutations(range(n))))
    first = solve("auto", S, k)
    second = solve("auto", S[np.ix_(order, order)], k)
    assert abs(first.value - second.value) <= 1e-9 * scale_of(S)


@given(factors(), st.data(), st.sampled_from(METHODS))
def test_the_signs_of_the_features_do_not_matter(A, data, method):
    """S -> DSD with D of signs: same support, same value, loadings with the signs of D up to one."""
    S = covariance(A)
    n = len(S)
    k = data.draw(st.integers(1, n))
    signs = np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    first, second = solve(method, S, k), solve(method, S * np.outer(signs, signs), k)
    assert abs(first.value - second.value) <= 1e-9 * scale_of(S)


@pytest.mark.filterwarnings("ignore:.*not vary")
@given(factors(8), st.sampled_from(METHODS))
def test_values_rise_with_the_cardinality(A, method):
    S = covariance(A)
    path = path_of(S, method=method, kind="covariance")
    assert (np.diff(path.values) >= -1e-9 * scale_of(S)).all()
    assert path.values[0] <= S.diagonal().max() + 1e-9 * scale_of(S)
    assert abs(path.values[-1] - np.linalg.eigvalsh(S)[-1]) <= 1e-9 * scale_of(S) * len(S)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(3, 12), st.integers(1, 6)), elements=st.integers(-4, 4).map(float)),
    st.booleans(),
    st.data(),
)
def test_a_fit_explains_no_more_than_there_is(X, scale, data):
    assume((X.std(axis=0) > 0).all())
    k = data.draw(st.integers(1, X.shape[1]))
    rank = np.linalg.matrix_rank(X - X.mean(axis=0))
    m = data.draw(st.integers(1, min(rank, 3)))
    model = SparsePCA(m, cardinality=k, scale=scale)
    try:
        model.fit(X)
    except ValueError as error:
        if "would explain nothing" in str(error):  # deflation may use up a covariance sooner than its rank says
            return
        raise
    assert (model.explained_variance_ >= 0).all()
    assert model.explained_variance_.sum() <= model.total_variance_ * (1 + 1e-9)
    table = model.summary()
    assert (table["qr_variance"] <= table["raw_variance"] * (1 + 1e-9) + 1e-12).all()
    assert np.allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert (np.count_nonzero(model.components_, axis=1) <= k).all()
    assert -1e-9 <= model.score(X) <= 1 + 1e-9
