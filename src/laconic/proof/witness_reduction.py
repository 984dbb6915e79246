"""Bounds of a matrix from bounds of its parts: after safe elimination, for two groups of features, and for blocks."""

import math
from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices
from laconic.core.rounding import grown, sum_up, up
from laconic.covariance import Covariance, DenseCovariance
from laconic.proof.witness import (
    NO_BOUND,
    NO_SUPPORT,
    BoundOf,
    Proved,
    Witness,
    checked_features,
    checked_number,
    lacking,
    largest,
    no_features,
    off_diagonal_rows,
    times_up,
    total,
)


@dataclass(frozen=True, eq=False)
class EliminationWitness(Witness):
    """A bound on the features kept; the others were eliminated because no support that holds one reaches a known value.

    Let b bound the supports of k - 1 features, i be an eliminated feature in the support T, s = S_ii, and c the rest of
    its row in T. Then lmax(S_T) is at most the larger eigenvalue of [[b, |c|], [|c|, s]], that is
    b/2 + s/2 + ((b - s)^2/4 + |c|^2)^(1/2). With S_T + d I semidefinite it is also at most b + s + d: for d = 0, B the
    rest of S_T and (y, t) of unit length, (c'y)^2 <= s y'By, so y'By + 2t c'y + t^2 s <= (b^(1/2) |y| + s^(1/2) |t|)^2
    <= b + s; otherwise add d to the diagonal. The bound is the largest of these numbers and of the bound on the
    features kept. The known value is not needed for it.
    """

    kept: Indices
    before: Witness  # the witness of b, on all features
    rows: bool  # whether the test with |c| is used, which needs rows of S
    inner: Witness  # the witness of the bound on the features kept

    def bound(self, S: Covariance, k: int, inside: Indices, bound_of: BoundOf) -> Proved:
        kept = checked_features(self.kept, S.n_features, "kept")
        out = np.setdiff1d(np.arange(S.n_features), kept)
        best = NO_SUPPORT
        if len(kept):
            members = np.flatnonzero(np.isin(kept, inside))
            best = bound_of(self.inner, S.part(kept), min(k, len(kept)), members)
        return max(best, self._with_eliminated(S, k, out, bound_of)) if len(out) else best

    def _with_eliminated(self, S: Covariance, k: int, out: Indices, bound_of: BoundOf) -> Proved:
        """Bound the supports that contain a feature of those eliminated."""
        variances = S.variances[out]
        if k == 1:
            return Proved(float(variances.max()), 0.0)
        # A support without one of its features need not contain those inside.
        before = bound_of(self.before, S, k - 1, no_features())
        b = before.value
        reach = np.full(len(out), math.inf)
        # For a semidefinite S the test with |c| is never weaker, so no shift is computed just for the other one.
        if S.known_semidefinite_shift is not None or not self.rows:
            reach = up(up(variances + b) + S.semidefinite_shift)
        if self.rows:
            reach = np.minimum(reach, _larger_eigenvalues(b, variances, _row_lengths(S, out, k - 1)))
        most = float(reach.max())
        return NO_BOUND if math.isnan(most) else Proved(most, before.margin)

    def reads(self, n: int) -> Indices:
        if self.rows:
            return np.arange(n)
        return np.union1d(checked_features(self.kept, n, "kept"), self.before.reads(n))

    def kinds(self) -> tuple[str, ...]:
        return self.inner.kinds()


def _larger_eigenvalues(b: float, s: Floats, c: Floats) -> Floats:
    """Return upper bounds on the larger eigenvalues of [[b, c], [c, s]]."""
    half = np.abs(b - s) / 2
    root = grown(np.sqrt(grown(half * half + c * c, 4)), 1)
    return np.asarray(up(up((b + s) / 2) + root))


def _row_lengths(S: Covariance, rows: Indices, count: int) -> Floats:
    """Return upper bounds on the root of the sum of the `count` largest squares of each row, off the diagonal."""
    spread = grown(np.sqrt(sum_up(up(largest(S.spread, count) ** 2))), 1) if S.spread.any() else 0.0
    lengths = []
    for part, sizes in off_diagonal_rows(S, rows):
        squares = sizes**2
        most = np.partition(squares, S.n_features - count, axis=1)[:, S.n_features - count :].sum(axis=1)
        own = grown(np.sqrt(grown(most, count + 2)), 1)
        lengths.append(up(own + up(S.spread[part] * spread)))
    return np.concatenate(lengths)


@dataclass(frozen=True, eq=False)
class TwoGroupsWitness(Witness):
    """Bounds on the first group of features, at several cardinalities, and the variances of the second group.

    Let a_q bound the supports of q features of the first group, a_0 = 0, let v_1 >= v_2 >= ... be the variances of the
    second group, and S + d I semidefinite. The largest eigenvalue of a semidefinite matrix is at most the sum of those
    of two diagonal blocks. Therefore a support of k features, j of them in the second group, has at most the value

        a_{k-j} + v_1 + ... + v_j + j d.

    With E and S_T + E_T semidefinite, tr(E) may stand for j d. The value is also at most the larger eigenvalue of
    [[a, c], [c, b]] with a = a_{k-j}, b = v_1 + ... + v_j, c^2 = (a + e) b and e the excess of S
    (`laconic.covariance.deflation`). a_q is the least of the bounds given for q features or more and of the sum of the
    q largest variances of the first group plus (q - 1) d.
    """

    kept: Indices  # the first group
    bounds: tuple[tuple[int, Witness], ...]  # cardinalities, k first, and the witness of the bound at each

    def bound(self, S: Covariance, k: int, _inside: Indices, bound_of: BoundOf) -> Proved:
        return max(self._cases(S, k, bound_of).values(), default=NO_SUPPORT)

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


def _with_excess(a: float, b: float, excess: float) -> float:
    """Return an upper bound on the larger eigenvalue of [[a, c], [c, b]], c^2 = (a + e) b.

    It is at most a + b + e, because [[a + e, c], [c, b]] has the eigenvalues a + b + e and 0.
    """
    value = float(_larger_eigenvalues(a, np.array(b), grown(np.sqrt(up(up(a + excess) * b)), 1)))
    # An infinite number times zero is no number, and nothing is known then.
    return math.inf if math.isnan(value) else min(value, sum_up([a, b, excess]))


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
