"""A page as HTML: the template filled with what it says, the styles, the scripts and the numbers.

All text from data passes one of two walls: the template escapes it, or `numbers_of` does inside the script of numbers.
A policy in the page's head allows only the scripts and styles whose digests are given, and no network.
"""

import base64
import hashlib
import json
from collections.abc import Iterable
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

from laconic.core.arrays import PROVED
from laconic.core.store import write_atomically
from laconic.core.words import memory_in_words, percent
from laconic.model.criteria import CRITERIA
from laconic.proof.certificate import versions
from laconic.report.content import Content, amount_at_least, amount_at_most, content_of, count_of, proof_in_words
from laconic.report.page_data import DataPart, PathPart, Points

if TYPE_CHECKING:
    from laconic.covariance.make import Made
    from laconic.model.estimator import SparsePCA

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


def to_html(model: "SparsePCA", X: Any = None, *, made: "Made | None" = None, **options: Any) -> str:
    """Return the page of a model and of its data. S is made of the data only if it is not given as `made`.

    `options` are those of `content_of`.
    """
    return rendered(content_of(model, X, made=made, **options))


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
        criteria=CRITERIA,
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
        "leftOut": [[[place[j] for j in group.features], group.reason] for group in content.left_out],
        "paths": [_path(path, content.total, percent, place) for path in data.paths],
        "scree": scree
        and {
            "found": _short(scree.variances * percent),
            "noise": None if scree.noise_95 is None else _short(scree.noise_95 * percent),
        },
        "points": content.points and _points(content.points),
        "noise": [
            {"component": one.component, "value": _one(one.value * percent), "noise": _short(one.noise * percent)}
            for one in content.noise
        ],
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
    return text if len(text) <= most else text[: most - 1].rstrip() + "\u2026"


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
