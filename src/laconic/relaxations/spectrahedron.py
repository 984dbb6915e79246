"""Projection on the spectrahedron {X >= 0, Tr X = 1}, for matrices that change little from call to call.

`laconic.relaxations.rows.kernels` has the same method in compiled code, and reads the constants here.
"""

import numpy as np

from laconic.core.arrays import Floats, Indices

# Up to this size, a full eigendecomposition takes less time than an update of a few eigenvectors.
WHOLE = 48
# Eigenvectors that are updated beyond those in use. A new one is then known before it is needed.
SPARE = 3
# Updates before a full eigendecomposition is computed in their place.
SWEEPS = 3


def project(W: Floats, basis: Floats, accuracy: float) -> tuple[Floats, Floats, Floats]:
    """Return F, with FF' the projection of W, the squared lengths of its columns, and the basis for the next call.

    The projection lowers all eigenvalues by one number, so that the positive ones sum to one. Only the eigenvectors of
    the positive ones matter; near a solution these are one or two. They are computed by Rayleigh-Ritz on the span of
    the last basis (n x 0 at first) and its image. This is repeated until the residual is below `accuracy`. The result
    lies in the spectrahedron for any accuracy.
    """

    def weights_of(values: Floats) -> Floats:
        """Return the positive entries of the nearest point of the simplex to decreasing values."""
        level, used, total = 0.0, 0, -1.0
        for i in range(len(values)):
            total += values[i]
            if (i + 1) * values[i] <= total:
                break
            level, used = total / (i + 1), i + 1
        return values[:used] - level

    n, b = W.shape[0], basis.shape[1]
    if n > WHOLE and 0 < 6 * b < n:
        for _ in range(SWEEPS):
            span = np.ascontiguousarray(np.linalg.qr(np.concatenate((basis, W @ basis), axis=1))[0])
            images = W @ span
            inner = span.T @ images
            values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
            values = np.ascontiguousarray(values[::-1])
            weights = weights_of(values)
            used = len(weights)
            # The span has twice as many vectors as the basis, so the rank can grow.
            if used + SPARE > len(values):
                break
            rotation = np.ascontiguousarray(vectors[:, ::-1][:, : used + SPARE])
            basis = span @ rotation
            residual = (images @ rotation)[:, :used] - basis[:, :used] * values[:used]
            if np.sqrt((residual**2).sum(axis=0).max()) <= accuracy:
                # Large eigenvalues leave a rounding error in the sum, which must be one.
                weights /= weights.sum()
                return basis[:, :used] * np.sqrt(weights), weights, basis
    values, vectors = np.linalg.eigh(W)
    weights = weights_of(np.ascontiguousarray(values[::-1]))
    used = len(weights)
    weights /= weights.sum()
    basis = np.ascontiguousarray(vectors[:, ::-1][:, : used + SPARE])
    return basis[:, :used] * np.sqrt(weights), weights, basis


class SpectrahedronProjection:
    """A projection that keeps its own basis from call to call. See `project` for the method."""

    def __init__(self) -> None:
        self._basis: Floats | None = None

    def begin_with(self, F: Floats) -> None:
        """Take the columns of F, and some random ones to spare, as the first guess of the eigenvectors."""
        spare = np.random.default_rng(0).standard_normal((len(F), SPARE))
        self._basis = np.concatenate([F, spare], axis=1)

    def grown(self, n: int, places: Indices) -> "SpectrahedronProjection":
        """Return a projection for matrices of size n, in which the present rows are at these places."""
        result = SpectrahedronProjection()
        if self._basis is not None:
            result._basis = np.zeros((n, self._basis.shape[1]))
            result._basis[places] = self._basis
        return result

    def __call__(self, W: Floats, accuracy: float) -> tuple[Floats, Floats]:
        """Return F, with FF' the projection of W, and the squared lengths of its columns in decreasing order."""
        basis = np.empty((len(W), 0)) if self._basis is None else self._basis
        F, weights, self._basis = project(W, basis, accuracy)
        return F, weights
