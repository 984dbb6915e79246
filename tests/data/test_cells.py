"""Annotated data in real files written by anndata: the same numbers as in memory, and clear sentences otherwise."""

import json
import re
import shutil
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from laconic.data import cells
from laconic.data.cells import open_anndata
from laconic.data.passes import FirstPass, GramPass
from laconic.data.rows import open_source

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # anndata and zarr warn of their own future
    anndata = pytest.importorskip("anndata")
    h5py = pytest.importorskip("h5py")

pytestmark = pytest.mark.filterwarnings("ignore:::anndata", "ignore:::zarr", "ignore:Writing zarr v2")

N, P = 83, 12
NAMES = [f"gene{i}" for i in range(P)]
FORMS = {"dense": np.asarray, "csr": sp.csr_matrix, "csc": sp.csc_matrix}
WRITERS = {".h5ad": "write_h5ad", ".zarr": "write_zarr"}


def counts(*, whole=True):
    rng = np.random.default_rng(7)
    X = rng.poisson(0.6, (N, P)) * (1.0 if whole else rng.standard_normal((N, P)))
    X[:, 3] = 0.0
    X[20:31] = 0.0  # a block without entries
    return X.astype(np.float32)


def made(X, **more):
    adata = anndata.AnnData(X, **more)
    adata.var_names = NAMES
    adata.obs_names = [f"cell{i}" for i in range(len(X) if isinstance(X, np.ndarray) else X.shape[0])]
    return adata


def written(adata, folder, ending=".h5ad", name="cells", **options):
    path = folder / f"{name}{ending}"
    getattr(adata, WRITERS[ending])(path, **options)
    return path


