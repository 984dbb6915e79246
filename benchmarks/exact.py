"""The exact solver: nodes and seconds to the proof, compared with exhaustive search and SCIP.

    python -m benchmarks exact                  both tables
    python -m benchmarks.exact lung wdbc        the first table, for some matrices

Each row is measured in its own process, with one BLAS thread. CPU seconds are summed over the
solver's threads, one for each core. Wall seconds depend on the other programs that run on the machine.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from studies.data import load_benchmark, load_colon, load_news100, load_stocks
from threadpoolctl import threadpool_limits

from benchmarks.alone import add_line, run_alone
from benchmarks.bounds import warm_up
from laconic import SparsePCA, path
from laconic.covariance import Covariance, DenseCovariance, covariance_of
from laconic.datasets import load_senate109
from laconic.methods import Exact, Exhaustive
from laconic.search.problem import Problem

# Seconds for one case of laconic and for one problem of SCIP.
TIME_LIMIT, PEER_LIMIT = 600.0, 120.0
# Additional seconds to read the data, which are not measured.
START = 300.0
# Repeat a short run until this much time has passed, and report the shortest time.
REPEAT_SECONDS = 1.0
GAP = Exact().gap
# A component with at most this gap is optimal.
OPTIMAL = 1e-6


@dataclass(frozen=True)
class Case:
    """One row of the first table.

    Attributes
    ----------
    matrix
        The name of the matrix.
    cardinalities
        The cardinalities to solve. The row has the sums over them.
    goal
        Our goal for the time, in seconds.
    path
        Whether to solve the cardinalities as a path, each started from the one before.
    """

    matrix: str
    cardinalities: tuple[int, ...]
    goal: float
    path: bool = False

    @property
    def title(self) -> str:
        """The cardinalities as text: the cell of the table."""
        if len(self.cardinalities) == 1:
            return str(self.cardinalities[0])
        return f"{'path, ' if self.path else ''}{self.cardinalities[0]}..{self.cardinalities[-1]}"


def each(matrix: str, cardinalities: Iterable[int], goal: float) -> list[Case]:
    """Return a case for each cardinality."""
    return [Case(matrix, (k,), goal) for k in cardinalities]


CASES = [
    Case("pitprops", tuple(range(1, 14)), 2),
    Case("wine", tuple(range(1, 14)), 2),
    Case("wdbc", tuple(range(1, 31)), 2),
    *each("ionosphere", (5, 10, 15, 20), 2),
    *each("geography", (5, 10), 2),
    *each("miniBoone", (5, 10), 2),
    *each("lung", (5, 10, 15, 20), 2),
    *each("communities", (5, 10, 15), 2),
    *each("communities", (20, 30), 10),
    *each("communities", (50,), 60),
    *each("Eisen1", (5, 10, 15, 20, 30, 50), 2),
    *each("lymphoma500", (5, 10), 60),
    *each("lymphoma500", (20, 50), 600),
    *each("colon, covariance", (5, 10), 600),
    *each("colon, correlation", (5, 10), 600),
    *each("stocks", (10, 32), 600),
    Case("Senate", tuple(range(1, 21)), 10, path=True),
    Case("20news_w100", tuple(range(1, 31)), 60, path=True),
]
# Problems small enough for SCIP or for exhaustive search.
PEER_CASES = [
    ("pitprops", 5),
    ("pitprops", 7),
    ("wine", 5),
    ("wdbc", 5),
    ("wdbc", 10),
    ("ionosphere", 5),
    ("miniBoone", 5),
    ("lung", 5),
    ("Eisen1", 5),
]
# Largest number of supports for exhaustive search. It takes a minute or two.
FEASIBLE = 5_000_000

ROWS: dict[str, Callable[[], Covariance]] = {
    "colon, covariance": lambda: covariance_of(load_colon().data)[0],
    "colon, correlation": lambda: covariance_of(load_colon().data, scale=True)[0],
    "stocks": lambda: covariance_of(load_stocks().returns.to_numpy())[0],
    "Senate": lambda: covariance_of(load_senate109().data)[0],
    "20news_w100": lambda: covariance_of(load_news100().data)[0],
}


def load(matrix: str) -> Covariance:
    """Return the covariance of a matrix by its name."""
    return ROWS[matrix]() if matrix in ROWS else DenseCovariance(load_benchmark(matrix).covariance)


class Proved(NamedTuple):
    """How a proof ended: in words, and the relative gap that is left."""

    note: str
    gap: float


def solve_case(covariance: Covariance, case: Case) -> list[Proved]:
    """Search and prove the components of a case."""
    if case.path:
        model = SparsePCA(proof="exact", time_limit=TIME_LIMIT)
        solutions = path(model, covariance=covariance, sizes=case.cardinalities[-1]).solutions
        return [Proved(solution.reason, solution.gap) for solution in solutions]
    return [solve(covariance, k) for k in case.cardinalities]


def solve(covariance: Covariance, k: int) -> Proved:
    """Search a component of k features, and prove it."""
    model = SparsePCA(cardinality=k, proof="exact", time_limit=TIME_LIMIT).fit_covariance(covariance)
    return Proved(model.summary().loc[1, "note"], float(model.gap_[0]))


def run_case(matrix: str, title: str) -> dict[str, Any]:
    """Solve a case; return nodes, relaxations, seconds and the largest gap."""
    case = next(c for c in CASES if (c.matrix, c.title) == (matrix, title))
    covariance = load(matrix)
    warm_up()
    solutions, cpu, wall = _timed(lambda: solve_case(covariance, case))
    trees = [match for s in solutions if (match := re.search(r"(\d+) nodes?, (\d+) relaxations", s.note))]
    return {
        "n": covariance.n_features,
        "nodes": sum(int(m[1]) for m in trees),
        "relaxations": sum(int(m[2]) for m in trees),
        "cpu": cpu,
        "wall": wall,
        "gap": max(s.gap for s in solutions),
        "proved": sum(s.gap <= OPTIMAL for s in solutions),
        "asked": len(solutions),
    }


def ours(only: list[str] | None = None) -> list[str]:
    """Return the first table: nodes, relaxations and seconds of every case."""
    lines = [
        "| matrix | n | k | nodes | relaxations | CPU s | wall s | gap, % | proved | goal, s |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in CASES:
        if only and not any(case.matrix.startswith(name) for name in only):
            continue
        r = run_alone("benchmarks.exact", "case", case.matrix, case.title, time_limit=TIME_LIMIT + START)
        if "failure" in r:
            add_line(lines, f"| {case.matrix} | - | {case.title} | {r['failure']} |" + " - |" * 5 + f" {case.goal} |")
            continue
        gap = "0" if r["gap"] <= 2 * GAP else f"{100 * r['gap']:.2g}"
        add_line(
            lines,
            f"| {case.matrix} | {r['n']} | {case.title} | {r['nodes']} | {r['relaxations']} | {r['cpu']:.3f} | "
            f"{r['wall']:.2f} | {gap} | {r['proved']} of {r['asked']} | {case.goal} |",
        )
    return lines


def run_peer(peer: str, matrix: str, cardinality: str) -> dict[str, Any]:
    """Solve one problem by laconic, exhaustive search or SCIP, without a support to start from."""
    S, k = load_benchmark(matrix).covariance, int(cardinality)
    if peer == "scip":
        from benchmarks.peers import scip

        answer, cpu, _ = _timed(lambda: scip.solve(S, k, gap=GAP, time_limit=PEER_LIMIT))
        return {"cpu": cpu, "gap": answer.gap, "finished": answer.finished, "nodes": answer.nodes}
    covariance = DenseCovariance(S)
    if peer == "laconic":
        warm_up()
        proved, cpu, _ = _timed(lambda: solve(covariance, k))
        return {"cpu": cpu, "gap": proved.gap, "finished": proved.gap <= OPTIMAL}
    _, cpu, _ = _timed(lambda: Exhaustive(limit=FEASIBLE).solve(Problem(covariance, k)))
    return {"cpu": cpu, "gap": 0.0, "finished": True}


def peers() -> list[str]:
    """Return the second table: CPU seconds of exhaustive search and SCIP, and their ratio to laconic's."""
    lines = ["| matrix | n | k | laconic, s | exhaustive | SCIP | SCIP nodes |", "|---|---|---|---|---|---|---|"]
    for matrix, k in PEER_CASES:
        results = {
            peer: run_alone("benchmarks.exact", "peer", peer, matrix, k, time_limit=5 * PEER_LIMIT + START)
            for peer in ("laconic", "exhaustive", "scip")
        }
        own, scip = results["laconic"], results["scip"]
        cells = " | ".join(_compared(results[peer], own) for peer in ("exhaustive", "scip"))
        n = len(load_benchmark(matrix).covariance)
        add_line(lines, f"| {matrix} | {n} | {k} | {own['cpu']:.4f} | {cells} | {scip.get('nodes', '-')} |")
    return lines


