"""Projection on {X >= 0, Tr X = 1}, following the few eigenvectors that matter from one call to the next."""

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import orthonormal

# Below this size a whole eigendecomposition is cheaper than following a subspace.
WHOLE = 48
# Eigenvectors followed beyond those in use, so that a new one is seen coming.
SPARE = 3
# Sweeps over the subspace before a whole decomposition is taken instead.
SWEEPS = 3


def project_simplex(values: Floats) -> Floats:
    """Return the nearest point with non-negative entries that add up to one; `values` fall from the first on."""
    excess, shift = -1.0, 0.0
    for count, value in enumerate(values.tolist(), start=1):
        excess += value
        if count * value <= excess:
            break
        shift = excess / count
    return np.asarray(np.maximum(values - shift, 0.0))


class SpectrahedronProjection:
    """Projects matrices that change little from call to call.

    The projection shifts the eigenvalues down until the positive part adds up to one; only eigenvectors of that part
    count, and near a solution they are one or two. They are found by Rayleigh-Ritz on the span of the last ones and
    their images, swept until their residual is small beside `accuracy`. The result is a point of the spectrahedron
    whatever the accuracy.
    """

    def __init__(self) -> None:
        self.basis: Floats | None = None

    def grown(self, n: int, places: Indices) -> "SpectrahedronProjection":
        """Return a projection for n rows, the present ones at `places`; this one is left as it is."""
        result = SpectrahedronProjection()
        if self.basis is not None:
            result.basis = np.zeros((n, self.basis.shape[1]))
            result.basis[places] = self.basis
        return result

    def __call__(self, W: Floats, accuracy: float) -> tuple[Floats, Floats]:
        """Return F with F F' the projection, and its squared column lengths, falling."""
        n = len(W)
        if n > WHOLE and self.basis is not None and 6 * self.basis.shape[1] < n:
            found = self._followed(W, self.basis, accuracy)
            if found is not None:
                return found
        values, vectors = np.linalg.eigh(W)
        return self._shifted(values[::-1], vectors[:, ::-1])

    def _shifted(self, values: Floats, vectors: Floats) -> tuple[Floats, Floats]:
        weights = project_simplex(values)
        # What rounding leaves of a sum of one when values are large.
        weights /= weights.sum()
        used = int(np.count_nonzero(weights))
        self.basis = np.ascontiguousarray(vectors[:, : used + SPARE])
        return vectors[:, :used] * np.sqrt(weights[:used]), weights[:used]

    def _followed(self, W: Floats, basis: Floats, accuracy: float) -> tuple[Floats, Floats] | None:
        for _ in range(SWEEPS):
            span = orthonormal(np.concatenate([basis, W @ basis], axis=1))
            images = W @ span
            inner = span.T @ images
            values, rotation = np.linalg.eigh(0.5 * (inner + inner.T))
            values, rotation = values[::-1], rotation[:, ::-1]
            # The span holds twice as many vectors as were followed, so a growing rank is seen and taken in.
            used = int(np.count_nonzero(project_simplex(values)))
            if used + SPARE > rotation.shape[1]:
                return None
            rotation = rotation[:, : used + SPARE]
            basis = span @ rotation
            residual = images @ rotation[:, :used] - basis[:, :used] * values[:used]
            if float(np.sqrt((residual**2).sum(axis=0)).max()) <= accuracy:
                return self._shifted(values[: used + SPARE], basis)
        return None
