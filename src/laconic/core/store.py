"""A JSON document with large arrays in an NPZ file beside it.

The document holds a checksum of its content and of the NPZ file, so that damage is noticed. No content is unpickled.
Each file appears whole or not at all.

**Zip files from strangers: unpacked within a limit, and written so that the same content gives the same bytes.**

A small zip file can hold terabytes of zeros. So the sizes that it declares are added up before anything is unpacked,
and no part is unpacked beyond the size that it declares. Names of parts are never used as paths.
"""

import errno
import hashlib
import io
import json
import os
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from laconic.core.arrays import Floats, Indices

# All parts of a file may have this many bytes together after unpacking, unless a caller says otherwise.
MOST_BYTES = 2_000_000_000
# The most parts of one zip file. A model has a few hundred arrays.
MOST_PARTS = 20_000
# The first bytes of an entry in the list of contents of a zip file.
ENTRY = b"PK\x01\x02"
# The earliest date that a zip file can have. Dates are left out, so that equal content gives equal bytes.
NO_DATE = (1980, 1, 1, 0, 0, 0)
# What `zipfile` may raise if bytes were altered, besides its own error.
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)


class Budget:
    """The number of bytes that may still be unpacked."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most = self._left = most

    def take(self, size: int, name: str) -> None:
        """Subtract a size, or raise a ValueError if the file with this name would take more than is left."""
        self._left -= size
        if self._left < 0:
            raise ValueError(f"{name} would take more than {self.most:,} bytes unpacked, which is the limit.")


def packed(parts: Mapping[str, bytes]) -> bytes:
    """Return a zip file. Parts that are zip files themselves, and those that hardly shrink, are stored as they are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in parts.items():
            info = zipfile.ZipInfo(name, NO_DATE)
            info.external_attr = 0o644 << 16
            way = zipfile.ZIP_STORED if name.endswith(".npz") else zipfile.ZIP_DEFLATED
            file.writestr(info, content, compress_type=way)
    return buffer.getvalue()


def unpacked(data: bytes, name: str, budget: Budget, kind: str = "zip file") -> dict[str, bytes]:
    """Return the parts of a zip file, or raise a ValueError of one sentence with its name, and its kind."""
    # The list of contents is read as a whole, so that its length is limited first.
    if data.count(ENTRY) > MOST_PARTS:
        raise ValueError(f"{name} has more than {MOST_PARTS:,} parts, which is the limit.")
    broken = f"{name} is no {kind}, or was altered or cut short."
    try:
        file = zipfile.ZipFile(io.BytesIO(data))
    except BROKEN:
        raise ValueError(broken) from None
    with file:
        entries = file.infolist()
        problem = _problem(entries)
        if problem:
            raise ValueError(f"{name} {problem}.")
        budget.take(sum(entry.file_size for entry in entries), name)
        try:
            return {entry.filename: _content(file, entry) for entry in entries}
        except BROKEN:
            raise ValueError(broken) from None


def _problem(entries: list[zipfile.ZipInfo]) -> str:
    """Return what is wrong with the list of contents, as the end of a sentence, or nothing."""
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        return "has a part twice"
    if any(entry.is_dir() or "/" in entry.filename or "\\" in entry.filename for entry in entries):
        return "has folders in it"
    if any(entry.flag_bits & 1 for entry in entries):
        return "is encrypted"
    if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries):
        return "is compressed in a way that is not allowed"
    return ""


def _content(file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with file.open(entry) as part:
        # With a size, no more than that is unpacked at once. At the end, the checksum of the part is compared.
        content = part.read(entry.file_size + 1)
    if len(content) != entry.file_size:
        raise ValueError("The part has another size than it declares.")
    return content


def packed_arrays(arrays: Mapping[str, Any]) -> bytes:
    """Return an NPZ file of plain arrays."""
    parts = {}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array, allow_pickle=False)
        parts[f"{name}.npy"] = buffer.getvalue()
    return packed(parts)


