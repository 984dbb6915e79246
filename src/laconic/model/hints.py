"""Hints: what in the data often is a mistake that decides a component, and what to do about it.

Nothing is wrong with the result of a fit that has hints; it answers the question that was asked. Each hint is about a
column that a component uses, so that columns that do no harm are not mentioned. The cost is that of a few columns of S.
"""

import re
from collections.abc import Collection, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.words import is_whole
from laconic.covariance import Covariance
from laconic.covariance.make import Made
from laconic.data.tables import listed
from laconic.model.settings import is_sequence

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# A row number has at least this many different values; fewer whole numbers may be anything.
LEAST_ROWS = 10
# Names of ids end with one of these words.
ID_NAME = re.compile(
    r"(.*[\W_])?(?i:id|nr|no|num|number|index|idx|key|row|record|serial)[\W_]*|.*[a-z](ID|Id|Nr|No|Key)"
)
# A column makes a component alone if its squared loading is at least this, and its variance this many times the next.
ALONE, LARGER = 0.99, 10
# Columns in one unit seldom differ so much: the variance that a component follows is this many times the median.
FAR_LARGER = 100_000
# Counts of words or cells begin at zero, in at least this share of the columns.
MOST_FROM_ZERO = 0.5
# Wider tables are in one unit: words, genes, pixels, days. And so many rows tell what the columns hold.
WIDEST, ENOUGH_ROWS = 300, 10_000
# Whole numbers up to this may be codes for answers or votes, all in one unit.
LARGEST_CODE = 10
# Correlations closer to 1 than this differ from it by rounding only.
SAME = 1e-9
# Numbers that often mark a missing value: only nines. A count may well be 9, so that only -9 is among them.
MARKS = np.array([sign * (10**digits - 1) for digits in range(1, 8) for sign in (-1, 1) if sign * digits != 1], float)
# A mark occurs at least this often, and is further from all other values than this many times their range.
LEAST_MARKS, FAR = 2, 3
# The columns of S that are looked at for perfect correlations: those with the largest loadings.
MOST_COLUMNS = 20
# A hint names at most this many pairs.
MOST_PAIRS = 3
# Columns that differ from their most common value in fewer rows than this are easily correlated by chance.
HANDFUL = 5


def hints_of(model: "SparsePCA", made: Made, covariance: Covariance) -> list[str]:
    """Return the hints about a fit, each as a sentence with its remedy.

    `covariance` is that of the fit, before any deflation, with the features at hand that the search needed.
    """
    used, varying = np.unique(np.concatenate(model.supports_)), np.flatnonzero(~made.constant)
    values, n_rows = _columns(made, used)
    label = _Label(made)
    ids: list[int] = []
    marked: set[int] = set()
    hints: list[str] = []
    if values is not None:
        marked, hints = _of_marks(used, values, label)
        ids = [int(j) for j, column in zip(used, values.T, strict=True) if _is_id(column, label.plain(j))]
    if ids:
        look, it = ("looks like a row number or an id", "it") if len(ids) == 1 else ("look like row numbers", "them")
        hints.append(
            f"{listed([label.quoted(j) for j in ids])} {look}, and a component uses {it}; leave {it} out, for example "
            f"with drop={','.join(label.plain(j) for j in ids)!r}."
        )
    if not model.scale:
        # What else is odd about a column with such a mark may come from the mark.
        times, kinds = _units(model.components_[0][varying] ** 2, covariance.diagonal[varying], made, varying)
        far = times > FAR_LARGER
        alone = list(_alone(model, covariance, varying, {*ids, *marked}, label)) if far or kinds != "decimals" else []
        hints += alone
        first, variances = model.supports_[0], covariance.diagonal[varying]
        explained = ids or alone or len(first) == 1 or not marked.isdisjoint(first.tolist())
        if times > LARGER and not explained and (kinds == "several" or (far and kinds != "counts")):
            largest = first[np.argmax(np.abs(model.components_[0, first]))]
            hints.append(
                f"The columns seem to be in different units: their variances go from {variances.min():.3g} to "
                f"{variances.max():.3g}, and component 1 follows large ones, such as that of {label.quoted(largest)}; "
                "if the units differ, give scale=True (--scale)."
            )
    # In sparse rows the most common value is zero.
    columns = values if values is not None or not n_rows else sp.csc_array(made.rows[:, used])
    differing = _rows_that_differ(columns) if n_rows else None
    degenerate = dict(_degenerate(model, covariance, label, used, differing, n_rows))
    described = marked.union(*(model.supports_[index].tolist() for index in degenerate))
    hints += [*degenerate.values(), *_of_pairs(model, covariance, described, label)]
    scree = None if model.choice_ is None else model.choice_.scree
    if not hints and scree is not None and scree.noise is not None and not scree.n_above_noise:
        hints.append("No component is better than noise, so the one that is kept may mean nothing.")
    return hints


