"""A measurement in a process of its own."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def run_alone(module: str, *arguments: object, time_limit: float) -> dict[str, Any]:
    """Run `python -m MODULE ARGUMENTS` and return the JSON of its last line, or the reason under "failure"."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=time_limit, check=False)
    except subprocess.TimeoutExpired:
        return {"failure": f"no answer in {time_limit:.0f} s"}
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        if "benchmarks.data" in last[0]:  # A data set is missing, and the message names the command that makes it.
            raise SystemExit(last[0].partition(": ")[2])
        return {"failure": last[0].split(":")[0]}
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the wall seconds of some work, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def peak_megabytes() -> float:
    """Return the peak memory of this process, with everything that it has loaded.

    On Linux it is read from a file of the kernel, because `ru_maxrss` there begins with the size of the parent process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def percent(gap: float) -> str:
    """Return a gap in percent; rounding errors are "0 %"."""
    if gap < 1e-9:
        return "0 %"
    return f"{100 * gap:.0f} %" if gap >= 1 else f"{100 * gap:.2g} %"


def add_line(lines: list[str], line: str) -> None:
    """Add a line to a table and print it at once, because the other lines may take long."""
    lines.append(line)
    print(line, file=sys.stderr, flush=True)
