"""One look at all pairs of features: the largest |S_ij| of each row, and all that are above a floor.

Where variances decay, they tell which features matter. Where all variances are alike, as in standardised data, only
the pairs tell. The matrix is looked at in blocks of rows and never kept. The search starts from the strongest rows, and
bounds and eliminations use the same numbers, so each of them is an upper bound on an exact |S_ij|.

**Rows in single precision.** If S = L'R for few rows L and R, with |L|'|R| at most `size_i size_j`, the products are
made in float32, with u = 2^-24. A sum of m products of rounded numbers has an error of at most gamma_(m+2) times the
products of their sizes. At most 1,024 rows are in one sum, and the sums of blocks are added one after the other. So
with b blocks no more than 1,024 + b + 2 roundings follow one another. Numbers are scaled by a power of two to at most
one, and an underflow then changes a product by at most 2^-126.

**The largest of each row.** Sorting whole rows would take longer than computing them. The columns are divided into
groups, neighbours in different groups. The c-th largest maximum of a group is at most the c-th largest entry. So the c
largest entries are among those that are not below it, which are few.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from os import cpu_count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices, Singles
from laconic.core.monitor import Monitor, Note, mark_limited, one_thread, warn
from laconic.core.rounding import up

if TYPE_CHECKING:
    from laconic.covariance.matrix import Covariance

# Up to so many multiplications, a fraction of a second, products are made in double precision.
CHEAP = 10**10
# More multiplications than this take more than a few seconds, and the user is told.
EXPENSIVE = 2 * 10**11
# Rows of S in one product: at least so many, so that it is fast, and more while it has at most so many entries. Their
# largest entries are sought in parts of at most so many entries.
ROWS_IN_A_BLOCK, BLOCK, PART = 128, 2**20, 2**20
# More threads than this would hold more blocks at once than memory allows.
MOST_THREADS = 8
# Numbers in single precision that may be held: 1.5 GB.
MOST_NUMBERS = 375_000_000
# Groups of columns for each of the largest entries that are sought: large entries then rarely meet in one group.
GROUPS = 16
# A row with more candidates than this many times the groups holds many equal entries.
FULL = 4
# The largest entries are collected for this many times the count asked for, or for this count, so that later
# components, which drop and add some entries, need no second look; but at most so many numbers in all.
AHEAD, FEWEST, MOST_LARGEST = 4, 8, 20_000_000
# At most this many pairs are kept above the floor, each as two entries. If there are more, the floor rises until this
# share of them is gone.
MOST_PAIRS, SHARE_GONE = 10_000_000, 0.5
# The floor begins at so many standard deviations of the correlation of independent columns, at most at the second
# number. If S is not made of rows at hand, this share of the entries is below it, by a sample of so many rows.
DEVIATIONS, HIGHEST, QUANTILE, SAMPLE = 3.5, 0.9, 0.9, 64
# An underflow in one product changes it by at most this: the smallest normal number is 2^-126.
UNDERFLOW = 2.0**-120
# Lists of another covariance are revised if at most this share of the features differs.
FEW_DIFFER = 1 / 16


@dataclass(frozen=True, eq=False)
class Pairs:
    """What one look at all |S_ij|, j != i, has found. All numbers are upper bounds, with the errors of S added."""

    largest: Floats  # n x c, falling in each row: the c largest |S_ij|
    partners: NDArray[np.int32]  # n x c: the columns j where they stand
    floor: float  # every |S_ij| that is not in `large` is at most this
    large: csr_array  # symmetric, without diagonal: the |S_ij| that may be above the floor
    error: float  # the largest error that was added

    def at(self, count: int) -> "Pairs":
        """Return the same with the `count` largest of each row, or with all if there are fewer."""
        return replace(self, largest=self.largest[:, :count], partners=self.partners[:, :count])


class _Look(NamedTuple):
    """How the entries of S are computed."""

    entries: Callable[[slice], Any]  # |S_ij| / unit of some rows, as a new array
    unit: float  # a power of two
    error: Floats  # at most the errors of the entries of each row


# Places and entries.
_Found: TypeAlias = tuple[Indices, Indices, Floats]


def all_pairs(S: "Covariance", count: int, monitor: Monitor) -> Pairs:
    """Look at all pairs of S, in blocks of rows, and keep at least the `count` largest of each row."""
    n = S.n_features
    count = min(max(count, min(AHEAD * max(count, FEWEST), MOST_LARGEST // n)), n - 1)
    if S.pairs_cost > EXPENSIVE:
        power = int(math.log10(S.pairs_cost))
        warn(
            f"All pairs of {n:,} columns are compared, which takes about 10^{power} multiplications: some seconds to "
            "some minutes. A time limit ends it.",
            Note,
        )
    look = _in_single_precision(S) or _in_double_precision(S)
    step, height = max(ROWS_IN_A_BLOCK, BLOCK // n), max(1, PART // n)
    largest, partners = np.empty((n, count)), np.empty((n, count), dtype=np.int32)
    large = _Large(n, _first_floor(S, look))

    def search(begin: int) -> list[_Found]:
        """Fill the lists of a block of rows, and return its large entries."""
        entries, found = look.entries(slice(begin, min(begin + step, n))), []
        entries[np.arange(len(entries)), np.arange(begin, begin + len(entries))] = -1.0
        for first in range(0, len(entries), height):
            part = entries[first : first + height]
            rows = slice(begin + first, begin + first + len(part))
            values, partners[rows], (i, j, sizes) = _lists(part, count, large.cut)
            largest[rows] = _with_errors(values * look.unit, look.error[rows, None])
            found.append((i + rows.start, j, sizes))
        return found

    # Each thread has a block of its own: that also speeds up what BLAS does not do.
    begins, workers = range(0, n, step), min(cpu_count() or 1, MOST_THREADS)
    with one_thread(), ThreadPoolExecutor(workers, initializer=mark_limited) as pool:
        for at in range(0, len(begins), workers):
            monitor.tick(f"all pairs, {100 * at // len(begins)} %")
            for found in pool.map(search, begins[at : at + workers]):
                for entries in found:
                    large.add(*entries)
    return Pairs(largest, partners, *large.result(look), float(look.error.max()))


def revised(
    S: "Covariance", base: "Covariance", keep: Indices, changed: Indices, count: int, monitor: Monitor
) -> Pairs:
    """Return the pairs of S from those of `base`: S is its part on `keep`, but for some changed rows and columns.

    The entries of the changed columns are computed again and sorted into the lists. A row is looked at again if it is
    changed, or if so much of its list is gone that an entry which was not in the list may be among the largest.
    """
    n, known = S.n_features, base.widest_pairs(count, monitor)
    count, width = min(count, n - 1), known.largest.shape[1]
    place = np.full(base.n_features, -1)
    place[keep] = np.arange(n)
    place[keep[changed]] = -1
    new = _with_errors(np.abs(S.columns(changed)), _with_errors(0.0, np.multiply.outer(S.spread, S.spread[changed])))
    new[changed] = np.maximum(new[changed], new[changed].T)
    new[changed, np.arange(len(changed))] = -1.0
    partners = place[known.partners[keep]]
    values = np.hstack([np.where(partners < 0, -1.0, known.largest[keep]), new])
    partners = np.hstack([partners, np.broadcast_to(changed, new.shape)])
    order = np.argsort(-values, axis=1, kind="stable")[:, :count]
    largest, partners = np.take_along_axis(values, order, 1), np.take_along_axis(partners, order, 1).astype(np.int32)
    again = np.zeros(n, dtype=bool)
    if width < base.n_features - 1:
        again = largest[:, -1] < known.largest[keep, -1]
        if np.count_nonzero(again) > FEW_DIFFER * n and width < count + base.n_features - n + len(changed):
            base.widest_pairs(count + base.n_features - n + len(changed), monitor)
            return revised(S, base, keep, changed, count, monitor)
    again[changed] = True
    look, places, height = _in_double_precision(S), np.flatnonzero(again), max(1, PART // n)
    for begin in range(0, len(places), height):
        part = places[begin : begin + height]
        monitor.tick("some pairs again")
        entries = np.abs(S.columns(part).T, order="C")
        entries[np.arange(len(part)), part] = -1.0
        values, partners[part], _ = _lists(entries, count, math.inf)
        largest[part] = _with_errors(values, look.error[part, None])
    old = known.large.tocoo()
    i, j = place[old.coords[0]], place[old.coords[1]]
    stay = (i >= 0) & (j >= 0)
    other, which = np.nonzero(new > known.floor)
    own, single = changed[which], np.isin(other, changed, invert=True)
    i = np.concatenate([i[stay], other, own[single]])
    j = np.concatenate([j[stay], own, other[single]])
    data = new[other, which]
    large = csr_array((np.concatenate([old.data[stay], data, data[single]]), (i, j)), shape=(n, n))
    return Pairs(largest, partners, known.floor, large, max(known.error, float(look.error.max())))


def few_differ(n: int, count: int) -> bool:
    """Whether lists of n features are worth revising if this number of features differs."""
    return count <= FEW_DIFFER * n and count * n <= MOST_LARGEST


def _with_errors(entries: Any, errors: Any) -> Any:
    return np.where(errors > 0, up(entries + errors), entries)


def _in_double_precision(S: "Covariance") -> _Look:
    everything = np.arange(S.n_features)

    def entries(rows: slice) -> Floats:
        part = everything[rows]
        if not S.written_out:
            return np.abs(S.columns(part).T, order="C")
        return np.abs(S.matrix[part] if "matrix" in vars(S) else S.block(part, everything), order="C")

    return _Look(entries, 1.0, _with_errors(0.0, S.spread * S.spread.max()))


def _in_single_precision(S: "Covariance") -> _Look | None:
    """Look at S by products in single precision; None if S has no rows for it, or is cheap without."""
    if S.pairs_cost <= CHEAP or S.entry_cost * S.n_features > MOST_NUMBERS:
        return None
    parts, top = S.row_parts(), float(S.size.max())
    if parts is None or top == 0.0:
        return None
    exponent = math.frexp(top)[1]
    held: list[tuple[Singles, Singles]] = []
    for left, right in parts:
        first = np.ldexp(left, -exponent).astype(np.float32)
        held.append((first, first if right is left else np.ldexp(right, -exponent).astype(np.float32)))

    def entries(rows: slice) -> Singles:
        left, right = held[0]
        result: Singles = left[:, rows].T @ right
        for left, right in held[1:]:
            result += left[:, rows].T @ right
        np.abs(result, out=result)
        return result

    depth = max(len(left) for left, _ in held) + len(held) + 4
    unit, underflow = 4.0**exponent, sum(len(left) for left, _ in held) * UNDERFLOW
    # A tenth more covers gamma_m = m u / (1 - m u) and the roundings made here.
    error = 1.1 * (depth * 2.0**-24 * top * S.size + float(S.spread.max()) * S.spread + underflow * unit)
    return _Look(entries, unit, np.asarray(error))


def _first_floor(S: "Covariance", look: _Look) -> float:
    """Return where the floor begins, in units of the look."""
    # The rule depends on the number of features only: all containers of the same data have about the same floor.
    if S.n_features > WRITE_OUT_LIMIT and S.entry_cost > 1:
        level = min(DEVIATIONS / math.sqrt(S.entry_cost), HIGHEST)
        return float(level * np.median(np.abs(S.diagonal)) / look.unit)
    n = S.n_features
    sample = [look.entries(slice(i, i + 1)) for i in range(0, n, max(1, n // SAMPLE))]
    return float(np.quantile(np.concatenate(sample), QUANTILE))


def _lists(entries: Any, count: int, cut: float) -> tuple[Floats, Indices, _Found]:
    """Return the `count` largest of each row, of equal ones the first, their columns, and all entries above `cut`.

    `entries` has -1 in place of what does not count.
    """
    n, groups, kind = entries.shape[1], GROUPS * count, entries.dtype.type
    heads, whole = entries, n - n % max(groups, 1)
    if n >= 4 * groups > 0:
        maxima = entries[:, :whole].reshape(len(entries), whole // groups, groups).max(axis=1)
        heads = np.concatenate([maxima, entries[:, whole:]], axis=1)
    place = heads.shape[1] - max(count, 1)
    least = np.partition(heads, place, axis=1)[:, place]
    flat = np.flatnonzero(entries >= np.minimum(least, np.nextafter(kind(cut), kind(np.inf)))[:, None])
    i, j = np.divmod(flat, n)
    found = entries.ravel()[flat]
    above = found > cut
    among = found >= least[i]
    # Many entries may be equal, zero for example. Such rows are sorted as a whole.
    full = np.bincount(i[among], minlength=len(entries)) > FULL * groups
    among &= ~full[i]
    rows = np.flatnonzero(full)
    tied = np.argsort(-entries[rows], axis=1, kind="stable")[:, :count]
    at = np.concatenate([i[among], np.repeat(rows, count)])
    columns = np.concatenate([j[among], tied.ravel()])
    values = entries[at, columns].astype(np.float64)
    order = np.lexsort((columns, -values, at))
    counts = np.bincount(at, minlength=len(entries))
    chosen = order[(np.cumsum(counts) - counts)[:, None] + np.arange(count)]
    return values[chosen], columns[chosen], (i[above], j[above], found[above].astype(np.float64))


class _Large:
    """The pairs above a floor, which rises if they are too many."""

    def __init__(self, n: int, cut: float) -> None:
        self.n, self.cut = n, cut
        self._kept: list[tuple[Indices, Indices, Floats]] = []

    def add(self, i: Indices, j: Indices, found: Floats) -> None:
        """Take the pairs with i < j."""
        self._keep(i, j, found)
        while sum(len(part[0]) for part in self._kept) > MOST_PAIRS:
            i, j, found = self._together()
            place = int(len(found) * SHARE_GONE)
            self.cut = float(np.partition(found, place)[place])
            self._kept = []
            self._keep(i, j, found)

    def _keep(self, i: Indices, j: Indices, found: Floats) -> None:
        stay = (i < j) & (found > self.cut)
        self._kept.append((i[stay].astype(np.int32), j[stay].astype(np.int32), found[stay]))

    def _together(self) -> tuple[Any, Any, Any]:
        i, j, found = zip(*self._kept, strict=True)
        return np.concatenate(i), np.concatenate(j), np.concatenate(found)

    def result(self, look: _Look) -> tuple[float, csr_array]:
        """Return the floor, and the pairs above it as a symmetric matrix."""
        i, j, found = self._together()
        data = _with_errors(found * look.unit, look.error[i])
        upper = csr_array((data, (i, j)), shape=(self.n, self.n))
        return float(_with_errors(self.cut * look.unit, look.error.max())), csr_array(upper + upper.T)
