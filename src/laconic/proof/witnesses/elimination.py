"""The bound after safe elimination by a known value."""

import math
from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.rounding import grown, sum_up, up
from laconic.core.thresholds import BLOCK_ENTRIES
from laconic.core.wording import counted
from laconic.covariance import Covariance
from laconic.proof.terms import LEAST, NO_BOUND, Proved, checked_features, largest, no_features
from laconic.proof.witnesses.contract import BoundOf, Inner, Witness, up_to


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
        best = LEAST
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

    def explained(self, S: Covariance, k: int, inside: Indices, inner: Inner) -> list[str]:
        kept = checked_features(self.kept, S.n_features, "kept")
        out = np.setdiff1d(np.arange(S.n_features), kept)
        words = []
        if len(out):
            reach = self._with_eliminated(S, k, out, inner.bound).value
            more = "its variance and its largest covariances" if self.rows else "its variance"
            found = (
                f"Elimination: no support with one of {counted(len(out), 'feature')} reaches more than {up_to(reach)}."
            )
            words.append(found)
            if k > 1:
                before = inner.bound(self.before, S, k - 1, no_features()).value
                words.append(
                    f"This follows for each of them from {more}, and from a bound of {up_to(before)} on "
                    f"{counted(k - 1, 'feature')}."
                )
        if len(kept):
            words.append(f"Supports of the other {counted(len(kept), 'feature')} are bounded apart.")
            members = np.flatnonzero(np.isin(kept, inside))
            words += inner.words(self.inner, S.part(kept), min(k, len(kept)), members)
        value = self.bound(S, k, inside, inner.bound).value
        return [*words, f"Every support is in one of the two cases. The larger bound is {up_to(value)}."]


def _larger_eigenvalues(b: float, s: Floats, c: Floats) -> Floats:
    """Return upper bounds on the larger eigenvalues of [[b, c], [c, s]]."""
    half = np.abs(b - s) / 2
    root = grown(np.sqrt(grown(half * half + c * c, 4)), 1)
    return np.asarray(up(up((b + s) / 2) + root))


def _row_lengths(S: Covariance, rows: Indices, count: int) -> Floats:
    """Return upper bounds on the root of the sum of the `count` largest squares of each row, off the diagonal."""
    everything = np.arange(S.n_features)
    spread = grown(np.sqrt(sum_up(up(largest(S.spread, count) ** 2))), 1) if S.spread.any() else 0.0
    step = max(1, BLOCK_ENTRIES // S.n_features)
    lengths = []
    for begin in range(0, len(rows), step):
        part = rows[begin : begin + step]
        squares = S.block(part, everything) ** 2
        squares[np.arange(len(part)), part] = 0.0
        most = np.partition(squares, S.n_features - count, axis=1)[:, S.n_features - count :].sum(axis=1)
        own = grown(np.sqrt(grown(most, count + 2)), 1)
        lengths.append(up(own + up(S.spread[part] * spread)))
    return np.concatenate(lengths)
