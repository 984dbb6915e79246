"""A matrix that falls into blocks is solved block by block.

If S_ij = 0 between blocks, x'Sx = sum_b x_b'S_b x_b <= max_b |x_b|^2 v_b with v_b the best of block b: the best support
lies in one block, and has as many of its features as are allowed. If only |S_ij| <= t between blocks, this holds up to
sum_{i != j} t |x_i x_j| <= (k - 1) t, which is safe where the gap asked for leaves room for it.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import EPS
from laconic.covariance import DenseCovariance
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.problem.status import Status, how_it_ended
from laconic.proof.estimate import Estimate
from laconic.proof.witness import BlockWitness, Witness
from laconic.relaxations.elementary import elementary_bound
from laconic.search.auto import Auto

if TYPE_CHECKING:
    from laconic.bounds.tree.search import BranchAndBound


# The share of the gap asked for that entries between blocks may take.
SHARE = 0.25


def blocks_of(S: Floats, threshold: float = 0.0) -> list[Indices]:
    """Return the features of each block, those of a feature that stands alone too.

    Parameters
    ----------
    S
        A symmetric matrix.
    threshold
        Entries no larger than this do not connect.
    """
    count, label = connected_components(csr_array(np.abs(S) > threshold), directed=False)
    return [np.flatnonzero(label == block) for block in range(count)]


def safe_blocks(S: Floats, cardinality: int, value: float, gap: float) -> tuple[list[Indices], float]:
    """Return the blocks, and the threshold between them: zero, or one that the gap leaves room for.

    Parameters
    ----------
    S
        A symmetric matrix.
    cardinality
        k.
    value
        What the gap is relative to.
    gap
        The gap asked for.
    """
    blocks = blocks_of(S)
    threshold = SHARE * gap * max(value, 0.0) / max(cardinality - 1, 1)
    if len(blocks) > 1 or not threshold:
        return blocks, 0.0
    return blocks_of(S, threshold), threshold


def prove_apart(
    settings: "BranchAndBound",
    problem: Problem,
    first: Solution,
    S: Floats,
    blocks: list[Indices],
    target: float,
    threshold: float = 0.0,
) -> Solution:
    """Prove the best support of a matrix in blocks, each searched only for supports that beat the best so far.

    Parameters
    ----------
    settings
        Of the search in a block.
    problem
        The problem, with no features forced in.
    first
        A solution of it.
    S
        Its matrix, written out.
    blocks
        At least two blocks.
    target
        Supports of this value or less are of no interest.
    threshold
        The largest entry, in size, that there may be between blocks.
    """
    # What is between the blocks is paid for out of the gap asked for.
    within = replace(settings, gap=(1 - SHARE) * settings.gap) if threshold else settings
    alone = np.concatenate([block for block in blocks if len(block) == 1] or [np.empty(0, dtype=np.intp)])
    largest = float(S.diagonal()[alone].max(initial=-np.inf))
    best, upper, nodes = first, largest, 0
    if largest > best.value:
        single = alone[[int(S.diagonal()[alone].argmax())]]
        best = Solution(single, np.ones(1), largest, Status.COMPLETE)
    parts: list[tuple[Indices, Witness]] | None = []
    together = [block for block in blocks if len(block) > 1]
    bounds = {place: _bound(S, block, problem.cardinality) for place, block in enumerate(together)}
    for place in sorted(bounds, key=lambda p: -bounds[p].value):
        block, bound = together[place], bounds[place]
        beat = max(best.value, target)
        witness: Witness | None = bound.witness
        reached = bound.value
        if bound.value > beat + max(within.gap, 64 * EPS) * abs(beat):
            found = _in_block(within, problem, first, S, block, beat)
            nodes += found.iterations
            reached, witness = found.estimate, found.witness
            if found.value > best.value:
                best = replace(found, support=block[found.support])
        upper = max(upper, reached)
        parts = None if parts is None or witness is None else [*parts, (block, witness)]
    between = (problem.cardinality - 1) * threshold * (1 + 4 * EPS)
    upper = max(upper + between, best.value)
    limited = settings.node_limit is not None
    status = how_it_ended(best.value, upper, settings.gap, problem.monitor.stopped, limited=limited)
    return replace(
        best,
        status=status,
        estimate=upper,
        # Within a block nothing was set to zero, so the witness has no threshold; what is between goes anyway.
        witness=None if parts is None or problem.nonnegative else BlockWitness(0.0, tuple(parts)),
        method=settings.name,
        iterations=nodes,
        reason=f"branch and bound in {len(together)} blocks: {nodes} nodes",
    )


def _bound(S: Floats, block: Indices, k: int) -> Estimate:
    part = DenseCovariance(S[np.ix_(block, block)], semidefinite=False)
    return elementary_bound(part, min(k, len(block)))


def _in_block(
    settings: "BranchAndBound", problem: Problem, first: Solution, S: Floats, block: Indices, beat: float
) -> Solution:
    inner = replace(
        problem,
        covariance=DenseCovariance(S[np.ix_(block, block)], semidefinite=problem.covariance.semidefinite),
        cardinality=min(problem.cardinality, len(block)),
    )
    if np.isin(first.support, block).all() and len(first.support) == inner.cardinality:
        start = replace(first, support=np.searchsorted(block, first.support))
    else:
        start = Auto(seed=settings.seed).solve(inner)
    return settings.prove(inner, start, target=beat)
