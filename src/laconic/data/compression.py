"""Compressed files: the endings of names, and streams that are decompressed from start to end."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _zstandard(raw: Any) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(raw, "zstd")


# Compressed files: the last ending of the name, and how a stream of bytes is decompressed.
DECOMPRESSORS: dict[str, Callable[[Any], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _zstandard,
}
# Errors of files that are damaged or not compressed as their name says.
BROKEN = (OSError, EOFError, lzma.LZMAError, zlib.error)


def ending_of(file: Path) -> str:
    """Return the ending that says the format, in small letters; that of a compression stands behind it."""
    return next((s for s in map(str.lower, reversed(file.suffixes)) if s not in DECOMPRESSORS), "")


def refuse_compressed(file: Path) -> None:
    """Raise a ValueError if a file is compressed whose format must be read from any place on."""
    if file.suffix.lower() in DECOMPRESSORS:
        raise ValueError(f"{file.name} must be read in parts, which its compression prevents; decompress it first.")


def decompressed(raw: Any, file: Path) -> Any:
    """Return the content of an opened file as a stream of bytes. The stream of a .zst file cannot go back."""
    decompressor = DECOMPRESSORS.get(file.suffix.lower())
    return raw if decompressor is None else decompressor(raw)
