"""Bounds that may end a search before a tree is grown."""

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance
from laconic.proof import Estimate
from laconic.relaxations.elementary import elementary_bound
from laconic.relaxations.l0.relaxation import L0Relaxation
from laconic.relaxations.proposition_2.conditions import proposition_2_bound

# Up to this size Proposition 2 and the l0 relaxation are tried. Above it the root of a tree takes less time.
MOST_FEATURES = 600
# The l0 relaxation is solved if Proposition 2 is within this share of the value to beat: it lowers the bound little.
NEAR = 0.05


def quick_bound(S: Floats, k: int, support: Indices, beat: float, monitor: Monitor) -> Estimate | None:
    """Return a bound that is no more than the value to beat, or None. The support is the best one known.

    Row sums succeed for correlation matrices with blocks of nearly equal columns. Proposition 2 and the l0 relaxation
    succeed where the variances decay.
    """
    dense = DenseCovariance(S, semidefinite=False)
    bound = elementary_bound(dense, k)
    if bound.value <= beat:
        return bound
    if len(S) > MOST_FEATURES:
        return None
    monitor.tick()
    bound = proposition_2_bound(dense, support, k)
    if beat < bound.value <= beat * (1 + NEAR):
        monitor.tick()
        relaxed = L0Relaxation(tolerance=1e-8).solve(S, k, monitor=monitor)
        bound = Estimate(relaxed.estimate, "l0", k, relaxed.witness())
    return bound if bound.value <= beat else None
