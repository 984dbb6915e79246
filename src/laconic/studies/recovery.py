"""Recovery of the support in the spiked model: statistics against computation.

The paper's section "Statistical consistency vs. computational complexity": ROC curves of thresholding, the greedy
methods and the semidefinite relaxation in Sigma = uu' + VV'/sqrt(m); the area under them against the number m of
samples; and the two transitions of Amini and Wainwright.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from laconic.core.arrays import Floats
from laconic.datasets.synthetic import spiked_covariance
from laconic.studies.base import Settings, Statement, Study
from laconic.studies.recovery_plots import area_figure, roc_figure, transition_figure
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
    recover,
    transition,
)

UNIT, ONES, SCALED = "as printed, |u| = 1", "as printed, entries of u are 1", "noise VV'/m, |u| = 1"

Curves = Mapping[str, Sequence[Roc]]


@dataclass(frozen=True)
class Sizes:
    """Sizes of everything.

    Attributes
    ----------
    n, k, m
        Of the ROC curves.
    samples
        The values of m for the area under the curve.
    seeds
        Matrices drawn for each m, by model.
    features
        The n of the transitions, with k = n / 10.
    signal
        The spike there.
    repetitions
        Runs for each m there.
    ratio
        Between neighbouring values of m there.
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
    """Run the study.

    Parameters
    ----------
    settings
        How.
    """
    with settings.monitor.watch():
        return _study(settings, QUICK if settings.quick else Sizes())
    raise TimeoutError(f"study 'recovery' was not finished ({settings.monitor.stopped}).")


def signal_of(model: str, m: float, k: int) -> float:
    """Return the factor s with which a model is s uu' + VV'/sqrt(m) for a unit u, up to a factor of the whole.

    Parameters
    ----------
    model
        One of the three.
    m, k
        Samples and cardinality.
    """
    return {UNIT: 1.0, ONES: float(k), SCALED: math.sqrt(m)}[model]


def threshold(n: int, m: float) -> float:
    """Return the s above which the leading eigenvector of s uu' + VV'/sqrt(m) carries a trace of u, for large n and m.

    Parameters
    ----------
    n, m
        The shape of V.
    """
    return math.sqrt(n) * (1 + math.sqrt(n / m))


def _study(settings: Settings, sizes: Sizes) -> Study:
    curves = {
        model: {m: _drawn(settings, sizes, model, m, count) for m in sizes.samples}
        for model, count in zip((UNIT, ONES, SCALED), sizes.seeds, strict=True)
    }
    rng = np.random.default_rng(settings.seed)
    transitions = [
        transition(
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
            "recovery-roc": roc_figure({model: curves[model][sizes.m] for model in (UNIT, ONES)}, sizes.m),
            "recovery-area": area_figure(curves, _limits(sizes)),
            "recovery-transitions": transition_figure(transitions, sizes.repetitions),
        },
        captions={
            "recovery-roc": f"ROC curves, n = {sizes.n}, m = {sizes.m}, k = {sizes.k}, each the mean of several "
            "matrices; left the model as the paper prints it with a unit u, right with entries of u equal to one.",
            "recovery-area": "Area under ROC against the number of samples m: means and standard errors. Dashed: "
            "above this m the leading eigenvector carries a trace of u, by the theory of spiked Wishart matrices.",
            "recovery-transitions": "How often the support is found exactly, against both ratios of Amini and "
            f"Wainwright; rows from N(0, I + {sizes.signal:g} uu'), k = n / 10. In each row of pictures the curves of "
            "all n fall together against one of the two ratios.",
        },
        tables={"recovery-area": _area_table(curves), "recovery-transitions": _transition_table(transitions)},
        statements=_statements(sizes, curves, transitions),
        facts=_facts(sizes, curves, transitions),
    )


def _drawn(settings: Settings, sizes: Sizes, model: str, m: int, count: int) -> Curves:
    drawn: dict[str, list[Roc]] = {method: [] for method in METHODS}
    for repetition in range(count):
        settings.monitor.tick(f"{model}: m = {m}, matrix {repetition + 1} of {count}")
        # The same noise for all models, so that they differ by the signal alone.
        rng = np.random.default_rng([settings.seed, m, repetition])
        spiked = spiked_covariance(sizes.n, m, sizes.k, signal=signal_of(model, m, sizes.k), random_state=rng)
        for method, roc in recover(spiked.covariance, spiked.support).items():
            drawn[method].append(roc)
    return drawn


def _limits(sizes: Sizes) -> dict[str, float]:
    """Return the m above which the leading eigenvector knows of u, for each model; infinite for none."""
    grid = np.geomspace(1, 1e7, 20_001)
    limits = {}
    for model in (UNIT, ONES, SCALED):
        above = [m for m in grid if signal_of(model, m, sizes.k) > threshold(sizes.n, m)]
        limits[model] = float(min(above, default=math.inf))
    return limits


def _areas(curves: Curves, method: str) -> Floats:
    return np.array([roc.area for roc in curves[method]])


def _mean(curves: Curves, method: str) -> float:
    return float(_areas(curves, method).mean())


def _listed(curves: Curves) -> str:
    return ", ".join(f"{method} {_mean(curves, method):.2f}" for method in METHODS)


