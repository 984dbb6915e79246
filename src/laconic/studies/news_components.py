"""Sparse components of the newsgroups: as in the paper, and by the 90 % rule with proofs.

The paper finds three components by DSPCA with a penalty. Each has as many words as explain 90 % of the variance of the
dense component. The paper does not say which deflation it uses, nor whether it computes the loadings again on the words
chosen. With Hotelling's deflation and new loadings we find the words in the paper's order, so this study uses both.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from laconic.bounds.dspca import Dspca
from laconic.bounds.exact import BranchAndBound
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance
from laconic.covariance.deflation import Deflation
from laconic.model.cardinality_path import CardinalityPath
from laconic.model.explained_variance import explained_variances
from laconic.search.problem import Problem, Solution
from laconic.studies.proofs import proved_by, proved_by_tree, row_level_estimates

# The paper's rule: a sparse component keeps at least this share of the dense component's variance.
RULE = 0.9
COMPONENTS = 3
PAPERS_DEFLATION = "hotelling"


@dataclass(frozen=True, eq=False)
class Choice:
    """A component of the covariance that the earlier components left.

    Attributes
    ----------
    solution
        The component.
    dense_variance
        The largest eigenvalue of the same covariance.
    """

    solution: Solution
    dense_variance: float

    @property
    def share(self) -> float:
        """The share of the dense component's variance that the component keeps."""
        return self.solution.value / self.dense_variance


@dataclass(frozen=True, eq=False)
class RuleRun:
    """Three components by the 90 % rule, with one kind of deflation.

    Attributes
    ----------
    paths
        Variance against cardinality for each component.
    choices
        The components with the fewest words that keep 90 %.
    fewer
        For each component, an upper bound for one word fewer, as a share of the dense variance.
    lowest
        The smallest eigenvalue after the three deflations, as a share of the largest before them.
    span
        The share of the total variance in the span of the three components.
    """

    paths: list[CardinalityPath]
    choices: list[Choice]
    fewer: list[float]
    lowest: float
    span: float

    @property
    def cardinalities(self) -> list[int]:
        """The number of words in each component."""
        return [len(choice.solution.support) for choice in self.choices]


@dataclass(frozen=True, eq=False)
class PenaltyRun:
    """Three components by DSPCA with a penalty.

    Attributes
    ----------
    choices
        The components, each with as many words as the paper's.
    papers
        The shares of the dense variance that the paper's words keep on the same matrices.
    tried
        For each component, the number of words and the share of the dense variance at every penalty.
    span
        The share of the total variance in the span of the three components.
    """

    choices: list[Choice]
    papers: list[float]
    tried: list[list[tuple[int, float]]]
    span: float


def components_by_penalty(
    covariance: Covariance, kind: str, papers: list[Indices], steps: int, monitor: Monitor
) -> PenaltyRun:
    """Find components with the paper's numbers of words by DSPCA with a range of penalties, as the paper does.

    Parameters
    ----------
    covariance
        The covariance of the words.
    kind
        The kind of deflation, one of `DEFLATIONS`.
    papers
        The features of each component in the paper.
    steps
        How many penalties are tried before the bisection for the right number of words.
    monitor
        Stops at the time limit.
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


def components_by_rule(
    covariance: Covariance, kind: str, last: int, monitor: Monitor, *, proof: Literal["fast", "tight"] | None
) -> RuleRun:
    """Find the components with the fewest words that keep 90 % of the dense variance.

    Parameters
    ----------
    covariance
        The covariance of the words.
    kind
        The kind of deflation, one of `DEFLATIONS`.
    last
        The largest cardinality to try.
    monitor
        Stops at the time limit.
    proof
        "fast" for a bound by row levels at each cardinality. "tight" for branch and bound, too, which decides whether
        one word fewer is enough. None for no bounds.
    """
    left = Deflation(covariance, kind)
    paths, choices, fewer = [], [], []
    n = covariance.n_features
    for _ in range(COMPONENTS):
        current, dense = left.current, largest_eigenvalue_of(left.current)
        solutions = Dspca().path(Problem(current, last, monitor=monitor))
        if proof is not None:
            estimates = row_level_estimates(current.submatrix(np.arange(n)), solutions, monitor)
            solutions = [proved_by(current, s, e) for s, e in zip(solutions, estimates, strict=True)]
        k = next((k for k, s in enumerate(solutions, start=1) if s.value >= RULE * dense), last)
        if proof == "tight":
            for size in range(max(k - 1, 1), k + 1):
                solutions[size - 1] = _with_tree_bound(current, solutions[size - 1], monitor)
        paths.append(
            CardinalityPath(
                cardinalities=np.arange(1, last + 1),
                solutions=solutions,
                dense_variance=dense,
                total_variance=current.trace,
            )
        )
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
        A covariance of few features: all its eigenvalues are computed.
    """
    return float(np.linalg.eigvalsh(covariance.submatrix(np.arange(covariance.n_features)))[-1])


def _of_size(problem: Problem, solutions: list[Solution], penalties: Floats, size: int) -> Solution:
    """Return a solution of the penalised form with the requested number of features. Bisect the penalty to find it."""
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


def _with_tree_bound(covariance: Covariance, found: Solution, monitor: Monitor) -> Solution:
    """Return a component with the upper bound of branch and bound."""
    problem = Problem(covariance, len(found.support), monitor=monitor)
    exact = BranchAndBound(node_limit=20_000).solve(problem, start=found.support)
    return proved_by_tree(problem, found, exact)


def _span(covariance: Covariance, choices: list[Choice]) -> float:
    """Return the share of the total variance in the span of the components."""
    components = np.array([choice.solution.vector(covariance.n_features) for choice in choices])
    return float(explained_variances(covariance, components)["span"].sum() / covariance.trace)
