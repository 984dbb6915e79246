"""Covariances derived from another one: some of its features, and many features of which few are at hand.

**Many features, few at hand.** Of the features that are not at hand, called hidden, only the variances are known. They
enter a bound through these (the witness of two groups). Components are found among the features at hand, so that their
loadings on hidden features are zero. The variances of features on which the components taken out are zero never grow
(`laconic.covariance.deflation`), so no product with hidden rows is ever needed.
"""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.eigenvalues import ProvedEigenvalue
from laconic.core.monitor import Monitor
from laconic.core.rounding import grown, up
from laconic.covariance.matrix import CHEAP_EIGENVALUES, Covariance
from laconic.covariance.pairs import Pairs, few_differ, revised

if TYPE_CHECKING:
    from laconic.covariance.screening import Screening

NOT_AT_HAND = "The rows of some features are not at hand: only their variances were read."


class SubsetCovariance(Covariance):
    """The principal submatrix of `base` on the features `keep`, as a view."""

    base: Covariance

    def __init__(self, base: Covariance, keep: Indices) -> None:
        self.base = base
        self.keep: Indices = keep
        self.n_features = len(keep)
        self.semidefinite, self.written_out, self.slack = base.semidefinite, base.written_out, base.slack
        self.factor_error, self.entry_cost = base.factor_error, base.entry_cost
        if base.at_hand is not None:
            self.at_hand = np.flatnonzero(np.isin(keep, base.at_hand))

    def part(self, keep: Indices) -> Covariance:
        return self.base.part(self.keep[keep])

    @cached_property
    def factor(self) -> Floats | None:
        return None if self.base.factor is None else self.base.factor[:, self.keep]

    def rows_as_factor(self, columns: Indices) -> Floats | None:
        return self.base.rows_as_factor(self.keep[columns])

    def row_parts(self) -> Iterator[tuple[Floats, Floats]] | None:
        parts = self.base.row_parts()
        if parts is None:
            return None
        own = ((left[:, self.keep], None if right is left else right[:, self.keep]) for left, right in parts)
        return ((left, left if right is None else right) for left, right in own)

    def _look_at_pairs(self, count: int, monitor: Monitor) -> Pairs:
        if few_differ(self.n_features, self.base.n_features - self.n_features):
            return revised(self, self.base, self.keep, np.empty(0, dtype=np.intp), count, monitor)
        return super()._look_at_pairs(count, monitor)

    def _diagonal(self) -> Floats:
        return self.base.diagonal[self.keep]

    @cached_property
    def rounding_unit(self) -> float:
        deflated = self.base.rounding_unit > np.abs(self.base.diagonal).max()
        return self.base.rounding_unit if deflated else float(np.abs(self.diagonal).max())

    @cached_property
    def spread(self) -> Floats:
        return self.base.spread[self.keep]

    @cached_property
    def size(self) -> Floats:
        return self.base.size[self.keep]

    @cached_property
    def largest_by_rows(self) -> ProvedEigenvalue | None:
        if self.factor is not None and len(self.factor) < self.n_features:
            return self.largest_of(self.factor)
        # The largest eigenvalue of a part is at most that of the whole.
        return self.base.largest_by_rows if self.n_features > CHEAP_EIGENVALUES and self.factor is None else None

    @cached_property
    def known_semidefinite_shift(self) -> float | None:
        # The smallest eigenvalue of a principal submatrix is at least that of the whole.
        return self.base.known_semidefinite_shift

    @cached_property
    def semidefinite_trace(self) -> float:
        return self.base.semidefinite_trace

    def excess(self, features: Indices) -> float | None:
        return self.base.excess(self.keep[features])

    def block(self, rows: Indices, columns: Indices) -> Floats:
        return self.base.block(self.keep[rows], self.keep[columns])

    def submatrix(self, indices: Indices) -> Floats:
        return self.base.submatrix(self.keep[indices])

    def submatrices(self, supports: Indices) -> Floats:
        return self.base.submatrices(self.keep[supports])

    def product(self, block: Floats) -> Floats:
        whole = np.zeros((self.base.n_features, *block.shape[1:]))
        whole[self.keep] = block
        return self.base.product(whole)[self.keep]


class ScreenedCovariance(Covariance):
    """S of n features, with `inner` its part on the features at hand, and the variances of all.

    Parameters
    ----------
    inner
        The covariance of the features at hand.
    at_hand
        These features, in increasing order.
    variances, errors
        The computed variances of all features, and bounds on their rounding errors.
    slack
        As in `Covariance`.
    screening
        Reads more columns of S; None if there is no source behind S.
    """

    known_semidefinite_shift = 0.0

    def __init__(
        self,
        inner: Covariance,
        at_hand: Indices,
        variances: Floats,
        errors: Floats,
        *,
        slack: float = 0.0,
        screening: "Screening | None" = None,
    ) -> None:
        self.inner, self.screening, self.slack = inner, screening, slack
        self.entry_cost = inner.entry_cost
        self.at_hand: Indices = at_hand
        self.n_features = len(variances)
        self._variances, self._errors = variances, errors

    def part(self, keep: Indices) -> Covariance:
        own = np.isin(keep, self.at_hand)
        if own.all():
            places = self._places(keep)
            same = np.array_equal(places, np.arange(self.inner.n_features))
            return self.inner if same else self.inner.part(places)
        return SubsetCovariance(self, keep)

    def _places(self, features: Indices) -> Indices:
        """Return the places of features among those at hand, or raise a ValueError if one is hidden."""
        assert self.at_hand is not None
        places = np.searchsorted(self.at_hand, features)
        if not np.array_equal(self.at_hand[np.minimum(places, len(self.at_hand) - 1)], features):
            raise ValueError(NOT_AT_HAND)
        return places

    def _filled(self, hidden: Floats, own: Floats) -> Floats:
        whole = np.array(hidden)
        whole[self.at_hand] = own
        return whole

    def _diagonal(self) -> Floats:
        return self._filled(self._variances, self.inner.diagonal)

    @cached_property
    def spread(self) -> Floats:
        return self._filled(grown(np.sqrt(self._errors), 2), self.inner.spread)

    @cached_property
    def size(self) -> Floats:
        return self._filled(grown(np.sqrt(up(self._variances + self._errors)), 2), self.inner.size)

    @cached_property
    def magnitude(self) -> float:
        return max(self.inner.magnitude, math.sqrt(float(self._variances.max(initial=0.0))))

    def block(self, rows: Indices, columns: Indices) -> Floats:
        return self.inner.block(self._places(rows), self._places(columns))

    def product(self, block: Floats) -> Floats:  # noqa: ARG002 - the contract
        raise ValueError(NOT_AT_HAND)
