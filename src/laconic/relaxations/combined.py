"""The l0 relaxation of a matrix bent by the l1 dual: both at once."""

from dataclasses import replace

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.monitor import Monitor
from laconic.proof.estimate import Estimate
from laconic.relaxations.l0 import L0Relaxation


def combined_bound(
    S: Floats,
    cardinality: int,
    multiplier: Floats,
    *,
    relaxation: L0Relaxation | None = None,
    monitor: Monitor | None = None,
) -> Estimate:
    """Return the l0 bound of S + U plus (k - 1) max |U_ij|.

    For unit z with k nonzeros z'Sz = z'(S + U)z - z'Uz and |z'Uz| <= (k - 1) max |U_ij|; with rho = 0 the l0 bound is
    lmax(S + U), so this is never worse than the l1 dual at the same U.

    Parameters
    ----------
    S
        A symmetric matrix.
    cardinality
        k.
    multiplier
        U, symmetric with zero diagonal; as a rule the dual point of the l1 relaxation.
    relaxation
        How to solve the l0 relaxation.
    monitor
        Stops the solve in time.
    """
    bent = S + multiplier
    solution = (relaxation or L0Relaxation()).solve(bent, cardinality, monitor=monitor)
    cost = (cardinality - 1) * float(np.abs(multiplier).max(initial=0.0))
    witness = replace(solution.witness(), kind="combined", multiplier=multiplier)
    return Estimate(solution.upper + cost, "combined", cardinality, witness)
