"""The single-cell door, with scanpy itself."""

import re
import warnings

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp

import laconic
from laconic import SparsePCA
from laconic.search import Greedy

mpl.use("Agg")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # anndata, scanpy and their dependencies warn of their own future
    anndata = pytest.importorskip("anndata")
    sc = pytest.importorskip("scanpy")

pytestmark = pytest.mark.filterwarnings(
    "ignore:::anndata", "ignore:::scanpy", "ignore:::umap", "ignore:::legacy_api_wrap", "ignore:::zarr"
)

N, P = 120, 30


def cells(form=sp.csr_matrix):
    """Two groups of genes, each high in half of the cells."""
    rng = np.random.default_rng(3)
    X = rng.poisson(0.7, (N, P)).astype(np.float32)
    X[:60, :6] += rng.poisson(6, (60, 1)) + rng.poisson(1, (60, 6))
    X[30:90, 10:15] += rng.poisson(4, (60, 1)) + rng.poisson(1, (60, 5))
    adata = anndata.AnnData(form(X))
    adata.var_names = [f"gene{i}" for i in range(P)]
    adata.obs_names = [f"cell{i}" for i in range(N)]
    adata.var["highly_variable"] = np.arange(P) % 5 != 4
    return adata


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_the_results_are_those_of_the_estimator(form):
    adata = cells(form)
    assert laconic.pp.sparse_pca(adata, n_comps=3, cardinality=5) is None
    model = SparsePCA(3, cardinality=5).fit(adata.X)
    np.testing.assert_allclose(adata.varm["SPCs"], model.components_.T)
    np.testing.assert_allclose(adata.obsm["X_spca"], model.transform(adata.X), rtol=1e-5)
    kept = adata.uns["spca"]
    np.testing.assert_allclose(kept["variance"], model.explained_variance_)
    np.testing.assert_allclose(kept["variance_ratio"], model.explained_variance_ratio_)
    np.testing.assert_allclose(kept["lower"], model.lower_bound_)
    np.testing.assert_allclose(kept["upper"], model.upper_bound_)
    assert (kept["lower"] <= kept["upper"]).all()
    np.testing.assert_allclose(kept["gap"], model.gap_)
    assert list(kept["verdicts"]) == model.verdicts_
    assert list(kept["supports"]) == ["SPC1", "SPC2", "SPC3"]
    assert set(kept["supports"]["SPC1"]) == {f"gene{i}" for i in model.supports_[0]}


def test_the_results_are_written_to_a_file_and_read_back(tmp_path):
    adata = cells()
    settings = {"forced_in": ["gene0"], "deflation": "hotelling", "method": Greedy(), "time_limit": 60}
    laconic.pp.sparse_pca(adata, 2, [5, 3], mask_var="highly_variable", proof="tight", **settings)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    before, after = adata.uns["spca"], again.uns["spca"]
    assert set(before) == set(after)
    for name in ("variance", "variance_ratio", "lower", "upper", "gap"):
        np.testing.assert_array_equal(after[name], before[name])
    assert list(after["verdicts"]) == list(before["verdicts"])
    assert all("gene0" in after["supports"][name] for name in ("SPC1", "SPC2"))
    assert {key: list(genes) for key, genes in after["supports"].items()} == {
        key: list(genes) for key, genes in before["supports"].items()
    }
    params = after["params"]
    assert (params["n_comps"], list(params["cardinality"]), params["mask_var"]) == (2, [5, 3], "highly_variable")
    assert (list(params["forced_in"]), params["deflation"], params["proof"]) == (["gene0"], "hotelling", "tight")
    assert params["method"].startswith("Greedy(")
    np.testing.assert_array_equal(again.varm["SPCs"], adata.varm["SPCs"])
    np.testing.assert_array_equal(again.obsm["X_spca"], adata.obsm["X_spca"])


def test_genes_outside_the_mask_have_zeros():
    adata = cells()
    mask = adata.var["highly_variable"].to_numpy()
    laconic.pp.sparse_pca(adata, 2, 5, mask_var="highly_variable")
    assert not adata.varm["SPCs"][~mask].any()
    assert (np.count_nonzero(adata.varm["SPCs"], axis=0) == 5).all()
    model = SparsePCA(2, cardinality=5).fit(adata.X[:, mask])
    np.testing.assert_allclose(adata.varm["SPCs"][mask], model.components_.T)
    other = cells()
    laconic.pp.sparse_pca(other, 2, 5, mask_var=mask)
    np.testing.assert_array_equal(other.varm["SPCs"], adata.varm["SPCs"])
    # Without a mask all genes are used, whatever is marked.
    laconic.pp.sparse_pca(adata, 2, 6)
    assert adata.varm["SPCs"][~mask].any()


@pytest.fixture
def backed(tmp_path):
    cells().write_h5ad(tmp_path / "cells.h5ad")
    adata = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    yield adata
    adata.file.close()


