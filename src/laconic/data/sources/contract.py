"""The contract of data that are read in blocks, and of the work that is done in one pass over them.

A source yields its rows in blocks, as often as needed, and never holds all of them. A pass is a sum: a job turns each
block into a part, and adds parts up. The same jobs run block after block in this process, or on the workers of a
cluster. A new format is one file in this folder, with a class derived from `Source`, and one line in `registry.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices
from laconic.data.sources.progress import PassProgress
from laconic.data.sources.read_ahead import read_ahead


class HasRows(Protocol):
    """A part knows how many rows it stands for."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""


Part = TypeVar("Part", bound=HasRows)

# Sources aim at blocks of this many numbers, zeros of dense rows included: 32 MB of float64.
BLOCK_NUMBERS = 4_000_000


class Block(NamedTuple):
    """Some rows, and how much of the source has been read after them; or all rows of some columns, as a CSC array."""

    rows: Any  # a float or integer array, or a CSR array with sorted indices and no duplicates
    share: float  # from 0 to 1, by rows or by bytes, whichever the source knows
    first_column: int = 0  # of a block of whole columns; blocks of rows begin with column 0


class Job(ABC, Generic[Part]):
    """The work of one pass. It is sent to the workers of a cluster, so it must be picklable.

    A part is a frozen dataclass of arrays and plain numbers, so that it can be stored in a checkpoint.
    """

    #: The class of the parts.
    part: ClassVar[type]
    #: The columns that are read, in increasing order; None for all.
    columns: Indices | None
    #: Whether the work can be done for groups of columns: `of` then takes CSC arrays of all rows, too.
    by_column: ClassVar[bool] = False

    @abstractmethod
    def of(self, rows: Any, origin: tuple[int, int] = (0, 0)) -> Part:
        """Return the part of one block.

        `origin` is the place, row and column, of its first entry in the source. Messages about an entry need it.
        """

    @abstractmethod
    def merge(self, first: Part, second: Part) -> Part:
        """Return the part of the rows of `first`, followed by those of `second`."""

    def beside(self, first: Part, second: Part) -> Part:
        """Return the part of the columns of `first`, followed by those of `second`, if the work is by column."""
        raise NotImplementedError(f"{type(self).__name__} needs whole rows: {type(first)}, {type(second)}")


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
    #: The files that hold the data, and which part of them is read, such as a layer: they identify a checkpoint.
    files: Sequence[Path] = ()
    content: str = ""
    #: A sentence for the user about columns that are left out.
    note: str = ""
    #: What the row labels are called, if the table has any.
    label_name: str = "row"

    @abstractmethod
    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        """Yield all rows in order, from the block with the number `first` on. A block may have no rows.

        The rows are divided into the same blocks each time, whatever the columns are. `columns` are in increasing
        order; only these are returned and, if the format allows, only these are read.
        """

    def column_blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block] | None:  # noqa: ARG002
        """Return all rows in blocks of neighbouring columns, if the data are stored column after column, else None.

        The arguments are those of `blocks`. Jobs that can be done by column then read the data once, in their order.
        """
        return None

    def row_labels(self) -> Iterator[list[str]] | None:
        """Return the labels of all rows in order, several at once, or None if the table has none."""
        return None

    def fingerprint(self) -> str | None:
        """Return a text that changes when the data change, such as names, sizes and times of files.

        It tells whether a checkpoint belongs to these data. Without one, None, a pass cannot be resumed.
        """
        found = [(str(file.resolve()), file.stat()) for file in self.files]
        states = [f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in found]
        return "|".join([*states, self.content]) if states else None

    def in_memory(self) -> Any:
        """Return all rows as an array, CSR or CSC matrix if they are in memory anyway, else None."""
        return None

    def reduce(self, job: Job[Part], progress: PassProgress) -> Part:
        """Do the work of one pass. The default goes from block to block; a cluster does it in its own way."""
        total: Part | None
        total, first = progress.resumed(self, job)
        columns = self.column_blocks(job.columns, first) if job.by_column else None
        join = job.merge if columns is None else job.beside
        blocks = self.blocks(job.columns, first) if columns is None else columns
        # Other sources may be Python code of the user, which need not run in a second thread.
        with closing(read_ahead(blocks)) if self.files else nullcontext(blocks) as ready:
            for number, block in enumerate(ready, start=first):
                if columns is None:
                    self._check_block(block, number, job.columns)
                if block.rows.shape[0] == 0:
                    continue
                first_row = 0 if total is None or columns is not None else total.n_rows
                own = job.of(block.rows, (first_row, block.first_column))
                total = own if total is None else join(total, own)
                progress.advance(self, job, total, number + 1, block.share)
        if total is None:
            raise ValueError(f"{self.name} has no rows; give a table with at least two.")
        progress.finished(self, job)
        return total

    def _check_block(self, block: Any, number: int, columns: Indices | None) -> None:
        """Raise a sentence about a block that is not as it should be. Users write sources of their own."""
        if not isinstance(block, Block):
            raise TypeError(f"{self.name} yields a {type(block).__name__}; its blocks must be Block(rows, share).")
        shape: tuple[int, ...] = getattr(block.rows, "shape", ())
        wanted = self.n_features if columns is None else len(columns)
        if not (sp.issparse(block.rows) or isinstance(block.rows, np.ndarray)) or len(shape) != 2:
            raise TypeError(
                f"Block {number} of {self.name} holds a {type(block.rows).__name__}; give a NumPy array or a SciPy CSR "
                "array with rows and columns."
            )
        if shape[1] != wanted:
            raise ValueError(f"Block {number} of {self.name} has {shape[1]:,} columns, and {wanted:,} were asked for.")


class CountedSource(Source):
    """A source that knows its number of rows and of blocks before it is read."""

    n_rows: int

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """The number of blocks."""
