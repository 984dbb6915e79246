"""Largest sparse eigenvalues of a matrix: what each method finds, and what each bound proves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from laconic.methods.exact import BranchAndBound
from laconic.core.arrays import Floats, Indices, Mask
from laconic.covariance import DenseCovariance
from laconic.problem.problem import Problem
from laconic.relaxations.elementary import elementary_bounds
from laconic.relaxations.l0 import L0Relaxation
from laconic.relaxations.l1_path import solve_cardinalities
from laconic.relaxations.optimality import path_bounds
from laconic.relaxations.row_levels import RowLevels
from laconic.relaxations.splitting import Splitting
from laconic.search.approximate_greedy import ApproximateGreedy
from laconic.search.exhaustive import Exhaustive
from laconic.search.greedy import Greedy

APPROXIMATE, FULL = "approximate greedy", "full greedy"
PROPOSITION, L0, L1, ROWS = "Proposition 2", "l0 relaxation", "DSPCA dual", "row levels"
TREE = "branch and bound"
BOUNDS = (PROPOSITION, L0, L1, ROWS)

Tick = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class SparseEigenvalues:
    """Sparse eigenvalues against cardinality.

    Attributes
    ----------
    cardinalities
        The values of k.
    exhaustive
        The truth, by looking at every support; None where there are too many.
    best
        The best value known, by branch and bound.
    found
        Values of the greedy methods, by name.
    upper
        Proved upper bounds, by name. Row levels stand for the least of that relaxation, with row norms, and the
        elementary bounds.
    """

    cardinalities: Indices
    exhaustive: Floats | None
    best: Floats
    found: Mapping[str, Floats]
    upper: Mapping[str, Floats]

    @property
    def truth(self) -> Floats:
        """The largest value known."""
        return self.best if self.exhaustive is None else self.exhaustive

    def above(self, name: str) -> Floats:
        """Return how far a bound, or a value, lies above the best value known, in percent of that.

        Parameters
        ----------
        name
            Of a bound, or of a greedy method.
        """
        values = self.upper[name] if name in self.upper else self.found[name]
        return 100 * (values / self.truth - 1)

    def worst(self, name: str) -> float:
        """Return the largest distance of a bound over all cardinalities, in percent.

        Parameters
        ----------
        name
            Of the bound.
        """
        return float(self.above(name).max())

    def proved(self, name: str, tolerance: float = 0.01) -> int:
        """Return for how many cardinalities a bound proves the best value.

        Parameters
        ----------
        name
            Of the bound.
        tolerance
            The distance, in percent, that counts as none.
        """
        return int((self.above(name) <= tolerance).sum())


def sparse_eigenvalues(
    S: Floats,
    cardinalities: Sequence[int],
    tick: Tick,
    *,
    exhaustive: bool = False,
    node_limit: int | None = None,
    tolerance: float = 1e-6,
) -> SparseEigenvalues:
    """Find and bound the largest k-sparse eigenvalue for each k.

    Parameters
    ----------
    S
        A symmetric positive semidefinite matrix.
    cardinalities
        The values of k, increasing.
    tick
        Told what is being done.
    exhaustive
        Whether to look at every support as well.
    node_limit
        Of branch and bound, for each k.
    tolerance
        The relative gap to which the relaxations are solved.
    """
    ks = [int(k) for k in cardinalities]
    problem = Problem(DenseCovariance(S), ks[-1])
    tick("greedy")
    paths = {APPROXIMATE: ApproximateGreedy().path(problem), FULL: Greedy().path(problem)}
    found = {name: np.array([path[k - 1].value for k in ks]) for name, path in paths.items()}
    tick("Proposition 2")
    supports = [solution.support for path in paths.values() for solution in path]
    upper = {PROPOSITION: path_bounds(S, supports, ks).upper}
    upper[L0] = _each(ks, tick, L0, lambda k: L0Relaxation(tolerance).solve(S, k).upper)
    tick("DSPCA dual")
    upper[L1] = np.array([r.dual for r in solve_cardinalities(S, ks, Splitting(tolerance, max_iterations=1000))])
    rows = RowLevels(norms=True, tolerance=tolerance)
    cheap = [float(bound) for bound in elementary_bounds(problem.covariance, ks)]
    upper[ROWS] = np.minimum(_each(ks, tick, ROWS, lambda k: rows.solve(S, k).upper), cheap)
    solved = []
    for k in ks:
        tick(f"branch and bound, {k} of {len(S)} features")
        start = max((path[k - 1] for path in paths.values()), key=lambda s: s.value).support
        solved.append(BranchAndBound(node_limit=node_limit).solve(problem.with_cardinality(k), start=start))
    upper[TREE] = np.array([s.upper for s in solved])
    truth = None
    if exhaustive:
        truth = _each(ks, tick, "exhaustive search", lambda k: Exhaustive().solve(problem.with_cardinality(k)).value)
    return SparseEigenvalues(np.array(ks), truth, np.array([s.value for s in solved]), found, upper)


def _each(ks: Sequence[int], tick: Tick, name: str, value: Callable[[int], float]) -> Floats:
    values = []
    for k in ks:
        tick(f"{name}, {k} features")
        values.append(value(k))
    return np.array(values)


@dataclass(frozen=True, eq=False)
class Isometry:
    """Bounds on the sparse eigenvalues of F'F, both ends.

    Attributes
    ----------
    cardinalities
        The values of k.
    largest, smallest
        Found: attained by some support, so that the largest sparse eigenvalue is at least the one and the smallest at
        most the other.
    above, below
        Proved, by the name of the bound: no sparse eigenvalue is above the one or below the other.
    """

    cardinalities: Indices
    largest: Floats
    smallest: Floats
    above: Mapping[str, Floats]
    below: Mapping[str, Floats]

    @property
    def attained(self) -> Floats:
        """delta_k is at least this."""
        return np.maximum(self.largest - 1, 1 - self.smallest)

    def constant(self, name: str) -> Floats:
        """Return what a bound proves of delta_k = max(lmax_k - 1, 1 - lmin_k).

        Parameters
        ----------
        name
            Of the bound.
        """
        return np.maximum(self.above[name] - 1, 1 - self.below[name])

    def certified(self, name: str, level: float = 1.0) -> int:
        """Return the largest k up to which a bound proves delta_k < level.

        Parameters
        ----------
        name
            Of the bound.
        level
            What delta_k has to be below.
        """
        return _up_to(self.cardinalities, self.constant(name) < level)

    def independent(self, name: str) -> int:
        """Return the largest k for which a bound proves that any k columns are linearly independent.

        Parameters
        ----------
        name
            Of the bound.
        """
        return _up_to(self.cardinalities, self.below[name] > 0)


def isometry(gram: Floats, cardinalities: Sequence[int], tick: Tick, *, node_limit: int, tolerance: float) -> Isometry:
    """Bound both ends of the sparse spectrum of a Gram matrix G.

    The smallest k-sparse eigenvalue is c less the largest of cI - G, for any c; with c at least the largest eigenvalue
    of G the matrix is positive semidefinite.

    Parameters
    ----------
    gram
        G.
    cardinalities
        The values of k, increasing.
    tick
        Told what is being done.
    node_limit
        Of branch and bound, for each k.
    tolerance
        The relative gap to which the relaxations are solved.
    """
    # The margin keeps the turned matrix semidefinite in spite of rounding.
    c = float(np.linalg.eigvalsh(gram)[-1]) * (1 + 1e-12)
    upright = sparse_eigenvalues(
        gram, cardinalities, lambda stage: tick(f"largest: {stage}"), node_limit=node_limit, tolerance=tolerance
    )
    turned = sparse_eigenvalues(
        c * np.eye(len(gram)) - gram,
        cardinalities,
        lambda stage: tick(f"smallest: {stage}"),
        node_limit=node_limit,
        tolerance=tolerance,
    )
    below = {name: c - values for name, values in turned.upper.items()}
    return Isometry(upright.cardinalities, upright.best, c - turned.best, upright.upper, below)


def _up_to(ks: Indices, holds: Mask) -> int:
    """Return the largest k up to which all hold, zero if the first does not."""
    failed = np.flatnonzero(~holds)
    count = int(failed[0]) if len(failed) else len(ks)
    return int(ks[count - 1]) if count else 0
