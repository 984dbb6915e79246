"""The bound of a matrix that falls into blocks once small entries are set to zero."""

from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Indices
from laconic.covariance.enclosure import DenseEnclosure, Enclosure
from laconic.proof.terms import Proved, checked_features, checked_number, no_features, times_up, total
from laconic.proof.witnesses.contract import BoundOf, Witness


@dataclass(frozen=True, eq=False)
class BlockWitness(Witness):
    """S_ij with |S_ij| <= t, and all S_ij between blocks, are set to zero, which leaves S_0.

    The entries set to zero cost (k - 1) times the largest of them, as U does in `DualWitness`. The rest is a sum
    over the blocks b, with bounds v_b for min(k, size) features: x'S_0x = sum_b x_b'S_0x_b <= sum_b |x_b|^2 v_b <=
    max_b v_b. A feature in no block is a block of its own, with its variance as bound.
    """

    threshold: float  # t
    blocks: tuple[tuple[Indices, Witness], ...]  # features, and witness of S_0 on them

    def bound(self, S: Enclosure, k: int, _inside: Indices, bound_of: BoundOf) -> Proved:
        threshold = checked_number(self.threshold, "threshold")
        label = np.full(S.n, -1)
        groups = []
        for place, (features, _) in enumerate(self.blocks):
            group = checked_features(features, S.n, "block")
            if not len(group) or (label[group] >= 0).any():
                raise ValueError("The blocks of a witness must hold features, and no feature twice.")
            label[group] = place
            groups.append(group)
        M = S.matrix
        small = (np.abs(M) <= threshold) | (label[:, None] != label) | (label < 0)
        np.fill_diagonal(small, False)
        cost = times_up(k - 1, float(np.abs(M[small]).max(initial=0.0)))
        left = np.where(small, 0.0, M)
        best = Proved(float(S.diagonal[label < 0].max(initial=-np.inf)), 0.0)
        for group, (_, inner) in zip(groups, self.blocks, strict=True):
            block = DenseEnclosure(left[np.ix_(group, group)])
            best = max(best, bound_of(inner, block, min(k, len(group)), no_features()))
        return total([best.value, cost, S.away], best.margin, [S.away])

    def kinds(self) -> tuple[str, ...]:
        return ("blocks",)
