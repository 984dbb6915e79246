"""A covariance of many features: all variances, and the whole rows of the few features that can matter.

The features of the second group, called hidden, enter a bound only through their variances (the witness of two groups).
Components are found among the features at hand, so that their loadings on hidden features are zero.

**Variances of hidden features never grow under deflation.** Let z be zero at the hidden feature i, and y = Sz.

    projection   ((I - zz') S (I - zz'))_ii = S_ii - 2 z_i y_i + z_i^2 z'y = S_ii
    hotelling    (S - v zz')_ii = S_ii - v z_i^2 = S_ii
    schur        (S - yy'/v)_ii = S_ii - y_i^2/v <= S_ii

The orthogonalised rules take out q, a combination of components, and q_i = 0 as well. So the variances before deflation
bound those after it, for any number of components, and no product with hidden rows is needed.

**The distance to a semidefinite matrix.** Let A be a set of features at hand and B a set of hidden ones. The bound of
two groups limits the entries S_AB by variances. For this it needs a semidefinite matrix M with M_AB = S_AB and
M_BB <= S_BB. S is the matrix that certificates are about: as computed among the features at hand, and exact elsewhere.
Let e (`excess`) be a number with M_AA <= S_AA + e I, and r a bound on the rounding error of S_AA before deflation.

    no deflation        M is the exact covariance of the data, and e = r.
    projection, schur   M is the exact deflation of the exact covariance, and e is r and the errors of the steps. Schur
                        complements are monotone: that of M is not above that of S_AA + r I.
    hotelling           The exact deflation is indefinite. M is the exact covariance before it: M_AB is the same,
                        because z_B = 0, and M_AA <= S_AA + r I + sum of c zz'. So e is r and the sum of c |z|^2.

Let a bound the supports in A, and b be the sum of the variances of B. A unit vector x has a part of length cos f on A
and a part of length sin f on B. The first gives at most a cos^2 f, the second b sin^2 f, and both together
2 ((a + e) b)^(1/2) cos f sin f. So the value is at most the larger eigenvalue of [[a, c], [c, b]] with c^2 = (a + e) b,
which is a + b if e = 0.
"""

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.covariance.contract import Covariance
from laconic.covariance.deflated import DeflatedEnclosure
from laconic.covariance.enclosure import Enclosure

if TYPE_CHECKING:
    from laconic.covariance.screening import Screening

NOT_AT_HAND = "The rows of some features are not at hand: only their variances were read."


class ScreenedCovariance(Covariance):
    """S of n features, with `inner` its part on the features at hand, and the variances of all.

    Parameters
    ----------
    inner
        The covariance of the features at hand, perhaps deflated.
    at_hand
        These features, in increasing order.
    variances, errors
        The computed variances of all features before any deflation, and bounds on their rounding errors.
    rounding
        The number r: a bound on the norm of the rounding error of `inner` before any deflation.
    screening
        Reads more rows of S, for `widened`; None if there is no source behind S.
    """

    def __init__(
        self,
        inner: Covariance,
        at_hand: Indices,
        variances: Floats,
        errors: Floats,
        rounding: float,
        screening: "Screening | None" = None,
    ) -> None:
        self.inner = inner
        self.at_hand: Indices = at_hand
        self.n_features = len(variances)
        self.semidefinite = inner.semidefinite
        self._variances, self._errors, self._rounding, self._screening = variances, errors, rounding, screening

    def around(self, inner: Covariance) -> "ScreenedCovariance":
        """Return the same features after the part at hand was deflated."""
        return ScreenedCovariance(inner, self.at_hand, self._variances, self._errors, self._rounding, self._screening)

    def on_hand(self) -> Covariance:
        return self.inner

    def widened(self, least: float, components: Floats) -> Covariance | None:
        if self._screening is None:
            return None
        own = components[:, self.at_hand]
        values = np.einsum("ij,ij->i", own, self.inner.product(own.T).T)
        return self._screening.widened(self.at_hand, least, components, values)

    def _places(self, indices: Indices) -> Indices:
        return places_in(self.at_hand, indices)

    def _diagonal(self) -> Floats:
        diagonal = self._variances.copy()
        diagonal[self.at_hand] = self.inner.diagonal
        return diagonal

    def _rounding_unit(self) -> float:
        return max(super()._rounding_unit(), self.inner.rounding_unit)

    def _enclosure(self) -> Enclosure:
        inner = self.inner.enclosure
        excess = inner.excess(self._rounding) if isinstance(inner, DeflatedEnclosure) else self._rounding
        return ScreenedEnclosure(inner, self.at_hand, self._variances, self._errors, excess)

    def _semidefinite_shift(self) -> float:
        shift = self.enclosure.known_semidefinite_shift
        return np.inf if shift is None else shift

    @property
    def semidefinite_trace(self) -> float:
        return self.enclosure.semidefinite_trace

    def digest_parts(self) -> list[Any]:
        return [type(self).__name__, self.inner, self.at_hand, self._variances]

    def columns(self, indices: Indices) -> Floats:  # noqa: ARG002 - the contract
        raise ValueError(NOT_AT_HAND)

    def product(self, block: Floats) -> Floats:  # noqa: ARG002 - the contract
        raise ValueError(NOT_AT_HAND)

    def submatrix(self, indices: Indices) -> Floats:
        return self.inner.submatrix(self._places(indices))

    def submatrices(self, supports: Indices) -> Floats:
        return self.inner.submatrices(self._places(supports.ravel()).reshape(supports.shape))


