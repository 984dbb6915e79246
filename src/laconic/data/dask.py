"""Dask arrays and dataframes: a pass is a reduction on the workers of a cluster.

Each chunk of rows is turned into a part where the chunk is, and neighbouring parts are merged until one is left. Dask
decides where and when, and computes again what a lost worker had. Without a `distributed.Client`, the chunks are
computed one after the other in this process.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import cached_property, reduce
from typing import Any

import dask
import numpy as np
import scipy.sparse as sp
from dask.base import get_scheduler
from dask.utils import is_dataframe_like, parse_bytes

from laconic.core.arrays import Indices
from laconic.data.rows import BLOCK_NUMBERS, Block, Job, Part, PassProgress, Source
from laconic.data.tables import as_array_or_frame, feature_names_of, without_duplicates

# So many neighbouring parts are merged in one task, and a worker holds all of them at once: four Gram matrices of 2000
# columns are 128 MB.
FAN_IN = 4
# Seconds between two looks at the clock, at Ctrl-C and at the progress of a cluster.
LOOK_SECONDS = 0.2
# Dask warns if the tasks of a computation are larger than this setting.
LARGE = "distributed.admin.large-graph-warning-threshold"


def open_dask(X: Any) -> "DaskSource":
    """Return the source of a Dask array or dataframe."""
    from dask.array import Array

    if isinstance(X, Array):
        if X.ndim != 2:
            raise ValueError(f"X is a Dask array of {X.ndim} dimensions; give one with two: rows and columns.")
        if np.isnan(X.shape[1]):
            raise ValueError("X has column chunks of unknown size; call X.compute_chunk_sizes() first.")
        if X.dtype.kind not in "biuf":
            raise TypeError(f"X has dtype {X.dtype}; give a real numeric array, such as X.astype(float).")
    elif not is_dataframe_like(X):
        raise TypeError(f"X is a Dask {type(X).__name__}; give a Dask array or dataframe.")
    return DaskSource(X)


class DaskSource(Source):
    """A Dask array or dataframe.

    The chunks of an array are NumPy arrays, SciPy sparse matrices, or arrays of the package `sparse`. Rows and columns
    may be divided in any way, and the number of rows may be unknown.
    """

    name = "X"

    def __init__(self, X: Any) -> None:
        self._X = X
        self._is_frame = is_dataframe_like(X)
        if self._is_frame:
            as_array_or_frame(X._meta)  # an error for text columns
            self.feature_names = feature_names_of(X)
            self.n_features = len(X.columns)
        else:
            self.n_features = X.shape[1]
            self.n_rows = None if np.isnan(X.shape[0]) else int(X.shape[0])

    @cached_property
    def sparse(self) -> bool:  # type: ignore[override] # a constant elsewhere
        if self._is_frame or _is_sparse(self._X._meta):
            return not self._is_frame
        # Dask assumes dense chunks if nobody told it otherwise. Only a chunk itself tells.
        return bool(dask.delayed(_is_sparse)(self._X.to_delayed()[0, 0]).compute())

    def blocks(self, columns: Indices | None = None) -> Iterator[Block]:
        chunks, wanted = self._chunks(columns)
        for place, pieces in enumerate(chunks):
            with _errors_in_words():
                rows = dask.delayed(_joined)(pieces, wanted).compute()
            yield Block(rows, (place + 1) / len(chunks))

    def reduce(self, job: Job[Part], progress: PassProgress | None = None) -> Part:
        client, shown = _client(), progress or PassProgress()
        if client is None:
            return super().reduce(job, shown)
        chunks, wanted = self._chunks(job.columns)
        # One entry of Dask's graph, so a worker receives it once a pass. Scattered data would be lost with a worker.
        work = dask.delayed((job, wanted), traverse=False)
        # The number of the first row of each chunk, for messages.
        begins = [None] * len(chunks) if self.n_rows is None else np.cumsum([0, *self._X.chunks[0]]).tolist()
        tree = parts = [dask.delayed(_part)(work, i, begins[i], pieces) for i, pieces in enumerate(chunks)]
        while len(tree) > 1:
            tree = [dask.delayed(_merged)(work, tree[i : i + FAN_IN]) for i in range(0, len(tree), FAN_IN)]
        size = sum(getattr(getattr(job, entry.name), "nbytes", 0) for entry in fields(job))  # type: ignore[arg-type]
        with _errors_in_words():
            total: Part | None = _computed(client, tree[0], parts, size, shown)
        if total is None:
            raise ValueError(f"{self.name} has no rows; give a table with at least two.")
        return total

    def _chunks(self, columns: Indices | None) -> tuple[list[list[Any]], list[Indices | None]]:
        """Return the pieces of each chunk of rows, as tasks that are not run yet, and what to take from each piece.

        Pieces without any of the columns are left out, and a dataframe is asked for these columns only: Dask then reads
        no others from Parquet files.
        """
        if self._is_frame:
            frame = self._X if columns is None else self._X[[self._X.columns[j] for j in columns]]
            return [[part] for part in frame.to_delayed()], [None]
        grid = self._X.to_delayed()
        if columns is None:
            return grid.tolist(), [None] * grid.shape[1]
        ends = np.cumsum(self._X.chunks[1])
        begins = ends - self._X.chunks[1]
        own = [columns[(a <= columns) & (columns < b)] - a for a, b in zip(begins, ends, strict=True)]
        read = [j for j, inside in enumerate(own) if len(inside)] or [0]
        return grid[:, read].tolist(), [own[j] for j in read]


def _client() -> Any:
    """Return the client that Dask would use now, or None if it would compute in this process."""
    owner = getattr(get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "cancel") else None


def _computed(client: Any, total: Any, parts: list[Any], size: int, progress: PassProgress) -> Any:
    """Compute on a cluster. `size` is the size of the job in bytes, which the user cannot make smaller."""
    from distributed import wait

    with dask.config.set({LARGE: parse_bytes(dask.config.get(LARGE)) + size}):
        future, *waiting = client.compute([total, *parts])
    try:
        while not future.done():
            with suppress(TimeoutError):
                wait(future, timeout=LOOK_SECONDS)
            # A worker keeps a part as long as its future is here.
            waiting = [part for part in waiting if not part.done()]
            progress.show(1 - len(waiting) / len(parts))
        return future.result()
    except BaseException:
        client.cancel([future, *waiting])
        raise


@contextmanager
def _errors_in_words() -> Iterator[None]:
    """Say in one sentence what is wrong with a cluster. Other errors of a task are raised as they are."""
    try:
        yield
    except Exception as error:
        if _client() is not None and isinstance(error, FileNotFoundError):
            what = f"A Dask worker cannot see the file {error.filename or str(error)!r}"
            remedy = "put it on storage that all workers share, and give the path that they have for it"
            raise FileNotFoundError(f"{what}; {remedy}.") from error
        if type(error).__name__ == "KilledWorker":
            what = (
                "Dask workers died again and again while they computed the same chunk, most likely for lack of memory"
            )
            raise RuntimeError(f"{what}; make the chunks of rows smaller or give the workers more memory.") from error
        raise


def _part(work: tuple[Job[Any], Any], number: int, first_row: int | None, pieces: list[Any]) -> Any:
    """Return the part of one chunk, or None if it has no rows. The number of its first row may be unknown: None."""
    job, columns = work
    plain = [_plain(piece) for piece in pieces]
    step, total = _step(plain, columns), None
    for begin in range(0, plain[0].shape[0], step):
        try:
            own = job.of(_cut(plain, columns, slice(begin, begin + step)), (first_row or 0) + begin)
        except ValueError as error:
            if first_row is not None:
                raise
            raise ValueError(f"In chunk {number}, with its rows counted from 0: {error}") from None
        total = own if total is None else job.merge(total, own)
    return total


def _merged(work: tuple[Job[Any], Any], parts: list[Any]) -> Any:
    present = [part for part in parts if part is not None]
    return reduce(work[0].merge, present) if present else None


def _joined(pieces: list[Any], columns: list[Indices | None]) -> Any:
    """Return all rows of a chunk."""
    return _cut([_plain(piece) for piece in pieces], columns, slice(None))


def _is_sparse(piece: Any) -> bool:
    return bool(sp.issparse(piece)) or hasattr(piece, "to_scipy_sparse")


def _plain(piece: Any) -> Any:
    """Return a piece of a chunk as a NumPy array or a CSR array."""
    if hasattr(piece, "iloc"):
        return as_array_or_frame(piece).to_numpy(dtype=np.float64, na_value=np.nan)
    if _is_sparse(piece):
        return sp.csr_array(piece if sp.issparse(piece) else piece.to_scipy_sparse())
    return np.asarray(piece)


def _step(plain: list[Any], columns: list[Indices | None]) -> int:
    """Return how many rows to work on at once, so that temporary copies are small even if the chunk is large."""
    numbers: float = sum(x.shape[1] if c is None else len(c) for x, c in zip(plain, columns, strict=True))
    if all(sp.issparse(x) for x in plain):
        # A pass may write sparse rows of a few columns out as dense ones, with four times the numbers of a dense slice.
        written = 0 if columns[0] is None else numbers / 4
        numbers = max(sum(x.nnz for x in plain) / max(plain[0].shape[0], 1), written)
    return max(1, int(BLOCK_NUMBERS / max(numbers, 1)))


def _cut(plain: list[Any], columns: list[Indices | None], rows: slice) -> Any:
    """Return some rows of the wanted columns."""
    cut = [x[rows] if c is None else x[rows][:, c] for x, c in zip(plain, columns, strict=True)]
    if any(sp.issparse(x) for x in cut):
        return without_duplicates(cut[0] if len(cut) == 1 else sp.hstack(cut, format="csr"))
    return cut[0] if len(cut) == 1 else np.hstack(cut)