@pytest.mark.parametrize("mask", [None, "highly_variable"])
def test_a_backed_object_is_read_in_blocks(backed, mask, monkeypatch):
    monkeypatch.setattr("laconic.data.cells.BLOCK_NUMBERS", 500)
    expected = laconic.pp.sparse_pca(cells(), 3, 5, mask_var=mask, copy=True)
    laconic.pp.sparse_pca(backed, 3, 5, mask_var=mask)
    assert backed.isbacked
    np.testing.assert_allclose(backed.varm["SPCs"], expected.varm["SPCs"], atol=1e-9)
    np.testing.assert_allclose(backed.obsm["X_spca"], expected.obsm["X_spca"], atol=1e-4)
    for name in ("variance", "variance_ratio", "lower"):
        np.testing.assert_allclose(backed.uns["spca"][name], expected.uns["spca"][name], rtol=1e-9)


def test_the_estimator_takes_files_and_objects(tmp_path, backed):
    inside = cells()
    expected = SparsePCA(2, cardinality=5).fit(inside.X)
    for given in (backed, inside, tmp_path / "cells.h5ad"):
        model = SparsePCA(2, cardinality=5).fit(given)
        np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)
        assert list(model.feature_names_in_) == list(inside.var_names)
        np.testing.assert_allclose(model.transform(given), expected.transform(inside.X), atol=1e-4)


def test_supports_have_the_largest_loading_first():
    adata = cells()
    laconic.pp.sparse_pca(adata, 2, 5)
    for i, genes in enumerate(adata.uns["spca"]["supports"].values()):
        sizes = np.abs(adata.varm["SPCs"][adata.var_names.get_indexer(genes), i])
        assert (sizes[:-1] >= sizes[1:]).all()
        assert (sizes > 0).all()


def test_the_model_is_returned_on_request():
    adata = cells()
    model = laconic.pp.sparse_pca(adata, 2, 5, return_model=True)
    np.testing.assert_array_equal(adata.varm["SPCs"], model.components_.T)
    copy, model = laconic.pp.sparse_pca(cells(), 2, 5, copy=True, return_model=True)
    np.testing.assert_array_equal(copy.varm["SPCs"], model.components_.T)


@pytest.mark.parametrize("ending", ["h5ad", "zarr"])
@pytest.mark.parametrize("settings", [{}, {"mask_var": "highly_variable"}, {"joint": "disjoint"}])
def test_certificates_verify_against_the_file(tmp_path, monkeypatch, ending, settings):
    monkeypatch.setattr("laconic.core.store.INLINE", 40)  # so that some certificates have arrays of their own
    adata, path = cells(), tmp_path / f"cells.{ending}"
    laconic.pp.sparse_pca(adata, 2, [5, 3], proof="tight", **settings)
    getattr(adata, f"write_{ending}")(path)
    again = getattr(anndata, f"read_{ending}")(path)
    kept = again.uns["spca"]["certificates"]
    names = [name for name in kept if name.endswith(".json")]
    assert names == (["components.json"] if "joint" in settings else ["component-1.json", "component-2.json"])
    assert len(kept) > len(names)
    for name in names:
        certificate = laconic.Certificate.load(name, files=kept)
        for data in (adata, again, path):
            assert laconic.verify(certificate, data)
        assert not laconic.verify(certificate, adata[:-1])


def test_cells_are_coloured_by_a_column_of_obs(tmp_path):
    adata = cells()
    adata.obs["half"] = np.repeat(["first", "second"], N // 2)
    model = laconic.pp.sparse_pca(adata, 2, 5, return_model=True)
    legend = laconic.plot.scores(model, adata, color="half").get_legend()
    assert legend.get_title().get_text() == "half"
    assert [text.get_text() for text in legend.get_texts()] == ["first (60)", "second (60)"]
    assert laconic.plot.biplot(model, adata, color="half").get_legend().get_title().get_text() == "half"
    assert "second" in model.report(adata, tmp_path / "page.html", color="half", time_limit=0.5).read_text("utf-8")
    with pytest.raises(ValueError, match=r"color='halv' is not a column of adata.obs; did you mean 'half'\?"):
        laconic.plot.scores(model, adata, color="halv")


def test_scanpy_draws_the_results():
    adata = cells()
    laconic.pp.sparse_pca(adata, 2, 5)
    axes = sc.pl.embedding(adata, "spca", color="gene0", show=False)
    np.testing.assert_allclose(
        axes.collections[0].get_offsets()[:, 0].std(), adata.obsm["X_spca"][:, 0].std(), rtol=1e-5
    )
    sc.pl.ranking(adata, "varm", "SPCs", indices=[0, 1], n_points=5, show=False)
    sc.pp.neighbors(adata, use_rep="X_spca", n_neighbors=5)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (
            {"mask_var": "hvg"},
            ValueError,
            "mask_var names the column 'hvg', which adata.var does not have.",
        ),
        ({"mask_var": np.ones(4, bool)}, ValueError, "mask_var must have True or False for each of 30"),
        ({"mask_var": np.arange(P)}, ValueError, "mask_var must have True or False for each of 30"),
        (
            {"mask_var": np.zeros(P, bool)},
            ValueError,
            "mask_var must have True or False for each of 30 variables, and a True.",
        ),
        ({"layer": "counts"}, ValueError, "adata has no layer 'counts'; it has no layers."),
        ({"profe": "tight"}, TypeError, "unexpected keyword argument 'profe'"),
        ({"forced_in": ["gene99"]}, ValueError, "gene99"),
    ],
)
def test_wrong_arguments(arguments, error, sentence):
    adata = cells()
    with pytest.raises(error, match=re.escape(sentence)):
        laconic.pp.sparse_pca(adata, **arguments)
    assert not adata.uns
