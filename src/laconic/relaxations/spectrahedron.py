"""Projection on the spectrahedron {X >= 0, Tr X = 1}, for matrices that change little from call to call."""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import orthonormal

# Up to this size, a full eigendecomposition takes less time than an update of a few eigenvectors.
WHOLE = 48
# Eigenvectors that are updated beyond those in use. A new one is then known before it is needed.
SPARE = 3
# Updates before a full eigendecomposition is computed in their place.
SWEEPS = 3


def project_simplex(values: Floats) -> Floats:
    """Return the nearest point with non-negative entries that sum to one.

    Parameters
    ----------
    values
        Numbers in decreasing order.
    """
    excess, shift = -1.0, 0.0
    for count, value in enumerate(values.tolist(), start=1):
        excess += value
        if count * value <= excess:
            break
        shift = excess / count
    return np.asarray(np.maximum(values - shift, 0.0))


class SpectrahedronProjection:
    """Projects matrices that change little from call to call.

    The projection lowers all eigenvalues by one number, so that the positive ones sum to one. Only the eigenvectors of
    the positive ones matter; near a solution these are one or two. They are computed by Rayleigh-Ritz on the span of
    the last ones and their images. This is repeated until the residual is below `accuracy`. The result lies in the
    spectrahedron for any accuracy.
    """

    def __init__(self) -> None:
        self.basis: Floats | None = None

    def grown(self, n: int, places: Indices) -> "SpectrahedronProjection":
        """Return a projection for larger matrices.

        Parameters
        ----------
        n
            The number of rows of the larger matrices.
        places
            The positions of the present rows among them.
        """
        result = SpectrahedronProjection()
        if self.basis is not None:
            result.basis = np.zeros((n, self.basis.shape[1]))
            result.basis[places] = self.basis
        return result

    def __call__(self, W: Floats, accuracy: float) -> tuple[Floats, Floats]:
        """Return F, with FF' the projection of W, and the squared lengths of its columns in decreasing order.

        Parameters
        ----------
        W
            A symmetric matrix.
        accuracy
            The residual that the eigenvectors may have.
        """
        n = len(W)
        if n > WHOLE and self.basis is not None and 6 * self.basis.shape[1] < n:
            found = self._updated(W, self.basis, accuracy)
            if found is not None:
                return found
        values, vectors = np.linalg.eigh(W)
        return self._shifted(values[::-1], vectors[:, ::-1])

    def _shifted(self, values: Floats, vectors: Floats) -> tuple[Floats, Floats]:
        weights = project_simplex(values)
        # Large eigenvalues leave a rounding error in the sum, which must be one.
        weights /= weights.sum()
        used = int(np.count_nonzero(weights))
        self.basis = np.ascontiguousarray(vectors[:, : used + SPARE])
        return vectors[:, :used] * np.sqrt(weights[:used]), weights[:used]

    def _updated(self, W: Floats, basis: Floats, accuracy: float) -> tuple[Floats, Floats] | None:
        """Return the projection from updated eigenvectors, or None if they do not become accurate."""
        for _ in range(SWEEPS):
            span = orthonormal(np.concatenate([basis, W @ basis], axis=1))
            images = W @ span
            inner = span.T @ images
            values, rotation = np.linalg.eigh(0.5 * (inner + inner.T))
            values, rotation = values[::-1], rotation[:, ::-1]
            # The span has twice as many vectors as the basis, so the rank can grow.
            used = int(np.count_nonzero(project_simplex(values)))
            if used + SPARE > rotation.shape[1]:
                return None
            rotation = rotation[:, : used + SPARE]
            basis = span @ rotation
            residual = images @ rotation[:, :used] - basis[:, :used] * values[:used]
            if float(np.sqrt((residual**2).sum(axis=0)).max()) <= accuracy:
                return self._shifted(values[: used + SPARE], basis)
        return None
