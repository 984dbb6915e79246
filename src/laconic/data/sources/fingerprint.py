"""The identity of files, for checkpoints."""

from collections.abc import Iterable
from pathlib import Path


def files_fingerprint(files: Iterable[Path]) -> str:
    """Return the names, sizes and times of files as a text."""
    found = [(str(file.resolve()), file.stat()) for file in files]
    return "|".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in found)
