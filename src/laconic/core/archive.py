"""Files of a JSON document with large arrays in an NPZ file beside it.

The document holds a checksum of its content, and of the NPZ file, so that damage is noticed. Nothing is unpickled. Each
file appears whole or not at all.
"""

import errno
import hashlib
import io
import json
import os
import re
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

# Arrays of more numbers than this go to the NPZ file: a list in JSON of 2000 numbers is about 40 kB.
INLINE = 2000


def write_archive(content: Any, path: str | Path, *, name: str, schema: int) -> list[Path]:
    """Write a document and return its files, the JSON file first.

    Parameters
    ----------
    content
        A dataclass of numbers, texts, arrays, tuples, dictionaries of texts, and further dataclasses.
    path
        The path of the JSON file. The arrays go beside it, with the ending .npz.
    name, schema
        The name of the format, such as "laconic certificate", and its version.

    Raises
    ------
    OSError
        If a file cannot be written; it names the path that was given.
    """
    path = Path(path)
    if path.suffix.lower() == ".npz":
        raise ValueError(f"{path.name} ends in .npz, which the arrays beside the file use; end it in .json.")
    arrays: dict[str, Any] = {}
    document: dict[str, Any] = {"format": name, "schema": schema, "content": _encoded(content, arrays), "arrays": None}
    contents: dict[Path, bytes] = {}
    if arrays:
        file = path.with_suffix(".npz")
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        contents[file] = buffer.getvalue()
        document["arrays"] = {"file": file.name, "sha256": hashlib.sha256(contents[file]).hexdigest()}
    document["checksum"] = checksum(document)
    text = json.dumps(document, indent=1, allow_nan=False)
    # Put lists of numbers on one line. A text in JSON contains no line break.
    text = re.sub(r"\[\n([^][{}\"]*)\n *\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    contents[path] = (text + "\n").encode()
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        # The arrays are written first, so that a JSON file never names arrays that are missing.
        for file, data in contents.items():
            _write(file, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    return [path, *(file for file in contents if file != path)]


def read_archive(path: str | Path, *, name: str, schema: int) -> tuple[Any, dict[str, Any]]:
    """Return the content of a document, not yet decoded, and its arrays by name.

    Parameters
    ----------
    path
        The path of the JSON file.
    name, schema
        As in `write_archive`.

    Raises
    ------
    ValueError
        If the file is missing, has another format, or was altered or cut short.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"There is no file {path.name}.")
    try:
        document = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError(f"{path.name} is no JSON file, or was cut short.") from None
    if not isinstance(document, dict) or document.get("format") != name:
        raise ValueError(f"{path.name} is no {name}.")
    if document.get("schema") != schema:
        raise ValueError(f"{path.name} has schema {document.get('schema')!r}; this version of laconic reads {schema}.")
    if set(document) != {"format", "schema", "content", "arrays", "checksum"}:
        raise ValueError(f"{path.name} was altered: a part is missing, or there is one too many.")
    if document["checksum"] != checksum(document):
        raise ValueError(f"{path.name} was altered: its checksum does not fit its content.")
    return document["content"], _arrays(document["arrays"], path)


def checksum(document: dict[str, Any]) -> str:
    """Return the SHA-256 of a document without its own checksum. The content includes that of the NPZ file."""
    content = {key: value for key, value in document.items() if key != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_constant(text: str) -> float:
    raise ValueError(f"The file contains {text}, which is no number.")


def _write(path: Path, content: bytes) -> None:
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


def _arrays(beside: Any, path: Path) -> dict[str, Any]:
    if beside is None:
        return {}
    if not isinstance(beside, dict) or set(beside) != {"file", "sha256"}:
        raise ValueError(f"{path.name} does not say where its arrays are.")
    name = beside["file"]
    if not isinstance(name, str) or Path(name).name != name:
        raise ValueError(f"{path.name} names arrays in another folder.")
    file = path.parent / name
    if not file.is_file():
        raise ValueError(f"The arrays of {path.name} are missing: there is no {name} beside it.")
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != beside["sha256"]:
        raise ValueError(f"{name} was altered: its checksum is not the one in {path.name}.")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, AttributeError):
        raise ValueError(f"{name} is no NPZ file of plain arrays.") from None


class Reader:
    """Turns content back into Python objects. Each value must have the type that is expected, or a TypeError is raised.

    Parameters
    ----------
    arrays
        The arrays of the NPZ file, by name.
    """

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._arrays = arrays

    def object_of(
        self, cls: Callable[..., Any], form: Mapping[str, Callable[[Any], Any]], what: str
    ) -> Callable[[Any], Any]:
        """Read an object of a dataclass.

        Parameters
        ----------
        cls
            The dataclass.
        form
            A function for each field, which reads it.
        what
            What the object is, for errors.
        """

        def read(value: Any) -> Any:
            if not isinstance(value, dict) or value.get("type") != getattr(cls, "__name__", ""):
                raise TypeError(f"{what} is missing")
            if set(value) != {"type", *form}:
                raise TypeError(f"{what} does not have the parts that it should")
            return cls(**{name: of(value[name]) for name, of in form.items()})

        return read

    def text(self, value: Any) -> str:
        """Read a text."""
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is no text")
        return value

    def whole(self, value: Any) -> int:
        """Read a whole number."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{value!r} is no whole number")
        return value

    def number(self, value: Any) -> float:
        """Read a number."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise TypeError(f"{value!r} is no number")
        return float(value)

    def flag(self, value: Any) -> bool:
        """Read true or false."""
        if not isinstance(value, bool):
            raise TypeError(f"{value!r} is neither true nor false")
        return value

    def maybe(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Read something, or None."""
        return lambda value: None if value is None else read(value)

    def listed(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Read a list as a tuple."""

        def each(value: Any) -> tuple[Any, ...]:
            if not isinstance(value, list):
                raise TypeError("a list is missing")
            return tuple(read(item) for item in value)

        return each

    def texts(self, value: Any) -> dict[str, str]:
        """Read a dictionary of texts."""
        if not isinstance(value, dict):
            raise TypeError("a dictionary of texts is missing")
        return {key: self.text(item) for key, item in value.items()}

    def floats(self, value: Any) -> Any:
        """Read an array of numbers."""
        return self._array(value, "float64", np.float64, self.number)

    def indices(self, value: Any) -> Any:
        """Read an array of whole numbers."""
        return self._array(value, "int64", np.intp, self.whole)

    def _array(self, value: Any, dtype: str, kind: type, read: Callable[[Any], Any]) -> Any:
        if not isinstance(value, dict) or value.get("dtype") != dtype or not isinstance(value.get("shape"), list):
            raise TypeError(f"an array of {dtype} is missing")
        shape = tuple(self.whole(size) for size in value["shape"])
        if set(value) == {"dtype", "shape", "npz"}:
            array = self._arrays.get(self.text(value["npz"]))
            if array is None or array.dtype != np.dtype(dtype) or array.shape != shape:
                raise TypeError(f"the NPZ file has no {value['npz']} of the shape {shape}")
            return array.astype(kind)
        if set(value) != {"dtype", "shape", "values"} or not isinstance(value["values"], list):
            raise TypeError("an array has no values")
        array = np.array([read(item) for item in value["values"]], dtype=kind)
        if min(shape, default=0) < 0 or array.size != np.prod(shape, dtype=object):
            raise TypeError(f"{array.size} numbers do not fill the shape {shape}")
        return array.reshape(shape)
