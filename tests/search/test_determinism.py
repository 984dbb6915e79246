"""Same input, same bits; another number of threads, the same supports; equals are settled by order, not by rounding."""

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from helpers import SOLVER_TABLE, random_psd
from laconic import SparsePCA
from laconic.bounds.names import SOLVERS
from laconic.covariance import DenseCovariance
from laconic.search.problem import Problem


def duplicated(rows, base, copies, seed):
    """Every column several times, shuffled: nothing but rounding tells the copies apart."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, base)) + np.outer(rng.standard_normal(rows), rng.standard_normal(base))
    return np.ascontiguousarray(np.repeat(A, copies, axis=1)[:, rng.permutation(base * copies)])


INPUTS = {
    "dense": lambda: random_psd(60, 80, 1),
    "wide": lambda: np.random.default_rng(2).standard_normal((50, 450)),
    "wide-duplicated": lambda: duplicated(50, 300, 2, 3),
    "tall-duplicated": lambda: duplicated(200, 30, 3, 4),
    "sparse": lambda: sp.random(200, 600, 0.05, format="csr", random_state=5),
}


@pytest.mark.parametrize("name", [name for name in SOLVER_TABLE if name != "exhaustive"])
def test_same_bits_twice(name):
    S = random_psd(40, 60, 3)
    first, second = (SOLVER_TABLE[name].solve(Problem(DenseCovariance(S), 6)) for _ in range(2))
    assert np.array_equal(first.support, second.support)
    assert np.array_equal(first.loadings, second.loadings)
    assert first.value == second.value


@pytest.mark.parametrize("name", INPUTS)
def test_same_supports_at_any_number_of_threads(name):
    X = INPUTS[name]()
    supports = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            model = SparsePCA(2, cardinality=[8, 3]).fit(X)
        supports.append([s.tolist() for s in model.supports_])
    assert supports[0] == supports[1]


@pytest.mark.parametrize("method", [name for name in SOLVERS if name != "exhaustive"])
@pytest.mark.parametrize("seed", range(2))
def test_of_duplicated_columns_the_first_are_taken(method, seed):
    """With four copies of three columns a support of two takes copies of one column, and the first of them."""
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((50, 3)) * [1.0, 3.0, 2.0]
    column = rng.permutation(np.repeat(np.arange(3), 4))
    S = np.cov(base[:, column], rowvar=False)
    S = 0.5 * (S + S.T)
    solution = SOLVERS[method].solve(Problem(DenseCovariance(S), 2))
    assert solution.support.tolist() == np.flatnonzero(column == 1)[:2].tolist()


@pytest.mark.parametrize("method", [name for name in SOLVERS if name not in {"exhaustive", "dspca"}])
@pytest.mark.parametrize("seed", range(2))
def test_rounding_does_not_choose_between_equals(method, seed):
    """Equicorrelated but for the last bit of each entry: every support of four is as good, and the first is taken."""
    noise = np.triu(np.random.default_rng(seed).integers(-2, 3, (12, 12)), 1) * 1e-16
    S = 0.5 * np.eye(12) + 0.5 + noise + noise.T
    solution = SOLVERS[method].solve(Problem(DenseCovariance(S), 4))
    assert solution.support.tolist() == [0, 1, 2, 3]
