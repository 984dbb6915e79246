"""What no component could use, and why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from laconic.proof.witness_reduction import EliminationWitness
from laconic.report.page.sentences import amount_at_most, count_of, total_for_shares

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA
    from laconic.proof import Certificate

# A list names at most this many variables.
MOST_NAMED = 200


@dataclass(frozen=True)
class LeftOut:
    """Variables that were left out for one reason."""

    reason: str
    features: tuple[int, ...]  # the first ones
    count: int


def left_out(model: "SparsePCA", constant: Sequence[int] | None) -> list[LeftOut]:
    """Return the variables that were left out, by reason. `constant` are those that do not vary, None if unknown."""
    if constant is None:
        constant = _not_allowed(model)
    found = []
    if constant:
        found.append(_group("They do not vary, or their variance is rounding only.", constant))
    for number, certificate in enumerate(model.certificates_, start=1):
        if certificate is not None:
            found += _eliminated(model, number, certificate)
    return found


def _not_allowed(model: "SparsePCA") -> list[int]:
    """Return the features that the first certificate does not allow: they do not vary."""
    first = model.certificates_[0] if model.certificates_ else None
    if first is None or first.allowed is None:
        return []
    return [int(j) for j in np.setdiff1d(np.arange(first.n_features), first.allowed)]


def _eliminated(model: "SparsePCA", number: int, certificate: "Certificate") -> Iterable[LeftOut]:
    """Yield the features that a proof has eliminated before it searched the rest."""
    witness = certificate.witness
    if not isinstance(witness, EliminationWitness):
        return
    allowed = np.arange(certificate.n_features) if certificate.allowed is None else certificate.allowed
    out = np.delete(allowed, witness.kept)
    if len(out):
        verb = "keep" if total_for_shares(model) is not None else "have"
        limit = amount_at_most(certificate.upper, total_for_shares(model))
        yield _group(
            f"Safe elimination for component {number}: no {count_of(certificate.cardinality)} with one of them can "
            f"{verb} more than {limit} (proved).",
            out.tolist(),
        )


def _group(reason: str, features: Sequence[int]) -> LeftOut:
    return LeftOut(reason, tuple(int(j) for j in features[:MOST_NAMED]), len(features))
