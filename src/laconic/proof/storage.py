"""Certificates on disk: JSON that a person can read, and NPZ for what nobody would.

The file holds a checksum of all its content, and of the NPZ file, against accidents. Against forgers there is the
mathematics: a certificate whose checksum fits is still verified. Nothing is unpickled.
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
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from laconic.proof.certificate import Certificate, MatrixDescription
from laconic.proof.witness import (
    BlockWitness,
    ComponentWitness,
    Decision,
    DualWitness,
    ExhaustiveWitness,
    ReducedWitness,
    RowSumWitness,
    SplitWitness,
    TraceWitness,
    TreeNode,
    TreeWitness,
    Witness,
)

FORMAT, SCHEMA = "laconic certificate", 1
# Arrays of more numbers than this go to the NPZ file.
INLINE = 2000
# Witnesses within witnesses.
DEEPEST = 50


def save(certificate: Certificate, path: str | Path) -> Path:
    """Write a certificate; see `Certificate.save`."""
    return write(certificate, path)[0]


def write(certificate: Certificate, path: str | Path) -> list[Path]:
    """Write a certificate and return its files, the JSON file first. Each appears whole or not at all.

    Raises
    ------
    OSError
        If one cannot be written; it names the path that was given.
    """
    path = Path(path)
    if path.suffix.lower() == ".npz":
        raise ValueError(f"{path.name} ends in .npz, which the arrays beside the certificate use; end it in .json.")
    contents = _contents(certificate, path)
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        # The arrays first: a JSON file never lacks those that it names.
        for file, content in reversed(contents.items()):
            _write(file, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    return list(contents)


def _contents(certificate: Certificate, path: Path) -> dict[Path, bytes]:
    """Return the content of each file, the JSON file first."""
    arrays: dict[str, Any] = {}
    content = {f.name: _encoded(getattr(certificate, f.name), arrays) for f in fields(certificate)}
    document: dict[str, Any] = {"format": FORMAT, "schema": SCHEMA, "certificate": content, "arrays": None}
    beside: dict[Path, bytes] = {}
    if arrays:
        file = path.with_suffix(".npz")
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        beside[file] = buffer.getvalue()
        document["arrays"] = {"file": file.name, "sha256": hashlib.sha256(beside[file]).hexdigest()}
    document["checksum"] = checksum(document)
    text = json.dumps(document, indent=1, allow_nan=False)
    # Lists of numbers on one line; within a JSON text there is no line break.
    text = re.sub(r"\[\n([^][{}\"]*)\n *\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    return {path: (text + "\n").encode(), **beside}


def load(path: str | Path) -> Certificate:
    """Read a certificate; see `Certificate.load`."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"There is no file {path.name}.")
    try:
        document = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError(f"{path.name} is no JSON file, or was cut short.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{path.name} is no certificate of laconic.")
    if document.get("schema") != SCHEMA:
        raise ValueError(f"{path.name} has schema {document.get('schema')!r}; this version of laconic reads {SCHEMA}.")
    if set(document) != {"format", "schema", "certificate", "arrays", "checksum"}:
        raise ValueError(f"{path.name} was altered: it has lost or gained a part.")
    if document["checksum"] != checksum(document):
        raise ValueError(f"{path.name} was altered: its checksum does not fit its content.")
    arrays = _arrays(document["arrays"], path)
    try:
        return _certificate(document["certificate"], arrays)
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"{path.name} is not as a certificate should be: {error}.") from None


def checksum(document: dict[str, Any]) -> str:
    """Return the SHA-256 of a document without its own checksum; that of the NPZ file is among its content."""
    content = {key: value for key, value in document.items() if key != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_constant(text: str) -> float:
    raise ValueError(f"The certificate holds {text}, which is no number.")


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
    if isinstance(value, MatrixDescription):
        return asdict(value)
    if isinstance(value, dict):
        return {str(key): str(item) for key, item in value.items()}
    if isinstance(value, Witness | TreeNode | Decision):
        named = {f.name: _encoded(getattr(value, f.name), arrays) for f in fields(value)}
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
        raise ValueError(f"The arrays of the certificate are missing: there is no {name} beside {path.name}.")
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != beside["sha256"]:
        raise ValueError(f"{name} was altered: its checksum is not the one in {path.name}.")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, AttributeError):
        raise ValueError(f"{name} is no NPZ file of plain arrays.") from None


