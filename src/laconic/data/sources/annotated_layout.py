"""Where annotated data keep their matrix and the names of the variables, in files of every age.

`root` is an open HDF5 file or Zarr group. Sparse matrices have the attribute "encoding-type", or "h5sparse_format" in
files from before 2020. These old files also keep the variables in one table.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np


def matrix_in(root: Any, key: str, name: str) -> tuple[Any, str, tuple[int, int]]:
    """Return the array or group at "X", "raw/X" or "layers/counts", its form (dense, csr or csc), and its shape."""
    if key not in root:
        layers = list(root["layers"]) if "layers" in root else []
        wanted = "no X" if key == "X" else "no raw.X" if key == "raw/X" else f"no layer {key.removeprefix('layers/')!r}"
        raise ValueError(f"{name} has {wanted}; {layers_in_words(layers)}.")
    node = root[key]
    if hasattr(node, "shape"):
        check_numbers(node.dtype, name)
        if len(node.shape) != 2:
            raise ValueError(f"{name} has an array with {len(node.shape)} dimensions in {key}; give one with rows.")
        return node, "dense", node.shape
    kind = str(node.attrs.get("encoding-type", node.attrs.get("h5sparse_format", "")))[:3]
    if kind not in ("csr", "csc") or any(part not in node for part in ("data", "indices", "indptr")):
        raise ValueError(f"{name} has no matrix of numbers in {key}; write it with anndata.")
    check_numbers(node["data"].dtype, name)
    n, p = (int(size) for size in node.attrs.get("shape", node.attrs.get("h5sparse_shape")))
    return node, kind, (n, p)


def variables_in(root: Any, key: str, name: str) -> list[str]:
    """Return the names of the variables that belong to a matrix."""
    table = "raw/var" if key == "raw/X" else "var"
    try:
        var = root[table]
        if hasattr(var, "dtype"):
            index = var[:][next(field for field in ("index", "_index") if field in var.dtype.names)]
        else:
            index = var[str(var.attrs["_index"])]
            # Text that may be missing is a group of values and a mask.
            index = (index if hasattr(index, "dtype") else index["values"])[:]
    except (KeyError, StopIteration) as error:
        raise ValueError(f"{name} has no names of variables; write it with anndata.") from error
    return [value.decode() if isinstance(value, bytes) else str(value) for value in index]


def layers_in_words(layers: Iterable[str]) -> str:
    """Return what can be given instead, for errors."""
    names = ", ".join(repr(layer) for layer in sorted(layers))
    return f"its layers are {names}" if names else "it has no layers"


def check_numbers(dtype: Any, name: str) -> None:
    """Raise a ValueError if entries are not real numbers."""
    if np.dtype(dtype).kind not in "biuf":
        raise ValueError(f"{name} holds entries of type {dtype}; give real numbers.")
