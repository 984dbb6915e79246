"""Every upper bound the package can compute, by name, so that the tables can compare them."""

from dataclasses import replace

import numpy as np

from laconic.covariance import Covariance, DenseCovariance
from laconic.proof.gate import Estimate
from laconic.proof.witness_dual import DualWitness
from laconic.relaxations.elementary import largest_eigenvalue_bound, row_sum_bound, trace_bound
from laconic.relaxations.l0 import L0Relaxation
from laconic.relaxations.l1 import CardinalityForm
from laconic.relaxations.l1_splitting import Splitting
from laconic.relaxations.proposition_2 import optimality_conditions
from laconic.relaxations.rows import RowLevels
from laconic.search.auto import Auto
from laconic.search.problem import Problem, Solution


def every_bound(covariance: Covariance, cardinality: int, solution: Solution | None = None) -> dict[str, Estimate]:
    """Return all bounds by name. No bound is skipped because another is better.

    Parameters
    ----------
    covariance
        A covariance small enough to be written out.
    cardinality
        The number of nonzeros allowed.
    solution
        The best support found; by default it is searched for.
    """
    n, k = covariance.n_features, cardinality
    problem = Problem(covariance, k)
    found = Auto().solve(problem) if solution is None else solution
    S = covariance.submatrix(np.arange(n))
    dense = DenseCovariance(S, semidefinite=covariance.semidefinite)
    l1 = Splitting().solve(S, CardinalityForm(k))
    U = l1.dual_matrix(S)
    l0 = L0Relaxation().solve(S, k)
    proposition = optimality_conditions(dense, found.support, k)
    levels = RowLevels().solve(S, k, vector=found.vector(n))
    bounds = [
        trace_bound(dense, k),
        row_sum_bound(dense, k),
        largest_eigenvalue_bound(dense, k),
        Estimate(proposition.upper, "Proposition 2", k, proposition.witness),
        Estimate(l1.estimate(k), "l1 dual", k, DualWitness("l1 dual", multiplier=U)),
        Estimate(l0.estimate, "l0", k, l0.witness()),
        combined_bound(S, k, U),
        Estimate(levels.estimate, "row levels", k, levels.witness()),
    ]
    return {bound.kind: bound for bound in bounds}


def combined_bound(S: np.ndarray, cardinality: int, multiplier: np.ndarray) -> Estimate:
    """Return the l0 bound of S + U plus (k - 1) max |U_ij|.

    For unit z with k nonzeros z'Sz = z'(S + U)z - z'Uz and |z'Uz| <= (k - 1) max |U_ij|. With rho = 0 the l0 bound is
    lmax(S + U), so this bound is never worse than the l1 dual at the same U.

    Parameters
    ----------
    S
        A symmetric matrix.
    cardinality
        The number of nonzeros allowed.
    multiplier
        U, symmetric with zero diagonal; usually the dual point of the l1 relaxation.
    """
    solution = L0Relaxation().solve(S + multiplier, cardinality)
    cost = (cardinality - 1) * float(np.abs(multiplier).max(initial=0.0))
    witness = replace(solution.witness(), kind="combined", multiplier=multiplier)
    return Estimate(solution.estimate + cost, "combined", cardinality, witness)
