"""Rows in blocks: the contract of data that are read block by block, and of the work of one pass over them.

A source yields its rows in blocks, as often as needed, and need not hold all of them. A pass is a sum: a job turns each
block into a part, and adds parts up. The same jobs run block after block in this process, or on the workers of a
cluster. A new format is one class derived from `Source`, and its ending in `files.py`.
"""

import lzma
import time
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices, Mask
from laconic.core.monitor import Monitor
from laconic.core.words import duration_in_words
from laconic.data.tables import (
    as_array_or_frame,
    check_same_columns,
    check_unique,
    column_names,
    feature_names_of,
    places_by_name,
    without_duplicates,
)

# Sources aim at blocks of this many numbers, zeros of dense rows included: 32 MB of float64.
BLOCK_NUMBERS = 4_000_000


Part = TypeVar("Part")  # an array, or a dataclass of numbers and arrays


class Block(NamedTuple):
    """Some rows, and how much of the source has been read after them."""

    rows: Any  # a float or integer array, or a CSR array with sorted indices and no duplicates
    share: float  # from 0 to 1, by rows or by bytes, whichever the source knows


class Job(ABC, Generic[Part]):
    """The work of one pass. It is sent to the workers of a cluster, so it must be picklable."""

    #: The columns that are read, in increasing order; None for all.
    columns: Indices | None

    @abstractmethod
    def of(self, rows: Any, first_row: int = 0) -> Part:
        """Return the part of one block. `first_row` is the number of its first row, for messages and weights."""

    def merge(self, first: Part, second: Part) -> Part:
        """Return the part of the rows of `first`, followed by those of `second`: by default the sums of all numbers."""

        def plus(a: Any, b: Any) -> Any:
            if hasattr(a, "merge"):
                return a.merge(b)
            if is_dataclass(a):
                return replace(a, **{one.name: plus(getattr(a, one.name), getattr(b, one.name)) for one in fields(a)})  # type: ignore[type-var]
            return None if a is None else a + b

        total: Part = plus(first, second)
        return total


@dataclass
class PassProgress:
    """What happens between the blocks of a pass: the clock, Ctrl-C, and progress on a terminal."""

    stage: str = "reading"  # in words, such as "pass 1 of 2: variances"
    monitor: Monitor = field(default_factory=Monitor)
    _begun: float = field(default_factory=time.monotonic)

    def show(self, share: float) -> None:
        """Show how much has been read and how long the rest takes; stop if the time is over or the user wants to."""
        left = (time.monotonic() - self._begun) * (1 - share) / share if share > 0 else 0.0
        rest = f", {duration_in_words(left)} left" if left else ""
        self.monitor.tick(f"{self.stage}: {100 * share:.0f} %{rest}")


class Source(ABC):
    """Rows of numbers that are read in blocks.

    Reading a source twice must give the same numbers. An error in the data is a ValueError of one sentence that names
    the source, the place (row or line, column), and what to do.
    """

    #: For messages: the name of the file, or "12 files in counts".
    name: str
    n_features: int
    feature_names: list[str] | None = None
    #: The number of rows, if it is known before they are read.
    n_rows: int | None = None
    #: Whether blocks are CSR arrays.
    sparse: bool = False
    #: The files that hold the data.
    files: Sequence[Path] = ()
    #: A sentence for the user about columns that are left out.
    note: str = ""
    #: What the row labels are called, if the table has any.
    label_name: str = "row"

    @abstractmethod
    def blocks(self, columns: Indices | None = None) -> Iterator[Block]:
        """Yield all rows in order. A block may have no rows.

        `columns` are in increasing order; only these are returned and, if the format allows, only these are read.
        """

    def row_labels(self) -> Iterator[list[str]] | None:
        """Return the labels of all rows in order, several at once, or None if the table has none."""
        return None

    def in_memory(self) -> Any:
        """Return all rows as an array, CSR or CSC matrix if they are in memory anyway, else None."""
        return None

    def reduce(self, job: Job[Part], progress: PassProgress | None = None) -> Part:
        """Do the work of one pass. The default goes from block to block; a cluster does it in its own way."""
        total = sum_of_parts(self.blocks(job.columns), job, 0, progress or PassProgress())
        if total is None:
            raise ValueError(f"{self.name} has no rows; give a table with at least two.")
        return total


def sum_of_parts(
    blocks: Iterable[Block], job: Job[Part], first_row: int, progress: PassProgress | None = None
) -> Part | None:
    """Return the part of some blocks, or None if they have no rows."""
    total: Part | None = None
    for block in blocks:
        if block.rows.shape[0]:
            own = job.of(block.rows, first_row)
            total = own if total is None else total if own is None else job.merge(total, own)
            first_row += block.rows.shape[0]
            if progress is not None:
                progress.show(block.share)
    return total


