"""Files of certificates and models: a JSON document, with its large arrays in an NPZ file.

A document holds a checksum of itself and of its NPZ file, so that damage is noticed. Nothing in a file is executed, and
nothing is unpacked beyond a limit. The same content gives the same bytes. Each file appears whole or not at all.
"""

import hashlib
import io
import json
import math
import os
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from laconic.core.arrays import Codes, Floats, Indices, Mask, Singles

# Arrays of more numbers than this go to the NPZ file: a list in JSON of 2000 numbers is about 40 kB.
INLINE = 2000
# All parts of a file may have this many bytes together after unpacking, unless a caller says otherwise.
MOST_BYTES = 2_000_000_000
# A document may have this many bytes. In memory it takes up to thirty times as much.
MOST_TEXT = 100_000_000
# The most parts of one zip file.
MOST_PARTS = 20_000
# JSON does not have these numbers. They are texts in an array, and {"number": text} elsewhere.
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
# The types of arrays that a file holds.
ARRAYS: dict[Any, str] = {Floats: "float64", Indices: "int64", Codes: "int8", Mask: "bool", Singles: "float32"}
PLAIN: dict[Any, tuple[Any, str]] = {
    str: (str, "text"),
    bool: (bool, "flag"),
    int: (int, "whole number"),
    float: (int | float, "number"),
}
# What `zipfile` may raise if bytes were altered.
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OSError)


