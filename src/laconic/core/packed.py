"""Zip files from strangers: unpacked within a limit, and written so that the same content gives the same bytes.

A small zip file can hold terabytes of zeros. So the sizes that it declares are added up before anything is unpacked,
and no part is unpacked beyond the size that it declares. Names of parts are never used as paths.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

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
