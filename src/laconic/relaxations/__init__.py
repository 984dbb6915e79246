"""Convex programs: each gives a proved upper bound, and a matrix to round to a support."""

from laconic.relaxations.first_order import FirstOrder
from laconic.relaxations.l0 import L0Relaxation, L0Solution, l0_bound
from laconic.relaxations.l0_bound import Factored
from laconic.relaxations.l1 import CardinalityForm, L1Form, L1Solution, PenaltyForm, dual_bound
from laconic.relaxations.optimality import OptimalityConditions, PathBounds, optimality_conditions, path_bounds
from laconic.relaxations.splitting import Splitting

__all__ = [
    "CardinalityForm",
    "Factored",
    "FirstOrder",
    "L0Relaxation",
    "L0Solution",
    "L1Form",
    "L1Solution",
    "OptimalityConditions",
    "PathBounds",
    "PenaltyForm",
    "Splitting",
    "dual_bound",
    "l0_bound",
    "optimality_conditions",
    "path_bounds",
]
