"""Rows of data in the plane of the components: their scores, labels and groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.data.rows import open_source

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# A page shows at most this many rows, and the scores of this many components.
MOST_ROWS, MOST_COMPONENTS = 2000, 6
# Groups beyond these are one group, "other". Numbers are divided into as many classes of about equal size.
MOST_GROUPS, CLASSES = 6, 5


@dataclass(frozen=True, eq=False)
class Points:
    """Some or all rows of the data."""

    scores: Floats  # a row for each point
    rows: Indices  # the numbers of the rows in the data, from 0
    n_rows: int  # of the data
    rule: str  # how the rows were chosen, in words; empty if all are shown
    labels: list[str] | None = None  # of each point
    groups: list[str] | None = None  # the names of the groups, in order
    codes: list[int] | None = None  # the group of each point
    ordered: bool = False  # whether the groups are classes of a number
    group_title: str = ""


def points_of(model: "SparsePCA", X: Any, *, color_by: Any = None, labels: Any = None, seconds: float) -> Points:
    """Return the rows to draw. Data in blocks are read once, for at most some seconds."""
    source = open_source(X)
    if source is not None and source.in_memory() is None:
        scores, rows, n_rows, rule = _of_blocks(model, X, source.n_rows, seconds)
    else:
        everything = np.asarray(model.transform(X), dtype=np.float64)
        n_rows = len(everything)
        step = -(-n_rows // MOST_ROWS)
        rows = np.arange(0, n_rows, step)
        scores, rule = everything[rows], _in_words(step, n_rows)
    given = _one_a_row(labels, "labels", n_rows)
    if given is None and labels is None and hasattr(X, "index") and not _is_counter(X.index):
        given = [str(name) for name in X.index]
    chosen = None if given is None else [given[row] for row in rows]
    return Points(scores[:, :MOST_COMPONENTS], rows, n_rows, rule, chosen, **_groups(color_by, n_rows, rows))


def check_one_a_row(values: Any, argument: str, X: Any) -> None:
    """Raise a ValueError if there is not one value for each row of X, as far as X knows its number of rows."""
    given = _values(values, argument)
    shape = getattr(X, "shape", None)
    if shape and isinstance(shape[0], int):
        _check_length(given, argument, shape[0])


def _in_words(step: int, n_rows: int) -> str:
    if step == 1:
        return ""
    ending = "nd" if step % 10 == 2 and step % 100 != 12 else "rd" if step % 10 == 3 and step % 100 != 13 else "th"
    ending = "st" if step % 10 == 1 and step % 100 != 11 else ending
    return f"every {step:,}{ending} row of {n_rows:,}"


def _of_blocks(model: "SparsePCA", X: Any, known: int | None, seconds: float) -> tuple[Floats, Indices, int, str]:
    """Read scores block by block, and keep each row whose number is a multiple of a step that doubles as needed."""
    end, step, count, stopped = monotonic() + seconds, 1, 0, False
    kept = np.empty((0, model.n_components_))
    rows = np.empty(0, dtype=np.intp)
    for block in model._score_blocks(X):
        numbers = np.arange(count, count + len(block))
        own = numbers % step == 0
        kept, rows = np.concatenate([kept, block[own]]), np.concatenate([rows, numbers[own]])
        count += len(block)
        while len(rows) > MOST_ROWS:
            step *= 2
            own = rows % step == 0
            kept, rows = kept[own], rows[own]
        if monotonic() > end:
            stopped = True
            break
    if stopped and (known is None or count < known):
        rule = f"{_in_words(step, count) or f'all of the first {count:,} rows'}; reading more rows would take too long"
        return kept, rows, count, rule.replace(f"row of {count:,}", f"row of the first {count:,}")
    return kept, rows, count, _in_words(step, count)


def _one_a_row(values: Any, argument: str, n_rows: int) -> list[str] | None:
    if values is None:
        return None
    listed = [str(value) for value in _values(values, argument)]
    _check_length(listed, argument, n_rows)
    return listed


def _values(values: Any, argument: str) -> Sequence[Any]:
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise ValueError(f"{argument}={values!r} must have one value for each row, such as a column of a table.")
    array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise ValueError(f"{argument} has shape {array.shape}; give one value for each row, such as a column.")
    return list(array)


def _check_length(values: Sequence[Any], argument: str, n_rows: int) -> None:
    if len(values) != n_rows:
        raise ValueError(f"{argument} has {len(values):,} values, and X has {n_rows:,} rows; give one value a row.")


def _is_counter(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex"


def _groups(color_by: Any, n_rows: int, rows: Indices) -> dict[str, Any]:
    """Return the groups of the rows drawn: names, one code a row, and whether they are classes of a number."""
    if color_by is None:
        return {}
    values = _values(color_by, "color_by")
    _check_length(values, "color_by", n_rows)
    title = str(getattr(color_by, "name", None) or "")
    own = [values[row] for row in rows]
    numbers = _as_numbers(own)
    if numbers is not None and len(np.unique(numbers[np.isfinite(numbers)])) > MOST_GROUPS:
        names, codes = _classes(numbers)
        return {"groups": names, "codes": codes, "ordered": True, "group_title": title}
    texts = ["(missing)" if _is_missing(value) else str(value) for value in own]
    counts = {name: texts.count(name) for name in sorted(set(texts))} if len(set(texts)) <= 1000 else {}
    names = sorted(counts, key=lambda name: (-counts[name], name))
    if not counts or len(names) > MOST_GROUPS:
        kept = names[: MOST_GROUPS - 1]
        texts = [text if text in kept else "other" for text in texts]
        names = [*kept, "other"]
    else:
        names = sorted(names)
    return {"groups": names, "codes": [names.index(text) for text in texts], "group_title": title}


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _as_numbers(values: Sequence[Any]) -> Floats | None:
    """Return values as numbers, or None if one of them is something else. A truth value is no number here."""
    if any(
        not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool) for value in values
    ):
        return None
    return np.array(values, dtype=np.float64)


def _classes(numbers: Floats) -> tuple[list[str], list[int]]:
    """Divide numbers into classes of about equal size, and name each by its range."""
    finite = np.isfinite(numbers)
    edges = np.unique(np.quantile(numbers[finite], np.linspace(0, 1, CLASSES + 1)))
    codes = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    names = [f"{low:.3g} to {high:.3g}".replace("-", "\u2212") for low, high in pairwise(edges)]
    if not finite.all():
        names.append("(missing)")
        codes[~finite] = len(names) - 1
    return names, codes.tolist()
