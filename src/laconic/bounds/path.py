"""Proved bounds for every number of features of a path."""

from collections.abc import Sequence

import numpy as np

from laconic.bounds.prove import Effort, Proof, closes, prove
from laconic.core.arrays import WRITE_OUT_LIMIT
from laconic.proof import ProofError, UpperBound
from laconic.proof import prove as proved_by_gate
from laconic.proof.witness_steps import StepsWitness
from laconic.search.problem import Problem, Solution

# A path has many sizes, so each of them gets less work than a component. A proof of one's own, or "exact", is as usual.
EFFORTS = {
    "fast": Effort(products=2e12, written=1600, features=0, work=0),
    "tight": Effort(products=1e13, written=WRITE_OUT_LIMIT, features=WRITE_OUT_LIMIT, work=np.inf, node_limit=1),
}
# A gap above this share of the value is visible. With "fast", the numbers of a larger size serve where it is below.
VISIBLE = 0.02


def prove_path(problem: Problem, solutions: Sequence[Solution], proof: Proof) -> list[UpperBound | ProofError]:
    """Return for each solution the least bound that is proved, or the error that says why none is.

    The solutions are those of consecutive sizes, the last one that of the problem. A bound for one size is one for all
    smaller sizes, and its witness often gives a lower one there.
    """
    effort = EFFORTS.get(proof, proof) if isinstance(proof, str) else proof
    bounds: list[UpperBound | ProofError] = []
    larger: UpperBound | None = None
    for place in reversed(range(len(solutions))):
        solution = solutions[place]
        part = problem.with_cardinality(problem.cardinality - len(solutions) + 1 + place)
        known = None if larger is None else _at(part, larger)
        if known is not None and (part.monitor.is_over or _is_enough(known, solution, proof)):
            bounds.append(known)
        else:
            try:
                start = solution if known is None else solution.estimated(known.value, known.witness)
                bounds.append(prove(part, start, effort)[1])
            except ProofError as error:
                bounds.append(error)
        latest = bounds[-1]
        larger = larger if isinstance(latest, ProofError) else latest
    return bounds[::-1]


def _at(part: Problem, larger: UpperBound) -> UpperBound | None:
    """Return the bound that the witness of a larger size proves."""
    witness = larger.witness
    if isinstance(witness, StepsWitness):
        witness = witness.for_fewer(larger.cardinality - part.cardinality)
    try:
        return proved_by_gate(part.covariance, part.cardinality, witness, inside=part.forced)
    except ProofError:
        return None


def _is_enough(bound: UpperBound, solution: Solution, proof: Proof) -> bool:
    return closes(bound, solution) or (proof == "fast" and bound.value <= (1 + VISIBLE) * solution.value)
