"""How many features and components: what is recommended when the truth is known, what on real tables, and its cost.

    python -m benchmarks choosing                     all parts
    python -m benchmarks.choosing features 30         some parts (the names in `PARTS`), of so many sets

`features` and `components` plant components in the rows of 250 features. A set of `features` counts if recovery itself
succeeds: the support that the search finds at the planted number of features is the planted one. `questionnaires`
simulates answers to scales, and `tables` prints what is recommended for real tables.
"""

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine
from studies.data import load_colon, load_marrow4k, load_news100

from laconic import SparsePCA
from laconic.core.monitor import Monitor
from laconic.covariance import covariance_of
from laconic.datasets import load_senate109
from laconic.datasets.synthetic import spiked_rows
from laconic.model.choosing import choice_in_fit
from laconic.model.settings import made_of
from laconic.search.auto import FewStarts
from laconic.search.problem import Problem

SETS = 100
N_FEATURES = 250
PLANTED, ROWS = (10, 25), (100, 250, 1000)


def _signals(k: int) -> tuple[float, ...]:
    return (3.0, k / 2)


def _within_one(numbers: list[int], k: int) -> str:
    if not numbers:
        return "-"
    inside = sum(abs(number - k) <= 1 for number in numbers)
    return f"{100 * inside / len(numbers):.0f} % ({np.median(numbers):g})"


def _recovered(data: np.ndarray, support: np.ndarray) -> bool:
    solution = FewStarts().solve(Problem(covariance_of(data)[0], len(support)))
    return np.array_equal(solution.support, support)


