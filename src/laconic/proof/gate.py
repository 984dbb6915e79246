"""The gate: a witness goes in, a proved upper bound comes out. No code of a solver is used.

S is a symmetric matrix, T a set of k features that contains the features `inside` (usually none), x a unit vector that
is zero off T. A witness gives an upper bound on x'Sx over all such T and x. The bound holds for real numbers: every
rounding error is bounded and added (`laconic.core.rounding`, `laconic.covariance.matrix`). It holds for all numbers
that a witness may contain.
"""

import math
from typing import Any

import numpy as np

from laconic.core.arrays import Indices
from laconic.covariance import Covariance
from laconic.proof.terms import NO_BOUND, Proved, checked_matrix, checked_features
from laconic.proof.upper_bound import UpperBound
from laconic.proof.witnesses.contract import Inner, Witness
from laconic.proof.witnesses.registry import WITNESSES, kind_of

# Witnesses may contain witnesses to this depth. Solvers nest at most four deep.
DEEPEST = 8


class ProofError(ValueError):
    """A witness that proves nothing. The message says why."""


def prove(S: Any, cardinality: int, witness: Witness, *, kind: str = "", inside: Any = ()) -> UpperBound:
    """Return the upper bound that a witness proves. This is the only way to make one.

    S is a `Covariance` or a symmetric array. `kind` names the bound: one of `kinds_of(witness)`, by
    default the first. `inside` are features that every support considered contains. A witness that does not fit S,
    needs more work than the gate does, or gives an infinite bound raises a ProofError.
    """
    try:
        value, margin = _proved(S, cardinality, witness, inside)
    except ValueError as error:
        raise ProofError(str(error)) from None
    if not math.isfinite(value):
        raise ProofError("The witness proves nothing: its bound is infinite.")
    return UpperBound(value, kind or kind_of(witness), int(cardinality), witness, margin)


def proved_upper(S: Any, cardinality: int, witness: Witness, *, inside: Any = ()) -> float:
    """Return the value of the bound of `prove`, which may be infinite; a witness that does not fit is a ValueError."""
    return _proved(S, cardinality, witness, inside).value


@np.errstate(all="ignore")  # an overflow gives an infinite bound, which is true
def _proved(S: Any, cardinality: int, witness: Witness, inside: Any) -> Proved:
    matrix = checked_matrix(S)
    members = checked_features(inside, matrix.n_features, "inside")
    if not max(len(members), 1) <= cardinality <= matrix.n_features:
        raise ValueError(f"cardinality={cardinality} must lie between {max(len(members), 1)} and {matrix.n_features}.")
    value, margin = _bound(witness, matrix, int(cardinality), members, 0)
    return Proved(value, max(margin, 0.0))


@np.errstate(all="ignore")
def explained(S: Any, cardinality: int, witness: Witness, *, inside: Any = ()) -> list[str]:
    """Return how a witness proves its bound, in sentences; the arguments are those of `prove`."""
    matrix = checked_matrix(S)
    return _words(witness, matrix, int(cardinality), checked_features(inside, matrix.n_features, "inside"), 0)


def _words(witness: Witness, S: Covariance, k: int, inside: Indices, depth: int) -> list[str]:
    _check(witness, depth)

    def bound_of(inner: Witness, part: Covariance, count: int, members: Indices) -> Proved:
        return _bound(inner, part, count, members, depth + 1)

    def words_of(inner: Witness, part: Covariance, count: int, members: Indices) -> list[str]:
        return _words(inner, part, count, members, depth + 1)

    return witness.explained(S, k, inside, Inner(bound_of, words_of))


def _check(witness: Witness, depth: int) -> None:
    """Raise a ValueError if the gate does not know a witness, or it is too deep within others."""
    if depth > DEEPEST:
        raise ValueError(f"The witness contains witnesses within witnesses, more than {DEEPEST} deep.")
    # The very class that is registered: a class derived from it could return any number.
    if WITNESSES.get(type(witness).__name__) is not type(witness):
        raise ValueError(f"{type(witness).__name__} is no witness that the gate knows.")


def _bound(witness: Witness, S: Covariance, k: int, inside: Indices, depth: int) -> Proved:
    _check(witness, depth)

    def bound_of(inner: Witness, part: Covariance, count: int, members: Indices) -> Proved:
        return _bound(inner, part, count, members, depth + 1)

    proved = witness.bound(S, k, inside, bound_of)
    return NO_BOUND if math.isnan(proved.value) else proved