def _summary(sizes: Sizes, curves: Mapping[str, Mapping[int, Curves]], transitions: Sequence[Transition]) -> str:
    largest = transitions[-1]
    return (
        "Which features carry the spike? In the model as printed, uu' + VV'/sqrt(m) with a unit u, no method does "
        f"better than chance for any m tried (area under ROC at m = {sizes.m}: {_listed(curves[UNIT][sizes.m])}): "
        f"the noise grows with m. With entries of u equal to one they differ: {_listed(curves[ONES][sizes.m])}. "
        f"In rows from a spiked Gaussian model, n = {largest.n_features} and k = {largest.cardinality}, DSPCA finds "
        f"the support half of the time at m = {largest.half(DSPCA):.0f}, diagonal thresholding at "
        f"m = {largest.half(DIAGONAL):.0f}."
    )


def _statements(
    sizes: Sizes, curves: Mapping[str, Mapping[int, Curves]], transitions: Sequence[Transition]
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
            f"With a unit u the areas are {_listed(unit)}: chance. Over all m tried no mean area of a method is "
            f"further than {chance:.2f} from 1/2.",
            f"differs because the noise VV'/sqrt(m) grows as sqrt(m): the leading eigenvector carries a trace of u "
            f"only if |u|² exceeds {hidden:.1f} at this m and {math.sqrt(sizes.n):.1f} at any m. The paper leaves the "
            "length of u open; curves that tell methods apart need a longer u or less noise.",
        ),
        Statement(
            "Methods that explain a similar variance often recover the support markedly differently.",
            f"With entries of u equal to one (|u|² = {sizes.k}), areas at m = {sizes.m}: {_listed(ones)}.",
            "agrees"
            if max(_mean(ones, a) for a in METHODS) - min(_mean(ones, a) for a in METHODS) > 0.1
            else "differs because at this size all methods do about as well.",
        ),
        Statement(
            "The relaxation performs much better than thresholding when few observations are available.",
            f"Entries of one: DSPCA is ahead of thresholding by most at m = {widest[ONES]} "
            f"({margin[ONES][widest[ONES]]:+.2f}), at m = {last} by {margin[ONES][last]:+.2f}. "
            f"Noise VV'/m: by most at m = {widest[SCALED]} ({margin[SCALED][widest[SCALED]]:+.2f}); areas at the ends: "
            f"{_listed(curves[SCALED][min(sizes.samples)])} for m = {min(sizes.samples)}, and "
            f"{_listed(curves[SCALED][last])} for m = {last}.",
            "agrees"
            if min(max(gains.values()) for gains in margin.values()) > 0.03
            else "differs because at this size the two are alike for every m.",
        ),
        Statement(
            "Area under ROC grows with the number of samples.",
            f"Noise VV'/m: thresholding {_rise(curves[SCALED], THRESHOLDING)}, DSPCA {_rise(curves[SCALED], DSPCA)}. "
            f"As printed with entries of one: thresholding {_rise(curves[ONES], THRESHOLDING)}, DSPCA "
            f"{_rise(curves[ONES], DSPCA)}; in theory thresholding begins to see u at m = {limits[ONES]:.0f}. "
            + (
                f"At m = {', '.join(map(str, greedy_loses))} the full greedy method, which starts from the largest "
                "variance, is behind even thresholding."
                if greedy_loses
                else ""
            ),
            "differs because as printed the area of thresholding has a limit below one: with m the noise tends to "
            "sqrt(n) times a Wigner matrix and does not vanish. With noise VV'/m it agrees.",
        ),
        Statement(
            "Thresholding the diagonal finds the support when theta_thres = m / (k² log(n - k)) is above a critical "
            "value, and fails below.",
            f"n = {ns}, k = n / 10: half of the runs succeed at theta_thres = "
            + ", ".join(f"{x:.2f}" for x in thres)
            + ", which in theta_sdp would be "
            + ", ".join(f"{x:.1f}" for x in crossed)
            + ".",
            "agrees" if max(thres) < 1.7 * min(thres) else "differs because the sizes are small.",
        ),
        Statement(
            "The semidefinite relaxation, if tight, finds the support when theta_sdp = m / (k log(n - k)) is above a "
            "critical value, and fails below: it needs O(1/k) of the samples.",
            "Half of the runs succeed at theta_sdp = "
            + ", ".join(f"{x:.2f}" for x in sdp)
            + f"; the relaxation has rank one in at least {100 * tight:.0f} % of the runs at every m. Diagonal "
            "thresholding needs "
            + ", ".join(f"{a / b:.1f}" for a, b in zip(crossed, sdp, strict=True))
            + " times as many rows. Thresholding the leading eigenvector, as in the ROC curves, needs m = "
            + ", ".join(f"{x:.0f}" for x in pca)
            + ", against "
            + ", ".join(f"{t.half(DSPCA):.0f}" for t in transitions)
            + " for DSPCA: with k = n / 10 the two are close.",
            "agrees" if max(sdp) < 1.7 * min(sdp) else "differs because the sizes are small.",
        ),
    )


def _rise(curves: Mapping[int, Curves], method: str) -> str:
    first, last = min(curves), max(curves)
    return f"{_mean(curves[first], method):.2f} (m = {first}) to {_mean(curves[last], method):.2f} (m = {last})"


def _facts(
    sizes: Sizes, curves: Mapping[str, Mapping[int, Curves]], transitions: Sequence[Transition]
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


def _area_table(curves: Mapping[str, Mapping[int, Curves]]) -> pd.DataFrame:
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
