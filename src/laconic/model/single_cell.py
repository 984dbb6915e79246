"""Sparse components of annotated data (AnnData), called in the manner of scanpy: `laconic.pp.sparse_pca(adata)`."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pandas.api.types import is_bool_dtype

from laconic.core.arrays import Mask
from laconic.data.cells import open_anndata
from laconic.data.rows import SelectedSource
from laconic.model.estimator import SparsePCA

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["sparse_pca"]

# The default of `key_added`. Its results have the names that those of scanpy's own PCA suggest.
DEFAULT_KEY, DEFAULT_PLACES = "spca", ("X_spca", "SPCs", "spca")


def sparse_pca(
    adata: "AnnData",
    n_comps: int | None = 5,
    cardinality: int | Sequence[int] | None = 10,
    *,
    layer: str | None = None,
    mask_var: Any = None,
    key_added: str = DEFAULT_KEY,
    copy: bool = False,
    **settings: Any,
) -> "AnnData | None":
    """Find components that use few genes, and write them into an AnnData object.

    Give `sc.pp.neighbors` the scores with ``use_rep="X_spca"``. If the object is backed by a file, its cells are read
    in blocks, and only the results are in memory.

    Parameters
    ----------
    adata : AnnData
        Cells in the rows, genes in the columns. Normalise and take logarithms first, as for every PCA.
    n_comps : int, optional
        The number of components.
    cardinality : int or sequence of int, optional
        The number of genes that a component may use, one for all components or one for each, or a share of variance;
        as in `SparsePCA`.
    layer : str, optional
        Use this layer instead of X.
    mask_var : str or array of bool, optional
        The genes that may be used: a column of `adata.var`, such as "highly_variable", or a mask. By default all genes
        are used, whether or not highly variable genes are marked.
    key_added : str, default="spca"
        With another name than the default, `obsm`, `varm` and `uns` all have the results under this name.
    copy : bool, default=False
        Write into a copy, and return it.
    **settings
        Further parameters of `SparsePCA`, such as ``proof="tight"``. Features are given by name.

    Returns
    -------
    AnnData or None
        The copy, or None. The object has these new fields:

        ``obsm["X_spca"]``: the scores, one row for each cell.

        ``varm["SPCs"]``: the loadings, one row for each gene. Genes outside `mask_var` have zeros.

        ``uns["spca"]``: a dictionary. "variance" and "variance_ratio": what each component adds. "supports": the genes
        of "SPC1", "SPC2" and so on. "lower" and "upper": the proved bounds of its variance. "gap": their relative
        difference. "verdicts": what is proved, in words. "params": the arguments.

    See Also
    --------
    laconic.SparsePCA : The estimator behind this function.

    Examples
    --------
    >>> import anndata
    >>> import laconic
    >>> import numpy as np
    >>> cells = anndata.AnnData(np.random.default_rng(0).standard_normal((50, 8)))
    >>> laconic.pp.sparse_pca(cells, n_comps=2, cardinality=3)
    >>> cells.obsm["X_spca"].shape
    (50, 2)
    """
    if not hasattr(adata, "var_names"):
        raise TypeError(f"adata is a {type(adata).__name__}; give an AnnData object.")
    arguments = {"n_components": n_comps, "cardinality": cardinality, **settings}
    SparsePCA(**arguments)  # an unknown setting is an error before anything is read
    if adata.isbacked and (copy or adata.is_view):
        what = "a view of a file" if adata.is_view else "backed by a file, which is not copied"
        raise ValueError(f"adata is {what}; call .to_memory() on it first.")
    target = adata.copy() if copy else adata
    mask = _mask(target, mask_var)
    source = open_anndata(target, layer=layer)
    if not mask.all():
        source = SelectedSource(source, np.flatnonzero(mask))
    model = SparsePCA(**arguments).fit(source)
    scores = model.transform(source)
    obsm, varm, uns = DEFAULT_PLACES if key_added == DEFAULT_KEY else (key_added,) * 3
    loadings = np.zeros((len(mask), model.n_components_))
    loadings[mask] = model.components_.T
    target.obsm[obsm] = scores
    target.varm[varm] = loadings
    names = np.asarray(source.feature_names, dtype=object)
    params = {"n_comps": n_comps, "cardinality": cardinality, "layer": layer, "mask_var": mask_var, **settings}
    # In types that anndata can write to a file.
    target.uns[uns] = {
        "variance": model.explained_variance_,
        "variance_ratio": model.explained_variance_ratio_,
        "supports": {f"SPC{i}": names[support] for i, support in enumerate(model.supports_, start=1)},
        "lower": model.lower_bound_,
        "upper": model.upper_bound_,
        "gap": model.gap_,
        "verdicts": np.asarray(model.verdicts_, dtype=object),
        "params": {name: _writable(value) for name, value in params.items() if value is not None},
    }
    return target if copy else None


def _mask(adata: "AnnData", given: Any) -> Mask:
    """Return which genes may be used."""
    if given is None:
        return np.ones(adata.n_vars, dtype=bool)
    if isinstance(given, str) and given not in adata.var:
        raise ValueError(f"mask_var names the column {given!r}, which adata.var does not have.")
    values = adata.var[given] if isinstance(given, str) else given
    mask = np.asarray(values, dtype=bool if is_bool_dtype(values) else None)
    if mask.dtype != bool or mask.shape != (adata.n_vars,) or not mask.any():
        raise ValueError(f"mask_var must have True or False for each of {adata.n_vars} variables, and a True.")
    return mask


def _writable(value: Any) -> Any:
    """Return a parameter as a number, a text, or several of them."""
    if isinstance(value, bool | int | float | str | np.generic | np.ndarray):
        return value
    return list(value) if isinstance(value, Iterable) else repr(value)
