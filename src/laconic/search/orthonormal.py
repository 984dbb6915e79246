"""Orthonormal components on given supports: the nearest ones, the best ones, and how one more feature changes them.

The variables are the entries x of U on the supports. The constraints are U'U = I, and J holds their derivatives. The
value x'Ax is the sum of u_t'Su_t. With a symmetric matrix L of multipliers, the gradient of the Lagrangian is SU - UL
on the supports, and its second derivative is H: the entries of A, minus L_st where two entries share a feature.

**Correction.** Gauss and Newton's steps x - J^+ c(x) lead to U'U = I up to rounding. Zeros off the supports stay zeros.

**Ascent.** Let Z be a basis of the null space of J. A Newton step is C A x with C = Z (-Z'HZ)^{-1} Z', the eigenvalues
of -Z'HZ made positive. It is corrected, and shortened until the value grows.

**Exchanges.** To second order, entry i leaves at a loss of x_i^2 / C_ii and moves the others by d = -C e_i x_i / C_ii.
If feature j joins support t, the Lagrangian has the slope G = (SU - UL)_jt, which changes with d. The new entry then
gains about G^2 / (L_tt - S_jj).
"""

import numpy as np

from laconic.core.arrays import SMALLEST_NORMAL, Floats, Indices
from laconic.core.eigenvalues import eigh
from laconic.covariance import Covariance

# Steps of a correction at most, the largest entry of U'U - I after it, and one from which no steps lead back.
CORRECTIONS, ORTHONORMAL, FAR = 12, 1e-13, 1e3
# Added to the diagonal of JJ', relative to it: constraints may depend on each other. Later steps remove the error.
RIDGE = 1e-12
# Singular values of J below this share of the largest are rounding.
DEPENDENT = 1e-9
# A curvature counts as at least this share of the largest one, so that steps and estimates stay bounded.
LEAST_CURVATURE, LEAST_CURVATURE_OF_NEW = 1e-3, 0.05
# The longest step. It is shortened at most so often.
LONGEST, SHORTENED = 0.5, 6


class Orthonormal:
    """The entries of U on its supports, one component after the other."""

    def __init__(self, covariance: Covariance, supports: list[Indices]) -> None:
        self.S, self.supports, r = covariance, supports, len(supports)
        self.features, self.rows = np.unique(np.concatenate(supports), return_inverse=True)
        self.of = np.repeat(np.arange(r), [len(T) for T in supports])
        self.eye, (self.first, self.second) = np.eye(r), np.triu_indices(r)
        self.ridge = RIDGE * np.eye(len(self.first))
        block = covariance.submatrix(self.features)
        self.A = block[self.rows[:, None], self.rows] * (self.of[:, None] == self.of)

    def entries(self, U: Floats) -> Floats:
        """Return the entries of U on the supports."""
        return np.asarray(U[self.features[self.rows], self.of])

    def matrix(self, x: Floats) -> Floats:
        """Return U with these entries."""
        U = np.zeros((self.S.n_features, len(self.supports)))
        U[self.features[self.rows], self.of] = x
        return U

    def value(self, x: Floats) -> float:
        """Return the sum of u_t'Su_t."""
        return float(x @ self.A @ x)

    def corrected(self, x: Floats) -> Floats | None:
        """Return entries near x with U'U = I; None if the steps do not lead there."""
        for _ in range(CORRECTIONS):
            off, J = self._constraints(x)
            largest = np.abs(off).max()
            if largest < 0.1 * ORTHONORMAL:
                return x
            if largest > FAR:
                return None
            gram = J @ J.T
            x = x - J.T @ np.linalg.solve(gram + (1.0 + gram.trace()) * self.ridge, off)
        return x if np.abs(self._constraints(x)[0]).max() < ORTHONORMAL else None

    def ascended(self, x: Floats, steps: int, least_gain: float, least: float = -np.inf) -> Floats:
        """Return better entries after some steps, or after one that gains too little, from entries with U'U = I.

        End as well when twice the gain that the model of second order promises does not lead to a value of `least`.
        """
        value = self.value(x)
        for _ in range(steps):
            _, _, _, Y = self._model(x)
            slope = Y.T @ (self.A @ x)
            if slope @ slope < least_gain or value + 2.0 * (slope @ slope) < least:
                break
            step = Y @ slope
            step *= min(1.0, LONGEST / float(np.linalg.norm(step)))
            before = value
            for _ in range(SHORTENED):
                tried = self.corrected(x + step)
                if tried is not None and self.value(tried) > value:
                    x, value = tried, self.value(tried)
                    break
                step *= 0.3
            if value <= before + least_gain:
                break
        return x

    def gains(self, U: Floats, leaving: list[Indices]) -> list[Floats]:
        """Return the estimated gains of exchanges in each support, from U that is best on its supports.

        In row a place `leaving[t][a]` leaves, in the last row none. In column j feature j joins, in the last one none.
        """
        x, r, found = self.entries(U), len(self.supports), []
        inverse, L, H, Y = self._model(x)
        slopes = self.S.product(U) - U @ L
        least = LEAST_CURVATURE_OF_NEW * float(np.abs(L).max()) + SMALLEST_NORMAL
        for t, T in enumerate(self.supports):
            gone = np.flatnonzero(self.of == t)[leaving[t]]
            C = Y @ Y[gone].T
            own = np.maximum(C[gone, np.arange(len(gone))], DEPENDENT * np.abs(C).max(initial=0.0) + SMALLEST_NORMAL)
            d = np.hstack([-C * (x[gone] / own), np.zeros((len(x), 1))])
            loss = np.append(x[gone] ** 2 / own, 0.0)
            # What the constraints take from the slope: they hold to first order if the others follow the new entry.
            q = np.zeros((r, r, d.shape[1]))
            q[self.first, self.second] = q[self.second, self.first] = inverse.T @ (H @ d)
            G = slopes[:, [t]] + self.S.columns(T) @ d[self.of == t] - np.einsum("js,sb->jb", U, q[t])
            np.subtract.at(G, self.features[self.rows], L[t, self.of][:, None] * d)
            gain = G**2 / np.maximum(L[t, t] - self.S.diagonal, least)[:, None]
            gain[T] = -np.inf
            found.append(np.vstack([gain, np.zeros(d.shape[1])]).T - loss[:, None])
        return found

    def _constraints(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the entries of U'U - I on and above the diagonal, and J with a row for each."""
        U = np.zeros((len(self.features), len(self.supports)))
        U[self.rows, self.of] = x
        off = (U.T @ U - self.eye)[self.first, self.second]
        beside = U[self.rows].T
        J = (self.of == self.first[:, None]) * beside[self.second]
        J += (self.of == self.second[:, None]) * beside[self.first]
        return off, J

    def _model(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return J^+, L, H, and Y with C = YY'."""
        left, values, right = np.linalg.svd(self._constraints(x)[1].T)
        rank = int((values > DEPENDENT * values[0]).sum())
        inverse = (left[:, :rank] / values[:rank]) @ right[:rank]
        L = np.zeros_like(self.eye)
        L[self.first, self.second] = inverse.T @ (self.A @ x)
        L = L + L.T
        H = self.A - L[self.of[:, None], self.of] * (self.rows[:, None] == self.rows)
        curvature, turn = eigh(left[:, rank:].T @ H @ left[:, rank:])
        curvature = np.abs(curvature)
        largest = max(float(curvature.max(initial=0.0)), 1e-6 * float(np.abs(self.A).max()), SMALLEST_NORMAL)
        return inverse, L, H, left[:, rank:] @ turn / np.sqrt(np.maximum(curvature, LEAST_CURVATURE * largest))
