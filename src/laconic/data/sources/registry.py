"""From what a user gives to a source: which format opens which file or object. A new format adds a line here."""

from collections.abc import Callable, Sequence
from glob import has_magic
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from laconic.data.compression import ending_of
from laconic.data.excel import EXCEL
from laconic.data.files import ENDINGS as TABLES
from laconic.data.options import AS_FOUND, TableOptions, options_of
from laconic.data.sources.contract import Source
from laconic.data.sources.selected import chosen_source

# The ending of a file or folder, and where the function is that opens files of this format: it takes a list of paths.
# Compressed files have a second ending. The modules are imported when they are needed.
FORMATS: dict[str, str] = {
    ".csv": "text:open_text",
    ".tsv": "text:open_text",
    ".txt": "text:open_text",
    ".parquet": "arrow:open_arrow",
    ".pq": "arrow:open_arrow",
    ".arrow": "arrow:open_arrow",
    ".feather": "arrow:open_arrow",
    **dict.fromkeys(EXCEL, "excel:open_excel"),
    ".npy": "numpy_files:open_npy",
    ".npz": "numpy_files:open_npz",
    ".mtx": "matrix_market:open_matrix_market",
    ".h5ad": "annotated:open_h5ad",
    ".zarr": "annotated:open_zarr",
}
# The package that an object comes from, and where the function is that makes a source of it.
OBJECTS: dict[str, str] = {"anndata": "annotated:open_object", "dask": "dask:open_dask"}


def open_source(X: Any, **options: Any) -> Source | None:
    """Return the source that an object stands for, or None if it is an array or a table in memory.

    A source is returned as it is. A path may be a file, a folder, or a pattern such as ``"counts-*.parquet"``; a list
    of paths is one table. A Dask array or dataframe, a memory map, and any object that yields blocks of rows each time
    it is iterated over are sources, too.

    Options are for files, and those of `laconic.read_table`: `columns`, `drop`, `numeric_only`, `na`, `index`,
    `separator`, `decimal`, `encoding` and `sheet`. `only` are the exact names of the columns that a model
    needs.
    """
    if isinstance(X, str | Path) or (isinstance(X, list | tuple) and any(isinstance(item, str | Path) for item in X)):
        files = find_files(*([X] if isinstance(X, str | Path) else X))
        return open_files(files, options_of(**options))
    if options:
        raise TypeError(f"{', '.join(options)} are for files, and X is a {type(X).__name__}.")
    if isinstance(X, Source):
        return X
    if isinstance(X, np.memmap):
        from laconic.data.sources.memory import ArraySource

        return ArraySource(X)
    opener = OBJECTS.get(type(X).__module__.partition(".")[0], "iterable:open_iterable")
    found: Source | None = _function(opener)(X)
    return found


def _function(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(import_module(f"laconic.data.sources.{module}"), name)
    return function


def find_files(*given: str | Path) -> list[Path]:
    """Return the files that paths, folders and patterns stand for. They exist, and have one known format."""
    strange = next((item for item in given if not isinstance(item, str | Path)), None)
    if strange is not None:
        raise TypeError(f"A list of paths holds a {type(strange).__name__}; give paths only.")
    files = [file for item in given for file in _files(item)]
    twice = next((file for place, file in enumerate(files) if file in files[:place]), None)
    if twice is not None:
        raise ValueError(f"The file {twice} is given twice; give each file once.")
    missing = next((file for file in files if not file.exists()), None)
    if missing is not None:
        raise FileNotFoundError(f"There is no file {missing}.")
    endings = {ending_of(file): file for file in files}
    unknown = next((file for ending, file in endings.items() if ending not in FORMATS), None)
    if unknown is not None:
        raise ValueError(f"{unknown.name} has no known ending; use one of {_known()}.")
    if len(endings) > 1:
        found = ", ".join(sorted(file.name for file in endings.values()))
        raise ValueError(f"The files have several formats, such as {found}; give files of one format.")
    return files


def open_files(files: Sequence[Path], options: TableOptions = AS_FOUND) -> Source:
    """Open files of one format as one table."""
    ending = ending_of(files[0])
    opener = _function(FORMATS[ending])
    source: Source
    if ending in TABLES:
        source = opener(list(files), options)
    else:
        options.refuse_signs(files[0].name)
        source = chosen_source(opener(list(files)), options)
    if not source.n_features:
        raise ValueError(f"{source.name} has no column left; drop fewer.")
    return source


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
    if path.is_dir():
        # Other programs leave marks such as _SUCCESS and .part.crc beside the files that they write.
        found = sorted(file for file in path.iterdir() if ending_of(file) in FORMATS and file.name[0] not in "._")
        if not found and path.suffix in FORMATS:
            return [path]
        if not found:
            raise FileNotFoundError(f"The folder {path} has no file with a known ending; use one of {_known()}.")
        return found
    return [path]


def _known() -> str:
    return ", ".join(sorted(FORMATS))
