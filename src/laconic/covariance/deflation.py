"""Five ways to take a component out of a covariance (Mackey 2008).

A sparse component is not an eigenvector. Subtracting it as in ordinary PCA may leave some of its variance in the
matrix, or a matrix that is not semidefinite. With S the current covariance, z the unit component, y = Sz, v = z'y, and
q the part of z orthogonal to the directions taken out before, scaled to unit length:

    hotelling                   S - v zz'
    projection                  (I - zz') S (I - zz') = S - zy' - yz' + v zz'
    schur                       S - yy' / v
    orthogonalized-hotelling    S - (q'Sq) qq'
    orthogonalized-projection   (I - qq') S (I - qq')

The result is kept as S less a matrix of low rank. The two deflations of Hotelling may leave S indefinite. If only some
features of S are at hand, components are zero at all others, and the part at hand is deflated
(`laconic.covariance.screened`).
"""

import numpy as np

from laconic.core.arrays import Floats
from laconic.covariance.contract import Covariance
from laconic.covariance.deflated import DeflatedCovariance
from laconic.covariance.deflation_rules import HOTELLING, PROJECTION, SCHUR, Rule, Step

# A direction shorter than this, after the earlier directions are subtracted, is only rounding.
SHORTEST = 1e-10


# The rule of each deflation, and whether directions are made orthogonal to the earlier ones first.
DEFLATIONS: dict[str, tuple[Rule, bool]] = {
    "hotelling": (HOTELLING, False),
    "projection": (PROJECTION, False),
    "schur": (SCHUR, False),
    "orthogonalized-hotelling": (HOTELLING, True),
    "orthogonalized-projection": (PROJECTION, True),
}


class Deflation:
    """Takes components out of a covariance, one after the other, in one of the five ways."""

    def __init__(self, covariance: Covariance, kind: str) -> None:
        if kind not in DEFLATIONS:
            raise ValueError(f"deflation={kind!r} is not known; choose one of {', '.join(DEFLATIONS)}.")
        self._rule, self._orthogonalized = DEFLATIONS[kind]
        self._whole, self._base = covariance, covariance.on_hand()
        self._steps: tuple[Step, ...] = ()
        self._directions: list[Floats] = []
        self.current: Covariance = covariance

    def remove(self, z: Floats) -> Covariance:
        """Take the unit vector z out, and return the covariance that is left."""
        z = z if self._whole.at_hand is None else z[self._whole.at_hand]
        direction = self._orthogonal_part(z) if self._orthogonalized else z
        if direction is None:
            return self.current
        image = self.current.on_hand().product(direction)
        value = float(direction @ image)
        if value <= 0:
            return self.current
        step = Step(direction, image, value)
        left = self.current.without(self._rule, step)
        if left is not None:
            self.current = left
            return left
        self._steps = (*self._steps, step)
        deflated = DeflatedCovariance.by_rule(self._base, self._rule, self._steps)
        self.current = self._whole.around(deflated)
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
