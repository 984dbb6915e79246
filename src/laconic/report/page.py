"""A page about a model: everything that it says and shows, and the HTML of it.

It is for readers who do not know laconic: without words of Python, and a feature is a column. All text from data passes
one of two walls: the template escapes it, or `numbers_of` does inside the script of numbers. A policy in the page's
head allows only the scripts and styles whose digests are given, and no network.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup
except ImportError:
    raise ImportError('The page needs jinja2: pip install "laconic[app]".') from None

from laconic.core.arrays import Indices
from laconic.core.monitor import check_time_limit
from laconic.core.store import write_atomically
from laconic.core.words import memory_in_words, percent
from laconic.covariance.make import Made
from laconic.model.save import certificate_files
from laconic.model.settings import changed_settings
from laconic.proof.certificate import Certificate, versions
from laconic.proof.gate import relative_gap
from laconic.report.page_data import (
    IN_BLOCKS,
    NO_ROWS,
    DataPart,
    PathPart,
    Points,
    data_part,
    in_blocks,
    is_of_fit,
    opened,
    points_of,
)
from laconic.report.sentences import (
    amount,
    answer,
    badge,
    count_of,
    found_in_words,
    in_columns,
    prepared,
    proof_in_words,
    share_of,
    together,
    total_for_shares,
)

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA
    from laconic.model.stability import Stability

# All columns can be searched if there are at most this many; otherwise those that a component or a path uses.
MOST_SEARCHED = 20_000
# A page carries certificates of at most this many bytes. The text of a link is a third longer than the bytes.
MOST_BYTES = 2_000_000
# The code for a table without a file names at most this many columns.
MOST_IN_CODE = 60
# A table of loadings shows at most this many columns; all of them can be searched.
MOST_ROWS = 25
# The answer names at most this many columns of a component, with at most this many letters each.
MOST_NAMED, MOST_LETTERS = 6, 45
# Significant digits of numbers that are only drawn.
DIGITS = 5
# The characters that could end a script, or that are line breaks in some scripts but not in JSON.
ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
# The style that the library of charts writes into each picture; the policy allows it by its digest.
CHART_STYLE = """:where(.plot-d6a7b5) {
  --plot-background: white;
  display: block;
  height: auto;
  height: intrinsic;
  max-width: 100%;
}
:where(.plot-d6a7b5 text),
:where(.plot-d6a7b5 tspan) {
  white-space: pre;
}"""


@dataclass(frozen=True, eq=False)
class ComponentPart:
    """One component."""

    number: int  # from 1
    answer: str
    badge: str
    share: str  # of the variance, in words
    features: list[int]  # with the largest loading first
    loadings: list[float]
    frequencies: list[float] | None = None  # how often each feature is chosen again


@dataclass(frozen=True)
class CertificateFiles:
    """The files of one certificate."""

    component: int | None  # None for the certificate of all components together
    badge: str
    files: tuple[tuple[str, bytes], ...]  # name and content, the JSON file first; empty if they are too large
    size: int  # in bytes


@dataclass(frozen=True, eq=False)
class Content:
    """A page."""

    title: str
    model: "SparsePCA"
    components: list[ComponentPart]
    total: float | None  # the total variance, None if shares of it make no sense
    names: list[str]  # of the columns in `shown`
    shown: Indices  # the columns that can be searched, in increasing order
    descriptions: dict[int, str]
    data: DataPart | None
    points: Points | None
    stability: "Stability | None"
    left_out: list[int]  # the columns that do not vary
    prepared: str  # a sentence about what was done to the columns first
    not_used: Sequence[str]  # the columns of the table that were not used, by name
    hints: list[str]  # facts about the data
    certificates: list[CertificateFiles]
    certificate: Certificate | None  # the first one
    python: str
    command: str

    def name(self, feature: int) -> str:
        """Return the name of a column."""
        return self.names[int(np.searchsorted(self.shown, feature))]


def content_of(
    model: "SparsePCA",
    X: Any = None,
    *,
    title: str | None = None,
    color: Any = None,
    labels: Any = None,
    descriptions: Mapping[str, str] | None = None,
    stability: "Stability | None" = None,
    time_limit: float | None = None,
    command: str = "",
    reading: str = "",
    not_used: Sequence[str] = (),
    made: Made | None = None,
) -> Content:
    """Collect what a page says about a fitted model and, if they are given, the data. See `SparsePCA.to_html`.

    `command` is the line that made the model, `reading` the Python code that reads the data, `not_used` the columns of
    the table that were not used, and `made` the covariance that the model was fitted to, if it is at hand. If a curve
    meets a better set for a component, the model has it afterwards.
    """
    check_time_limit(time_limit)
    _check(model, X, color, labels, stability)
    data, points = None, None
    if X is not None:
        same = made is not None
        made = made or opened(model, X)
        same = same or (made is not None and is_of_fit(model, made))
        data = data_part(model, X, made, same=same, time_limit=time_limit)
        blocks = data.given == "rows" and (in_blocks(X) if made is None else not made.in_memory)
        if data.given == "rows" and not blocks:
            points = points_of(model, X, made, color=color, labels=labels)
        elif color is not None or labels is not None:
            raise ValueError("color and labels are for rows in memory; leave them out.")
        if blocks and IN_BLOCKS not in data.notes:
            data.notes.append(NO_ROWS)
    out = _left_out(model, data)
    shown = _shown(model, data, out)
    own = getattr(model, "feature_names_in_", None)
    names = [str(j) if own is None else str(own[j]) for j in shown]
    about = {} if descriptions is None else {str(key): str(text) for key, text in descriptions.items()}
    certificate = next((one for one in model.certificates_ if one is not None), None)
    given = data.given if certificate is None and data is not None else certificate and certificate.recipe.given
    return Content(
        model=model,
        title=title or f"Components of {count_of(model.n_features_in_)}",
        components=[_component(model, place, stability) for place in range(model.n_components_)],
        total=total_for_shares(model),
        names=names,
        shown=shown,
        descriptions={int(j): about[name] for j, name in zip(shown, names, strict=True) if name in about},
        data=data,
        points=points,
        stability=stability,
        left_out=out,
        prepared=prepared(model, given == "covariance"),
        not_used=not_used,
        hints=[_fact(hint) for hint in model.hints_],
        certificates=_certificate_files(model),
        certificate=certificate,
        python=_python(model, given == "covariance", reading),
        command=command,
    )


def _check(model: "SparsePCA", X: Any, color: Any, labels: Any, stability: "Stability | None") -> None:
    for name, value in (("color", color), ("labels", labels)):
        if value is not None and X is None:
            raise ValueError(f"{name} has one value for each row, and no rows are given; give X, too.")
    if stability is None:
        return
    if not hasattr(stability, "frequencies"):
        raise ValueError(f"stability={stability!r} must be what laconic.stability returns.")
    if stability.frequencies.shape != model.components_.shape:
        raise ValueError(
            f"stability is about {len(stability.frequencies)} components of {stability.frequencies.shape[1]} features, "
            f"and the model has {model.n_components_} of {model.n_features_in_}; use the same settings for both."
        )


def _component(model: "SparsePCA", place: int, stability: "Stability | None") -> ComponentPart:
    row, support = model.components_[place], model.supports_[place]
    order = support[np.argsort(-np.abs(row[support]), kind="stable")]
    return ComponentPart(
        number=place + 1,
        answer=answer(model, place),
        badge=badge(model, place),
        share=share_of(model, place),
        features=order.tolist(),
        loadings=row[order].tolist(),
        frequencies=None if stability is None else stability.frequencies[place, order].tolist(),
    )


def _shown(model: "SparsePCA", data: DataPart | None, out: Sequence[int]) -> Indices:
    """Return the columns that can be searched: all, or of very many those that the page speaks of."""
    if model.n_features_in_ <= MOST_SEARCHED:
        return np.arange(model.n_features_in_)
    used: list[Any] = [*model.supports_, out]
    if data is not None:
        used += [support for path in data.paths for support in path.supports]
    return np.unique(np.concatenate([np.asarray(part, dtype=np.intp) for part in used]))


def _left_out(model: "SparsePCA", data: DataPart | None) -> list[int]:
    """Return the columns that do not vary: of the data of the fit, or those that the first certificate forbids."""
    if data is not None and data.same:
        return data.constant
    first = model.certificates_[0] if model.certificates_ else None
    if first is None or first.allowed is None:
        return []
    return [int(j) for j in np.setdiff1d(np.arange(first.n_features), first.allowed)]


def _certificate_files(model: "SparsePCA") -> list[CertificateFiles]:
    """Return the files of all certificates of a model, the first ones with their content as long as a page can bear."""
    room, result = MOST_BYTES, []
    for place, (name, certificate) in enumerate(certificate_files(model).items()):
        if certificate is None:
            continue
        written = tuple(sorted(certificate.files(name).items(), key=lambda item: item[0] != name))
        size = sum(len(content) for _, content in written)
        fits = size <= room
        room -= size if fits else 0
        number = None if name == "components.json" else place + 1
        result.append(CertificateFiles(number, badge(model, place), written if fits else (), size))
    return result


def _fact(hint: str) -> str:
    """Return what a hint says about the data, without the remedy after the semicolon, which is for programmers."""
    return re.split(r"; (?=if |leave |keep |give )", hint)[0].rstrip(".") + "."


def _python(model: "SparsePCA", matrix: bool, reading: str) -> str:
    """Return Python code that makes the model again. `reading` is the code that reads the data, if it is known."""
    data, fit = ("S", "fit_covariance") if matrix else ("X", "fit")
    lines, names = [f"{data} = {reading}"] if reading else [], getattr(model, "feature_names_in_", ())
    if not reading and not matrix and not model._names_given and 0 < len(names) <= MOST_IN_CODE:
        lines.append(f"X = X[{[str(name) for name in names]!r}]")
    own = {type(value).__name__ for value in model.get_params(deep=False).values() if hasattr(value, "solve")}
    methods = [f"from laconic.methods import {name}" for name in sorted(own)]
    lines += [f"model = SparsePCA({changed_settings(model)}).{fit}({data})", f'model.report({data}, "page.html")']
    read = ", read_table" if reading.startswith("read_table(") else ""
    return "\n".join([f"from laconic import SparsePCA{read}", *methods, "", *lines])


def write_page(html: str, path: str | PathLike[str]) -> Path:
    """Write a page to a file, which appears when it is complete, and return its path."""
    place = Path(path)
    try:
        # Half of a pair of code units, which a badly decoded name may hold, has no bytes.
        write_atomically(place, html.encode(errors="backslashreplace"))
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(place)) from None
    return place


def rendered(content: Content) -> str:
    """Return the HTML of a page."""
    assets = files("laconic.report").joinpath("page_assets")
    style, charts, script, template = (
        assets.joinpath(name).read_text(encoding="utf-8")
        for name in ("page.css", "charts.min.js", "page.js", "page.html.jinja")
    )
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters.update(FILTERS)
    return environment.from_string(template).render(
        page=content,
        # Our own files, and JSON that is escaped already.
        style=Markup(style),
        scripts=[Markup(charts), Markup(script)],
        numbers=Markup(numbers_of(content)),
        policy=_policy([charts, script], [style, CHART_STYLE]),
        most_rows=MOST_ROWS,
        named=MOST_NAMED,
        together=together(content.model),
        versions=versions() if content.certificate is None else content.certificate.versions,
    )


def _policy(scripts: list[str], styles: list[str]) -> str:
    """Return a Content-Security-Policy: nothing is loaded, and only these scripts and styles count."""

    def allowed(texts: list[str]) -> str:
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        return " ".join(f"'sha256-{digest}'" for digest in digests)

    return (
        f"default-src 'none'; script-src {allowed(scripts)}; style-src {allowed(styles)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def numbers_of(content: Content) -> str:
    """Return the numbers of a page, for the script that draws the pictures, as JSON that is safe inside a script."""
    percent = 1.0 if content.total is None else 100 / content.total
    place = {int(j): i for i, j in enumerate(content.shown)}
    data = DataPart() if content.data is None else content.data
    variances, scree = data.variances, data.scree
    document: dict[str, Any] = {
        "unit": "variance" if content.total is None else "% of the variance",
        "names": content.names,
        "about": [[place[j], text] for j, text in content.descriptions.items()],
        "variances": None if variances is None else _short(variances[content.shown] * percent),
        "components": [
            {
                "features": [place[j] for j in one.features],
                "loadings": _short(one.loadings),
                "share": "" if content.total is None else one.share,
            }
            for one in content.components
        ],
        "leftOut": [place[j] for j in content.left_out],
        "paths": [_path(content, path, percent, place) for path in data.paths],
        "scree": scree
        and {
            "found": _short(scree.variances * percent),
            "noise": None if scree.noise_line is None else _short(scree.noise_line * percent),
        },
        "points": content.points and _points(content.points),
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(ESCAPES)


def path_in_words(content: Content, path: PathPart, i: int) -> str:
    """Return what a set of columns on a curve holds or adds, and what is proved, in sentences."""
    number, k, found = path.component, path.cardinalities[i], path.found[i]
    first = found_in_words(number, k, amount(found, content.total))
    gap = relative_gap(found, path.upper[i])
    return f"{first}. {proof_in_words(k, gap, content.model.n_features_in_, earlier=number - 1)}"


def _path(content: Content, path: PathPart, percent: float, place: dict[int, int]) -> dict[str, Any]:
    return {
        "component": path.component,
        "k": path.cardinalities,
        "found": _short(np.multiply(path.found, percent)),
        "upper": _short(np.multiply(path.upper, percent)),
        "features": [[place[j] for j in support] for support in path.supports],
        "loadings": [_short(loadings) for loadings in path.loadings],
        "words": [path_in_words(content, path, i) for i in range(len(path.cardinalities))],
        "chosen": path.chosen,
    }


def _points(points: Points) -> dict[str, Any]:
    own = {name: getattr(points, name) for name in ("labels", "groups", "sizes", "codes", "ordered")}
    return {"scores": [_short(column) for column in points.scores.T], "rows": points.rows.tolist(), **own}


def _short(values: Iterable[float]) -> list[float | None]:
    """Return numbers with few digits, and None for those that are not finite."""
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values]


def _shortened(text: str, most: int = MOST_LETTERS) -> str:
    """Return a text of at most so many letters. A longer one loses its middle: many names begin alike."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half].rstrip()}\u2026{text[half + 1 - most :].lstrip()}"


FILTERS: dict[str, Any] = {
    "repr": repr,
    "data_link": lambda content: "data:application/octet-stream;base64," + base64.b64encode(content).decode(),
    "loading": lambda value: f"{value:+.3f}".replace("-", "\u2212"),
    "tied": lambda text: text.replace(" %", "\u00a0%"),
    "percent": lambda share: percent(share).replace(" ", "\u00a0"),
    "in_columns": in_columns,
    "memory": memory_in_words,
    "count_of": count_of,
    "name_of": lambda feature, page: page.name(feature),
    "short": _shortened,
}
