"""From a witness to a proved number, with none of the solvers' code.

S is a symmetric matrix, T a set of k features that holds the features `inside` (as a rule none), x a unit vector that
is zero off T. Every function here returns an upper bound on x'Sx over all such T and x, and the bound is true of the
real numbers: each rounding on the way is bounded and added (`laconic.core.rigor`, `laconic.covariance.enclosure`). It
is true whatever the arrays of a witness hold; poor ones give a poor bound.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations, islice
from typing import Any

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.rigor import PLAIN_EXPONENT, TINY, grown, proved_largest_of_stack, scaled_up, sum_up, up
from laconic.covariance.enclosing import enclose, exponent_of, rescaled
from laconic.covariance.enclosure import BLOCK_ENTRIES, WRITE_OUT, Enclosure, Part, Written
from laconic.proof.terms import NOTHING, Proved, features_of, largest, number, times_up, total
from laconic.proof.upper_bound import UpperBound
from laconic.proof.witness import (
    BlockWitness,
    ComponentWitness,
    DualWitness,
    ExhaustiveWitness,
    ReducedWitness,
    RowSumWitness,
    SplitWitness,
    TraceWitness,
    TreeNode,
    TreeWitness,
    Witness,
    kind_of,
)
from laconic.proof.witnesses.dual import dual_bound
from laconic.proof.witnesses.proposition_2 import component_bound
from laconic.proof.witnesses.tree import Tree

# More supports than these are not looked at one by one.
MOST_SUPPORTS = 2_000_000
# Witnesses within witnesses.
DEEPEST = 8


class ProofError(ValueError):
    """A witness that proves nothing, with a sentence that says why."""


def prove(S: Any, cardinality: int, witness: Witness, *, kind: str = "", inside: Any = ()) -> UpperBound:
    """Return the upper bound that a witness proves. This is the only way to make one.

    Parameters
    ----------
    S
        A `Covariance`, its enclosure, or a symmetric array.
    cardinality
        The number of nonzeros k.
    witness
        The numbers from which the bound is computed.
    kind
        The name of the bound, one of `kinds_of(witness)`; by default `kind_of(witness)`.
    inside
        Features that every support considered holds.

    Raises
    ------
    ProofError
        If the witness does not fit S, needs more work than the gate does, or gives an infinite bound.
    """
    try:
        value, margin = proved_upper_and_margin(S, cardinality, witness, inside=inside)
    except ValueError as error:
        raise ProofError(str(error)) from None
    if not math.isfinite(value):
        raise ProofError("The witness proves nothing: its bound is infinite.")
    return UpperBound(value, kind or kind_of(witness), int(cardinality), witness, margin)


def proved_upper(S: Any, cardinality: int, witness: Witness, *, inside: Any = ()) -> float:
    """Return a number that x'Sx does not exceed for any unit x with at most k nonzeros.

    Parameters
    ----------
    S
        A `Covariance`, its enclosure, or an array.
    cardinality
        k.
    witness
        What the bound is computed from.
    inside
        Features that every support considered holds.

    Raises
    ------
    ValueError
        If the witness does not fit S, or asks for more work than is done here.
    """
    return proved_upper_and_margin(S, cardinality, witness, inside=inside).value


@np.errstate(all="ignore")  # what overflows gives an infinite bound, which is true
def proved_upper_and_margin(S: Any, cardinality: int, witness: Witness, *, inside: Any = ()) -> Proved:
    """Return `proved_upper` and its rounding margin; the parameters are the same."""
    exponent = exponent_of(S)
    if abs(exponent) > PLAIN_EXPONENT:
        proved = _upper(enclose(rescaled(S, -exponent)), cardinality, _rescaled(witness, -exponent), inside)
        # Entries lost in underflow.
        value = scaled_up(sum_up([proved.value, TINY]), 2 * exponent)
        return Proved(value, scaled_up(proved.margin, 2 * exponent))
    return _upper(enclose(S), cardinality, witness, inside)


def _upper(S: Enclosure, k: int, witness: Witness, inside: Any) -> Proved:
    members = features_of(inside, S.n, "inside")
    if not max(len(members), 1) <= k <= S.n:
        raise ValueError(f"cardinality={k} must lie between {max(len(members), 1)} and {S.n}.")
    value, margin = _bound(S, int(k), witness, members, 0)
    return Proved(value, max(margin, 0.0))


def _bound(S: Enclosure, k: int, witness: Witness, inside: Indices, depth: int) -> Proved:
    if depth > DEEPEST:
        raise ValueError(f"The witness holds witnesses within witnesses, more than {DEEPEST} deep.")
    match witness:
        case TraceWitness():
            proved = _trace(S, k)
        case RowSumWitness():
            proved = _row_sums(S, k)
        case ExhaustiveWitness():
            proved = _exhaustive(S, k, inside)
        case DualWitness():
            proved = dual_bound(S, k, witness, inside)
        case ComponentWitness():
            proved = component_bound(S, k, witness)
        case BlockWitness():
            proved = _blocks(S, k, witness, depth)
        case ReducedWitness():
            proved = _reduced(S, k, witness, inside, depth)
        case SplitWitness():
            proved = _split(S, k, witness, depth)
        case TreeWitness():
            proved = Tree(S, k, _exhaustive).bound(witness, inside)
        case _:
            raise ValueError(f"{type(witness).__name__} is no witness.")
    return NOTHING if math.isnan(proved.value) else proved


def _trace(S: Enclosure, k: int) -> Proved:
    """Bound by the k largest variances.

    With S_T + d I semidefinite, lmax(S_T) + d <= trace(S_T) + k d; so (k - 1) d is added, d zero where S = A'A. With E
    and S_T + E_T semidefinite, lmax(S_T) <= trace(S_T) + trace(E).
    """
    value = sum_up([*largest(S.variances, k), _lacking(S, k - 1)])
    return Proved(value, value - math.fsum(largest(S.diagonal, k)))


def _row_sums(S: Enclosure, k: int) -> Proved:
    """Bound by Gershgorin's circles of S_T: lmax(S_T) <= max_i of S_ii + sum |S_ij|, j in T."""
    step = max(1, BLOCK_ENTRIES // S.n)
    spread = sum_up(largest(S.spread, k)) if S.spread.any() else 0.0
    value = plain = -math.inf
    everything = np.arange(S.n)
    for begin in range(0, S.n, step):
        rows = everything[begin : begin + step]
        size = np.abs(S.whole_rows(rows))
        size[np.arange(len(rows)), rows] = 0.0
        others = np.partition(size, S.n - k, axis=1)[:, S.n - k + 1 :].sum(axis=1) if k > 1 else np.zeros(len(rows))
        away = up(S.spread[rows] * spread) if spread else 0.0
        circles = up(up(S.variances[rows] + (grown(others, k) if k > 1 else 0.0)) + away)
        if np.isnan(circles).any():
            return NOTHING
        value = max(value, float(circles.max()))
        plain = max(plain, float((S.diagonal[rows] + others).max()))
    return Proved(value, value - plain)


def _exhaustive(S: Enclosure, k: int, inside: Indices) -> Proved:
    """Bound by looking at every support."""
    free = np.setdiff1d(np.arange(S.n), inside) if len(inside) else np.arange(S.n)
    count = math.comb(len(free), k - len(inside))
    if count > MOST_SUPPORTS:
        raise ValueError(
            f"{S.n} features have {count} supports of {k}; more than {MOST_SUPPORTS} are not looked at one by one."
        )
    value = plain = -math.inf
    choices = combinations(free.tolist(), k - len(inside))
    for supports in _batches(choices, k - len(inside), max(1, BLOCK_ENTRIES // (8 * k * k))):
        together = supports
        if len(inside):
            together = np.concatenate([np.broadcast_to(inside, (len(supports), len(inside))), supports], axis=1)
        stack = S.matrix[together[:, :, None], together[:, None, :]]
        proved, estimate = proved_largest_of_stack(stack)
        value, plain = max(value, proved), max(plain, estimate)
    value = sum_up([value, S.away]) if S.away else value
    return Proved(value, value - plain)


def _batches(choices: Iterator[tuple[int, ...]], width: int, count: int) -> Iterator[Indices]:
    if not width:
        yield np.empty((1, 0), dtype=np.intp)
        return
    while (batch := np.fromiter(chain.from_iterable(islice(choices, count)), dtype=np.intp)).size:
        yield batch.reshape(-1, width)


def _blocks(S: Enclosure, k: int, witness: BlockWitness, depth: int) -> Proved:
    """Bound by the blocks that are left when small entries, and all entries between blocks, are set to zero.

    What was set to zero costs (k - 1) times its largest entry, as U does in `_dual`. What is left is a sum over the
    blocks: x'S_0x = sum_b x_b'S_0x_b <= sum_b |x_b|^2 v_b <= max_b v_b.
    """
    threshold = number(witness.threshold, "threshold")
    label = np.full(S.n, -1)
    groups = []
    for place, (features, _) in enumerate(witness.blocks):
        group = features_of(features, S.n, "block")
        if not len(group) or (label[group] >= 0).any():
            raise ValueError("The blocks of a witness must hold features, and none of them twice.")
        label[group] = place
        groups.append(group)
    M = S.matrix
    small = (np.abs(M) <= threshold) | (label[:, None] != label) | (label < 0)
    np.fill_diagonal(small, False)
    cost = times_up(k - 1, float(np.abs(M[small]).max(initial=0.0)))
    left = np.where(small, 0.0, M)
    alone = S.diagonal[label < 0]
    best = Proved(float(alone.max(initial=-math.inf)), 0.0)
    for group, (_, inner) in zip(groups, witness.blocks, strict=True):
        block = Written(left[np.ix_(group, group)])
        best = max(best, _bound(block, min(k, len(group)), inner, features_of((), block.n, ""), depth + 1))
    return total([best.value, cost, S.away], best.margin, [S.away])


def _reduced(S: Enclosure, k: int, witness: ReducedWitness, inside: Indices, depth: int) -> Proved:
    """Bound by the features kept, and each support that holds another feature i by what i can add.

    Let b bound the supports of k - 1 features, s = S_ii, c the rest of its row in T. Then lmax(S_T) is at most the
    larger eigenvalue of [[b, |c|], [|c|, s]], that is b/2 + s/2 + ((b - s)^2/4 + |c|^2)^(1/2). With S_T + d I
    semidefinite it is also at most b + s + d: for d = 0, B the rest of S_T and (y, t) of unit length, (c'y)^2 <=
    s y'By, so y'By + 2t c'y + t^2 s <= (b^(1/2) |y| + s^(1/2) |t|)^2 <= b + s; else add d to the diagonal. No support
    is above the largest of all these. Those of the features eliminated are below the value they were eliminated by,
    and so below the best: that value is not needed.
    """
    kept = features_of(witness.kept, S.n, "kept")
    out = np.setdiff1d(np.arange(S.n), kept)
    best = Proved(-math.inf, 0.0)
    if len(kept):
        members = np.flatnonzero(np.isin(kept, inside))
        best = _bound(Part(S, kept), min(k, len(kept)), witness.inner, members, depth + 1)
    if not len(out):
        return best
    variances = S.variances[out]
    if k == 1:
        return max(best, Proved(float(variances.max()), 0.0))
    # A support less one of its features need not hold those inside any more.
    before = _bound(S, k - 1, witness.before, features_of((), S.n, ""), depth + 1)
    b = before.value
    reach = np.full(len(out), math.inf)
    if S.known_defect is not None or S.n <= WRITE_OUT or not witness.rows:
        reach = up(up(variances + b) + S.defect)
    if witness.rows:
        reach = np.minimum(reach, _larger_eigenvalues(b, variances, _row_lengths(S, out, k - 1)))
    most = float(reach.max())
    return NOTHING if math.isnan(most) else max(best, Proved(most, before.margin))


def _split(S: Enclosure, k: int, witness: SplitWitness, depth: int) -> Proved:
    """Bound the features kept and those that are not by themselves: lmax(S_T) <= a_{k-j} + v_1 + ... + v_j + j d.

    With E and S_T + E_T semidefinite tr(E) will do in place of j d, as in `_trace`.
    """
    kept = features_of(witness.kept, S.n, "kept")
    if not len(kept):
        raise ValueError("A witness must keep features.")
    part, nobody = Part(S, kept), features_of((), S.n, "")
    if len(kept) <= WRITE_OUT:
        part.write_out()
    given = []
    for cardinality, inner in witness.bounds:
        q = int(number(cardinality, "cardinality"))
        if not 1 <= q <= min(k, len(kept)):
            raise ValueError(f"The witness has a bound at cardinality {q}, where 1 to {min(k, len(kept))} are needed.")
        given.append((q, _bound(part, q, inner, nobody, depth + 1)))
    among = -np.sort(-S.variances[kept])
    others = -np.sort(-np.delete(S.variances, kept))
    best = Proved(-math.inf, 0.0)
    for j in range(max(0, k - len(kept)), min(k, len(others)) + 1):
        q = k - j
        inside = [Proved(sum_up([*among[:q], _lacking(S, q - 1)]), 0.0) if q else Proved(0.0, 0.0)]
        inside += [proved for cardinality, proved in given if q and cardinality >= q]
        least = min(inside)
        best = max(best, total([least.value, *others[:j], _lacking(S, j)], least.margin, []))
    return best


def _lacking(S: Enclosure, count: int) -> float:
    """Return what a matrix that is not semidefinite pays, `count` times on its diagonal or as a whole."""
    return min(times_up(count, S.defect), S.lack) if count > 0 else 0.0


def _larger_eigenvalues(b: float, s: Floats, c: Floats) -> Floats:
    """Return upper bounds on the larger eigenvalues of [[b, c], [c, s]]."""
    half = np.abs(b - s) / 2
    root = grown(np.sqrt(grown(half * half + c * c, 4)), 1)
    return np.asarray(up(up((b + s) / 2) + root))


def _row_lengths(S: Enclosure, rows: Indices, count: int) -> Floats:
    """Return upper bounds on the root of the sum of the `count` largest squares of each row, off the diagonal."""
    everything = np.arange(S.n)
    spread = grown(np.sqrt(sum_up(up(largest(S.spread, count) ** 2))), 1) if S.spread.any() else 0.0
    step = max(1, BLOCK_ENTRIES // S.n)
    lengths = []
    for begin in range(0, len(rows), step):
        part = rows[begin : begin + step]
        squares = S.block(part, everything) ** 2
        squares[np.arange(len(part)), part] = 0.0
        most = np.partition(squares, S.n - count, axis=1)[:, S.n - count :].sum(axis=1)
        own = grown(np.sqrt(grown(most, count + 2)), 1)
        lengths.append(up(own + up(S.spread[part] * spread)))
    return np.concatenate(lengths)


def _rescaled(witness: Witness, exponent: int) -> Witness:
    """Return the witness for S times 4^exponent. Rounding is harmless: a bound holds for any arrays."""
    match witness:
        case DualWitness():
            return _rescaled_point(witness, exponent)
        case ComponentWitness():
            weights = np.ldexp(witness.weights, -exponent)
            return replace(witness, weights=weights, rho=float(np.ldexp(witness.rho, 2 * exponent)))
        case BlockWitness():
            blocks = tuple((features, _rescaled(inner, exponent)) for features, inner in witness.blocks)
            return replace(witness, threshold=float(np.ldexp(witness.threshold, 2 * exponent)), blocks=blocks)
        case ReducedWitness():
            return replace(
                witness, before=_rescaled(witness.before, exponent), inner=_rescaled(witness.inner, exponent)
            )
        case SplitWitness():
            return replace(witness, bounds=tuple((q, _rescaled(inner, exponent)) for q, inner in witness.bounds))
        case TreeWitness():
            return TreeWitness(tuple(_rescaled_node(node, exponent) for node in witness.nodes))
    return witness


def _rescaled_point(witness: DualWitness, exponent: int) -> DualWitness:
    def by(x: Any, power: int) -> Any:
        return None if x is None else np.ldexp(x, power)

    names = ("multiplier", "threshold", "levels", "norms", "price", "rho", "shift")
    scaled = {name: by(getattr(witness, name), 2 * exponent) for name in names}
    return replace(witness, **scaled, factor=by(witness.factor, exponent))


def _rescaled_node(node: TreeNode, exponent: int) -> TreeNode:
    decisions = tuple(replace(d, witness=_rescaled_point(d.witness, exponent)) for d in node.decisions)
    bound = _rescaled_point(node.bound, exponent) if isinstance(node.bound, DualWitness) else node.bound
    return replace(node, decisions=decisions, bound=bound)
