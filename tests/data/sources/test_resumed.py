"""A pass that was stopped goes on where it was, in every way of reading."""

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from laconic.data.passes import FirstPass, GramPass
from laconic.data.sources import progress as module
from laconic.data.sources.arrow import ArrowFile, ArrowSource
from laconic.data.sources.by_column import EntriesByColumn
from laconic.data.sources.long import LongArrow
from laconic.data.sources.matrix_market import MatrixMarketSource
from laconic.data.sources.sparse_npz import open_sparse
from laconic.data.sources.text import TextSource, TextTable

X = np.random.default_rng(0).poisson(0.6, (300, 9)) * 1.5


def text(path):
    pd.DataFrame(X).to_csv(path, index=False)
    return TextSource(TextTable([path], 300))


def parquet(path):
    pd.DataFrame(X, columns=list("abcdefghi")).to_parquet(path, row_group_size=70)
    return ArrowSource(ArrowFile(path), 300)


def long(path):
    triples = sp.coo_array(sp.csr_array(X))
    frame = pd.DataFrame({"row": triples.row, "column": triples.col, "value": triples.data})
    frame.to_parquet(path, row_group_size=70)
    return LongArrow([ArrowFile(path)], ["row", "column", "value"], 150)


def csr(path):
    sp.save_npz(path, sp.csr_array(X))
    return open_sparse(path, 150)


def csc(path):
    sp.save_npz(path, sp.csc_array(X))
    return open_sparse(path, 150, 400)


def mtx(path):
    scipy.io.mmwrite(path, sp.coo_array(sp.csc_array(X)), precision=17)
    return EntriesByColumn(MatrixMarketSource(path, 150, 800), 400)


SOURCES = {"t.csv": text, "t.parquet": parquet, "l.parquet": long, "csr.npz": csr, "csc.npz": csc, "t.mtx": mtx}
JOBS = {"first": FirstPass(), "gram": GramPass(np.array([1, 4, 7]), None)}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("job", JOBS)
def test_a_stopped_pass_goes_on(tmp_path, monkeypatch, name, job):
    monkeypatch.setattr(module, "CHECKPOINT_SECONDS", 0.0)
    source, job = SOURCES[name](tmp_path / name), JOBS[job]
    whole = source.reduce(job, module.PassProgress())
    stopped = module.PassProgress(checkpoint=tmp_path / "checkpoints")
    advance = stopped.advance

    def stop_after_three(*arguments):
        advance(*arguments)
        if arguments[3] == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(stopped, "advance", stop_after_three)
    with pytest.raises(KeyboardInterrupt):
        source.reduce(job, stopped)
    again = module.PassProgress(checkpoint=tmp_path / "checkpoints")
    assert again.resumed(source, job)[1] == 3
    found = source.reduce(job, again)
    assert found.n_rows == whole.n_rows == 300
    assert found.column_digests.agrees_with(whole.column_digests)
    if isinstance(job, GramPass):
        np.testing.assert_allclose(found.gram, whole.gram, rtol=1e-13)
    else:
        np.testing.assert_array_equal(found.moments.variances, whole.moments.variances)
    assert not list((tmp_path / "checkpoints").iterdir())
