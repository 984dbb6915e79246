"""A matrix that consists of blocks is searched block by block.

If S_ij = 0 between blocks, x'Sx = sum_b x_b'S_b x_b <= max_b |x_b|^2 v_b with v_b the best value of block b.
Therefore some best support lies in one block. If only |S_ij| <= t between blocks, this holds up to
sum_{i != j} t |x_i x_j| <= (k - 1) t. That is safe if the gap asked for leaves room for it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from laconic.core.arrays import Floats, Indices
from laconic.core.linalg import EPS
from laconic.covariance import DenseCovariance
from laconic.problem import Problem, Solution, Status
from laconic.proof.witnesses.blocks import BlockWitness
from laconic.proof.witnesses.contract import Witness
from laconic.relaxations.elementary import elementary_bound
from laconic.search import Auto

# Entries between blocks may use this share of the gap asked for. The searches in the blocks have the rest.
SHARE = 0.25

# Searches a block: the problem, a solution of it, and a value; supports of this value or less are of no interest.
BlockSearch: TypeAlias = Callable[[Problem, Solution, float], Solution]


def blocks_of(S: Floats, threshold: float = 0.0) -> list[Indices]:
    """Return the features of each block. Entries of at most the threshold do not connect features."""
    count, label = connected_components(csr_array(np.abs(S) > threshold), directed=False)
    return [np.flatnonzero(label == block) for block in range(count)]


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of a matrix."""

    features: list[Indices]  # of each block
    threshold: float  # entries between blocks are at most this large in absolute value
    gap: float  # the part of the gap that is left for the searches in the blocks


def divide_into_blocks(S: Floats, cardinality: int, value: float, gap: float) -> Blocks:
    """Return the blocks. Entries that the gap, relative to a value, leaves room for may lie between them."""
    blocks = blocks_of(S)
    threshold = SHARE * gap * max(value, 0.0) / max(cardinality - 1, 1)
    if len(blocks) > 1 or not threshold:
        return Blocks(blocks, 0.0, gap)
    return Blocks(blocks_of(S, threshold), threshold, (1 - SHARE) * gap)


def search_blocks(
    search: BlockSearch, problem: Problem, first: Solution, S: Floats, blocks: Blocks, target: float, seed: int
) -> Solution:
    """Search each block only for supports that are better than the best so far, and than the target value.

    S is the problem's matrix. No features are forced in. The caller judges the status, which stays that of `first`.
    """
    alone = np.concatenate([block for block in blocks.features if len(block) == 1] or [np.empty(0, dtype=np.intp)])
    largest = float(S.diagonal()[alone].max(initial=-np.inf))
    best, estimate, nodes = first, largest, 0
    if largest > best.value:
        single = alone[[int(S.diagonal()[alone].argmax())]]
        best = Solution(single, np.ones(1), largest, Status.LOCAL)
    parts: list[tuple[Indices, Witness]] | None = []
    connected = [block for block in blocks.features if len(block) > 1]
    covariances = [DenseCovariance(S[np.ix_(block, block)], semidefinite=False) for block in connected]
    bounds = [elementary_bound(part, min(problem.cardinality, part.n_features)) for part in covariances]
    # The block with the largest bound comes first: its support may make searches in the others needless.
    for place in sorted(range(len(connected)), key=lambda p: -bounds[p].value):
        block, bound = connected[place], bounds[place]
        beat = max(best.value, target)
        witness: Witness | None = bound.witness
        reached = bound.value
        if bound.value > beat + max(blocks.gap, 64 * EPS) * abs(beat):
            inner, start = _problem_of(problem, first, S, block, seed)
            found = search(inner, start, beat)
            nodes += found.iterations
            reached, witness = found.estimate, found.witness
            if found.value > best.value:
                best = replace(found, support=block[found.support])
        estimate = max(estimate, reached)
        parts = None if parts is None or witness is None else [*parts, (block, witness)]
    between = (problem.cardinality - 1) * blocks.threshold * (1 + 4 * EPS)
    return replace(
        best,
        status=first.status,
        estimate=max(estimate + between, best.value),
        # No entry within a block was set to zero, so the threshold of the witness is zero.
        witness=None if parts is None or problem.nonnegative else BlockWitness(0.0, tuple(parts)),
        iterations=nodes,
        reason=f"branch and bound in {len(connected)} blocks: {nodes} nodes",
    )


def _problem_of(problem: Problem, first: Solution, S: Floats, block: Indices, seed: int) -> tuple[Problem, Solution]:
    """Return the problem of a block, and a solution of it."""
    inner = replace(
        problem,
        covariance=DenseCovariance(S[np.ix_(block, block)], semidefinite=problem.covariance.semidefinite),
        cardinality=min(problem.cardinality, len(block)),
    )
    if np.isin(first.support, block).all() and len(first.support) == inner.cardinality:
        return inner, replace(first, support=np.searchsorted(block, first.support))
    return inner, Auto(seed=seed).solve(inner)
