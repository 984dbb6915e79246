"""Three ways to subtract a component, and the proofs that each allows.

The formulas are in `laconic.covariance.deflation`. Each is S - WCW' with one or two columns of W for a component.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from laconic.core.arrays import Floats
from laconic.core.eigenvalue_proof import ProvedEigenvalue
from laconic.covariance.after_deflation.largest import largest_after_projections, largest_after_subtraction
from laconic.covariance.after_deflation.removal import Removal, Step
from laconic.covariance.after_deflation.semidefinite import (
    after_hotelling,
    after_projections,
    after_schur_complements,
    subtracted,
)


@dataclass(frozen=True)
class Rule:
    """How one step subtracts a component, and the proofs after several steps."""

    # From a step to its columns of W and its block of C.
    correction: Callable[[Step], tuple[Floats, Floats]]
    # Whether a semidefinite matrix stays semidefinite.
    semidefinite: bool
    # From the steps and a shift before them to the shift and the trace after them.
    distance_from_semidefinite: Callable[[Removal, float], tuple[float, float]]
    # From the steps and the rounding error of S to the number `excess` of `laconic.covariance.screened`.
    excess: Callable[[Removal, float], float]
    # From a factor of S and the steps to the largest eigenvalue that is left, or None if it is not known.
    largest: Callable[[Floats, Removal], ProvedEigenvalue | None]

    def factors_and_core(self, steps: tuple[Step, ...]) -> tuple[Floats, Floats]:
        """Return W and C of several steps."""
        columns, blocks = zip(*(self.correction(step) for step in steps), strict=True)
        return np.concatenate(columns, axis=1), np.asarray(block_diag(*blocks))


def _hotelling(step: Step) -> tuple[Floats, Floats]:
    return step.direction[:, None], np.array([[step.value]])


def _projection(step: Step) -> tuple[Floats, Floats]:
    return np.stack([step.direction, step.image], axis=1), np.array([[-step.value, 1.0], [1.0, 0.0]])


def _schur(step: Step) -> tuple[Floats, Floats]:
    return step.image[:, None], np.array([[1.0 / step.value]])


def _shift_after_projections(removal: Removal, rounding: float) -> float:
    return after_projections(removal, rounding)[0]


def _shift_after_schur_complements(removal: Removal, rounding: float) -> float:
    return after_schur_complements(removal, rounding)[0]


HOTELLING = Rule(_hotelling, False, after_hotelling, subtracted, largest_after_subtraction)
PROJECTION = Rule(_projection, True, after_projections, _shift_after_projections, largest_after_projections)
SCHUR = Rule(_schur, True, after_schur_complements, _shift_after_schur_complements, largest_after_subtraction)
