"""A bound on all features from bounds on few of them and the variances of the others.

Let a_q bound the supports of q features of K, and v_1 >= v_2 >= ... be the variances outside of K. A support of k
features has j of them outside. S is semidefinite, so lmax(S_I) <= lmax(S_A) + lmax(S_B) for I = A + B, and lmax(S_B) is
at most the trace of S_B. Hence it is worth at most

    a_{k-j} + v_1 + ... + v_j,    a_0 = 0.

Where variances decay, as those of words do, hundreds of features prove what holds of tens of thousands.
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
    """Return the sums of the 0, 1, ... largest, up to `count` or as many as there are, with a margin for rounding.

    Parameters
    ----------
    variances
        Any numbers.
    count
        How many sums, besides the empty one.
    """
    largest = np.sort(variances)[::-1][:count]
    return np.concatenate([[0.0], np.cumsum(largest)]) * (1 + 8 * (count + 1) * EPS)


def added_from_outside(covariance: Covariance, kept: Indices, cardinality: int) -> Floats:
    """Return what j = 0, 1, ... features outside add to a_{k-j} at most.

    Parameters
    ----------
    covariance
        S. With S + d I semidefinite each of them pays d as well; or all together the trace of what S lacks.
    kept
        K.
    cardinality
        k.
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
        What 0, 1, ... features outside add at most.
    """
    return np.array([(inside[k::-1][: len(added)] + added[: k + 1]).max() for k in range(1, len(inside))])


def split_bound(covariance: Covariance, kept: Indices, cardinality: int, bounds: Sequence[Estimate]) -> Estimate:
    """Return a bound on all features.

    Parameters
    ----------
    covariance, kept, cardinality
        As in `added_from_outside`.
    bounds
        Bounds on the features of K, at k and at smaller cardinalities; the more of them the better.
    """
    # The trace, as a rule no match for the bounds given.
    inside = sums_of_largest(covariance.diagonal[kept], cardinality)
    inside[2:] += np.minimum(np.arange(1, len(inside) - 1) * covariance.deficit, covariance.lack)
    for bound in bounds:
        q = bound.cardinality
        inside[1 : q + 1] = np.minimum(inside[1 : q + 1], bound.value)
    # There are no more features of K than all of them.
    inside = np.append(inside, np.full(cardinality + 1 - len(inside), inside[-1]))
    # The bounds are on entries that may have been rounded when they were written out.
    inside += np.arange(len(inside)) * _rounding(covariance)
    added = added_from_outside(covariance, kept, cardinality)
    witness = SplitWitness(kept, tuple((bound.cardinality, bound.witness) for bound in bounds))
    return Estimate(float(bounds_over_all(inside, added)[-1]), "split", cardinality, witness)


def _rounding(covariance: Covariance) -> float:
    """Return what a variance may be wrong by."""
    return ROUNDING * EPS * covariance.scale
