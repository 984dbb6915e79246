"""The bound from two groups of features."""

import math
from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Indices
from laconic.core.rounding import grown, sum_up, up
from laconic.core.thresholds import WRITE_OUT_LIMIT
from laconic.core.wording import counted
from laconic.covariance import Covariance
from laconic.proof.terms import LEAST, Proved, checked_features, checked_number, lacking, no_features, total
from laconic.proof.witnesses.contract import BoundOf, Inner, Witness, up_to


@dataclass(frozen=True, eq=False)
class TwoGroupsWitness(Witness):
    """Bounds on the first group of features, at several cardinalities, and the variances of the second group.

    Let a_q bound the supports of q features of the first group, a_0 = 0, let v_1 >= v_2 >= ... be the variances of the
    second group, and S + d I semidefinite. The largest eigenvalue of a semidefinite matrix is at most the sum of those
    of two diagonal blocks. Therefore a support of k features, j of them in the second group, has at most the value

        a_{k-j} + v_1 + ... + v_j + j d.

    With E and S_T + E_T semidefinite, tr(E) may stand for j d. The value is also at most the larger eigenvalue of [[a, c], [c, b]] with a = a_{k-j}, b = v_1 + ... + v_j, c^2 = (a + e) b and e the excess
    of S (`laconic.covariance.deflation`). a_q is the least of the bounds given for q features or
    more and of the sum of the q largest variances of the first group plus (q - 1) d.
    """

    kept: Indices  # the first group
    bounds: tuple[tuple[int, Witness], ...]  # cardinalities, k first, and the witness of the bound at each

    def bound(self, S: Covariance, k: int, _inside: Indices, bound_of: BoundOf) -> Proved:
        return max(self._cases(S, k, bound_of).values(), default=LEAST)

    def _cases(self, S: Covariance, k: int, bound_of: BoundOf) -> dict[int, Proved]:
        """Return the bounds on supports with j features of the second group, for each j."""
        kept = checked_features(self.kept, S.n_features, "kept")
        if not len(kept):
            raise ValueError("A witness of two groups must keep features.")
        part = S.part(kept)
        if len(kept) <= WRITE_OUT_LIMIT:
            _ = part.matrix  # written out now, because several bounds need it
        given = []
        for cardinality, inner in self.bounds:
            q = int(checked_number(cardinality, "cardinality"))
            if not 1 <= q <= min(k, len(kept)):
                raise ValueError(
                    f"The witness has a bound at cardinality {q}; it must lie between 1 and {min(k, len(kept))}."
                )
            given.append((q, bound_of(inner, part, q, no_features())))
        among = -np.sort(-S.variances[kept])
        others = -np.sort(-np.delete(S.variances, kept))
        excess = S.excess(np.setdiff1d(np.arange(S.n_features), kept))
        cases: dict[int, Proved] = {}
        for j in range(max(0, k - len(kept)), min(k, len(others)) + 1):
            q = k - j
            tried = [Proved(sum_up([*among[:q], lacking(S, q - 1)]), 0.0) if q else Proved(0.0, 0.0)]
            tried += [proved for cardinality, proved in given if q and cardinality >= q]
            least = min(tried)
            cases[j] = total([least.value, *others[:j], lacking(S, j)], least.margin, [])
            if j and excess is not None:
                value = _with_excess(max(least.value, 0.0), sum_up(others[:j]), excess)
                cases[j] = min(cases[j], Proved(value, least.margin))
        return cases

    def reads(self, n: int) -> Indices:
        return checked_features(self.kept, n, "kept")

    def kinds(self) -> tuple[str, ...]:
        return (*(self.bounds[0][1].kinds() if self.bounds else ()), "two groups")

    def explained(self, S: Covariance, k: int, _inside: Indices, inner: Inner) -> list[str]:
        kept = checked_features(self.kept, S.n_features, "kept")
        cases = self._cases(S, k, inner.bound)
        worst = max(cases, key=lambda j: cases[j].value)
        words = [
            f"Two groups: the first has {counted(len(kept), 'feature')}, the second the other {S.n_features - len(kept)}. A "
            f"support with j features of the second group has at most the bound on {k} - j features of the first, plus "
            "the j largest variances of the second.",
            f"The worst case is j = {worst}, with at most {up_to(cases[worst].value)}.",
        ]
        for cardinality, witness in self.bounds[:1]:
            words.append(f"The bound on {counted(cardinality, 'feature')} of the first group:")
            words += inner.words(witness, S.part(kept), cardinality, no_features())
        return words


def _with_excess(a: float, b: float, excess: float) -> float:
    """Return an upper bound on the larger eigenvalue of [[a, c], [c, b]], c^2 = (a + e) b.

    It is at most a + b + e, because [[a + e, c], [c, b]] has the eigenvalues a + b + e and 0.
    """
    square = up(up(a + excess) * b)
    half = up(np.abs(a - b) / 2)
    root = grown(np.sqrt(grown(half * half + square, 4)), 2)
    value = float(up(up((a + b) / 2) + root))
    # An infinite number times zero is no number, and nothing is known then.
    return math.inf if math.isnan(value) else min(value, sum_up([a, b, excess]))
