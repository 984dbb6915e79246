"""The variance that several components hold together.

Let u_1, ..., u_r be components, with at most k_1, ..., k_r nonzeros, and P the orthogonal projection on their span. The
data projected on the span have the variance

    Tr(PS) = Tr( (U'U)^{-1} U'SU ),    U = (u_1, ..., u_r).

The components need not be orthogonal, and their supports may overlap. Replacing S by S + d I adds d r for components
that are independent, so that the best components stay the same.
"""

from dataclasses import dataclass, field

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance

# Components count as independent of each other if the squared part of each unit vector outside the span of the others
# is at least this. Components that nearly coincide would hold more in the limit, and nobody could tell them apart.
APART = 0.01
# Directions in which the Gram matrix of unit components has an eigenvalue below this are rounding.
DEPENDENT = 1e-6


@dataclass(frozen=True, eq=False)
class SpanQuestion:
    """Maximise Tr(PS) over components with at most k_t nonzeros each.

    Attributes
    ----------
    covariance
        The matrix S.
    cardinalities
        The largest number of nonzeros of each component.
    forced
        Features that every support must contain.
    monitor
        Stops the search at the time limit or at Ctrl-C.
    """

    covariance: Covariance
    cardinalities: tuple[int, ...]
    forced: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    monitor: Monitor = field(default_factory=Monitor)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.covariance.n_features


def basis_of_span(components: Floats, images: Floats) -> tuple[Floats, Floats]:
    """Return Q and SQ, the columns of Q an orthonormal basis of the span of unit vectors U, given `images` = SU.

    Directions of the span in which the components hardly differ (`DEPENDENT`) are left out.
    """
    values, vectors = np.linalg.eigh(components.T @ components)
    usable = values > DEPENDENT
    change = vectors[:, usable] / np.sqrt(values[usable])
    return components @ change, images @ change


def variance_of_span(components: Floats, images: Floats) -> float:
    """Return Tr(PS) for unit vectors in the columns of U, given `images` = SU."""
    basis, image = basis_of_span(components, images)
    return float(np.einsum("ij,ij->", basis, image))


def outside_others(components: Floats) -> Floats:
    """Return, for each column of unit length, the squared length of its part outside the span of the others."""
    inverse = np.linalg.pinv(components.T @ components, hermitian=True)
    return np.asarray(1.0 / np.maximum(inverse.diagonal(), 1.0))
