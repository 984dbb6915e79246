"""A fitted model as one file: `SparsePCA.save` and `laconic.load_model`. docs/model-format.md describes the format.

The file is a zip file of JSON, NPZ and certificates. Nothing in it is executed, and nothing is unpacked beyond a limit.
A checksum shows accidental damage. It does not stop a forger: `laconic.verify` does, for the certificates inside.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import warn
from laconic.core.store import (
    MOST_BYTES,
    Budget,
    checksum,
    json_text,
    packed,
    packed_arrays,
    unpacked,
    unpacked_arrays,
    write_atomically,
)
from laconic.covariance.missing import MissingValues
from laconic.data.names import check_unique
from laconic.model.choosing import Choice
from laconic.model.fitted import OneOf, Together
from laconic.model.storage_parameters import decoded_parameter, encoded_parameter
from laconic.model.storage_values import Encoder, ModelDecoder
from laconic.proof.certificate import Certificate
from laconic.proof.span_certificate import SpanCertificate
from laconic.proof.storage import certificate_files, read_certificate

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

NAME, SCHEMA = "laconic model", 1
DOCUMENT, ARRAYS = "model.json", "model.npz"
PARTS = {"format", "schema", "parameters", "fitted", "names_given", "output", "files"}
# A text of JSON may have this many bytes. In memory it takes up to thirty times as much.
MOST_TEXT = 100_000_000
# What `set_output` of scikit-learn takes.
OUTPUTS = ("default", "pandas", "polars")
# Attributes that are stored in another form.
OWN_FORM = {"_names_given", "_sklearn_output_config"}


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fitted attributes of a model as they are stored. Certificates are files of their own, here by their names."""

    n_components_: int
    n_features_in_: int
    feature_names_in_: tuple[str, ...] | None
    components_: Floats
    mean_: Floats
    scale_: Floats
    supports_: list[Indices]
    explained_variance_: Floats
    explained_variance_ratio_: Floats
    total_variance_: float
    lower_bound_: Floats
    upper_bound_: Floats
    gap_: Floats
    certificates_: list[str | None]
    verdicts_: list[str]
    hints_: list[str]
    missing_: MissingValues | None
    choice_: Choice | None
    _each: list[OneOf]
    _together: Together


def save_model(model: "SparsePCA", path: str | PathLike[str]) -> Path:
    """Write a fitted model to one file and return its path. See `SparsePCA.save`."""
    from laconic.model.estimator import SparsePCA

    if type(model) is not SparsePCA:
        raise TypeError(
            f"save writes a SparsePCA, and {type(model).__name__} may have more parts, which would be lost."
        )
    place = Path(path)
    if place.is_dir():
        raise IsADirectoryError(f"{place} is a folder; give the name of a file, such as model.laconic.")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {place.parent} for {place.name}.")
    write_atomically(place, packed(_parts(model)))
    return place


