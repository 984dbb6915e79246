"""A page about a model: everything that it says and shows, and the HTML of it.

In sentences, what is found is rounded down, and what is proved is rounded up. All text from data passes one of two
walls: the template escapes it, or `numbers_of` does inside the script of numbers. A policy in the page's head allows
only the scripts and styles whose digests are given, and no network.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
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

from laconic.core.arrays import PROVED, Indices
from laconic.core.monitor import check_time_limit
from laconic.core.store import write_atomically
from laconic.core.words import at_least, at_most, counted, memory_in_words, percent
from laconic.covariance.make import Made
from laconic.model.joint import RIVALS
from laconic.model.save import certificate_files
from laconic.model.settings import changed_settings
from laconic.proof.certificate import Certificate, versions
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

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA
    from laconic.model.stability import Stability

# All variables can be searched if there are at most this many; otherwise those that a component or a path uses.
MOST_SEARCHED = 20_000
# Seconds that a page may take for paths, if the user gives no limit.
SECONDS = 10.0
# A list of variables that were left out names at most this many.
MOST_LEFT_OUT = 200
# A page carries certificates of at most this many bytes. The text of a link is a third longer than the bytes.
MOST_BYTES = 2_000_000
NO_PROOF = "nothing is proved about other sets of variables."
# A table of loadings shows at most this many variables; all of them can be searched.
MOST_ROWS = 25
# The answer names at most this many variables of a component, with at most this many letters each.
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
    beside_dense: str
    badge: str
    verdict: str
    features: list[int]  # with the largest loading first
    loadings: list[float]
    ratio: float  # the share of the total variance that it adds to the earlier ones; NaN if there are no shares
    frequencies: list[float] | None = None  # how often each feature is chosen again


@dataclass(frozen=True)
class CertificateFiles:
    """The files of one certificate."""

    component: int | None  # None for the certificate of all components together
    verdict: str
    files: tuple[tuple[str, bytes], ...]  # name and content, the JSON file first; empty if they are too large
    size: int  # in bytes


@dataclass(frozen=True, eq=False)
class Content:
    """A page."""

    title: str
    model: "SparsePCA"
    components: list[ComponentPart]
    total: float | None  # the total variance, None if shares of it make no sense
    names: list[str]  # of the variables in `shown`
    shown: Indices  # the variables that can be searched, in increasing order
    descriptions: dict[int, str]
    data: DataPart | None
    points: Points | None
    stability: "Stability | None"
    left_out: list[int]  # the variables that do not vary
    missing: str  # a sentence about missing values; empty if there are none
    columns_left_out: str  # a sentence about columns that were not read
    certificates: list[CertificateFiles]
    certificate: Certificate | None  # the first one
    python: str
    command: str

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
    stability: "Stability | None" = None,
    time_limit: float | None = None,
    command: str = "",
    columns_left_out: str = "",
    made: Made | None = None,
) -> Content:
    """Collect what a page says about a fitted model and, if they are given, the data. See `SparsePCA.to_html`.

    `command` is the line that made the model, `columns_left_out` a sentence about columns that were not read, and
    `made` the covariance that the model was fitted to, if it is at hand.
    """
    check_time_limit(time_limit)
    _check(model, X, color_by, labels, stability)
    seconds = SECONDS if time_limit is None else time_limit
    data, points = None, None
    if X is not None:
        same = made is not None
        made = made or opened(model, X)
        data = data_part(model, X, made, same=same or (made is not None and is_of_fit(model, made)), seconds=seconds)
        blocks = data.given == "rows" and (in_blocks(X) if made is None else not made.in_memory)
        if data.given == "rows" and not blocks:
            points = points_of(model, X, made, color_by=color_by, labels=labels)
        elif color_by is not None or labels is not None:
            raise ValueError("color_by and labels are for rows in memory; leave them out.")
        if blocks and IN_BLOCKS not in data.notes:
            data.notes.append(NO_ROWS)
    out = _left_out(model, data)
    shown = _shown(model, data, out)
    given = getattr(model, "feature_names_in_", None)
    names = [str(j) if given is None else str(given[j]) for j in shown]
    about = {} if descriptions is None else {str(key): str(text) for key, text in descriptions.items()}
    certificate = next((one for one in model.certificates_ if one is not None), None)
    given_to_fit = data.given if certificate is None and data is not None else certificate and certificate.recipe.given
    call = "fit_covariance(S)" if given_to_fit == "covariance" else "fit(X)"
    return Content(
        model=model,
        title=title or f"Sparse components of {count_of(model.n_features_in_)}",
        components=[_component(model, place, stability) for place in range(model.n_components_)],
        total=total_for_shares(model),
        names=names,
        shown=shown,
        descriptions={int(j): about[name] for j, name in zip(shown, names, strict=True) if name in about},
        data=data,
        points=points,
        stability=stability,
        left_out=out,
        missing=_missing_in_words(model),
        columns_left_out=columns_left_out,
        certificates=_certificate_files(model),
        certificate=certificate,
        python=f"from laconic import SparsePCA\n\nmodel = SparsePCA({changed_settings(model)}).{call}",
        command=command,
    )


def _check(model: "SparsePCA", X: Any, color_by: Any, labels: Any, stability: "Stability | None") -> None:
    for name, value in (("color_by", color_by), ("labels", labels)):
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
    ratio = float(model.explained_variance_ratio_[place]) if total_for_shares(model) is not None else np.nan
    return ComponentPart(
        number=place + 1,
        answer=answer(model, place),
        beside_dense=beside_dense(model, place),
        badge=badge(model, place),
        verdict=model.verdicts_[place],
        features=order.tolist(),
        loadings=row[order].tolist(),
        ratio=ratio,
        frequencies=None if stability is None else stability.frequencies[place, order].tolist(),
    )


def _shown(model: "SparsePCA", data: DataPart | None, out: Sequence[int]) -> Indices:
    """Return the variables that can be searched: all, or of very many those that the page speaks of."""
    if model.n_features_in_ <= MOST_SEARCHED:
        return np.arange(model.n_features_in_)
    used: list[Any] = [*model.supports_, out[:MOST_LEFT_OUT]]
    if data is not None:
        used += [support for path in data.paths for support in path.supports]
    return np.unique(np.concatenate([np.asarray(part, dtype=np.intp) for part in used]))


def _left_out(model: "SparsePCA", data: DataPart | None) -> list[int]:
    """Return the variables that do not vary: of the data of the fit, or those that the first certificate forbids."""
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
        result.append(CertificateFiles(number, certificate.verdict, written if fits else (), size))
    return result


def _missing_in_words(model: "SparsePCA") -> str:
    if model.missing_ is None:
        return ""
    count, columns = int(model.missing_.counts.sum()), int(np.count_nonzero(model.missing_.counts))
    left_out = f"{model.missing_.rows:,} rows with missing values were left out"
    ways = {"pairwise": "the covariance was made by pairwise deletion", "em": "the covariance was made by EM"}
    return f"{count:,} values of {count_of(columns)} are missing; {ways.get(model.missing_.way, left_out)}."


def total_for_shares(model: "SparsePCA") -> float | None:
    """Return the total variance if shares of it make sense, else None: a matrix may not be positive semidefinite."""
    total = float(model.total_variance_)
    most = np.nanmax([model._together.held, model._together.dense, *model.lower_bound_])
    return total if total > 0 and most <= total * (1 + 1e-9) else None


def amount_at_least(value: float, total: float | None) -> str:
    """Return a variance, or its share of a total, rounded down."""
    return at_least(value, 4) if total is None else _share(value / total, ROUND_FLOOR)


def amount_at_most(value: float, total: float | None) -> str:
    """Return a variance, or its share of a total, rounded up."""
    return at_most(value, 4) if total is None else _share(value / total, ROUND_CEILING)


def _share(share: float, rounding: str) -> str:
    """Return a percentage with three digits, zeros at the end included: "19.0 %", "100 %"."""
    percent = 100 * Decimal(share)
    decimals = 2 - percent.adjusted() if percent else 0
    return f"{percent.quantize(Decimal(1).scaleb(-max(decimals, 0)), rounding):f}\u00a0%"


def count_of(number: int) -> str:
    """Return a number of variables in words: "1 variable", "5 variables"."""
    return counted(number, "variable")


def answer(model: "SparsePCA", place: int) -> str:
    """Return what a component keeps, and what is proved of all others of its size, in one sentence."""
    total, scope = total_for_shares(model), model._each[place].scope
    number, k = place + 1, len(model.supports_[place])
    lower, upper = float(model.lower_bound_[place]), float(model.upper_bound_[place])
    sign = " and no negative loading" if model.nonnegative else ""
    amount = amount_at_least(lower, total)
    if model._joint is not None:
        verb, others = ("add", " to the other components") if model._joint == "span" else ("hold", "")
        adds = f"{verb}s {amount} of the variance" if total is not None else f"{verb}s a variance of {amount}"
        first = f"Component {number} {adds}{scope.matrix}{others} with {count_of(k)}{sign}"
        claim = f"beside the others as they are, {RIVALS[model._joint]}{scope.supports} can {verb} more"
        return f"{first}; {proof_in_words(lower, upper, claim, total) or NO_PROOF}"
    earlier = f"components 1 {'and' if place == 2 else 'to'} {place} are" if place > 1 else "component 1 is"
    after = f"After {earlier} taken out, component" if " after component" in scope.setting else "Component"
    of = f"keeps {amount} of the variance" if total is not None else f"has a variance of {amount}"
    first = f"{after} {number} {of}{scope.matrix} with {count_of(k)}{sign}"
    if k >= model.n_features_in_:
        return f"{first}, which is all of them."
    others = "no other variable" if k == 1 else f"no other {k:,}"
    either = ", with loadings of either sign," if model.nonnegative else ""
    claim = f"{others}{scope.supports}{either} can {'keep' if total is not None else 'have'} more"
    return f"{first}; {proof_in_words(lower, upper, claim, total) or NO_PROOF}"


def proof_in_words(lower: float, upper: float, claim: str, total: float | None) -> str:
    """Return what is proved: the claim, or the claim with its limit. Nothing if there is no bound."""
    if not np.isfinite(upper):
        return ""
    if upper - lower <= PROVED * abs(lower):
        return f"{claim}: proved."
    return f"{claim} than {amount_at_most(upper, total)}: proved."


def beside_dense(model: "SparsePCA", place: int) -> str:
    """Return how much of the dense component's variance a component keeps, in one sentence; empty if it is unknown."""
    share, scope = float(model.lower_bound_[place]) / model._each[place].dense_variance, model._each[place].scope
    if not np.isfinite(share) or not 0 < share <= 1 + 1e-6:
        return ""
    percent = _share(min(share, 1.0), ROUND_FLOOR)
    everything = "all variables that may be used" if " without " in f"{scope.supports} " else "all variables"
    if model._joint is not None:
        return f"That is {percent} of what a component with {everything} would add to the others."
    if scope.matrix or everything != "all variables":  # ordinary PCA is of another matrix, or uses more variables
        return f"That is {percent} of what a component with {everything} would keep."
    where = "there" if " after component" in scope.setting else "with all variables"
    return f"That is {percent} of what the first component of ordinary PCA keeps {where}."


