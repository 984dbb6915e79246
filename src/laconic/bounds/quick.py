"""Bounds that close at once where they close at all: tried before a tree is grown."""

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance
from laconic.proof.estimate import Estimate
from laconic.relaxations.elementary import elementary_bound
from laconic.relaxations.l0 import L0Relaxation
from laconic.relaxations.optimality import proposition_2_bound

# Up to this size S is factored, which Proposition 2 and the l0 relaxation need.
FACTORED = 600
# The l0 relaxation is solved where Proposition 2 comes this near.
NEAR = 0.05


def quick_proof(S: Floats, k: int, support: Indices, beat: float, monitor: Monitor) -> Estimate | None:
    """Return a bound that is no more than the value to beat, or None.

    Row sums close on correlation matrices with blocks of nearly equal columns; Proposition 2 and the l0 relaxation
    close where the variances decay.

    Parameters
    ----------
    S
        The matrix.
    k
        The cardinality.
    support
        The best support known.
    beat
        The value to beat.
    monitor
        Stops the work in time.
    """
    dense = DenseCovariance(S, semidefinite=False)
    bound = elementary_bound(dense, k)
    if bound.value <= beat:
        return bound
    if len(S) > FACTORED:
        return None
    bound = proposition_2_bound(dense, support, k)
    if beat < bound.value <= beat * (1 + NEAR):
        relaxed = L0Relaxation(tolerance=1e-8).solve(S, k, monitor=monitor)
        bound = Estimate(relaxed.upper, "l0", k, relaxed.witness())
    return bound if bound.value <= beat else None
