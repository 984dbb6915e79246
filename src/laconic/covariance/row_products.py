"""The inner products of the rows of a factor."""

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.rigor import eigenvalue_bound, gamma, grown, sum_up


class Rows:
    """The inner products of the rows of A, and what they may be wrong by."""

    def __init__(self, A: Floats) -> None:
        self.factor = A
        self.gram = A @ A.T
        self.squares = float(grown(np.einsum("ij,ij->", A, A), A.size + 1))
        self.length = float(grown(np.sqrt(self.squares), 1))

    def largest(self, H: Floats, X: Floats, error: float) -> tuple[float, float]:
        """Return an upper bound on lmax(AA' - HXH'), and its plain estimate.

        Inner products of n terms, and then of r twice, have an error of gamma of so many times |A|_F^2 and
        |H|_F^2 |X|_F; H itself is wrong by a matrix of Frobenius norm `error`.
        """
        M = self.gram - H @ X @ H.T
        count = max(self.factor.shape[1], 2 * len(X)) + 12
        size = float(grown(np.sqrt(grown(np.einsum("ij,ij->", X, X), X.size + 1)), 1))
        square = float(grown(np.einsum("ij,ij->", H, H), H.size + 1))
        rounding = grown((self.squares + square * size) * gamma(count), 6)
        moved = grown(size * error * (2 * np.sqrt(square) + error), 8)
        value, estimate = eigenvalue_bound(0.5 * (M + M.T))
        return sum_up([value, rounding, moved]), estimate

    def whole(self) -> tuple[float, float]:
        """Return an upper bound on lmax(AA'), and its plain estimate."""
        return self.largest(np.zeros((len(self.gram), 0)), np.zeros((0, 0)), 0.0)
