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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.bounds.at_hand import solve_at_hand
from laconic.core.arguments import places_of
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, Stop, check_time_limit
from laconic.core.threads import threads_for
from laconic.covariance import SubsetCovariance
from laconic.covariance.from_data import covariance_from
from laconic.covariance.rows_left import RowsLeft
from laconic.data.rows import open_source
from laconic.data.tables import as_array_or_frame, check_unique, rows_of
from laconic.methods.registry import get_solver
from laconic.model.request import Request, make_request
from laconic.model.resampling import check_count, check_enough_done, for_each, seed_of
from laconic.problem import Problem, Solution, Solver
from laconic.problem.contract import abilities_of

if TYPE_CHECKING:
    import pandas as pd

    from laconic.report.pictures.display import Place
    from laconic.report.pictures.noise import NoiseDisplay

# A component is called no better than noise if its p-value is above this.
LEVEL = 0.05
# The quantile of the values in noise that tables and pictures show.
QUANTILE = 0.95
# Values that differ by less than this share are equal. With one feature, all permuted tables have the same value.
EQUAL = 1e-9
# A component explains nothing if its variance is at most this share of the first one's: that is rounding.
NOTHING = 1e-15
NO_TIME = "It was not compared with noise: there was no time left."


@dataclass(frozen=True, eq=False)
class ComponentNoise:
    """One component beside what the same search finds in permuted tables.

    Attributes
    ----------
    component
        The number of the component, from 1.
    solution
        The component that was found in the data.
    value
        Its variance z'Sz, after the earlier components were taken out.
    noise
        The values that were found in the permuted tables.
    """

    component: int
    solution: Solution
    value: float
    noise: Floats

    @property
    def permutations(self) -> int:
        """The number of permuted tables that were searched."""
        return len(self.noise)

    @property
    def as_large(self) -> int:
        """The number of permuted tables in which at least the value of the data was found."""
        return int(np.count_nonzero(self.noise >= self.value * (1 - EQUAL)))

    @property
    def mean(self) -> float:
        """The mean of the values in noise; NaN if there are none."""
        return float(self.noise.mean()) if len(self.noise) else np.nan

    @property
    def quantile(self) -> float:
        """The 95 % quantile of the values in noise; NaN if there are none."""
        return float(np.quantile(self.noise, QUANTILE)) if len(self.noise) else np.nan

    @property
    def p_value(self) -> float:
        """(1 + number of permuted tables with as large a value) / (1 + number of permuted tables)."""
        return (1 + self.as_large) / (1 + self.permutations)

    @property
    def resolution(self) -> float:
        """The smallest p-value that this number of permuted tables can give."""
        return 1 / (1 + self.permutations)

    @property
    def verdict(self) -> str:
        """A sentence: better than noise, or not."""
        count, fewer = self.permutations, self.permutations - self.as_large
        if not count:
            return NO_TIME
        tables = "permuted table" if count == 1 else f"of {count} permuted tables"
        p = f"p <= {self.resolution:.2g}" if not self.as_large else f"p = {self.p_value:.2g}"
        if self.p_value <= LEVEL:
            return f"It is better than in {fewer} {tables} ({p})."
        if self.resolution > LEVEL and not self.as_large:
            needed = round(1 / LEVEL) - 1
            return f"It is better than in {fewer} {tables} ({p}); at least {needed} are needed to tell it from noise."
        return f"It is no better than noise: permuted columns give as much in {self.as_large} of {count} tables ({p})."


