"""Sparse components of annotated data (AnnData), called in the manner of scanpy: `laconic.pp.sparse_pca(adata)`."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pandas.api.types import is_bool_dtype

from laconic.core.arrays import Mask
from laconic.data.cells import open_anndata
from laconic.data.rows import SelectedSource
from laconic.model.estimator import SparsePCA
from laconic.model.save import certificate_files

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["sparse_pca"]


def sparse_pca(
    adata: "AnnData",
    n_comps: int | None = 5,
    cardinality: int | Sequence[int] | None = 10,
    *,
    layer: str | None = None,
    mask_var: Any = None,
    key_added: str | None = None,
    copy: bool = False,
    return_model: bool = False,
    **settings: Any,
) -> "AnnData | SparsePCA | tuple[AnnData, SparsePCA] | None":
    """Find components that use few genes, and write them into an AnnData object.

    Give `sc.pp.neighbors` the scores with ``use_rep="X_spca"``. The cells of a backed object are read in blocks.

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
    key_added : str, optional
        The name of the results in `obsm`, `varm` and `uns`, instead of those below.
    copy : bool, default=False
        Write into a copy, and return it.
    return_model : bool, default=False
        Return the fitted `SparsePCA`, too, for `plot` and `report`. Its features are the genes of `mask_var`.
    **settings
        Further parameters of `SparsePCA`, such as ``proof="tight"``. Features are given by name.

    Returns
    -------
    AnnData, SparsePCA, both or None
        What `copy` and `return_model` ask for. The object has new fields, which `write_h5ad` and `write_zarr` keep.
        ``obsm["X_spca"]``: the scores, one row for each cell. ``varm["SPCs"]``: the loadings, one row for each gene;
        genes outside `mask_var` have zeros. ``uns["spca"]``: a dictionary. "variance" and "variance_ratio": what each
        component adds. "supports": the genes of "SPC1", "SPC2" and so on, largest loading first. "lower" and "upper":
        the proved bounds of its variance. "gap": their relative difference. "verdicts": what is proved, in words.
        "certificates": their files by name, which `Certificate.load` reads. "params": the arguments.

    See Also
    --------
    laconic.SparsePCA : The estimator behind this function.
    laconic.verify : Check a certificate.

    Examples
    --------
    >>> import anndata
    >>> import laconic
    >>> import numpy as np
    >>> cells = anndata.AnnData(np.random.default_rng(0).standard_normal((50, 8)))
    >>> laconic.pp.sparse_pca(cells, n_comps=2, cardinality=3)
    >>> cells.obsm["X_spca"].shape
    (50, 2)
    >>> kept = cells.uns["spca"]["certificates"]
    >>> certificate = laconic.Certificate.load("component-1.json", files=kept)
    >>> bool(laconic.verify(certificate, cells))
    True
    """
    if "n_components" in settings:
        raise TypeError("n_components is called n_comps here, as in scanpy; give n_comps=.")
    model = SparsePCA(n_comps, cardinality=cardinality, **settings)  # an unknown setting is an error, before any work
    target = adata.copy() if copy else adata
    source = open_anndata(target, layer=layer)
    mask = _mask(target, mask_var)
    if not mask.all():
        source = SelectedSource(source, np.flatnonzero(mask))
    model.fit(source)
    obsm, varm, uns = ("X_spca", "SPCs", "spca") if key_added is None else (key_added,) * 3
    loadings = np.zeros((len(mask), model.n_components_))
    loadings[mask] = model.components_.T
    target.obsm[obsm], target.varm[varm] = model.transform(source), loadings
    genes = model.loadings().groupby("component")["feature"]
    files: dict[str, bytes] = {}
    for name, certificate in certificate_files(model).items():
        files |= {} if certificate is None else certificate.files(name)
    params = {"n_comps": n_comps, "cardinality": cardinality, "layer": layer, "mask_var": mask_var, **settings}
    # In types that anndata can write to a file.
    target.uns[uns] = {
        "variance": model.explained_variance_,
        "variance_ratio": model.explained_variance_ratio_,
        "supports": {f"SPC{i}": names.to_numpy(dtype=object) for i, names in genes},
        "lower": model.lower_bound_,
        "upper": model.upper_bound_,
        "gap": model.gap_,
        "verdicts": np.asarray(model.verdicts_, dtype=object),
        "certificates": {k: v.decode() if k.endswith(".json") else np.frombuffer(v, "u1") for k, v in files.items()},
        "params": {name: _writable(value) for name, value in params.items() if value is not None},
    }
    if return_model:
        return (target, model) if copy else model
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
    plain = isinstance(value, int | float | str | np.generic | np.ndarray)
    return value if plain else list(value) if isinstance(value, Iterable) else repr(value)
