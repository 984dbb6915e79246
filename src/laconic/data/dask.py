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
from laconic.data.rows import ArraySource, Block, Job, Part, PassProgress, Source, sum_of_parts
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
        chunks = self._chunks(columns)
        for place, pieces in enumerate(chunks):
            with _errors_in_words():
                rows = dask.delayed(_joined)(pieces).compute()
            yield Block(rows, (place + 1) / len(chunks))

    def reduce(self, job: Job[Part], progress: PassProgress | None = None) -> Part:
        client, shown = _client(), progress or PassProgress()
        if client is None:
            return super().reduce(job, shown)
        chunks = self._chunks(job.columns)
        # One entry of Dask's graph, so a worker receives it once a pass. Scattered data would be lost with a worker.
        work = dask.delayed(job, traverse=False)
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

    def _chunks(self, columns: Indices | None) -> list[list[Any]]:
        """Return the pieces of each chunk of rows, as tasks that are not run yet.

        Dask is asked for these columns only: it then reads no others from Parquet files.
        """
        if self._is_frame:
            frame = self._X if columns is None else self._X[[self._X.columns[j] for j in columns]]
            return [[part] for part in frame.to_delayed()]
        found: list[list[Any]] = (self._X if columns is None else self._X[:, columns]).to_delayed().tolist()
        return found


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


def _part(job: Job[Any], number: int, first_row: int | None, pieces: list[Any]) -> Any:
    """Return the part of one chunk, or None if it has no rows. The number of its first row may be unknown: None."""
    try:
        return sum_of_parts(ArraySource(_joined(pieces)).blocks(), job, first_row or 0)
    except ValueError as error:
        if first_row is not None:
            raise
        raise ValueError(f"In chunk {number}, with its rows counted from 0: {error}") from None


def _merged(job: Job[Any], parts: list[Any]) -> Any:
    present = [part for part in parts if part is not None]
    return reduce(job.merge, present) if present else None


def _is_sparse(piece: Any) -> bool:
    return bool(sp.issparse(piece)) or hasattr(piece, "to_scipy_sparse")


def _joined(pieces: list[Any]) -> Any:
    """Return all columns of a chunk of rows as a NumPy array or a CSR array."""
    if hasattr(pieces[0], "iloc"):
        return as_array_or_frame(pieces[0]).to_numpy(dtype=np.float64, na_value=np.nan)
    if any(_is_sparse(piece) for piece in pieces):
        plain = [sp.csr_array(x.to_scipy_sparse() if hasattr(x, "to_scipy_sparse") else x) for x in pieces]
        return without_duplicates(plain[0] if len(plain) == 1 else sp.hstack(plain, format="csr"))
    return np.asarray(pieces[0]) if len(pieces) == 1 else np.hstack(pieces)