def _compared(result: dict[str, Any], own: dict[str, Any]) -> str:
    """Return the time of a solver and its ratio to laconic's, with the gap if the solver did not finish."""
    if "failure" in result:
        # Exhaustive search raises ValueError if there are too many supports.
        return "-" if result["failure"] == "ValueError" else str(result["failure"])
    ratio = result["cpu"] / own["cpu"]
    if not result["finished"]:
        return f"{result['cpu']:.0f} s, gap {100 * result['gap']:.2g} %, > {ratio:.0f}x"
    return f"{result['cpu']:.3f} s, {ratio:.{0 if ratio >= 10 else 1}f}x"


def _timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return a result with its CPU and wall seconds. A short run is repeated, and the shortest time is returned."""
    times: list[tuple[float, float]] = []
    while not times or sum(wall for _, wall in times) < REPEAT_SECONDS:
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
    return result, *(float(np.min(seconds)) for seconds in zip(*times, strict=True))


def table() -> str:
    """Return both tables as markdown."""
    parts = {"Time to the proof": ours, "Compared with exhaustive search and SCIP": peers}
    return "\n\n".join(f"### {title}\n\n" + "\n".join(make()) for title, make in parts.items())


TASKS: dict[str, Callable[..., dict[str, Any]]] = {"case": run_case, "peer": run_peer}


def main(arguments: list[str]) -> None:
    if arguments and arguments[0] in TASKS:
        with threadpool_limits(1):
            print(json.dumps(TASKS[arguments[0]](*arguments[1:])))
    else:
        print("\n".join(ours(arguments)))


if __name__ == "__main__":
    main(sys.argv[1:])