class _Reader:
    """Turns JSON back into what a certificate holds, each thing of its own type or not at all."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self.arrays = arrays
        self.depth = 0

    def of(self, content: Any, form: dict[str, Callable[[Any], Any]], what: str) -> dict[str, Any]:
        if not isinstance(content, dict) or set(content) != set(form):
            raise TypeError(f"{what} has not the parts it should")
        return {name: read(content[name]) for name, read in form.items()}

    def text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is no text")
        return value

    def whole(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{value!r} is no whole number")
        return value

    def number(self, value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise TypeError(f"{value!r} is no number")
        return float(value)

    def flag(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise TypeError(f"{value!r} is neither true nor false")
        return value

    def maybe(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda value: None if value is None else read(value)

    def names(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise TypeError("the feature names are no list")
        return tuple(self.text(name) for name in value)

    def versions(self, value: Any) -> dict[str, str]:
        if not isinstance(value, dict):
            raise TypeError("the versions have no names")
        return {key: self.text(item) for key, item in value.items()}

    def floats(self, value: Any) -> Any:
        return self._array(value, "float64", np.float64, self.number)

    def indices(self, value: Any) -> Any:
        return self._array(value, "int64", np.intp, self.whole)

    def _array(self, value: Any, dtype: str, kind: type, read: Callable[[Any], Any]) -> Any:
        if not isinstance(value, dict) or value.get("dtype") != dtype or not isinstance(value.get("shape"), list):
            raise TypeError(f"an array of {dtype} is missing")
        shape = tuple(self.whole(size) for size in value["shape"])
        if set(value) == {"dtype", "shape", "npz"}:
            array = self.arrays.get(self.text(value["npz"]))
            if array is None or array.dtype != np.dtype(dtype) or array.shape != shape:
                raise TypeError(f"the NPZ file has no {value['npz']} of the shape {shape}")
            return array.astype(kind)
        if set(value) != {"dtype", "shape", "values"} or not isinstance(value["values"], list):
            raise TypeError("an array has no values")
        array = np.array([read(item) for item in value["values"]], dtype=kind)
        if min(shape, default=0) < 0 or array.size != np.prod(shape, dtype=object):
            raise TypeError(f"{array.size} numbers do not fill the shape {shape}")
        return array.reshape(shape)

    def witnesses_by(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def pairs(value: Any) -> Any:
            if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
                raise TypeError("a list of pairs, each with a witness, is missing")
            return tuple((read(first), self.witness(inner)) for first, inner in value)

        return pairs

    def witness(self, value: Any) -> Witness:
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            raise TypeError("a witness has no type")
        self.depth += 1
        if self.depth > DEEPEST:
            raise TypeError(f"it holds more than {DEEPEST} witnesses")
        content = {key: item for key, item in value.items() if key != "type"}
        match value["type"]:
            case "TraceWitness":
                return TraceWitness(**self.of(content, {}, "the witness"))
            case "RowSumWitness":
                return RowSumWitness(**self.of(content, {}, "the witness"))
            case "ExhaustiveWitness":
                return ExhaustiveWitness(**self.of(content, {}, "the witness"))
            case "DualWitness":
                return self.point(value)
            case "ComponentWitness":
                form: dict[str, Callable[[Any], Any]] = {"features": self.indices, "weights": self.floats}
                return ComponentWitness(**self.of(content, form | {"rho": self.number}, "the witness"))
            case "TreeWitness":
                return TreeWitness(**self.of(content, {"nodes": self.listed(self.node)}, "the witness"))
            case "BlockWitness":
                form = {"threshold": self.number, "blocks": self.witnesses_by(self.indices)}
                return BlockWitness(**self.of(content, form, "the witness"))
            case "ReducedWitness":
                form = {"kept": self.indices, "before": self.witness, "rows": self.flag, "inner": self.witness}
                return ReducedWitness(**self.of(content, form, "the witness"))
            case "SplitWitness":
                form = {"kept": self.indices, "bounds": self.witnesses_by(self.whole)}
                return SplitWitness(**self.of(content, form, "the witness"))
        raise TypeError(f"{value['type']!r} is no witness")

    def point(self, value: Any) -> DualWitness:
        content = self._typed(value, "DualWitness")
        matrices = ("multiplier", "levels", "norms", "factor", "directions")
        form: dict[str, Callable[[Any], Any]] = dict.fromkeys(matrices, self.maybe(self.floats))
        form |= dict.fromkeys(("threshold", "price", "rho", "shift"), self.number)
        form |= {"kind": self.text, "inside": self.indices, "kept": self.maybe(self.indices)}
        return DualWitness(**self.of(content, form, "the witness"))

    def node(self, value: Any) -> TreeNode:
        places = dict.fromkeys(("feature", "without", "within"), self.whole)
        form: dict[str, Callable[[Any], Any]] = {"decisions": self.listed(self.decision), "bound": self.maybe(self.end)}
        return TreeNode(**self.of(self._typed(value, "TreeNode"), form | places, "a node"))

    def decision(self, value: Any) -> Decision:
        form: dict[str, Callable[[Any], Any]] = {"witness": self.point, "out": self.indices, "into": self.indices}
        return Decision(**self.of(self._typed(value, "Decision"), form, "a decision"))

    def end(self, value: Any) -> DualWitness | ExhaustiveWitness:
        if value == {"type": "ExhaustiveWitness"}:
            return ExhaustiveWitness()
        return self.point(value)

    def listed(self, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def each(value: Any) -> tuple[Any, ...]:
            if not isinstance(value, list):
                raise TypeError("a list is missing")
            return tuple(read(item) for item in value)

        return each

    def _typed(self, value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict) or value.get("type") != name:
            raise TypeError(f"a {name} is missing")
        return {key: item for key, item in value.items() if key != "type"}

    def description(self, value: Any) -> MatrixDescription:
        form = {"source": self.text, "center": self.flag, "scale": self.flag, "weights": self.maybe(self.text)}
        return MatrixDescription(**self.of(value, form, "the description of the matrix"))


def _certificate(content: Any, arrays: dict[str, Any]) -> Certificate:
    read = _Reader(arrays)
    form: dict[str, Callable[[Any], Any]] = {
        "cardinality": read.whole,
        "n_features": read.whole,
        "support": read.indices,
        "loadings": read.floats,
        "lower": read.number,
        "upper": read.number,
        "kind": read.text,
        "witness": read.witness,
        "digest": read.text,
        "margin": read.number,
        "matrix": read.description,
        "deflation": read.maybe(read.text),
        "earlier": read.maybe(read.floats),
        "allowed": read.maybe(read.indices),
        "forced": read.indices,
        "feature_names": read.maybe(read.names),
        "versions": read.versions,
    }
    return Certificate(**read.of(content, form, "the certificate"))