class _Label:
    """The names of features, or their numbers."""

    def __init__(self, made: Made) -> None:
        self.names = made.names

    def plain(self, place: int) -> str:
        return str(place) if self.names is None else str(self.names[place])

    def quoted(self, place: int) -> str:
        return f"column {place}" if self.names is None else repr(self.plain(place))


def _columns(made: Made, columns: Indices, most: int | None = None) -> tuple[Floats | None, int]:
    """Return some columns of dense rows in memory, or of the first block of files; and the number of rows if it is all.

    Of rows in memory at most about `most` are taken, evenly.

    Columns of sparse data are counts or shares in one unit: there is no need. Other sources may compute each block, and
    are not asked again.
    """
    rows = made.rows
    if made.in_memory:
        step = 1 if most is None else -(-rows.shape[0] // most)
        return None if sp.issparse(rows) else np.asarray(rows[::step, columns]), rows.shape[0]
    if rows is None or rows.sparse or not rows.files:
        return None, 0
    with closing(cast("Any", rows.blocks(columns))) as blocks:
        first = next(block for block in blocks if len(block.rows))
    return np.asarray(first.rows), len(first.rows) if first.share == 1 else 0


def _whole(values: Floats) -> bool:
    return bool(np.isfinite(values).all() and (values == np.floor(values)).all())


def _units(weights: Floats, variances: Floats, made: Made, varying: Indices) -> tuple[float, str]:
    """Return how far component 1 follows columns with large variances, and what kinds of numbers the columns hold.

    `weights` are its squared loadings of the columns that vary. The first number is the geometric mean of their
    variances, with these weights, over the median. The kinds are "several", which differ in unit; "counts", which begin
    at zero in most columns; "decimals"; "codes", small whole numbers, as of answers and votes; or "" if nobody knows.
    """
    # Pairwise deletion may leave a matrix that is not semidefinite, but every variance is above zero.
    if made.rows is None or not 1 < len(varying) <= WIDEST:
        return 1.0, ""
    times = float(np.exp(weights @ np.log(variances)) / np.median(variances))
    values = _columns(made, varying, ENOUGH_ROWS)[0] if times > LARGER else None
    if values is None:
        return 1.0, ""
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    whole = ((values == np.floor(values)) | np.isnan(values)).all(axis=0)
    if not whole.all():
        return times, "several" if whole.any() else "decimals"
    codes, signed = np.maximum(-low, high) <= LARGEST_CODE, low < 0
    if codes.all():
        return times, "codes"
    if not signed.any() and np.mean(low == 0) >= MOST_FROM_ZERO:
        return times, "counts"
    return times, "several" if codes.any() or len(np.unique(signed)) > 1 else ""


def _of_marks(places: Indices, values: Floats, label: _Label) -> tuple[set[int], list[str]]:
    """Return the columns with numbers of `MARKS` that occur more than once, far from all others, and the hints."""
    found: dict[int, list[tuple[int, int, float, float]]] = {}
    # The least and the largest value, without NaN, say which columns need a closer look.
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    for column in np.flatnonzero(np.isin(low, MARKS) | np.isin(high, MARKS)):
        own, counts = np.unique(values[:, column], return_counts=True)
        own, counts = own[np.isfinite(own)], counts[np.isfinite(own)]
        often = np.isin(own, MARKS) & (counts >= LEAST_MARKS)
        if (~often).sum() < 2:
            continue
        least, most = own[~often][[0, -1]]
        far = often & (np.maximum(own - most, least - own) > FAR * (most - least))
        others = own[~far]
        for value, rows in zip(own[far], counts[far], strict=True):
            mark = (int(places[column]), int(rows), float(others[0]), float(others[-1]))
            found.setdefault(int(value), []).append(mark)
    hints: list[str] = []
    for value, marks in found.items():
        columns, rows, lows, highs = zip(*marks, strict=True)
        hold, up_to = ("holds", "") if len(marks) == 1 else ("hold", "up to ")
        hints.append(
            f"{listed([label.quoted(j) for j in columns])} {hold} {value} in {up_to}{max(rows)} of {len(values)} rows "
            f"looked at, and otherwise {min(lows):.6g} to {max(highs):.6g}; if {value} marks a missing value, replace "
            f"it by NaN, or read the table with na='{value}'."
        )
    return {mark[0] for marks in found.values() for mark in marks}, hints


def _is_id(values: Floats, name: str) -> bool:
    """Say whether a column looks like a row number or an id: different whole numbers that rise by one, or its name."""
    if len(values) < LEAST_ROWS or not _whole(values):
        return False
    if (np.diff(values) == 1).all():
        return True
    return ID_NAME.fullmatch(name) is not None and len(np.unique(values)) == len(values)


def _alone(
    model: "SparsePCA", covariance: Covariance, varying: Indices, others: Collection[int], label: _Label
) -> Iterator[str]:
    """Yield hints about components that one column with a large variance makes alone, if they may have more.

    `others` are columns of which another hint speaks.
    """
    variances = covariance.diagonal
    if len(varying) < 2:
        return
    second, largest = np.sort(variances[varying])[-2:]
    sizes: Any = model.cardinality if model.choice_ is None else model.choice_.cardinality or None
    for index, (row, support) in enumerate(zip(model.components_, model.supports_, strict=True)):
        place = int(support[np.argmax(np.abs(row[support]))])
        size = sizes[index] if is_sequence(sizes) else sizes
        one_was_asked_for = is_whole(size) and size == 1
        is_large = variances[place] == largest > LARGER * second
        if is_large and row[place] ** 2 >= ALONE and not one_was_asked_for and place not in others:
            yield (
                f"Component {index + 1} is {label.quoted(place)} almost alone, because its variance, "
                f"{variances[place]:.3g}, is far larger than any other; if the units of the columns differ, give "
                f"scale=True (--scale), or leave it out with drop={label.plain(place)!r}."
            )


def _degenerate(
    model: "SparsePCA", covariance: Covariance, label: _Label, used: Indices, differing: Indices | None, n_rows: int
) -> Iterator[tuple[int, str]]:
    """Yield components of one column and its copies, or of columns seen in a handful of rows, each with its hint.

    `differing` says for the features `used` in how many of all rows they differ from their most common value, if that
    is known.
    """
    for index, support in enumerate(model.supports_):
        if len(support) < 2:
            continue
        begin = f"Component {index + 1} consists of columns that"
        rows = n_rows if differing is None else int(differing[np.searchsorted(used, support)].max())
        if rows < HANDFUL and n_rows >= 2 * HANDFUL:
            yield (
                index,
                (
                    f"{begin} differ from their most common value in {'one' if rows == 1 else f'at most {rows}'} of "
                    f"{n_rows} rows, so that a few rows decide it; leave out columns seen in so few rows."
                ),
            )
            continue
        if _same(covariance, support, support[:1]).all():
            which = listed([label.quoted(j) for j in support], MOST_PAIRS)
            yield index, f"{begin} are the same up to sign and scale ({which}); keep one of them, leave out the others."


def _same(covariance: Covariance, features: Indices, columns: Indices) -> Mask:
    """Say which features are perfectly correlated with some columns. All are at hand."""
    inner, hand = covariance.on_hand(), covariance.at_hand
    rows, own = (one if hand is None else np.searchsorted(hand, one) for one in (features, columns))
    lengths = np.sqrt(np.maximum(inner.diagonal, 0.0))
    limits = np.outer(lengths[rows], lengths[own])
    # In a matrix that is not semidefinite an entry may be far larger than a covariance.
    return np.asarray((np.abs(np.abs(inner.block(rows, own)) - limits) <= SAME * limits) & (limits > 0))


def _rows_that_differ(values: Any) -> Indices:
    """Return in how many rows columns differ from their most common value: the middle one, if most rows have it."""
    if sp.issparse(values):
        return np.asarray(values.count_nonzero(axis=0))
    middle = len(values) // 2
    return np.asarray(np.count_nonzero(values != np.partition(values, middle, axis=0)[middle], axis=0))


def _of_pairs(model: "SparsePCA", covariance: Covariance, others: Collection[int], label: _Label) -> Iterator[str]:
    """Yield a hint about columns that are multiples of each other, of which a component uses one.

    `others` are columns of which another hint speaks.
    """
    features = np.arange(covariance.n_features) if covariance.at_hand is None else covariance.at_hand
    features = np.setdiff1d(features, np.array([*others], dtype=np.intp))
    weights = np.abs(model.components_).max(axis=0)[features]
    used = features[np.argsort(-weights, kind="stable")[: min(MOST_COLUMNS, np.count_nonzero(weights))]]
    rows, columns = np.nonzero(_same(covariance, features, used))
    both = np.sort(np.column_stack([features[rows], used[columns]]), axis=1)
    pairs = np.unique(both[both[:, 0] != both[:, 1]], axis=0).tolist()
    if pairs:
        which = listed([f"{label.quoted(a)} and {label.quoted(b)}" for a, b in pairs], MOST_PAIRS)
        yield (
            f"{which} are perfectly correlated, so that each can stand for the other; leave one of them out, for "
            f"example with drop={label.plain(pairs[0][1])!r}."
        )
