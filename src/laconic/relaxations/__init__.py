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
    from laconic.relaxations.proposition_2 import OptimalityConditions, optimality_conditions, path_bounds
    from laconic.relaxations.rows import RowLevels, RowLevelSolution

__all__ = [
    "CardinalityForm",
    "FirstOrder",
    "L0Relaxation",
    "L0Solution",
    "L1Solution",
    "OptimalityConditions",
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

# The modules that hold these names. They are imported when a name is first used.
_MODULES = ("elementary", "l1", "l1_splitting", "l0", "proposition_2", "rows")


def __getattr__(name: str) -> Any:
    for module in _MODULES if name in __all__ else ():
        found = getattr(import_module(f"laconic.relaxations.{module}"), name, None)
        if found is not None:
            return found
    raise AttributeError(f"module 'laconic.relaxations' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