def joined(source, columns=None):
    blocks = [block.rows for block in source.blocks(columns)]
    if source.sparse:
        assert all(block.has_canonical_format for block in blocks)
        return sp.vstack(blocks).toarray()
    return np.concatenate(blocks)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Blocks so small that the tables here have many."""
    monkeypatch.setattr(cells, "LARGEST_BLOCK", 600)
    monkeypatch.setattr(cells, "BLOCK_NUMBERS", 60)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ending", WRITERS)
def test_rows_are_those_in_memory(tmp_path, form, ending):
    X = counts(whole=False)
    path = written(made(FORMS[form](X)), tmp_path, ending)
    source = open_source(path)
    assert (source.n_rows, source.n_features, source.sparse) == (N, P, form != "dense")
    assert source.feature_names == NAMES
    sizes = [block.rows.shape[0] for block in source.blocks()]
    assert (len(sizes) > 3) == (form != "csc")  # which is read into memory
    np.testing.assert_allclose([block.share for block in source.blocks()], np.cumsum(sizes) / N)
    np.testing.assert_array_equal(joined(source), X)
    columns = np.array([0, 1, 3, 7, 11])
    np.testing.assert_array_equal(joined(source, columns), X[:, columns])


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_passes_give_what_the_array_in_memory_gives(tmp_path, form, whole):
    X = counts(whole=whole)
    source = open_source(written(made(FORMS[form](X)), tmp_path))
    expected = FirstPass().of(X)
    found = source.reduce(FirstPass(tuple(NAMES), source.name))
    assert found.column_digests.hexdigest() == expected.column_digests.hexdigest()
    assert found.moments.exact == whole
    np.testing.assert_allclose(found.moments.means, expected.moments.means, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.moments.squares, expected.moments.squares, rtol=1e-12)
    columns = np.array([2, 5, 6])
    gram = source.reduce(GramPass(columns, None))
    np.testing.assert_allclose(gram.gram, X[:, columns].astype(float).T @ X[:, columns], rtol=1e-12)
    assert gram.column_digests.agrees_with(expected.column_digests.part(columns))


def test_compressed_chunks_are_read_whole(tmp_path):
    X = counts()
    path = written(made(X), tmp_path)
    with h5py.File(path, "r+") as file:
        del file["X"]
        file.create_dataset("X", data=X, chunks=(8, 2), compression="gzip")
    source = open_source(path)
    assert [block.rows.shape[0] for block in source.blocks()] == [8] * 10 + [3]
    np.testing.assert_array_equal(joined(source), X)


def test_several_files_are_one_table(tmp_path):
    X = counts()
    for i, part in enumerate((X[:30], X[30:], X[:1])):
        written(made(sp.csr_matrix(part)), tmp_path, name=f"part{i}")
    source = open_source(tmp_path / "part*.h5ad")
    table = np.concatenate([X, X[:1]])
    assert source.n_rows == N + 1
    np.testing.assert_array_equal(joined(source), table)
    assert [block.share for block in source.blocks()][-1] == 1.0
    other = made(sp.csr_matrix(X))
    other.var_names = NAMES[::-1]
    written(other, tmp_path, name="part3")
    with pytest.raises(ValueError, match=r"part3.h5ad has 'gene11' where part0.h5ad has 'gene0'"):
        open_source(tmp_path / "part*.h5ad")


def test_unsorted_and_repeated_entries_are_put_in_order(tmp_path):
    path = written(made(sp.csr_matrix(counts())), tmp_path)
    with h5py.File(path, "r+") as file:
        # Three entries in the first row: column 4, column 2, and column 4 once more.
        group = file["X"]
        rest = group["indptr"][:][2:] - group["indptr"][1]
        for part, front in {"data": [1.0, 5.0, 2.0], "indices": [4, 2, 4]}.items():
            values = np.concatenate([front, group[part][group["indptr"][1] :]]).astype(group[part].dtype)
            del group[part]
            group[part] = values
        group["indptr"][:] = np.concatenate([[0, 3], rest + 3])
    first = joined(open_source(path))[0]
    assert dict(enumerate(first)) == {**dict.fromkeys(range(P), 0.0), 2: 5.0, 4: 3.0}


@pytest.mark.parametrize("form", FORMS)
def test_objects_in_memory_and_backed(tmp_path, form):
    X = counts()
    adata = made(FORMS[form](X), layers={"twice": 2 * X})
    path = written(adata, tmp_path)
    for given in (adata, adata[:], anndata.read_h5ad(path, backed="r")):
        source = open_source(given)
        np.testing.assert_array_equal(joined(source), X)
        np.testing.assert_array_equal(joined(open_anndata(given, layer="twice")), 2 * X)
        assert source.feature_names == NAMES
        assert (source.in_memory() is None) == (given.isbacked and form != "csc")
        assert given.isbacked or open_source(given.X) is None  # a matrix in memory, such as that of a view
    given.file.close()
    np.testing.assert_array_equal(joined(source), X)  # the object opens its file again
    given.var_names = [name.upper() for name in NAMES]
    assert open_source(given).feature_names == [name.upper() for name in NAMES]
    with pytest.raises(ValueError, match=r"adata is a view of a file; call \.to_memory"):
        open_source(given[:5])
    given.file.close()


def first_pass(path):
    source = open_source(path)
    return source.reduce(FirstPass(tuple(NAMES), source.name))


def damaged(path, how):
    if how == "cut":
        path.write_bytes(path.read_bytes()[:4000])
    elif how == "text":
        path.write_text("gene,count\na,1\n")
    else:
        with h5py.File(path, "r+") as file:
            if how == "no X":
                del file["X"]
            elif how == "pointers":
                file["X/indptr"][-1] = 10**6
            elif how == "index":
                file["X/indices"][5] = P
            else:
                file["X/data"][0] = np.nan
    return path


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("no X", "cells.h5ad has no X; its layers are 'again'."),
        ("cut", "cells.h5ad is damaged or incomplete ("),
        ("text", "cells.h5ad is damaged or incomplete ("),
        ("pointers", "cells.h5ad cannot be read to its end; it is damaged: write it again."),
        ("index", "cells.h5ad has a column index outside its columns; write it again."),
        (
            "not a number",
            "cells.h5ad has NaN at row 0, column 'gene0'; fill or drop it first, or set missing to pairwise, em",
        ),
    ],
)
def test_bad_files(tmp_path, how, sentence):
    X = counts()
    X[0, 0] = 4
    path = damaged(written(made(sp.csr_matrix(X), layers={"again": X}), tmp_path), how)
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        first_pass(path)


def test_bad_folders(tmp_path):
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(ValueError, match=r"^empty.zarr is not a .zarr folder; write one with adata.write_zarr.$"):
        open_source(tmp_path / "empty.zarr")
    path = written(made(counts()), tmp_path, ".zarr")
    shutil.rmtree(path / "X")
    (path / ".zmetadata").unlink(missing_ok=True)
    if (path / "zarr.json").exists():
        about = json.loads((path / "zarr.json").read_text())
        about.pop("consolidated_metadata", None)
        (path / "zarr.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match=r"cells.zarr has no X; it has no layers."):
        open_source(path)


@pytest.mark.filterwarnings("ignore:Variable names are not unique")
def test_names_twice(tmp_path):
    adata = made(counts())
    adata.var_names = ["gene0", *NAMES[:-1]]
    sentence = "has the variable name 'gene0' more than once; give each feature its own name."
    with pytest.raises(ValueError, match=f"adata {sentence}"):
        open_source(adata)
    path = written(adata, tmp_path)
    with pytest.raises(ValueError, match=f"cells.h5ad {sentence}"):
        open_source(path)
    backed = anndata.read_h5ad(path, backed="r")
    backed.var_names_make_unique()
    assert open_source(backed).feature_names[:2] == ["gene0", "gene0-1"]
    backed.file.close()


def test_bad_objects():
    with pytest.raises(ValueError, match="adata has no X; it has no layers"):
        open_source(anndata.AnnData(var={"mean": [1, 2]}))
    with pytest.raises(ValueError, match="adata has no layer 'counts'; it has no layers"):
        open_anndata(made(counts()), layer="counts")
    with pytest.raises(TypeError, match="X is a AnnDataFileManager; give an AnnData object"):
        open_source(made(counts()).file)


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    path = written(made(counts()), tmp_path)
    monkeypatch.setitem(sys.modules, "anndata.io", None)
    with pytest.raises(
        ImportError, match=r"^Reading or writing cells.h5ad needs the package anndata; .*'laconic\[anndata\]'$"
    ):
        open_source(path)
