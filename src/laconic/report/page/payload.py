"""The numbers of a page as JSON, for the script that draws the pictures."""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from laconic.core.arrays import PROVED
from laconic.report.page.content import ComponentPart, Content
from laconic.report.page.of_data import PathPart
from laconic.report.page.points import Points
from laconic.report.page.sentences import amount_at_least, amount_at_most, count_of

# Significant digits of numbers that are only drawn.
DIGITS = 5
# The characters that could end a script, or that are line breaks in some scripts but not in JSON.
ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def payload_of(content: Content) -> str:
    """Return the numbers as JSON that is safe inside a script element."""
    percent = 1.0 if content.total is None else 100 / content.total
    place = {int(j): i for i, j in enumerate(content.shown)}
    document: dict[str, Any] = {
        "unit": "variance" if content.total is None else "% of the variance",
        "names": content.names,
        "about": [[place[j], text] for j, text in content.descriptions.items()],
        "variances": None if content.variances is None else _short(content.variances[content.shown] * percent),
        "components": [
            {
                "features": [place[j] for j in one.features],
                "loadings": _short(one.loadings),
                "share": _share(content, one),
            }
            for one in content.components
        ],
        "leftOut": [[[place[j] for j in group.features], group.reason] for group in content.left_out],
        "paths": [],
        "scree": None,
        "points": None if content.points is None else _points(content.points),
        "noise": [],
    }
    if content.data is not None:
        document["paths"] = [_path(path, content.total, percent, place) for path in content.data.paths]
        found = content.data.scree
        if found is not None:
            noise = None if found.noise_95 is None else _short(found.noise_95 * percent)
            document["scree"] = {"found": _short(found.variances * percent), "noise": noise}
    if content.noise is not None:
        document["noise"] = [
            {"component": one.component, "value": _one(one.value * percent), "noise": _short(one.noise * percent)}
            for one in content.noise.components
        ]
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(ESCAPES)


def path_in_words(path: PathPart, i: int, total: float | None) -> str:
    """Return what a set of variables on a path keeps, and what is proved, in one sentence."""
    k, found, upper = path.cardinalities[i], path.found[i], path.upper[i]
    verb = "keep" if total is not None else "have"
    of = " of the variance" if total is not None else " as variance"
    first = f"{count_of(k)} {verb}{'s' if k == 1 else ''} {amount_at_least(found, total)}{of}"
    others = "no other" if k == 1 else f"no other {k:,}"
    if not np.isfinite(upper):
        return f"{first}; no bound is proved."
    if upper - found <= PROVED * abs(found):
        return f"{first}; {others} can {verb} more: proved."
    return f"{first}; {others} can {verb} more than {amount_at_most(upper, total)}: proved."


def _share(content: Content, one: ComponentPart) -> str:
    """Return the share of the variance that a component adds, in words; empty if there are no shares."""
    if content.total is None:
        return ""
    return f"{amount_at_least(one.ratio * content.total, content.total)} of the variance"


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
        "suggested": path.suggested,
    }


def _points(points: Points) -> dict[str, Any]:
    return {
        "scores": [_short(column) for column in points.scores.T],
        "rows": points.rows.tolist(),
        "labels": points.labels,
        "groups": points.groups,
        "codes": points.codes,
        "ordered": points.ordered,
    }


def _short(values: Iterable[float]) -> list[float | None]:
    return [_one(float(value)) for value in values]


def _one(value: float) -> float | None:
    """Return a number with few digits, or None if it is not finite."""
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