def unpacked_arrays(data: bytes, name: str, budget: Budget) -> dict[str, Any]:
    """Return the arrays of an NPZ file by name. Only numbers and truth values are accepted, never Python objects."""
    arrays = {}
    for part, content in unpacked(data, name, budget, "NPZ file").items():
        try:
            arrays[part.removesuffix(".npy")] = _array(content)
        except (ValueError, TypeError, OverflowError, MemoryError, EOFError, KeyError, SyntaxError):
            raise ValueError(f"{name} is no NPZ file of plain arrays.") from None
    return arrays


def _array(content: bytes) -> Any:
    """Return the array of an NPY file. Its shape must fit the number of its bytes, so nothing more is allocated."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, fortran, dtype = read(stream)
    numbers = content[stream.tell() :]
    size = int(np.prod(shape, dtype=object)) if shape else 1
    if dtype.kind not in "biuf" or min(shape, default=0) < 0 or len(numbers) != size * dtype.itemsize:
        raise ValueError("The header of the array does not fit its numbers.")
    array = np.frombuffer(numbers, dtype=dtype).reshape(shape, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="), order="K")


# Arrays of more numbers than this go to the NPZ file: a list in JSON of 2000 numbers is about 40 kB.
INLINE = 2000
NAMES = {str: "text", bool: "flag", int: "whole number", float: "number"}


def write_archive(
    content: Any, path: str | Path, *, name: str, schema: int, words: Mapping[str, Sequence[str]] | None = None
) -> list[Path]:
    """Write a dataclass to `path` and return the files, the JSON file first.

    The dataclass may hold numbers, texts, arrays, tuples, dictionaries of texts, and further dataclasses. `name` and
    `schema` are the name of the format, such as "laconic certificate", and its version. `words` are further parts of
    the document, each a list of sentences for people who read it.
    """
    path = Path(path)
    contents = archive_files(content, path, name=name, schema=schema, words=words)
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        # The arrays are written first, so that a JSON file never names arrays that are missing.
        for file, data in contents.items():
            write_atomically(file, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    return [path, *(file for file in contents if file != path)]


def archive_files(
    content: Any, path: Path, *, name: str, schema: int, words: Mapping[str, Sequence[str]] | None = None
) -> dict[Path, bytes]:
    """Return the files that `write_archive` writes, the JSON file last."""
    if path.suffix.lower() == ".npz":
        raise ValueError(f"{path.name} ends in .npz, which the arrays beside the file use; end it in .json.")
    arrays: dict[str, Any] = {}
    document: dict[str, Any] = {"format": name, "schema": schema}
    document |= {part: list(sentences) for part, sentences in (words or {}).items()}
    document |= {"content": _encoded(content, arrays), "arrays": None}
    contents: dict[Path, bytes] = {}
    if arrays:
        file = path.with_suffix(".npz")
        contents[file] = packed_arrays(arrays)
        document["arrays"] = {"file": file.name, "sha256": hashlib.sha256(contents[file]).hexdigest()}
    document["checksum"] = checksum(document)
    contents[path] = json_text(document)
    return contents


def json_text(document: dict[str, Any]) -> bytes:
    """Return a document as JSON for a reader, with each list of numbers on one line."""
    text = json.dumps(document, indent=1, allow_nan=False)
    # A text in JSON contains no line break.
    text = re.sub(r"\[\n([^][{}\"]*)\n *\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    return (text + "\n").encode()


def read_archive(
    path: str | Path,
    *,
    name: str,
    schema: int,
    files: Mapping[str, bytes] | None = None,
    budget: Budget | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Return the content of a document, not yet decoded, and its arrays by name.

    `files` are the content of the files by name, if they are not on disk. `budget` limits what is unpacked. A file that
    is missing, of another format, altered or cut short raises a ValueError.
    """
    document, arrays = read_document(path, name=name, schema=schema, files=files, budget=budget)
    return document["content"], arrays


