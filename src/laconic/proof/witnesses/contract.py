"""What a witness must give, so that the gate, the certificate files and `verify` can use it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from laconic.core.archive import Reader
from laconic.core.arrays import Indices
from laconic.covariance.enclosure import Enclosure
from laconic.proof.terms import Proved

# A file may hold at most this many witnesses within witnesses, so that reading it ends soon.
MOST_WITNESSES = 50


class Witness(ABC):
    """The numbers from which an upper bound can be computed again, without any solver.

    The bound is on x'Sx over unit x with at most k nonzeros. It must hold for all numbers that a witness may contain:
    a poor witness gives a poor bound, never a wrong one. A kind of witness is a frozen dataclass. It is one file in
    this folder and one line in `registry.py`.
    """

    @abstractmethod
    def bound(self, S: Enclosure, k: int, inside: Indices, bound_of: "BoundOf") -> Proved:
        """Return the bound.

        Parameters
        ----------
        S
            The matrix, as computed entries with bounds on their errors.
        k
            The number of nonzeros.
        inside
            Features that every support considered contains.
        bound_of
            Computes the bound of another witness, for a witness that contains witnesses.
        """

    @abstractmethod
    def kinds(self) -> tuple[str, ...]:
        """Return the names that the bound may go by; the first is its own."""

    @staticmethod
    @abstractmethod
    def form(read: "WitnessReader") -> dict[str, Callable[[Any], Any]]:
        """Return a function for each field that reads it back from a certificate file."""


BoundOf: TypeAlias = Callable[[Witness, Enclosure, int, Indices], Proved]


class WitnessReader(Reader):
    """Turns the content of a certificate file back into witnesses.

    Parameters
    ----------
    arrays
        The arrays of the NPZ file, by name.
    classes
        The witnesses that are known, by the name of their class.
    """

    def __init__(self, arrays: Mapping[str, Any], classes: Mapping[str, type[Witness]]) -> None:
        super().__init__(arrays)
        self._classes = classes
        self._count = 0

    def witness(self, value: Any) -> Witness:
        """Read a witness of any kind."""
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            raise TypeError("a witness has no type")
        self._count += 1
        if self._count > MOST_WITNESSES:
            raise TypeError(f"it holds more than {MOST_WITNESSES} witnesses")
        if value["type"] not in self._classes:
            raise TypeError(f"{value['type']!r} is no witness")
        cls = self._classes[value["type"]]
        found: Witness = self.object_of(cls, cls.form(self), "the witness")(value)
        return found

    def pairs(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Read a list of pairs, each of something and a witness."""

        def each(value: Any) -> Any:
            if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
                raise TypeError("a list of pairs, each with a witness, is missing")
            return tuple((read(first), self.witness(inner)) for first, inner in value)

        return each
