"""Five ways to take a component out of a covariance (Mackey 2008).

A sparse component is not an eigenvector. Subtracting it as in ordinary PCA may leave some of its variance in the
matrix, or a matrix that is not semidefinite. With S the current covariance, z the unit component, y = Sz, v = z'y, and
q the part of z orthogonal to the directions taken out before, scaled to unit length:

    hotelling                   S - v zz'
    projection                  (I - zz') S (I - zz') = S - zy' - yz' + v zz'
    schur                       S - yy' / v
    orthogonalized-hotelling    S - (q'Sq) qq'
    orthogonalized-projection   (I - qq') S (I - qq')

Each is S - WCW' with one or two columns of W for a component. The deflations of Hotelling may leave S indefinite. If
only some features of S are at hand, components are zero at all others, and the part at hand is deflated.

**Variances of features without loadings never grow.** Let z be zero at feature i, and y = Sz.

    projection   ((I - zz') S (I - zz'))_ii = S_ii - 2 z_i y_i + z_i^2 z'y = S_ii
    hotelling    (S - v zz')_ii = S_ii - v z_i^2 = S_ii
    schur        (S - yy'/v)_ii = S_ii - y_i^2/v <= S_ii

The orthogonalised rules take out q, a combination of components, and q_i = 0 as well. So the variances of hidden
features before deflation bound those after it, for any number of components.

**The excess.** Let A be a set of features at hand, and B features on which all components are zero. The bound of two
groups limits the entries S_AB by variances. For this it needs a semidefinite matrix M with M_AB = S_AB, M_BB <= S_BB
and M_AA <= S_AA + e I for a number e.

    no deflation        M is S, and e = 0.
    projection, schur   B is hidden. There S stands for its exact deflation M, and e bounds the errors of the steps on
                        A. Schur complements are monotone.
    hotelling           The deflation is indefinite. M is the covariance before it: M_AB is the same, because z_B = 0,
                        and M_AA <= S_AA + the sum of c zz'. So e is the sum of c |z|^2.

Let a bound the supports in A, and b be the sum of the variances of B. A unit vector x has a part of length cos f on A
and a part of length sin f on B. The first gives at most a cos^2 f, the second b sin^2 f, and both together
2 ((a + e) b)^(1/2) cos f sin f. So the value is at most the larger eigenvalue of [[a, c], [c, b]] with c^2 = (a + e) b,
which is a + b if e = 0.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from scipy.linalg import block_diag

from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalues import ProvedEigenvalue
from laconic.core.monitor import Monitor
from laconic.core.rounding import gamma, grown, sum_up, up
from laconic.covariance.after_deflation import (
    Removal,
    Step,
    after_hotelling,
    after_projections,
    after_schur_complements,
    largest_after_projections,
    subtracted,
)
from laconic.covariance.matrix import CHEAP_EIGENVALUES, Covariance
from laconic.covariance.pairs import Pairs, few_differ, revised
from laconic.covariance.views import SubsetCovariance

# After the deflations that have only a weak bound by rows, a matrix of at most this size (8 MB) is written out.
WRITE_OUT_COLUMNS = 1000
# A direction shorter than this, after the earlier directions are subtracted, is only rounding.
SHORTEST = 1e-10


@dataclass(frozen=True)
class Rule:
    """How one step subtracts a component, and the proofs after several steps."""

    # From a step to its columns of W and its block of C.
    correction: Callable[[Step], tuple[Floats, Floats]]
    # Whether a semidefinite matrix stays semidefinite.
    semidefinite: bool
    # From the steps and a shift before them to the shift and the trace after them.
    distance_from_semidefinite: Callable[[Removal, float], tuple[float, float]]


def _hotelling(step: Step) -> tuple[Floats, Floats]:
    return step.direction[:, None], np.array([[step.value]])


def _projection(step: Step) -> tuple[Floats, Floats]:
    return np.stack([step.direction, step.image], axis=1), np.array([[-step.value, 1.0], [1.0, 0.0]])


def _schur(step: Step) -> tuple[Floats, Floats]:
    return step.image[:, None], np.array([[1.0 / step.value]])


HOTELLING = Rule(_hotelling, False, after_hotelling)
PROJECTION = Rule(_projection, True, after_projections)
SCHUR = Rule(_schur, True, after_schur_complements)
# The rule of each deflation, and whether directions are made orthogonal to the earlier ones first.
DEFLATIONS: dict[str, tuple[Rule, bool]] = {
    "hotelling": (HOTELLING, False),
    "projection": (PROJECTION, False),
    "schur": (SCHUR, False),
    "orthogonalized-hotelling": (HOTELLING, True),
    "orthogonalized-projection": (PROJECTION, True),
}


class DeflatedCovariance(Covariance):
    """S - WCW' after some steps of a rule, kept as an operator. W and C are taken as the numbers that they are.

    Entries have the errors of S, of the two products, and of the subtraction. For these the columns of W are scaled by
    powers of two to entries of at most one, and C is scaled back. Then (|W||C||W|')_ij <= max |C_ab| r_i r_j, with r
    the row sums of |W|, is not much too large.
    """

    def __init__(self, base: Covariance, rule: Rule, steps: tuple[Step, ...]) -> None:
        self.base, self.rule, self.steps = base, rule, steps
        columns, blocks = zip(*(rule.correction(step) for step in steps), strict=True)
        self._unscaled = np.concatenate(columns, axis=1), np.asarray(block_diag(*blocks))
        powers = np.frexp(np.abs(self._unscaled[0]).max(axis=0, initial=0.0))[1]
        self.factors: Floats = np.ldexp(self._unscaled[0], -powers)
        self.core: Floats = np.ldexp(self._unscaled[1], powers + powers[:, None])
        self.n_features, self.at_hand, self.entry_cost = base.n_features, base.at_hand, base.entry_cost
        self.written_out, self.slack, self.factor_error = base.written_out, base.slack, base.factor_error
        self.semidefinite = rule.semidefinite and base.semidefinite

    def part(self, keep: Indices) -> Covariance:
        if not self.factors[keep].any():
            # The components that were taken out have no loadings on these features.
            return self.base.part(keep)
        hand = self.at_hand
        if hand is not None and np.isin(keep, hand).all() and not np.array_equal(keep, hand):
            return self.on_hand().part(np.searchsorted(hand, keep))
        left_out = np.ones(self.n_features, dtype=bool)
        left_out[keep] = False
        if any(step.direction[left_out].any() for step in self.steps):
            return SubsetCovariance(self, keep)
        steps = tuple(Step(z[keep], y[keep], v) for z, y, v in self.steps)
        return DeflatedCovariance(self.base.part(keep), self.rule, steps)

    @cached_property
    def _removal(self) -> Removal:
        """The steps on the features at hand."""
        hand = slice(None) if self.at_hand is None else self.at_hand
        steps = tuple(Step(z[hand], y[hand], v) for z, y, v in self.steps)
        return Removal(self.base.on_hand(), self._unscaled[0][hand], self._unscaled[1], steps)

    @property
    def eigenproblem_size(self) -> int:
        return self.base.eigenproblem_size

    def row_parts(self) -> Iterator[tuple[Floats, Floats]] | None:
        parts = self.base.row_parts()
        if parts is None:
            return None
        # WC and W, each with about the root of the largest entry of C in it.
        power = math.frexp(float(np.abs(self.core).max(initial=0.0)))[1] // 2
        own = np.ldexp(self.core.T @ -self.factors.T, -power), np.ldexp(self.factors.T, power)
        return chain(parts, [own])

    def _look_at_pairs(self, count: int, monitor: Monitor) -> Pairs:
        changed = np.flatnonzero(np.any([step.direction != 0 for step in self.steps], axis=0))
        # The deflations of Schur change every entry.
        if self.rule is SCHUR or not few_differ(self.n_features, len(changed)):
            return super()._look_at_pairs(count, monitor)
        return revised(self, self.base, np.arange(self.n_features), changed, count, monitor)

    def _diagonal(self) -> Floats:
        return np.asarray(self.base.diagonal - np.einsum("ij,ij->i", self.factors @ self.core, self.factors))

    @cached_property
    def rounding_unit(self) -> float:
        return max(float(np.abs(self.diagonal).max()), self.base.rounding_unit)

    @cached_property
    def magnitude(self) -> float:
        return self.base.magnitude

    @cached_property
    def size(self) -> Floats:
        height = math.sqrt(float(np.abs(self.core).max(initial=0.0)))
        taken = grown(np.abs(self.factors).sum(axis=1) * height, len(self.core) + 4)
        return np.asarray(up(self.base.size + taken))

    @cached_property
    def spread(self) -> Floats:
        rounding = math.sqrt(gamma(2 * len(self.core) + 8))
        return np.asarray(up(self.base.spread + grown(self.size * rounding, 3)))

    def block(self, rows: Indices, columns: Indices) -> Floats:
        return np.asarray(self.base.block(rows, columns) - self.factors[rows] @ self.core @ self.factors[columns].T)

    def columns(self, indices: Indices) -> Floats:
        return self.base.columns(indices) - self.factors @ (self.core @ self.factors[indices].T)

    def product(self, block: Floats) -> Floats:
        return self.base.product(block) - self.factors @ (self.core @ (self.factors.T @ block))

    def column_lengths(self, seed: int = 0) -> Floats:
        weighted = self.factors @ self.core
        mixed = np.einsum("ij,ij->i", self.base.product(weighted), self.factors)
        own = np.einsum("ij,jk,ik->i", self.factors, weighted.T @ weighted, self.factors)
        return np.asarray(np.maximum(self.base.column_lengths(seed) - 2 * mixed + own, 0.0))

    def submatrix(self, indices: Indices) -> Floats:
        rows = self.factors[indices]
        correction = rows @ self.core @ rows.T
        return self.base.submatrix(indices) - 0.5 * (correction + correction.T)

    def submatrices(self, supports: Indices) -> Floats:
        rows = self.factors[supports]
        correction = rows @ self.core @ rows.transpose(0, 2, 1)
        return self.base.submatrices(supports) - 0.5 * (correction + correction.transpose(0, 2, 1))

    @cached_property
    def largest_by_rows(self) -> ProvedEigenvalue | None:
        if self.n_features <= CHEAP_EIGENVALUES:
            return None
        if self.rule is not PROJECTION:
            # S - WCW' is at most S. This is weak, so a matrix that is not too large is written out instead.
            weak = self.n_features > WRITE_OUT_COLUMNS and (self.core.diagonal() > 0).all()
            return self.base.largest_by_rows if weak else None
        factor = self.base.factor
        if factor is None and self.base.largest_by_rows is not None:
            factor = self.base.rows_as_factor(np.arange(self.n_features))
        if factor is None or len(factor) >= self.n_features:
            return None
        found = largest_after_projections(factor, self._removal)
        return None if found is None else ProvedEigenvalue(sum_up([found.value, self.factor_error]), found.estimate)

    @cached_property
    def _shift_and_trace(self) -> tuple[float, float]:
        before = self.base.known_semidefinite_shift
        if before is None:
            return math.inf, math.inf
        if self.at_hand is None:
            return self.rule.distance_from_semidefinite(self._removal, before)
        # The sum of c zz' makes the whole matrix of Hotelling's deflation semidefinite again.
        excess = self._excess(before)
        return excess, math.inf if self.rule.semidefinite else excess

    def _excess(self, before: float) -> float:
        if self.rule.semidefinite:
            return self.rule.distance_from_semidefinite(self._removal, before)[0]
        return subtracted(self._removal, before)

    @cached_property
    def known_semidefinite_shift(self) -> float | None:
        shift, trace = self._shift_and_trace
        # After Hotelling's deflation the known shift may be far too large. For a small matrix the least is cheap.
        far_too_large = math.isfinite(trace) and self.n_features <= CHEAP_EIGENVALUES and self.at_hand is None
        return shift if math.isfinite(shift) and not far_too_large else None

    @cached_property
    def semidefinite_trace(self) -> float:
        return self._shift_and_trace[1]

    def excess(self, features: Indices) -> float | None:
        before = self.base.excess(features)
        if before is None or any(step.direction[features].any() for step in self.steps):
            return None
        hidden = self.at_hand is not None and not np.isin(features, self.at_hand).any()
        return self._excess(before) if hidden or not self.rule.semidefinite else None


class Deflation:
    """Takes components out of a covariance, one after the other, in one of the five ways."""

    def __init__(self, covariance: Covariance, kind: str) -> None:
        if kind not in DEFLATIONS:
            raise ValueError(f"deflation={kind!r} is not known; choose one of {', '.join(DEFLATIONS)}.")
        self._rule, self._orthogonalized = DEFLATIONS[kind]
        self._base = covariance
        self._steps: tuple[Step, ...] = ()
        self._directions: list[Floats] = []
        self.current: Covariance = covariance

    def remove(self, z: Floats) -> Covariance:
        """Take the unit vector z out, and return the covariance that is left."""
        direction = self._orthogonal_part(z) if self._orthogonalized else z
        if direction is None:
            return self.current
        hand = slice(None) if self._base.at_hand is None else self._base.at_hand
        image = np.zeros(len(direction))
        image[hand] = self.current.on_hand().product(direction[hand])
        value = float(direction @ image)
        if value > 0:
            self._steps = (*self._steps, Step(direction, image, value))
            self.current = DeflatedCovariance(self._base, self._rule, self._steps)
        return self.current

    def _orthogonal_part(self, z: Floats) -> Floats | None:
        """Return z less its part along the directions taken out before, or None if nothing is left."""
        q = z.copy()
        for _ in range(2):  # a second pass removes what rounding left in the first
            for earlier in self._directions:
                q -= (earlier @ q) * earlier
        length = float(np.linalg.norm(q))
        if length < SHORTEST:
            return None
        q /= length
        self._directions.append(q)
        return q