def badge(model: "SparsePCA", place: int) -> str:
    """Return the verdict in one or two words."""
    all_of = model._together
    if model._joint is not None and all_of.upper - all_of.held <= PROVED * all_of.held:
        return "optimal together"
    if model._joint is None and model.gap_[place] <= PROVED:
        return "proved optimal"
    return "bound proved" if np.isfinite(model.upper_bound_[place]) else "no proof"


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
        most_left_out=MOST_LEFT_OUT,
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
                "share": ""
                if content.total is None
                else f"{amount_at_least(one.ratio * content.total, content.total)} of the variance",
            }
            for one in content.components
        ],
        "leftOut": [place[j] for j in content.left_out[:MOST_LEFT_OUT]],
        "paths": [_path(path, content.total, percent, place) for path in data.paths],
        "scree": scree
        and {
            "found": _short(scree.variances * percent),
            "noise": None if scree.noise_line is None else _short(scree.noise_line * percent),
        },
        "points": content.points and _points(content.points),
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(ESCAPES)


def path_in_words(path: PathPart, i: int, total: float | None) -> str:
    """Return what a set of variables on a path keeps, and what is proved, in one sentence."""
    k, found = path.cardinalities[i], path.found[i]
    verb, of = ("keep", " of the variance") if total is not None else ("have", " as variance")
    claim = f"no other{'' if k == 1 else f' {k:,}'} can {verb} more"
    proof = proof_in_words(found, path.upper[i], claim, total) or "no bound is proved."
    return f"{count_of(k)} {verb}{'s' if k == 1 else ''} {amount_at_least(found, total)}{of}; {proof}"


