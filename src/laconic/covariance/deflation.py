"""Five ways to take a component out (Mackey 2008).

A sparse component is not an eigenvector, so subtracting it the way of plain PCA leaves a matrix that still holds some
of its variance, or is no longer semidefinite. With S the current covariance, z the unit component, v = z'Sz, and q
the part of z orthogonal to the directions taken out before, scaled to unit length:

    hotelling                   S - v zz'
    projection                  (I - zz') S (I - zz')
    schur                       S - S zz' S / v
    orthogonalized-hotelling    S - (q'Sq) qq'
    orthogonalized-projection   (I - qq') S (I - qq')

Each result is S less a matrix of low rank and is kept so: W C W' with a column or two of W for each component.
Projection and the Schur complement keep S semidefinite; the two of Hotelling do not.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats
from laconic.covariance.base import Covariance
from laconic.covariance.deflated import DeflatedCovariance


def _hotelling(z: Floats, _image: Floats, value: float) -> tuple[Floats, Floats]:
    return z[:, None], np.array([[value]])


def _projection(z: Floats, image: Floats, value: float) -> tuple[Floats, Floats]:
    # z(Sz)' + (Sz)z' - v zz'
    return np.stack([z, image], axis=1), np.array([[-value, 1.0], [1.0, 0.0]])


def _schur(_z: Floats, image: Floats, value: float) -> tuple[Floats, Floats]:
    return image[:, None], np.array([[1.0 / value]])


@dataclass(frozen=True)
class _Rule:
    correction: Callable[[Floats, Floats, float], tuple[Floats, Floats]]
    orthogonalized: bool
    semidefinite: bool
    by_image: bool = False


DEFLATIONS: dict[str, _Rule] = {
    "hotelling": _Rule(_hotelling, orthogonalized=False, semidefinite=False),
    "projection": _Rule(_projection, orthogonalized=False, semidefinite=True),
    "schur": _Rule(_schur, orthogonalized=False, semidefinite=True, by_image=True),
    "orthogonalized-hotelling": _Rule(_hotelling, orthogonalized=True, semidefinite=False),
    "orthogonalized-projection": _Rule(_projection, orthogonalized=True, semidefinite=True),
}


class Deflation:
    """Takes components out of a covariance one after the other.

    Parameters
    ----------
    covariance
        What there is to begin with.
    kind
        One of the five names.
    """

    def __init__(self, covariance: Covariance, kind: str) -> None:
        if kind not in DEFLATIONS:
            raise ValueError(f"deflation={kind!r} is not known; choose one of {', '.join(DEFLATIONS)}.")
        self._rule = DEFLATIONS[kind]
        self._base = covariance
        self._directions: list[Floats] = []
        self.current: Covariance = covariance

    def remove(self, z: Floats) -> Covariance:
        """Take the unit vector z out and return what is left."""
        direction = self._orthogonal_part(z) if self._rule.orthogonalized else z
        if direction is None:
            return self.current
        image = self.current.product(direction)
        value = float(direction @ image)
        if value <= 0:
            return self.current
        factors, core = self._rule.correction(direction, image, value)
        preimages = direction[:, None] if self._rule.by_image else None
        if isinstance(self.current, DeflatedCovariance) and self.current is not self._base:
            before = len(self.current.core)
            grown = np.zeros((before + len(core), before + len(core)))
            grown[:before, :before] = self.current.core
            grown[before:, before:] = core
            factors, core = np.concatenate([self.current.factors, factors], axis=1), grown
            if preimages is not None and self.current.preimages is not None:
                preimages = np.concatenate([self.current.preimages, preimages], axis=1)
        semidefinite = self._rule.semidefinite and self._base.semidefinite
        self.current = DeflatedCovariance(self._base, factors, core, semidefinite=semidefinite, preimages=preimages)
        return self.current

    def _orthogonal_part(self, z: Floats) -> Floats | None:
        """Return z less its part along the directions taken out before, or None if nothing is left."""
        q = z.copy()
        for _ in range(2):  # twice is enough, said Kahan of Gram-Schmidt
            for earlier in self._directions:
                q -= (earlier @ q) * earlier
        length = float(np.linalg.norm(q))
        if length < 1e-10:
            return None
        q /= length
        self._directions.append(q)
        return q
