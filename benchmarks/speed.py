"""Time, value and memory of every peer on every problem, each pair in a process of its own."""

import importlib
import json
import math
import subprocess
import sys
from typing import Any

from benchmarks.peers import NAMES
from benchmarks.problems import PROBLEMS

TIME_LIMIT = 180.0


def measure(peer: str, problem: str) -> dict[str, Any]:
    """Run a pair; say why if it gives no result."""
    command = [sys.executable, "-m", "benchmarks.run", peer, problem]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"failure": f"no answer in {TIME_LIMIT:.0f} s"}
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return {"failure": last[0].split(":")[0]}
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def table() -> str:
    """Return the whole comparison as markdown."""
    lines = [
        "| problem | method | CPU seconds | in floors | value, % of best | features | memory beyond input, x input |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, problem in PROBLEMS.items():
        results = {peer: measure(peer, name) for peer in NAMES}
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