def _path(path: PathPart, total: float | None, percent: float, place: dict[int, int]) -> dict[str, Any]:
    return {
        "component": path.component,
        "k": path.cardinalities,
        "found": _short(np.multiply(path.found, percent)),
        "upper": _short(np.multiply(path.upper, percent)),
        "features": [[place[j] for j in support] for support in path.supports],
        "loadings": [_short(loadings) for loadings in path.loadings],
        "words": [path_in_words(path, i, total) for i in range(len(path.cardinalities))],
        "chosen": path.chosen,
    }


def _points(points: Points) -> dict[str, Any]:
    own = {name: getattr(points, name) for name in ("labels", "groups", "codes", "ordered")}
    return {"scores": [_short(column) for column in points.scores.T], "rows": points.rows.tolist(), **own}


def _short(values: Iterable[float]) -> list[float | None]:
    return [_one(float(value)) for value in values]


def _one(value: float) -> float | None:
    """Return a number with few digits, or None if it is not finite."""
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None


def _limit(path: PathPart, i: int, total: float | None) -> str:
    found, upper = path.found[i], path.upper[i]
    if not np.isfinite(upper):
        return "no bound"
    return "proved optimal" if upper - found <= PROVED * abs(found) else amount_at_most(upper, total)


def _changes(path: PathPart, i: int) -> tuple[list[int], list[int]]:
    """Return the variables that enter and leave a path at one place."""
    before = set(path.supports[i - 1]) if i else set()
    own = path.supports[i]
    return [j for j in own if j not in before], sorted(before - set(own))


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
    "memory": memory_in_words,
    "count_of": count_of,
    "amount_at_least": amount_at_least,
    "limit": _limit,
    "changes": _changes,
    "short": _shortened,
    "finite": lambda value: bool(np.isfinite(value)),
}
