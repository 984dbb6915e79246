"""Stability: how often each feature is chosen when the rows are drawn again.

Half samples come in complementary pairs (Shah and Samworth 2013): a random half of the rows, and the other half. Let q
be the number of features that a sample chooses among p, and let a feature be chosen by chance if a half sample chooses
it with probability at most q / p. Then the number V of such features that are chosen in a share t > 1/2 of the samples
has

    E[V] <= q^2 / ((2t - 1) p).

Proof. Let A and B say whether the two halves of a pair choose a feature: with a share f of all samples and a share s of
the pairs in which both do, f <= (1 + s) / 2, because AB >= A + B - 1. So f >= t needs s >= 2t - 1, with probability at
most E[s] / (2t - 1) (Markov). The halves have no row in common, so E[s] = P(A)^2 <= (q/p) P(A), and the sum of P(A)
over all features is at most q. The rows must be drawn independently. The bound is for one component, or for the
features of all components together; if components are matched with those of all rows, a sample no longer chooses by
itself.

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
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm
from sklearn.base import clone

from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.monitor import Monitor, Stop
from laconic.core.words import at_most, counted, is_whole
from laconic.covariance.make import Recipe, make
from laconic.model.components import components
from laconic.model.resampling import check_enough_done, check_rows, for_each, recipe_again, seed_of
from laconic.model.scores import scores_of
from laconic.model.settings import check_count, check_settings, features_asked_for, forced_places, made_of, sizes_of
from laconic.search.problem import Solution, Status

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# The frequency from which a feature counts as stable. Meinshausen and Buehlmann advise 0.6 to 0.9.
THRESHOLD = 0.75
# The share of intervals that should contain the index.
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Stability:
    """How often features are chosen when the rows are drawn again; `stability` makes it."""

    frequencies: Floats  # a row a component: the share of samples in which it has a feature
    any_frequencies: Floats  # the share of samples in which any component has a feature; no matching is needed
    indices: Floats  # the stability index of each component
    intervals: Floats  # the ends of its 95 % interval, a row a component
    index: float  # the same for the features of all components together
    interval: tuple[float, float]
    supports: list[list[Indices]]  # for each sample the features of each component, in the order of those of all rows
    components: Floats  # of all rows, one in each row
    resamples: int  # asked for; `len(supports)` were done
    candidates: Indices  # the features that a sample may choose or leave: they vary, and are not forced in
    feature_names: list[str] | None = None
    stopped: Stop | None = None  # why the work was stopped early, if it was

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"Stability(index {self.index:.2f}, 95 % interval {low:.2f} to {high:.2f}, {len(self.supports)} half "
            f"samples, {counted(len(self.frequencies), 'component')})\n{self.verdict}"
        )

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

        By default a feature of any component counts; `component` is the number of one, from 1.
        """
        frequencies = self._frequencies_of(component)
        order = np.argsort(-frequencies, kind="stable")
        chosen = order[frequencies[order] >= check_threshold(threshold)]
        return [int(i) if self.feature_names is None else self.feature_names[i] for i in chosen]

    def expected_by_chance(self, threshold: float = THRESHOLD) -> float:
        """Return the bound on the expected number of features that reach a frequency by chance.

        A feature gets there by chance if a half sample chooses it no more often than a feature drawn at random. The
        bound is q^2 / ((2 threshold - 1) p): q features of p are chosen by a half sample, in all components together.
        It is about `any_frequencies`.
        """
        if check_threshold(threshold) <= 0.5:
            raise ValueError(f"threshold={threshold} must be above 0.5 and at most 1 for this bound.")
        p, q = len(self.candidates), int(np.count_nonzero(self.components[:, self.candidates]))
        return q**2 / ((2 * threshold - 1) * p) if p else np.nan

    @property
    def verdict(self) -> str:
        """Sentences: how stable each component is, and how many features may be there by chance."""
        done, lines = len(self.supports), list[str]()
        for place, z in enumerate(self.components):
            support = np.flatnonzero(z)
            often = int(np.count_nonzero(self.frequencies[place, support] >= THRESHOLD))
            low, high = self.intervals[place]
            lines.append(
                f"Component {place + 1}: {often} of its {len(support)} features are chosen in at least "
                f"{100 * THRESHOLD:.3g} % of {done} half samples. "
                + _index_in_words(float(self.indices[place]), float(low), float(high))
            )
        lines.append("Stability is 1 if all samples choose the same features, and 0 if they choose at random.")
        selected, chance = len(self.selected()), self.expected_by_chance()
        if chance < selected:  # a larger bound says nothing
            lines.append(
                f"Of all features, {selected} are chosen so often in one of the components. On average, at most "
                f"{at_most(chance, 2)} would be by chance."
            )
        if self.stopped is not None:
            lines.append(f"Stopped early, after {done} of {self.resamples} samples: {self.stopped.value}.")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return a table of the features that are chosen at least once, the most frequent of each component first."""
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


def stability(
    model: "SparsePCA",
    X: Any = None,
    *,
    covariance: Any = None,
    sample_weight: Any = None,
    resamples: int = 100,
    n_jobs: int | None = None,
) -> Stability:
    """Find out how often each feature is chosen when the rows are drawn again.

    Components of a sample are matched with those of all rows: each with the one whose scores it correlates with most,
    one to one. So a second component that is the third one in a sample counts as the same. Half samples that share no
    row, and the bound on features chosen by chance, are those of Shah and Samworth (2013).

    Parameters
    ----------
    model : SparsePCA
        Its settings count, without the proofs. It need not be fitted. `random_state` is the seed of the samples, 0 by
        default.
    X : array, sparse matrix or table of shape (n_samples, n_features)
        Rows in memory. Missing values are dealt with in each sample as `missing` says; EM makes at most 50 steps.
    covariance : None
        Not possible: rows are drawn, and a matrix has none.
    sample_weight : array-like of shape (n_samples,), optional
        How much each row counts. Rows are drawn with their weights, each as likely as any other; a row of weight 0 is
        never drawn.
    resamples : int, default=100
        The number of half samples, which must be even: they come in pairs that have no row in common.
    n_jobs : int, optional
        The number of processes, as in joblib. The result does not depend on it.

    Returns
    -------
    Stability
        Frequencies of features, and stability indices.

    See Also
    --------
    noise : Find out whether a component is more than noise.
    SparsePCA : The fit that is repeated.

    Examples
    --------
    >>> from laconic import SparsePCA, stability
    >>> from laconic.datasets import load_senate109
    >>> found = stability(SparsePCA(cardinality=2), load_senate109().frame, resamples=20)
    >>> len(found.selected(0.5)) > 0
    True
    """
    check_settings(model)
    resamples = check_count("resamples", resamples, 2)
    if resamples % 2:
        raise ValueError(f"resamples={resamples} must be even: half samples come in pairs.")
    with Monitor(model.time_limit, progress=model.verbose) as monitor:
        made = made_of(model, X, covariance, sample_weight, monitor)
        check_rows(made, "stability")
        rows, weights = made.rows.tocsr() if sp.issparse(made.rows) else made.rows, made.weights
        if weights is not None:
            rows, weights = rows[weights > 0], weights[weights > 0]
        if rows.shape[0] < 4:
            raise ValueError(f"X has {rows.shape[0]} rows; half samples need at least 4.")
        with monitor.watch():
            monitor.tick("all rows")
        forced = forced_places(model, made)
        again = clone(model).set_params(proof=None, verbose=False, forced_in=forced.tolist() or None)
        whole = clone(again)._fit(made, monitor)
        if whole.choice_ is not None:
            # The samples have components of the sizes that were chosen.
            again.set_params(n_components=whole.n_components_, cardinality=[len(z) for z in whole.supports_])
        work = partial(_fit_sample, rows, weights, again, recipe_again(made), seed_of(model))
        samples = for_each(work, range(resamples), n_jobs=n_jobs, monitor=monitor, stage="sample")
    samples = samples[: len(samples) // 2 * 2]
    check_enough_done(len(samples), 2, "samples", monitor.stopped)
    chosen = _matched(whole, samples, rows, weights)
    anywhere, candidates = np.any(chosen, axis=0), np.setdiff1d(np.flatnonzero(~made.constant), forced)
    each = [stability_index(one[:, candidates]) for one in chosen]
    index, interval = stability_index(anywhere[:, candidates])
    return Stability(
        frequencies=chosen.mean(axis=1),
        any_frequencies=anywhere.mean(axis=0),
        indices=np.array([value for value, _ in each]),
        intervals=np.array([ends for _, ends in each]),
        index=index,
        interval=interval,
        supports=[[np.flatnonzero(row) for row in chosen[:, number]] for number in range(len(samples))],
        components=whole.components_,
        resamples=resamples,
        candidates=candidates,
        feature_names=None if made.names is None else list(made.names),
        stopped=monitor.stopped,
    )


def check_threshold(threshold: Any) -> float:
    """Return a share of samples, or raise a ValueError."""
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not 0 < float(threshold) <= 1:
        raise ValueError(f"threshold={threshold!r} must be above 0 and at most 1.")
    return float(threshold)


def stability_index(chosen: Mask) -> tuple[float, tuple[float, float]]:
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
    reach = float(norm.ppf(0.5 + CONFIDENCE / 2)) * deviation
    return float(index), (float(index - reach), min(float(index + reach), 1.0))


def drawn(n: int, seed: int, number: int) -> Indices:
    """Return the rows of one sample, in increasing order. Half samples 2i and 2i + 1 have no row in common."""
    order = np.random.default_rng([seed, number // 2]).permutation(n)
    half = n // 2
    return np.sort(order[:half] if number % 2 == 0 else order[half : 2 * half])


def _fit_sample(
    rows: Any,
    weights: Floats | None,
    model: "SparsePCA",
    recipe: Recipe,
    seed: int,
    number: int,
    monitor: Monitor,
) -> list[Solution] | None:
    """Return the components of one sample; None if there is no time."""
    if monitor.seconds_left <= 0:
        return None
    with warnings.catch_warnings():
        # A column that does not vary in one sample is no news.
        warnings.simplefilter("ignore", UserWarning)
        try:
            own = drawn(rows.shape[0], seed, number)
            w = None if weights is None else weights[own]
            how: dict[str, Any] = {"features": features_asked_for(model), "needed": model.forced_in or ()}
            made = make(rows[own], recipe, monitor, weights=w, **how)
            found = components(model, made, sizes_of(model, made, monitor), monitor).solutions
        except ValueError as error:
            raise ValueError(f"Sample {number + 1} of the rows cannot be fitted: {error}") from None
    if any(s.status in (Status.TIME_LIMIT, Status.INTERRUPTED) for s in found):
        return None
    # A witness may be large, and is not needed in another process.
    return [replace(s, witness=None) for s in found]


def _matched(whole: "SparsePCA", samples: list[list[Solution]], rows: Any, weights: Floats | None) -> Mask:
    """Match the components of each sample with those of all rows.

    Return which features each component (first axis) has in each sample (second axis).
    """
    r, p = whole.components_.shape
    roots = np.ones((rows.shape[0], 1)) if weights is None else np.sqrt(weights)[:, None]
    scores = _unit_columns(roots * scores_of(rows, whole.components_, whole.mean_, whole.scale_))
    chosen = np.zeros((r, len(samples), p), dtype=bool)
    for number, sample in enumerate(samples):
        vectors = np.array([solution.vector(p) for solution in sample])
        alike = np.abs(scores.T @ _unit_columns(roots * scores_of(rows, vectors, whole.mean_, whole.scale_)))
        _, partner = linear_sum_assignment(alike, maximize=True)
        for t, j in enumerate(partner):
            chosen[t, number, sample[j].support] = True
    return chosen


def _unit_columns(scores: Floats) -> Floats:
    scores = np.nan_to_num(scores)  # where a row has too few values for a score
    lengths = np.linalg.norm(scores, axis=0)
    return np.asarray(scores / np.where(lengths > 0, lengths, 1.0))


def _index_in_words(index: float, low: float, high: float) -> str:
    """Return a sentence on the index; the words are those of Fleiss (1981) for a coefficient of agreement."""
    if not np.isfinite(index):
        return "There is nothing to choose, so it has no stability index."
    word = "high" if index > 0.75 else "moderate" if index >= 0.4 else "low"
    return f"Its stability is {word}: {index:.2f} (95 % interval {low:.2f} to {high:.2f})."
