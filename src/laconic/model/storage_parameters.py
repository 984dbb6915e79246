"""The parameters of a model as values of JSON, and back again.

Numbers, texts, truth values, None and lists are values of JSON themselves. Everything else is an object with a `type`.
"""

import math
import os
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np

import laconic.methods as methods
from laconic.model.storage_values import Encoder, ModelDecoder

#: The solvers of this package by name. Their settings are stored; the code is not.
SOLVER_TYPES = {
    name: found
    for name, found in ((name, getattr(methods, name)) for name in methods.__all__)
    if isinstance(found, type) and hasattr(found, "name")
}
# Types of arrays that a parameter may have. Texts of any length are "str".
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "str")


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


def encoded_parameter(name: str, value: Any, encoder: Encoder) -> Any:
    """Return a parameter as a value of JSON. `encoder` takes the settings of a solver."""
    if isinstance(value, np.random.RandomState):
        return _random_state(value)
    if isinstance(value, NotKept):
        return {"type": "not kept", "what": value.what}
    if type(value) in SOLVER_TYPES.values():
        return encoder.encoded(value, name)
    if isinstance(value, os.PathLike):
        return {"type": "path", "text": str(os.fspath(value))}
    try:
        return _plain(value)
    except TypeError:
        if name not in ("method", "proof"):
            raise TypeError(
                f"{name} is a {type(value).__name__}, which a model file cannot hold; give a number, a text or a list."
            ) from None
        return {"type": "not kept", "what": f"{type(value).__module__}.{type(value).__qualname__}"}


def decoded_parameter(value: Any, decoder: ModelDecoder) -> Any:
    """Return the parameter that a value from JSON stands for, or raise a TypeError."""
    if isinstance(value, list):
        return [decoded_parameter(item, decoder) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if kind in SOLVER_TYPES:
        return decoder.decoded(SOLVER_TYPES[str(kind)], value)
    parts = {name: item for name, item in value.items() if name != "type"}
    readers: dict[str, Callable[..., Any]] = {
        "tuple": lambda items: tuple(decoded_parameter(item, decoder) for item in items),
        "array": lambda dtype, items: np.array(items, dtype=str(DTYPES[DTYPES.index(dtype)])),
        "path": lambda text: Path(decoder.decoded(str, text)),
        "not kept": lambda what: NotKept(decoder.decoded(str, what)),
        "RandomState": _as_random_state,
    }
    if kind not in readers:
        raise TypeError(f"{kind!r} is no kind of parameter")
    try:
        return readers[str(kind)](**parts)
    except (KeyError, ValueError, OverflowError) as error:
        raise TypeError(f"a parameter is not a {kind} ({error})") from None


def _plain(value: Any) -> Any:
    """Return a number, a text, or a sequence of these as a value of JSON."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating) and math.isfinite(value):
        return float(value)
    if isinstance(value, tuple):
        return {"type": "tuple", "items": [_plain(item) for item in value]}
    if isinstance(value, np.ndarray) and value.ndim == 1:
        dtype = "str" if value.dtype.kind == "U" else str(value.dtype)
        if dtype in DTYPES:
            return {"type": "array", "dtype": dtype, "items": _plain(value.tolist())}
    # A range, a column of a table or another sequence comes back as a list, which means the same.
    if isinstance(value, Iterable) and isinstance(value, Sized) and not isinstance(value, dict | bytes):
        return [_plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} is no number, text or list")


def _random_state(value: np.random.RandomState) -> dict[str, Any]:
    state: Any = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise TypeError(
            f"random_state draws from {state['bit_generator']}, which a model file cannot hold; give a whole number."
        )
    return {
        "type": "RandomState",
        "key": state["state"]["key"].tolist(),
        "position": int(state["state"]["pos"]),
        "has_gauss": int(state["has_gauss"]),
        "gauss": float(state["gauss"]),
    }


def _as_random_state(key: Any, position: Any, has_gauss: Any, gauss: Any) -> np.random.RandomState:
    found = np.random.RandomState()
    found.set_state(("MT19937", np.array(key, dtype=np.uint32), position, has_gauss, gauss))
    return found
