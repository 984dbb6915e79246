"""A covariance minus a matrix of low rank, kept as an operator."""

import math
from functools import cached_property
from typing import Any

import numpy as np

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices
from laconic.core.eigenvalues import ProvedEigenvalue, semidefinite_shift_of
from laconic.core.rounding import gamma, grown, up
from laconic.covariance.contract import Covariance
from laconic.covariance.deflation_rules import Removal, Rule, Step
from laconic.covariance.enclosure import CHEAP_EIGENVALUES, Enclosure

# Up to this size the largest eigenvalue comes from the written-out matrix, even if there are fewer rows.
WRITTEN_OUT_FIRST = CHEAP_EIGENVALUES


class DeflatedCovariance(Covariance):
    """S - WCW' with few columns of W, and C small and symmetric.

    Parameters
    ----------
    base
        S.
    factors, core
        W and C.
    semidefinite
        Whether S - WCW' is semidefinite by construction.
    """

    #: The rule and the steps that W and C were made by; None for any other W and C, of which less can be proved.
    made_by: tuple[Rule, tuple[Step, ...]] | None = None

    def __init__(self, base: Covariance, factors: Floats, core: Floats, *, semidefinite: bool = False) -> None:
        self.base = base
        self.factors = factors
        self.core = core
        self.n_features = base.n_features
        self.semidefinite = semidefinite
        self.written_out = base.written_out

    @classmethod
    def by_rule(cls, base: Covariance, rule: Rule, steps: tuple[Step, ...]) -> "DeflatedCovariance":
        """Return `base` after some steps of a rule."""
        semidefinite = rule.semidefinite and base.semidefinite
        deflated = cls(base, *rule.factors_and_core(steps), semidefinite=semidefinite)
        deflated.made_by = rule, steps
        return deflated

    @property
    def eigenproblem_size(self) -> int:
        return self.base.eigenproblem_size

    def _diagonal(self) -> Floats:
        return np.asarray(self.base.diagonal - np.einsum("ij,ij->i", self.factors @ self.core, self.factors))

    def _rounding_unit(self) -> float:
        return max(super()._rounding_unit(), self.base.rounding_unit)

    def _enclosure(self) -> Enclosure:
        return DeflatedEnclosure(self)

    def _semidefinite_shift(self) -> float:
        known = self.enclosure.known_semidefinite_shift
        if known is not None:
            return known
        n = self.n_features
        return semidefinite_shift_of(self.submatrix(np.arange(n))) if n <= WRITE_OUT_LIMIT else np.inf

    @property
    def semidefinite_trace(self) -> float:
        return self.enclosure.semidefinite_trace

    def digest_parts(self) -> list[Any]:
        return [type(self).__name__, self.base, self.factors, self.core]

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


class DeflatedEnclosure(Enclosure):
    """S - WCW' with the errors of S, of the two products, and of the subtraction.

    The columns of W are scaled by powers of two to entries of at most one, and C is scaled back. Then
    (|W||C||W|')_ij <= max |C_ab| r_i r_j, with r the row sums of |W|, is not much too large.
    """

    def __init__(self, covariance: DeflatedCovariance) -> None:
        factors, core = covariance.factors, covariance.core
        self._base = covariance.base.enclosure
        self.n = self._base.n
        powers = np.frexp(np.abs(factors).max(axis=0, initial=0.0))[1]
        self._factors = np.ldexp(factors, -powers)
        self._core = np.ldexp(core, powers + powers[:, None])
        self._rule: Rule | None = None
        if covariance.made_by is not None:
            self._rule, steps = covariance.made_by
            self._removal = Removal(self._base, factors, core, steps)

    @cached_property
    def _taken(self) -> Floats:
        """A vector r with (|W||C||W|')_ij <= r_i r_j."""
        height = math.sqrt(float(np.abs(self._core).max(initial=0.0)))
        return np.asarray(grown(np.abs(self._factors).sum(axis=1) * height, len(self._core) + 4))

    @cached_property
    def size(self) -> Floats:
        return np.asarray(up(self._base.size + self._taken))

    @cached_property
    def spread(self) -> Floats:
        rounding = math.sqrt(gamma(2 * len(self._core) + 8))
        return np.asarray(up(self._base.spread + grown(self.size * rounding, 3)))

    @cached_property
    def magnitude(self) -> float:
        return self._base.magnitude

    def block(self, rows: Indices, columns: Indices) -> Floats:
        taken = self._factors[rows] @ self._core @ self._factors[columns].T
        return np.asarray(self._base.block(rows, columns) - taken)

    def _whole(self) -> Floats:
        return np.asarray(self._base._whole() - self._factors @ self._core @ self._factors.T)

    @cached_property
    def diagonal(self) -> Floats:
        return np.asarray(self._base.diagonal - np.einsum("ij,ij->i", self._factors @ self._core, self._factors))

    @cached_property
    def largest_by_rows(self) -> ProvedEigenvalue | None:
        factor = self._base.factor
        if self._rule is None or factor is None or len(factor) >= self.n:
            return None
        if self.n <= WRITTEN_OUT_FIRST:
            # After a subtraction this bound has a larger margin than that of the matrix, which a certificate made from
            # the same rows in another form may not leave room for.
            return None
        return self._rule.largest(factor, self._removal)

    @cached_property
    def _shift_and_trace(self) -> tuple[float, float]:
        before = self._base.known_semidefinite_shift
        if self._rule is None or before is None:
            return math.inf, math.inf
        return self._rule.distance_from_semidefinite(self._removal, before)

    def excess(self, rounding: float) -> float:
        """Return the number `Rule.excess` of the steps; infinite if they were not made by a rule."""
        return math.inf if self._rule is None else self._rule.excess(self._removal, rounding)

    @cached_property
    def known_semidefinite_shift(self) -> float | None:
        shift, trace = self._shift_and_trace
        # After Hotelling's deflation the known shift may be far too large. For a small matrix the least is cheap.
        far_too_large = math.isfinite(trace) and self.n <= CHEAP_EIGENVALUES
        return shift if math.isfinite(shift) and not far_too_large else None

    @cached_property
    def semidefinite_trace(self) -> float:
        return self._shift_and_trace[1]