@dataclass(frozen=True, eq=False)
class NoiseComparison:
    """Components beside what the same search finds in permuted tables.

    Attributes
    ----------
    components : list of ComponentNoise
        A record for each component that was compared.
    permutations : int
        The number of permuted tables that were asked for.
    feature_names : list of str or None
        The names of the features, or None.
    stopped : Stop or None
        Why the comparison was stopped early: a time limit or Ctrl-C. Otherwise None.

    See Also
    --------
    compare_with_noise : Makes it.

    Examples
    --------
    >>> from laconic import compare_with_noise
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().to_frame()
    >>> compared = compare_with_noise(votes, cardinality=5, permutations=19)
    >>> compared.n_real()
    1
    """

    components: list[ComponentNoise]
    permutations: int
    feature_names: list[str] | None = field(default=None, repr=False)
    stopped: Stop | None = None

    def __repr__(self) -> str:
        listed = ", ".join(f"{p:.3g}" for p in self.p_values)
        return f"NoiseComparison({self.permutations} permutations, p-values {listed or 'none'})"

    def __len__(self) -> int:
        return len(self.components)

    @property
    def p_values(self) -> Floats:
        """The p-value of each component."""
        return np.array([one.p_value for one in self.components])

    def n_real(self, level: float = LEVEL) -> int:
        """Return how many components come before the first whose p-value is above a level.

        Parameters
        ----------
        level
            The largest p-value of a component that counts as better than noise. With the components in this order,
            the chance to call any noise real is at most this.
        """
        above = np.flatnonzero(self.p_values > level)
        return int(above[0]) if len(above) else len(self.components)

    @property
    def verdict(self) -> str:
        """A sentence for each component."""
        lines = [f"Component {one.component}: {one.verdict[0].lower()}{one.verdict[1:]}" for one in self.components]
        if self.stopped is not None:
            lines.append(f"The comparison was stopped early: {self.stopped.value}.")
        return "\n".join(lines)

    def added_to(self, verdicts: Sequence[str]) -> list[str]:
        """Return the verdicts of a fit, each with the sentence of its component.

        Parameters
        ----------
        verdicts
            A verdict for each component. If the comparison was stopped, the last ones have no sentence of their own.
        """
        sentences = [one.verdict for one in self.components]
        if self.stopped is not None:
            # Each component has its own number of tables: the work was stopped between two of them.
            ended = f"permuted tables were done: {self.stopped.value}."
            sentences = [
                f"{sentence} Only {one.permutations} of {self.permutations} {ended}"
                if 0 < one.permutations < self.permutations
                else sentence
                for sentence, one in zip(sentences, self.components, strict=True)
            ]
        sentences += [NO_TIME] * (len(verdicts) - len(sentences))
        return [f"{verdict} {sentence}" for verdict, sentence in zip(verdicts, sentences, strict=True)]

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with a row for each component."""
        import pandas as pd

        return pd.DataFrame(
            {
                "component": [one.component for one in self.components],
                "cardinality": [len(one.solution.support) for one in self.components],
                "value": [one.value for one in self.components],
                "noise_mean": [one.mean for one in self.components],
                "noise_quantile": [one.quantile for one in self.components],
                "p_value": [one.p_value for one in self.components],
                "resolution": [one.resolution for one in self.components],
                "permutations": [one.permutations for one in self.components],
                "verdict": [one.verdict for one in self.components],
            }
        )

    def plot(self, ax: "Place" = None) -> "NoiseDisplay":
        """Draw the value of each component beside the values in noise.

        Parameters
        ----------
        ax
            The axes to draw on, or an empty figure to fill. By default pyplot makes a figure.
        """
        from laconic.report.pictures.noise import NoiseDisplay

        return NoiseDisplay(self).plot(ax)


def compare_with_noise(
    X: Any,
    *,
    n_components: int | None = None,
    cardinality: int | Sequence[int],
    permutations: int = 99,
    method: str | Solver = "auto",
    disjoint: bool = False,
    nonnegative: bool = False,
    forced_in: Sequence[str | int] | None = None,
    forced_out: Sequence[str | int] | None = None,
    center: bool = True,
    scale: bool = False,
    feature_names: Sequence[str] | None = None,
    stop_at: float | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: bool = False,
) -> NoiseComparison:
    """Compare each component with what the same search finds in tables with permuted columns.

    Nothing is proved here. The components are those of `SparsePCA` with ``proof=None`` and ``deflation="projection"``.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_samples, n_features)
        Rows: an array, a sparse matrix or a table. They must be in memory.
    n_components : int, optional
        The number of components. By default the number of cardinalities if there are several, otherwise 1.
    cardinality : int or sequence of int
        The number of features of a component, or one number for each component.
    permutations : int, default=99
        The number of permuted tables for each component. The smallest possible p-value is 1 / (1 + permutations).
    method : str or Solver, default="auto"
        A solver or its short name, for the data and for the permuted tables.
    disjoint, nonnegative, forced_in, forced_out, center, scale : as in `SparsePCA`
        As in `SparsePCA`. They hold for the permuted tables, too.
    feature_names : sequence of str, optional
        The names of the features; by default the column names of a table.
    stop_at : float, optional
        Stop after the first component with a p-value above this. By default all components are compared.
    random_state : int, RandomState instance or None, default=0
        The seed of the permutations.
    n_jobs : int, optional
        The number of processes, as in joblib. The result does not depend on it.
    time_limit : float, optional
        Seconds for the whole comparison. If time runs out, the permuted tables searched so far are kept.
    progress : bool, default=False
        Show progress, on a terminal only.

    Returns
    -------
    NoiseComparison
        The value of each component, the values in noise, and the p-values.

    See Also
    --------
    stability : Find out whether other rows would give the same features.
    choose : ``choose(X, n_components="parallel")`` counts the components that are better than noise.

    Notes
    -----
    The p-value is (1 + m) / (1 + permutations), where m permuted tables have at least the value of the data. It is
    never 0, because the data are one of the tables that could have been drawn [1]_.

    References
    ----------
    .. [1] B. Phipson and G. K. Smyth (2010). Permutation p-values should never be zero. Statistical Applications in
       Genetics and Molecular Biology 9(1), article 39.

    Examples
    --------
    >>> from laconic import compare_with_noise
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().to_frame()
    >>> print(compare_with_noise(votes, cardinality=5).verdict)
    Component 1: it is better than in 99 of 99 permuted tables (p <= 0.01).
    """
    check_time_limit(time_limit)
    permutations = check_count("permutations", permutations)
    solver = get_solver(method)
    rows, names = rows_in_memory(X, feature_names)
    n = rows.shape[1]
    needed = np.array([] if forced_in is None else places_of(forced_in, names, n, argument="forced_in"), dtype=np.intp)
    settings = {
        "permutations": permutations,
        "n_components": n_components,
        "cardinality": cardinality,
        "min_variance": None,
        "deflation": "projection",
        "disjoint": disjoint,
        "joint": None,
        "nonnegative": nonnegative,
        "forced_in": forced_in,
        "forced_out": forced_out,
    }
    with Monitor(time_limit, progress=progress) as monitor:
        made = covariance_from(rows, center=center, scale=scale, needed=needed, with_digest=False)
        request = make_request(settings, solver, made.covariance, made.standardization, names, "X")
        check_comparable(settings, request, solver)
        left = RowsLeft.of(rows, made.standardization, center=center, scale=scale)
        comparison = compare(
            left, request, solver, monitor, permutations, seed_of(random_state), n_jobs=n_jobs, stop_at=stop_at
        )
    check_enough_done(len(comparison), 1, "component", monitor.stopped)
    return comparison


def rows_in_memory(
    X: Any, feature_names: Sequence[str] | None = None, *, missing: str | None = None
) -> tuple[Any, list[str] | None]:
    """Return checked rows and the names of their features, or raise an error if the rows are read in blocks.

    NaN is an error if `missing` is "error", or None, where the caller has no such option.
    """
    source = open_source(X)
    if source is not None and source.in_memory() is None:
        raise ValueError(
            f"{source.name} is read in blocks, and columns are permuted and rows drawn in memory; load the rows first, "
            "for example with laconic.read_table."
        )
    rows, names = rows_of(as_array_or_frame(X if source is None else source.in_memory()), missing=missing)
    if names is None and source is not None:
        names = source.feature_names
    if feature_names is not None:
        names = [str(name) for name in feature_names]
        if len(names) != rows.shape[1]:
            raise ValueError(f"feature_names has {len(names)} names for {rows.shape[1]} features.")
    if names is not None:
        check_unique(names, name="feature_names holds")
    return rows, names


def check_rows_for_noise(permutations: int, reason: str) -> None:
    """Raise a ValueError if permutations are asked for where the rows are not at hand, for the reason given."""
    if permutations:
        raise ValueError(f"permutations={permutations} permutes the columns of rows in memory: {reason}.")


def check_comparable(settings: Mapping[str, Any], request: Request, solver: Solver) -> None:
    """Raise a ValueError if components of this kind cannot be compared with noise."""
    asked = f"permutations={settings['permutations']}"
    if settings.get("joint") is not None:
        raise ValueError(
            f"{asked} compares components that are found one after the other, and joint={settings['joint']!r} "
            "finds them together; leave one of the two out."
        )
    if request.penalized:
        raise ValueError(
            f"{asked} compares components of one size, and a penalty finds another size in each permuted table; "
            "give cardinality= instead."
        )
    if abilities_of(solver).together and (request.n_components > 1 or abilities_of(solver).disjoint):
        raise ValueError(
            f"{asked} compares components that are found one after the other, and method={solver.name!r} finds "
            "them together; give another method."
        )
    if request.n_components > 1 and request.deflation != "projection":
        raise ValueError(
            f"{asked} takes earlier components out of the rows, and deflation={request.deflation!r} cannot; "
            "give deflation='projection'."
        )


def compare(
    left: RowsLeft,
    request: Request,
    solver: Solver,
    monitor: Monitor,
    permutations: int,
    seed: int,
    *,
    found: Sequence[Solution] | None = None,
    n_jobs: int | None = None,
    stop_at: float | None = None,
) -> NoiseComparison:
    """Compare components with noise; see `compare_with_noise`.

    `found` holds the components of a fit. They are taken out of the rows, one after the other, in place of those of the
    search here. The value of each is still that of the search without a proof, as in the permuted tables: a proof may
    have improved the component. If the fit has chosen the cardinalities, they are those of `found`.
    """
    free, records = request.allowed, list[ComponentNoise]()
    stopped: Stop | None = None
    for index in range(request.n_components if found is None else len(found)):
        sizes = request.cardinalities
        if sizes is None:  # the fit has chosen them
            assert found is not None
            sizes = [len(solution.support) for solution in found]
        k = min(sizes[index], len(free))
        work = partial(_search, left, solver, free, k, request.forced, request.nonnegative)
        outcome = for_each(work, [None], n_jobs=1, monitor=monitor, stage=f"component {index + 1}")
        if not outcome:
            stopped = monitor.stopped
            break
        own = outcome[0]
        if own.value <= NOTHING * max([own.value, *(record.value for record in records)]):
            raise ValueError(
                f"Component {index + 1} of n_components={request.n_components} would explain nothing: the covariance "
                f"is used up; ask for n_components={index}."
            )
        stage = f"component {index + 1}: permuted table"
        tasks = [(seed, index, number) for number in range(permutations)]
        noise = for_each(partial(_value_in_noise, work), tasks, n_jobs=n_jobs, monitor=monitor, stage=stage)
        component = own if found is None else found[index]
        records.append(ComponentNoise(index + 1, component, own.value, np.array(noise, dtype=np.float64)))
        if monitor.stopped is not None or (stop_at is not None and records[-1].p_value > stop_at):
            stopped = monitor.stopped
            break
        left = left.without(component.vector(left.rows.shape[1]))
        if request.disjoint:
            free = np.setdiff1d(free, component.support)
    names = None if request.feature_names is None else list(request.feature_names)
    return NoiseComparison(records, permutations, names, stopped)


def _value_in_noise(work: Any, task: tuple[int, int, int], monitor: Monitor) -> float | None:
    """Return the value that a search finds in one permuted table."""
    solution = work(task, monitor)
    return None if solution is None else float(solution.value)


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
    return replace(solution, support=free[solution.support], value=solution.value * left.unit)
