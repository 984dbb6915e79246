"""A fitted model as one file: `SparsePCA.save` and `laconic.load_model`. docs/model-format.md describes the format.

The file is a zip file of a JSON document and its arrays (`laconic.core.store`). It keeps what JSON has: parameters that
are plain values or solvers of laconic, and every fitted attribute with its certificates. The rest is refused.
"""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import laconic.methods as methods
from laconic.core.store import (
    MOST_BYTES,
    Budget,
    Decoder,
    classes_of,
    files_of,
    packed,
    read_document,
    unpacked,
    write_atomically,
)
from laconic.covariance.missing import MissingValues
from laconic.model.choosing import Choice
from laconic.model.estimator import OneOf, SparsePCA, Together
from laconic.proof.certificate import Certificate, stored_types, versions

FORM, SCHEMA, DOCUMENT = "laconic model", 1, "model.json"


def save_model(model: SparsePCA, path: str | PathLike[str]) -> Path:
    """Write a fitted model to one file and return its path. See `SparsePCA.save`."""
    if type(model) is not SparsePCA:
        raise TypeError(f"save writes a SparsePCA, and a {type(model).__name__} may have parts that would be lost.")
    place = Path(path)
    if place.is_dir():
        raise IsADirectoryError(f"{place} is a folder; give the name of a file, such as model.laconic.")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {place.parent} for {place.name}.")
    parameters = model.get_params(deep=False)
    kept = {name: value for name, value in vars(model).items() if name not in parameters}
    content = {"parameters": parameters, "attributes": kept, "versions": versions()}
    write_atomically(place, packed(files_of(content, DOCUMENT, form=FORM, schema=SCHEMA, known=_known())))
    return place


def load_model(path: str | PathLike[str], *, max_bytes: int = MOST_BYTES) -> SparsePCA:
    """Read a model that `SparsePCA.save` has written.

    The model has every fitted attribute and every parameter that it had. Nothing in the file is executed. A file that
    is damaged, or that is no model, raises a ValueError.

    Parameters
    ----------
    path : path
        The file.
    max_bytes : int, optional
        The most bytes that the parts of the file may have together after unpacking. A file that declares more is
        refused before it is unpacked.

    Returns
    -------
    SparsePCA
        The model.

    See Also
    --------
    SparsePCA.save : Writes the file.

    Examples
    --------
    >>> from laconic import SparsePCA, load_model
    >>> from laconic.datasets import load_senate109
    >>> path = SparsePCA(cardinality=5).fit(load_senate109().frame).save("votes.laconic")
    >>> load_model(path).verdicts_
    ['Optimal: no other support of this size reaches more variance (proved).']
    """
    place = Path(path)
    if not place.is_file():
        raise FileNotFoundError(f"There is no file {place}.")
    budget = Budget(max_bytes)
    if place.stat().st_size > max_bytes:
        budget.take(place.stat().st_size, place.name)
    parts = unpacked(place.read_bytes(), place.name, budget, FORM)
    if DOCUMENT not in parts:
        raise ValueError(f"{place.name} is no {FORM}: it has no {DOCUMENT}.")
    try:
        document, arrays = read_document(DOCUMENT, form=FORM, schema=SCHEMA, files=parts, budget=budget)
    except ValueError as error:
        raise ValueError(f"{place.name}: {error}") from None
    try:
        content = Decoder(arrays, _known()).decoded(Any, document["content"])
        model = SparsePCA(**content["parameters"])
        for name, value in content["attributes"].items():
            strange = name.startswith("__") or callable(getattr(SparsePCA, name, None))
            if strange or not (name.startswith("_") or name.endswith("_")):
                raise TypeError(f"{name} is no attribute of a fitted model")
            setattr(model, name, value)
        if content["attributes"].get("feature_names_in_") is not None:
            model.feature_names_in_ = np.array(model.feature_names_in_, dtype=object)
        _check(model)
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError, RecursionError) as error:
        raise ValueError(f"{place.name} is not as a model file should be: {error}.") from None
    return model


def certificate_files(model: SparsePCA) -> dict[str, Certificate | None]:
    """Return the certificates of a model by the names of their files: one a component, or one for all together."""
    count = len(model.certificates_)
    names = ["components"] if count == 1 < model.n_components_ else [f"component-{i}" for i in range(1, count + 1)]
    return {f"{name}.json": certificate for name, certificate in zip(names, model.certificates_, strict=True)}


def _known() -> dict[str, type]:
    """Return the classes that a model file may hold, by name."""
    solvers = [found for name in methods.__all__ if isinstance(found := getattr(methods, name), type)]
    return {**stored_types(), **classes_of(*solvers, Choice, MissingValues, OneOf, Together)}


def _check(model: SparsePCA) -> None:
    """Raise an error if the attributes of a model do not fit each other."""
    n, count = model.n_features_in_, model.n_components_
    names = getattr(model, "feature_names_in_", None)
    rows = [model.mean_, model.scale_, *([] if names is None else [names])]
    if model.components_.shape != (count, n) or count < 1 or any(row.shape != (n,) for row in rows):
        raise TypeError("the number of features or components differs between its parts")
    if not all(np.isfinite(array).all() for array in (model.components_, model.mean_, model.scale_)):
        raise TypeError("its components, means and scales are not all finite")
    if not (model.scale_ > 0).all():
        raise TypeError("a scale is not positive")
    for vector, support in zip(model.components_, model.supports_, strict=True):
        if not np.isin(np.flatnonzero(vector), support).all() or not np.isin(support, np.arange(n)).all():
            raise TypeError("a support is not that of its component")
    for name in ("verdicts_", "lower_bound_", "upper_bound_", "gap_"):
        if len(getattr(model, name)) != count:
            raise TypeError("not every component has its results")
