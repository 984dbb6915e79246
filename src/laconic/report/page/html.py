"""A page as HTML: the template filled with what it says, the styles, the scripts and the numbers.

All text from data passes one of two walls: the template escapes it, or `payload_of` does inside the script of numbers.
A policy in the page's head allows only the scripts and styles whose digests are given, and no network.
"""

import base64
import hashlib
import re
from collections.abc import Callable
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from laconic.core.arrays import PROVED
from laconic.core.store import write_atomically
from laconic.core.words import at_least, at_most, memory_in_words
from laconic.model.choosing.choice import CRITERIA
from laconic.report.page.content import Content, content_of
from laconic.report.page.of_data import PathPart
from laconic.report.page.payload import payload_of
from laconic.report.page.sentences import amount_at_least, amount_at_most, count_of

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# A table of loadings shows at most this many variables; all of them can be searched.
MOST_ROWS = 25
# The answer names at most this many variables of a component, with at most this many letters each.
MOST_NAMED, MOST_LETTERS = 6, 45
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


def to_html(model: "SparsePCA", X: Any = None, *, in_words: Callable[[str], str] = str, **options: Any) -> str:
    """Return the page of a model; `options` are those of `content_of`.

    `in_words` turns the names of settings in a sentence into options of the command line.
    """
    return rendered(content_of(model, X, **options), in_words)


def write_page(html: str, path: str | PathLike[str]) -> Path:
    """Write a page to a file, which appears when it is complete, and return its path."""
    place = Path(path)
    try:
        # Half of a pair of code units, which a badly decoded name may hold, has no bytes.
        write_atomically(place, html.encode(errors="backslashreplace"))
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(place)) from None
    return place


def rendered(content: Content, in_words: Callable[[str], str] = str) -> str:
    """Return the HTML of a page."""
    style, charts, script = (_text(name) for name in ("page.css", "charts.min.js", "page.js"))
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters.update(FILTERS)
    template = environment.from_string(_text("page.html.jinja"))
    return template.render(
        page=content,
        in_words=lambda text: in_words(text).replace(" %", "\u00a0%"),
        # Our own files, and JSON that is escaped already.
        style=Markup(style),
        scripts=[Markup(charts), Markup(script)],
        numbers=Markup(payload_of(content)),
        policy=_policy([charts, script], [style, CHART_STYLE]),
        most_rows=MOST_ROWS,
        named=MOST_NAMED,
        criteria=CRITERIA,
    )


def _text(name: str) -> str:
    return files("laconic.report.page").joinpath(name).read_text(encoding="utf-8")


def _policy(scripts: list[str], styles: list[str]) -> str:
    """Return a Content-Security-Policy: nothing is loaded, and only these scripts and styles count."""

    def allowed(texts: list[str]) -> str:
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        return " ".join(f"'sha256-{digest}'" for digest in digests)

    return (
        f"default-src 'none'; script-src {allowed(scripts)}; style-src {allowed(styles)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _data_link(content: bytes) -> str:
    return "data:application/octet-stream;base64," + base64.b64encode(content).decode()


def _loading(value: float) -> str:
    return f"{value:+.3f}".replace("-", "\u2212")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


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
    "data_link": _data_link,
    "loading": _loading,
    "percent": _percent,
    "memory": memory_in_words,
    "count_of": count_of,
    "at_least": at_least,
    "at_most": at_most,
    "amount_at_least": amount_at_least,
    "amount_at_most": amount_at_most,
    "limit": _limit,
    "changes": _changes,
    "short": _shortened,
    "by_component": lambda text: re.split(r" (?=Component \d+: )", text),
    "finite": lambda value: bool(np.isfinite(value)),
}
