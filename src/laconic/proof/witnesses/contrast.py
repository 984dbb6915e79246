"""The bound of a difference of two covariances from a semidefinite matrix above it."""

from dataclasses import dataclass

from laconic.core.arrays import Floats, Indices
from laconic.covariance.enclosure import Enclosure
from laconic.covariance.factor import FactorEnclosure
from laconic.proof.terms import NO_BOUND, Proved, checked_array
from laconic.proof.witnesses.contract import BoundOf, Inner, Witness, up_to


@dataclass(frozen=True, eq=False)
class ContrastWitness(Witness):
    """A matrix H, which gives a factor G with A'A - B'B <= G'G, and a bound on G'G.

    It is proved in `laconic.covariance.contrast`: x'Sx <= c (|Gx| + e)^2 for unit x with k nonzeros, where e allows for
    the rounding of G, and c >= 1 for that of the inverse root in it.
    """

    mixing: Floats  # H, with a row for each row of B and a column for each row of A
    inner: Witness  # of the bound on G'G

    def bound(self, S: Enclosure, k: int, inside: Indices, bound_of: BoundOf) -> Proved:
        made = S.raised(checked_array(self.mixing, (None, None), "mixing"))
        if made is None:
            return NO_BOUND
        inner = bound_of(self.inner, FactorEnclosure(made.factor), k, inside)
        value = made.bound(inner.value, k)
        return Proved(value, value - max(inner.value, 0.0) + inner.margin)

    def explained(self, S: Enclosure, k: int, inside: Indices, inner: Inner) -> list[str]:
        made = S.raised(checked_array(self.mixing, (None, None), "mixing"))
        value = self.bound(S, k, inside, inner.bound).value
        if made is None:
            return ["Contrast: the witness proves nothing, because the norm of its matrix H is not below one."]
        return [
            "Contrast: the matrix is a difference A'A - B'B. A matrix H of a norm below one gives a semidefinite "
            "matrix G'G above it. A bound on G'G is a bound on the difference.",
            *inner.words(self.inner, FactorEnclosure(made.factor), k, inside),
            f"With the rounding of G that is at most {up_to(value)}.",
        ]

    def kinds(self) -> tuple[str, ...]:
        return self.inner.kinds()
