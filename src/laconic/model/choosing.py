"""Choose the number of components, and of features in each: `choose(model, X)`. A fit without a number does the same.

The components are compared with noise before any sparse one is removed. Sparse components leave some variance of the
ordinary ones behind, and each further component would find it again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import scipy.sparse as sp

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Hint, Monitor, Stop, threads_for, warn
from laconic.core.words import at_least, counted, is_whole, percent
from laconic.covariance import Covariance, DenseCovariance, SubsetCovariance, largest_eigenpairs
from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Made, make
from laconic.model.components import NOTHING, explained_variances
from laconic.model.hints import hints_of_units
from laconic.model.noise import ACCURACY, MOST_ORDINARY, TABLES, Scree, scree_of, some_rows
from laconic.model.paths import DEFAULT_END
from laconic.model.resampling import recipe_again
from laconic.model.settings import Sizes, check_settings, check_sizes, forced_places, is_sequence, joint_of, made_of
from laconic.search.auto import FewStarts
from laconic.search.problem import Problem

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# With more features than this, only those that the ordinary components explain most are looked at.
MOST_FEATURES = 300
# Numbers of features are tried in steps of this share, and more of them near the bend.
STEP = 0.15
# A component loses a feature that adds less than this share of what the features before the bend add on average.
LEAST_GAIN = 0.3
# For prediction, the fewest features are taken that hold this share of the most that any number holds in other rows.
NEARLY_ALL = 0.99
# The fewest rows that are divided into halves.
FEWEST_ROWS = 20
# A bend counts only if the step before it is at least this share of the mean step. At the flat end of a curve, ratios
# of tiny steps say nothing.
VISIBLE_STEP = 0.3
# A bend counts as the sharpest if its ratio is at least this share of the largest: small differences are chance.
NEARLY_AS_SHARP = 0.95
# A slope below this share of the steepest is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Choice:
    """A recommendation: how many components, and how many features in each; `choose` makes it."""

    n_components: int
    cardinality: list[int]  # the number of features of each component, in order
    cost: str  # what the components hold, beside ordinary ones
    reason: str  # why they are recommended
    prediction: str  # what to take for prediction instead; empty if there are no rows to find out
    cardinalities: Indices = field(repr=False)  # the numbers of features that were tried, for all components alike
    held: Floats = field(repr=False)  # the variance that components with so many features hold together
    held_elsewhere: Floats | None = field(repr=False)  # the share of the variance of other rows that they hold
    bend: int  # the number of features at the bend
    ordinary: float  # the variance that as many ordinary components hold together
    total: float  # the trace of S
    scree: Scree | None = field(default=None, repr=False)  # the ordinary components beside noise, if they were compared
    stopped: Stop | None = None  # why the work was stopped early, if it was

    def __str__(self) -> str:
        return f"{self.cost} {self.reason}\n{self.prediction}".strip()

    def __repr__(self) -> str:
        return f"Choice(n_components={self.n_components}, cardinality={self.cardinality})\n{self}"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each number of features that was tried.

        The columns are: cardinality, the number of features of each component; value, the variance that all components
        hold together; share, as a share of the total; ordinary_share, as a share of what ordinary components hold;
        held_out, the share of the variance that they hold in rows that they were not found in, NaN if it was not
        computed; and bend, which is true for one row.
        """
        return pd.DataFrame(
            {
                "cardinality": self.cardinalities,
                "value": self.held,
                "share": self.held / self.total,
                "ordinary_share": self.held / self.ordinary,
                "held_out": np.nan if self.held_elsewhere is None else self.held_elsewhere,
                "bend": self.cardinalities == self.bend,
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the ordinary components beside noise, and variance against the number of features.

        `ax` are two axes, or an empty figure. The two axes are returned.
        """
        from laconic.report.pictures import choice

        return choice(self, ax=ax)


def choose(
    model: "SparsePCA",
    X: Any = None,
    *,
    covariance: Any = None,
    sample_weight: Any = None,
) -> Choice:
    """Recommend a number of components, and a number of features for each, for a reader.

    The ordinary components that are better than noise are counted: a component counts if it varies more than that of
    the same number in 19 tables with permuted columns (parallel analysis). All get the number of features at the
    sharpest bend of the variance that they hold together. Then each loses features that add little to it. A fit
    without `cardinality` uses the same numbers. docs/choosing.md says when this is right.

    Parameters
    ----------
    model : SparsePCA
        Its settings count, but for `method`, `deflation` and `proof`. A number that it has is kept: with `n_components`
        only the numbers of features are chosen, and with `cardinality` only the number of components.
    X : array, sparse matrix, table, or data that are read in blocks, optional
        Rows of data. Of large data a part of the rows is compared with noise.
    covariance : array or frame of shape (n_features, n_features), optional
        A covariance matrix, in place of X. It has no rows to compare with noise, so `n_components` is 1 if the model
        does not have it.
    sample_weight : array-like of shape (n_samples,), optional
        How much each row counts.

    Returns
    -------
    Choice
        The numbers, with a sentence that says why and what they cost, and a table and a picture of the rest. Another
        sentence says what to take if the scores are for prediction: the number of features with which the components
        of one half of the rows hold most of the variance of the other half.

    See Also
    --------
    path : Variance and proved bound of one component for each number of features.
    noise : Compare sparse components with noise.

    Examples
    --------
    >>> from laconic import SparsePCA, choose
    >>> from laconic.datasets.synthetic import spiked_rows
    >>> choose(SparsePCA(), spiked_rows(200, 60, 8, signal=4).data).cardinality
    [8]
    """
    check_settings(model)
    if joint_of(model) is not None:
        finds = f"joint={model.joint!r} finds them together"
        raise ValueError(f"choose looks at components one after the other, and {finds}; leave out joint=.")
    if not (model.cardinality is None or is_whole(model.cardinality) or is_sequence(model.cardinality)):
        raise ValueError(f"choose recommends numbers of features; leave out cardinality={model.cardinality!r}.")
    with Monitor(model.time_limit, progress=model.verbose) as monitor:
        made = made_of(model, X, covariance, sample_weight, monitor)
        choice, z = _choice(model, made, monitor, halves=True)
    for hint in [] if model.scale else hints_of_units(made, z):
        warn(hint, Hint)
    return choice


def choice_in_fit(model: "SparsePCA", made: Made, monitor: Monitor) -> Choice:
    """Return what the parameters of a model leave to be chosen. It takes at most half of the time that is left."""
    return _choice(model, made, monitor.part(2))[0]


def _choice(model: "SparsePCA", made: Made, monitor: Monitor, *, halves: bool = False) -> tuple[Choice, Floats]:
    """Return the recommendation, and its first component. With `halves` it says what to take for prediction, too."""
    given, count, scree = model.cardinality, model.n_components, None
    if count is None and is_sequence(given):
        count = len(given)
    check_sizes(model, made, Sizes(count or 1, None))
    free, least = int((~made.constant).sum()), max(1, len(forced_places(model, made)))
    why = f"{counted(count or 1, 'component')} {'was' if count == 1 else 'were'} asked for"
    if count is None:
        scree = scree_of(made, min(MOST_ORDINARY, free), TABLES, monitor)
        count, why = _counted(scree, made)
    with threads_for(min(free, MOST_FEATURES)):
        features, problem, values = _part(model, made, made.covariance, count, monitor)
        together = Together(problem, count)
        if given is None:
            k = together.bend(least, min(max(DEFAULT_END, least), len(features)))
            vectors = together.without_small_gains(k)
            each = counted(k, "feature") + (" each" if count > 1 else "")
            most = f", and {each} are the most that were tried"
            why += most if k == DEFAULT_END < free else f", and beyond {each}, more features add little"
        else:
            sizes = [int(size) for size in given] if is_sequence(given) else [int(cast("int", given))] * count
            k, vectors = max(sizes), together.of_sizes(sizes)
            together.held[k] = together.variance(vectors)
    sizes = [max(least, int(np.count_nonzero(z))) for z in vectors]
    if given is None and k > min(sizes):
        several = [place for place, size in enumerate(sizes) if size > 1]
        if scree is not None and several and several[-1] + 1 < len(sizes):
            # Earlier ones of one feature stay: without them, a fit would find this feature again.
            why += f"; the last {counted(len(sizes) - several[-1] - 1, 'component')} of one feature is left out"
            vectors, sizes = vectors[: several[-1] + 1], sizes[: several[-1] + 1]
        if k > min(sizes):
            why += "; a component has fewer if they add little to it"
    if scree is None:
        sizes += [k] * (count - len(sizes))
    held, total = together.variance(vectors), made.covariance.trace
    ordinary = float(values[: len(sizes)].sum())
    tried = np.array(sorted(together.held), dtype=np.intp)
    elsewhere = _held_elsewhere(model, made, len(sizes), tried, monitor) if halves and given is None else None
    if monitor.stopped is not None:
        why += f". The work was stopped early: {monitor.stopped.value}"
    cost = _in_words(sizes, held, ordinary, total, made.covariance.n_features)
    curve = np.array([together.held[size] for size in tried.tolist()])
    prediction = "" if elsewhere is None else _for_prediction(sizes, tried, elsewhere)
    found = (len(sizes), sizes, cost, why + ".", prediction)
    z = np.zeros(made.covariance.n_features)
    z[features] = vectors[0]
    return Choice(*found, tried, curve, elsewhere, k, ordinary, total, scree, monitor.stopped), z


def _counted(scree: Scree, made: Made) -> tuple[int, str]:
    """Return the number of components to take, and the beginning of a sentence that says why."""
    if scree.noise is None:
        why = "There was no time to compare components with noise"
        if not scree.n_rows:
            why = "A covariance matrix has no rows to compare with noise"
        return 1, f"{why}, so one component is taken (give n_components for more)"
    n, above = scree.n_rows, scree.n_above_noise
    some = f" (compared on {n:,} rows)" if made.in_memory else f" (compared on the first {n:,} rows)"
    some = "" if made.in_memory and n >= made.rows.shape[0] else some
    if not above:
        return 1, f"No component is better than noise{some}; one is kept"
    most = ", the most that are looked at" if above == MOST_ORDINARY < made.covariance.n_features else ""
    which = "component of ordinary PCA is" if above == 1 else "components of ordinary PCA are"
    return above, f"{above} {which} better than noise{some}{most}"


def _in_words(sizes: list[int], held: float, ordinary: float, total: float, n: int) -> str:
    """Return what components of some sizes hold, beside ordinary ones, in a sentence."""

    def amount(value: float) -> str:
        return percent(value / total) if 0 < ordinary <= total * (1 + NOTHING) else f"{at_least(value, 4)}"

    listed = counted(sizes[0], "feature") if len(sizes) == 1 else f"{', '.join(map(str, sizes))} features"
    holds = "holds" if len(sizes) == 1 else "hold"
    return (
        f"{counted(len(sizes), 'component')} of {listed} {holds} {amount(held)} of the variance; "
        f"ordinary PCA holds {amount(max(held, ordinary))} with all {n:,}."
    )


def _for_prediction(sizes: list[int], tried: Indices, elsewhere: Floats) -> str:
    """Return the fewest features with which components hold nearly all that they can of other rows, in a sentence."""
    best = int(np.argmax(elsewhere >= NEARLY_ALL * elsewhere.max()))
    k, each = int(tried[best]), "" if len(sizes) == 1 else " each"
    take = "the same" if sizes == [k] * len(sizes) else f"{counted(k, 'feature')}{each}"
    return (
        f"For prediction: {take}, which {'holds' if take == '1 feature' else 'hold'} {percent(elsewhere[best])} of the "
        f"variance of rows that were left out; more features hold at most {percent(elsewhere.max())}."
    )


@dataclass(eq=False)
class Together:
    """Components of one size, and the variance that they hold together, for each number of features."""

    problem: Problem
    count: int  # of components
    held: dict[int, float] = field(default_factory=dict)  # by the number of features
    vectors: dict[int, list[Floats]] = field(default_factory=dict)

    def of_sizes(self, sizes: list[int], near: list[Floats] | None = None) -> list[Floats]:
        """Return components of these sizes, found one after the other. The search starts from others, too."""
        rule, found = Deflation(self.problem.covariance, "projection"), list[Floats]()
        for place, size in enumerate(sizes):
            start = np.flatnonzero(near[place]) if near is not None and place < len(near) else None
            one = FewStarts().solve(replace(self.problem, covariance=rule.current, cardinality=size), start=start)
            if one.value <= NOTHING * self.problem.covariance.rounding_unit and found:
                break
            found.append(one.vector(self.problem.n_features))
            rule.remove(found[-1])
        return found

    def variance(self, vectors: list[Floats], covariance: Covariance | None = None) -> float:
        """Return the variance of some rows in the span of components."""
        S = self.problem.covariance if covariance is None else covariance
        return float(explained_variances(S, np.array(vectors))["span"].sum())

    def add(self, sizes: Iterable[int]) -> None:
        """Find the components of some sizes, as long as there is time."""
        for size in sizes:
            if size in self.held or (self.held and self.problem.monitor.is_over):
                continue
            near = self.vectors.get(max((k for k in self.vectors if k < size), default=0))
            self.vectors[size] = self.of_sizes([size] * self.count, near)
            self.held[size] = self.variance(self.vectors[size])

    def bend(self, first: int, last: int) -> int:
        """Return the number of features at the sharpest bend, from `first` to `last`."""
        steps = [first]
        while steps[-1] < last:
            steps.append(min(last, steps[-1] + max(1, int(STEP * steps[-1]))))
        while True:
            self.add(steps)
            tried = np.array(sorted(self.held), dtype=np.intp)
            held = np.array([self.held[size] for size in tried.tolist()])
            k = sharpest_bend(tried, held)
            place = int(np.searchsorted(tried, k))
            near = tried[[max(place - 1, 0), place, min(place + 1, len(tried) - 1)]]
            steps = sorted({int(near[:2].sum()) // 2, int(near[1:].sum()) // 2} - set(self.held))
            if not steps or self.problem.monitor.is_over:
                return k

    def without_small_gains(self, k: int) -> list[Floats]:
        """Return components of at most k features each, without features at their end that add little."""
        first = min(self.held)
        if k == first or self.problem.monitor.is_over:
            return self.vectors[k]
        least = LEAST_GAIN * (self.held[k] - self.held[first]) / (k - first) / self.count
        rule, found = Deflation(self.problem.covariance, "projection"), list[Floats]()
        for _ in self.vectors[k]:
            path = FewStarts().path(replace(self.problem, covariance=rule.current, cardinality=k))
            gains = np.array([one.value for one in path]) - least * np.arange(len(path))
            found.append(path[int(np.argmax(gains))].vector(self.problem.n_features))
            rule.remove(found[-1])
        return found


def sharpest_bend(sizes: Indices, values: Floats) -> int:
    """Return the cardinality with the sharpest bend of variance against cardinality (CHull).

    At a corner of the upper convex hull of the curve, the slope before it is divided by the slope after it. The largest
    visible ratio is the sharpest bend. Of bends that are nearly as sharp, the first is taken. The curve begins flat,
    one feature earlier: components of one feature each are none. See Ceulemans and Kiers (2006), and Wilderjans,
    Ceulemans and Meers, Behavior Research Methods 45 (2013), 1.
    """
    k, v = np.concatenate([[sizes[0] - 1.0], sizes]), np.concatenate([values[:1], values])
    corners = _upper_hull(k, v)
    slopes = np.diff(v[corners]) / np.diff(k[corners])
    if not v[-1] > v[0]:
        return int(sizes[0])
    if len(corners) < 3:
        return int(sizes[-1])
    visible = slopes[:-1] >= VISIBLE_STEP * (v[-1] - v[0]) / (k[-1] - k[0])
    slopes = np.maximum(slopes, ROUNDING * slopes[0])
    ratios = (slopes[:-1] / slopes[1:])[visible]
    return int(k[corners[1:-1][visible][np.argmax(ratios >= NEARLY_AS_SHARP * ratios.max())]])


def _upper_hull(x: Floats, y: Floats) -> Indices:
    corners = [0]
    for i in range(1, len(x)):
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) > (y[i] - y[b]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(i)
    return np.array(corners)


def _part(
    model: "SparsePCA", made: Made, S: Covariance, count: int, monitor: Monitor
) -> tuple[Indices, Problem, Floats]:
    """Return the features that are looked at, the problem on them, and the variances of ordinary components.

    S is the covariance of the data, or that of some of their rows.
    """
    hand = np.arange(S.n_features) if S.at_hand is None else S.at_hand
    features = hand[~made.constant[hand]]
    forced = forced_places(model, made)
    values, vectors = largest_eigenpairs(SubsetCovariance(S, features), min(count, len(features)), tolerance=ACCURACY)
    values = np.maximum(values, 0.0)
    if len(features) > MOST_FEATURES:
        explained = vectors**2 @ values
        explained[np.searchsorted(features, forced)] = np.inf
        features = np.sort(features[np.argsort(-explained, kind="stable")[:MOST_FEATURES]])
    covariance = DenseCovariance(S.submatrix(features), semidefinite=S.semidefinite)
    problem = Problem(covariance, len(features), np.searchsorted(features, forced), model.nonnegative, monitor)
    return features, problem, values


def _held_elsewhere(model: "SparsePCA", made: Made, count: int, sizes: Indices, monitor: Monitor) -> Floats | None:
    """Return the share of the variance of one half of the rows that the components of the other half hold.

    It is the mean of both ways, for each number of features. It is None if there are too few rows, or no time.
    """
    rows, weights = some_rows(made)
    if rows is None or rows.shape[0] < FEWEST_ROWS:
        return None
    order = np.random.default_rng(0).permutation(rows.shape[0])
    rows = sp.csr_array(rows) if sp.issparse(rows) else rows
    halves = [np.sort(part) for part in np.array_split(order, 2)]
    recipe = recipe_again(made)
    shares = [None if weights is None else weights[half] for half in halves]
    matrices = [
        make(rows[half], recipe, weights=share, quiet=True).covariance
        for half, share in zip(halves, shares, strict=True)
    ]
    found = np.zeros(len(sizes))
    for own, other in ((0, 1), (1, 0)):
        features, problem, _ = _part(model, made, matrices[own], count, monitor)
        together = Together(problem, count)
        together.add([size for size in sizes.tolist() if size <= len(features)])
        if len(together.held) < len(sizes):
            return None
        S = matrices[other]
        part = DenseCovariance(S.submatrix(features), semidefinite=S.semidefinite)
        found += [together.variance(together.vectors[size], part) / S.trace / 2 for size in sizes.tolist()]
    return found
