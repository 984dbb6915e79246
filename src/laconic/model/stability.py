"""Stability: how often each feature is chosen when the rows are drawn again.

Half samples come in complementary pairs (Shah and Samworth 2013): a random half of the rows, and the other half. Let q
be the number of features that a sample chooses among p, and let a feature be chosen by chance if a half sample chooses
it with probability at most q / p. Then the number V of such features that are chosen in a share t > 1/2 of the samples
has

    E[V] <= q^2 / ((2t - 1) p).

Proof. Let A and B say whether the two halves of a pair choose a feature: with a share f of all samples and a share s of
the pairs in which both do, f <= (1 + s) / 2, because AB >= A + B - 1. So f >= t needs s >= 2t - 1, with probability at
most E[s] / (2t - 1) (Markov). The halves have no row in common, so E[s] = P(A)^2 <= (q/p) P(A), and the sum of P(A)
over all features is at most q. Meinshausen and Buehlmann (2010) have the same number for all features that are not in
the true support, but must assume that these are exchangeable and that the choice is better than chance. Both need rows
that are drawn independently. The bound is for one component, or for the features of all components together; if
components are matched with those of all rows, a sample no longer chooses by itself.

One figure for all features (Nogueira, Sechidis and Brown 2018). With M samples, d features, f_j the frequency of
feature j, and m the mean number of features chosen,

    index = 1 - [(1/d) sum_j M/(M - 1) f_j (1 - f_j)] / [(m/d)(1 - m/d)].

It is 1 if all samples choose the same features, and 0 on average if they choose at random. Its variance is estimated by
4/M^2 sum_i (v_i - mean v)^2 with the influence of sample i, k_i the number of features that it chooses,

    v_i = [(1/d) sum_j z_ij f_j - k_i m/d^2 + (index/2)(2 k_i m/d^2 - k_i/d - m/d + 1)] / [(m/d)(1 - m/d)].

The interval is the one of a normal distribution. It is about the samples that might have been drawn of these rows, and
not about other rows.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm

from laconic.bounds.fast import MOST_WRITTEN_OUT, Proof, small_estimates
from laconic.bounds.methods import get_solver
from laconic.core.arguments import is_whole, places_of
from laconic.core.arrays import PROVED, Floats, Indices, Mask
from laconic.core.monitor import Monitor, Stop, check_time_limit
from laconic.core.words import at_most
from laconic.model.estimator import SparsePCA
from laconic.model.noise import rows_in_memory
from laconic.model.resampling import check_count, check_enough_done, for_each, seed_of
from laconic.model.scores import scores_of
from laconic.search.problem import Abilities, Problem, Solution, Solver, StagedSolver, Status, abilities_of

if TYPE_CHECKING:
    import pandas as pd

    from laconic.report.pictures.display import Place
    from laconic.report.pictures.stability import StabilityDisplay

Sampling: TypeAlias = Literal["halves", "bootstrap"]
SAMPLINGS: tuple[Sampling, ...] = ("halves", "bootstrap")
# The frequency from which a feature counts as stable. Meinshausen and Buehlmann advise 0.6 to 0.9.
THRESHOLD = 0.75
# The share of intervals that should contain the index.
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Stability:
    """How often features are chosen when the rows are drawn again.

    Attributes
    ----------
    frequencies : ndarray of shape (n_components, n_features)
        Of shape (n_components, n_features): the share of samples in which a component has a feature.
    any_frequencies : ndarray of shape (n_features,)
        Of shape (n_features,): the share of samples in which any component has a feature. No matching is needed.
    indices, intervals : ndarray of float
        The stability index of each component, and the ends of its 95 % interval, of shape (n_components, 2).
    index, interval : float, and tuple of float
        The same for the features of all components together.
    supports : list of list of ndarray
        For each sample the features of each component, in the order of the components of all rows.
    correlations : ndarray of float
        Of shape (samples, n_components): how much the scores of a sample's component correlate, in absolute value and
        over all rows, with those of the component that it is matched with.
    gaps : ndarray of float
        Of shape (samples, n_components): the proved gaps, infinite if nothing is proved.
    components : ndarray of shape (n_components, n_features)
        The components of all rows, one in each row.
    sampling : str
        "halves" or "bootstrap".
    resamples : int
        The number of samples that were asked for. `len(supports)` is the number of those that were done.
    candidates : ndarray of int
        The features that a sample may choose or leave: they vary, and are not forced in.
    feature_names : list of str or None
        The names of the features, or None.
    stopped : Stop or None
        Why the work was stopped early: a time limit or Ctrl-C. Otherwise None.

    See Also
    --------
    stability : Makes it.

    Examples
    --------
    >>> from laconic import stability
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> found = stability(votes, cardinality=2, resamples=20)
    >>> found.frequencies.shape
    (1, 48)
    """

    frequencies: Floats
    any_frequencies: Floats
    indices: Floats
    intervals: Floats
    index: float
    interval: tuple[float, float]
    supports: list[list[Indices]] = field(repr=False)
    correlations: Floats = field(repr=False)
    gaps: Floats = field(repr=False)
    components: Floats = field(repr=False)
    sampling: Sampling = "halves"
    resamples: int = 0
    candidates: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp), repr=False)
    feature_names: list[str] | None = field(default=None, repr=False)
    stopped: Stop | None = None

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"Stability(index {self.index:.2f}, 95 % interval {low:.2f} to {high:.2f}, {len(self.supports)} "
            f"{self.samples}, {len(self.frequencies)} component(s))"
        )

    @property
    def samples(self) -> str:
        """The words for the samples: "half samples" or "bootstrap samples"."""
        return "half samples" if self.sampling == "halves" else "bootstrap samples"

    def _frequencies_of(self, component: int | None) -> Floats:
        """Return the frequencies in one component, numbered from 1, or in any of them (None)."""
        if component is None:
            return self.any_frequencies
        count = len(self.frequencies)
        if not is_whole(component) or not 1 <= component <= count:
            raise ValueError(f"component={component!r} must be None or an int from 1 to {count}.")
        return np.asarray(self.frequencies[component - 1])

    def selected(self, threshold: float = THRESHOLD, component: int | None = None) -> list[Any]:
        """Return the features that are chosen in at least a share of the samples, the most frequent first.

        Parameters
        ----------
        threshold
            The least share of the samples.
        component
            The number of a component, from 1. By default a feature of any component counts.
        """
        frequencies = self._frequencies_of(component)
        order = np.argsort(-frequencies, kind="stable")
        chosen = order[frequencies[order] >= check_threshold(threshold)]
        return [int(i) if self.feature_names is None else self.feature_names[i] for i in chosen]

    def expected_by_chance(self, threshold: float = THRESHOLD) -> float:
        """Return the bound on the expected number of features that reach a frequency by chance.

        A feature gets there by chance if a half sample chooses it no more often than a feature drawn at random. The
        bound is q^2 / ((2 threshold - 1) p): q features of p are chosen by a half sample, in all components together.
        It is about `any_frequencies`. It is NaN for bootstrap samples, for which it does not hold.

        Parameters
        ----------
        threshold
            The share of the samples, above 1/2.
        """
        if check_threshold(threshold) <= 0.5:
            raise ValueError(f"threshold={threshold} must be above 0.5 and at most 1 for this bound.")
        p, q = len(self.candidates), int(np.count_nonzero(self.components[:, self.candidates]))
        return q**2 / ((2 * threshold - 1) * p) if self.sampling == "halves" and p else np.nan

    @property
    def verdict(self) -> str:
        """Sentences: how stable each component is, and how many features may be there by chance."""
        return self.verdict_at(THRESHOLD)

    def verdict_at(self, threshold: float) -> str:
        """Return the verdict for another frequency.

        Parameters
        ----------
        threshold
            The share of the samples from which a feature counts as stable.
        """
        done, share, lines = len(self.supports), f"{100 * check_threshold(threshold):.3g} %", list[str]()
        for place, z in enumerate(self.components):
            support = np.flatnonzero(z)
            often = int(np.count_nonzero(self.frequencies[place, support] >= threshold))
            low, high = self.intervals[place]
            lines.append(
                f"Component {place + 1}: {often} of its {len(support)} features are chosen in at least {share} of "
                f"{done} {self.samples}. " + _index_in_words(float(self.indices[place]), float(low), float(high))
            )
        lines.append("Stability is 1 if all samples choose the same features, and 0 if they choose at random.")
        selected = len(self.selected(threshold))
        chance = self.expected_by_chance(threshold) if threshold > 0.5 else np.nan
        if chance < selected:  # a larger bound says nothing
            lines.append(
                f"Of all features, {selected} are chosen so often in one of the components. On average, at most "
                f"{at_most(chance, 2)} would be by chance."
            )
        if self.stopped is not None:
            lines.append(f"Stopped early, after {done} of {self.resamples} samples: {self.stopped.value}.")
        return "\n".join(lines)

    def to_frame(self) -> "pd.DataFrame":
        """Return a table of the features that are chosen at least once, the most frequent of each component first."""
        import pandas as pd

        names = np.arange(self.components.shape[1]) if self.feature_names is None else np.asarray(self.feature_names)
        parts = []
        for place, (frequencies, z) in enumerate(zip(self.frequencies, self.components, strict=True)):
            order = np.argsort(-frequencies, kind="stable")
            order = order[(frequencies[order] > 0) | (z[order] != 0)]
            columns = {
                "component": place + 1,
                "feature": names[order],
                "frequency": frequencies[order],
                "in_support": z[order] != 0,
            }
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)

    def plot(
        self, ax: "Place" = None, *, component: int | None = 1, threshold: float = THRESHOLD
    ) -> "StabilityDisplay":
        """Draw the features of a component by their frequency.

        Parameters
        ----------
        ax
            The axes to draw on, or an empty figure to fill. By default pyplot makes a figure.
        component
            The number of the component, from 1. None draws the first six components side by side.
        threshold
            The frequency that a line marks.
        """
        from laconic.report.pictures.stability import plot_stability

        if component is not None:
            self._frequencies_of(component)
        components = None if component is None else (component,)
        return plot_stability(self, components=components, threshold=check_threshold(threshold), ax=ax)


def stability(
    X: Any,
    *,
    n_components: int | None = None,
    cardinality: int | Sequence[int],
    resamples: int = 100,
    sampling: Sampling = "halves",
    method: str | Solver = "auto",
    proof: Proof | None = None,
    disjoint: bool = False,
    nonnegative: bool = False,
    forced_in: Sequence[str | int] | None = None,
    center: bool = True,
    scale: bool = False,
    feature_names: Sequence[str] | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: bool = False,
) -> Stability:
    """Find out how often each feature is chosen when the rows are drawn again.

    Components of a sample are matched with those of all rows: each with the one whose scores it correlates with most,
    one to one. So a second component that is the third one in a sample counts as the same.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_samples, n_features)
        Rows: an array, a sparse matrix or a table. They must be in memory.
    n_components : int, optional
        The number of components. By default the number of cardinalities if there are several, otherwise 1.
    cardinality : int or sequence of int
        The number of features of a component, or one number for each component.
    resamples : int, default=100
        The number of samples; an even number of half samples.
    sampling : {"halves", "bootstrap"}, default="halves"
        "halves" draws pairs of half samples that have no row in common. "bootstrap" draws as many rows as there are,
        with repetition; the bound on features that are chosen by chance does not hold for it.
    method : str or Solver, default="auto"
        A solver or its short name.
    proof : {"fast", "tight", None} or Bound, default=None
        How much work to spend on a proof for each sample: None, "fast" or "tight". With a proof, `gaps` tells how much
        of the differences between samples may be due to the search.
    disjoint, nonnegative, forced_in, center, scale : as in `SparsePCA`
        As in `SparsePCA`.
    feature_names : sequence of str, optional
        The names of the features; by default the column names of a table.
    random_state : int, RandomState instance or None, default=0
        The seed of the samples.
    n_jobs : int, optional
        The number of processes, as in joblib. The result does not depend on it.
    time_limit : float, optional
        Seconds for the whole work. If time runs out, the samples so far are kept.
    progress : bool, default=False
        Show progress, on a terminal only.

    Returns
    -------
    Stability
        Frequencies of features, stability indices, and a picture.

    See Also
    --------
    compare_with_noise : Find out whether a component is more than noise.
    SparsePCA : The fit that is repeated.

    Notes
    -----
    Pairs of half samples that share no row are those of [1]_, and so is the bound on features that are chosen by
    chance. The index of stability is that of [2]_.

    References
    ----------
    .. [1] R. D. Shah and R. J. Samworth (2013). Variable selection with error control: another look at stability
       selection. Journal of the Royal Statistical Society B 75(1), 55-80.
    .. [2] S. Nogueira, K. Sechidis and G. Brown (2018). On the stability of feature selection algorithms. Journal of
       Machine Learning Research 18(174), 1-54.

    Examples
    --------
    >>> from laconic import stability
    >>> from laconic.datasets import load_senate109
    >>> found = stability(load_senate109().frame, cardinality=2, resamples=20)
    >>> len(found.selected(0.5)) > 0
    True
    """
    check_time_limit(time_limit)
    resamples = check_count("resamples", resamples, 2)
    if sampling not in SAMPLINGS:
        raise ValueError(f"sampling={sampling!r} must be 'halves' or 'bootstrap'.")
    if sampling == "halves" and resamples % 2:
        raise ValueError(f"resamples={resamples} must be even: half samples come in pairs.")
    rows, names = rows_in_memory(X, feature_names)
    n, p = rows.shape
    if sampling == "halves" and n < 4:
        raise ValueError(f"X has {n} rows; half samples need at least 4.")
    forced = None if forced_in is None else places_of(forced_in, names, p, argument="forced_in")
    settings: dict[str, Any] = {
        "n_components": n_components,
        "cardinality": cardinality,
        "proof": proof,
        "disjoint": disjoint,
        "nonnegative": nonnegative,
        "forced_in": forced,
        "center": center,
        "scale": scale,
    }
    rows = rows.tocsr() if sp.issparse(rows) else rows
    seed = seed_of(random_state)
    with Monitor(time_limit, progress=progress) as monitor:
        with monitor.watch():
            monitor.tick("all rows")
        whole = SparsePCA(method=method, time_limit=time_limit, **settings).fit(rows)
        solver = get_solver(method)
        quick = _InStages(solver) if proof is None and isinstance(solver, StagedSolver) else solver
        work = partial(_fit_sample, rows, SparsePCA(method=quick, **settings), sampling, seed)
        samples = for_each(work, range(resamples), n_jobs=n_jobs, monitor=monitor, stage="sample")
    if sampling == "halves":
        samples = samples[: len(samples) // 2 * 2]
    check_enough_done(len(samples), 2, "samples", monitor.stopped)
    constant = np.flatnonzero(_constant(rows))
    fixed = [*(forced or []), *constant]
    candidates = np.setdiff1d(np.arange(p), np.array(fixed, dtype=np.intp))
    return _summed_up(
        whole, samples, rows, candidates, sampling=sampling, resamples=resamples, names=names, stopped=monitor.stopped
    )


def check_threshold(threshold: Any) -> float:
    """Return a share of samples, or raise a ValueError."""
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not 0 < float(threshold) <= 1:
        raise ValueError(f"threshold={threshold!r} must be above 0 and at most 1.")
    return float(threshold)


def stability_index(chosen: Mask, confidence: float = CONFIDENCE) -> tuple[float, tuple[float, float]]:
    """Return the stability index and its interval; see the module.

    Each row of `chosen` is a sample, each column a feature. If every sample chooses all features, or none, there is
    nothing to choose, and the index is NaN.
    """
    M, d = chosen.shape
    f = chosen.mean(axis=0)
    sizes, m = chosen.sum(axis=1), float(f.sum())
    spread = (m / d) * (1 - m / d) if d else 0.0
    if spread <= 0:
        return np.nan, (np.nan, np.nan)
    index = 1 - M / (M - 1) * float((f * (1 - f)).mean()) / spread
    shift = 2 * sizes * m / d**2 - sizes / d - m / d + 1
    influence = (chosen @ f / d - sizes * m / d**2 + 0.5 * index * shift) / spread
    deviation = 2 / M * float(np.sqrt(((influence - influence.mean()) ** 2).sum()))
    reach = float(norm.ppf(0.5 + confidence / 2)) * deviation
    return float(index), (float(index - reach), min(float(index + reach), 1.0))


@dataclass(frozen=True)
class _InStages:
    """Runs the whole search only if a quick bound does not meet the value of a few starts.

    The bound is not proved at the gate, because nothing is claimed of it: it only saves work. The support is at least
    as good as that of the whole search.
    """

    solver: Any
    name: str = "in stages"

    @property
    def abilities(self) -> Abilities:
        return abilities_of(self.solver)

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Search; `start` is one more support to improve."""
        first: Solution | None = self.solver.first(problem) if start is None else None
        if first is None:
            solution: Solution = self.solver.solve(problem, start=start)
            return solution
        if problem.covariance.written_out and problem.n_features <= MOST_WRITTEN_OUT and first.value > 0:
            # Only the cheapest: where it does not meet the value, others take longer than the whole search.
            estimate = next(small_estimates(problem, first))
            if estimate.value <= first.value * (1 + PROVED):
                return first
        whole: Solution = self.solver.solve(problem, start=first.support)
        return whole


