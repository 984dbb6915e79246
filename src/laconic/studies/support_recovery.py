"""Measures of how well methods find the support of a planted sparse component."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import trapezoid
from sklearn.metrics import roc_curve

from laconic.core.arrays import Floats, Indices
from laconic.covariance import DenseCovariance
from laconic.datasets.synthetic import spiked_rows
from laconic.relaxations.l1 import CardinalityForm, PenaltyForm
from laconic.relaxations.l1_splitting import Splitting
from laconic.search.greedy import ApproximateGreedy, Greedy
from laconic.search.power import GeneralizedPower
from laconic.search.problem import Problem, Solution

THRESHOLDING, APPROXIMATE, FULL = "thresholding", "approximate greedy", "full greedy"
POWER, DSPCA = "generalised power", "DSPCA"
METHODS = (THRESHOLDING, APPROXIMATE, FULL, POWER, DSPCA)
DIAGONAL = "diagonal thresholding"
# Cardinalities for the generalised power method, as shares of the number of features.
SHARES = (0.04, 0.1, 0.2, 0.5)
# Relative gaps to which the relaxation is solved, for a ranking and for exact recovery. With a ten times smaller gap
# the area under the curve of a ranking is the same to two decimals.
RANKING, EXACT = 1e-2, 1e-3


@dataclass(frozen=True, eq=False)
class Roc:
    """A ROC curve: sensitivity against specificity.

    Attributes
    ----------
    false
        1 - specificity: the share of the features outside the true support that are chosen. Increases from 0 to 1.
    true
        Sensitivity: the share of the true support that is chosen.
    """

    false: Floats
    true: Floats

    @property
    def area(self) -> float:
        """The area under the curve: 1/2 for a random choice, 1 for a perfect one."""
        return float(trapezoid(self.true, self.false))

    def at(self, false: Floats) -> Floats:
        """Return the sensitivity at given values of 1 - specificity.

        Parameters
        ----------
        false
            The values of 1 - specificity.
        """
        return np.interp(false, self.false, self.true)


def ranking_roc(score: Floats, support: Indices) -> Roc:
    """Return the ROC curve of a ranking. Features are chosen by decreasing score; equal scores are chosen together.

    Parameters
    ----------
    score
        The score of each feature.
    support
        The true support.
    """
    truth = np.zeros(len(score), dtype=bool)
    truth[support] = True
    false, true, _ = roc_curve(truth, score, drop_intermediate=False)
    return Roc(false, true)


def supports_roc(supports: Sequence[Indices], support: Indices, n_features: int) -> Roc:
    """Return the ROC curve through the points of several supports. The supports need not be nested.

    Parameters
    ----------
    supports
        The supports chosen.
    support
        The true support.
    n_features
        The number of all features.
    """
    hits = np.array([np.isin(chosen, support).sum() for chosen in supports], dtype=float)
    misses = np.array([len(chosen) for chosen in supports]) - hits
    false = np.concatenate([[0.0], misses / (n_features - len(support)), [1.0]])
    true = np.concatenate([[0.0], hits / len(support), [1.0]])
    order = np.lexsort((true, false))
    return Roc(false[order], true[order])


def recover(S: Floats, support: Indices) -> dict[str, Roc]:
    """Return the ROC curve of each method.

    - Thresholding ranks features by the loadings of the leading eigenvector.
    - The greedy methods rank half of the features by the order in which they enter. The others share the last place.
    - DSPCA ranks features by the loadings of the leading eigenvector of X, the solution of the cardinality form at the
      true k.
    - The generalised power method has no ranking. It computes supports of several cardinalities.

    Parameters
    ----------
    S
        The covariance matrix.
    support
        The true support.
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
    """Return for each feature the number of supports on a path that contain it: more for those that enter first."""
    score = np.zeros(n)
    for solution in path:
        score[solution.support] += 1
    return score


@dataclass(frozen=True, eq=False)
class Transition:
    """The share of exact recoveries against the number of rows, for one n.

    Attributes
    ----------
    n_features, cardinality
        The number n of features and the number k of features in the true support.
    n_samples
        The values of m, the number of rows.
    success
        The share of the runs in which a method finds the support exactly, by method.
    tight
        The share of the runs in which the solution of the relaxation has rank one.
    """

    n_features: int
    cardinality: int
    n_samples: Indices
    success: Mapping[str, Floats]
    tight: Floats

    @property
    def theta_thres(self) -> Floats:
        """The ratio m / (k^2 log(n - k)) of diagonal thresholding."""
        return self.theta_sdp / self.cardinality

    @property
    def theta_sdp(self) -> Floats:
        """The ratio m / (k log(n - k)) of the semidefinite relaxation."""
        return np.asarray(self.n_samples / (self.cardinality * math.log(self.n_features - self.cardinality)))

    def half(self, method: str) -> float:
        """Return the m at which a method succeeds in half of the runs, interpolated; NaN if there is none.

        Parameters
        ----------
        method
            The name of the method.
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


def count_recoveries(
    n: int,
    k: int,
    thetas: Floats,
    *,
    signal: float,
    repetitions: int,
    rng: np.random.Generator,
    tick: Callable[[str], None],
) -> Transition:
    """Count how often each method finds the support exactly, in rows of N(0, I + signal uu').

    Each method takes the k features with the largest scores. The scores are the sample variances (diagonal
    thresholding), the loadings of the leading eigenvector (thresholding), or the loadings of DSPCA with the penalty
    rho = signal / (2k) of Amini and Wainwright.

    Parameters
    ----------
    n, k
        The number of features, and the number of them in the true support.
    thetas
        The values of theta_sdp.
    signal
        The variance that the spike adds.
    repetitions
        The number of runs for each m.
    rng
        The generator that draws the rows.
    tick
        Called with the name of each stage.
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
