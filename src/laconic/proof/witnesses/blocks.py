"""The bound of a matrix that falls into blocks once small entries are set to zero."""

from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.wording import counted
from laconic.covariance import Covariance, DenseCovariance
from laconic.proof.terms import Proved, checked_features, checked_number, no_features, times_up, total
from laconic.proof.witnesses.contract import BoundOf, Inner, Witness, up_to


@dataclass(frozen=True, eq=False)
class BlockWitness(Witness):
    """S_ij with |S_ij| <= t, and all S_ij between blocks, are set to zero, which leaves S_0.

    The entries set to zero cost (k - 1) times the largest of them, as U does in `DualWitness`. The rest is a sum
    over the blocks b, with bounds v_b for min(k, size) features: x'S_0x = sum_b x_b'S_0x_b <= sum_b |x_b|^2 v_b <=
    max_b v_b. A feature in no block is a block of its own, with its variance as bound.
    """

    threshold: float  # t
    blocks: tuple[tuple[Indices, Witness], ...]  # features, and witness of S_0 on them

    def bound(self, S: Covariance, k: int, _inside: Indices, bound_of: BoundOf) -> Proved:
        left, alone, groups, cost = self._divided(S, k)
        best = Proved(alone, 0.0)
        for group, (_, inner) in zip(groups, self.blocks, strict=True):
            block = DenseCovariance(left[np.ix_(group, group)])
            best = max(best, bound_of(inner, block, min(k, len(group)), no_features()))
        return total([best.value, cost, S.away], best.margin, [S.away])

    def _divided(self, S: Covariance, k: int) -> tuple[Floats, float, list[Indices], float]:
        """Return S_0, the largest variance of a feature in no block, the blocks, and the cost of the difference."""
        threshold = checked_number(self.threshold, "threshold")
        label = np.full(S.n_features, -1)
        groups = []
        for place, (features, _) in enumerate(self.blocks):
            group = checked_features(features, S.n_features, "block")
            if not len(group) or (label[group] >= 0).any():
                raise ValueError("The blocks of a witness must hold features, and no feature twice.")
            label[group] = place
            groups.append(group)
        M = S.matrix
        small = (np.abs(M) <= threshold) | (label[:, None] != label) | (label < 0)
        np.fill_diagonal(small, False)
        cost = times_up(k - 1, float(np.abs(M[small]).max(initial=0.0)))
        return np.where(small, 0.0, M), float(S.diagonal[label < 0].max(initial=-np.inf)), groups, cost

    def kinds(self) -> tuple[str, ...]:
        return ("blocks",)

    def explained(self, S: Covariance, k: int, inside: Indices, inner: Inner) -> list[str]:
        left, alone, groups, cost = self._divided(S, k)
        value = self.bound(S, k, inside, inner.bound).value
        words = [
            f"Blocks: covariances of at most {self.threshold:.6g}, and those between {counted(len(groups), 'block')}, "
            f"are set to zero. By this no support of {counted(k, 'feature')} loses more than {up_to(cost)}. What is "
            "left has no more than its best block.",
        ]
        found = []
        for group, (_, witness) in zip(groups, self.blocks, strict=True):
            task = (witness, DenseCovariance(left[np.ix_(group, group)]), min(k, len(group)), no_features())
            found.append((inner.bound(*task).value, len(group), task))
        if found and max(found)[0] >= alone:
            best, size, task = max(found, key=lambda block: block[0])
            words += [f"The best block has {counted(size, 'feature')} and at most {up_to(best)}:", *inner.words(*task)]
        else:
            words.append(f"The best block is a single feature, with a variance of at most {up_to(alone)}.")
        return [*words, f"With the loss that is at most {up_to(value)}."]