def files_of(
    content: Any,
    name: str,
    *,
    form: str,
    schema: int,
    known: Mapping[str, type],
    claim: Sequence[str] | None = None,
) -> dict[str, bytes]:
    """Return the files that hold a dataclass or a dictionary, by name: the arrays first, then the document `name`.

    `form` and `schema` are the name of the format, such as "laconic certificate", and its version. `known` are the
    dataclasses that it may hold, by name. `claim` are sentences for people who read the document. A value that no file
    can hold raises a TypeError.
    """
    if name.lower().endswith(".npz"):
        raise ValueError(f"{name} ends in .npz, which the arrays beside the file use; end it in .json.")
    arrays: dict[str, Any] = {}
    document: dict[str, Any] = {"format": form, "schema": schema}
    document |= {} if claim is None else {"claim": list(claim)}
    document |= {"content": encoded(content, arrays, known), "arrays": None}
    files = {}
    if arrays:
        beside = Path(name).with_suffix(".npz").name
        files[beside] = packed({f"{part}.npy": _npy(array) for part, array in arrays.items()})
        document["arrays"] = {"file": beside, "sha256": hashlib.sha256(files[beside]).hexdigest()}
    document["checksum"] = checksum(document)
    text = json.dumps(document, indent=1, allow_nan=False)
    # Each list of numbers stands on one line. A text in JSON contains no line break.
    text = re.sub(r"\[\n([^][{}\"]*)\n *\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    files[name] = f"{text}\n".encode()
    if len(files[name]) > MOST_TEXT:
        raise ValueError(
            f"{name} would have {len(files[name]):,} bytes, and the limit is {MOST_TEXT:,}; shorten names."
        )
    return files


def encoded(value: Any, arrays: dict[str, Any], known: Mapping[str, type], place: str = "") -> Any:
    """Return a value as JSON has it. Large arrays are added to `arrays`; `place` names the value in messages."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"number": str(float(value))}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return _encoded_array(value, arrays)
    if isinstance(value, Mapping):
        return {str(key): encoded(item, arrays, known, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple | range | np.ndarray):
        return [encoded(item, arrays, known, place) for item in value]
    name = type(value).__name__
    if is_dataclass(value) and known.get(name) is type(value):
        parts = {part.name: encoded(getattr(value, part.name), arrays, known, part.name) for part in fields(value)}
        return {"type": name, **parts}
    raise TypeError(
        f"{place} is a {name}, which a file cannot hold; give a number, a text, a list or a part of laconic."
    )


def _encoded_array(value: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    kinds = {"i": "int64", "u": "int64", "b": "bool"}
    small = {np.dtype(np.int8): "int8", np.dtype(np.float32): "float32"}
    kind = small.get(value.dtype) or kinds.get(value.dtype.kind, "float64")
    array = value.astype(kind)
    form = {"dtype": kind, "shape": list(array.shape)}
    if array.size <= INLINE:
        finite = bool(np.isfinite(array).all())
        values = array.ravel().tolist()
        return {**form, "values": values if finite else [x if math.isfinite(x) else str(x) for x in values]}
    name = f"array{len(arrays)}"
    arrays[name] = array
    return {**form, "npz": name}


def checksum(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a document without its own checksum."""
    content = {key: value for key, value in document.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def write_files(files: Mapping[str, bytes], path: str | Path) -> list[Path]:
    """Write the result of `files_of` beside each other, and return their places, the document first."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} for {path.name}.")
    # The arrays come first, so that a document never names arrays that are missing.
    for name, content in files.items():
        write_atomically(path.parent / name, content)
    return [path.parent / name for name in reversed(list(files))]


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it appears whole or not at all."""
    if path.exists() and not path.is_file():
        # Replacing a device, which a superuser can do, would remove it for all programs.
        raise OSError(f"{path} is no ordinary file; give the name of a file.")
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class Budget:
    """The number of bytes that may still be unpacked."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most = self._left = most

    def take(self, size: int, name: str) -> None:
        """Subtract a size, or raise a ValueError if the file with this name would take more than is left."""
        self._left -= size
        if self._left < 0:
            raise ValueError(f"{name} would take more than {self.most:,} bytes unpacked, which is the limit.")


def read_document(
    path: str | Path,
    *,
    form: str,
    schema: int,
    claim: bool = False,
    files: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a document, its content not yet decoded, and its arrays by name.

    `files` are the files by name, texts or bytes, if they are not on disk. `claim` says whether the document has
    sentences for people. A file that is missing, of another format, altered or cut short raises a ValueError.
    """
    path, budget = Path(path), budget or Budget()
    text = _bytes_of(path, files)
    if text is None:
        raise ValueError(f"There is no file {path.name}.")
    if len(text) > MOST_TEXT:
        raise ValueError(f"{path.name} has more than {MOST_TEXT:,} bytes, which is the limit.")
    try:
        document = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ValueError(f"{path.name} is no JSON file, or was cut short.") from None
    if not isinstance(document, dict) or document.get("format") != form:
        raise ValueError(f"{path.name} is no {form}.")
    if document.get("schema") != schema:
        raise ValueError(f"{path.name} has schema {document.get('schema')!r}; this version of laconic reads {schema}.")
    if set(document) != {"format", "schema", "content", "arrays", "checksum", *(["claim"] if claim else [])}:
        raise ValueError(f"{path.name} was altered: a part is missing, or there is one too many.")
    if document["checksum"] != checksum(document):
        raise ValueError(f"{path.name} was altered: its checksum does not fit its content.")
    beside = document["arrays"]
    if beside is None:
        return document, {}
    name = beside.get("file") if isinstance(beside, dict) else None
    if not isinstance(name, str) or set(beside) != {"file", "sha256"} or Path(name).name != name:
        raise ValueError(f"{path.name} does not say where its arrays are.")
    content = _bytes_of(path.parent / name, files)
    if content is None:
        raise ValueError(f"The arrays of {path.name} are missing: there is no {name} beside it.")
    if hashlib.sha256(content).hexdigest() != beside["sha256"]:
        raise ValueError(f"{name} was altered: its checksum is not the one in {path.name}.")
    parts = unpacked(content, name, budget, "NPZ file")
    return document, {part.removesuffix(".npy"): _array(bytes_, name) for part, bytes_ in parts.items()}


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON.")


def _bytes_of(path: Path, files: Mapping[str, Any] | None) -> bytes | None:
    if files is None:
        return path.read_bytes() if path.is_file() else None
    content = files.get(path.name)
    return content.encode() if isinstance(content, str) else None if content is None else bytes(content)


def packed(parts: Mapping[str, bytes]) -> bytes:
    """Return a zip file without dates, so that equal parts give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in parts.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            way = zipfile.ZIP_STORED if name.endswith(".npz") else zipfile.ZIP_DEFLATED
            file.writestr(info, content, compress_type=way)
    return buffer.getvalue()


def unpacked(data: bytes, name: str, budget: Budget, kind: str) -> dict[str, bytes]:
    """Return the parts of a zip file, or raise a ValueError of one sentence with its name and its kind.

    A small zip file can hold terabytes of zeros. So the sizes that it declares are added up before anything is
    unpacked, and no part is unpacked beyond the size that it declares. Names of parts are never used as paths.
    """
    # The list of contents is read as a whole, so its length is limited first.
    if data.count(b"PK\x01\x02") > MOST_PARTS:
        raise ValueError(f"{name} has more than {MOST_PARTS:,} parts, which is the limit.")
    broken = f"{name} is no {kind}, or was altered or cut short."
    try:
        file = zipfile.ZipFile(io.BytesIO(data))
    except BROKEN:
        raise ValueError(broken) from None
    with file:
        entries = file.infolist()
        names = [entry.filename for entry in entries]
        ways = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        strange = any(entry.flag_bits & 1 or entry.compress_type not in ways for entry in entries)
        if strange or len(set(names)) < len(names) or any("/" in part or "\\" in part for part in names):
            raise ValueError(f"{name} has parts that a {kind} does not have.")
        budget.take(sum(entry.file_size for entry in entries), name)
        try:
            return {entry.filename: _content(file, entry) for entry in entries}
        except BROKEN:
            raise ValueError(broken) from None


def _content(file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with file.open(entry) as part:
        # With a size, no more than that is unpacked at once. At the end, the checksum of the part is compared.
        content = part.read(entry.file_size + 1)
    if len(content) != entry.file_size:
        raise ValueError("The part has another size than it declares.")
    return content


def _npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _array(content: bytes, name: str) -> Any:
    """Return the array of an NPY file: numbers or truth values, never Python objects."""
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
        if array.dtype.kind in "biuf":
            return array
    except (*BROKEN, AttributeError, TypeError, OverflowError, MemoryError, KeyError, SyntaxError):
        pass
    raise ValueError(f"{name} is no NPZ file of plain arrays.")


class Decoder:
    """Turns content back into what it came from, guided by the types of fields.

    `known` are the classes that the content may hold, by name. A type may be a text, a flag, a number, an array, an
    enumeration, a dataclass, a base class of known dataclasses, a list, tuple, dictionary or union of these, or `Any`.
    With `Any` a list, tuple or range comes back as a list.
    """

    def __init__(self, arrays: Mapping[str, Any], known: Mapping[str, type]) -> None:
        self._arrays, self._known = arrays, known

    def decoded(self, hint: Any, value: Any) -> Any:
        """Return the object of the type `hint` that a value from JSON stands for, or raise a TypeError."""
        origin, inner = get_origin(hint), get_args(hint)
        if hint is Any:
            return self._any(value)
        if hint in ARRAYS:
            return self._array(value, ARRAYS[hint])
        if origin in (Union, UnionType):
            return self._one_of(inner, value)
        if origin is Literal:
            if not isinstance(value, str) or value not in inner:
                raise TypeError(f"{value!r} is none of {', '.join(map(repr, inner))}")
            return value
        if origin in (list, tuple) or (isinstance(origin, type) and issubclass(origin, Sequence)):
            return self._sequence(origin, inner, value)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            if not isinstance(value, dict):
                raise TypeError("a dictionary is missing")
            return {key: self.decoded(inner[1], item) for key, item in value.items()}
        if hint in PLAIN:
            return _plain(hint, value)
        if isinstance(hint, type) and issubclass(hint, Enum):
            if not isinstance(value, str) or value not in hint.__members__:
                raise TypeError(f"{value!r} is no {hint.__name__}")
            return hint[value]
        return self._object(hint, value)

    def _any(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._any(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "dtype" in value:
            return self._array(value, str(value["dtype"]))
        if "number" in value:
            return _plain(float, value)
        return self._object(object, value) if "type" in value else {key: self._any(x) for key, x in value.items()}

    def _object(self, base: Any, value: Any) -> Any:
        name = value.get("type") if isinstance(value, dict) else None
        cls = self._known.get(name) if isinstance(name, str) else None
        if not isinstance(base, type) or cls is None or not issubclass(cls, base):
            raise TypeError(f"a {getattr(base, '__name__', base)} is missing")
        hints = _hints_of(cls)  # type: ignore[arg-type]
        if set(value) != {"type", *hints}:
            raise TypeError(f"a {name} does not have the parts that it should")
        return cls(**{part: self.decoded(hint, value[part]) for part, hint in hints.items()})

    def _one_of(self, hints: tuple[Any, ...], value: Any) -> Any:
        if value is None and NoneType in hints:
            return None
        cls = self._known.get(str(value.get("type"))) if isinstance(value, dict) else None
        # An object is decoded by its class alone, so that an error says what is wrong inside it.
        chosen = [hint for hint in hints if cls is not None and isinstance(hint, type) and issubclass(cls, hint)]
        problem = TypeError("a value is missing")
        for hint in chosen[:1] or hints:
            if hint is not NoneType:
                try:
                    return self.decoded(hint, value)
                except TypeError as error:
                    problem = error
        raise problem

    def _sequence(self, origin: Any, hints: tuple[Any, ...], value: Any) -> Any:
        if not isinstance(value, list):
            raise TypeError("a list is missing")
        if origin is not tuple:
            return [self.decoded(hints[0], item) for item in value]
        expected = [hints[0]] * len(value) if hints[-1] is Ellipsis else list(hints)
        if len(expected) != len(value):
            raise TypeError(f"a list has {len(value)} entries in place of {len(expected)}")
        return tuple(self.decoded(hint, item) for hint, item in zip(expected, value, strict=True))

    def _array(self, value: Any, dtype: str) -> Any:
        if not isinstance(value, dict) or value.get("dtype") != dtype or dtype not in ARRAYS.values():
            raise TypeError(f"an array of {dtype} is missing")
        if not isinstance(value.get("shape"), list):
            raise TypeError("an array has no shape")
        shape = tuple(_plain(int, size) for size in value["shape"])
        kind = np.intp if dtype == "int64" else np.dtype(dtype)
        if set(value) == {"dtype", "shape", "npz"}:
            array = self._arrays.get(_plain(str, value["npz"]))
            if array is None or array.dtype != np.dtype(dtype) or array.shape != shape:
                raise TypeError(f"the NPZ file has no {value['npz']} of the shape {shape}")
            return array.astype(kind)
        if set(value) != {"dtype", "shape", "values"} or not isinstance(value["values"], list):
            raise TypeError("an array has no values")
        entry = {"int64": int, "int8": int, "bool": bool}.get(dtype, float)
        numbers = [NOT_FINITE[x] if isinstance(x, str) and x in NOT_FINITE else x for x in value["values"]]
        array = np.array([_plain(entry, x) for x in numbers], dtype=kind)
        if min(shape, default=0) < 0 or array.size != math.prod(shape):
            raise TypeError(f"{array.size} numbers do not fill the shape {shape}")
        return array.reshape(shape)


def classes_of(*classes: type) -> dict[str, type]:
    """Return dataclasses by name, and those that their fields may hold."""
    found: dict[str, type] = {}
    pending: list[Any] = list(classes)
    while pending:
        hint = pending.pop()
        pending += get_args(hint)
        if isinstance(hint, type) and is_dataclass(hint) and hint.__name__ not in found:
            found[hint.__name__] = hint
            pending += _hints_of(hint).values()
    return found


@cache
def _hints_of(cls: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, by name."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def _plain(hint: Any, value: Any) -> Any:
    """Return a text, a flag or a number; a whole number may stand for a float."""
    if hint is float and isinstance(value, dict) and set(value) == {"number"}:
        value = value["number"]
        if isinstance(value, str) and value in NOT_FINITE:
            return NOT_FINITE[value]
    allowed, noun = PLAIN[hint]
    if not isinstance(value, allowed) or (isinstance(value, bool) and hint is not bool):
        raise TypeError(f"{value!r} is no {noun}")
    return float(value) if hint is float else value
