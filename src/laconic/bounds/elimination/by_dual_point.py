"""Many features: those that provably belong to no better support are set aside before S is written out.

First by what a support with i can reach at all (`laconic.bounds.elimination.by_variance`), then by a dual point of the
row-level relaxation on the features that compete for a support, as `laconic.bounds.tree.decisions` does it: a support
that holds j is worth at most t + C - k (G - g_j), with t = lmax(M), C the cost of the point, G its price, and g_j the
price of the row of j if that is cancelled and S_jj - c_j = t.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from laconic.bounds.elimination.by_variance import Screened, screen
from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import EPS
from laconic.covariance import Covariance, FactorCovariance, SubsetCovariance
from laconic.covariance.magnitudes import column_magnitudes
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.proof.estimate import Estimate
from laconic.proof.witness import Decision, DualWitness, TreeNode, TreeWitness, Witness
from laconic.relaxations.elementary import elementary_bound, trace_bound
from laconic.relaxations.optimality import proposition_2_bound
from laconic.relaxations.row_levels import RowLevels, free_diagonal, own_price, row_levels
from laconic.search.auto import Auto

RELAXATION = RowLevels(tolerance=1e-6, max_iterations=150, least_progress=0.02)
# Features that compete to begin with, at the most, and rounds in which those that turn out to are taken in.
CORE, MOST, ROUNDS = 400, 2000, 4


@dataclass(frozen=True, eq=False)
class Left:
    """The features that a support better than some value may hold.

    Attributes
    ----------
    kept
        These features.
    screened, decision
        What has put the others out; the decision, if there is one, is about the features that `screened` keeps.
    """

    kept: Indices
    screened: Screened
    decision: Decision | None = None

    @property
    def any_witness(self) -> bool:
        """Whether a witness of any kind goes with this, and not a tree only."""
        return self.decision is None

    def witness(self, inner: Witness | None) -> Witness | None:
        """Return the witness on all features that goes with one on those kept; None if there is none.

        Parameters
        ----------
        inner
            The witness of a bound on the features kept.
        """
        if inner is None or self.decision is None:
            return None if inner is None else self.screened.witness(inner)
        if not isinstance(inner, TreeWitness):
            return None
        places = np.searchsorted(self.screened.kept, self.kept)
        nodes = [_renumbered(node, places) for node in inner.nodes]
        nodes[0] = replace(nodes[0], decisions=(self.decision, *nodes[0].decisions))
        return self.screened.witness(TreeWitness(tuple(nodes)))


def _renumbered(node: TreeNode, places: Indices) -> TreeNode:
    def point(witness: DualWitness) -> DualWitness:
        assert witness.kept is not None
        return replace(witness, kept=places[witness.kept], inside=places[witness.inside])

    decisions = tuple(Decision(point(d.witness), places[d.out], places[d.into]) for d in node.decisions)
    bound = point(node.bound) if isinstance(node.bound, DualWitness) else node.bound
    return replace(
        node, decisions=decisions, bound=bound, feature=int(places[node.feature]) if node.feature >= 0 else -1
    )


def eliminate(problem: Problem, first: Solution, value: float, limit: int) -> Left:
    """Return what is left of the features if supports of some value or less are of no interest.

    Parameters
    ----------
    problem
        The problem.
    first
        A solution of it.
    value
        What supports are to exceed.
    limit
        The most features for which the covariance may be written out.
    """
    k = problem.cardinality
    smaller = np.empty(0, dtype=np.intp)
    if k > 1:
        one_less = replace(problem, cardinality=k - 1, forced=problem.forced[: k - 1], nonnegative=False)
        smaller = Auto(polish=1).solve(one_less).support
    screened = screen(
        problem.covariance,
        k,
        value,
        _bound_by(smaller, limit),
        rows=True,
        forced=problem.forced,
        monitor=problem.monitor,
    )
    kept = screened.kept
    free = not problem.nonnegative and len(problem.forced) < k and np.isin(first.support, kept).all()
    if len(kept) <= CORE or not free:
        return Left(kept, screened)
    part = replace(
        problem,
        covariance=SubsetCovariance(problem.covariance, kept) if screened.rounds else problem.covariance,
        forced=np.searchsorted(kept, problem.forced),
    )
    decision = _by_levels(part, replace(first, support=np.searchsorted(kept, first.support)), value)
    if decision is None:
        return Left(kept, screened)
    return Left(np.delete(kept, decision.out), screened, decision)


def _bound_by(support: Indices, limit: int) -> Callable[[Covariance, int], Estimate]:
    """Return a bound for supports of one feature less, given a good one of them: the least that is cheap."""

    def bound(covariance: Covariance, cardinality: int) -> Estimate:
        kept, base = np.arange(covariance.n_features), covariance
        if isinstance(covariance, SubsetCovariance):
            kept, base = covariance.keep, covariance.base
        tried = [trace_bound(covariance, cardinality)]
        if isinstance(base, FactorCovariance):
            if np.isin(support, kept).all():
                part = FactorCovariance(base.factor[:, kept])
                tried.append(proposition_2_bound(part, np.searchsorted(kept, support), cardinality))
        elif len(kept) <= limit:
            tried.append(elementary_bound(covariance, cardinality))
        return min(tried, key=float)

    return bound


def _by_levels(problem: Problem, first: Solution, value: float) -> Decision | None:
    """Put features out by a dual point; None if it can do nothing."""
    covariance, n, k = problem.covariance, problem.n_features, problem.cardinality
    z, variances = first.vector(n), covariance.diagonal
    image = np.abs(covariance.columns(first.support) @ first.loadings)
    image[np.union1d(first.support, problem.forced)] = np.inf
    core = np.sort(np.argsort(-image, kind="stable")[: max(CORE, 3 * k)])
    for _ in range(ROUNDS):
        inside = np.searchsorted(core, problem.forced)
        relaxed = RELAXATION.solve(
            covariance.submatrix(core), k, inside=inside, vector=z[core], known=value, monitor=problem.monitor
        )
        problem.monitor.tick("eliminating", best=first.value)
        if relaxed.price <= 0:
            return None
        kept = core[relaxed.keep]
        aside = np.setdiff1d(np.arange(n), kept)
        level = _levels_aside(covariance, kept, aside, row_levels(relaxed.levels))
        left = variances[aside] - free_diagonal(level, relaxed.price)
        top = relaxed.upper - relaxed.cost
        broken = np.setdiff1d(aside[left > top], core)
        if not len(broken) or len(core) + len(broken) > MOST:
            break
        core = np.union1d(core, broken)
    top = max(top, float(left.max(initial=-np.inf)))
    margin = 64 * n * EPS * max(abs(top), covariance.scale)
    reach = top + relaxed.cost - k * (relaxed.price - own_price(variances[aside] - top, level)) + margin
    out = np.setdiff1d(aside[reach < value], problem.forced)
    if not len(out):
        return None
    point = DualWitness(
        "row levels",
        levels=relaxed.levels,
        norms=relaxed.norms,
        inside=problem.forced,
        kept=kept,
        price=relaxed.price,
    )
    return Decision(point, out, np.empty(0, dtype=np.intp))


def _levels_aside(covariance: Covariance, kept: Indices, aside: Indices, m: Floats) -> Floats:
    """Return the level that each feature aside needs for its row to be cancelled."""
    found = [np.empty(0)]
    for _, sizes in column_magnitudes(covariance, aside):
        against = (2 * sizes[kept] - m[:, None]).max(axis=0, initial=0.0)
        found.append(np.maximum(against, sizes[aside].max(axis=0, initial=0.0)))
    return np.concatenate(found)
