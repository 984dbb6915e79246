"""A bound on all features from bounds on a group K of them and the variances of the others.

Let a_q bound the value of q features of K, and let v_1 >= v_2 >= ... be the variances outside K. Let j features of a
support of size k lie outside K. S is semidefinite, so lmax(S_I) <= lmax(S_A) + lmax(S_B) if I is the union of A and B,
and lmax(S_B) is at most the trace of S_B. Hence the value of the support is at most

    a_{k-j} + v_1 + ... + v_j,    a_0 = 0.

If the variances decay, as those of words do, a few hundred features are enough to bound tens of thousands.
"""

from collections.abc import Sequence

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import EPS
from laconic.covariance import Covariance
from laconic.proof.estimate import Estimate
from laconic.proof.witness import SplitWitness
from laconic.relaxations.elementary import ROUNDING


def sums_of_largest(variances: Floats, count: int) -> Floats:
    """Return the sums of the j largest numbers for j = 0, 1, ..., count, with a margin for rounding.

    Parameters
    ----------
    variances
        Any numbers. If there are fewer than `count`, the result is shorter.
    count
        The largest j.
    """
    largest = np.sort(variances)[::-1][:count]
    return np.concatenate([[0.0], np.cumsum(largest)]) * (1 + 8 * (count + 1) * EPS)


def added_from_outside(covariance: Covariance, kept: Indices, cardinality: int) -> Floats:
    """Return an upper bound on the variance that j = 0, 1, ... features outside K add to a_{k-j}.

    Parameters
    ----------
    covariance
        S. If only S + d I is semidefinite, each feature outside adds d as well. If S + E is semidefinite for some
        semidefinite E, all of them together add the trace of E. The smaller of the two is used.
    kept
        The features of K.
    cardinality
        k, the largest j.
    """
    sums = sums_of_largest(np.delete(covariance.diagonal, kept), cardinality)
    counts = np.arange(1, len(sums))
    sums[1:] += np.minimum(counts * covariance.deficit, covariance.lack) + counts * _rounding(covariance)
    return sums


def bounds_over_all(inside: Floats, added: Floats) -> Floats:
    """Return a bound on all features for each cardinality k = 1, 2, ...

    Parameters
    ----------
    inside
        a_0, a_1, ...
    added
        The variance that 0, 1, ... features outside K add at most.
    """
    return np.array([(inside[k::-1][: len(added)] + added[: k + 1]).max() for k in range(1, len(inside))])


def split_bound(covariance: Covariance, kept: Indices, cardinality: int, bounds: Sequence[Estimate]) -> Estimate:
    """Return a bound on all features.

    Parameters
    ----------
    covariance, kept, cardinality
        As in `added_from_outside`.
    bounds
        Bounds on the features of K, at k and at smaller cardinalities. More of them give a lower bound.
    """
    # The trace bound holds for every q; the given bounds are usually lower.
    inside = sums_of_largest(covariance.diagonal[kept], cardinality)
    inside[2:] += np.minimum(np.arange(1, len(inside) - 1) * covariance.deficit, covariance.lack)
    for bound in bounds:
        q = bound.cardinality
        inside[1 : q + 1] = np.minimum(inside[1 : q + 1], bound.value)
    # If K has fewer than k features, more than all of K has the value of all of K.
    inside = np.append(inside, np.full(cardinality + 1 - len(inside), inside[-1]))
    # The bounds are on entries that may have been rounded when they were computed.
    inside += np.arange(len(inside)) * _rounding(covariance)
    added = added_from_outside(covariance, kept, cardinality)
    witness = SplitWitness(kept, tuple((bound.cardinality, bound.witness) for bound in bounds))
    return Estimate(float(bounds_over_all(inside, added)[-1]), "split", cardinality, witness)


def _rounding(covariance: Covariance) -> float:
    """Return an upper bound on the rounding error of a variance."""
    return ROUNDING * EPS * covariance.scale
