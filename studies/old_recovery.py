"""Recovery of the support in the spiked model: statistics against computation.

This is the paper's section "Statistical consistency vs. computational complexity". The study draws ROC curves of
thresholding, the greedy methods and the semidefinite relaxation for Sigma = uu' + VV'/sqrt(m), the area under these
curves against the number m of samples, and the two transitions of Amini and Wainwright.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from laconic.core.arrays import Floats
from laconic.datasets.synthetic import spiked_covariance
from laconic.studies.base import Settings, Statement, Study
from laconic.studies.recovery_figures import plot_areas, plot_roc, plot_transitions
from laconic.studies.support_recovery import (
    APPROXIMATE,
    DIAGONAL,
    DSPCA,
    FULL,
    METHODS,
    POWER,
    THRESHOLDING,
    Roc,
    Transition,
    count_recoveries,
    recover,
)

UNIT, ONES, SCALED = "as printed, |u| = 1", "as printed, entries of u are 1", "noise VV'/m, |u| = 1"

# ROC curves by method, one for each matrix.
RocCurves = Mapping[str, Sequence[Roc]]


@dataclass(frozen=True)
class Sizes:
    """Sizes of all parts of the study.

    Attributes
    ----------
    n, k, m
        The numbers of features, of nonzero entries of u and of samples for the ROC curves.
    samples
        The values of m for the area under the curve.
    seeds
        How many matrices are drawn for each m, for each of the three models.
    features
        The values of n for the transitions. k is n / 10.
    signal
        The variance that the spike adds, for the transitions.
    repetitions
        The number of runs for each m, for the transitions.
    ratio
        The ratio of successive values of m, for the transitions.
    """

    n: int = 250
    k: int = 25
    m: int = 400
    samples: tuple[int, ...] = (100, 200, 400, 800, 1600, 6400)
    seeds: tuple[int, int, int] = (3, 6, 4)
    features: tuple[int, ...] = (100, 200, 400)
    signal: float = 3.0
    repetitions: int = 20
    ratio: float = math.sqrt(2)


QUICK = Sizes(n=60, k=12, m=100, samples=(100, 800), seeds=(4, 4, 3), features=(40, 80), repetitions=8, ratio=2.0)


def run(settings: Settings) -> Study:
    """Run the study: how well each method finds the support of a planted component.

    Parameters
    ----------
    settings
        Seed, size and monitor. With `quick` all sizes are smaller.
    """
    with settings.monitor.watch():
        return _study(settings, QUICK if settings.quick else Sizes())
    raise TimeoutError(f"study 'recovery' was not finished ({settings.monitor.stopped}).")


def signal_of(model: str, m: float, k: int) -> float:
    """Return the factor s of a model that is written as s uu' + VV'/sqrt(m) with a unit u, up to its scale.

    Parameters
    ----------
    model
        One of `UNIT`, `ONES` and `SCALED`.
    m, k
        The number of samples and the cardinality.
    """
    return {UNIT: 1.0, ONES: float(k), SCALED: math.sqrt(m)}[model]


def threshold(n: int, m: float) -> float:
    """Return the s above which the leading eigenvector of s uu' + VV'/sqrt(m) is correlated with u, for large n and m.

    Parameters
    ----------
    n, m
        The number of rows and of columns of V.
    """
    return math.sqrt(n) * (1 + math.sqrt(n / m))


def _study(settings: Settings, sizes: Sizes) -> Study:
    curves = {
        model: {m: _drawn(settings, sizes, model, m, count) for m in sizes.samples}
        for model, count in zip((UNIT, ONES, SCALED), sizes.seeds, strict=True)
    }
    rng = np.random.default_rng(settings.seed)
    transitions = [
        count_recoveries(
            n,
            n // 10,
            np.exp(np.arange(math.log(0.5), math.log(2 * n / 10), math.log(sizes.ratio))),
            signal=sizes.signal,
            repetitions=sizes.repetitions,
            rng=rng,
            tick=lambda stage: settings.monitor.tick(f"transitions, {stage}"),
        )
        for n in sizes.features
    ]
    return Study(
        name="recovery",
        title="Recovery of a sparse component: statistics against computation",
        summary=_summary(sizes, curves, transitions),
        seed=settings.seed,
        figures={
            "recovery-roc": plot_roc({model: curves[model][sizes.m] for model in (UNIT, ONES)}, sizes.m),
            "recovery-area": plot_areas(curves, _limits(sizes)),
            "recovery-transitions": plot_transitions(transitions, sizes.repetitions),
        },
        captions={
            "recovery-roc": f"ROC curves, n = {sizes.n}, m = {sizes.m}, k = {sizes.k}, each the mean of several "
            "matrices. The model is as the paper prints it. Left: u is a unit vector. Right: the nonzero entries of u "
            "are one.",
            "recovery-area": "Area under ROC against the number of samples m: means and standard errors. Dashed line: "
            "above this m the leading eigenvector is correlated with u, by the theory of spiked Wishart matrices.",
            "recovery-transitions": "How often the support is found exactly, against both ratios of Amini and "
            f"Wainwright. The data are rows of N(0, I + {sizes.signal:g} uu') with k = n / 10. In each row, the curves "
            "of all n coincide if drawn against one of the two ratios.",
        },
        tables={"recovery-area": _area_table(curves), "recovery-transitions": _transition_table(transitions)},
        statements=_statements(sizes, curves, transitions),
        facts=_facts(sizes, curves, transitions),
    )


def _drawn(settings: Settings, sizes: Sizes, model: str, m: int, count: int) -> RocCurves:
    drawn: dict[str, list[Roc]] = {method: [] for method in METHODS}
    for repetition in range(count):
        settings.monitor.tick(f"{model}: m = {m}, matrix {repetition + 1} of {count}")
        # All models have the same noise and differ only by the signal.
        rng = np.random.default_rng([settings.seed, m, repetition])
        spiked = spiked_covariance(sizes.n, m, sizes.k, signal=signal_of(model, m, sizes.k), random_state=rng)
        for method, roc in recover(spiked.covariance, spiked.support).items():
            drawn[method].append(roc)
    return drawn


def _limits(sizes: Sizes) -> dict[str, float]:
    """Return for each model the m above which the leading eigenvector is correlated with u, or infinity."""
    grid = np.geomspace(1, 1e7, 20_001)
    limits = {}
    for model in (UNIT, ONES, SCALED):
        above = [m for m in grid if signal_of(model, m, sizes.k) > threshold(sizes.n, m)]
        limits[model] = float(min(above, default=math.inf))
    return limits


def _areas(curves: RocCurves, method: str) -> Floats:
    return np.array([roc.area for roc in curves[method]])


def _mean(curves: RocCurves, method: str) -> float:
    return float(_areas(curves, method).mean())


def _listed(curves: RocCurves) -> str:
    """Return the mean area of each method, as a list in words."""
    return ", ".join(f"{method} {_mean(curves, method):.2f}" for method in METHODS)


def _summary(sizes: Sizes, curves: Mapping[str, Mapping[int, RocCurves]], transitions: Sequence[Transition]) -> str:
    largest = transitions[-1]
    return (
        "Which features belong to the spike? The model as printed is uu' + VV'/sqrt(m). With a unit u, no method is "
        f"clearly better than chance at any m that we tried, because the noise grows with m. At m = {sizes.m} the "
        f"areas under ROC are: {_listed(curves[UNIT][sizes.m])}. If the nonzero entries of u are one, the methods "
        f"differ: {_listed(curves[ONES][sizes.m])}. For rows of a spiked Gaussian model with n = {largest.n_features} "
        f"and k = {largest.cardinality}, DSPCA finds the support in half of the runs at m = {largest.half(DSPCA):.0f}. "
        f"Diagonal thresholding needs m = {largest.half(DIAGONAL):.0f}."
    )


def _statements(
    sizes: Sizes, curves: Mapping[str, Mapping[int, RocCurves]], transitions: Sequence[Transition]
) -> tuple[Statement, ...]:
    limits = _limits(sizes)
    unit, ones = curves[UNIT][sizes.m], curves[ONES][sizes.m]
    chance = max(abs(_mean(c, method) - 0.5) for c in curves[UNIT].values() for method in METHODS)
    hidden = threshold(sizes.n, sizes.m)
    margin = {
        model: {m: _mean(c, DSPCA) - _mean(c, THRESHOLDING) for m, c in curves[model].items()}
        for model in (ONES, SCALED)
    }
    widest = {model: max(gains, key=lambda m: gains[m]) for model, gains in margin.items()}
    last = max(sizes.samples)
    greedy_loses = [m for m, c in curves[SCALED].items() if _mean(c, FULL) < _mean(c, THRESHOLDING) - 0.05]
    thres = [t.half(DIAGONAL) * t.theta_thres[0] / t.n_samples[0] for t in transitions]
    sdp = [t.half(DSPCA) * t.theta_sdp[0] / t.n_samples[0] for t in transitions]
    crossed = [t.half(DIAGONAL) * t.theta_sdp[0] / t.n_samples[0] for t in transitions]
    pca = [t.half(THRESHOLDING) for t in transitions]
    tight = min(float(t.tight.min()) for t in transitions)
    ns = ", ".join(str(t.n_features) for t in transitions)
    return (
        Statement(
            f"ROC curves of support recovery in uu' + VV'/sqrt(m), n = {sizes.n}, m = {sizes.m}, k = {sizes.k}.",
            f"With a unit u the areas are {_listed(unit)}. This is close to chance, 0.5. For every m and every method "
            f"the mean area is between {0.5 - chance:.2f} and {0.5 + chance:.2f}.",
            f"differs because the noise VV'/sqrt(m) grows as sqrt(m). The leading eigenvector is correlated with u "
            f"only if |u|² exceeds {hidden:.1f} at this m, or {math.sqrt(sizes.n):.1f} for very large m. The paper "
            "does not give the length of u. The curves differ only with a longer u or less noise.",
        ),
        Statement(
            "Methods that explain a similar variance often differ much in how well they find the support.",
            f"If the nonzero entries of u are one (|u|² = {sizes.k}), the areas at m = {sizes.m} are: {_listed(ones)}.",
            "agrees"
            if max(_mean(ones, a) for a in METHODS) - min(_mean(ones, a) for a in METHODS) > 0.1
            else "differs because at this size the areas of all methods are similar.",
        ),
        Statement(
            "The relaxation is much better than thresholding if there are few observations.",
            f"Entries of u are one: the area of DSPCA exceeds that of thresholding most at m = {widest[ONES]} "
            f"({margin[ONES][widest[ONES]]:+.2f}); at m = {last} the difference is {margin[ONES][last]:+.2f}. "
            f"Noise VV'/m: the difference is largest at m = {widest[SCALED]} "
            f"({margin[SCALED][widest[SCALED]]:+.2f}). The areas are {_listed(curves[SCALED][min(sizes.samples)])} at "
            f"m = {min(sizes.samples)}, and {_listed(curves[SCALED][last])} at m = {last}.",
            "agrees"
            if min(max(gains.values()) for gains in margin.values()) > 0.03
            else "differs because at this size the areas of both are similar for every m.",
        ),
        Statement(
            "The area under ROC grows with the number of samples.",
            f"Noise VV'/m: thresholding {_rise(curves[SCALED], THRESHOLDING)}, DSPCA {_rise(curves[SCALED], DSPCA)}. "
            f"As printed, entries of u are one: thresholding {_rise(curves[ONES], THRESHOLDING)}, DSPCA "
            f"{_rise(curves[ONES], DSPCA)}. In theory, the leading eigenvector is correlated with u if m is "
            f"above {limits[ONES]:.0f}."
            + (
                f" With noise VV'/m, the full greedy method is worse than thresholding at "
                f"m = {', '.join(map(str, greedy_loses))}. It starts from the largest variance."
                if greedy_loses
                else ""
            ),
            "differs because in the model as printed the area of thresholding has a limit below one. For large m the "
            "noise converges to sqrt(n) times a Wigner matrix and not to zero. With noise VV'/m the result agrees.",
        ),
        Statement(
            "Thresholding the diagonal finds the support if theta_thres = m / (k² log(n - k)) is above a critical "
            "value, and fails below it.",
            f"For n = {ns} and k = n / 10, half of the runs succeed at theta_thres = "
            + ", ".join(f"{x:.2f}" for x in thres)
            + ". The corresponding values of theta_sdp are "
            + ", ".join(f"{x:.1f}" for x in crossed)
            + ".",
            "agrees" if max(thres) < 1.7 * min(thres) else "differs because the sizes are small.",
        ),
        Statement(
            "The semidefinite relaxation, if tight, finds the support if theta_sdp = m / (k log(n - k)) is above a "
            "critical value, and fails below it. It needs O(1/k) of the samples.",
            "Half of the runs succeed at theta_sdp = "
            + ", ".join(f"{x:.2f}" for x in sdp)
            + f". The solution of the relaxation has rank one in at least {100 * tight:.0f} % of the runs at every m. "
            "Diagonal thresholding needs "
            + ", ".join(f"{a / b:.1f}" for a, b in zip(crossed, sdp, strict=True))
            + " times as many rows. Thresholding the leading eigenvector, as in the ROC curves, needs m = "
            + ", ".join(f"{x:.0f}" for x in pca)
            + ". DSPCA needs m = "
            + ", ".join(f"{t.half(DSPCA):.0f}" for t in transitions)
            + ". With k = n / 10 these numbers are close.",
            "agrees" if max(sdp) < 1.7 * min(sdp) else "differs because the sizes are small.",
        ),
    )


def _rise(curves: Mapping[int, RocCurves], method: str) -> str:
    """Return the mean areas of a method at the smallest and the largest m, in words."""
    first, last = min(curves), max(curves)
    return f"{_mean(curves[first], method):.2f} (m = {first}) to {_mean(curves[last], method):.2f} (m = {last})"


def _facts(
    sizes: Sizes, curves: Mapping[str, Mapping[int, RocCurves]], transitions: Sequence[Transition]
) -> dict[str, object]:
    facts: dict[str, object] = {}
    for model, by_m in curves.items():
        for m, drawn in by_m.items():
            for method in METHODS:
                facts[f"area: {model}; m = {m}; {method}"] = _mean(drawn, method)
    for t in transitions:
        for method in (DIAGONAL, THRESHOLDING, DSPCA):
            facts[f"half: n = {t.n_features}; {method}"] = t.half(method)
        facts[f"n = {t.n_features}: tight"] = float(t.tight.min())
    for model, limit in _limits(sizes).items():
        facts[f"eigenvector threshold: {model}"] = limit
    facts["methods"] = (THRESHOLDING, APPROXIMATE, FULL, POWER, DSPCA)
    return facts


def _area_table(curves: Mapping[str, Mapping[int, RocCurves]]) -> pd.DataFrame:
    rows = []
    for model, by_m in curves.items():
        for m, drawn in by_m.items():
            for method in METHODS:
                areas = _areas(drawn, method)
                error = float(areas.std(ddof=1) / math.sqrt(len(areas)))
                row = {"model": model, "m": m, "method": method, "area": float(areas.mean())}
                rows.append({**row, "standard error": error, "matrices": len(areas)})
    return pd.DataFrame(rows)


def _transition_table(transitions: Sequence[Transition]) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "n": t.n_features,
                "k": t.cardinality,
                "m": t.n_samples,
                "theta_thres": t.theta_thres,
                "theta_sdp": t.theta_sdp,
                **t.success,
                "rank one": t.tight,
            }
        )
        for t in transitions
    ]
    return pd.concat(parts, ignore_index=True)
