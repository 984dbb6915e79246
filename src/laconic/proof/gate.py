"""The gate: a witness goes in, a proved upper bound comes out. No code of a solver is used.

S is a symmetric matrix, T a set of k features that contains the features `inside` (usually none), x a unit vector that
is zero off T. A witness gives an upper bound on x'Sx over all such T and x. The bound holds for real numbers: every
rounding error is bounded and added (`laconic.core.rounding`, `laconic.covariance.matrix`). It holds for all numbers
that a witness may contain.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from laconic.core.rounding import down, gamma, grown, sum_up, up
from laconic.proof.witness import (
    NO_BOUND,
    ProofError,
    Proved,
    Witness,
    check_registered,
    checked_array,
    checked_features,
    checked_matrix,
    register,
)
from laconic.proof.witness_cover import CoverWitness
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_joint import JointWitness
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, ThresholdWitness, TraceWitness
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.proof.witness_steps import Ledger, StepsWitness
from laconic.proof.witness_tree import Branch, TreeWitness


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number that bounds z'Sz over unit z with at most k nonzeros, up to rounding errors that nobody has bounded.

    `laconic.proof.gate.prove` turns the witness into an `UpperBound`, which includes them.
    """

    value: float
    kind: str  # the name of the bound
    cardinality: int  # k
    witness: Witness = field(repr=False)  # the numbers from which the gate computes the bound again

    def __float__(self) -> float:
        return float(self.value)


@dataclass(frozen=True, eq=False)
class UpperBound(Estimate):
    """A proved upper bound on z'Sz over unit z with at most k nonzeros. Only `laconic.proof.gate` makes one.

    Later code may only raise its value, with `raised_to`.

    Attributes
    ----------
    value : float
        The bound. Rounding errors are included.
    kind, cardinality : str and int
        The name of the bound, and the number of nonzeros k.
    witness : Witness
        The numbers from which the bound can be computed again.
    margin : float
        The part of the value that allows for rounding errors.

    See Also
    --------
    certify : Makes one for a model and data.
    Certificate : A bound together with a component and a digest of the data.
    """

    margin: float = 0.0

    def raised_to(self, value: float, margin: float) -> "UpperBound":
        """Return the bound with a larger value, such as that of a certificate, which adds slack."""
        if not value >= self.value:
            raise ValueError(f"A bound of {self.value!r} cannot be lowered to {value!r}.")
        return replace(self, value=value, margin=margin)


@np.errstate(all="ignore")
def proved_lower(S: Any, support: Any, loadings: Any) -> float:
    """Return a lower bound on z'Sz / z'z for the vector z with these loadings, which need not have unit length.

    With B the computed entries, the rounding of z'Bz is at most gamma_{2k+2} |z|'|B||z|. z'Sz differs from z'Bz by at
    most (l'|z|)^2, l the spread.
    """
    matrix = checked_matrix(S)
    features = checked_features(support, matrix.n_features, "support")
    z = checked_array(loadings, (len(features),), "loadings")
    largest = float(np.abs(z).max(initial=0.0))
    if largest == 0.0:
        raise ValueError("loadings are all zero; a component has a direction.")
    z = np.ldexp(z, -math.frexp(largest)[1])
    B = matrix.block(features, features)
    k = len(z)
    value = float(z @ (B @ z))
    size = np.abs(z)
    error = grown(float(size @ (np.abs(B) @ size)) * gamma(2 * k + 4), 2 * k + 6)
    away = float(grown(matrix.spread[features] @ size, k + 1)) if matrix.spread.any() else 0.0
    least = -sum_up([-value, error, up(away * away)])
    square = float(z @ z)
    length = grown(square, k + 1) if least > 0 else square * (1 - gamma(k + 4))
    return float(down(least / length))


_kind: type[Witness]
for _kind in (
    TraceWitness,
    RowSumWitness,
    ThresholdWitness,
    ExhaustiveWitness,
    DualWitness,
    Proposition2Witness,
    TreeWitness,
    StepsWitness,
    CoverWitness,
):
    register(_kind)


def relative_gap(lower: float, upper: float) -> float:
    """Return (upper - lower) / lower: zero if the bound is met, infinite if `lower` is not above zero."""
    if upper <= lower:
        return 0.0
    return (upper - lower) / lower if lower > 0 else math.inf


def kinds_of(witness: Witness | JointWitness) -> set[str]:
    """Return all names that a bound with this witness may go by; branch and bound may end with any witness."""
    return {*witness.kinds(), "branch and bound"}


def prove(S: Any, cardinality: int, witness: Witness, *, kind: str = "", inside: Any = ()) -> UpperBound:
    """Return the upper bound that a witness proves. This is the only way to make one.

    S is a `Covariance` or a symmetric array. `kind` names the bound: one of `kinds_of(witness)`, by
    default the first. `inside` are features that every support considered contains. A witness that does not fit S,
    needs more work than the gate does, or gives an infinite bound raises a ProofError.
    """
    try:
        proved = _proved(S, cardinality, witness, inside)
    except ValueError as error:
        raise ProofError(str(error)) from None
    return upper_bound_of(witness, int(cardinality), proved, kind)


def upper_bound_of(witness: Witness, cardinality: int, proved: Proved, kind: str = "") -> UpperBound:
    """Return the bound of a witness that has been proved; a ProofError if it is infinite."""
    if not math.isfinite(proved.value):
        raise ProofError("The witness proves nothing: its bound is infinite.")
    return UpperBound(proved.value, kind or witness.kinds()[0], cardinality, witness, max(proved.margin, 0.0))


def prove_grown(root: Branch) -> UpperBound:
    """Return the upper bound of a tree that was proved while it grew. No bound is computed again."""
    matrix, k = root.start.of
    try:
        checked_matrix(matrix)
    except ValueError as error:
        raise ProofError(str(error)) from None
    if len(root.start.alive) != matrix.n_features:
        raise ProofError("The tree proves nothing: its bound is not on all supports.")
    witness, proved = root.tree()
    return upper_bound_of(witness, k, proved)


def proved_upper(S: Any, cardinality: int, witness: Witness, *, inside: Any = ()) -> float:
    """Return the value of the bound of `prove`, which may be infinite; a witness that does not fit is a ValueError."""
    return _proved(S, cardinality, witness, inside).value


@np.errstate(all="ignore")  # an overflow gives an infinite bound, which is true
def _proved(S: Any, cardinality: int, witness: Witness, inside: Any) -> Proved:
    matrix = checked_matrix(S)
    members = checked_features(inside, matrix.n_features, "inside")
    if not max(len(members), 1) <= cardinality <= matrix.n_features:
        raise ValueError(f"cardinality={cardinality} must lie between {max(len(members), 1)} and {matrix.n_features}.")
    check_registered(witness)
    value, margin = witness.bound(matrix, int(cardinality), members)
    return NO_BOUND if math.isnan(value) else Proved(value, max(margin, 0.0))


def proved_of(ledger: Ledger, place: int) -> UpperBound:
    """Return the bound of a step that a ledger has proved, with the steps that it needs as its witness."""
    return upper_bound_of(ledger.witness(place), ledger.steps[place].cardinality, ledger.proved[place])
