"""What stands in a model from a file in the place of a solver or bound of a user's own."""

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn


@dataclass(frozen=True)
class NotKept:
    """Stands for a solver or a bound of your own, whose code a model file does not hold.

    A model that has it can do everything but fit again.
    """

    what: str
    name: ClassVar[str] = "not kept"

    def solve(self, problem: Any, *, start: Any = None) -> NoReturn:  # noqa: ARG002 - the contract
        """Raise a ValueError: the solver is not here."""
        self.refuse("method")

    def estimates(self, *_: Any, **__: Any) -> NoReturn:
        """Raise a ValueError: the bound is not here."""
        self.refuse("proof")

    def refuse(self, parameter: str) -> NoReturn:
        """Raise a ValueError that says which parameter is not here."""
        raise ValueError(
            f"{parameter} was an object of the class {self.what}, whose code the model file does not hold; give "
            f"{parameter} again with set_params before you fit."
        )
