"""Bags of words of the UCI repository, and headers that lie."""

import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from tests.data.sources.checks import check_source, message, together

from laconic.data.sources.docword import DocwordSource
from laconic.data.sources.registry import open_source

rng = np.random.default_rng(0)
X = rng.poisson(0.3, (200, 30)).astype(float)
X[:2] = X[70:90] = X[-3:] = 0
WORDS = [f"wörd {j}" for j in range(30)]


def lines(X=X):
    triples = sp.coo_array(sp.csr_array(X))
    entries = zip(triples.row + 1, triples.col + 1, triples.data.astype(int), strict=True)
    return [str(X.shape[0]), str(X.shape[1]), str(triples.nnz), *(" ".join(map(str, e)) for e in entries)]


def write(path, content):
    data = ("\n".join(content) + "\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("ending", ["txt", "txt.gz"])
def test_blocks_are_the_table(tmp_path, ending):
    path = write(tmp_path / f"docword.kos.{ending}", lines())
    check_source(open_source(path), X)
    write(tmp_path / "vocab.kos.txt", WORDS)
    check_source(open_source(path), X, WORDS)
    check_source(DocwordSource(path, 100, 700), X, WORDS, min_blocks=5)


def test_more_than_one_blank(tmp_path):
    content = lines()
    content[50:] = ["  " + line.replace(" ", "\t ") for line in content[50:]]
    check_source(DocwordSource(write(tmp_path / "docword.kos.txt", content), 100, 700), X, min_blocks=5)


def changed(number, line):
    content = lines()
    content[number - 1 : number] = [] if line is None else [line]
    return content


count = len(lines()) - 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (changed(1, "150"), r"has row 151 in line \d+, and 150 rows; correct the line or the number of rows"),
        (changed(2, "25"), r"has column \d+ in line \d+, and 25 columns"),
        (changed(3, "5"), r"has more than 5 entries, and line 3 says 5"),
        (changed(3, "99999"), rf"has {count} entries, and line 3 says 99999"),
        (changed(700, None), rf"has {count - 1} entries, and line 3 says {count}"),
        (changed(2, "many"), r"must have the number of words in line 2"),
        (["5"], r"must have the number of words in line 2"),
        (changed(700, "1 2"), r"has '1 2' in line 700; write 3 numbers with blanks between them"),
        (changed(700, "1 two 3"), r"has '1 two 3' in line 700; write 3 numbers"),
        (changed(700, "1 2 3"), r"is not sorted by row: line 700 has row 1 after row \d+; sort the entries by row"),
        (changed(4, "0 1 1"), r"has row 0 in line 4, and 200 rows"),
        (changed(700, "1.5 2 3"), r"has an index that is not whole at or below line \d+"),
    ],
)
def test_files_that_lie(tmp_path, content, words):
    path = write(tmp_path / "docword.kos.txt", content)
    for opened in (open_source, lambda path: DocwordSource(path, 100, 700)):
        with pytest.raises(ValueError, match=r"^docword\.kos\.txt " + words) as error:
            together(opened(path))
        message(error)


def test_wrong_vocabularies(tmp_path):
    path = write(tmp_path / "docword.kos.txt", lines())
    write(tmp_path / "vocab.kos.txt", WORDS[:-1])
    with pytest.raises(ValueError, match=r"^vocab\.kos\.txt has 29 words, and line 2 of docword\.kos\.txt says 30"):
        open_source(path)
    write(tmp_path / "vocab.kos.txt", [*WORDS[:-1], WORDS[0]])
    with pytest.raises(ValueError, match="has the word 'wörd 0' more than once"):
        open_source(path)
    write(tmp_path / "docword.nips.txt", lines())
    with pytest.raises(ValueError, match="each bag of words has its own words; give one") as error:
        open_source(tmp_path / "docword.*.txt")
    message(error)


def test_damaged_and_empty_files(tmp_path):
    path = write(tmp_path / "docword.kos.txt.gz", lines())
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match=r"^docword\.kos\.txt\.gz is damaged or incomplete"):
        together(open_source(path))
    (tmp_path / "docword.x.txt").write_bytes(b"")
    with pytest.raises(ValueError, match=r"^docword\.x\.txt is empty"):
        open_source(tmp_path / "docword.x.txt")
