"""Arrays in an .npz file, read in parts: mapped to memory if they are stored, as a stream if they are compressed."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from laconic.data.sources.stored import Read
from laconic.data.sources.streams import reading


class NpzArray:
    """One array of an .npz file."""

    def __init__(self, file: Path, name: str) -> None:
        self._file, self._member = file, f"{name}.npy"
        with reading(file), zipfile.ZipFile(file) as archive:
            if self._member not in archive.namelist():
                raise ValueError(f"{file.name} has no array {name!r}; make the file again.")
            with archive.open(self._member) as content:
                version = np.lib.format.read_magic(content)
                header = (
                    np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                )
                self.shape, self.fortran, self.dtype = header(content)
                self._offset = content.tell()
            info = archive.getinfo(self._member)
            self._stored = info.compress_type == zipfile.ZIP_STORED
            self._place = info.header_offset
        if self.dtype.hasobject:
            raise ValueError(f"{file.name} has objects in {name!r}; store numbers.")

    @contextmanager
    def opened(self) -> Iterator[Read]:
        """Open the array for reading in parts, from the first to the last."""
        width = int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize
        if self._stored and width and self.shape[0]:
            with reading(self._file):
                order: Any = "F" if self.fortran else "C"
                mapped = np.memmap(self._file, self.dtype, "r", self._start(), self.shape, order)
            yield lambda begin, end: np.asarray(mapped[begin:end])
            return
        with reading(self._file), zipfile.ZipFile(self._file) as archive, archive.open(self._member) as content:

            def read(begin: int, end: int) -> Any:
                content.seek(self._offset + begin * width)
                data = content.read((end - begin) * width)
                return np.frombuffer(data, self.dtype).reshape(end - begin, *self.shape[1:])

            yield read

    def whole(self) -> Any:
        """Return all of the array, if it is small and has an axis."""
        with self.opened() as read:
            return read(0, self.shape[0])

    def _start(self) -> int:
        """Return where the numbers begin in the file: behind the header of the member, which has two lengths."""
        with self._file.open("rb") as content:
            content.seek(self._place + 26)
            lengths = np.frombuffer(content.read(4), "<u2")
        return self._place + 30 + int(lengths.sum()) + self._offset


def npz_names(file: Path) -> list[str]:
    """Return the names of the arrays of an .npz file."""
    with reading(file), zipfile.ZipFile(file) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
