"""How well methods find the support of a planted sparse component."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import trapezoid
from sklearn.metrics import roc_curve

from laconic.core.arrays import Floats, Indices
from laconic.covariance import DenseCovariance
from laconic.datasets.synthetic import spiked_rows
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution
from laconic.relaxations.l1 import CardinalityForm, PenaltyForm
from laconic.relaxations.splitting import Splitting
from laconic.search.approximate_greedy import ApproximateGreedy
from laconic.search.generalized_power import GeneralizedPower
from laconic.search.greedy import Greedy

THRESHOLDING, APPROXIMATE, FULL = "thresholding", "approximate greedy", "full greedy"
POWER, DSPCA = "generalised power", "DSPCA"
METHODS = (THRESHOLDING, APPROXIMATE, FULL, POWER, DSPCA)
DIAGONAL = "diagonal thresholding"
# Sizes of the supports that the generalised power method is asked for, as shares of the number of features.
SHARES = (0.04, 0.1, 0.2, 0.5)
# Relative gaps to which the relaxation is solved: for a ranking, whose area is the same to two decimals with a tenth
# of it, and for exact recovery.
RANKING, EXACT = 1e-2, 1e-3


@dataclass(frozen=True, eq=False)
class Roc:
    """Sensitivity against specificity.

    Attributes
    ----------
    false
        1 - specificity: the share of the features outside the true support that is chosen, from 0 to 1.
    true
        Sensitivity: the share of the true support that is chosen.
    """

    false: Floats
    true: Floats

    @property
    def area(self) -> float:
        """The area under the curve: 1/2 for chance, 1 for perfect."""
        return float(trapezoid(self.true, self.false))

    def at(self, false: Floats) -> Floats:
        """Return the sensitivity at some values of 1 - specificity.

        Parameters
        ----------
        false
            The values.
        """
        return np.interp(false, self.false, self.true)


def ranking_roc(score: Floats, support: Indices) -> Roc:
    """Return the curve of a ranking: the features of largest score are chosen, those of equal score together.

    Parameters
    ----------
    score
        Of each feature.
    support
        The truth.
    """
    truth = np.zeros(len(score), dtype=bool)
    truth[support] = True
    false, true, _ = roc_curve(truth, score, drop_intermediate=False)
    return Roc(false, true)


def supports_roc(supports: Sequence[Indices], support: Indices, n_features: int) -> Roc:
    """Return the curve through the points of several supports, which need not be nested.

    Parameters
    ----------
    supports
        What was chosen, in increasing size.
    support
        The truth.
    n_features
        n.
    """
    hits = np.array([np.isin(chosen, support).sum() for chosen in supports], dtype=float)
    misses = np.array([len(chosen) for chosen in supports]) - hits
    false = np.concatenate([[0.0], misses / (n_features - len(support)), [1.0]])
    true = np.concatenate([[0.0], hits / len(support), [1.0]])
    order = np.lexsort((true, false))
    return Roc(false[order], true[order])


def recover(S: Floats, support: Indices) -> dict[str, Roc]:
    """Return the curve of each method.

    Thresholding ranks by the loadings of the leading eigenvector, the greedy methods by the order of entry (half of
    the features; the rest share the last place), DSPCA by the loadings of the leading eigenvector of X, from one
    solve of the cardinality form at the true k. The generalised power method has no ranking: it is asked for supports
    of several sizes.

    Parameters
    ----------
    S
        The covariance.
    support
        The truth.
    """
    n, k = len(S), len(support)
    problem = Problem(DenseCovariance(S), n // 2)
    relaxed = Splitting(RANKING, max_iterations=500).solve(S, CardinalityForm(k))
    sizes = sorted({max(1, round(share * n)) for share in SHARES})
    chosen = [GeneralizedPower().solve(problem.with_cardinality(size)).support for size in sizes]
    return {
        THRESHOLDING: ranking_roc(np.abs(np.linalg.eigh(S)[1][:, -1]), support),
        APPROXIMATE: ranking_roc(_entry_scores(ApproximateGreedy().path(problem), n), support),
        FULL: ranking_roc(_entry_scores(Greedy().path(problem), n), support),
        POWER: supports_roc(chosen, support, n),
        DSPCA: ranking_roc(np.abs(relaxed.vector), support),
    }


def _entry_scores(path: Sequence[Solution], n: int) -> Floats:
    """Return for each feature in how many of the nested supports it is."""
    score = np.zeros(n)
    for solution in path:
        score[solution.support] += 1
    return score


@dataclass(frozen=True, eq=False)
class Transition:
    """Success against the number of rows, for one n.

    Attributes
    ----------
    n_features, cardinality
        n and k.
    n_samples
        The values of m.
    success
        The share of the runs in which the support was found exactly, by method.
    tight
        The share in which the relaxation's solution had rank one.
    """

    n_features: int
    cardinality: int
    n_samples: Indices
    success: Mapping[str, Floats]
    tight: Floats

    @property
    def theta_thres(self) -> Floats:
        """M / (k^2 log(n - k))."""
        return self.theta_sdp / self.cardinality

    @property
    def theta_sdp(self) -> Floats:
        """M / (k log(n - k))."""
        return np.asarray(self.n_samples / (self.cardinality * math.log(self.n_features - self.cardinality)))

    def half(self, method: str) -> float:
        """Return the m at which a method succeeds half of the time, between the values tried; NaN if it never does.

        Parameters
        ----------
        method
            Its name.
        """
        reached = np.flatnonzero(self.success[method] >= 0.5)
        if not len(reached):
            return math.nan
        j = int(reached[0])
        if j == 0:
            return float(self.n_samples[0])
        low, high = self.success[method][j - 1 : j + 1]
        logs = np.log(self.n_samples[j - 1 : j + 1])
        return float(np.exp(logs[0] + (0.5 - low) / (high - low) * (logs[1] - logs[0])))


def transition(
    n: int,
    k: int,
    thetas: Floats,
    *,
    signal: float,
    repetitions: int,
    rng: np.random.Generator,
    tick: Callable[[str], None],
) -> Transition:
    """Count how often the support is found exactly in rows from N(0, I + signal uu').

    The k largest are taken: of the sample variances (diagonal thresholding), of the loadings of the leading
    eigenvector (thresholding), and of the loadings of DSPCA with the penalty rho = signal / (2k) of Amini and
    Wainwright.

    Parameters
    ----------
    n, k
        Features, and how many of them carry the spike.
    thetas
        The values of theta_sdp.
    signal
        The variance that the spike adds.
    repetitions
        Runs for each m.
    rng
        Where the rows come from.
    tick
        Told what is being done.
    """
    samples = np.unique(np.round(thetas * k * math.log(n - k)).astype(int))
    names = (DIAGONAL, THRESHOLDING, DSPCA)
    found = {name: np.zeros(len(samples)) for name in names}
    tight = np.zeros(len(samples))
    for place, m in enumerate(samples):
        tick(f"n = {n}: {m} rows")
        for _ in range(repetitions):
            spiked = spiked_rows(int(m), n, k, signal=signal, random_state=rng)
            S = spiked.data.T @ spiked.data / m
            relaxed = Splitting(EXACT).solve(S, PenaltyForm(signal / (2 * k)))
            tight[place] += relaxed.tight
            scores = (S.diagonal(), np.abs(np.linalg.eigh(S)[1][:, -1]), np.abs(relaxed.vector))
            for name, score in zip(names, scores, strict=True):
                found[name][place] += np.array_equal(np.sort(np.argsort(-score)[:k]), spiked.support)
    return Transition(n, k, samples, {name: c / repetitions for name, c in found.items()}, tight / repetitions)
