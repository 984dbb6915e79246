"""Features of little variance are set aside before anything else, as those of most words can be.

A support of k features, j of them set aside, is worth at most a_{k-j} plus the j largest variances set aside, with a_q
a bound at cardinality q on the features kept (`laconic.relaxations.split`). If that is below a value known for every j
from one on, no better support holds any of them. The bounds a_q need not be tight, only low enough: they are those of
a search that stops there, for as few q as will do, since a_q bounds every smaller cardinality too.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from laconic.core.arrays import Indices
from laconic.core.linalg import EPS
from laconic.covariance import DenseCovariance
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.proof.estimate import Estimate
from laconic.proof.witness import SplitWitness, Witness, kind_of
from laconic.relaxations.elementary import elementary_bound
from laconic.relaxations.split import added_from_outside
from laconic.search.auto import Auto
from laconic.search.support import leading

if TYPE_CHECKING:
    from laconic.bounds.tree.search import BranchAndBound

# What the largest variance set aside may take of what the last feature of a support adds to its value.
SHARE = 0.5
# Features kept: this many at least, and more than those are too many to search for smaller supports.
FEWEST, MOST = 200, 1500
# A search ends when it is this part of the way from what is reached to what would be too much; and after so many nodes.
PART, NODES = 0.5, 300


@dataclass(frozen=True, eq=False)
class Apart:
    """Features kept, and the proof that a support of some value or more holds no other.

    Attributes
    ----------
    kept
        The features kept.
    cardinality
        k.
    smaller
        Bounds on them at smaller cardinalities.
    """

    kept: Indices
    cardinality: int
    smaller: tuple[Estimate, ...]

    @property
    def any_witness(self) -> bool:
        """Whether a witness of any kind goes with this."""
        return True

    def witness(self, inner: Witness | None) -> Witness | None:
        """Return the witness on all features that goes with one on the features kept; None if there is none.

        Parameters
        ----------
        inner
            The witness of a bound at cardinality k.
        """
        if inner is None:
            return None
        bounds = ((bound.cardinality, bound.witness) for bound in self.smaller)
        return SplitWitness(self.kept, ((self.cardinality, inner), *bounds))


def set_apart(settings: "BranchAndBound", problem: Problem, first: Solution, value: float) -> Apart | None:
    """Return features of large variance that a support of a value or more lies among, or None if they are too many.

    Parameters
    ----------
    settings
        Of the searches for smaller supports.
    problem
        The problem.
    first
        A solution of it.
    value
        What supports are to exceed.
    """
    covariance, k = problem.covariance, problem.cardinality
    if k == 1:
        return None
    smaller = np.sort(first.support[np.argsort(-np.abs(first.loadings), kind="stable")[: k - 1]])
    # What is left of the support found may be poor for its size, so this is the least there is to keep.
    if _to_keep(problem, value - leading(covariance.submatrix(smaller))[0]) > MOST:
        return None
    one_less = Auto(polish=1).solve(Problem(covariance, k - 1, monitor=problem.monitor), start=smaller)
    count = max(FEWEST, _to_keep(problem, value - one_less.value))
    if count > MOST:
        return None
    order = np.argsort(-covariance.diagonal, kind="stable")
    kept = np.unique(np.concatenate([order[: int(count)], first.support, one_less.support, problem.forced]))
    if len(kept) == problem.n_features:
        return None
    part = DenseCovariance(covariance.submatrix(kept), semidefinite=covariance.semidefinite)
    goal = value - 64 * k * EPS * max(abs(value), covariance.scale)
    added = added_from_outside(covariance, kept, k)
    if not added[-1] < goal:
        return None
    bounds: list[Estimate] = []
    j = 1
    while j < min(k, len(added)):
        problem.monitor.tick("eliminating", best=first.value)
        bound = _bound(settings, Problem(part, k - j, monitor=problem.monitor), goal - float(added[j]))
        if bound is None:
            return None
        bounds.append(bound)
        too_much = np.flatnonzero(bound.value + added[j:] >= goal)
        j = k if not len(too_much) else j + int(too_much[0])
    return Apart(kept, k, tuple(bounds))


def _to_keep(problem: Problem, added: float) -> float:
    """Return how many features must be kept if the last feature of a support adds so much to its value."""
    return float(np.count_nonzero(problem.covariance.diagonal > SHARE * added)) if added > 0 else np.inf


def _bound(settings: "BranchAndBound", problem: Problem, below: float) -> Estimate | None:
    """Return a bound below a number, or None if there is none or it takes too long."""
    cheap = elementary_bound(problem.covariance, problem.cardinality)
    if cheap.value < below:
        return cheap
    first = Auto(seed=settings.seed).solve(problem)
    if not 0 < first.value < below:
        return None
    search = replace(settings, gap=PART * (below / first.value - 1), node_limit=NODES, penalty=None)
    found = search.search(problem, first)
    if found.witness is None or not found.estimate < below:
        return None
    return Estimate(found.estimate, kind_of(found.witness), problem.cardinality, found.witness)
