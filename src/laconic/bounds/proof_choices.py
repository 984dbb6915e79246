"""The choices that `proof=` has."""

from typing import Any, Literal, TypeAlias

from laconic.problem import Bound

#: How much work to spend on a bound.
Effort: TypeAlias = Literal["fast", "tight", "exact"]
EFFORTS = ("fast", "tight", "exact")

#: The values that `proof=` takes.
Proof: TypeAlias = Effort | Bound


def check_proof(proof: Any) -> None:
    """Raise an error unless a value is one that `proof=` takes."""
    if isinstance(proof, str):
        if proof in EFFORTS:
            return
    elif isinstance(proof, Bound) and not isinstance(proof, type):
        return
    raise ValueError(
        f"proof={proof!r} must be 'fast', 'tight', 'exact', or an object with the method estimates of a `Bound`."
    )
