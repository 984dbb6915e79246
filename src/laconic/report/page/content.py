"""Everything that a page says and shows, as plain numbers and texts. `laconic.report.page.html` turns it into HTML."""

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import check_time_limit
from laconic.model.stability import Stability
from laconic.report.page.left_out import LeftOut, left_out
from laconic.report.page.of_data import DataPart, data_part
from laconic.report.page.points import Points, check_one_a_row, points_of
from laconic.report.page.proofs import CertificateFiles, certificate_files
from laconic.report.page.sentences import answer, badge, beside_dense, count_of, total_for_shares

if TYPE_CHECKING:
    from laconic.model.choosing.choice import Choice
    from laconic.model.estimator import SparsePCA
    from laconic.model.noise import NoiseComparison

# All variables can be searched if there are at most this many; otherwise those that a component or a path uses.
MOST_SEARCHED = 20_000
# Seconds that a page may take for paths, and for scores of data in blocks, if the user gives no limit.
SECONDS = 10.0


@dataclass(frozen=True, eq=False)
class ComponentPart:
    """One component."""

    number: int  # from 1
    cardinality: int
    answer: str
    beside_dense: str
    badge: str
    verdict: str
    method: str
    features: list[int]  # with the largest loading first
    loadings: list[float]
    lower: float
    upper: float
    ratio: float  # the share of the total variance that it adds to the earlier ones; NaN if there are no shares
    frequencies: list[float] | None = None  # how often each feature is chosen again


@dataclass(frozen=True, eq=False)
class Content:
    """A page."""

    title: str
    n_features: int
    components: list[ComponentPart]
    together: str  # the sentence on all components
    total: float | None  # the total variance, None if shares of it make no sense
    names: list[str]  # of the variables in `shown`
    shown: Indices  # the variables that can be searched, in increasing order
    descriptions: dict[int, str]
    variances: Floats | None  # of all variables
    data: DataPart | None
    points: Points | None
    choice: "Choice | None"
    noise: "NoiseComparison | None"
    stability: Stability | None
    left_out: list[LeftOut]
    hints: list[str]
    missing: str  # a sentence about missing values; empty if there are none
    columns_left_out: str  # a sentence about columns that were not read
    certificates: list[CertificateFiles]
    settings: list[tuple[str, str]]
    python: str
    command: str
    digest: str
    versions: list[tuple[str, str]]
    notes: list[str] = field(default_factory=list)

    def name(self, feature: int) -> str:
        """Return the name of a variable."""
        return self.names[int(np.searchsorted(self.shown, feature))]


def content_of(
    model: "SparsePCA",
    X: Any = None,
    *,
    title: str | None = None,
    color_by: Any = None,
    labels: Any = None,
    descriptions: Mapping[str, str] | None = None,
    stability: Stability | None = None,
    time_limit: float | None = None,
    command: str = "",
    columns_left_out: str = "",
) -> Content:
    """Collect what a page says about a fitted model and, if they are given, the data. See `SparsePCA.to_html`.

    `command` is the line that made the model, and `columns_left_out` a sentence about columns that were not read.
    """
    check_time_limit(time_limit)
    _check(model, X, color_by, labels, stability)
    seconds = SECONDS if time_limit is None else time_limit
    data = None if X is None else data_part(model, X, seconds=seconds)
    points = None
    if X is not None and data is not None and data.given == "rows":
        points = points_of(model, X, color_by=color_by, labels=labels, seconds=seconds)
    elif color_by is not None or labels is not None:
        raise ValueError("color_by and labels are for rows, and X is a covariance matrix; leave them out.")
    files = certificate_files(model)
    constant = data.constant if data is not None and data.same else None
    out = left_out(model, constant)
    shown = _shown(model, data, out)
    given = getattr(model, "feature_names_in_", None)
    names = [str(j) if given is None else str(given[j]) for j in shown]
    about = {} if descriptions is None else {str(key): str(text) for key, text in descriptions.items()}
    certificate = next((c for c in model.certificates_ if c is not None), None)
    matrix = certificate is not None and certificate.recipe.given == "covariance"
    return Content(
        title=title or f"Sparse components of {count_of(model.n_features_in_)}",
        n_features=model.n_features_in_,
        components=[_component(model, place, stability) for place in range(model.n_components_)],
        together=model.joint_verdict_,
        total=total_for_shares(model),
        names=names,
        shown=shown,
        descriptions={int(j): about[name] for j, name in zip(shown, names, strict=True) if name in about},
        variances=None if data is None else data.variances,
        data=data,
        points=points,
        choice=model.choice_,
        noise=model.noise_,
        stability=stability,
        left_out=out,
        hints=list(model.hints_),
        missing=_missing_in_words(model),
        columns_left_out=columns_left_out,
        certificates=files,
        settings=[(name, repr(value)) for name, value in sorted(model.get_params(deep=False).items())],
        python=_python(model, "fit_covariance(S)" if matrix else "fit(X)"),
        command=command,
        digest="" if certificate is None else certificate.digest,
        versions=_versions() if certificate is None else list(certificate.versions.items()),
        notes=[] if data is None else list(data.notes),
    )


