"""The iterates of the row-level relaxation on the features kept, and its steps.

The steps are compiled, or plain where the package was installed without a C compiler.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

import laconic.relaxations.row_kernels_plain as plain
from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.eigenvalues import EPS
from laconic.core.monitor import Hint, warn
from laconic.relaxations.l1_splitting import Memory, empty_memory

# Stiffness of the splitting, in units of the expected value. With row norms it grows in proportion to the size of a
# support above this size. Found by trial.
STIFFNESS, FEW_FEATURES = 1.5, 20
# Up to this size all features are kept from the start.
KEEP_ALL = 40


@dataclass
class RowState:
    """The point that is split, and the starts of all inner searches, in units of the largest |S_ij|."""

    keep: Indices  # the features kept, increasing
    inside: Mask  # which of them are known to be in the support
    u: Floats  # the point that is split: one matrix for the levels, and one for the norms if they are used
    stiffness: float
    mu: Floats  # starts of the row projections: multipliers,
    ratio: Floats  # ratios of the levels,
    d: Floats  # and diagonals of the norms
    basis: Floats  # the eigenvectors of X that the next step starts from
    residual: float = 1.0  # the distance between X and its copies at the last step, relative to X
    memory: Memory | None = None  # of the extrapolation; None before the first step
    Y: Floats = field(default_factory=lambda: np.empty(0))

    @classmethod
    def at(cls, keep: Indices, inside: Mask, u: Floats, stiffness: float) -> "RowState":
        """Return a state that has taken no step."""
        parts, n = len(u), len(keep)
        multipliers = np.full((parts, n), plain.FIRST_MULTIPLIER)
        return cls(keep, inside, u, stiffness, multipliers, np.zeros(n), np.zeros(n), np.zeros((n, 0)))

    @classmethod
    def around(cls, S: Floats, k: int, inside: Indices, z: Floats, parts: int) -> "RowState":
        """Return the state at zz' for a sparse component z, on the features that compete for its support.

        If X = zz' solves the l1 relaxation, the features j outside the support satisfy |s_j'z| <= t |z|_1. This gives a
        level t, the same for all rows. L is S cut off at that level, with the diagonal of the l1 relaxation.
        """
        n, image, outside = len(S), S @ z, z == 0
        level = float(np.abs(image[outside]).max(initial=0.0)) / max(float(np.abs(z).sum()), EPS)
        keep = np.arange(n)
        if n > KEEP_ALL:
            count = min(n, max(KEEP_ALL, 3 * k))
            order = np.argsort(-np.where(outside, np.abs(image), np.inf), kind="stable")
            keep = np.union1d(order[:count], inside)
        value = max(float(z @ image), float(S.diagonal().max()), 1e-3)
        stiffness = STIFFNESS * value * (max(k / FEW_FEATURES, 1.0) if parts == 2 else 1.0)
        L = np.clip(S[np.ix_(keep, keep)], -level, level)
        np.fill_diagonal(L, level * (1 - 0.5 * k))
        u = np.zeros((parts, len(keep), len(keep)))
        u[:] = np.outer(z[keep], z[keep])
        u[0] += L / stiffness
        state = cls.at(keep, np.isin(keep, inside), u, stiffness)
        if level > 0:
            state.mu[0], state.ratio[:] = 0.5 * level / stiffness, k - 1.0
        return state

    def multipliers(self) -> Floats:
        """Return L, or L and N, at the last point that was split. There must have been a step."""
        assert self.memory is not None
        before = self.memory[0][0].reshape(self.u.shape)
        return np.asarray(self.stiffness * (before - self.Y))

    def on(self, places: Indices, keep: Indices, inside: Mask) -> "RowState":
        """Return the state on some of the features kept: those at these places of the present `keep`."""
        return RowState(
            keep,
            inside,
            np.ascontiguousarray(self.u[:, places][:, :, places]),
            self.stiffness,
            np.ascontiguousarray(self.mu[:, places]),
            self.ratio[places].copy(),
            self.d[places].copy(),
            np.ascontiguousarray(self.basis[places]),
        )

    def grown(self, S: Floats, keep: Indices, inside: Mask, m: Floats, price: float, top: float) -> "RowState":
        """Return the state on more features. The rows of the new ones are cancelled as far as `top` requires.

        `m` and `price` are the levels of the rows kept so far and their common price. `top` is the largest eigenvalue
        of S - sym L - sym N there. The diagonal left to a new feature is `top`. That determines c, and c determines the
        level of its row.
        """
        n, places = len(keep), np.searchsorted(keep, self.keep)
        levels = np.zeros(n)
        levels[places] = m
        new = np.setdiff1d(np.arange(n), places)
        c = np.minimum(S.diagonal()[keep[new]] - top, price)
        allowed = 2 * price * (1 + np.sqrt(1 - c / price)) if price > 0 else np.zeros(len(new))
        whole = 2.0 * S[np.ix_(keep, keep)]
        taken = np.clip(whole, -levels[:, None], levels[:, None])
        L = np.zeros((n, n))
        L[:, new] = taken[:, new]
        L[new] = np.clip((whole - taken.T)[new], -allowed[:, None], allowed[:, None])
        L[np.ix_(new, new)] = np.clip(0.5 * whole[np.ix_(new, new)], -allowed[:, None], allowed[:, None])
        L[new, new] = c
        u = np.zeros((len(self.u), n, n))
        u[0] = L / self.stiffness
        for part, own in zip(u, self.u, strict=True):
            part[np.ix_(places, places)] = own
        state = RowState.at(keep, inside, u, self.stiffness)
        if not self.inside.all():
            state.mu[:] = self.mu[:, ~self.inside][:, :1]
        state.mu[:, places] = self.mu
        state.ratio[places], state.d[places] = self.ratio, self.d
        state.basis = np.zeros((n, self.basis.shape[1]))
        state.basis[places] = self.basis
        return state


try:
    import laconic.relaxations.row_kernels as kernels
except ImportError:
    kernels = None  # type: ignore[assignment]


def advance(state: RowState, S: Floats, k: int, steps: int) -> tuple[Floats, bool]:
    """Take steps on S, the matrix on the features kept; return F with X = FF', and whether all stayed finite."""
    if state.memory is None:
        state.memory, state.Y = empty_memory(state.u.size), np.zeros_like(state.u)
    take_steps = plain.advance if kernels is None else kernels.advance
    F, state.basis, state.residual, finite = take_steps(
        S, k, state.inside, state.stiffness, steps, state.u, state.Y, state.mu, state.ratio, state.d, state.basis,
        state.residual, state.memory,
    )  # fmt: skip
    return F, finite


take_cones = plain.project_cones if kernels is None else kernels.project_cones


@cache
def say_if_slow() -> None:
    """Say once that tight proofs take longer if the compiled part is missing."""
    if kernels is None:
        warn(
            "The compiled part of laconic is missing, so tight proofs take about ten times as long: install a C "
            "compiler, then install laconic again.",
            Hint,
        )
