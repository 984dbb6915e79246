"""Settings that must stand before scipy and scikit-learn are imported, and what every room shares."""

import os

# Without it scikit-learn skips its array API checks, and nothing may be skipped.
os.environ["SCIPY_ARRAY_API"] = "1"

from pathlib import Path

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

# Same examples in every run: a failure seen once is seen again.
settings.register_profile("laconic", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("laconic")


def pytest_collection_modifyitems(items):
    """Begin with the studies, which take longest: at the end, one process would wait for the other."""
    items.sort(key=lambda item: "studies" not in item.path.parts)


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Small matrices on several BLAS threads are many times slower; tests of threads set their own number."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="session")
def data_folder():
    """The folder of larger sets, or a skip that says what to do."""
    folder = os.environ.get("LACONIC_DATA", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set LACONIC_DATA to the folder of larger data sets")
    return Path(folder)