class ArraySource(Source):
    """A NumPy array or memory map, or a SciPy CSR or CSC matrix without duplicates."""

    def __init__(self, X: Any, name: str = "X", feature_names: list[str] | None = None) -> None:
        self._rows, self.name, self.feature_names = X, name, feature_names
        if getattr(X, "filename", None) is not None:
            self.files = [Path(X.filename)]
        self.n_rows, self.n_features = X.shape
        self.sparse = bool(sp.issparse(X))
        numbers = X.nnz / max(X.shape[0], 1) if self.sparse else self.n_features
        self._step = max(1, int(BLOCK_NUMBERS / max(numbers, 1)))

    def in_memory(self) -> Any:
        return None if isinstance(self._rows, np.memmap) else self._rows

    def blocks(self, columns: Indices | None = None) -> Iterator[Block]:
        rows, n = self._rows, self._rows.shape[0]
        if self.sparse and rows.format == "csc":
            if columns is None:
                # Sums over columns need no rows, and the other form would be a copy of all data.
                yield Block(rows, 1.0)
                return
            rows, columns = rows[:, columns].tocsr(), None
        for begin in range(0, n, self._step):
            block = rows[begin : begin + self._step]
            block = block if columns is None else block[:, columns]
            yield Block(block if self.sparse else np.asarray(block), min(begin + self._step, n) / n)


class SelectedSource(Source):
    """The columns with the given numbers, in any order. They are numbered from 0 again."""

    def __init__(self, source: Source, places: Indices, feature_names: list[str] | None = None) -> None:
        self._source, self._places = source, places
        self.n_features, names = len(places), source.feature_names
        self.feature_names = feature_names or (None if names is None else [names[int(place)] for place in places])
        self.name, self.note, self.n_rows, self.sparse = source.name, source.note, source.n_rows, source.sparse
        self.files, self.label_name = source.files, source.label_name

    def in_memory(self) -> Any:
        X = self._source.in_memory()
        return None if X is None else X[:, self._places]

    def row_labels(self) -> Iterator[list[str]] | None:
        return self._source.row_labels()

    def blocks(self, columns: Indices | None = None) -> Iterator[Block]:
        places = self._places if columns is None else self._places[columns]
        order = np.argsort(places)
        back = np.argsort(order)
        for block in self._source.blocks(places[order]):
            yield block if (np.diff(back) == 1).all() else Block(without_duplicates(block.rows[:, back]), block.share)


def complete(rows: Any) -> Mask:
    """Say which rows of an array or a sparse matrix have no missing value."""
    if not sp.issparse(rows):
        return np.asarray(~np.isnan(rows).any(axis=1))
    return ~np.isin(np.arange(rows.shape[0]), rows.tocoo().coords[0][np.isnan(rows.data)])


@dataclass(frozen=True, eq=False)
class OfCompleteRows(Job[Part]):
    """The work of another job on the rows without missing values; None for a block without any."""

    job: Job[Part]
    columns: None = None  # all: a value of any may be missing

    def of(self, rows: Any, first_row: int = 0) -> Part:
        rows = rows[complete(rows)]
        rows = rows if self.job.columns is None else rows[:, self.job.columns]
        return self.job.of(rows, first_row) if rows.shape[0] else cast("Part", None)

    def merge(self, first: Part, second: Part) -> Part:
        return self.job.merge(first, second)


class CompleteRows(Source):
    """The rows of a source that have no missing value."""

    def __init__(self, source: Source) -> None:
        self._source, self.name, self.note, self.files = source, source.name, source.note, source.files
        self.n_features, self.feature_names, self.sparse = source.n_features, source.feature_names, source.sparse

    def blocks(self, columns: Indices | None = None) -> Iterator[Block]:
        for block in self._source.blocks():
            rows = block.rows[complete(block.rows)]
            yield Block(rows if columns is None else rows[:, columns], block.share)

    def reduce(self, job: Job[Part], progress: PassProgress | None = None) -> Part:
        return self._source.reduce(OfCompleteRows(job), progress)


