"""Is a component more than noise? The same search in tables with permuted columns (parallel analysis).

The largest of many random numbers is large. So the best component of pure noise has a large variance, too, and a proof
that it is the best does not make it real. Permuting each column on its own keeps every mean and every variance, and
breaks every relation between columns. What the same search finds in such tables is what it finds in noise:

    p = (1 + number of permuted tables with at least the value found in the data) / (1 + number of permuted tables).

If the columns are independent and the rows are exchangeable, p is at most a with probability at most a, for every a:
all tables, the one of the data among them, are then equally likely to have the largest value (Phipson and Smyth 2010).
The smallest possible p, 1 / (1 + permutations), is the resolution.

Later components. Component t is compared with noise of its own: columns of what the components before it have left
(Dobriban and Owen 2019 and Vitale et al. 2017, for ordinary PCA). Comparing it with the t-th component of permuted raw
data hides weak components, because the permuted columns still have the variance of the strong ones. Permuting the
residual columns as they are finds components that are not there, because residual columns have lost variance and are
not independent even if the noise is. `RowsLeft.permuted` corrects for both. In tables of 250 rows with planted
components, the first component that is only noise was called real (level 0.05) in so many sets:

    columns  planted components            sets   t-th of raw data   residual columns   as here
      20     2 of 5 features, weak         200          2 %                18 %           8 %
      20     3 of 5 features               200           -                 44 %           4 %
     100     5 of 10 features               60          0 %                10 %           5 %

The test is exact for the first component only. For later ones it is exact up to the errors in the components before
it, whose features must be about equally noisy: otherwise they leave structure behind, and the test finds it.

If the components are read in their order up to the first that is no better than noise, the chance to call any noise
real is at most the level, whatever the number of components.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone

from laconic.bounds.names import get_solver
from laconic.core.arrays import BLOCK_ENTRIES, Floats, Indices
from laconic.core.monitor import Monitor, Stop, threads_for
from laconic.core.rounding import TINY
from laconic.covariance import Covariance, SubsetCovariance, largest_eigenvalues
from laconic.covariance.make import Made, Recipe, make
from laconic.covariance.missing import RIDGE
from laconic.model.components import NOTHING, components
from laconic.model.resampling import check_enough_done, check_rows, for_each, permuted, recipe_again, seed_of
from laconic.model.settings import (
    check_count,
    check_settings,
    forced_places,
    joint_of,
    made_of,
    penalty_of,
    sizes_of,
)
from laconic.search.problem import Problem, Solution, Solver, abilities_of, solve_at_hand

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# A unit vector of a feature that is shorter than this, once the components are taken out, is only rounding.
SHORTEST = 1e-6
# A component is called no better than noise if its p-value is above this: here, in `choose`, and on the page.
LEVEL = 0.05
# The fewest permuted tables that can tell a component from noise: it must be better than in all of them.
TABLES = round(1 / LEVEL) - 1
# At most this many ordinary components are compared with noise, in `choose` and on the page.
MOST_ORDINARY = 10
# Ordinary components are compared with noise on rows of about so many numbers, but not on fewer than so many rows.
MOST_NUMBERS, FEWEST_ROWS = 1_000_000, 500
# Values that differ by less than this share are equal. With one feature, all permuted tables have the same value.
EQUAL = 1e-9
# The relative accuracy of variances that Lanczos' method computes. They are drawn, and printed to a tenth of a percent.
ACCURACY = 1e-4
# In permuted tables less is enough: they differ from each other by more.
ACCURACY_OF_NOISE = 1e-2


@dataclass(frozen=True, eq=False)
class RowsLeft:
    """Rows less some components: XR with R = (I - z_1 z_1')(I - z_2 z_2')..."""

    rows: Any  # dense: centred and scaled; sparse: scaled only, stored by column
    recipe: Recipe  # how S is made of them
    directions: tuple[Floats, ...] = ()  # z_1, z_2, ... on all features

    @classmethod
    def of(cls, made: Made) -> "RowsLeft":
        """Return rows in memory, centred and scaled as S was made, before any component is taken out."""
        recipe = recipe_again(made) if made.recipe.estimated else Recipe(center=made.recipe.center)
        if sp.issparse(made.rows) and not recipe.estimated:
            scales = sp.diags_array(made.scales, dtype=np.float64)
            return cls(sp.csc_array(sp.csc_array(made.rows).astype(np.float64) @ scales), recipe)
        factor = np.array(made.rows.toarray() if sp.issparse(made.rows) else made.rows, dtype=np.float64)
        factor -= made.means
        factor *= made.scales
        factor[:, made.constant] = 0.0
        return cls(factor, recipe)

    def without(self, z: Floats) -> "RowsLeft":
        """Return the rows without one more unit vector."""
        # Columns that have lost variance are not scaled again, and rows without z have a singular matrix.
        recipe = replace(self.recipe, scale=False, ridge=RIDGE if self.recipe.missing == "em" else 0.0)
        return replace(self, rows=_project(self.rows, z), recipe=recipe, directions=(*self.directions, z))

    def covariance(self, features: int | None, needed: Indices | None = None) -> Covariance:
        """Return the covariance. The arguments are those of `make`."""
        own = () if needed is None else needed
        return make(self.rows, self.recipe, features=features, needed=own, quiet=True).covariance

    def permuted(self, random: np.random.Generator) -> "RowsLeft":
        """Return what would be left of independent columns.

        Let the rows be E = NR, with N noise. The columns of E are not independent even if those of N are: E has no
        variance along z, and column i of E has only |Re_i|^2 times the variance of column i of N, if the features of a
        component are equally noisy. So column i of E is divided by |Re_i|, all columns are permuted, which stands for
        another N, and R is applied again. Without components this is a plain permutation of each column.
        """
        rows = permuted(self.rows, random)
        if self.directions:
            lengths = self._lengths()
            rows = sp.csc_array(rows @ sp.diags_array(1 / lengths)) if sp.issparse(rows) else rows / lengths
        for z in self.directions:
            rows = _project(rows, z)
        return replace(self, rows=rows)

    def _lengths(self) -> Floats:
        """Return |Re_i| for each column i. With missing values R differs from row to row; it is a mean over rows."""
        lengths, touched = np.ones(self.rows.shape[1]), np.flatnonzero(np.any(self.directions, axis=0))
        there = np.ones((1, len(touched)))
        if self.recipe.estimated:
            step = 1 + self.rows.shape[0] * len(touched) ** 2 // BLOCK_ENTRIES
            there = 1.0 - np.isnan(self.rows[::step, touched])
        R = np.eye(len(touched))[None]
        for z in self.directions:
            own = there * z[touched]
            R = R - ((R @ own[:, :, None]) / np.maximum((own**2).sum(axis=1), TINY)[:, None, None]) * own[:, None, :]
        own = np.sqrt(((R**2).sum(axis=1) * there).sum(axis=0) / np.maximum(there.sum(axis=0), 1))
        # A feature that is taken out altogether has a column of zeros.
        lengths[touched] = np.where(own < SHORTEST, 1.0, own)
        return lengths


def _project(rows: Any, z: Floats) -> Any:
    """Return X(I - zz'). In a row with missing values the score is that of least squares on those that are there."""
    support = np.flatnonzero(z)
    loadings = z[support]
    if sp.issparse(rows):
        scores = sp.csc_array((rows[:, support] @ loadings)[:, None])
        return sp.csc_array(rows - sp.csc_array(scores @ sp.csc_array(z[None, :])))
    left, own = rows.copy(), rows[:, support]
    there = ~np.isnan(own)
    scores = np.where(there, own, 0.0) @ loadings / np.maximum(there @ loadings**2, TINY)
    left[:, support] -= np.outer(scores, loadings)
    return left


def noise_line(values: Floats) -> Floats:
    """Return the value in noise that a component must exceed: its p-value is then at most `LEVEL`."""
    place = max(1, int(LEVEL * (1 + len(values)) + EQUAL))
    return np.asarray(np.sort(values, axis=0)[-place])


@dataclass(frozen=True, eq=False)
class ComponentNoise:
    """One component beside what the same search finds in permuted tables."""

    component: int  # its number, from 1
    solution: Solution  # that was found in the data
    value: float  # its variance z'Sz, after the earlier components were taken out
    noise: Floats  # the values that were found in the permuted tables

    @property
    def cardinality(self) -> int:
        """The number of its features."""
        return len(self.solution.support)

    @property
    def permutations(self) -> int:
        """The number of permuted tables that were searched."""
        return len(self.noise)

    @property
    def as_large(self) -> int:
        """The number of permuted tables in which at least the value of the data was found."""
        return int(np.count_nonzero(self.noise >= self.value * (1 - EQUAL)))

    @property
    def noise_line(self) -> float:
        """The value in noise that the component must exceed; NaN if there are no permuted tables."""
        return float(noise_line(self.noise)) if len(self.noise) else np.nan

    @property
    def p_value(self) -> float:
        """(1 + number of permuted tables with as large a value) / (1 + number of permuted tables)."""
        return (1 + self.as_large) / (1 + self.permutations)

    @property
    def verdict(self) -> str:
        """A sentence: better than noise, or not."""
        count, fewer = self.permutations, self.permutations - self.as_large
        if not count:
            return "It was not compared with noise: there was no time left."
        tables = "permuted table" if count == 1 else f"of {count} permuted tables"
        p = f"p = {self.p_value:.2g}" if self.as_large else f"p <= {self.p_value:.2g}"
        if self.p_value <= LEVEL:
            return f"It is better than in {fewer} {tables} ({p})."
        if not self.as_large:
            return f"It is better than in {fewer} {tables} ({p}); at least {TABLES} are needed to tell it from noise."
        return f"It is no better than noise: permuted columns give as much in {self.as_large} of {count} tables ({p})."


def compare(
    left: RowsLeft,
    solver: Solver,
    sizes: Sequence[int],
    free: Indices,
    forced: Indices,
    monitor: Monitor,
    *,
    permutations: int,
    seed: int,
    nonnegative: bool = False,
    found: Sequence[Solution] | None = None,
    n_jobs: int | None = None,
) -> list[ComponentNoise]:
    """Compare components of some sizes with noise, one after the other.

    `found` holds components to take out of the rows in place of those of the search here. The value of each is still
    that of the search without a proof, as in the permuted tables: a proof may have improved the component.
    """
    records = list[ComponentNoise]()
    for index, size in enumerate(sizes):
        k = min(size, len(free))
        work = partial(_search, left, solver, free, k, forced, nonnegative)
        outcome = for_each(work, [None], n_jobs=1, monitor=monitor, stage=f"component {index + 1}")
        if not outcome:
            break
        own = outcome[0]
        if own.value <= NOTHING * max([own.value, *(record.value for record in records)]):
            raise ValueError(
                f"Component {index + 1} of n_components={len(sizes)} would explain nothing: the covariance is used up; "
                f"ask for n_components={index}."
            )
        stage = f"component {index + 1}: permuted table"
        tasks = [(seed, index, number) for number in range(permutations)]
        in_noise = [one.value for one in for_each(work, tasks, n_jobs=n_jobs, monitor=monitor, stage=stage)]
        component = own if found is None else found[index]
        records.append(ComponentNoise(index + 1, component, own.value, np.array(in_noise, dtype=np.float64)))
        if monitor.stopped is not None:
            break
        left = left.without(component.vector(left.rows.shape[1]))
    return records


def _search(
    left: RowsLeft,
    solver: Solver,
    free: Indices,
    k: int,
    forced: Indices,
    nonnegative: bool,
    task: tuple[int, int, int] | None,
    monitor: Monitor,
) -> Solution | None:
    """Return what the search finds in the rows, or in permuted rows if there is a task; None if it was stopped."""
    if task is not None:
        left = left.permuted(np.random.default_rng(task))
    covariance = left.covariance(k, forced)
    if len(free) < covariance.n_features:
        covariance = SubsetCovariance(covariance, free)
    problem = Problem(covariance, k, np.searchsorted(free, forced), nonnegative, monitor)
    with threads_for(covariance.on_hand().n_features):
        solution = solve_at_hand(solver, problem)
    if monitor.stopped is not None:
        return None
    # A witness may be large, and is not needed in another process.
    return replace(solution, support=free[solution.support], witness=None)


@dataclass(frozen=True, eq=False)
class Scree:
    """The variances of ordinary components, the largest first, and those of permuted tables, a row for each table."""

    variances: Floats
    noise: Floats | None = None
    n_rows: int = 0  # the number of rows that were compared with noise

    @property
    def noise_line(self) -> Floats | None:
        """For each component the value in noise that it must exceed; None without permuted tables."""
        return None if self.noise is None else noise_line(self.noise)

    @property
    def n_above_noise(self) -> int:
        """How many components come before the first that is not above the noise line."""
        above = self.variances > np.asarray(self.noise_line) * (1 + EQUAL)
        return len(above) if above.all() else int(np.argmin(above))


def scree_of(made: Made, count: int, tables: int = 0, monitor: Monitor | None = None) -> Scree:
    """Return the variances of at most `count` ordinary components, beside those of permuted tables.

    The t-th component is compared with the t-th one of permuted tables (parallel analysis, Horn 1965). S of a permuted
    table is made as that of the rows: with their missing values, and with their weights, which stay in their places.
    Large data are compared by a part of their rows, and the variances are then those of this part. A covariance matrix
    has no rows, and so no noise.
    """
    S, monitor = made.covariance, monitor or Monitor()
    rows, weights = some_rows(made) if tables else (None, None)
    n = 0 if rows is None else rows.shape[0]
    if rows is not None:
        count = min(count, max(1, n - made.recipe.center))
    recipe = recipe_again(made)

    def variances(table: Any, accuracy: float = ACCURACY) -> Floats:
        part = S if table is None else make(table, recipe, weights=weights, quiet=True).covariance
        found = largest_eigenvalues(part.on_hand(), min(count, part.on_hand().n_features), tolerance=accuracy)
        # Rounding may turn a zero into a small negative number.
        return np.maximum(found, 0.0) if part.semidefinite else found

    found = variances(None if rows is None or (made.in_memory and n == made.rows.shape[0]) else rows)
    noise = list[Floats]()
    with monitor.watch():
        for table in range(tables if n else 0):
            monitor.tick(f"permuted table {table + 1} of {tables}")
            noise.append(variances(permuted(rows, np.random.default_rng((0, table))), ACCURACY_OF_NOISE))
    return Scree(found, np.array(noise) if noise else None, n)


def some_rows(made: Made) -> tuple[Any, Floats | None]:
    """Return rows that take little time, and their weights: all, some at equal distances, or the first that are read.

    Both are None for a covariance matrix.
    """
    rows, weights = made.rows, made.weights
    if rows is not None and not made.in_memory:
        parts, numbers, n = [], 0, 0
        for block in rows.blocks():
            parts.append(block.rows)
            numbers, n = numbers + block.rows.size, n + block.rows.shape[0]
            if numbers >= MOST_NUMBERS and n >= FEWEST_ROWS:
                break
        rows = (sp.vstack if rows.sparse else np.concatenate)(parts)
    if rows is None:
        return None, None
    if weights is not None:
        whole = bool((weights % 1 == 0).all()) and weights.sum() <= MOST_NUMBERS
        counted = np.repeat(np.arange(len(weights)), weights.astype(int) if whole else weights > 0)
        rows, weights = rows[counted], None if whole else weights[counted]
    step = max(1, min(rows.size // MOST_NUMBERS, rows.shape[0] // FEWEST_ROWS))
    return (rows, weights) if step == 1 else (rows[::step], None if weights is None else weights[::step])


@dataclass(frozen=True, eq=False)
class Noise:
    """Components beside what the same search finds in permuted tables; `noise` makes it."""

    components: list[ComponentNoise]  # a record for each component that was compared
    permutations: int  # the number of permuted tables that were asked for
    stopped: Stop | None = None  # why the comparison was stopped early, if it was

    def __repr__(self) -> str:
        listed = ", ".join(f"{p:.3g}" for p in self.p_values)
        return f"Noise({self.permutations} permutations, p-values {listed or 'none'})\n{self.verdict}"

    @property
    def p_values(self) -> Floats:
        """The p-value of each component."""
        return np.array([one.p_value for one in self.components])

    def n_real(self, level: float = LEVEL) -> int:
        """Return how many components come before the first whose p-value is above a level.

        With the components in this order, the chance to call any noise real is at most the level.
        """
        above = np.flatnonzero(self.p_values > level)
        return int(above[0]) if len(above) else len(self.components)

    @property
    def verdict(self) -> str:
        """A sentence for each component."""
        lines = []
        for one in self.components:
            line = f"Component {one.component}: {one.verdict[0].lower()}{one.verdict[1:]}"
            if self.stopped is not None and 0 < one.permutations < self.permutations:
                line += f" Only {one.permutations} of {self.permutations} permuted tables were done."
            lines.append(line)
        if self.stopped is not None:
            lines.append(f"The comparison was stopped early: {self.stopped.value}.")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each component."""
        columns = ["component", "cardinality", "value", "noise_line", "p_value", "permutations", "verdict"]
        return pd.DataFrame([[getattr(one, column) for column in columns] for one in self.components], columns=columns)


def noise(
    model: "SparsePCA",
    X: Any = None,
    *,
    covariance: Any = None,
    sample_weight: Any = None,
    permutations: int = 99,
    n_jobs: int | None = None,
) -> Noise:
    """Compare each component with what the same search finds in tables with permuted columns.

    Nothing is proved here. The components are those of the model's settings with ``proof=None``.

    Parameters
    ----------
    model : SparsePCA
        Its settings count, for the data and for the permuted tables. It need not be fitted. `random_state` is the seed
        of the permutations, 0 by default.
    X : array, sparse matrix or table of shape (n_samples, n_features)
        Rows in memory. A missing value stays in its place when its column is permuted, and S is made as `missing` says;
        EM makes at most 50 steps in each table.
    covariance : None
        Not possible: the columns of rows are permuted.
    sample_weight : None
        Not possible: a value in a permuted column has lost the weight of its row.
    permutations : int, default=99
        The number of permuted tables for each component. The smallest possible p-value is 1 / (1 + permutations).
    n_jobs : int, optional
        The number of processes, as in joblib. The result does not depend on it.

    Returns
    -------
    Noise
        The value of each component, the values in noise, and the p-values.

    See Also
    --------
    stability : Find out whether other rows would give the same features.
    choose : Count the ordinary components that are better than noise.

    Examples
    --------
    >>> from laconic import SparsePCA, noise
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> print(noise(SparsePCA(cardinality=5), votes).verdict)
    Component 1: it is better than in 99 of 99 permuted tables (p <= 0.01).
    """
    check_settings(model)
    permutations = check_count("permutations", permutations)
    solver = get_solver(model.method)
    why = ""
    if joint_of(model) is not None:
        why = f"joint={model.joint!r} finds them together; leave out joint="
    elif penalty_of(solver) is not None:
        why = "a penalty finds another size in each permuted table; give cardinality= and a method without a penalty"
    elif model.deflation != "projection":
        why = f"deflation={model.deflation!r} cannot take a component out of rows; give deflation='projection'"
    if why:
        raise ValueError(f"noise compares components of given sizes, found one after the other: {why}.")
    with Monitor(model.time_limit, progress=model.verbose) as monitor:
        made = made_of(model, X, covariance, sample_weight, monitor)
        check_rows(made, "noise")
        if made.weights is not None:
            raise ValueError(
                "noise permutes columns, and a value would lose the weight of its row; leave sample_weight out, or "
                "repeat rows with numpy.repeat."
            )
        sizes, found = sizes_of(model, made, monitor), None
        if sizes.count > 1 and abilities_of(solver).together:
            raise ValueError(f"noise compares components one after the other, and method={model.method!r} does not.")
        ks = sizes.cardinalities
        if ks is None:
            found = components(clone(model).set_params(proof=None), made, sizes, monitor).solutions
            ks = [len(solution.support) for solution in found]
        records = compare(
            RowsLeft.of(made),
            solver,
            ks,
            np.flatnonzero(~made.constant),
            forced_places(model, made),
            monitor,
            permutations=permutations,
            seed=seed_of(model),
            nonnegative=model.nonnegative,
            found=found,
            n_jobs=n_jobs,
        )
    check_enough_done(len(records), 1, "component", monitor.stopped)
    return Noise(records, permutations, monitor.stopped)
