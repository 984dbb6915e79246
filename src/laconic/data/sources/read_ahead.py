"""Read the next block while the last one is worked on."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(items: Generator[Item, None, None]) -> Iterator[Item]:
    """Yield the same items. A second thread gets the next one meanwhile, so one more is in memory.

    It pays if reading leaves Python's lock to others, as h5py does.
    """
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="laconic-read") as reader:
            waiting = reader.submit(next, items, None)
            while (item := waiting.result()) is not None:
                waiting = reader.submit(next, items, None)
                yield item
                del item  # the next one is in memory already
    finally:
        items.close()