def _in_fit(model: SparsePCA, data: Any) -> Any:
    """Return the choice of a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return choice_in_fit(model, made_of(model, data, None, None, Monitor()), Monitor())


def features(sets: int = SETS) -> list[str]:
    """Return how often the number chosen is within one of the planted number, and the median of the choices."""
    lines = ["| planted | rows | signal | recovered | within one (median) |", "|---|---|---|---|---|"]
    together: list[bool] = []
    for k in PLANTED:
        for m in ROWS:
            for signal in _signals(k):
                chosen: list[int] = []
                for seed in range(sets):
                    made = spiked_rows(m, N_FEATURES, k, signal=signal, rng=seed)
                    if _recovered(made.data, made.support):
                        chosen += _in_fit(SparsePCA(1), made.data).cardinality
                together += [abs(number - k) <= 1 for number in chosen]
                _say(lines, f"| {k} | {m} | {signal:g} | {len(chosen)} of {sets} | {_within_one(chosen, k)} |")
    _say(lines, f"| all | | | {len(together)} | {100 * np.mean(together):.1f} % |")
    return lines


def _several(count: int, m: int, seed: int, shared: int) -> np.ndarray:
    """Draw rows with some planted components of 10 features. Neighbours share some features."""
    rng = np.random.default_rng([seed, count, shared])
    data = rng.standard_normal((m, N_FEATURES))
    places = rng.permutation(N_FEATURES)
    for t in range(count):
        support = places[(10 - shared) * t : (10 - shared) * t + 10]
        loadings = rng.choice([-1.0, 1.0], size=10) / np.sqrt(10)
        data[:, support] += np.outer(rng.standard_normal(m) * np.sqrt(12.0 * 0.8**t), loadings)
    return data


def components(sets: int = SETS) -> list[str]:
    """Return how often the number of components is right, and all sizes are within one of the planted ten."""
    lines = ["| rows | features shared by neighbours | number right | sizes within one |", "|---|---|---|---|"]
    for shared in (0, 2):
        found = [
            (1 + seed % 5, _in_fit(SparsePCA(), _several(1 + seed % 5, 200, seed, shared))) for seed in range(sets)
        ]
        right = sum(one.n_components == count for count, one in found)
        sizes = sum(max(abs(k - 10) for k in one.cardinality) <= 1 for _, one in found)
        _say(lines, f"| 200 | {shared} | {right} of {sets} | {sizes} of {sets} |")
    return lines


def questionnaire(seed: int, *, equal: bool) -> tuple[np.ndarray, np.ndarray]:
    """Draw answers to a questionnaire, and the scale of each item.

    It has 3 to 8 scales of 3 to 8 items, all of one size or not. Loadings are from 0.4 to 0.8. A tenth of the items
    load on another scale, too (0.2 to 0.35). The answers have five or seven points, with cuts of their own for each
    item. 200 to 3000 people answer.
    """
    rng = np.random.default_rng([seed, equal])
    count, people, points = rng.integers(3, 9), int(np.exp(rng.uniform(np.log(200), np.log(3000)))), rng.choice([5, 7])
    sizes = np.full(count, rng.integers(3, 9)) if equal else rng.integers(3, 9, size=count)
    scale = np.repeat(np.arange(count), sizes)
    n = len(scale)
    loadings = np.zeros((n, count))
    loadings[np.arange(n), scale] = rng.uniform(0.4, 0.8, n) * rng.choice([-1, 1], n)
    crossed = np.flatnonzero(rng.random(n) < 0.1)
    other = (scale[crossed] + rng.integers(1, count, len(crossed))) % count
    loadings[crossed, other] = rng.uniform(0.2, 0.35, len(crossed)) * rng.choice([-1, 1], len(crossed))
    own = np.sqrt(1 - (loadings**2).sum(axis=1))
    answers = rng.standard_normal((people, count)) @ loadings.T + own * rng.standard_normal((people, n))
    cuts = np.sort(
        np.linspace(-1.8, 1.8, points - 1) + rng.normal(0, 0.4, (n, 1)) + rng.normal(0, 0.1, (n, points - 1))
    )
    return np.array([np.searchsorted(cut, answer) for cut, answer in zip(cuts, answers.T, strict=True)]).T, scale


def _largest_error(model: SparsePCA, scale: np.ndarray) -> int:
    """Return the largest difference between the size of a component and that of the scale most of its features are of.

    Each scale is taken by one component: by the one that has most of its features.
    """
    shared = np.array([np.bincount(scale[support], minlength=scale.max() + 1) for support in model.supports_])
    sizes, left, errors = np.bincount(scale), set(range(scale.max() + 1)), [0]
    for place in np.argsort(-shared.max(axis=1), kind="stable"):
        if left:
            own = max(left, key=lambda t: shared[place, t])
            left.discard(own)
            errors.append(abs(len(model.supports_[place]) - int(sizes[own])))
    return max(errors)


def questionnaires(sets: int = SETS) -> list[str]:
    """Return how often the number of scales is found, and the number of items of every scale."""
    lines = [
        "| scales | number right | within one | all sizes within two |",
        "|---|---|---|---|",
    ]
    for equal in (True, False):
        counts, errors = [], []
        for seed in range(sets):
            data, scale = questionnaire(seed, equal=equal)
            model = SparsePCA(scale=True, proof=None).fit(data.astype(float))
            counts.append(abs(model.n_components_ - scale.max() - 1))
            errors.append(_largest_error(model, scale))
        cells = [np.equal(counts, 0), np.less_equal(counts, 1), np.less_equal(errors, 2)]
        kind = "of one size" if equal else "of different sizes"
        _say(lines, f"| {kind} | {' | '.join(f'{np.sum(cell)} of {sets}' for cell in cells)} |")
    return lines


def tables(sets: int = 1) -> list[str]:  # noqa: ARG001 - every part takes the number of sets
    """Return what a fit takes for real tables. CSV files that are named on the command line are scaled.

    Their rows with missing values are left out, and so are columns in which more than a fifth of the values is missing.
    """
    cells = load_marrow4k().data
    cells = sp.csr_array(sp.diags_array(1e4 / np.asarray(cells.sum(axis=1)).ravel()) @ cells)
    cells.data = np.log1p(cells.data)
    everything: dict[str, tuple[Any, bool]] = {
        "Senate votes": (load_senate109().frame, False),
        "wines": (load_wine(as_frame=True).data, True),
        "breast cancer": (load_breast_cancer(as_frame=True).data, True),
        "words of postings": (load_news100().data, False),
        "genes": (load_colon().data, True),
        "single cells": (cells, False),
    }
    for file in [Path(argument) for argument in sys.argv[1:] if argument.endswith(".csv")]:
        frame = pd.read_csv(file, low_memory=False).select_dtypes("number")
        frame = frame.loc[:, frame.notna().mean() > 0.8].dropna()
        everything[file.stem] = frame.loc[:, frame.std() > 0], True
    lines = ["| table | rows x columns | recommended | s |", "|---|---|---|---|"]
    for name, (data, scale) in everything.items():
        begin = time.perf_counter()
        found = _in_fit(SparsePCA(scale=scale), data)
        taken = time.perf_counter() - begin
        _say(lines, f"| {name} | {data.shape[0]:,} x {data.shape[1]:,} | {found.cost} {found.reason} | {taken:.1f} |")
    return lines


def cost(sets: int = 1) -> list[str]:  # noqa: ARG001 - every part takes the number of sets
    """Return the time of a choice, and that of the fit with the numbers that it gives."""
    lines = ["| rows x features | components | largest k | choosing, s | fit, s |", "|---|---|---|---|---|"]
    for m, n in ((1000, 25), (1000, 250), (100, 2000), (100, 20_000)):
        data = _several(3, m, 0, 0) if n == N_FEATURES else spiked_rows(m, n, 10, signal=8, rng=0).data
        begin = time.perf_counter()
        chosen = _in_fit(SparsePCA(), data)
        middle = time.perf_counter()
        SparsePCA(cardinality=chosen.cardinality).fit(data)
        times = middle - begin, time.perf_counter() - middle
        k = max(chosen.cardinality)
        _say(lines, f"| {m} x {n} | {chosen.n_components} | {k} | {times[0]:.1f} | {times[1]:.1f} |")
    return lines


def _say(lines: list[str], line: str) -> None:
    lines.append(line)
    print(line, file=sys.stderr, flush=True)


PARTS: dict[str, tuple[str, Callable[..., list[str]]]] = {
    "features": ("The number of features", features),
    "components": ("The number of components", components),
    "questionnaires": ("Scales of questionnaires", questionnaires),
    "tables": ("Real tables", tables),
    "cost": ("Cost", cost),
}


def table(names: list[str] | None = None, sets: int = SETS) -> str:
    """Return the tables as markdown."""
    return "\n\n".join(f"### {PARTS[n][0]}\n\n" + "\n".join(PARTS[n][1](sets)) for n in names or PARTS)


if __name__ == "__main__":
    asked = [argument for argument in sys.argv[1:] if argument in PARTS]
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdecimal()]
    print(table(asked, *numbers))
