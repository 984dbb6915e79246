"""How time and memory grow with rows, columns, entries and components, for made counts in memory.

python -m benchmarks large                        this and the other tables of large data
python -m benchmarks.large growth                 this table and its picture
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alone import add_line, peak_megabytes, run_alone, seconds_of
from benchmarks.large_files import folder, load_csr, save_csr
from benchmarks.made_counts import made_counts
from laconic import SparsePCA

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "growth.png"
# Seconds for one row. Up to three fits are timed, unless these seconds are over; the shortest time counts.
TIME_LIMIT, REPEATS, REPEAT_SECONDS = 600.0, 3, 10.0
# What grows, and for each size: rows, columns, entries that are asked for, components.
SERIES: dict[str, list[tuple[int, int, int, int]]] = {
    "rows, 90 entries each": [(m, 20_000, 100 * m, 3) for m in (50_000, 100_000, 200_000, 400_000)],
    "columns": [(100_000, n, 10_000_000, 3) for n in (10_000, 20_000, 40_000, 80_000)],
    "entries": [(100_000, 20_000, e, 3) for e in (5_000_000, 10_000_000, 20_000_000, 40_000_000)],
    "components": [(100_000, 20_000, 10_000_000, c) for c in (1, 2, 4, 8)],
}


def exponent(sizes: Sequence[float], results: Sequence[float]) -> float:
    """Return a of the line log(result) = a log(size) + b, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(results), 1)[0])


def fit(path: str, n_components: str) -> dict[str, Any]:
    """Fit some rows in memory several times."""
    X = load_csr(path)
    model = SparsePCA(int(n_components), cardinality=5)
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < REPEAT_SECONDS:
        times.append(seconds_of(lambda: model.fit(X))[0])
    return {"seconds": min(times), "peak": peak_megabytes(), "entries": X.nnz}


def table() -> list[str]:
    """Return the table, and draw the picture."""
    lines = ["| what grows | sizes | seconds | exponent | peak, MB | exponent |", "|---|---|---|---|---|---|"]
    drawn: dict[str, tuple[list[int], list[float], list[float]]] = {}
    for place, (name, series) in enumerate(SERIES.items()):
        sizes, seconds, peaks = [], [], []
        for *shape, components in series:
            path = folder() / "growth.npz"
            save_csr(path, made_counts(*shape))
            r = run_alone("benchmarks.growth", path, components, time_limit=TIME_LIMIT)
            path.unlink()
            sizes.append(r["entries"] if name == "entries" else (*shape, components)[place])
            seconds.append(r["seconds"])
            peaks.append(r["peak"])
        drawn[name] = sizes, seconds, peaks
        add_line(
            lines,
            f"| {name} | {', '.join(f'{size:,}' for size in sizes)} | {', '.join(f'{s:.2f}' for s in seconds)} | "
            f"{exponent(sizes, seconds):.2f} | {', '.join(f'{p:.0f}' for p in peaks)} | {exponent(sizes, peaks):.2f} |",
        )
    _draw(drawn)
    return lines


def _draw(drawn: dict[str, tuple[list[int], list[float], list[float]]]) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter, NullLocator

    figure = Figure(figsize=(8.0, 5.6), layout="constrained")
    panels = figure.subplots(2, 2, sharey=True).ravel()
    for ax, (name, (sizes, seconds, peaks)) in zip(panels, drawn.items(), strict=True):
        gigabytes = [peak / 1024 for peak in peaks]
        for values, unit, marker, colour in ((seconds, "seconds", "o", "#004488"), (gigabytes, "GB", "s", "#BB5566")):
            label = f"{unit}, exponent {exponent(sizes, values):.2f}"
            ax.plot(sizes, values, marker=marker, color=colour, label=label)
        ax.set(xscale="log", yscale="log", xlabel=name)
        ax.set_xticks(sizes, [_short(size) for size in sizes])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.legend(frameon=False, fontsize=9)
        ax.grid(alpha=0.3)
    ticks = (0.2, 0.5, 1, 2, 5, 10)
    panels[0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    figure.supylabel("time of a fit, peak memory")
    figure.savefig(PICTURE, dpi=150)


def _short(size: int) -> str:
    """Return a size for an axis, such as 20k."""
    return f"{size / 1e6:.0f} M" if size >= 1e6 else f"{size // 1000} k" if size >= 1000 else str(size)


if __name__ == "__main__":
    print(json.dumps(fit(*sys.argv[1:])))
