"""Files: from what a user gives to a source, or to a table in memory. A new format has its ending here.

Text is parsed by pandas (`text.py`), Parquet and Arrow by pyarrow, spreadsheets by calamine, .npy, .npz and .mtx by
NumPy and SciPy, annotated data by anndata (`cells.py`). pyarrow and calamine are imported when a file needs them.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from glob import has_magic
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp

from laconic.core.arrays import Indices
from laconic.core.monitor import Hint, Note, warn
from laconic.core.words import did_you_mean
from laconic.data.columns import (
    NotNumbers,
    TableOptions,
    choose_columns,
    find_not_numbers,
    left_out_in_words,
    refusal,
    text_columns,
    with_labels,
    without_text,
)
from laconic.data.rows import BLOCK_NUMBERS, ArraySource, Block, SelectedSource, Source, needed, reading
from laconic.data.tables import check_same_columns, check_unique, listed, without_duplicates
from laconic.data.text import PACKED, USUAL, TextFile, ending_of, opened

PARQUET = (".parquet", ".pq")
ARROW = (*PARQUET, ".arrow", ".feather")
EXCEL = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
TABLES = (*USUAL, *ARROW, *EXCEL)
ARRAYS = (".npy", ".npz", ".mtx")
CELLS = (".h5ad", ".zarr")
KNOWN = sorted([*TABLES, *ARRAYS, *CELLS])
NO_COLUMNS = "has no column of numbers left; give a table with columns of numbers, or drop fewer."
# Frames have about this many numbers, and at least this many rows unless they are very long: small ones stay in the
# cache of the processor, but each column of a frame has a cost of its own.
FRAME_NUMBERS, FRAME_ROWS = 1_000_000, 500
# The first rows tell which columns hold text: so many numbers. A message about bad cells looks at so many frames.
HEAD_NUMBERS, MOST_FRAMES = 200_000, 20
# A table in one file of at most this many bytes is read as a whole, which takes about as much memory. A compressed
# file, as Parquet files are, counts as so many times its size.
WHOLE_BYTES, UNPACKED = 200_000_000, 5


def find_files(given: Sequence[str | Path]) -> list[Path]:
    """Return the files that paths, folders and patterns stand for. They exist, and have one known format."""
    strange = next((item for item in given if not isinstance(item, str | Path)), None)
    if strange is not None:
        raise TypeError(f"A list of paths holds a {type(strange).__name__}; give paths only.")
    files = [file for item in given for file in _files(item)]
    for place, file in enumerate(files):
        if file in files[:place]:
            raise ValueError(f"The file {file} is given twice; give each file once.")
        if not file.exists():
            raise FileNotFoundError(f"There is no file {file}.")
        if ending_of(file) not in KNOWN:
            raise ValueError(f"{file.name} has no known ending; use one of {', '.join(KNOWN)}.")
    endings = {ending_of(file): file for file in files}
    if len(endings) > 1:
        found = ", ".join(sorted(file.name for file in endings.values()))
        raise ValueError(f"The files have several formats, such as {found}; give files of one format.")
    return files


def _files(given: str | Path) -> list[Path]:
    """Return the files that a path or pattern stands for, in the order of their names."""
    if has_magic(str(given)) and not Path(given).exists():
        anchor = Path(Path(given).anchor or ".")
        found = sorted(anchor.glob(str(Path(given).relative_to(Path(given).anchor))))
        if not found:
            raise FileNotFoundError(f"No file matches {str(given)!r}.")
        return found
    if "://" in str(given):
        raise ValueError(f"{str(given)!r} is not a local file; open it with Dask, or copy it first.")
    if not str(given):
        raise ValueError("The path is empty; give a file, a folder or a pattern.")
    path = Path(given).expanduser()
    if not path.is_dir():
        return [path]
    # Other programs leave marks such as _SUCCESS and .part.crc beside the files that they write.
    found = sorted(file for file in path.iterdir() if ending_of(file) in KNOWN and file.name[0] not in "._")
    if not found and path.suffix not in CELLS:
        raise FileNotFoundError(f"The folder {path} has no file with a known ending; use one of {', '.join(KNOWN)}.")
    return found or [path]


def name_of(files: Sequence[Path]) -> str:
    """Return the name of a file, or "12 files in counts"."""
    return files[0].name if len(files) == 1 else f"{len(files)} files in {files[0].resolve().parent.name}"


def open_paths(paths: Sequence[str | Path], options: TableOptions) -> Source:
    """Open files of one format, folders and patterns as one table."""
    files = find_files(paths)
    first, name = files[0], name_of(files)
    source: Source
    if ending_of(first) in TABLES and _is_whole(files, options):
        source = WholeTable(first, options)
    elif ending_of(first) in TABLES:
        if options.transpose:
            raise ValueError(f"transpose needs one table that is read as a whole, and {name} is read in blocks.")
        parts = [TableSource(first, options)]
        parts += [TableSource(file, options, parts[0]) for file in files[1:]]
        source = parts[0] if len(parts) == 1 else JoinedSource(parts, name)
    else:
        options.refuse(name, "sep", "decimal", "encoding", "sheet", "index", "na", "transpose")
        found = [open_array(file) if ending_of(first) in ARRAYS else open_cells(file) for file in files]
        source = found[0] if len(found) == 1 else JoinedSource(found, name)
        # Columns without names are called by their numbers. They cannot be those that a model needs by name.
        if options.drop or options.columns or (options.only is not None and source.feature_names is not None):
            names = source.feature_names or [str(number) for number in range(source.n_features)]
            kept = set(options.kept(names, name))
            places = [number for number, name in enumerate(names) if name in kept]
            source = SelectedSource(source, np.array(places, dtype=np.intp), [names[number] for number in places])
    if not source.n_features:
        raise ValueError(f"{name} {NO_COLUMNS}")
    return source


def _is_whole(files: Sequence[Path], options: TableOptions) -> bool:
    """Return whether the files are one table that is read as a whole."""
    packed = files[0].suffix.lower() in (*PACKED, *ARROW)
    small = files[0].stat().st_size * (UNPACKED if packed else 1) <= WHOLE_BYTES
    return len(files) == 1 and small and not options.blocks


class JoinedSource(Source):
    """The rows of several files with the same columns, one below the other."""

    def __init__(self, parts: Sequence[Source], name: str) -> None:
        first, *others = self._parts = list(parts)
        for part in others:
            check_same_columns(part.feature_names or (), first.feature_names or (), part.name, first.name)
            own, other = (f"{s.n_features} {'sparse' if s.sparse else 'dense'} columns" for s in (part, first))
            if own != other:
                raise ValueError(f"{part.name} has {own}, and {first.name} has {other}; give files of the same form.")
        self.name, self.n_features, self.feature_names = name, first.n_features, first.feature_names
        self.sparse, self.label_name = first.sparse, first.label_name
        self.note, self.table_columns = first.note, first.table_columns
        self.files = [file for part in parts for file in part.files]
        counts = [part.n_rows for part in parts if part.n_rows is not None]
        self.n_rows = sum(counts) if len(counts) == len(parts) else None

    def row_labels(self) -> Iterator[list[str]] | None:
        found = [part.row_labels() for part in self._parts]
        known = [labels for labels in found if labels is not None]
        return chain.from_iterable(known) if len(known) == len(found) else None

    def blocks(self, columns: Indices | None = None) -> Iterator[Block]:
        sizes = [sum(file.stat().st_size for file in part.files) or 1 for part in self._parts]
        for number, part in enumerate(self._parts):
            for block in part.blocks(columns):
                share = (sum(sizes[:number]) + block.share * sizes[number]) / sum(sizes)
                yield block._replace(share=min(share, 1.0))


class ArrowFile:
    """A Parquet or Arrow file. Only the columns that are wanted are read."""

    decimal = "."

    def __init__(self, file: Path, options: TableOptions) -> None:
        needed("pyarrow", file.name, "app")
        from pyarrow import dataset

        self._file, self.name, self._is_parquet = file, file.name, ending_of(file) in PARQUET
        with reading(file.name):
            found = dataset.dataset(file, format="parquet" if self._is_parquet else "ipc")
            self._schema, self.n_rows = found.schema, int(found.count_rows())
        check_unique(self._schema.names, name=f"{file.name} has the column name")
        stored = (self._schema.pandas_metadata or {}).get("index_columns", [])
        index = [name for name in stored if isinstance(name, str) and name in self._schema.names]
        self.names = [name for name in self._schema.names if name not in index[1:]]
        #: The column that pandas wrote as the index of its frame.
        self.labels = index[0] if index else None
        self._marks = [*options.na, *pd.to_numeric(pd.Series(options.na, dtype=str), errors="coerce").dropna()]

    def frames(
        self, columns: Sequence[str] | None = None, rows: int | None = None
    ) -> Generator[tuple[pd.DataFrame, float]]:
        """Yield some columns in frames of about so many rows, all rows by default, and the share that has been read."""
        import pyarrow as pa

        size, waiting, done = rows or max(self.n_rows, 1), list[Any](), 0
        with reading(self.name):
            for batch in self._batches(list(self.names if columns is None else columns), size):
                waiting.append(batch)
                done += batch.num_rows
                if sum(one.num_rows for one in waiting) >= size or done == self.n_rows:
                    frame = pa.Table.from_batches(waiting).to_pandas(ignore_metadata=True)
                    waiting.clear()
                    yield frame.mask(frame.isin(self._marks)) if self._marks else frame, done / max(self.n_rows, 1)

    def _batches(self, names: list[str], size: int) -> Iterator[Any]:
        """Yield batches one by one. A scan of `pyarrow.dataset` would read up to a gigabyte ahead of a slow pass."""
        import pyarrow as pa
        from pyarrow import parquet

        if self._is_parquet:
            # Without this, pyarrow keeps the bytes of all row groups that it has read.
            with parquet.ParquetFile(self._file, pre_buffer=False) as content:
                yield from content.iter_batches(size, columns=names)
            return
        wanted = pa.ipc.IpcReadOptions(included_fields=sorted(self._schema.names.index(name) for name in names))
        with pa.memory_map(str(self._file)) as mapped:
            content = pa.ipc.open_file(mapped, options=wanted)
            for number in range(content.num_record_batches):
                batch = content.get_batch(number).select(names)
                yield from (batch.slice(begin, size) for begin in range(0, batch.num_rows, size))


Table: TypeAlias = TextFile | ArrowFile


def table_file(file: Path, options: TableOptions) -> Table:
    """Open a table in a file."""
    ending = ending_of(file)
    if ending in USUAL:
        options.refuse(file.name, "sheet")
        return TextFile(file, file.name, options, USUAL[ending])
    _refuse_packed(file)
    if ending in EXCEL:
        options.refuse(file.name, "sep", "decimal", "encoding")
        signs = replace(options, sep=",", decimal=".")
        return TextFile(_sheet(file, options.sheet), file.name, signs)
    options.refuse(file.name, "sep", "decimal", "encoding", "sheet")
    return ArrowFile(file, options)


def _refuse_packed(file: Path) -> None:
    if file.suffix.lower() in PACKED:
        raise ValueError(f"{file.name} is compressed as a whole; unpack it first.")


def _sheet(file: Path, sheet: str | None) -> bytes:
    """Return a sheet of a spreadsheet as text with commas, so that the rules of text tables hold.

    Rows and columns without any content are left out. A cell with an error, such as #DIV/0!, is empty.
    """
    calamine = needed("python_calamine", file.name, "excel")
    try:
        with pd.ExcelFile(file, engine="calamine") as book:
            sheets = [str(name) for name in book.sheet_names]
            if sheet is not None and sheet not in sheets:
                close = did_you_mean(sheet, sheets)
                known = f"; its sheets are {listed([repr(own) for own in sheets])}." if close == "." else close
                raise ValueError(f"sheet={sheet!r} is not a sheet of {file.name}{known}")
            cells = pd.read_excel(book, sheet_name=sheet or sheets[0], header=None, dtype=object, na_filter=False)
    except calamine.CalamineError as error:
        reason = str(error).rstrip(".")
        raise ValueError(f"{file.name} cannot be read as a spreadsheet ({reason}); save it again.") from None
    if sheet is None and len(sheets) > 1:
        which = f"the first, {sheets[0]!r}, is read. Give sheet={sheets[1]!r} for another."
        warn(f"{file.name} has {len(sheets)} sheets; {which}", Hint)
    full: Any = cells != ""
    cells = cells.loc[full.any(axis=1), full.any()]
    unnamed = 0 if cells.empty else int(cells.iloc[0].eq("").sum())
    if unnamed > 1:
        raise ValueError(
            f"{file.name} has {unnamed} columns without a name in its first row; give each column a name there, and "
            "remove titles above the names."
        )
    return bytes(cells.to_csv(index=False, header=False).encode())


class WholeTable(ArraySource):
    """A table in memory that was read from a file, or from a stream of text. `frame` has it with its row labels."""

    def __init__(self, path: str | Path | BinaryIO, options: TableOptions) -> None:
        table = self.table = _opened(path, options)
        (frame, _), *_ = table.frames()
        if options.transpose:
            frame = with_labels(frame, options, table.name, frame.columns[0] if table.labels is None else table.labels)
            features = [str(label) for label in frame.index]
            check_unique(features, name=f"{table.name} has the row name")
            chosen = without_text(frame.reset_index(drop=True), replace(options, columns=(), only=None), table.decimal)
        else:
            chosen = choose_columns(frame, options, table.name, table.decimal, labels=table.labels)
        if chosen.wrong:
            raise ValueError(_refusal(chosen.wrong, table.name, options))
        frame = chosen.frame
        if options.transpose:
            frame = frame.T.set_axis(features, axis=1)[options.kept(features, table.name)]
        self.keep(frame)
        self.files = [] if hasattr(path, "read") else [Path(path)]
        label: Any = frame.index.name
        named = label if label not in (options.index, table.labels) else None
        self.note = left_out_in_words(chosen.left_out, table.name, labels=named)
        self.table_columns = features if options.transpose else [one for one in table.names if one != table.labels]

    def keep(self, frame: pd.DataFrame) -> None:
        """Set the table."""
        if not frame.shape[1]:
            raise ValueError(f"{self.table.name} {NO_COLUMNS}")
        self.frame, self.label_name = frame, str(frame.index.name or "row")
        super().__init__(frame.to_numpy(dtype=np.float64, na_value=np.nan), self.table.name, list(frame.columns))

    def row_labels(self) -> Iterator[list[str]] | None:
        own = self.frame.index
        return None if isinstance(own, pd.RangeIndex) else iter([own.astype(str).tolist()])


class TableSource(Source):
    """The columns of numbers of a table in a file, read in frames. Row labels are left out."""

    def __init__(self, file: Path, options: TableOptions, first: "TableSource | None" = None) -> None:
        table = self.table = table_file(file, options)
        self._options, self.name, self.files = options, table.name, [file]
        if first is not None:
            # The first of several files decides which columns are used.
            check_same_columns(table.names, first.table.names, self.name, first.name)
            needed_by = "table" if options.only is None else options.needed_by
            own: dict[str, Any] = {"only": tuple(first.feature_names or ()), "needed_by": needed_by}
            options = replace(options, **own, columns=(), drop=())
        self.n_rows = getattr(table, "n_rows", None)
        n = len(table.names)
        self._step = max(1, min(max(FRAME_ROWS * n, FRAME_NUMBERS), BLOCK_NUMBERS) // n)
        rows = max(HEAD_NUMBERS // n, 2)
        with closing(table.frames(None, rows)) as frames:
            head = next(frames, (pd.DataFrame(columns=table.names), 1.0))[0]
        whole = len(head) < rows
        chosen = choose_columns(head, options, self.name, table.decimal, labels=table.labels, whole=whole)
        self.feature_names = [str(column) for column in chosen.frame.columns]
        self.n_features = len(self.feature_names)
        if chosen.wrong:
            self._refuse(len(head))
        label: Any = chosen.frame.index.name
        named = label if label not in (options.index, table.labels) else None
        self.note = left_out_in_words(chosen.left_out, self.name, None if whole else len(head), named)
        self.table_columns = [one for one in table.names if one != table.labels]
        self._labels: str | None = label if label is not None else table.labels
        self.label_name = str(label or "row")

    def row_labels(self) -> Iterator[list[str]] | None:
        if self._labels is None:
            return None
        frames = self.table.frames([self._labels], self._step)
        return (frame[self._labels].astype(str).tolist() for frame, _ in frames)

    def blocks(self, columns: Indices | None = None) -> Iterator[Block]:
        assert self.feature_names is not None
        names = self.feature_names if columns is None else [self.feature_names[int(j)] for j in columns]
        done = 0
        for frame, share in self.table.frames(names, self._step):
            done += len(frame)
            text = text_columns(frame)
            if text and find_not_numbers([frame], text, self.table.decimal):
                self._refuse(done)
            yield Block(frame[names].to_numpy(dtype=np.float64, na_value=np.nan), share)

    def _refuse(self, least: int) -> None:
        """Raise a ValueError that counts and quotes all cells that are not numbers, in at least so many rows."""
        names, looked, is_all = self.feature_names or [], 0, True

        def looked_at() -> Iterator[pd.DataFrame]:
            nonlocal looked, is_all
            for frame, _ in self.table.frames(names, self._step):
                if looked >= max(least, MOST_FRAMES * self._step):
                    is_all = False
                    return
                yield frame
                looked += len(frame)

        found = find_not_numbers(looked_at(), names, self.table.decimal)
        where = "" if is_all else f" The first {looked:,} rows were looked at."
        raise ValueError(_refusal(found, self.name, self._options) + where)


def _refusal(found: Sequence[NotNumbers], name: str, options: TableOptions) -> str:
    return refusal(found, name, needed_by="" if options.only is None else options.needed_by)


def _opened(path: str | Path | BinaryIO, options: TableOptions) -> Table:
    """Open the table in a file, or in a stream of text."""
    if not isinstance(path, str | Path):
        options.refuse("a stream of text", "sheet")
        return TextFile(path.read(), str(getattr(path, "name", "the table")), options)
    file = Path(path)
    if file.is_dir():
        raise ValueError(f"{file} is a directory; give a file.")
    if ending_of(file) not in TABLES:
        raise ValueError(f"{file.name} has no known ending; use one of {', '.join(TABLES)}.")
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}.")
    return table_file(file, options)


def read_table(
    path: str | Path | BinaryIO,
    *,
    index: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    na: str | float | Sequence[str | float] | None = None,
    transpose: bool = False,
    encoding: str | None = None,
    sheet: str | None = None,
) -> pd.DataFrame:
    r"""Read a table from a text, Parquet or Arrow file or a spreadsheet.

    Columns of text and empty columns are left out, and a note says which: a column is text if most of its cells are not
    numbers. Other cells that are not numbers are a ValueError, which counts them.

    Parameters
    ----------
    path : str, Path or binary stream
        The file. The ending of its name says the format: .csv, .tsv and .txt are text, which may be compressed (.gz,
        .bz2, .xz or .zst); .parquet, .pq, .arrow and .feather need ``pip install 'laconic[app]'``; .xlsx, .xlsm, .xls,
        .xlsb and .ods are spreadsheets and need ``pip install 'laconic[excel]'``. A stream of bytes is read as text.
    index : str, optional
        The column that holds the row labels. By default the first column, if it has no name, or if it holds only text,
        hardly any of it twice.
    sep : str, optional
        The separator of fields in text; " " means any number of blanks. By default it is guessed from the first two
        lines.
    decimal : {".", ","}, optional
        The decimal sign in text. By default a point. If semicolons separate the fields and a field looks like "1,5", it
        is a comma.
    columns : str or sequence of str, optional
        The only columns to use: names, or patterns such as "Q*". One text may hold several, separated by commas.
    drop : str or sequence of str, optional
        The columns to leave out, in the same form.
    na : str, float, or sequence of them, optional
        Marks of missing values, besides blanks, "NA", "NaN" and others that pandas knows: "?", "ERR", -999. A number is
        compared by its value, a text with the whole cell of a text file. One text may hold several, separated by
        commas.
    transpose : bool, default=False
        Whether features are in rows, as genes often are: the first column has their names, and the other columns are
        the samples. `columns` and `drop` then name features.
    encoding : str, optional
        The encoding of text, such as "cp1252". By default UTF-8, or UTF-16 if the file begins with its mark.
    sheet : str, optional
        The sheet of a spreadsheet. By default the first one, with a hint if there are others.

    Returns
    -------
    DataFrame
        The table. Its columns are the features.

    See Also
    --------
    SparsePCA.fit : Takes the path of a file, too, and reads it in blocks.

    Examples
    --------
    >>> from pathlib import Path
    >>> from laconic import read_table
    >>> _ = Path("people.csv").write_text("name,age,weight\nAnn,31,62\nBob,?,80\n")
    >>> read_table("people.csv", na="?").loc["Ann"].to_dict()
    {'age': 31.0, 'weight': 62.0}
    """
    signs = {"sep": sep, "decimal": decimal, "encoding": encoding, "sheet": sheet}
    own = {"index": index, "columns": columns, "drop": drop, "na": na, "transpose": transpose}
    source = WholeTable(path, TableOptions.of(**signs, **own))
    if source.note:
        warn(source.note, Note)
    return source.frame


def open_array(file: Path) -> Source:
    """Open an array in an .npy file, mapped to memory, or read one from .npz or .mtx."""
    ending = ending_of(file)
    if ending != ".mtx":
        _refuse_packed(file)
    try:
        with reading(file.name):
            if ending == ".npy":
                array: Any = np.load(file, mmap_mode="r", allow_pickle=False)
            else:
                array = _from_npz(file) if ending == ".npz" else _from_mtx(file)
    except (ValueError, TypeError, KeyError, EOFError, OverflowError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(f"{file.name} is not a complete array of numbers ({reason}); make it again.") from None
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{file.name} has an array of shape {tuple(array.shape)} and type {array.dtype}; give numbers in rows and "
            "columns."
        )
    source = ArraySource(without_duplicates(array), file.name)
    source.files = [file]
    return source


def _from_npz(file: Path) -> Any:
    """Return a sparse matrix that SciPy has saved, or the only array with rows and columns."""
    with file.open("rb") as raw, np.load(raw, allow_pickle=False) as stored:
        if "format" not in stored.files:
            arrays = [array for array in (stored[name] for name in stored.files) if array.ndim == 2]
            if len(arrays) != 1:
                raise ValueError(f"it has {len(arrays)} arrays with rows and columns, and one is needed")
            return arrays[0]
    matrix = sp.load_npz(file)
    matrix = matrix if matrix.format == "csc" else matrix.tocsr()
    matrix.check_format(full_check=True)
    return matrix


def _from_mtx(file: Path) -> Any:
    """Return the matrix of a file of the Matrix Market."""
    from scipy.io import mmread

    with opened(file, file.name) as (_, content):
        matrix = mmread(content, spmatrix=False)
    return sp.csr_array(matrix) if sp.issparse(matrix) else matrix


def open_cells(file: Path) -> Source:
    """Open X of annotated data."""
    from laconic.data.cells import open_stored

    _refuse_packed(file)
    return open_stored(file)