def read_document(
    path: str | Path,
    *,
    name: str,
    schema: int,
    words: Sequence[str] = (),
    files: Mapping[str, bytes] | None = None,
    budget: Budget | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a whole document and its arrays, as `read_archive` does.

    `words` are the names of the parts for people.
    """
    path = Path(path)
    text = _bytes_of(path, files)
    if text is None:
        raise ValueError(f"There is no file {path.name}.")
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError(f"{path.name} is no JSON file, or was cut short.") from None
    if not isinstance(document, dict) or document.get("format") != name:
        raise ValueError(f"{path.name} is no {name}.")
    if document.get("schema") != schema:
        raise ValueError(f"{path.name} has schema {document.get('schema')!r}; this version of laconic reads {schema}.")
    if set(document) != {"format", "schema", "content", "arrays", "checksum", *words}:
        raise ValueError(f"{path.name} was altered: a part is missing, or there is one too many.")
    if document["checksum"] != checksum(document):
        raise ValueError(f"{path.name} was altered: its checksum does not fit its content.")
    return document, _arrays(document["arrays"], path, files, budget or Budget())


def _bytes_of(path: Path, files: Mapping[str, bytes] | None) -> bytes | None:
    """Return the content of a file, or None if there is none."""
    if files is not None:
        return files.get(path.name)
    return path.read_bytes() if path.is_file() else None


def checksum(document: dict[str, Any]) -> str:
    """Return the SHA-256 of a document without its own checksum."""
    content = {key: value for key, value in document.items() if key != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_constant(text: str) -> float:
    raise ValueError(f"The file contains {text}, which is no number.")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it appears whole or not at all."""
    if path.exists() and not path.is_file():
        # Replacing a device, which a superuser can do, would remove it for all programs.
        raise OSError(f"{path} is no ordinary file; give the name of a file.")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
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


def _encoded(value: Any, arrays: dict[str, Any]) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, dict):
        return {str(key): str(item) for key, item in value.items()}
    if is_dataclass(value):
        named = {field.name: _encoded(getattr(value, field.name), arrays) for field in fields(value)}
        return {"type": type(value).__name__, **named}
    if isinstance(value, tuple):
        return [_encoded(item, arrays) for item in value]
    array = np.asarray(value)
    array = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
    form = {"dtype": str(array.dtype), "shape": list(array.shape)}
    if array.size <= INLINE:
        return {**form, "values": array.ravel().tolist()}
    name = f"array{len(arrays)}"
    arrays[name] = array
    return {**form, "npz": name}


def _arrays(beside: Any, path: Path, files: Mapping[str, bytes] | None, budget: Budget) -> dict[str, Any]:
    if beside is None:
        return {}
    if not isinstance(beside, dict) or set(beside) != {"file", "sha256"}:
        raise ValueError(f"{path.name} does not say where its arrays are.")
    name = beside["file"]
    if not isinstance(name, str) or Path(name).name != name:
        raise ValueError(f"{path.name} names arrays in another folder.")
    content = _bytes_of(path.parent / name, files)
    if content is None:
        raise ValueError(f"The arrays of {path.name} are missing: there is no {name} beside it.")
    if hashlib.sha256(content).hexdigest() != beside["sha256"]:
        raise ValueError(f"{name} was altered: its checksum is not the one in {path.name}.")
    return unpacked_arrays(content, name, budget)