@dataclass(frozen=True, eq=False)
class _Sample:
    """What a fit of one sample leaves: small enough to be sent between processes."""

    supports: list[Indices]
    loadings: list[Floats]
    gaps: Floats


def drawn(n: int, sampling: Sampling, seed: int, number: int) -> Indices:
    """Return the rows of one sample, in increasing order. Half samples 2i and 2i + 1 have no row in common."""
    if sampling == "bootstrap":
        return np.sort(np.random.default_rng([seed, number]).integers(n, size=n))
    order = np.random.default_rng([seed, number // 2]).permutation(n)
    half = n // 2
    return np.sort(order[:half] if number % 2 == 0 else order[half : 2 * half])


def _fit_sample(
    rows: Any, model: SparsePCA, sampling: Sampling, seed: int, number: int, monitor: Monitor
) -> _Sample | None:
    """Fit one sample; return None if there is no time."""
    left = monitor.seconds_left
    if left <= 0:
        return None
    if np.isfinite(left):
        model.set_params(time_limit=left)
    with warnings.catch_warnings():
        # A column that does not vary in one sample is no news.
        warnings.simplefilter("ignore", UserWarning)
        try:
            model.fit(rows[drawn(rows.shape[0], sampling, seed, number)])
        except ValueError as error:
            raise ValueError(f"Sample {number + 1} of the rows cannot be fitted: {error}") from None
    if any(s.status in (Status.TIME_LIMIT, Status.INTERRUPTED) for s in model.solutions_):
        return None
    return _Sample(model.supports_, [s.loadings for s in model.solutions_], model.gap_)


def _constant(rows: Any) -> Mask:
    if sp.issparse(rows):
        low, high = rows.min(axis=0).toarray().ravel(), rows.max(axis=0).toarray().ravel()
    else:
        low, high = rows.min(axis=0), rows.max(axis=0)
    return np.asarray(low == high)


def _summed_up(
    whole: SparsePCA,
    samples: list[_Sample],
    rows: Any,
    candidates: Indices,
    *,
    sampling: Sampling,
    resamples: int,
    names: list[str] | None,
    stopped: Stop | None,
) -> Stability:
    """Match the components of each sample with those of all rows, and count the features."""
    r, p, done = whole.n_components_, rows.shape[1], len(samples)
    scores = _unit_columns(scores_of(rows, whole.components_, whole.mean_, whole.scale_))
    chosen = np.zeros((r, done, p), dtype=bool)
    supports, correlations, gaps = list[list[Indices]](), np.empty((done, r)), np.empty((done, r))
    for number, sample in enumerate(samples):
        components = np.zeros((r, p))
        for row, support, loadings in zip(components, sample.supports, sample.loadings, strict=True):
            row[support] = loadings
        own = _unit_columns(scores_of(rows, components, whole.mean_, whole.scale_))
        alike = np.abs(scores.T @ own)
        _, partner = linear_sum_assignment(alike, maximize=True)
        supports.append([sample.supports[j] for j in partner])
        correlations[number] = alike[np.arange(r), partner]
        gaps[number] = sample.gaps[partner]
        for t, j in enumerate(partner):
            chosen[t, number, sample.supports[j]] = True
    found = [stability_index(one[:, candidates]) for one in chosen]
    anywhere = np.asarray(chosen.any(axis=0))
    index, interval = stability_index(anywhere[:, candidates])
    return Stability(
        frequencies=chosen.mean(axis=1),
        any_frequencies=anywhere.mean(axis=0),
        indices=np.array([value for value, _ in found]),
        intervals=np.array([ends for _, ends in found]),
        index=index,
        interval=interval,
        supports=supports,
        correlations=correlations,
        gaps=gaps,
        components=whole.components_,
        sampling=sampling,
        resamples=resamples,
        candidates=candidates,
        feature_names=names,
        stopped=stopped,
    )


def _unit_columns(scores: Floats) -> Floats:
    lengths = np.linalg.norm(scores, axis=0)
    return np.asarray(scores / np.where(lengths > 0, lengths, 1.0))


def _index_in_words(index: float, low: float, high: float) -> str:
    """Return a sentence on the index; the words are those of Fleiss (1981) for a coefficient of agreement."""
    if not np.isfinite(index):
        return "There is nothing to choose, so it has no stability index."
    word = "high" if index > 0.75 else "moderate" if index >= 0.4 else "low"
    return f"Its stability is {word}: {index:.2f} (95 % interval {low:.2f} to {high:.2f})."
