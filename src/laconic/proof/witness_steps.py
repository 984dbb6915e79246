"""A proof in steps: each step bounds the supports among some features, directly or from earlier steps.

A step (q, W) bounds x'Sx over unit x with at most q nonzeros, all of them on the features W. It also bounds fewer
nonzeros, and fewer features. It is proved in one of three ways:

    directly       a witness on W: a dual point, Proposition 2, a tree of cases, ...
    by variances   from steps on some features K of W. What the others, which are hidden, can add follows from their
                   variances.
    by rows        from a step (q, K), and a step (q - 1, W). What a support with a feature outside K can reach follows
                   from the rows of S.

A step names earlier steps by their places, so nothing nests. The last step is the bound.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from laconic.core.arrays import BLOCK_ENTRIES, Floats, Indices
from laconic.core.rounding import grown, sum_up, up
from laconic.covariance import Covariance
from laconic.proof.witness import (
    Proved,
    Witness,
    check_registered,
    checked_features,
    checked_matrix,
    lacking,
    no_features,
    total,
)


@dataclass(frozen=True)
class Again:
    """The witness of an earlier direct step on the same features, used for another number of features."""

    step: int  # its place


@dataclass(frozen=True, eq=False)
class ByVariances:
    """Bounds on the features K at several numbers of features, and the variances of the hidden features of W.

    Let a_j bound the supports of j features of K, a_0 = 0, let v_1 >= v_2 >= ... be the hidden variances, and S + d I
    semidefinite. The largest eigenvalue of a semidefinite matrix is at most the sum of those of two diagonal blocks.
    Therefore a support of q features, j of them hidden, has at most the value

        a_{q-j} + v_1 + ... + v_j + j d.

    With E and S_T + E_T semidefinite, tr(E) may stand for j d. The value is also at most the larger eigenvalue of
    [[a, c], [c, b]] with a = a_{q-j}, b = v_1 + ... + v_j, c^2 = (a + e) b and e the excess of S
    (`laconic.covariance.deflation`). a_j is the least of the bounds given for j features or more and of the sum of the
    j largest variances of K plus (j - 1) d.
    """

    steps: tuple[int, ...]  # the places of steps on K, that for q features first


@dataclass(frozen=True, eq=False)
class ByRows:
    """A step (q, K), and what a support of q features of W with a feature outside K can reach.

    Let b bound the supports of q - 1 features of W, and i be a feature outside K in the support T.

    *Rows.* With s = S_ii and c the rest of the row i in T, lmax(S_T) is at most the larger eigenvalue of
    [[b, |c|], [|c|, s]], that is b/2 + s/2 + ((b - s)^2/4 + |c|^2)^(1/2). |c|^2 is at most the sum of the q - 1 largest
    squares of the row.

    *Anchors.* Let r be the feature of the largest entry of the leading eigenvector of S_T. Then lmax(S_T) is at most
    S_rr + the sum of |S_rj| over the others. Let A_r be S_rr plus the q - 1 largest |S_rj|, and C_r the same with q - 2
    of them. If r = i, this is at most A_i. Otherwise T contains i, so it is at most the smaller one of A_r and
    C_r + |S_ri|. For all r but those called strong, A_r is used alone.

    The smaller one of both counts. The bound is the largest of these numbers and of the step (q, K). If W has hidden
    features, nothing is known of their rows, so W must not have any.
    """

    kept: int  # the place of the step (q, K)
    smaller: int  # the place of the step (q - 1, W)
    strong: Indices


@dataclass(frozen=True, eq=False)
class Step:
    """A bound on the supports of at most `cardinality` of some features."""

    cardinality: int
    features: Indices | None  # W in increasing order; None for all features of S
    how: Witness | Again | ByVariances | ByRows


@dataclass(frozen=True, eq=False)
class StepsWitness(Witness):
    """Steps that refer to one another; see the top of this file."""

    steps: tuple[Step, ...]

    def bound(self, S: Covariance, k: int, inside: Indices) -> Proved:
        ledger = Ledger(S, k, inside)
        for step in self.steps:
            ledger.add(step)
        if not self.steps or self.steps[-1].features is not None or self.steps[-1].cardinality < k:
            raise ValueError(f"The last step of the witness must bound supports of {k} of all features.")
        return ledger.proved[-1]

    def for_fewer(self, count: int) -> "StepsWitness":
        """Return the same steps for supports of so many features fewer, but for one at least."""
        return StepsWitness(tuple(replace(step, cardinality=max(step.cardinality - count, 1)) for step in self.steps))

    @property
    def innermost(self) -> Step:
        """The direct step from which the last one follows: that about the features which were not left out."""
        place = len(self.steps) - 1
        while not isinstance(self.steps[place].how, Witness):
            before, place = place, _used(self.steps[place])[0]
            if not 0 <= place < before:
                raise ValueError(f"Step {before} of the witness refers to step {place}, which is not before it.")
        return self.steps[place]

    def reads(self, n: int) -> Indices:
        """Return the features of the steps that are proved directly or by rows."""
        read = np.zeros(n, dtype=bool)
        for step in self.steps:
            if isinstance(step.how, ByRows):
                read[slice(None) if step.features is None else checked_features(step.features, n, "features")] = True
            elif isinstance(step.how, Witness):
                own = np.arange(n) if step.features is None else checked_features(step.features, n, "features")
                read[own[step.how.reads(len(own))]] = True
        return np.flatnonzero(read)

    def kinds(self) -> tuple[str, ...]:
        names = [step.how.kinds() for step in (self.innermost, *self.steps) if isinstance(step.how, Witness)]
        return tuple(dict.fromkeys(name for some in names for name in some))


class Ledger:
    """Steps about a matrix, each proved when it is added.

    Steps for k features, the number that is asked for, are about supports that contain the features `inside`. All
    others are about all supports.
    """

    def __init__(self, S: Covariance, k: int, inside: Indices) -> None:
        self.S, self._k, self._inside = checked_matrix(S), k, inside
        self.steps: list[Step] = []
        self.proved: list[Proved] = []
        self._parts: dict[bytes, Covariance] = {}

    def part(self, features: Indices | None) -> Covariance:
        """Return S on some features. The same features give the same object, which remembers what was computed."""
        if features is None:
            return self.S
        key = features.tobytes()
        if key not in self._parts:
            self._parts[key] = self.S.part(features)
        return self._parts[key]

    @np.errstate(all="ignore")  # an overflow gives an infinite bound, which is true
    def add(self, step: Step, proved: Proved | None = None) -> int:
        """Prove a step, and return its place. A bound of its witness that the gate has proved already may be given."""
        n, q = self.S.n_features, step.cardinality
        if step.features is not None:
            features = checked_features(step.features, n, "features of a step")
            if not len(features) or (np.diff(features) <= 0).any():
                raise ValueError("The features of a step must be in increasing order, and at least one.")
            step = replace(step, features=features)
        if not 1 <= q <= self._k:
            raise ValueError(f"A step bounds supports of {q} features; the number must lie between 1 and {self._k}.")
        value = self._value(step) if proved is None else proved
        self.steps.append(step)
        self.proved.append(Proved(math.inf, math.inf) if math.isnan(value.value) else value)
        return len(self.steps) - 1

    def witness(self, place: int) -> Witness:
        """Return the witness of a step about all features: the steps that it needs, in order."""
        needed: set[int] = set()
        pending = [place]
        while pending:
            here = pending.pop()
            if here not in needed:
                needed.add(here)
                pending += _used(self.steps[here])
        order = {old: new for new, old in enumerate(sorted(needed))}
        steps = tuple(_renumbered(self.steps[old], order) for old in order)
        if len(steps) == 1 and isinstance(steps[0].how, Witness):
            return steps[0].how
        return StepsWitness(steps)

    def _value(self, step: Step) -> Proved:
        how, part, q = step.how, self.part(step.features), step.cardinality
        if isinstance(how, ByVariances):
            return self._by_variances(step, how)
        if isinstance(how, ByRows):
            return self._by_rows(step, how, part)
        if isinstance(how, Again):
            how = self._again(how, step)
        check_registered(how)
        if isinstance(how, StepsWitness):
            raise ValueError("A step of the witness holds other steps; a proof is one list of steps.")
        inside = no_features()
        if self._is_asked(step):
            own = self._features(step)
            if not np.isin(self._inside, own).all():
                # No support of these features has all that must be inside.
                return Proved(-math.inf, 0.0)
            inside = np.searchsorted(own, self._inside)
        return how.bound(part, min(q, part.n_features), inside)

    def _again(self, how: Again, step: Step) -> Witness:
        if not 0 <= how.step < len(self.steps):
            raise ValueError(f"A step of the witness refers to step {how.step}, which is not before it.")
        earlier = self.steps[how.step]
        if not isinstance(earlier.how, Witness) or not np.array_equal(self._features(earlier), self._features(step)):
            raise ValueError(f"Step {how.step} of the witness has no witness on these features.")
        return earlier.how

    def _is_asked(self, step: Step) -> bool:
        return bool(len(self._inside)) and step.cardinality == self._k

    def _features(self, step: Step) -> Indices:
        return np.arange(self.S.n_features) if step.features is None else step.features

    def _earlier(self, place: int, step: Step, cardinality: int, features: Indices | None) -> Proved:
        """Return the bound of an earlier step that is to bound supports of so many of some features."""
        if not 0 <= place < len(self.steps):
            raise ValueError(f"A step of the witness refers to step {place}, which is not before it.")
        earlier = self.steps[place]
        if earlier.cardinality < cardinality or (self._is_asked(earlier) and not self._is_asked(step)):
            raise ValueError(f"Step {place} of the witness does not bound all supports of {cardinality} features.")
        if features is None or not np.isin(features, self._features(earlier)).all():
            raise ValueError(f"Step {place} of the witness is about fewer features than it is needed for.")
        return self.proved[place]

    def _by_variances(self, step: Step, how: ByVariances) -> Proved:
        if not how.steps or not all(0 <= place < len(self.steps) for place in how.steps):
            raise ValueError("A step by variances needs earlier steps.")
        own, kept = self._features(step), self._features(self.steps[how.steps[0]])
        # Fewer features have supports of fewer only.
        q = min(step.cardinality, len(own))
        if not np.isin(kept, own).all():
            raise ValueError("A step by variances must keep some of its features.")
        given = []
        for place in how.steps:
            earlier = self.steps[place]
            if not np.array_equal(self._features(earlier), kept):
                raise ValueError("The steps behind a step by variances must be about the same features.")
            given.append((earlier.cardinality, self._earlier(place, step, 1, kept), self._is_asked(earlier)))
        best = Proved(-math.inf, 0.0)
        for hidden, proved in hidden_cases(self.S, own, kept, q, given).items():
            if hidden or not self._is_asked(step) or np.isin(self._inside, kept).all():
                best = max(best, proved)
        return best

    def _by_rows(self, step: Step, how: ByRows, part: Covariance) -> Proved:
        own, q = self._features(step), step.cardinality
        if not 0 <= how.kept < len(self.steps):
            raise ValueError("A step by rows needs an earlier step.")
        kept = self._features(self.steps[how.kept])
        if not np.isin(kept, own).all():
            raise ValueError("A step by rows must keep some of its features.")
        inner = self._earlier(how.kept, step, q, kept)
        out = np.flatnonzero(~np.isin(own, kept))
        if q == 1:
            return max(inner, Proved(float(part.variances[out].max(initial=-math.inf)), 0.0))
        smaller_step = replace(step, cardinality=q - 1)
        smaller = self._earlier(how.smaller, smaller_step, q - 1, own)
        if not len(out):
            return inner
        strong = checked_features(how.strong, part.n_features, "strong")
        reach = reach_by_rows(part, q, smaller.value, out, strong)
        return max(inner, Proved(float(reach.max()), smaller.margin))


def hidden_cases(
    S: Covariance, own: Indices, kept: Indices, q: int, given: Sequence[tuple[int, Proved, bool]]
) -> dict[int, Proved]:
    """Return the bounds on supports with j hidden features for each j; see `ByVariances`.

    `given` holds bounds on the features kept: the number of features, the bound, and whether it is only about some of
    the supports, so that it says nothing of smaller ones.
    """
    outside = own[~np.isin(own, kept)]
    among = -np.sort(-S.variances[kept])[:q]
    others = -np.sort(-S.variances[outside])[:q]
    excess = S.excess(outside) if len(outside) else 0.0
    cases: dict[int, Proved] = {}
    for j in range(max(0, q - len(kept)), min(q, len(others)) + 1):
        left = q - j
        tried = [Proved(sum_up([*among[:left], lacking(S, left - 1)]), 0.0) if left else Proved(0.0, 0.0)]
        tried += [bound for size, bound, some in given if left and size >= left and not (some and j)]
        least = min(tried)
        if not j:
            cases[j] = least
            continue
        cases[j] = total([least.value, *others[:j], lacking(S, j)], least.margin, [])
        if excess is not None:
            value = _with_excess(max(least.value, 0.0), sum_up(others[:j]), excess)
            cases[j] = min(cases[j], Proved(value, least.margin))
    return cases


def reach_by_rows(S: Covariance, q: int, smaller: float, features: Indices, strong: Indices) -> Floats:
    """Return what supports of q >= 2 features that contain one of some features can reach; see `ByRows`."""
    pairs = S.pairs(q - 1)
    variances = S.variances
    largest = np.asarray(pairs.largest, dtype=np.float64)
    lengths = grown(np.sqrt(grown(np.einsum("ij,ij->i", largest[features], largest[features]), q)), 1)
    by_rows = _larger_eigenvalues(smaller, variances[features], lengths)
    without_last = up(variances + grown(largest[:, : q - 2].sum(axis=1), q)) if q > 2 else variances
    circles = up(variances + grown(largest.sum(axis=1), q))
    weak = np.ones(S.n_features, dtype=bool)
    weak[strong] = False
    by_anchors = np.maximum(circles[features], float(circles[weak].max(initial=-math.inf)))
    step = max(1, BLOCK_ENTRIES // max(len(features), 1))
    for begin in range(0, len(strong), step):
        rows = strong[begin : begin + step]
        entries = np.abs(S.block(rows, features)) + up(np.multiply.outer(S.spread[rows], S.spread[features]))
        reached = np.minimum(circles[rows][:, None], up(without_last[rows][:, None] + up(entries)))
        reached[rows[:, None] == features] = -math.inf
        by_anchors = np.maximum(by_anchors, reached.max(axis=0))
    reach = np.minimum(by_rows, by_anchors)
    return np.where(np.isnan(reach), math.inf, reach)


def _larger_eigenvalues(b: float, s: Floats, c: Floats) -> Floats:
    """Return upper bounds on the larger eigenvalues of [[b, c], [c, s]]."""
    half = np.abs(b - s) / 2
    root = grown(np.sqrt(grown(half * half + c * c, 4)), 1)
    return np.asarray(up(up((b + s) / 2) + root))


def _with_excess(a: float, b: float, excess: float) -> float:
    """Return an upper bound on the larger eigenvalue of [[a, c], [c, b]], c^2 = (a + e) b.

    It is at most a + b + e, because [[a + e, c], [c, b]] has the eigenvalues a + b + e and 0.
    """
    value = float(_larger_eigenvalues(a, np.array(b), grown(np.sqrt(up(up(a + excess) * b)), 1)))
    # An infinite number times zero is no number, and nothing is known then.
    return math.inf if math.isnan(value) else min(value, sum_up([a, b, excess]))


def _used(step: Step) -> list[int]:
    """Return the places that a step refers to."""
    match step.how:
        case Again(step=place):
            return [place]
        case ByVariances(steps=steps):
            return list(steps)
        case ByRows(kept=kept, smaller=smaller):
            return [kept, smaller] if step.cardinality > 1 else [kept]
    return []


def _renumbered(step: Step, order: dict[int, int]) -> Step:
    match step.how:
        case Again(step=place):
            return replace(step, how=Again(order[place]))
        case ByVariances(steps=steps):
            return replace(step, how=ByVariances(tuple(order[place] for place in steps)))
        case ByRows(kept=kept, smaller=smaller, strong=strong):
            return replace(step, how=ByRows(order[kept], order.get(smaller, -1), strong))
    return step
