"""From a source to a covariance in two passes: all variances, then the Gram matrix of the columns that can matter.

Which columns can matter? A feature i belongs to no better support of k features if b + S_ii < v, with v a known value
and b a bound at k - 1 features. So the columns of large variance decide, and how large is known when v is. The first
choice is generous. `widened` reads more columns, in one more pass, if the values found ask for them.

If the variances do not decay, as in standardised data, no column can be left out by its variance. Then the rows are
read into memory (`laconic.covariance.make`). If they are too many for that, the data themselves are the operator: a few
passes multiply random directions by S, and the columns with the largest entries in the leading directions are taken to
hand.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, Stop, warn
from laconic.core.words import check_memory, memory_in_words
from laconic.covariance.matrix import Covariance
from laconic.covariance.of_rows import SparseCovariance, Standard, covariance_from_gram, covariance_of, standardize
from laconic.covariance.pairs import EXPENSIVE
from laconic.covariance.views import ScreenedCovariance
from laconic.data.passes import FirstPart, FirstPass, GramPass, ProductPass
from laconic.data.rows import Job, Part, PassProgress, Source

# At most this many columns are taken to hand, and all if there are no more: their covariance takes 34 MB, and a search
# among them seconds.
MOST_COLUMNS = 2048
# Columns are taken to hand first if their variance is at least this share of the smallest variance that could be in a
# component: the largest variances, as many as all components have features. At least and at most so many. Products with
# sparse rows cost less than a matrix, so that more columns are taken at once.
SHARE, SHARE_FOR_PRODUCTS = 0.1, 0.03
FEWEST_FIRST, MOST_FIRST = 300, 1000
# The variances decay too little if the largest is at most this many times that of the first column left out.
DECAY = 10.0
# Directions that are multiplied together, and passes to turn them towards the leading eigenvectors.
DIRECTIONS, PRODUCT_PASSES = 16, 3
# Columns are added at most this often, in one or two passes each.
MOST_WIDENINGS = 2
# A source of at most this many numbers, zeros included, may be read into memory: 1 GB.
READ_NUMBERS = 125_000_000
# Numbers of the size of the Gram matrix that are held at once while it is summed.
COPIES = 3
# Numbers that the first pass holds for each column: four sums of the total and of a block each, and temporaries.
NUMBERS_OF_A_COLUMN = 12


@dataclass(eq=False)
class Screening:
    """A source, the moments of its columns, and the passes over it."""

    source: Source
    center: bool = True
    scale: bool = False
    monitor: Monitor = field(default_factory=Monitor)
    allow_missing: bool = False
    rows: Any = None  # sparse rows in memory whose Gram matrix is not wanted, because few products are asked for
    passes: int = 0  # the number of passes so far
    widenings: int = 0  # how often columns were added

    @cached_property
    def first(self) -> FirstPart:
        """The result of the first pass."""
        names, n = self.source.feature_names, self.source.n_features
        check_memory(8 * NUMBERS_OF_A_COLUMN * n, f"Means and variances of {n:,} columns", "leave columns out first")
        job = FirstPass(None if names is None else tuple(names), self.source.name, self.allow_missing)
        part = self.run(job, "variances")
        if part.n_rows < 2:
            raise ValueError(f"{self.source.name} has {part.n_rows} row; at least two are needed.")
        return part

    @cached_property
    def standard(self) -> Standard:
        """How rows are centred and scaled."""
        return standardize(self.first.moments, center=self.center, scale=self.scale, name=self.source.name)

    @property
    def digest(self) -> str:
        """The digest of the data."""
        return self.first.column_digests.hexdigest()

    @cached_property
    def variances(self) -> Floats:
        """The diagonal of S."""
        return np.asarray(self.standard.variances * self.standard.scales**2)

    @property
    def small(self) -> bool:
        """Whether all rows may be read into memory."""
        return self.first.n_rows * self.source.n_features <= READ_NUMBERS

    def decays(self, features: int | None) -> bool:
        """Whether few columns hold the largest variances, so that others can be left out by theirs."""
        n, variances = self.source.n_features, self.variances
        count = self._first_count(features)
        return count < n and bool(DECAY * np.partition(variances, n - count - 1)[n - count - 1] < variances.max())

    def _first_count(self, features: int | None) -> int:
        n, variances = self.source.n_features, self.variances
        if n <= MOST_COLUMNS or features is None:
            return min(n, MOST_COLUMNS)
        least = np.partition(variances, n - min(features, n))[n - min(features, n)]
        share = SHARE if self.rows is None else SHARE_FOR_PRODUCTS
        large = int(np.count_nonzero(variances >= share * least))
        return min(n, max(FEWEST_FIRST, 2 * features, min(large, MOST_FIRST)))

    def covariance(self, features: int | None, needed: Indices) -> Covariance:
        """Return S, with the columns at hand that can matter, and those that are needed.

        `features` is the number of features of all components together. If it is not known, as many columns are taken
        to hand as are always affordable.
        """
        n, count = self.source.n_features, self._first_count(features)
        if count == n:
            return self.with_columns(np.arange(n))
        if self.decays(features):
            columns = np.argsort(-self.variances, kind="stable")[:count]
        else:
            columns = self._by_products(count)
        return self.with_columns(np.union1d(columns, needed).astype(np.intp))

    def product(self, vectors: Floats, work: str) -> Floats:
        """Return S times vectors, up to the divisor, in one pass."""
        scales = self.standard.scales[:, None]
        return self.run(ProductPass(self.standard.means, vectors * scales), work) * scales

    def with_columns(self, columns: Indices) -> Covariance:
        """Return S with some columns at hand, in one pass."""
        standard, needed = self.standard, COPIES * 8 * len(columns) ** 2
        inner: Covariance
        if self.rows is not None:
            inner = SparseCovariance(self.rows[:, columns], standard.on(columns))
        else:
            centers = None if self.source.sparse and standard.expands else standard.means[columns]
            check_memory(needed, f"The products of {len(columns):,} columns", "ask for fewer features")
            work = f"products of {len(columns):,} columns, {memory_in_words(needed)}"
            part = self.run(GramPass(columns, centers), work)
            check_unchanged(self.source, part.column_digests.agrees_with(self.first.column_digests.part(columns)))
            inner = covariance_from_gram(part.gram, part.depth, columns, centers, self.first.moments, standard)
        if len(columns) == self.source.n_features:
            return inner
        errors = np.maximum(standard.own**2 * (1 + 1e-15) - self.variances, 0.0)
        return ScreenedCovariance(inner, columns, self.variances, errors, slack=standard.slack, screening=self)

    def _by_products(self, count: int) -> Indices:
        """Return the columns with the largest entries in the leading directions of S."""
        n = self.source.n_features
        memory = memory_in_words(8 * 3 * DIRECTIONS * n)
        warn(
            f"The columns of {self.source.name} have similar variances, so that none can be left out by its variance; "
            f"the data are read up to {PRODUCT_PASSES + 3} more times, with {memory}, to find the {count:,} to search."
        )
        directions = np.random.default_rng(0).standard_normal((n, DIRECTIONS))
        lengths = np.zeros(n)
        for number in range(PRODUCT_PASSES):
            images = self.product(directions, "products with directions")
            if not number:
                lengths = (images**2).sum(axis=1)
            directions = images if number == PRODUCT_PASSES - 1 else np.linalg.qr(images)[0]
        basis, sizes, _ = np.linalg.svd(directions, full_matrices=False)
        leading = np.abs(basis[:, : DIRECTIONS // 2]) * sizes[: DIRECTIONS // 2]
        # Half of the columns by the length of their column of S, the others by the leading directions in turn.
        rankings = [lengths, *leading.T]
        chosen: list[Indices] = [np.argsort(-lengths, kind="stable")[: count // 2]]
        share = count // 2 // (len(rankings) - 1)
        chosen += [np.argsort(-ranking, kind="stable")[:share] for ranking in rankings[1:]]
        return np.unique(np.concatenate(chosen))

    def run(self, job: Job[Part], work: str) -> Part:
        """Do a pass; one that is stopped raises an error, because there is no result yet."""
        self.passes += 1
        progress = PassProgress(f"pass {self.passes} over {self.source.name}: {work}", self.monitor)
        found: list[Part] = []
        with self.monitor.watch():
            found.append(self.source.reduce(job, progress))
        if found:
            return found[0]
        if self.monitor.stopped is Stop.TIME_LIMIT:
            raise TimeoutError(
                f"The time limit was reached in pass {self.passes} over {self.source.name}, before anything was found; "
                "give more time."
            )
        raise KeyboardInterrupt(f"Interrupted in pass {self.passes} over {self.source.name}.")


def widened(covariance: Covariance, least: float, components: Floats) -> Covariance | None:
    """Return S with more features at hand, or None if no more are worth it, or all are at hand.

    Features with at least the variance `least` are taken to hand: they matter for a proof. If they are too many, all
    rows are read if a look at all pairs is cheap. Otherwise one pass computes the images Sz of the components, which
    are unit vectors, one in each row. A hidden feature can only replace a feature j of z if its entry in Sz is larger
    than that of j, which is about v z_j, v = z'Sz. As (s_i'z)^2 <= S_ii v, there is none if all hidden variances are
    below v z_j^2, and the pass is not needed.
    """
    if not isinstance(covariance, ScreenedCovariance) or covariance.screening is None:
        return None
    source, at_hand = covariance.screening, covariance.at_hand
    variances = source.variances
    wanted = np.union1d(at_hand, np.flatnonzero(variances >= least))
    if len(wanted) == len(at_hand) or source.widenings == MOST_WIDENINGS:
        return None
    source.widenings += 1
    if len(wanted) <= MOST_COLUMNS:
        return source.with_columns(wanted)
    n_rows = source.first.n_rows
    if source.small and n_rows * len(variances) ** 2 <= EXPENSIVE:
        return covariance_of(read_whole(source.source, n_rows), center=source.center, scale=source.scale)[0]
    hidden, own = np.setdiff1d(np.arange(len(variances)), at_hand), components[:, at_hand]
    values = np.einsum("ij,ij->i", own, covariance.inner.product(own.T).T)
    weakest = min(v * float((z[z != 0] ** 2).min()) for v, z in zip(values, components, strict=True))
    if variances[hidden].max() < weakest:
        return None
    images = np.abs(source.product(components.T, "products with components"))
    larger = np.array([images[hidden, t] - images[z != 0, t].min() for t, z in enumerate(components)]).max(axis=0)
    order = np.argsort(-larger, kind="stable")[: max(MOST_COLUMNS - len(at_hand), 0)]
    chosen = hidden[order[larger[order] > 0]]
    return source.with_columns(np.union1d(at_hand, chosen)) if len(chosen) else None


def check_unchanged(source: Source, agrees: bool) -> None:
    """Raise a ValueError if two passes over a source gave other numbers."""
    if not agrees:
        raise ValueError(
            f"{source.name} has changed between two passes: the same columns gave other numbers; run again when "
            "nothing writes to it."
        )


def read_whole(source: Source, n_rows: int | None = None) -> Any:
    """Return all rows of a source that is read in blocks, or None if they are too many for memory.

    If their number is known, dense rows are written to their place, so that memory never holds them twice.
    """
    blocks, numbers = [], 0
    if n_rows is not None and not source.sparse:
        whole, begin = np.empty((n_rows, source.n_features)), 0
        for block in source.blocks():
            check_unchanged(source, begin + len(block.rows) <= n_rows)
            whole[begin : begin + len(block.rows)] = block.rows
            begin += len(block.rows)
        check_unchanged(source, begin == n_rows)
        return whole
    for block in source.blocks():
        blocks.append(block.rows.astype(np.float64, copy=False))
        numbers += block.rows.shape[0] * source.n_features
        if numbers > READ_NUMBERS:
            return None
    if not blocks:
        raise ValueError(f"{source.name} has no rows; give a table with at least two.")
    return sp.csr_array(sp.vstack(blocks)) if source.sparse else np.concatenate(blocks)
