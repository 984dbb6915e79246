"""From a path, a list of paths or an object to a source."""

import numpy as np
import pandas as pd
import pytest
from tests.data.sources.checks import check_source, message

from laconic.data.sources.memory import ArraySource
from laconic.data.sources.registry import FORMATS, open_source

X = np.arange(12.0).reshape(4, 3)


def test_a_source_and_a_memory_map(tmp_path):
    source = ArraySource(X)
    assert open_source(source) is source
    np.save(tmp_path / "t.npy", X)
    mapped = np.load(tmp_path / "t.npy", mmap_mode="r")
    check_source(open_source(mapped), X)
    assert open_source(mapped).fingerprint() == open_source(tmp_path / "t.npy").fingerprint()


def test_lists_of_paths_keep_their_order_and_folders_are_sorted(tmp_path):
    for i in range(4):
        pd.DataFrame(X[i : i + 1], columns=list("abc")).to_csv(tmp_path / f"{i}.csv", index=False)
    check_source(open_source(tmp_path), X, list("abc"))
    check_source(open_source([str(tmp_path / f"{i}.csv") for i in (3, 0)]), X[[3, 0]], list("abc"))
    check_source(open_source(str(tmp_path / "[12].csv")), X[1:3], list("abc"))


def test_paths_that_cannot_be_opened(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "t.xyz").write_bytes(b"")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    np.save(tmp_path / "t.npy", X)
    cases = [
        (tmp_path / "none.parquet", FileNotFoundError, r"There is no file .*none\.parquet"),
        (tmp_path / "none-*.csv", FileNotFoundError, r"No file matches '.*none-\*\.csv'"),
        (tmp_path / "empty", FileNotFoundError, r"has no file with a known ending; use one of \.arrow, \.csv"),
        (tmp_path / "t.xyz", ValueError, r"^t\.xyz has no known ending; use one of \.arrow, \.csv"),
        (tmp_path, ValueError, r"several formats, such as t.csv, t.npy; give files of one format"),
    ]
    for given, kind, words in cases:
        with pytest.raises(kind, match=words) as error:
            open_source(given)
        message(error)


def test_every_format_names_a_function():
    from importlib import import_module

    for place in FORMATS.values():
        module, _, name = place.partition(":")
        assert callable(getattr(import_module(f"laconic.data.sources.{module}"), name))