class ScreenedEnclosure(Enclosure):
    """The enclosure of a `ScreenedCovariance`."""

    def __init__(self, inner: Enclosure, at_hand: Indices, variances: Floats, errors: Floats, excess: float) -> None:
        self._inner, self._at_hand = inner, at_hand
        self._variances, self._errors, self._excess = variances, errors, excess
        self.n = len(variances)

    def _filled(self, hidden: Floats, own: Floats) -> Floats:
        whole = np.array(hidden)
        whole[self._at_hand] = own
        return whole

    @cached_property
    def spread(self) -> Floats:
        return self._filled(np.sqrt(self._errors) * (1 + 1e-15), self._inner.spread)

    @cached_property
    def size(self) -> Floats:
        return self._filled(np.sqrt(self._variances + self._errors) * (1 + 1e-15), self._inner.size)

    @cached_property
    def diagonal(self) -> Floats:
        return self._filled(self._variances, self._inner.diagonal)

    @cached_property
    def magnitude(self) -> float:
        return max(self._inner.magnitude, float(self.size.max(initial=0.0)))

    def block(self, rows: Indices, columns: Indices) -> Floats:
        return self._inner.block(places_in(self._at_hand, rows), places_in(self._at_hand, columns))

    def part(self, keep: Indices) -> Enclosure:
        own = np.isin(keep, self._at_hand)
        if own.all():
            return self._inner.part(places_in(self._at_hand, keep))
        inner = self._inner.part(places_in(self._at_hand, keep[own]))
        return ScreenedEnclosure(inner, np.flatnonzero(own), self._variances[keep], self._errors[keep], self._excess)

    def hidden_excess(self, features: Indices) -> float | None:
        return None if np.isin(features, self._at_hand).any() else self._excess

    @cached_property
    def known_semidefinite_shift(self) -> float | None:
        return self._excess

    @cached_property
    def semidefinite_trace(self) -> float:
        # Only Hotelling's deflation has a finite one. The sum of c zz' makes the whole matrix semidefinite again.
        return self._excess if math.isfinite(self._inner.semidefinite_trace) else math.inf


def places_in(at_hand: Indices, features: Indices) -> Indices:
    """Return the places of features among those at hand, or raise a ValueError if one is hidden."""
    places = np.searchsorted(at_hand, features)
    if not np.array_equal(at_hand[np.minimum(places, len(at_hand) - 1)], features):
        raise ValueError(NOT_AT_HAND)
    return places
