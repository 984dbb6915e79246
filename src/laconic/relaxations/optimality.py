"""Conditions for global optimality (Proposition 2 of the paper), and the bounds they give when they fail.

Let S = A'A, I a support, and x the leading eigenvector of sum_{i in I} a_i a_i', with the eigenvalue v: the value of
the support. Put p_i = a_i'x. For any rho that is no p_i^2 the l0 bound (`laconic.relaxations.l0`) takes the directions

    w_i = B_i x = p_i a_i - rho x        where p_i^2 > rho,    Y_i = w_i w_i' / (p_i^2 - rho)
    w_i = b_i = (I - xx') a_i            where p_i^2 < rho,    Y_i = e_i b_i b_i',
                                                               e_i = rho (|a_i|^2 - rho)_+ / ((rho - p_i^2) |b_i|^2)

and every support of size k, not only I, has a value of at most lmax(sum_i Y_i) + rho k. If

    max_{i not in I} p_i^2  <  rho  <  min_{i in I} p_i^2    and    lmax(sum_i Y_i)  <=  sum_{i in I} (p_i^2 - rho)

that is v for k = |I|, and I is globally optimal. One and the same rho stands in both conditions and in the Y_i. Such
rho, if any, form an interval. There x is an eigenvector of sum_i Y_i, with the eigenvalue v - rho |I|, and the second
condition is about what is orthogonal to x. When it fails, the bound is an *upper* bound on the optimal value.

Between two neighbouring p_i^2 the bound is convex in rho: 1 / (p^2 - rho) and rho (s - rho) / (rho - p^2) are. It is
minimised there by intersecting tangents. A pair of x and rho bounds all k at once, by a line in k: a path takes the
lower envelope of all lines tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import extreme_eigenpair
from laconic.core.threads import threads_for
from laconic.core.wording import PROVED
from laconic.covariance import Covariance, FactorCovariance
from laconic.proof.estimate import Estimate
from laconic.proof.witness import DualWitness
from laconic.relaxations.dual_lines import Estimates, Line, LineSearch
from laconic.relaxations.l0_bound import Factored, feasible_directions, in_units, total_bound

# How often the bound is computed for a support, in search of the best rho.
EVALUATIONS = 4
# Where bounds are known: how many largest eigenvalues to spend, and how much lower a bound must be to be worth it.
EIGENVALUES, LOSS = 32, 1e-3


@dataclass(frozen=True, eq=False)
class OptimalityConditions:
    """What Proposition 2 says about a support.

    Attributes
    ----------
    support
        I.
    cardinality
        k.
    value
        The value of the support.
    lower_rho, upper_rho
        The largest p_i^2 outside and the least inside: the conditions ask for a rho between them.
    rho
        The penalty of the bound.
    optimal
        Whether the bound is the value up to the tolerance: no support of size k is better.
    upper
        The bound, with a margin for rounding.
    directions, factor
        W and A.
    shift
        S + shift I = A'A.
    """

    support: Indices
    cardinality: int
    value: float
    lower_rho: float
    upper_rho: float
    rho: float
    optimal: bool
    upper: float
    directions: Floats
    factor: Floats
    shift: float

    def witness(self) -> DualWitness:
        """Return the dual point, from which the bound can be computed again."""
        return _witness(self.factor, self.directions, self.rho, self.shift)


@dataclass(frozen=True, eq=False)
class PathBounds:
    """The least bound for each of several cardinalities, over all supports and penalties tried.

    Attributes
    ----------
    cardinalities
        The values of k.
    upper
        The bound for each.
    factored, root
        The factor of the covariance, divided by the root of its units.
    """

    cardinalities: Indices
    upper: Floats
    factored: Factored
    root: float
    _lines: tuple[Line, ...]

    def witness(self, cardinality: int) -> DualWitness:
        """Return the dual point of the bound for one of the cardinalities.

        Parameters
        ----------
        cardinality
            k.
        """
        places = np.flatnonzero(self.cardinalities == cardinality)
        if not len(places):
            raise ValueError(f"cardinality={cardinality} has no bound here; ask for one of {list(self.cardinalities)}.")
        line, A = self._lines[int(places[0])], self.factored.A
        _, directions = feasible_directions(A, line.directions(A), line.rho)
        unit = self.root * self.root
        return _witness(A * self.root, directions, line.rho * unit, self.factored.shift * unit)


def optimality_conditions(
    covariance: Floats | Factored,
    support: Indices | Sequence[int],
    cardinality: int | None = None,
    *,
    tolerance: float = PROVED,
    evaluations: int = 2 * EVALUATIONS,
) -> OptimalityConditions:
    """Test whether a support is globally optimal, and bound what any other could reach.

    Parameters
    ----------
    covariance
        S, a symmetric matrix, or `Factored(A)` with S = A'A.
    support
        The features of the support.
    cardinality
        k, the number of nonzeros allowed; the size of the support unless given.
    tolerance
        The relative difference between bound and value that counts as none.
    evaluations
        How many largest eigenvalues to compute in search of the best rho.
    """
    factored, root = in_units(covariance)
    unit = root * root
    support = np.asarray(support, dtype=np.intp)
    if not len(support):
        raise ValueError("support is empty; give at least one feature.")
    k = len(support) if cardinality is None else cardinality
    search = LineSearch(factored.A)
    with threads_for(min(factored.A.shape)):
        x, value = search.leading(support)
        squares = (x @ factored.A) ** 2
        outside = np.ones(search.n, dtype=bool)
        outside[support] = False
        own = search.lines(x, len(support), [k], evaluations)
        line = search.envelope(own, [k])[0] if own else None
        if line is None or line.largest + line.rho * k > value * (1 + tolerance):
            line = search.envelope([*own, *search.known()], [k])[0]
        _, directions = feasible_directions(factored.A, line.directions(factored.A), line.rho)
    upper = total_bound(line.largest, line.rho * k, factored.error, factored.shift)
    value -= factored.shift
    return OptimalityConditions(
        support=support,
        cardinality=k,
        value=value * unit,
        lower_rho=float(squares[outside].max(initial=0.0)) * unit,
        upper_rho=float(squares[support].min()) * unit,
        rho=line.rho * unit,
        optimal=upper - value <= tolerance * abs(value),
        upper=max(upper, value) * unit,
        directions=directions,
        factor=factored.A * root,
        shift=factored.shift * unit,
    )


def path_bounds(
    covariance: Floats | Factored,
    supports: Sequence[Indices],
    cardinalities: Sequence[int],
    *,
    evaluations: int = EVALUATIONS,
    known: Floats | None = None,
) -> PathBounds:
    """Return for every k the least bound over all supports, and over some penalties for each.

    Parameters
    ----------
    covariance
        S, a symmetric matrix, or `Factored(A)` with S = A'A: for wide data the n x n matrix is not needed.
    supports
        The supports, of any sizes.
    cardinalities
        The values of k to bound.
    evaluations
        How many largest eigenvalues to compute for each support.
    known
        A bound for each k that is known already. Little is then spent, where cheap estimates promise the most, and the
        bounds are infinite if nothing promises to be lower.
    """
    ks = [int(k) for k in cardinalities]
    if min(ks, default=1) < 1:
        raise ValueError(f"cardinalities={ks} must be at least 1.")
    chosen = [np.asarray(support, dtype=np.intp) for support in supports if len(support)]
    if known is not None:
        return _lower_bounds(covariance, chosen, ks, evaluations, known)
    factored, root = in_units(covariance)
    search = LineSearch(factored.A)
    with threads_for(min(factored.A.shape)):
        lines = list(search.known())
        for support in chosen:
            lines += search.lines(search.leading(support)[0], len(support), ks, evaluations)
        # A support may say more about other sizes than about its own: those it is best for are looked for as well.
        for k in ks:
            first = search.lowest(lines, k)
            if first.x is not None and first.target != k:
                lines += search.descend(first.x, k, first.rho, first.gap, evaluations)
        winners = search.envelope(lines, ks)
    return _path_of(winners, ks, factored, root)


def _path_of(winners: Sequence[Line], ks: list[int], factored: Factored, root: float) -> PathBounds:
    upper = np.full(len(ks), np.inf)
    for place, line in enumerate(winners):
        upper[place] = total_bound(line.largest, line.rho * ks[place], factored.error, factored.shift) * root * root
    return PathBounds(np.asarray(ks, dtype=np.intp), upper, factored, root, tuple(winners))


def _lower_bounds(
    covariance: Floats | Factored, supports: list[Indices], ks: list[int], evaluations: int, known: Floats
) -> PathBounds:
    """Return bounds below those known, as far as a few searches find them.

    The next search is for the k, and from the support, whose estimate is the farthest below what is known by then.
    """
    promises = [promise for support in supports if (promise := _promise(covariance, support)) is not None]
    promised = np.array([estimates.promised(ks) for _, estimates in promises]).reshape(len(promises), len(ks))
    if not (promised < known).any():
        return _path_of([], ks, Factored(np.empty((0, 0))), 1.0)
    factored, root = in_units(covariance, quickly=True)
    unit = root * root
    # In units of the factor, which is that of the matrix with its shift.
    limits = known / unit + factored.shift
    reached = limits.copy()
    search = LineSearch(factored.A)
    lines: list[Line] = []
    with threads_for(min(factored.A.shape)):
        while len(lines) < EIGENVALUES:
            gain = 1 - promised / (reached * unit)
            row, column = np.unravel_index(int(np.argmax(gain)), gain.shape)
            if not gain[row, column] > (LOSS if lines else 0.0):
                break
            support, estimates = promises[row]
            k, limit = ks[column], float(reached[column])
            rho, low, high = (end / unit for end in estimates.gap(k))
            x = search.leading(support)[0]
            found = search.descend(x, k, rho, (low, high), evaluations, limit * (1 - LOSS))
            lines += found
            values = np.min([line.largest + line.rho * np.asarray(ks) for line in found], axis=0)
            reached = np.minimum(reached, values)
            # Of one that does not keep what it promises nothing else is expected.
            promised[row, column if reached[column] <= limit * (1 - LOSS) else slice(None)] = np.inf
        winners = search.envelope(lines, ks, limits, LOSS) if lines else []
    return _path_of(winners, ks, factored, root)


def _promise(covariance: Floats | Factored, support: Indices) -> tuple[Indices, Estimates] | None:
    """Return a support with the estimates of its bounds, for the price of one product with S."""
    if isinstance(covariance, Factored):
        chosen = covariance.A[:, support]
        norms, block = np.einsum("ij,ij->j", covariance.A, covariance.A), chosen.T @ chosen
    else:
        norms, block = covariance.diagonal(), covariance[np.ix_(support, support)]
    value, z = extreme_eigenpair(block, -1)
    if value <= 0:
        return None
    image = covariance.A.T @ (chosen @ z) if isinstance(covariance, Factored) else covariance[:, support] @ z
    estimates = Estimates.of(norms, image * (image / value), len(support))
    return None if estimates is None else (support, estimates)


def proposition_2_bound(
    covariance: Covariance, support: Indices, cardinality: int, *, evaluations: int = EVALUATIONS
) -> Estimate:
    """Return what a support proves by Proposition 2.

    Parameters
    ----------
    covariance
        S; one known by its factor is not written out.
    support
        The features of the support.
    cardinality
        k.
    evaluations
        How many largest eigenvalues to compute.
    """
    found = path_bounds(factored(covariance), [support], [cardinality], evaluations=evaluations)
    return _bound_of(found, covariance)


def proposition_2_below(
    covariance: Covariance, support: Indices, cardinality: int, known: float, *, evaluations: int = EVALUATIONS
) -> Estimate | None:
    """Return what a support proves by Proposition 2, or None if that will hardly be below a bound that is known.

    Parameters
    ----------
    covariance, support, cardinality, evaluations
        As in `proposition_2_bound`.
    known
        The bound that is known.
    """
    limits = np.array([known])
    found = path_bounds(factored(covariance), [support], [cardinality], evaluations=evaluations, known=limits)
    return _bound_of(found, covariance) if np.isfinite(found.upper[0]) else None


def _bound_of(found: PathBounds, covariance: Covariance) -> Estimate:
    k = int(found.cardinalities[0])
    witness = found.witness(k)
    if isinstance(covariance, FactorCovariance):
        # The covariance brings its own factor.
        witness = replace(witness, factor=None)
    return Estimate(float(found.upper[0]), witness.kind, k, witness)


def factored(covariance: Covariance) -> Floats | Factored:
    """Return the covariance as `path_bounds` takes it.

    Parameters
    ----------
    covariance
        S.
    """
    if isinstance(covariance, FactorCovariance):
        return Factored(covariance.factor)
    return covariance.submatrix(np.arange(covariance.n_features))


def _witness(A: Floats, directions: Floats, rho: float, shift: float) -> DualWitness:
    return DualWitness(kind="Proposition 2", factor=A, directions=directions, rho=rho, shift=shift)
