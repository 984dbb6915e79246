"""The results of a fit as values of JSON, with their arrays apart, and back again."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, get_args, get_origin

import numpy as np

from laconic.core.store import Decoder, _hints_of
from laconic.proof.gate import WITNESSES
from laconic.proof.witness import Witness

# A file holds at most this many witnesses, so that reading it ends soon.
MOST_WITNESSES = 10_000
# Numbers that JSON does not have are texts.
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
# What stands in the place of a witness that is also in a certificate.
SAME_WITNESS = "witness of a certificate"


class Encoder:
    """Turns dataclasses, enumerations, lists, numbers and texts into values of JSON.

    Arrays are collected by name, such as "solutions_.1.loadings". An array that occurs several times is stored once.
    `witnesses` has the certificate files of witnesses by their identity; a witness among them is not stored again.
    """

    def __init__(self, witnesses: Mapping[int, str]) -> None:
        self.arrays: dict[str, Any] = {}
        #: Kinds of witnesses that no file can hold.
        self.lost: set[str] = set()
        self._witnesses = witnesses
        self._known: dict[int, Any] = {}

    def encoded(self, value: Any, place: str = "") -> Any:
        """Return a value of JSON. `place` names the value, and so its arrays."""
        if isinstance(value, bool | np.bool_):
            return bool(value)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, int | np.integer):
            return int(value)
        if isinstance(value, float | np.floating):
            number = float(value)
            return number if math.isfinite(number) else str(number)
        if isinstance(value, Enum):
            return value.name
        if isinstance(value, np.ndarray):
            return self._array(value, place)
        if isinstance(value, Mapping):
            return {str(key): self.encoded(item, f"{place}.{key}") for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.encoded(item, f"{place}.{number}") for number, item in enumerate(value, start=1)]
        if is_dataclass(value):
            return self._object(value, place)
        raise TypeError(f"{place} is a {type(value).__name__}, which a model file cannot hold.")

    def _object(self, value: Any, place: str) -> Any:
        if isinstance(value, Witness):
            if id(value) in self._witnesses:
                return {"type": SAME_WITNESS, "file": self._witnesses[id(value)]}
            if type(value) not in WITNESSES.values():
                self.lost.add(type(value).__name__)
                return None
        prefix = f"{place}." if place else ""
        named = {part.name: self.encoded(getattr(value, part.name), prefix + part.name) for part in fields(value)}
        return {"type": type(value).__name__, **named}

    def _array(self, value: Any, place: str) -> dict[str, Any]:
        if id(value) not in self._known:
            array = value.astype(np.int64 if value.dtype.kind in "iu" else np.float64, copy=False)
            form = {"dtype": str(array.dtype), "shape": list(array.shape), "npz": place}
            self.arrays[place] = array
            # The array itself is kept, so that no other array gets its identity.
            self._known[id(value)] = (value, form)
        found: dict[str, Any] = self._known[id(value)][1]
        return dict(found)


class ModelDecoder(Decoder):
    """Turns values of JSON back into the results of a fit, guided by the types of the fields.

    `witnesses` are those of the certificates, by the names of their files. A part that a file lacks gets its default;
    a part that is not known is refused.
    """

    def __init__(self, arrays: Mapping[str, Any], witnesses: Mapping[str, Any]) -> None:
        super().__init__(arrays, {Witness: WITNESSES}, MOST_WITNESSES)
        self._of_certificates = witnesses
        self._made: dict[tuple[str, str], Any] = {}

    def decoded(self, hint: Any, value: Any) -> Any:
        """Return the object of the type `hint` that a value from JSON stands for, or raise a TypeError."""
        if hint is float and isinstance(value, str) and value in NOT_FINITE:
            return NOT_FINITE[value]
        if isinstance(hint, type) and issubclass(hint, Enum):
            if not isinstance(value, str) or value not in hint.__members__:
                raise TypeError(f"{value!r} is no {hint.__name__}")
            return hint[value]
        if hint is Witness and isinstance(value, dict) and value.get("type") == SAME_WITNESS:
            if value.get("file") not in self._of_certificates:
                raise TypeError("a witness is in a certificate that is not there")
            return self._of_certificates[value["file"]]
        origin, inner = get_origin(hint), get_args(hint)
        if origin is list:
            if not isinstance(value, list):
                raise TypeError("a list is missing")
            return [self.decoded(inner[0], item) for item in value]
        if isinstance(origin, type) and issubclass(origin, Mapping):
            if not isinstance(value, dict):
                raise TypeError("a dictionary is missing")
            return {key: self.decoded(inner[1], item) for key, item in value.items()}
        return super().decoded(hint, value)

    def _object(self, cls: type, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("type") != cls.__name__:
            raise TypeError(f"a {cls.__name__} is missing")
        hints = _hints_of(cls)
        needed = {part.name for part in fields(cls) if part.default is part.default_factory is MISSING}
        if not {"type", *needed} <= set(value) <= {"type", *hints}:
            raise TypeError(f"a {cls.__name__} does not have the parts that it should")
        return cls(**{name: self.decoded(hints[name], item) for name, item in value.items() if name != "type"})

    def _array(self, value: Any, dtype: str, entry: type) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("npz"), str):
            raise TypeError(f"an array of {dtype} is missing")
        # An array that occurs several times is one object again.
        place = (value["npz"], dtype)
        if place not in self._made:
            self._made[place] = super()._array(value, dtype, entry)
        return self._made[place]