class Decoder:
    """Turns content back into the dataclass that it came from, guided by the types of the fields.

    A field may be a number, a text, a flag, an array (`Floats` or `Indices`), a tuple, a dictionary of texts, another
    dataclass, a base class of several dataclasses, or one of these and None. Anything else is refused. `families`
    lists, for each base class, the dataclasses that may stand for it, by name. The content may hold at most `most` of
    them, so that reading it ends soon.
    """

    def __init__(
        self, arrays: Mapping[str, Any], families: Mapping[type, Mapping[str, type]] | None = None, most: int = 50
    ) -> None:
        self._arrays, self._families, self._most = arrays, families or {}, most

    def decoded(self, hint: Any, value: Any) -> Any:
        """Return the object of the type `hint` that a value from JSON stands for, or raise a TypeError."""
        if hint in (Floats, Indices):
            return self._array(value, *(("float64", float) if hint == Floats else ("int64", int)))
        if hint in self._families:
            return self._member(hint, value)
        if is_dataclass(hint) and isinstance(hint, type):
            return self._object(hint, value)
        origin, inner = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            return self._one_of(inner, value)
        if origin is tuple:
            return self._tuple(inner, value)
        if origin is dict:
            if not isinstance(value, dict):
                raise TypeError("a dictionary of texts is missing")
            return {key: self.decoded(str, item) for key, item in value.items()}
        return _plain(str if origin is Literal else hint, value)

    def _member(self, base: type, value: Any) -> Any:
        name = value.get("type") if isinstance(value, dict) else None
        self._most -= 1
        if self._most < 0:
            raise TypeError("it holds too many objects within objects")
        if not isinstance(name, str) or name not in self._families[base]:
            raise TypeError(f"{name!r} is no {base.__name__}")
        return self._object(self._families[base][name], value)

    def _object(self, cls: type, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("type") != cls.__name__:
            raise TypeError(f"a {cls.__name__} is missing")
        hints = _hints_of(cls)
        if set(value) != {"type", *hints}:
            raise TypeError(f"a {cls.__name__} does not have the parts that it should")
        return cls(**{name: self.decoded(hint, value[name]) for name, hint in hints.items()})

    def _one_of(self, hints: tuple[Any, ...], value: Any) -> Any:
        if value is None and NoneType in hints:
            return None
        hints = tuple(hint for hint in hints if hint is not NoneType)
        name = value.get("type") if isinstance(value, dict) else None
        return self.decoded(next((hint for hint in hints if getattr(hint, "__name__", "") == name), hints[0]), value)

    def _tuple(self, hints: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise TypeError("a list is missing")
        expected = [hints[0]] * len(value) if hints[-1] is Ellipsis else list(hints)
        if len(expected) != len(value):
            raise TypeError(f"a list has {len(value)} entries in place of {len(expected)}")
        return tuple(self.decoded(hint, item) for hint, item in zip(expected, value, strict=True))

    def _array(self, value: Any, dtype: str, entry: type) -> Any:
        kind = np.float64 if entry is float else np.intp
        if not isinstance(value, dict) or value.get("dtype") != dtype or not isinstance(value.get("shape"), list):
            raise TypeError(f"an array of {dtype} is missing")
        shape = tuple(_plain(int, size) for size in value["shape"])
        if set(value) == {"dtype", "shape", "npz"}:
            array = self._arrays.get(_plain(str, value["npz"]))
            if array is None or array.dtype != np.dtype(dtype) or array.shape != shape:
                raise TypeError(f"the NPZ file has no {value['npz']} of the shape {shape}")
            return array.astype(kind)
        if set(value) != {"dtype", "shape", "values"} or not isinstance(value["values"], list):
            raise TypeError("an array has no values")
        array = np.array([_plain(entry, item) for item in value["values"]], dtype=kind)
        if min(shape, default=0) < 0 or array.size != np.prod(shape, dtype=object):
            raise TypeError(f"{array.size} numbers do not fill the shape {shape}")
        return array.reshape(shape)


@cache
def _hints_of(cls: type) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, by name."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def _plain(hint: Any, value: Any) -> Any:
    """Return a text, a flag or a number; a whole number may stand for a float."""
    allowed = {str: str, bool: bool, int: int, float: int | float}[hint]
    if not isinstance(value, allowed) or (isinstance(value, bool) and hint is not bool):
        raise TypeError(f"{value!r} is no {NAMES[hint]}")
    return float(value) if hint is float else value