class IterableSource(Source):
    """Blocks of rows from an iterable: arrays, sparse matrices or tables with the same columns."""

    def __init__(self, blocks: Iterable[Any], name: str = "X") -> None:
        self._blocks, self.name = blocks, name
        first = as_array_or_frame(next(iter(blocks)), name=f"block 0 of {name}")
        self.n_features = first.shape[1]
        self.feature_names = feature_names_of(first)
        self.sparse = bool(sp.issparse(first))
        # Without a length, the number of blocks is known after the first reading.
        self._count = len(blocks) if isinstance(blocks, Sized) else None

    def blocks(self, columns: Indices | None = None) -> Iterator[Block]:
        number = -1
        for number, given in enumerate(self._blocks):
            rows = self._rows(given, f"block {number} of {self.name}")
            share = min((number + 1) / self._count, 1.0) if self._count else 0.0
            yield Block(rows if columns is None else rows[:, columns], share)
        self._count = number + 1

    def _rows(self, given: Any, name: str) -> Any:
        block = as_array_or_frame(given, name=name)
        if len(getattr(block, "shape", ())) != 2 or block.shape[1] != self.n_features:
            raise ValueError(
                f"{name} has shape {getattr(block, 'shape', None)}, and block 0 has {self.n_features} columns; give "
                "blocks of rows with the same columns."
            )
        names = feature_names_of(block)
        if names is not None and self.feature_names is not None:
            check_same_columns(names, self.feature_names, name, "block 0", "blocks")
        if sp.issparse(block):
            return without_duplicates(sp.csr_array(block)) if self.sparse else block.toarray()
        array = np.asarray(block)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"{name} has entries of type {array.dtype}; give real numbers.")
        array = array if array.dtype.kind in "iuf" else array.astype(np.float64)
        return sp.csr_array(array) if self.sparse else array


def open_source(X: Any, **read: Any) -> Source | None:
    """Return the source that an object stands for, or None if it is an array or a table in memory.

    A source is returned as it is. A path may be a file, a folder, or a pattern such as ``"counts-*.parquet"``; a list
    of paths is one table. A Dask array or dataframe, an AnnData object, a memory map, and any object that yields blocks
    of rows each time it is iterated over are sources, too. An iterator can be read only once, which is a TypeError.

    `read` are options for files, those of `laconic.read_table`. `only` are the exact names of the columns that a model
    needs, and `text_left_out` leaves out columns without any number.
    """
    if _is_path(X):
        from laconic.data.files import open_paths

        return open_paths([X] if isinstance(X, str | Path) else X, **read)
    if read:
        raise TypeError(f"{', '.join(read)} are for files, and X is a {type(X).__name__}.")
    if isinstance(X, Source):
        return X
    if isinstance(X, np.memmap):
        return ArraySource(X)
    package = type(X).__module__.partition(".")[0]
    if package == "dask":
        from laconic.data.dask import open_dask

        return open_dask(X)
    if package == "anndata" and not (isinstance(X, np.ndarray) or sp.issparse(X)):
        from laconic.data.cells import open_anndata

        return open_anndata(X)
    # An array, a table, a sparse matrix, and a list of rows or of numbers are no blocks.
    if isinstance(X, bytes | dict) or hasattr(X, "shape") or hasattr(X, "__array__") or not isinstance(X, Iterable):
        return None
    if iter(X) is X:
        raise TypeError(
            f"X is a {type(X).__name__}, which can be read only once, and the data are read twice; give a list of "
            "blocks, or an object whose __iter__ begins anew."
        )
    return IterableSource(X) if len(getattr(next(iter(X), None), "shape", ())) == 2 else None


def _is_path(X: Any) -> bool:
    paths = isinstance(X, list | tuple) and any(isinstance(item, str | Path) for item in X)
    return paths or isinstance(X, str | Path)


def columns_by_name(X: Any, names: Sequence[str], why: str, *, square: bool = False) -> Any:
    """Return the columns of these names, in this order: a table in memory or a source. X itself if it has no names.

    X may have further columns, in any order. `why` says who needs the columns, for a message about missing ones. The
    rows of a `square` matrix go with its columns.
    """
    wanted, own = list(names), column_names(X)
    if own == wanted or (square and own is None):
        return X
    if square:
        table = as_array_or_frame(X, name="S")
        places = places_by_name(wanted, feature_names_of(table) or [], "S", why)
        return table.iloc[places, places]
    if own is not None:
        places_by_name(wanted, own, "X", why)
        check_unique([name for name in own if name in set(wanted)], name="X has the column name")
        return X.select(wanted) if hasattr(X, "column_names") else X[wanted]
    source = open_source(X, only=wanted) if _is_path(X) else open_source(X)
    if source is None or source.feature_names is None or source.feature_names == wanted:
        return X if source is None else source
    return SelectedSource(source, np.array(places_by_name(wanted, source.feature_names, source.name, why)))


def needed(module: str, what: str, extra: str) -> Any:
    """Import a package that only some formats need, or say what to install."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0].replace("_", "-")
        message = f"Reading or writing {what} needs the package {package}; run: pip install 'laconic[{extra}]'"
        raise ImportError(message, name=module) from None


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn the errors of a file that is damaged, or not what its name says, into one sentence."""
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError, UnicodeDecodeError):
        raise
    except Exception as error:
        damaged = isinstance(error, (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile))
        if not damaged and not type(error).__module__.startswith("pyarrow"):
            raise
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(f"{name} is damaged or incomplete ({reason}); copy or make it again.") from None
