"""The fast bound: true on every road, stronger than eigenvalues and row sums, and a guide for the search."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from laconic.bounds.fast import fast_estimates
from laconic.bounds.least import bound_support
from laconic.proof.witness_reduction import EliminationWitness

from helpers import best_value
from laconic import SparsePCA, verify
from laconic.core.arrays import PROVED
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.covariance.deflation import Deflation
from laconic.datasets import spiked_rows
from laconic.proof import prove, proved_upper
from laconic.relaxations.elementary import elementary_bound
from laconic.search import Auto
from laconic.search.problem import Problem, Status
from laconic.search.support import finish


def groups(m=200, n=60, seed=0):
    """Rows of features in groups of six that overlap: standardised, with many supports of nearly the same value."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((m, n // 5 + 1))
    X = common[:, np.arange(n) // 5] + common[:, (np.arange(n) + 2) // 5] + 1.2 * rng.standard_normal((m, n))
    X -= X.mean(axis=0)
    return X / np.linalg.norm(X, axis=0)


def poor(problem, seed):
    """A random support, as if the search had failed."""
    n, k = problem.n_features, problem.cardinality
    return finish(problem, np.sort(np.random.default_rng(seed).choice(n, k, replace=False)), Status.LOCAL, method="")


# Limits that lead small problems along the roads of large ones.
ROADS = {
    "all at once": {},
    "many features": {"MOST_WRITTEN_OUT": 3},
    "a core": {"MOST_WRITTEN_OUT": 3, "CORE": 6},
    "no exhaustive search": {"FEW_SUPPORTS": 0},
    "a core, nothing else": {"MOST_WRITTEN_OUT": 3, "CORE": 6, "FEW_SUPPORTS": 0, "WEAK": np.inf},
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("kind", ["dense", "factor", "deflated", "deflated factor"])
def test_no_proved_bound_is_below_the_truth(road, kind, monkeypatch):
    for name, limit in ROADS[road].items():
        monkeypatch.setattr(f"laconic.bounds.fast.{name}", limit)
    monkeypatch.setattr("laconic.relaxations.row_steps.KEEP_ALL", 5)
    for seed in range(3):
        A = np.random.default_rng(seed).standard_normal((7, 10)) * np.linspace(2, 0.5, 10)
        covariance = FactorCovariance(A) if "factor" in kind else DenseCovariance(A.T @ A)
        if "deflated" in kind:
            covariance = Deflation(covariance, "projection").remove(np.r_[0.6, 0.8, np.zeros(8)])
        S = covariance.submatrix(np.arange(10))
        for k in (2, 4, 7):
            problem = Problem(covariance, k)
            for solution in (Auto().solve(problem), poor(problem, seed)):
                bound = bound_support(problem, replace(solution, estimate=np.inf, witness=None), "fast")
                truth = best_value(S, k)
                assert truth * (1 - 1e-13) <= bound.value == proved_upper(covariance, k, bound.witness)
                for estimate in fast_estimates(problem, solution):
                    if np.isfinite(estimate.value):
                        assert prove(covariance, k, estimate.witness, kind=estimate.kind).value >= truth * (1 - 1e-13)


@pytest.mark.parametrize("k", [4, 8, 15])
def test_it_is_much_lower_than_eigenvalues_and_row_sums(k):
    X = groups()
    problem = Problem(DenseCovariance(X.T @ X), k)
    solution = Auto().solve(problem)
    gap = bound_support(problem, solution, "fast").value / solution.value - 1
    assert 0 <= gap < 0.1
    assert gap < 0.3 * (elementary_bound(problem.covariance, k).value / solution.value - 1)


@pytest.mark.parametrize("n", [300, 700])
def test_elimination_leaves_few_supports(n):
    """A group of twelve strong features decides. The witness shows why the others are of no use."""
    rng = np.random.default_rng(0)
    A = 0.3 * rng.standard_normal((400, n))
    A[:, :12] += rng.standard_normal((400, 1)) * np.linspace(1.5, 1, 12) + 0.5 * rng.standard_normal((400, 12))
    covariance = DenseCovariance(np.cov(A.T))
    problem = Problem(covariance, 6)
    solution = Auto().solve(problem)
    bound = bound_support(problem, solution, "fast")
    assert bound.value <= solution.value * (1 + PROVED)
    assert bound.kind in ("exhaustive", "Proposition 2")
    assert n < 400 or isinstance(bound.witness, EliminationWitness)


@pytest.mark.parametrize("seed", range(2))
def test_wide_standardised_rows(seed):
    """38 rows of thousands of features: S is not written out, and the gate looks at every entry once."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((38, 2500))
    X[:, 100:400] += 1.5 * rng.standard_normal((38, 1))
    X[:, 2000:2010] += 4 * rng.standard_normal((38, 1))
    model = SparsePCA(cardinality=8, scale=True).fit(X)
    assert model.certificates_[0].kind == "row levels"
    assert model.gap_[0] < 0.05
    assert verify(model.certificates_[0], X)


@dataclass(frozen=True)
class Noted(Auto):
    """Auto that counts its whole searches."""

    searches: ClassVar[list] = []

    def solve(self, problem, *, start=None):
        self.searches.append(start)
        return super().solve(problem, start=start)


def test_a_proved_first_support_ends_the_search():
    Noted.searches.clear()
    rows = spiked_rows(300, 150, 8, signal=5.0, random_state=0)
    model = SparsePCA(cardinality=8, method=Noted()).fit(rows.data)
    assert not Noted.searches
    assert model.verdicts_[0].startswith("Optimal")
    assert "few directions" in model._each[0].note
    assert verify(model.certificates_[0], rows.data)
    assert SparsePCA(cardinality=8, method=Noted(), proof=None).fit(rows.data).certificates_ == [None]
    assert len(Noted.searches) == 1


@pytest.mark.parametrize("settings", [{}, {"nonnegative": True}, {"forced_in": [3, 7]}, {"joint": "disjoint"}])
def test_a_gap_leads_to_the_whole_search(settings):
    """It starts from the first support, and the result is no worse than without a bound."""
    Noted.searches.clear()
    X = np.random.default_rng(0).standard_normal((60, 120))
    guided = SparsePCA(2, cardinality=6, method=Noted(), **settings).fit(X)
    assert [start is not None for start in Noted.searches] == [True, True]
    plain = SparsePCA(2, cardinality=6, proof=None, **settings).fit(X)
    assert guided.lower_bound_[0] >= plain.lower_bound_[0] * (1 - 1e-12)
    assert np.isfinite(guided.upper_bound_).all()
    assert all(verify(certificate, X) for certificate in guided.certificates_)
