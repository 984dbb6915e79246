"""The paper's relaxations and bounds by name. Each gives an upper estimate with its witness.

    Splitting, FirstOrder        solve the l1 relaxation, in the form CardinalityForm(k) or PenaltyForm(rho)
    L0Relaxation                 solves the l0 relaxation (Proposition 1)
    optimality_conditions        Proposition 2 at one support; `path_bounds` along a path
    RowLevels                    solves the l1 relaxation with a level for each row, which is never weaker
    elementary_bound             the lowest of `trace_bound`, `row_sum_bound` and `largest_eigenvalue_bound`

All of them take a covariance or correlation matrix as an array. docs/relaxations.md shows each in a few lines.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from laconic.relaxations.elementary import (
        RelaxationStatus,
        elementary_bound,
        largest_eigenvalue_bound,
        row_sum_bound,
        trace_bound,
    )
    from laconic.relaxations.l0 import L0Relaxation, L0Solution
    from laconic.relaxations.l1 import CardinalityForm, FirstOrder, L1Solution, PenaltyForm
    from laconic.relaxations.l1_splitting import Splitting
    from laconic.relaxations.proposition_2 import OptimalityConditions, PathBounds, optimality_conditions, path_bounds
    from laconic.relaxations.rows import RowLevels, RowLevelSolution

__all__ = [
    "CardinalityForm",
    "FirstOrder",
    "L0Relaxation",
    "L0Solution",
    "L1Solution",
    "OptimalityConditions",
    "PathBounds",
    "PenaltyForm",
    "RelaxationStatus",
    "RowLevelSolution",
    "RowLevels",
    "Splitting",
    "elementary_bound",
    "largest_eigenvalue_bound",
    "optimality_conditions",
    "path_bounds",
    "row_sum_bound",
    "trace_bound",
]

# The names of each module. A module is imported when one of its names is first used.
_NAMES = {
    "elementary": (
        "RelaxationStatus",
        "elementary_bound",
        "largest_eigenvalue_bound",
        "row_sum_bound",
        "trace_bound",
    ),
    "l0": ("L0Relaxation", "L0Solution"),
    "l1": ("CardinalityForm", "FirstOrder", "L1Solution", "PenaltyForm"),
    "l1_splitting": ("Splitting",),
    "proposition_2": ("OptimalityConditions", "PathBounds", "optimality_conditions", "path_bounds"),
    "rows": ("RowLevelSolution", "RowLevels"),
}


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"laconic.relaxations.{module}"), name)
    raise AttributeError(f"module 'laconic.relaxations' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
