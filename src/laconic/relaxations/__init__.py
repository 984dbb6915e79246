"""Convex programs: each gives an upper estimate with its witness, and a matrix to round to a support."""

from laconic.relaxations.l0.relaxation import L0Relaxation, L0Solution, l0_bound
from laconic.relaxations.l1.first_order import FirstOrder
from laconic.relaxations.l1.relaxation import CardinalityForm, L1Form, L1Solution, PenaltyForm
from laconic.relaxations.l1.splitting import Splitting
from laconic.relaxations.proposition_2.conditions import (
    OptimalityConditions,
    PathBounds,
    optimality_conditions,
    path_bounds,
)

__all__ = [
    "CardinalityForm",
    "FirstOrder",
    "L0Relaxation",
    "L0Solution",
    "L1Form",
    "L1Solution",
    "OptimalityConditions",
    "PathBounds",
    "PenaltyForm",
    "Splitting",
    "l0_bound",
    "optimality_conditions",
    "path_bounds",
]
