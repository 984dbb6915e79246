"""The contract of a witness with the gate, the certificate files and `verify`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from laconic.core.arrays import Indices
from laconic.core.wording import at_most
from laconic.covariance import Covariance
from laconic.proof.terms import Proved

# Digits of the numbers in an explanation.
SHOWN_DIGITS = 9


class Witness(ABC):
    """The numbers from which an upper bound can be computed again, without any solver.

    The bound is on x'Sx over unit x with at most k nonzeros. It must hold for all numbers that a witness may contain:
    a poor witness gives a poor bound, never a wrong one. A kind of witness is a frozen dataclass, one file in this
    folder and one line in `registry.py`. The types of its fields say how it is stored (`laconic.core.archive`).
    """

    @abstractmethod
    def bound(self, S: Covariance, k: int, inside: Indices, bound_of: "BoundOf") -> Proved:
        """Return the bound over all supports that contain the features `inside`.

        A witness that contains witnesses computes their bounds with `bound_of`.
        """

    def reads(self, n: int) -> Indices:
        """Return the features, of n, whose rows of S the bound needs; for the others it needs variances at most."""
        return np.arange(n)

    @abstractmethod
    def kinds(self) -> tuple[str, ...]:
        """Return the names that the bound may go by; the first is its own."""

    def explained(self, S: Covariance, k: int, inside: Indices, inner: "Inner") -> list[str]:
        """Return how the bound is proved, in sentences with its numbers, for `laconic verify --explain`.

        The arguments are those of `bound`. A kind without words of its own is known by the first line of its docstring.
        """
        value = self.bound(S, k, inside, inner.bound).value
        return [(type(self).__doc__ or type(self).__name__).strip().splitlines()[0], f"The bound is {up_to(value)}."]


BoundOf: TypeAlias = Callable[[Witness, Covariance, int, Indices], Proved]


@dataclass(frozen=True)
class Inner:
    """What a witness asks about the witnesses that it contains: their bounds, and the words about them."""

    bound: BoundOf
    words: Callable[[Witness, Covariance, int, Indices], list[str]]


def up_to(number: float) -> str:
    """Return a number of a proof, rounded up to the digits that an explanation shows."""
    return at_most(number, SHOWN_DIGITS)
