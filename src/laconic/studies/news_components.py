"""Sparse components of the newsgroups: as the paper finds them, and by the 90 % rule with proofs.

The paper finds three components by DSPCA with a penalty, takes each out of the covariance, and keeps as many words as
explain 90 % of the variance of the dense component. It does not say how a component is taken out, nor whether loadings
are computed again on the words chosen. With Hotelling's deflation and loadings computed again the words come out in the
order in which the paper prints them, so this is what is done here.
"""

from dataclasses import dataclass

import numpy as np

from laconic.bounds.tree.search import BranchAndBound
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance
from laconic.covariance.deflation import Deflation
from laconic.methods.dspca import Dspca
from laconic.model.cardinality_path import CardinalityPath
from laconic.model.components import explained_variances
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.studies.text import row_level_bounds

# What a sparse component has to keep of the dense one's variance.
RULE = 0.9
COMPONENTS = 3
PAPERS_DEFLATION = "hotelling"


@dataclass(frozen=True, eq=False)
class Choice:
    """A component chosen on what the ones before left of the covariance.

    Attributes
    ----------
    solution
        The component.
    dense_variance
        The largest eigenvalue there: what its variance is a share of.
    """

    solution: Solution
    dense_variance: float

    @property
    def share(self) -> float:
        """The share of the dense component's variance that it keeps."""
        return self.solution.value / self.dense_variance


@dataclass(frozen=True, eq=False)
class RuleRun:
    """Three components by the 90 % rule, with one kind of deflation.

    Attributes
    ----------
    paths
        Variance against cardinality for each.
    choices
        The smallest that keep 90 %.
    fewer
        For each, what no support of one word fewer exceeds, as a share of the dense variance.
    lowest
        The smallest eigenvalue that the three leave, as a share of the largest there was.
    span
        The share of the total variance in the span of the three.
    """

    paths: list[CardinalityPath]
    choices: list[Choice]
    fewer: list[float]
    lowest: float
    span: float

    @property
    def cardinalities(self) -> list[int]:
        """How many words each has."""
        return [len(choice.solution.support) for choice in self.choices]


@dataclass(frozen=True, eq=False)
class PenaltyRun:
    """Three components by DSPCA with a penalty.

    Attributes
    ----------
    choices
        One for each of the paper's, of the same size.
    papers
        The shares of the dense variance that the paper's own words keep on the same matrices.
    tried
        For each, the number of words and the share of the dense variance at every penalty.
    span
        The share of the total variance in the span of the three.
    """

    choices: list[Choice]
    papers: list[float]
    tried: list[list[tuple[int, float]]]
    span: float


def by_penalty(covariance: Covariance, kind: str, papers: list[Indices], steps: int, monitor: Monitor) -> PenaltyRun:
    """Find components as large as the paper's by DSPCA with a range of penalties, as the paper does.

    Parameters
    ----------
    covariance
        S.
    kind
        Of deflation.
    papers
        The features of each component in the paper.
    steps
        Penalties tried before the one that gives the size is sought.
    monitor
        Stops in time.
    """
    left = Deflation(covariance, kind)
    penalties = np.geomspace(4e-3, 7e-2, steps) * float(covariance.diagonal.max())
    choices, shares, tried = [], [], []
    for support in papers:
        problem = Problem(left.current, covariance.n_features, monitor=monitor)
        dense = largest_eigenvalue_of(left.current)
        solutions = Dspca(tolerance=1e-5).penalized_path(problem, penalties)
        tried.append([(len(s.support), s.value / dense) for s in solutions])
        choices.append(Choice(_of_size(problem, solutions, penalties, len(support)), dense))
        shares.append(float(np.linalg.eigvalsh(left.current.submatrix(support))[-1]) / dense)
        left.remove(choices[-1].solution.vector(covariance.n_features))
    return PenaltyRun(choices, shares, tried, _span(covariance, choices))


def by_rule(covariance: Covariance, kind: str, last: int, monitor: Monitor, *, prove: bool) -> RuleRun:
    """Find the smallest components that keep 90 % of the dense variance.

    Parameters
    ----------
    covariance
        S.
    kind
        Of deflation.
    last
        The largest cardinality looked at.
    monitor
        Stops in time.
    prove
        Tighten the bound at each cardinality, and settle by branch and bound whether one word fewer would do.
    """
    left = Deflation(covariance, kind)
    paths, choices, fewer = [], [], []
    n = covariance.n_features
    for _ in range(COMPONENTS):
        current, dense = left.current, largest_eigenvalue_of(left.current)
        solutions = Dspca().path(Problem(current, last, monitor=monitor))
        if prove:
            bounds = row_level_bounds(current.submatrix(np.arange(n)), solutions, monitor)
            solutions = [s.estimated(b) for s, b in zip(solutions, bounds, strict=True)]
        k = next((k for k, s in enumerate(solutions, start=1) if s.value >= RULE * dense), last)
        if prove:
            for size in range(max(k - 1, 1), k + 1):
                solutions[size - 1] = _settled(current, solutions[size - 1], monitor)
        paths.append(CardinalityPath(np.arange(1, last + 1), solutions, dense, current.trace))
        choices.append(Choice(solutions[k - 1], dense))
        fewer.append(solutions[k - 2].upper / dense if k > 1 else 0.0)
        left.remove(solutions[k - 1].vector(n))
    lowest = float(np.linalg.eigvalsh(left.current.submatrix(np.arange(n)))[0])
    return RuleRun(paths, choices, fewer, lowest / largest_eigenvalue_of(covariance), _span(covariance, choices))


def largest_eigenvalue_of(covariance: Covariance) -> float:
    """Return the largest eigenvalue of a matrix that may be indefinite.

    Parameters
    ----------
    covariance
        Of few features.
    """
    return float(np.linalg.eigvalsh(covariance.submatrix(np.arange(covariance.n_features)))[-1])


def _of_size(problem: Problem, solutions: list[Solution], penalties: Floats, size: int) -> Solution:
    """Return the solution of the penalised form with so many features, the penalty bisected if need be."""
    place = max((i for i, s in enumerate(solutions) if len(s.support) >= size), default=0)
    best, low, high = solutions[place], penalties[place], penalties[min(place + 1, len(penalties) - 1)]
    for _ in range(20):
        if len(best.support) == size or problem.monitor.stopped is not None:
            break
        middle = float(np.sqrt(low * high))
        trial = Dspca(penalty=middle, tolerance=1e-6).solve(problem)
        if len(trial.support) >= size:
            low, best = middle, trial
        else:
            high = middle
    return best


def _settled(covariance: Covariance, found: Solution, monitor: Monitor) -> Solution:
    """Return a component with the bound of branch and bound: what the best of its size reaches."""
    problem = Problem(covariance, len(found.support), monitor=monitor)
    exact = BranchAndBound(node_limit=20_000).solve(problem, start=found.support)
    return found.estimated(exact.upper)


def _span(covariance: Covariance, choices: list[Choice]) -> float:
    components = np.array([choice.solution.vector(covariance.n_features) for choice in choices])
    return float(explained_variances(covariance, components)["span"].sum() / covariance.trace)
