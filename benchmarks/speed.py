"""Time, value and memory of every package on every problem. Each pair has its own process."""

import importlib
import math
import sys

from benchmarks.alone import run_alone
from benchmarks.peers import NAMES
from benchmarks.problems import PROBLEMS

# Seconds for one package on one problem, with the tuning of penalties.
TIME_LIMIT = 180.0


def table() -> str:
    """Return the whole comparison as markdown."""
    lines = [
        "| problem | method | CPU seconds | in floors | value, % of best | features | memory beyond input, x input |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, problem in PROBLEMS.items():
        results = {peer: run_alone("benchmarks.run", peer, name, time_limit=TIME_LIMIT) for peer in NAMES}
        floor = results["floor_svds"]["cpu"]
        values = [r["value"] for r in results.values() if "value" in r and not math.isnan(r["value"])]
        for peer, r in results.items():
            title = importlib.import_module(f"benchmarks.peers.{peer}").TITLE
            if "failure" in r:
                lines.append(f"| {name}, k = {problem.cardinality} | {title} | - | - | {r['failure']} | - | - |")
                continue
            share = "-" if math.isnan(r["value"]) else f"{100 * r['value'] / max(values):.3f}"
            lines.append(
                f"| {name}, k = {problem.cardinality} | {title} | {r['cpu']:.4f} | {r['cpu'] / floor:.2f} | {share} | "
                f"{r['features']} | {'-' if math.isnan(r['memory']) else format(r['memory'], '.2f')} |"
            )
        print("\n".join(lines[-len(results) :]), file=sys.stderr, flush=True)
    return "\n".join(lines)
