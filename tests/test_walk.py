"""What a fit walks through: each thing is done once, and few files are involved."""

import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import laconic
from laconic import SparsePCA, load_model
from laconic.cli import app
from laconic.model.noise import TABLES

HOME = str(Path(laconic.__file__).parent)
# The files that a fit of an array, and one with its page, walk through at most. The aims are 25 and 60.
MOST_FOR_AN_ARRAY, MOST_FOR_A_PAGE = 28, 47
ROWS = np.random.default_rng(0).standard_normal((60, 12))


class Walk:
    """Everything of laconic that is called inside the block, and how often."""

    def __enter__(self):
        self.calls = Counter()
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _seen(self, frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(HOME):
            self.calls[name.removeprefix(f"{HOME}/"), frame.f_code.co_qualname] += 1

    @property
    def files(self):
        return {name for name, _ in self.calls}

    def count(self, file, function):
        assert (Path(HOME) / file).is_file(), file
        return self.calls[file, function]


def called(arguments):
    with warnings.catch_warnings(), Walk() as walk:
        warnings.simplefilter("ignore")
        app([str(word) for word in arguments], standalone_mode=False)
    return walk


@pytest.fixture
def csv(tmp_path):
    place = tmp_path / "data.csv"
    np.savetxt(place, ROWS, delimiter=",", header=",".join(f"v{i}" for i in range(12)), comments="")
    return place


def test_a_fit_of_an_array_walks_through_few_files():
    SparsePCA(2, cardinality=5).fit(ROWS)  # files that are imported now are not part of the walk
    with Walk() as walk:
        SparsePCA(2, cardinality=5).fit(ROWS)
    print(f"NumPy fit: {len(walk.files)} files, {len(walk.calls)} functions")
    assert len(walk.files) <= MOST_FOR_AN_ARRAY, sorted(walk.files)


def test_a_fit_with_its_page_does_each_thing_once(csv, tmp_path):
    words = ["fit", csv, "-k", "5", "-c", "2", "--report", tmp_path / "page.html", "--save", tmp_path / "m"]
    called(words)
    walk = called(words)
    print(f"fit with page: {len(walk.files)} files, {len(walk.calls)} functions")
    assert len(walk.files) <= MOST_FOR_A_PAGE, sorted(walk.files)
    assert walk.count("data/files.py", "WholeTable.__init__") == 1
    assert walk.count("covariance/make.py", "make") == 1 + TABLES  # of the data, and of the permuted tables on the page
    assert walk.count("data/passes.py", "digest_of") == 1
    shown = (tmp_path / "page.html").read_text().count('<a download="component-')
    assert walk.count("proof/certificate.py", "certify") == shown == len(load_model(tmp_path / "m").certificates_) == 2
