"""Read the next block while the last one is worked on."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(items: Iterator[Item]) -> Generator[Item, None, None]:
    """Yield the same items. A second thread gets the next one meanwhile, so one more is in memory.

    If a processor is free, passes over .h5ad and long Parquet files take 1.1 to 1.7 times less time; those over text
    files, which pyarrow parses with several threads, as much as before.
    """
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="laconic-read") as reader:
            waiting = reader.submit(next, items, None)
            while (item := waiting.result()) is not None:
                waiting = reader.submit(next, items, None)
                yield item
                del item  # the next one is in memory already
    finally:
        if isinstance(items, Generator):
            items.close()  # and with it the file
