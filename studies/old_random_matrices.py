"""Sparse eigenvalues of random matrices, and bounds on isometry constants.

The study computes the largest sparse eigenvalue against the cardinality for two matrices of the paper's section "Random
matrices": F'F with a Gaussian F, and uu'/|u|^2 + 2 V'V with u_i = 1/i and entries of V uniform in [0, 1]. At the small
size exhaustive search gives the exact value. At the large size it would take too long, and branch and bound is used
instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from laconic.core.arrays import Floats
from laconic.datasets.synthetic import gaussian_gram, noisy_rank_one
from laconic.studies.base import Settings, Statement, Study
from laconic.studies.random_matrices_figures import plot_isometry, plot_large, plot_noise, plot_small
from laconic.studies.sparse_eigenvalue_bounds import (
    APPROXIMATE,
    BOUNDS,
    FULL,
    L0,
    L1,
    PROPOSITION,
    ROWS,
    TREE,
    EigenvalueCurves,
    IsometryBounds,
    Tick,
    bound_eigenvalues,
    bound_isometry,
)

# The paper speaks of a very small gap but gives no number. We accept gaps of up to this many percent.
VERY_SMALL = 5.0
# A bound on an isometry constant counts as exact if a support attains it up to this difference, which the three digits
# on the page do not show.
ATTAINED = 5e-4
GAUSSIAN, NOISY = "F'F, F Gaussian", "uu'/|u|² + 2 V'V"


@dataclass(frozen=True)
class Sizes:
    """Sizes of all parts of the study.

    Attributes
    ----------
    small
        The n of the matrices with exhaustive search.
    large, rows
        The n of the matrices without exhaustive search, and the number of rows of F.
    cardinalities
        The values of k for the large matrices.
    node_limit
        The largest number of nodes of branch and bound for the large matrices, for each k.
    noise
        The factors c of V'V. The paper has c = 2.
    isometry, isometry_shape
        The largest k for the isometry constants, and the shape of F for them.
    """

    small: int = 20
    large: int = 120
    rows: int = 60
    cardinalities: tuple[int, ...] = (2, 4, 7, 10, 15, 20, 30, 40, 60)
    node_limit: int = 12
    noise: tuple[float, ...] = (2.0, 0.5, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.0005)
    isometry: int = 6
    isometry_shape: tuple[int, int] = (120, 150)


QUICK = Sizes(
    small=10,
    large=40,
    rows=20,
    cardinalities=(2, 5, 10),
    node_limit=5,
    noise=(2.0, 0.05, 0.0005),
    isometry=3,
    isometry_shape=(30, 40),
)


def run(settings: Settings) -> Study:
    """Run the study: how close bounds and greedy methods are to the largest sparse eigenvalue.

    Parameters
    ----------
    settings
        Seed, size and monitor. With `quick` all matrices are smaller.
    """
    with settings.monitor.watch():
        return _study(settings, QUICK if settings.quick else Sizes())
    raise TimeoutError(f"study 'random-matrices' was not finished ({settings.monitor.stopped}).")


def _study(settings: Settings, sizes: Sizes) -> Study:
    seed = settings.seed

    def tick(what: str) -> Tick:
        return lambda stage: settings.monitor.tick(f"{what}: {stage}")

    n, every = sizes.small, range(1, sizes.small + 1)
    noisy = noisy_rank_one(n, random_state=seed)
    small = {
        GAUSSIAN: gaussian_gram(n, n, random_state=seed).covariance,
        NOISY: noisy.covariance,
    }
    exact = {name: bound_eigenvalues(S, every, tick(f"{name}, n = {n}"), exhaustive=True) for name, S in small.items()}
    spike = np.outer(noisy.u, noisy.u) / (noisy.u @ noisy.u)
    noise = (noisy.covariance - spike) / 2
    by_noise = {
        c: bound_eigenvalues(spike + c * noise, every, tick(f"noise factor {c:g}")) if c != 2 else exact[NOISY]
        for c in sizes.noise
    }
    n = sizes.large
    matrices = {
        GAUSSIAN: gaussian_gram(sizes.rows, n, random_state=seed).covariance,
        NOISY: noisy_rank_one(n, random_state=seed).covariance,
    }
    large = {
        name: bound_eigenvalues(
            S, sizes.cardinalities, tick(f"{name}, n = {n}"), node_limit=sizes.node_limit, tolerance=1e-4
        )
        for name, S in matrices.items()
    }
    gram = gaussian_gram(*sizes.isometry_shape, normalized=True, random_state=seed).covariance
    bounds = bound_isometry(
        gram, range(1, sizes.isometry + 1), tick("isometry"), node_limit=sizes.node_limit, tolerance=1e-4
    )
    noise_eigenvalue = float(np.linalg.eigvalsh(2 * noise)[-1])
    facts = _facts(exact, by_noise, large, bounds, noise_eigenvalue)
    figures = {
        "random-matrices-small": plot_small({f"{name}, n = {sizes.small}": curves for name, curves in exact.items()}),
        "random-matrices-noise": plot_noise(by_noise),
        "random-matrices-large": plot_large(_titled(large, sizes)),
        "random-matrices-isometry": plot_isometry(bounds),
    }
    return Study(
        name="random-matrices",
        title="Sparse eigenvalues of random matrices",
        summary=_summary(sizes, exact, large),
        seed=seed,
        figures=figures,
        captions=_captions(sizes),
        tables={
            "random-matrices-small": _table(exact),
            "random-matrices-noise": _noise_table(by_noise),
            "random-matrices-large": _table(large),
            "random-matrices-isometry": _isometry_table(bounds),
        },
        statements=_statements(sizes, exact, by_noise, large, bounds, noise_eigenvalue),
        facts=facts,
    )


def _facts(
    exact: Mapping[str, EigenvalueCurves],
    by_noise: Mapping[float, EigenvalueCurves],
    large: Mapping[str, EigenvalueCurves],
    bounds: IsometryBounds,
    noise: float,
) -> dict[str, object]:
    facts: dict[str, object] = {"noise eigenvalue": noise}
    for size, curves in (("small", exact), ("large", large)):
        for kind, name in (("gaussian", GAUSSIAN), ("noisy", NOISY)):
            for bound in (*BOUNDS, TREE):
                facts[f"{size} {kind}: worst {bound}"] = curves[name].worst(bound)
                facts[f"{size} {kind}: least {bound}"] = float(curves[name].above(bound).min())
                facts[f"{size} {kind}: proved by {bound}"] = curves[name].proved(bound)
            for method in (APPROXIMATE, FULL):
                facts[f"{size} {kind}: worst {method}"] = float(curves[name].above(method).min())
    for name in (GAUSSIAN, NOISY):
        truth = exact[name].exhaustive
        assert truth is not None
        facts[f"{name}: branch and bound against exhaustive"] = float(np.abs(exact[name].best / truth - 1).max())
    for bound in BOUNDS:
        facts[f"proved at the least noise by {bound}"] = by_noise[min(by_noise)].proved(bound)
    for bound in (*BOUNDS, TREE):
        facts[f"isometry certified by {bound}"] = bounds.certified(bound)
        facts[f"independent columns certified by {bound}"] = bounds.independent(bound)
        facts[f"isometry: {bound} is above the constant attained"] = bool(
            (bounds.constant(bound) >= bounds.attained).all()
        )
    return facts


def _summary(sizes: Sizes, exact: Mapping[str, EigenvalueCurves], large: Mapping[str, EigenvalueCurves]) -> str:
    return (
        f"How large can an eigenvalue of a k × k block be? At n = {sizes.small} exhaustive search gives the exact "
        "value. Greedy methods give values below it, and relaxations give bounds above it. The worst bound over all k "
        "is, in percent above the exact value (Gaussian matrix and noisy rank-one matrix): "
        f"row levels {_both(exact, ROWS)}, l0 relaxation {_both(exact, L0)}, DSPCA dual {_both(exact, L1)}, "
        f"Proposition 2 {_both(exact, PROPOSITION)}. Branch and bound proves the exact value for every k. "
        f"At n = {sizes.large} we compare with the best value known. The worst bounds are {_both(large, ROWS)} above "
        f"it for row levels, {_both(large, L1)} for the DSPCA dual and {_both(large, L0)} for the l0 relaxation."
    )


def _both(curves: Mapping[str, EigenvalueCurves], name: str) -> str:
    return f"{_percent(curves[GAUSSIAN].worst(name))} and {_percent(curves[NOISY].worst(name))}"


def _statements(
    sizes: Sizes,
    exact: Mapping[str, EigenvalueCurves],
    by_noise: Mapping[float, EigenvalueCurves],
    large: Mapping[str, EigenvalueCurves],
    bounds: IsometryBounds,
    noise: float,
) -> tuple[Statement, ...]:
    n, noisy, gaussian = sizes.small, exact[NOISY], exact[GAUSSIAN]
    proofs = {b: noisy.proved(b) for b in BOUNDS}
    held = [c for c, e in by_noise.items() if min(e.proved(PROPOSITION), e.proved(L0)) == n]
    quiet = (
        f"With {max(held):g} V'V instead of 2 V'V, Proposition 2 and the l0 relaxation prove every k"
        if held
        else "At no noise level that we tried does Proposition 2 prove every k"
    )
    mean = {b: (float(gaussian.above(b).mean()), float(noisy.above(b).mean())) for b in BOUNDS}
    harder = [b for b in BOUNDS if mean[b][0] > mean[b][1]]
    relaxed = max(e.worst(b) for e in exact.values() for b in (L0, L1))
    greedy_bound = min(e.worst(PROPOSITION) for e in exact.values())
    worst = {b: large[GAUSSIAN].worst(b) for b in (*BOUNDS, TREE)}
    is_cheap_better = worst[ROWS] < min(worst[L0], worst[L1]) and large[GAUSSIAN].proved(TREE) > 0
    return (
        Statement(
            "Almost all algorithms are provably optimal in the noisy rank-one case.",
            f"At n = {n} the values of the approximate and the full greedy method are at most "
            f"{_percent(-noisy.above(APPROXIMATE).min())} and {_percent(-noisy.above(FULL).min())} below the exact "
            f"value. Number of cardinalities, of {n}, for which a bound proves the exact value (to 0.01 %): "
            + ", ".join(f"{b} {count}" for b, count in proofs.items())
            + f", branch and bound {noisy.proved(TREE)}. At its best noise level the DSPCA dual is "
            f"{_percent(min(e.worst(L1) for e in by_noise.values()))} too high at the worst k.",
            "agrees"
            if min(proofs.values()) > 0.8 * n
            else "differs because in the matrix as printed the entries of V are uniform in [0, 1], not centred. The "
            f"largest eigenvalue of 2 V'V is {noise:.0f}, and that of the spike uu'/|u|² is 1. The matrix is a noisy "
            f"11' and not a noisy uu'. {quiet}.",
        ),
        Statement(
            "Gaussian random matrices are harder.",
            "Mean distance of each bound from the exact value over all k, Gaussian against noisy rank one: "
            + ", ".join(f"{b} {_percent(g)} against {_percent(r)}" for b, (g, r) in mean.items())
            + f". At n = {sizes.large} row levels are at most {_both(large, ROWS)} too high. The full greedy method is "
            f"at most {_percent(-large[GAUSSIAN].above(FULL).min())} and {_percent(-large[NOISY].above(FULL).min())} "
            "too low.",
            "agrees"
            if len(harder) == len(BOUNDS)
            else "differs because for "
            + " and ".join(b for b in BOUNDS if b not in harder)
            + " the matrix as printed, a noisy 11', is the harder one at this size. The other bounds agree with the "
            "paper.",
        ),
        Statement(
            "The duality gap of the semidefinite relaxations is very small in both cases. Bounds from greedy solutions "
            "are not as good.",
            f"Worst bound over all k, in percent above the exact value: l0 relaxation {_both(exact, L0)}, DSPCA dual "
            f"{_both(exact, L1)}, Proposition 2 {_both(exact, PROPOSITION)}.",
            "agrees"
            if relaxed < min(greedy_bound, VERY_SMALL)
            else f"differs because a relaxation is up to {_percent(relaxed)} too high, which is not very small. The "
            "order agrees with the paper."
            if relaxed < greedy_bound
            else "differs because for this seed a relaxation is worse than the bound of a greedy solution at some k.",
        ),
        Statement(
            "Only numerically expensive relaxations produce good bounds on random matrices.",
            f"Worst bound on F'F over all k at n = {sizes.large}, in percent above the best value known: "
            + ", ".join(f"{b} {_percent(value)}" for b, value in worst.items())
            + f". Branch and bound with {sizes.node_limit} nodes proves {large[GAUSSIAN].proved(TREE)} of "
            f"{len(sizes.cardinalities)} cardinalities. The largest of them is {_largest_proved(large[GAUSSIAN])}.",
            "better: row levels give smaller bounds than both relaxations of the paper, and a few nodes of branch and "
            "bound prove the small cardinalities."
            if is_cheap_better
            else "agrees",
        ),
        Statement(
            "A test of the restricted isometry property bounds the largest and the smallest sparse eigenvalue of a "
            "Gram matrix.",
            f"F is {_shape(sizes)} with entries N(0, 1/{sizes.isometry_shape[0]}). delta_k < 1 is proved up to k = "
            + ", ".join(f"{bounds.certified(b)} ({b})" for b in (*BOUNDS, TREE))
            + f". We tried k up to {sizes.isometry}. Any k columns are linearly independent: this is proved up to k = "
            + ", ".join(f"{bounds.independent(b)} ({b})" for b in (*BOUNDS, TREE))
            + ". For k = 2 the bounds on delta_k are "
            + ", ".join(f"{bounds.constant(b)[1]:.3f} ({b})" for b in (*BOUNDS, TREE))
            + f". Some support attains {bounds.attained[1]:.3f}.",
            _isometry_verdict(bounds),
        ),
    )


def _isometry_verdict(bounds: IsometryBounds) -> str:
    tree, relaxed = bounds.certified(TREE), bounds.certified(L0)
    if tree <= relaxed:
        return "agrees"
    is_exact = (bounds.constant(TREE) <= bounds.attained + ATTAINED)[bounds.cardinalities <= tree].all()
    return (
        f"better: branch and bound proves delta_k < 1 up to k = {tree}"
        + (", and its bound is exact there" if is_exact else "")
        + f". The l0 relaxation proves it only up to k = {relaxed}."
    )


def _shape(sizes: Sizes) -> str:
    return "{} × {}".format(*sizes.isometry_shape)


def _percent(value: float) -> str:
    return f"{value:.0f} %" if value >= 100 else f"{value:.2g} %" if value >= 0.005 else "0 %"


def _largest_proved(curves: EigenvalueCurves) -> int:
    proved = curves.cardinalities[curves.above(TREE) <= 0.01]
    return int(proved.max()) if len(proved) else 0


def _titled(large: Mapping[str, EigenvalueCurves], sizes: Sizes) -> dict[str, EigenvalueCurves]:
    return {
        f"{GAUSSIAN} {sizes.rows} × {sizes.large}": large[GAUSSIAN],
        f"{NOISY}, n = {sizes.large}": large[NOISY],
    }


def _captions(sizes: Sizes) -> dict[str, str]:
    return {
        "random-matrices-small": f"Top: largest sparse eigenvalue against cardinality at n = {sizes.small}. Bottom: "
        "how far each bound is above the exact value, and each greedy value below it.",
        "random-matrices-noise": f"uu'/|u|² + c V'V at n = {sizes.small}: the worst bound over all cardinalities "
        "against the noise factor c. The paper prints c = 2.",
        "random-matrices-large": f"Bounds and greedy values at n = {sizes.large}, relative to the best value known. "
        f"Branch and bound has {sizes.node_limit} nodes for each cardinality.",
        "random-matrices-isometry": f"F is Gaussian, {_shape(sizes)}, with columns of expected squared length one: "
        "proved bounds on the sparse eigenvalues of F'F and on the isometry constant. The grey range is attained by "
        "supports that we found. The bounds of Proposition 2 and of the l0 relaxation are soon outside the plotted "
        "range.",
    }


def _table(curves: Mapping[str, EigenvalueCurves]) -> pd.DataFrame:
    parts = []
    for name, c in curves.items():
        columns: dict[str, Floats] = {"cardinality": c.cardinalities.astype(float), "best known": c.best}
        if c.exhaustive is not None:
            columns["exhaustive"] = c.exhaustive
        part = pd.DataFrame({**columns, **c.found, **c.upper})
        part.insert(0, "matrix", name)
        parts.append(part.astype({"cardinality": int}))
    return pd.concat(parts, ignore_index=True)


def _noise_table(by_noise: Mapping[float, EigenvalueCurves]) -> pd.DataFrame:
    rows = [
        {"noise factor": c, "bound": b, "worst gap (%)": e.worst(b), "cardinalities proved": e.proved(b)}
        for c, e in by_noise.items()
        for b in BOUNDS
    ]
    return pd.DataFrame(rows)


def _isometry_table(bounds: IsometryBounds) -> pd.DataFrame:
    columns = {"cardinality": bounds.cardinalities, "delta attained": bounds.attained}
    for b in (*BOUNDS, TREE):
        columns |= {
            f"largest: {b}": bounds.above[b],
            f"smallest: {b}": bounds.below[b],
            f"delta: {b}": bounds.constant(b),
        }
    return pd.DataFrame(columns)
