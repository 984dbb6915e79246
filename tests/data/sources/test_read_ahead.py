"""Reading ahead changes nothing but the time."""

import threading

import numpy as np
import pytest

from laconic.data.passes import FirstPass
from laconic.data.sources import PassProgress
from laconic.data.sources.memory import ArraySource
from laconic.data.sources.read_ahead import read_ahead
from laconic.data.sources.selected import SelectedSource


def numbers(n, log):
    try:
        for i in range(n):
            log.append((i, threading.current_thread().name))
            yield i
    finally:
        log.append("closed")


def test_items_come_in_order_and_are_read_in_another_thread():
    log = []
    assert list(read_ahead(numbers(5, log))) == [0, 1, 2, 3, 4]
    assert log[-1] == "closed"
    assert all(name.startswith("laconic-read") for _, name in log[:-1])
    assert list(read_ahead(numbers(0, log))) == []


def test_at_most_one_item_is_read_ahead_and_the_reader_is_closed():
    log = []
    items = read_ahead(numbers(100, log))
    assert [next(items), next(items)] == [0, 1]
    items.close()
    assert len(log) <= 4  # 0, 1, 2 and the end
    assert log[-1] == "closed"
    assert not any(thread.name.startswith("laconic-read") for thread in threading.enumerate())


def test_errors_come_through():
    def failing():
        yield 1
        raise ValueError("the file is damaged")

    items = read_ahead(failing())
    assert next(items) == 1
    with pytest.raises(ValueError, match="the file is damaged"):
        next(items)


def test_passes_over_files_read_ahead_and_others_do_not(tmp_path):
    threads = []

    class Watched(ArraySource):
        def blocks(self, columns=None, first=0):
            for block in super().blocks(columns, first):
                threads.append(threading.current_thread().name)
                yield block

    np.save(tmp_path / "t.npy", np.eye(4))
    in_file = Watched(np.load(tmp_path / "t.npy", mmap_mode="r"))
    for source in (in_file, SelectedSource(in_file, np.arange(3)), Watched(np.eye(4))):
        source.reduce(FirstPass(), PassProgress())
    assert [name.startswith("laconic-read") for name in threads] == [True, True, False]


def test_an_error_of_the_work_ends_the_reader(tmp_path):
    np.save(tmp_path / "t.npy", np.full((4, 2), np.nan))
    with pytest.raises(ValueError, match=r"has 8 missing values .* the first is at row 0, column 0"):
        ArraySource(np.load(tmp_path / "t.npy", mmap_mode="r")).reduce(FirstPass(), PassProgress())
    assert not any(thread.name.startswith("laconic-read") for thread in threading.enumerate())