def load_model(path: str | PathLike[str], *, max_bytes: int = MOST_BYTES) -> "SparsePCA":
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
    parts = unpacked(place.read_bytes(), place.name, budget, NAME)
    document = _document(parts, place.name)
    try:
        return _model(document, parts, budget)
    except (TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{place.name} is not as a model file should be: {error}.") from None


def _parts(model: "SparsePCA") -> dict[str, bytes]:
    """Return the files inside the zip file: the document first, then its arrays and the certificates."""
    parameters = model.get_params(deep=False)
    certificates = {
        f"component-{number}.json" if isinstance(certificate, Certificate) else "components.json": certificate
        for number, certificate in enumerate(model.certificates_, start=1)
        if certificate is not None
    }
    witnesses = {id(found.witness): file for file, found in certificates.items() if isinstance(found, Certificate)}
    encoder = Encoder(witnesses)
    document: dict[str, Any] = {
        "format": NAME,
        "schema": SCHEMA,
        "parameters": {name: encoded_parameter(name, value, encoder) for name, value in parameters.items()},
        "fitted": encoder.encoded(_fitted(model, certificates)),
        "names_given": model._names_given,
        "output": dict(getattr(model, "_sklearn_output_config", {})),
    }
    _warn_of_lost(model, parameters, document["parameters"], encoder.lost)
    parts = {ARRAYS: packed_arrays(encoder.arrays)}
    for file, certificate in certificates.items():
        parts |= dict(reversed(certificate_files(certificate, file).items()))
    document["files"] = {file: hashlib.sha256(content).hexdigest() for file, content in parts.items()}
    document["checksum"] = checksum(document)
    parts = {DOCUMENT: json_text(document), **parts}
    long = next((file for file, content in parts.items() if _is_text(file) and len(content) > MOST_TEXT), None)
    if long is not None:
        raise ValueError(
            f"{long} of the model would have {len(parts[long]):,} bytes, and a text in a model file has at most "
            f"{MOST_TEXT:,}; give the features shorter names."
        )
    return parts


def _is_text(file: str) -> bool:
    return file.endswith(".json")


def _fitted(model: "SparsePCA", certificates: Mapping[str, Certificate | SpanCertificate]) -> Fitted:
    names = getattr(model, "feature_names_in_", None)
    files = {id(certificate): file for file, certificate in certificates.items()}
    own: dict[str, Any] = {
        "feature_names_in_": None if names is None else tuple(names),
        "certificates_": [files.get(id(certificate)) for certificate in model.certificates_],
    }
    others = [part.name for part in fields(Fitted) if part.name not in own]
    missing = [name for name in others if not hasattr(model, name)]
    if missing:
        raise ValueError(f"The fit was not completed: the model has no {missing[0]}; fit it again before you save it.")
    return Fitted(**own, **{name: getattr(model, name) for name in others})


def _warn_of_lost(
    model: "SparsePCA", parameters: Mapping[str, Any], encoded: Mapping[str, Any], witnesses: set[str]
) -> None:
    """Warn of everything that the file does not hold."""
    known = {part.name for part in fields(Fitted)} | set(parameters) | OWN_FORM
    lost = sorted(set(vars(model)) - known) + [f"the witness of a solver, a {name}" for name in sorted(witnesses)]
    code = [
        f"the code of {name}={value['what']}"
        for name, value in encoded.items()
        if isinstance(value, dict) and value.get("type") == "not kept"
    ]
    if lost or code:
        warn(f"The model file does not hold {', '.join(lost + code)}.")


def _document(parts: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """Return the document of a model, once it is known to be whole. A ValueError says what is wrong with it."""
    if DOCUMENT not in parts:
        raise ValueError(f"{name} is no {NAME}: it has no {DOCUMENT}.")
    long = next((part for part in parts if not part.endswith(".npz") and len(parts[part]) > MOST_TEXT), None)
    if long is not None:
        raise ValueError(f"{long} in {name} has more than {MOST_TEXT:,} bytes, which is the limit of a text.")
    try:
        document = json.loads(parts[DOCUMENT])
    except (ValueError, RecursionError):
        raise ValueError(f"{name} was altered: its {DOCUMENT} is no JSON.") from None
    if not isinstance(document, dict) or document.get("format") != NAME:
        raise ValueError(f"{name} is no {NAME}.")
    if document.get("schema") != SCHEMA:
        raise ValueError(
            f"{name} has schema {document.get('schema')!r}, and this version of laconic reads {SCHEMA}; read it with "
            "the version that wrote it, or a later one."
        )
    if set(document) != {*PARTS, "checksum"} or document["checksum"] != _checksum(document):
        raise ValueError(f"{name} was altered: its checksum does not fit its content.")
    found = {part: hashlib.sha256(content).hexdigest() for part, content in parts.items() if part != DOCUMENT}
    if document["files"] != found:
        raise ValueError(f"{name} was altered: its parts are not those that {DOCUMENT} lists.")
    return document


def _checksum(document: dict[str, Any]) -> str:
    try:
        return checksum(document)
    except ValueError:  # NaN, which is no JSON
        return ""


def _model(document: dict[str, Any], parts: Mapping[str, bytes], budget: Budget) -> "SparsePCA":
    from laconic.model.estimator import SparsePCA

    certificates = {
        file: read_certificate(file, parts, budget) for file in parts if _is_text(file) and file != DOCUMENT
    }
    witnesses = {file: found.witness for file, found in certificates.items() if isinstance(found, Certificate)}
    if ARRAYS not in parts:
        raise TypeError(f"{ARRAYS} is missing")
    decoder = ModelDecoder(unpacked_arrays(parts[ARRAYS], ARRAYS, budget), witnesses)
    fitted: Fitted = decoder.decoded(Fitted, document["fitted"])
    parameters = document["parameters"]
    unknown = set(parameters) - set(SparsePCA().get_params()) if isinstance(parameters, dict) else {"parameters"}
    if unknown:
        raise TypeError(f"this version of laconic does not know {', '.join(sorted(unknown))}")
    model = SparsePCA(**{name: decoded_parameter(value, decoder) for name, value in parameters.items()})
    attributes = {part.name: getattr(fitted, part.name) for part in fields(Fitted)}
    attributes["certificates_"] = [_certificate(name, certificates) for name in fitted.certificates_]
    names = attributes.pop("feature_names_in_")
    for attribute, value in attributes.items():
        setattr(model, attribute, value)
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    _check(model)
    model._names_given = decoder.decoded(bool, document["names_given"])
    output = decoder.decoded(dict[str, str], document["output"])
    if output:
        if set(output) != {"transform"} or output["transform"] not in OUTPUTS:
            raise TypeError(f"the output of transform must be one of {', '.join(OUTPUTS)}")
        model._sklearn_output_config = output
    return model


def _certificate(name: str | None, certificates: Mapping[str, Any]) -> Any:
    if name is not None and name not in certificates:
        raise TypeError(f"the certificate {name} is missing")
    return None if name is None else certificates[name]


def _check(model: "SparsePCA") -> None:
    """Raise a TypeError if the attributes of a model do not fit each other."""
    n, count = model.n_features_in_, model.n_components_
    names = getattr(model, "feature_names_in_", None)
    rows = [model.mean_, model.scale_] + ([] if names is None else [names])
    if model.components_.shape != (count, n) or count < 1 or any(row.shape != (n,) for row in rows):
        raise TypeError("the number of features or components differs between its parts")
    if names is not None:
        check_unique(names, name="it has the feature")
    numbers = [model.components_, model.mean_, model.scale_]
    if not all(np.isfinite(array).all() for array in numbers) or not (model.scale_ > 0).all():
        raise TypeError("its components, means and scales are not all finite")
    each = ("supports_", "verdicts_", "lower_bound_", "upper_bound_", "gap_", "_each")
    if any(len(getattr(model, name)) != count for name in each):
        raise TypeError("not every component has its results")
    together = len(model.certificates_) == 1 and isinstance(model.certificates_[0], SpanCertificate)
    certificates = [None] * count if together or len(model.certificates_) != count else model.certificates_
    if len(model.certificates_) != (1 if together else count) and any(model.certificates_):
        raise TypeError("not every component has its certificate")
    for vector, support, certificate in zip(model.components_, model.supports_, certificates, strict=True):
        inside = support.ndim == 1 and ((support >= 0) & (support < n)).all()
        if not inside or not np.array_equal(np.flatnonzero(vector), np.sort(support[vector[support] != 0])):
            raise TypeError("a support is not that of its component")
        if certificate is not None and not np.array_equal(vector[certificate.support], certificate.loadings):
            raise TypeError("a certificate is about another component")
