"""How many features and components: what each rule chooses when the truth is known, and what it costs.

    python -m benchmarks choosing                     all tables
    python -m benchmarks.choosing features 30         one table (features, components, rows or cost), of so many sets

The rows are those of `laconic.datasets.synthetic.spiked_rows` with 250 features. A set counts if recovery itself
succeeds: the support that the search finds at the planted number of features is the planted one.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from laconic.model.choosing.choice import CRITERIA
from scipy.stats import ttest_ind

from laconic import cardinality_path, choose
from laconic.covariance import covariance_of
from laconic.datasets.synthetic import spiked_rows
from laconic.search.auto import FewStarts
from laconic.search.problem import Problem

SETS = 100
N_FEATURES, LARGEST = 250, 40
PLANTED, ROWS = (10, 25), (100, 250, 1000)
# Rules that look at rows: sets of each kind, folds, repetitions, and the level of the test between two numbers.
ROW_SETS, FOLDS, REPEATS, LEVEL = 20, 5, 5, 0.01


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


def features(sets: int = SETS) -> list[str]:
    """Return how often each criterion is within one of the planted number, and the median of its choices."""
    names = list(CRITERIA)
    lines = [
        f"| planted | rows | signal | recovered | {' | '.join(names)} |",
        "|---|---|---|---|" + "---|" * len(names),
    ]
    together: dict[str, list[bool]] = {name: [] for name in names}
    for k in PLANTED:
        for m in ROWS:
            for signal in _signals(k):
                chosen: dict[str, list[int]] = {name: [] for name in names}
                for seed in range(sets):
                    made = spiked_rows(m, N_FEATURES, k, signal=signal, random_state=seed)
                    if not _recovered(made.data, made.support):
                        continue
                    one = choose(made.data, LARGEST).components[0]
                    for name in names:
                        chosen[name].append(one.chosen[name])
                        together[name].append(abs(one.chosen[name] - k) <= 1)
                cells = " | ".join(_within_one(chosen[name], k) for name in names)
                _say(lines, f"| {k} | {m} | {signal:g} | {len(chosen['cv'])} of {sets} | {cells} |")
    cells = " | ".join(f"{100 * np.mean(together[name]):.1f} %" for name in names)
    _say(lines, f"| all | | | {len(together['cv'])} | {cells} |")
    return lines


def _shares_of_new_rows(data: np.ndarray) -> np.ndarray:
    """Return for each number of features the share of variance of held-out rows: what GridSearchCV looks at."""
    order = np.random.default_rng(0).permutation(len(data))
    shares = np.zeros(LARGEST)
    for test in np.array_split(order, FOLDS):
        train = np.setdiff1d(order, test)
        new = data[test] - data[train].mean(axis=0)
        path = FewStarts().path(Problem(covariance_of(data[train])[0], LARGEST))
        shares += [float(((new[:, s.support] @ s.loadings) ** 2).sum() / (new**2).sum()) for s in path]
    return shares / FOLDS


def _by_correlation(data: np.ndarray) -> int:
    """Choose as mixOmics does (tune.spca): scores of held-out rows should correlate with those of all rows.

    The number of features grows as long as the correlation, over repetitions, is significantly higher.
    """
    whole = FewStarts().path(Problem(covariance_of(data)[0], LARGEST))
    centred = data - data.mean(axis=0)
    full = np.array([centred[:, s.support] @ s.loadings for s in whole])
    found = np.zeros((LARGEST, REPEATS))
    for repeat in range(REPEATS):
        order = np.random.default_rng(repeat).permutation(len(data))
        for test in np.array_split(order, FOLDS):
            train = np.setdiff1d(order, test)
            path = FewStarts().path(Problem(covariance_of(data[train])[0], LARGEST))
            for j, s in enumerate(path):
                scores = data[test][:, s.support] @ s.loadings
                found[j, repeat] += abs(np.corrcoef(scores, full[j, test])[0, 1]) / FOLDS
    best = 0
    for j in range(1, LARGEST):
        if ttest_ind(found[j], found[best], alternative="greater").pvalue < LEVEL:
            best = j
    return best + 1


def by_rows(sets: int = ROW_SETS) -> list[str]:
    """Return what rules that hold out rows choose."""
    lines = [
        "| planted | rows | signal | GridSearchCV by rows, of 40 | as tune.spca of mixOmics | cv |",
        "|---|---|---|---|---|---|",
    ]
    for k in PLANTED:
        for m in (100, 500):
            signal = k / 2
            grid, correlated, entries = [], [], []
            for seed in range(min(sets, ROW_SETS)):
                made = spiked_rows(m, N_FEATURES, k, signal=signal, random_state=seed)
                if _recovered(made.data, made.support):
                    grid.append(int(_shares_of_new_rows(made.data).argmax()) + 1)
                    correlated.append(_by_correlation(made.data))
                    entries.append(choose(made.data, LARGEST).cardinality[0])
            cells = " | ".join(_within_one(numbers, k) for numbers in (grid, correlated, entries))
            _say(lines, f"| {k} | {m} | {signal:g} | {cells} |")
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
    """Return how often the number of components is right."""
    lines = [
        "| rows | features shared by neighbours | right | too few | too many |",
        "|---|---|---|---|---|",
    ]
    m = 200
    for shared in (0, 2):
        off = []
        for seed in range(sets):
            count = 1 + seed % 5
            found = choose(_several(count, m, seed, shared), 20, n_components="parallel")
            off.append(found.n_components - count)
        few, right, many = (int(np.sum(np.sign(off) == sign)) for sign in (-1, 0, 1))
        _say(lines, f"| {m} | {shared} | {right} of {sets} | {few} | {many} |")
    return lines


def cost(sets: int = 1) -> list[str]:  # noqa: ARG001 - every table takes the number of sets
    """Return the time of `choose` beside that of one path."""
    lines = ["| rows x features | largest k | one path, s | choose, s | ratio |", "|---|---|---|---|---|"]
    for m, n, last in ((100, 250, 50), (1000, 250, 50), (500, 100, 100), (100, 2000, 30)):
        data = spiked_rows(m, n, 10, signal=5, random_state=0).data
        choose(data[:, :20], 5)
        begin = time.perf_counter()
        choose(data, last)
        middle = time.perf_counter()
        cardinality_path(data, last, given="rows")
        path, chosen = time.perf_counter() - middle, middle - begin
        _say(lines, f"| {m} x {n} | {last} | {path:.1f} | {chosen:.2f} | {chosen / path:.2f} |")
    return lines


def _say(lines: list[str], line: str) -> None:
    lines.append(line)
    print(line, file=sys.stderr, flush=True)


PARTS: dict[str, tuple[str, Callable[..., list[str]]]] = {
    "features": ("The number of features", features),
    "rows": ("Rules that hold out rows", by_rows),
    "components": ("The number of components", components),
    "cost": ("Cost", cost),
}


def table(names: list[str] | None = None, sets: int = SETS) -> str:
    """Return the tables as markdown."""
    return "\n\n".join(f"### {PARTS[n][0]}\n\n" + "\n".join(PARTS[n][1](sets)) for n in names or PARTS)


if __name__ == "__main__":
    asked = [argument for argument in sys.argv[1:] if argument in PARTS]
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdecimal()]
    print(table(asked, *numbers))
