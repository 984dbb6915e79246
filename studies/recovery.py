"""Recovery of the support in the spiked model: statistics against computation (section 4.5 of the paper).

ROC curves of thresholding, the greedy methods and the semidefinite relaxation for Sigma = uu' + VV'/sqrt(m), the area
under these curves against the number m of samples, and the two transitions of Amini and Wainwright.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, NullLocator
from sklearn.metrics import auc, roc_curve

import studies.common as common
from laconic.covariance import DenseCovariance
from laconic.datasets import spiked_rows
from laconic.methods import ApproximateGreedy, GeneralizedPower, Greedy
from laconic.relaxations.l1 import CardinalityForm, PenaltyForm
from laconic.relaxations.l1_splitting import Splitting
from laconic.search.problem import Problem

THRESHOLDING, APPROXIMATE, FULL = "thresholding", "approximate greedy", "full greedy"
POWER, DSPCA, DIAGONAL = "generalised power", "DSPCA", "diagonal thresholding"
# Colour, line and marker of each method.
METHODS = {
    THRESHOLDING: (common.GREY, "-", "o"),
    APPROXIMATE: (common.COLOURS[4], ":", "v"),
    FULL: (common.COLOURS[0], "--", "^"),
    POWER: (common.COLOURS[1], "-.", "s"),
    DSPCA: (common.COLOURS[2], "-", "D"),
}
UNIT, ONES, SCALED = "as printed, |u| = 1", "as printed, entries of u are 1", "noise VV'/m, |u| = 1"
# The variance that the spike adds, for the transitions.
SIGNAL = 3.0
# Relative gaps to which the relaxation is solved, for a ranking and for exact recovery. With a ten times smaller gap
# the area under the curve of a ranking is the same to two decimals.
RANKING, EXACT = 1e-2, 1e-3


def spiked_covariance(n, m, cardinality, signal, rng):
    """Return signal * uu' + VV'/sqrt(m), as the paper prints it, and the places of the nonzeros of the unit vector u.

    The noise is divided by sqrt(m) and not by m, so it grows with m. For large n and m, the leading eigenvector is
    correlated with u only if signal > sqrt(n) (1 + sqrt(n / m)) (Benaych-Georges and Nadakuditi 2011).
    """
    rng = np.random.default_rng(rng)
    support = np.sort(rng.choice(n, size=cardinality, replace=False))
    u, V = np.isin(np.arange(n), support) / math.sqrt(cardinality), rng.standard_normal((n, m))
    return signal * np.outer(u, u) + V @ V.T / math.sqrt(m), support


def ranking_roc(score, support):
    """Return the ROC curve of a ranking, 1 - specificity and sensitivity. Equal scores are chosen together."""
    return roc_curve(np.isin(np.arange(len(score)), support), score, drop_intermediate=False)[:2]


def supports_roc(supports, support, n):
    """Return the ROC curve through the points of several supports of n features. They need not be nested."""
    hits = np.array([np.isin(chosen, support).sum() for chosen in supports], dtype=float)
    misses = np.array([len(chosen) for chosen in supports]) - hits
    false = np.concatenate([[0.0], misses / (n - len(support)), [1.0]])
    true = np.concatenate([[0.0], hits / len(support), [1.0]])
    order = np.lexsort((true, false))
    return false[order], true[order]


def recover(S, support):
    """Return the ROC curve of each method.

    Thresholding ranks features by the loadings of the leading eigenvector. The greedy methods rank half of the features
    by the order in which they enter; the others share the last place. DSPCA ranks them by the leading eigenvector of
    the relaxation at the true k. The generalised power method has no ranking: it computes supports of four sizes.
    """
    n, k = len(S), len(support)
    problem = Problem(DenseCovariance(S), n // 2)
    relaxed = Splitting(RANKING, max_iterations=500).solve(S, CardinalityForm(k))
    sizes = sorted({max(1, round(share * n)) for share in (0.04, 0.1, 0.2, 0.5)})
    chosen = [GeneralizedPower().solve(problem.with_cardinality(size)).support for size in sizes]
    entered = [np.concatenate([s.support for s in solver.path(problem)]) for solver in (ApproximateGreedy(), Greedy())]
    approximate, full = (ranking_roc(np.bincount(places, minlength=n), support) for places in entered)
    return {
        THRESHOLDING: ranking_roc(np.abs(np.linalg.eigh(S)[1][:, -1]), support),
        APPROXIMATE: approximate,
        FULL: full,
        POWER: supports_roc(chosen, support, n),
        DSPCA: ranking_roc(np.abs(relaxed.vector), support),
    }


@dataclass(frozen=True, eq=False)
class Transition:
    """Shares of exact recoveries by method, for n features, k in the support and several numbers m of rows.

    `tight` is the share of the runs in which the solution of the relaxation has rank one.
    """

    n: int
    k: int
    m: np.ndarray
    success: dict
    tight: np.ndarray

    @property
    def theta_sdp(self):
        """The ratio m / (k log(n - k)) of the semidefinite relaxation."""
        return self.m / (self.k * math.log(self.n - self.k))

    @property
    def theta_thres(self):
        """The ratio m / (k^2 log(n - k)) of diagonal thresholding."""
        return self.theta_sdp / self.k

    def half(self, method):
        """Return the m at which a method succeeds in half of the runs, interpolated; NaN if there is none."""
        rate = self.success[method]
        reached = np.flatnonzero(rate >= 0.5)
        if not len(reached):
            return math.nan
        j = max(int(reached[0]), 1)
        return float(np.exp(np.interp(0.5, rate[j - 1 : j + 1], np.log(self.m[j - 1 : j + 1]))))


def count_recoveries(n, k, thetas, repetitions, rng):
    """Count how often each method finds the support exactly, in rows of N(0, I + SIGNAL uu'), at values of theta_sdp.

    Each method takes the k features with the largest scores: the sample variances (diagonal thresholding), the loadings
    of the leading eigenvector (thresholding), or those of DSPCA with Amini and Wainwright's penalty, SIGNAL / (2k).
    """
    samples = np.unique(np.round(thetas * k * math.log(n - k)).astype(int))
    success = {name: np.zeros(len(samples)) for name in (DIAGONAL, THRESHOLDING, DSPCA)}
    tight = np.zeros(len(samples))
    for place, m in enumerate(samples):
        common.say(f"transitions, n = {n}: {m} rows")
        for _ in range(repetitions):
            spiked = spiked_rows(int(m), n, k, signal=SIGNAL, rng=rng)
            S = spiked.data.T @ spiked.data / m
            relaxed = Splitting(EXACT).solve(S, PenaltyForm(SIGNAL / (2 * k)))
            tight[place] += relaxed.tight / repetitions
            scores = (S.diagonal(), np.abs(np.linalg.eigh(S)[1][:, -1]), np.abs(relaxed.vector))
            for name, score in zip(success, scores, strict=True):
                same = np.array_equal(np.sort(np.argsort(-score)[:k]), spiked.support)
                success[name][place] += same / repetitions
    return Transition(n, k, samples, success, tight)


def signal_of(model, m, k):
    """Return the factor s of a model that is written as s uu' + VV'/sqrt(m) with a unit u, up to its scale."""
    return {UNIT: 1.0, ONES: float(k), SCALED: math.sqrt(m)}[model]


def threshold(n, m):
    """Return the s above which the leading eigenvector of s uu' + VV'/sqrt(m) is correlated with u (large n, m)."""
    return math.sqrt(n) * (1 + math.sqrt(n / m))


def run(*, quick=False, seed=0):
    """Run the study. With `quick` all sizes are smaller."""
    n, k, m0 = (60, 12, 100) if quick else (250, 25, 400)
    samples = (100, 800) if quick else (100, 200, 400, 800, 1600, 6400)
    repetitions, ratio = (8, 2.0) if quick else (20, math.sqrt(2))
    drawn = {}  # by model, m and method: the curves of several matrices
    for model, count in zip((UNIT, ONES, SCALED), (4, 4, 3) if quick else (3, 6, 4), strict=True):
        for m in samples:
            common.say(f"{model}: m = {m}")
            # All models have the same noise and differ only by the signal.
            rngs = [np.random.default_rng([seed, m, repetition]) for repetition in range(count)]
            made = [spiked_covariance(n, m, k, signal_of(model, m, k), rng) for rng in rngs]
            found = [recover(S, support) for S, support in made]
            drawn[model, m] = {method: [curves[method] for curves in found] for method in METHODS}
    areas = {
        (model, m, method): np.array([auc(*roc) for roc in rocs])
        for (model, m), by_method in drawn.items()
        for method, rocs in by_method.items()
    }
    rng = np.random.default_rng(seed)
    thetas = {n: np.exp(np.arange(math.log(0.5), math.log(n / 5), math.log(ratio))) for n in (40, 80, 100, 200, 400)}
    features = (40, 80) if quick else (100, 200, 400)
    transitions = [count_recoveries(n, n // 10, thetas[n], repetitions, rng) for n in features]
    grid = np.geomspace(1, 1e7, 20_001)
    limits = {
        model: min((m for m in grid if signal_of(model, m, k) > threshold(n, m)), default=math.inf)
        for model in (UNIT, ONES, SCALED)
    }
    mean = {key: float(values.mean()) for key, values in areas.items()}
    transitions[-1]
    return common.Study(
        name="recovery",
        title="Recovery of a sparse component: statistics against computation",
        seed=seed,
        statements=_statements(mean, transitions, limits, samples, n, k, m0),
        figures={
            "recovery-roc": _plot_roc(drawn, m0),
            "recovery-area": _plot_areas(areas, samples, limits),
            "recovery-transitions": _plot_transitions(transitions, repetitions),
        },
        tables={
            "recovery-area": pd.DataFrame(
                {"model": model, "m": m, "method": method, "area": a.mean(), "standard error": _error(a)}
                for (model, m, method), a in areas.items()
            ),
            "recovery-transitions": pd.concat(
                pd.DataFrame({"n": t.n, "k": t.k, "m": t.m, "theta_thres": t.theta_thres, "theta_sdp": t.theta_sdp}
                             | t.success | {"rank one": t.tight})
                for t in transitions
            ),
        },
        facts={"areas": mean, "transitions": transitions, "limits": limits},
    )  # fmt: skip


def _error(areas):
    return areas.std(ddof=1) / math.sqrt(len(areas))


def _each(mean, model, m):
    return ", ".join(f"{method} {mean[model, m, method]:.2f}" for method in METHODS)


def _statements(mean, transitions, limits, samples, n, k, m0):
    first, last = min(samples), max(samples)
    chance = max(abs(area - 0.5) for (model, _, _), area in mean.items() if model == UNIT)
    ones = [mean[ONES, m0, method] for method in METHODS]
    margin = {
        model: {m: mean[model, m, DSPCA] - mean[model, m, THRESHOLDING] for m in samples} for model in (ONES, SCALED)
    }
    widest = {model: max(gains, key=gains.get) for model, gains in margin.items()}
    loses = [m for m in samples if mean[SCALED, m, FULL] < mean[SCALED, m, THRESHOLDING] - 0.05]
    sdp, crossed = ([np.interp(t.half(method), t.m, t.theta_sdp) for t in transitions] for method in (DSPCA, DIAGONAL))
    thres = [x / t.k for x, t in zip(crossed, transitions, strict=True)]

    def rise(model, method):
        return f"{mean[model, first, method]:.2f} (m = {first}) to {mean[model, last, method]:.2f} (m = {last})"

    def numbers(values, digits):
        return ", ".join(f"{x:.{digits}f}" for x in values)

    return [
        (
            f"ROC curves of support recovery in uu' + VV'/sqrt(m), n = {n}, m = {m0}, k = {k}.",
            f"With a unit u the areas are {_each(mean, UNIT, m0)}. This is close to chance, 0.5. For every m and every "
            f"method the mean area is between {0.5 - chance:.2f} and {0.5 + chance:.2f}.",
            "differs because the noise VV'/sqrt(m) grows as sqrt(m). The leading eigenvector is correlated with u only "
            f"if |u|² exceeds {threshold(n, m0):.1f} at this m, or {math.sqrt(n):.1f} for very large m. The paper does "
            "not give the length of u. The curves differ only with a longer u or less noise.",
        ),
        (
            "Methods that explain a similar variance often differ much in how well they find the support.",
            f"If the nonzero entries of u are one (|u|² = {k}), the areas at m = {m0} are: {_each(mean, ONES, m0)}.",
            "agrees" if max(ones) - min(ones) > 0.1 else "differs because at this size the areas of all are similar.",
        ),
        (
            "The relaxation is much better than thresholding if there are few observations.",
            f"Entries of u are one: the area of DSPCA exceeds that of thresholding most at m = {widest[ONES]} "
            f"({margin[ONES][widest[ONES]]:+.2f}); at m = {last} the difference is {margin[ONES][last]:+.2f}. Noise "
            f"VV'/m: the difference is largest at m = {widest[SCALED]} ({margin[SCALED][widest[SCALED]]:+.2f}). The "
            f"areas are {_each(mean, SCALED, first)} at m = {first}, and {_each(mean, SCALED, last)} at m = {last}.",
            "agrees"
            if min(max(gains.values()) for gains in margin.values()) > 0.03
            else "differs because at this size the areas of both are similar for every m.",
        ),
        (
            "The area under ROC grows with the number of samples.",
            f"Noise VV'/m: thresholding {rise(SCALED, THRESHOLDING)}, DSPCA {rise(SCALED, DSPCA)}. As printed, entries "
            f"of u are one: thresholding {rise(ONES, THRESHOLDING)}, DSPCA {rise(ONES, DSPCA)}. In theory, the leading "
            f"eigenvector is correlated with u if m is above {limits[ONES]:.0f}."
            + f" With noise VV'/m, the full greedy method is worse than thresholding at m = "
            f"{', '.join(map(str, loses))}. It starts from the largest variance." * bool(loses),
            "differs because in the model as printed the area of thresholding has a limit below one. For large m the "
            "noise converges to sqrt(n) times a Wigner matrix and not to zero. With noise VV'/m the result agrees.",
        ),
        (
            "Thresholding the diagonal finds the support if theta_thres = m / (k² log(n - k)) is above a critical "
            "value, and fails below it.",
            f"For n = {', '.join(str(t.n) for t in transitions)} and k = n / 10, half of the runs succeed at "
            f"theta_thres = {numbers(thres, 2)}. The corresponding values of theta_sdp are {numbers(crossed, 1)}.",
            "agrees" if max(thres) < 1.7 * min(thres) else "differs because the sizes are small.",
        ),
        (
            "The semidefinite relaxation, if tight, finds the support if theta_sdp = m / (k log(n - k)) is above a "
            "critical value, and fails below it. It needs O(1/k) of the samples.",
            f"Half of the runs succeed at theta_sdp = {numbers(sdp, 2)}. The solution of the relaxation has rank one "
            f"in at least {100 * min(t.tight.min() for t in transitions):.0f} % of the runs at every m. Diagonal "
            f"thresholding needs {numbers([a / b for a, b in zip(crossed, sdp, strict=True)], 1)} times as many rows. "
            "Thresholding the leading eigenvector, as in the ROC curves, needs m = "
            f"{numbers([t.half(THRESHOLDING) for t in transitions], 0)}. DSPCA needs m = "
            f"{numbers([t.half(DSPCA) for t in transitions], 0)}. With k = n / 10 these numbers are close.",
            "agrees" if max(sdp) < 1.7 * min(sdp) else "differs because the sizes are small.",
        ),
    ]


def _plot_roc(drawn, m):
    figure, axes = common.panels(8.6, 4.9, 1, 2, sharey=True)
    grid = np.linspace(0, 1, 201)
    for ax, model in zip(axes, (UNIT, ONES), strict=True):
        ax.plot([1, 0], [0, 1], color="#CCCCCC", linewidth=1.0)
        for method, (colour, line, _) in METHODS.items():
            mean = np.mean([np.interp(grid, *roc) for roc in drawn[model, m][method]], axis=0)
            ax.plot(1 - grid, mean, line, color=colour, linewidth=1.7, label=method)
        ax.set(xlim=(1.02, -0.02), ylim=(-0.02, 1.02), aspect="equal", xlabel="Specificity", title=f"{model}; m = {m}")
    axes[0].set_ylabel("Sensitivity")
    common.legend_below(figure, axes[:1], len(METHODS))
    return figure


def _plot_areas(areas, samples, limits):
    figure, axes = common.panels(9.6, 4.2, 1, 3, sharey=True)
    m = np.array(samples, dtype=float)
    for ax, model in zip(axes, (UNIT, ONES, SCALED), strict=True):
        ax.axhline(0.5, color="#CCCCCC", linewidth=1.0)
        if limits[model] <= m.max():
            ax.axvline(limits[model], color=common.GREY, linewidth=0.9, linestyle="--")
        for place, (method, (colour, line, marker)) in enumerate(METHODS.items()):
            own = [areas[model, size, method] for size in samples]
            # A small shift for each method, so that error bars do not cover each other.
            look = {"color": colour, "linestyle": line, "marker": marker, "markersize": 4, "label": method}
            ax.errorbar(
                m * (0.93 + 0.035 * place), [a.mean() for a in own], [_error(a) for a in own], capsize=2, **look
            )
        ax.set_xscale("log")
        ax.set_xticks(m)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.tick_params(axis="x", labelsize="small")
        ax.set_xlabel("Number of samples m")
        ax.set_title(model, fontsize="medium")
    axes[0].set_ylabel("Area under ROC")
    common.legend_below(figure, axes[:1], len(METHODS))
    return figure


def _plot_transitions(transitions, repetitions):
    figure, axes = common.panels(8.8, 6.6, 2, 2, sharey=True)
    names = {
        "theta_thres": r"$\theta_{thres}$ = m / (k² log(n − k))",
        "theta_sdp": r"$\theta_{sdp}$ = m / (k log(n − k))",
    }
    for row, method in zip(axes, (DIAGONAL, DSPCA), strict=True):
        for ax, (ratio, name) in zip(row, names.items(), strict=True):
            for t, colour, marker in zip(
                transitions, (common.COLOURS[4], common.COLOURS[0], common.COLOURS[2]), "osD", strict=False
            ):
                rate = t.success[method]
                error = np.sqrt(rate * (1 - rate) / repetitions)
                look = {"color": colour, "marker": marker, "markersize": 4, "label": f"n = {t.n}, k = {t.k}"}
                ax.errorbar(getattr(t, ratio), rate, error, capsize=2, **look)
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            ax.set_xlabel(name)
        row[0].set_ylabel(f"{method.capitalize() if method == DIAGONAL else method}:\nshare of exact recoveries")
    axes[0, 0].set_title("against its own ratio", fontsize="small")
    axes[1, 1].set_title("against its own ratio", fontsize="small")
    common.legend_below(figure, axes[0, :1], len(transitions))
    return figure
