"""Largest sparse eigenvalues of a matrix: values of greedy methods, upper bounds, and the exact value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from laconic.bounds.exact import BranchAndBound
from laconic.bounds.least import bound_support
from laconic.core.arrays import Floats, Indices, Mask
from laconic.covariance import DenseCovariance
from laconic.proof import prove
from laconic.proof.witness import Witness
from laconic.proof.witness_dual import DualWitness
from laconic.relaxations.elementary import elementary_bounds
from laconic.relaxations.l0 import L0Relaxation
from laconic.relaxations.l1_splitting import Splitting, solve_cardinalities
from laconic.relaxations.proposition_2 import path_bounds
from laconic.relaxations.rows import RowLevels
from laconic.search.exhaustive import Exhaustive
from laconic.search.greedy import ApproximateGreedy, Greedy
from laconic.search.problem import Problem

APPROXIMATE, FULL = "approximate greedy", "full greedy"
PROPOSITION, L0, L1, ROWS = "Proposition 2", "l0 relaxation", "DSPCA dual", "row levels"
TREE = "branch and bound"
BOUNDS = (PROPOSITION, L0, L1, ROWS)

Tick = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class EigenvalueCurves:
    """Sparse eigenvalues against cardinality.

    Attributes
    ----------
    cardinalities
        The values of k.
    exhaustive
        The exact values, from exhaustive search; None without such a search.
    best
        The values that branch and bound finds.
    found
        Values of the greedy methods, by name.
    upper
        Proved upper bounds, by name. "Row levels" is the smaller of two bounds: that of the relaxation with row levels
        and row norms, and the smallest elementary bound.
    """

    cardinalities: Indices
    exhaustive: Floats | None
    best: Floats
    found: Mapping[str, Floats]
    upper: Mapping[str, Floats]

    @property
    def truth(self) -> Floats:
        """The exact values, or the best values known if there was no exhaustive search."""
        return self.best if self.exhaustive is None else self.exhaustive

    def above(self, name: str) -> Floats:
        """Return how far a bound or a greedy value is above the best value known, in percent of this value.

        Parameters
        ----------
        name
            The name of a bound or of a greedy method.
        """
        values = self.upper[name] if name in self.upper else self.found[name]
        return 100 * (values / self.truth - 1)

    def worst(self, name: str) -> float:
        """Return the largest distance of a bound from the best value known, over all cardinalities, in percent.

        Parameters
        ----------
        name
            The name of the bound.
        """
        return float(self.above(name).max())

    def proved(self, name: str, tolerance: float = 0.01) -> int:
        """Return for how many cardinalities a bound proves the best value.

        Parameters
        ----------
        name
            The name of the bound.
        tolerance
            The largest distance, in percent, that counts as a proof.
        """
        return int((self.above(name) <= tolerance).sum())


def bound_eigenvalues(
    S: Floats,
    cardinalities: Sequence[int],
    tick: Tick,
    *,
    exhaustive: bool = False,
    node_limit: int | None = None,
    tolerance: float = 1e-6,
) -> EigenvalueCurves:
    """Find and bound the largest k-sparse eigenvalue for each k.

    Parameters
    ----------
    S
        A symmetric positive semidefinite matrix.
    cardinalities
        The values of k, increasing.
    tick
        Called with the name of each stage.
    exhaustive
        Whether to do an exhaustive search, too.
    node_limit
        The largest number of nodes of branch and bound, for each k.
    tolerance
        The relative gap to which the relaxations are solved.
    """
    ks = [int(k) for k in cardinalities]
    problem = Problem(DenseCovariance(S), ks[-1])
    tick("greedy")
    paths = {APPROXIMATE: ApproximateGreedy().path(problem), FULL: Greedy().path(problem)}
    found = {name: np.array([path[k - 1].value for k in ks]) for name, path in paths.items()}
    tick(PROPOSITION)
    supports = [solution.support for path in paths.values() for solution in path]
    by_proposition = path_bounds(problem.covariance, supports, ks)
    tick(L1)
    by_l1 = dict(zip(ks, solve_cardinalities(S, ks, Splitting(tolerance, max_iterations=1000)), strict=True))
    cheap = dict(zip(ks, elementary_bounds(problem.covariance, ks), strict=True))
    rows = RowLevels(norms=True, tolerance=tolerance)

    def proved(k: int, witness: Witness) -> float:
        return prove(problem.covariance, k, witness).value

    upper = {
        PROPOSITION: _each(ks, tick, PROPOSITION, lambda k: proved(k, by_proposition.witness(k))),
        L0: _each(ks, tick, L0, lambda k: proved(k, L0Relaxation(tolerance).solve(S, k).witness())),
        L1: _each(ks, tick, L1, lambda k: proved(k, DualWitness("l1 dual", multiplier=by_l1[k].dual_matrix(S)))),
        ROWS: _each(ks, tick, ROWS, lambda k: min(proved(k, rows.solve(S, k).witness()), proved(k, cheap[k].witness))),
    }
    solved, by_tree = [], []
    for k in ks:
        tick(f"branch and bound, {k} of {len(S)} features")
        start = max((path[k - 1] for path in paths.values()), key=lambda s: s.value).support
        part = problem.with_cardinality(k)
        solved.append(BranchAndBound(node_limit=node_limit).solve(part, start=start))
        by_tree.append(bound_support(part, solved[-1], "fast").value)
    upper[TREE] = np.array(by_tree)
    truth = None
    if exhaustive:
        truth = _each(ks, tick, "exhaustive search", lambda k: Exhaustive().solve(problem.with_cardinality(k)).value)
    return EigenvalueCurves(np.array(ks), truth, np.array([s.value for s in solved]), found, upper)


def _each(ks: Sequence[int], tick: Tick, name: str, value: Callable[[int], float]) -> Floats:
    """Return a value for each k, with progress."""
    values = []
    for k in ks:
        tick(f"{name}, {k} features")
        values.append(value(k))
    return np.array(values)


@dataclass(frozen=True, eq=False)
class IsometryBounds:
    """Bounds on the largest and the smallest sparse eigenvalue of F'F.

    Attributes
    ----------
    cardinalities
        The values of k.
    largest, smallest
        Eigenvalues of supports that were found. The largest sparse eigenvalue is at least `largest`, and the smallest
        is at most `smallest`.
    above, below
        Upper bounds on the largest and lower bounds on the smallest sparse eigenvalue, by the name of the bound.
    """

    cardinalities: Indices
    largest: Floats
    smallest: Floats
    above: Mapping[str, Floats]
    below: Mapping[str, Floats]

    @property
    def attained(self) -> Floats:
        """The constant that some support attains: delta_k is at least this large."""
        return np.maximum(self.largest - 1, 1 - self.smallest)

    def constant(self, name: str) -> Floats:
        """Return an upper bound on delta_k = max(lmax_k - 1, 1 - lmin_k).

        Parameters
        ----------
        name
            The name of the bound.
        """
        return np.maximum(self.above[name] - 1, 1 - self.below[name])

    def certified(self, name: str, level: float = 1.0) -> int:
        """Return the largest k up to which a bound proves delta_k < level.

        Parameters
        ----------
        name
            The name of the bound.
        level
            The limit for delta_k.
        """
        return _up_to(self.cardinalities, self.constant(name) < level)

    def independent(self, name: str) -> int:
        """Return the largest k up to which a bound proves that any k columns are linearly independent.

        Parameters
        ----------
        name
            The name of the bound.
        """
        return _up_to(self.cardinalities, self.below[name] > 0)


def bound_isometry(
    gram: Floats, cardinalities: Sequence[int], tick: Tick, *, node_limit: int, tolerance: float
) -> IsometryBounds:
    """Bound the largest and the smallest k-sparse eigenvalue of a Gram matrix G.

    The smallest k-sparse eigenvalue of G is c minus the largest k-sparse eigenvalue of cI - G, for any c. The matrix
    cI - G is positive semidefinite if c is at least the largest eigenvalue of G.

    Parameters
    ----------
    gram
        The Gram matrix G.
    cardinalities
        The values of k, increasing.
    tick
        Called with the name of each stage.
    node_limit
        The largest number of nodes of branch and bound, for each k.
    tolerance
        The relative gap to which the relaxations are solved.
    """
    # The margin keeps cI - G positive semidefinite in spite of rounding errors.
    c = float(np.linalg.eigvalsh(gram)[-1]) * (1 + 1e-12)
    of_gram = bound_eigenvalues(
        gram, cardinalities, lambda stage: tick(f"largest: {stage}"), node_limit=node_limit, tolerance=tolerance
    )
    of_shifted = bound_eigenvalues(
        c * np.eye(len(gram)) - gram,
        cardinalities,
        lambda stage: tick(f"smallest: {stage}"),
        node_limit=node_limit,
        tolerance=tolerance,
    )
    below = {name: c - values for name, values in of_shifted.upper.items()}
    return IsometryBounds(of_gram.cardinalities, of_gram.best, c - of_shifted.best, of_gram.upper, below)


def _up_to(ks: Indices, holds: Mask) -> int:
    """Return the largest k such that a condition holds for all k up to it; zero if it fails for the first."""
    failed = np.flatnonzero(~holds)
    count = int(failed[0]) if len(failed) else len(ks)
    return int(ks[count - 1]) if count else 0