def _check(model: "SparsePCA", X: Any, color_by: Any, labels: Any, stability: Any) -> None:
    for name, value in (("color_by", color_by), ("labels", labels)):
        if value is not None and X is None:
            raise ValueError(f"{name} has one value for each row, and no rows are given; give X, too.")
        if value is not None:
            check_one_a_row(value, name, X)
    if stability is None:
        return
    if not isinstance(stability, Stability):
        raise ValueError(f"stability={stability!r} must be what laconic.stability returns.")
    if stability.frequencies.shape != model.components_.shape:
        raise ValueError(
            f"stability is about {len(stability.frequencies)} components of {stability.frequencies.shape[1]} features, "
            f"and the model has {model.n_components_} of {model.n_features_in_}; use the same settings for both."
        )


def _component(model: "SparsePCA", place: int, stability: Stability | None) -> ComponentPart:
    row, support = model.components_[place], model.supports_[place]
    order = support[np.argsort(-np.abs(row[support]), kind="stable")]
    ratio = float(model.explained_variance_ratio_[place]) if total_for_shares(model) is not None else np.nan
    return ComponentPart(
        number=place + 1,
        cardinality=int(model.cardinality_[place]),
        answer=answer(model, place),
        beside_dense=beside_dense(model, place),
        badge=badge(model, place),
        verdict=model.verdicts_[place],
        method=model.solutions_[place].method,
        features=order.tolist(),
        loadings=row[order].tolist(),
        lower=float(model.lower_bound_[place]),
        upper=float(model.upper_bound_[place]),
        ratio=ratio,
        frequencies=None if stability is None else stability.frequencies[place, order].tolist(),
    )


def _shown(model: "SparsePCA", data: DataPart | None, out: Sequence[LeftOut]) -> Indices:
    """Return the variables that can be searched: all, or of very many those that the page speaks of."""
    if model.n_features_in_ <= MOST_SEARCHED:
        return np.arange(model.n_features_in_)
    used = [*model.supports_, *(group.features for group in out)]
    if data is not None:
        used += [support for path in data.paths for support in path.supports]
    return np.unique(np.concatenate([np.asarray(part, dtype=np.intp) for part in used]))


def _missing_in_words(model: "SparsePCA") -> str:
    if model.missing_ is None:
        return ""
    count, columns = int(model.missing_.counts.sum()), int(np.count_nonzero(model.missing_.counts))
    way = "pairwise deletion" if model.missing_.way == "pairwise" else "EM"
    return f"{count:,} values of {count_of(columns)} are missing; the covariance was made by {way}."


def _python(model: "SparsePCA", call: str) -> str:
    """Return the Python call that makes the model: only settings that differ from the defaults."""
    default = type(model)().get_params(deep=False)
    given = {k: v for k, v in model.get_params(deep=False).items() if k != "progress" and repr(v) != repr(default[k])}
    settings = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"from laconic import SparsePCA\n\nmodel = SparsePCA({settings}).{call}"


def _versions() -> list[tuple[str, str]]:
    own = str(getattr(sys.modules["laconic"], "__version__", "unknown"))
    versions = {"laconic": own, "numpy": np.__version__, "scipy": scipy.__version__}
    return [*versions.items(), ("python", platform.python_version())]
