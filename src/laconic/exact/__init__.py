"""Exact solutions: branch and bound on the row-level relaxation."""

from laconic.exact.branch_and_bound import BranchAndBound
from laconic.exact.disjoint import DisjointExact

__all__ = ["BranchAndBound", "DisjointExact"]
