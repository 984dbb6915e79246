"""Steps of the row-level relaxation: compiled, or plain where the package was installed without a C compiler."""

from functools import cache

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.caller import Hint, warn
from laconic.relaxations.anderson import empty_memory
from laconic.relaxations.rows import plain
from laconic.relaxations.rows.state import RowState

try:
    from laconic.relaxations.rows import kernels
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


@cache
def say_if_slow() -> None:
    """Say once that tight proofs take longer if the compiled part is missing."""
    if kernels is None:
        warn(
            "The compiled part of laconic is missing, so tight proofs take about ten times as long: install a C "
            "compiler, then install laconic again.",
            Hint,
        )
