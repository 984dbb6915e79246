"""Several sources, one below the other, as one table."""

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

from laconic.core.arrays import Indices
from laconic.data.sources.contract import Block, CountedSource


class JoinedSource(CountedSource):
    """The rows of several sources with the same columns."""

    def __init__(self, parts: Sequence[CountedSource], name: str) -> None:
        self._parts = list(parts)
        self.name = name
        self.n_features = parts[0].n_features
        self.feature_names = parts[0].feature_names
        self.sparse = parts[0].sparse
        self.files = [file for part in parts for file in part.files]
        self.note = parts[0].note
        self.n_rows = sum(part.n_rows for part in parts)
        for part in parts:
            if part.n_features != self.n_features or part.sparse != self.sparse:
                raise ValueError(
                    f"{part.name} has {_kind(part)}, and {parts[0].name} has {_kind(parts[0])}; give files of the "
                    "same form."
                )

        self.label_name = parts[0].label_name

    def row_labels(self) -> Iterator[list[str]] | None:
        found = [part.row_labels() for part in self._parts]
        known = [labels for labels in found if labels is not None]
        return chain.from_iterable(known) if len(known) == len(found) else None

    @property
    def n_blocks(self) -> int:
        return sum(part.n_blocks for part in self._parts)

    def fingerprint(self) -> str | None:
        found = [part.fingerprint() for part in self._parts]
        return None if None in found else "|".join(map(str, found))

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        before = 0
        for part in self._parts:
            if first < part.n_blocks:
                for block in part.blocks(columns, first):
                    share = (before + block.share * part.n_rows) / max(self.n_rows, 1)
                    yield block._replace(share=share)
            first = max(0, first - part.n_blocks)
            before += part.n_rows


def joined(parts: Sequence[CountedSource], name: str) -> CountedSource:
    """Return one source as it is, and several as one table."""
    return parts[0] if len(parts) == 1 else JoinedSource(parts, name)


def check_same_columns(names: Sequence[str], expected: Sequence[str], file: Path, first: Path) -> None:
    """Raise a ValueError that names the first column of a file that differs from those of the first file."""
    if list(names) == list(expected):
        return
    pairs = zip_longest(names, expected)
    own, other = next((a, b) for a, b in pairs if a != b)
    what, where = (repr(n) if n is not None else "no column" for n in (own, other))
    raise ValueError(f"{file.name} has {what} where {first.name} has {where}; give files with the same columns.")


def _kind(part: CountedSource) -> str:
    return f"{part.n_features} {'sparse' if part.sparse else 'dense'} columns"
