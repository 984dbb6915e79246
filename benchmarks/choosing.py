"""How many features and components: what each rule chooses when the truth is known, and what it costs.

    python -m benchmarks choosing                     all tables
    python -m benchmarks.choosing features 30         one table (features, components or cost), of so many sets

The rows are those of `laconic.datasets.synthetic.spiked_rows` with 250 features. A set counts if recovery itself
succeeds: the support that the search finds at the planted number of features is the planted one.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from laconic import SparsePCA, choose, path
from laconic.covariance import covariance_of
from laconic.datasets.synthetic import spiked_rows
from laconic.search.auto import FewStarts
from laconic.search.problem import Problem

SETS = 100
N_FEATURES, LARGEST = 250, 40
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
                        chosen += choose(SparsePCA(), made.data, max_cardinality=LARGEST).cardinality
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
            found = choose(SparsePCA("parallel"), _several(count, m, seed, shared), max_cardinality=20)
            off.append(found.n_components - count)
        few, right, many = (int(np.sum(np.sign(off) == sign)) for sign in (-1, 0, 1))
        _say(lines, f"| {m} | {shared} | {right} of {sets} | {few} | {many} |")
    return lines


def cost(sets: int = 1) -> list[str]:  # noqa: ARG001 - every table takes the number of sets
    """Return the time of `choose` beside that of one path."""
    lines = ["| rows x features | largest k | one path, s | choose, s | ratio |", "|---|---|---|---|---|"]
    for m, n, last in ((100, 250, 50), (1000, 250, 50), (500, 100, 100), (100, 2000, 30)):
        data = spiked_rows(m, n, 10, signal=5, rng=0).data
        choose(SparsePCA(), data[:, :20], max_cardinality=5)
        begin = time.perf_counter()
        choose(SparsePCA(), data, max_cardinality=last)
        middle = time.perf_counter()
        path(SparsePCA(), data, sizes=last)
        curve, chosen = time.perf_counter() - middle, middle - begin
        _say(lines, f"| {m} x {n} | {last} | {curve:.1f} | {chosen:.2f} | {chosen / curve:.2f} |")
    return lines


def _say(lines: list[str], line: str) -> None:
    lines.append(line)
    print(line, file=sys.stderr, flush=True)


PARTS: dict[str, tuple[str, Callable[..., list[str]]]] = {
    "features": ("The number of features", features),
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
