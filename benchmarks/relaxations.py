"""The l1 relaxation: our solvers, conic solvers through cvxpy, and the dense eigendecomposition as the unit of cost.

    python -m benchmarks relaxations

Every run is a process of its own with one BLAS thread, so that CPU time and memory are its own.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from studies.data import load_benchmark
from studies.recovery import spiked_covariance
from threadpoolctl import threadpool_limits

from benchmarks.memory import Peak
from laconic.datasets import spiked_rows
from laconic.relaxations.l1 import CardinalityForm, FirstOrder, L1Form, PenaltyForm
from laconic.relaxations.l1_splitting import Splitting

TIME_LIMIT = 900.0
# The table has the best of this many runs of a path. There are fewer runs if they take longer than these seconds.
REPEATS, REPEAT_SECONDS = 5, 10.0
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "first-order-steps.png"


def spiked(n: int) -> np.ndarray:
    """Covariance of n rows of n features with a planted component of ten."""
    return np.cov(spiked_rows(n, n, 10, signal=5.0, rng=0).data.T)


def printed(n: int) -> np.ndarray:
    """The spiked model as the paper prints it, with a spike that stands out."""
    return spiked_covariance(n, n, 25, 3.0 * n**0.5, 0)[0]


MATRICES: dict[str, Callable[[], np.ndarray]] = {
    "spiked rows 100": lambda: spiked(100),
    "spiked as printed 100": lambda: printed(100),
    "communities 101": lambda: load_benchmark("communities").covariance,
    "spiked rows 300": lambda: spiked(300),
    "spiked as printed 300": lambda: printed(300),
    "lymphoma500": lambda: load_benchmark("lymphoma500").covariance,
    "spiked rows 500": lambda: spiked(500),
    "spiked as printed 500": lambda: printed(500),
    "spiked rows 2000": lambda: spiked(2000),
    "spiked as printed 2000": lambda: printed(2000),
}


def most_varying_genes() -> np.ndarray:
    """The hundred genes of lymphoma500 that vary most."""
    S = load_benchmark("lymphoma500").covariance
    keep = np.argsort(-S.diagonal())[:100]
    return S[np.ix_(keep, keep)]


def factors() -> np.ndarray:
    """Correlations of a hundred features that five factors move, none of them sparse."""
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((5, 100))
    return np.corrcoef(rng.standard_normal((200, 5)) @ loadings + rng.standard_normal((200, 100)), rowvar=False)


# At most points of a path, X has rank one on the first three matrices and a higher rank on the last two.
PATHS: dict[str, Callable[[], np.ndarray]] = {
    **{name: MATRICES[name] for name in ("spiked rows 100", "spiked as printed 100", "communities 101")},
    **{name: MATRICES[name] for name in ("spiked rows 500", "spiked as printed 500", "lymphoma500")},
    "lymphoma, 100 genes": most_varying_genes,
    "white noise, 60 rows of 100": lambda: np.cov(np.random.default_rng(0).standard_normal((60, 100)), rowvar=False),
    "five dense factors, correlation 100": factors,
}


def form_of(S: np.ndarray, name: str) -> L1Form:
    """Return the form of a name: `k=10` or `rho=0.2`, the latter in units of the largest variance."""
    kind, _, value = name.partition("=")
    return CardinalityForm(int(value)) if kind == "k" else PenaltyForm(float(value) * float(S.diagonal().max()))


def conic(S: np.ndarray, form: L1Form, solver: str, *, dual: bool) -> float:
    """Solve by cvxpy, in the primal or the dual form, to a relative accuracy of 1e-4."""
    import cvxpy as cp

    n = len(S)
    options: dict[str, Any] = {"eps_abs": 1e-4, "eps_rel": 1e-4} if solver == "SCS" else {"tol_gap_rel": 1e-4}
    if dual:
        U, t = cp.Variable((n, n), symmetric=True), cp.Variable(nonneg=True)
        if isinstance(form, PenaltyForm):
            problem = cp.Problem(cp.Minimize(cp.lambda_max(S + U)), [cp.abs(U) <= form.rho])
        else:
            assert isinstance(form, CardinalityForm)
            inside = [cp.abs(U) <= t]
            problem = cp.Problem(cp.Minimize(cp.lambda_max(S + U) + form.cardinality * t), inside)
    else:
        X = cp.Variable((n, n), PSD=True)
        if isinstance(form, PenaltyForm):
            value = cp.trace(S @ X) - form.rho * cp.sum(cp.abs(X))
            problem = cp.Problem(cp.Maximize(value), [cp.trace(X) == 1])
        else:
            assert isinstance(form, CardinalityForm)
            inside = [cp.trace(X) == 1, cp.sum(cp.abs(X)) <= form.cardinality]
            problem = cp.Problem(cp.Maximize(cp.trace(S @ X)), inside)
    problem.solve(solver=solver, **options)
    return float(problem.value)


def run(method: str, matrix: str, form_name: str) -> dict[str, float]:
    """Solve once; return CPU seconds, megabytes beyond the matrix, the value, and our own gap."""
    S = MATRICES[matrix]()
    form = form_of(S, form_name)
    if method.startswith(("SCS", "CLARABEL")):
        import cvxpy  # noqa: F401 - what it takes to import is not what it takes to solve
    peak = Peak()
    gap, steps = float("nan"), 0
    with threadpool_limits(1):
        start = time.process_time()
        if method.startswith("laconic"):
            found = Splitting(float(method.split()[1])).solve(S, form)
            value, gap, steps = found.dual, found.gap, found.iterations
        elif method == "algorithm-1":
            assert isinstance(form, PenaltyForm)
            found = FirstOrder(1e-4).solve(S, form)
            value, gap, steps = found.dual, found.gap, found.iterations
        elif method == "eigh":
            np.linalg.eigh(S)
            value = float("nan")
        else:
            solver, side = method.split()
            value = conic(S, form, solver, dual=side == "dual")
        seconds = time.process_time() - start
    return {"seconds": seconds, "megabytes": peak.megabytes(), "value": value, "gap": gap, "steps": steps}


def measure(method: str, matrix: str, form: str) -> dict[str, float] | None:
    """Run in a process of its own; None if it takes too long or fails."""
    command = [sys.executable, "-m", "benchmarks.relaxations", method, matrix, form]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def against_conic() -> list[str]:
    """Ratios of CPU time and memory against the conic solvers and Algorithm 1."""
    lines = [
        "| matrix | form | laconic, s | MB | gap 1e-6, s | SCS, best form | MB | Clarabel | Algorithm 1 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for matrix in list(MATRICES)[:5]:
        for form in ("k=10", "rho=0.2"):
            ours, fine = measure("laconic 1e-4", matrix, form), measure("laconic 1e-6", matrix, form)
            assert ours is not None
            assert fine is not None
            # A minute and more each: once is enough.
            first = matrix == "spiked rows 100"
            scs = _best(measure(f"SCS {side}", matrix, form) for side in ("primal", "dual"))
            clarabel = measure("CLARABEL primal", matrix, form) if first else None
            paper = measure("algorithm-1", matrix, form) if first and form.startswith("rho") else None
            lines.append(
                f"| {matrix} | {form} | {ours['seconds']:.3f} | {ours['megabytes']:.0f} | {fine['seconds']:.3f} | "
                f"{_ratio(scs, ours)} | {scs['megabytes'] if scs else float('nan'):.0f} | {_ratio(clarabel, ours)} | "
                f"{_ratio(paper, ours)} |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def in_eigendecompositions() -> list[str]:
    """The cost of large solves in units of one dense eigendecomposition of the same matrix."""
    lines = ["| matrix | form | steps | seconds | eigendecompositions | gap |", "|---|---|---|---|---|---|"]
    for matrix in list(MATRICES)[5:]:
        unit = measure("eigh", matrix, "k=10")
        assert unit is not None
        for form in ("k=5", "k=10", "k=25", "rho=0.1", "rho=0.3"):
            ours = measure("laconic 1e-4", matrix, form)
            assert ours is not None
            lines.append(
                f"| {matrix} | {form} | {ours['steps']} | {ours['seconds']:.2f} | "
                f"{ours['seconds'] / unit['seconds']:.1f} | {ours['gap']:.0e} |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def paths() -> list[str]:
    """The time of a path of thirty values, and of thirty solves without a start."""
    lines = ["| matrix | path | path, s | single solves, s |", "|---|---|---|---|"]
    with threadpool_limits(1):
        for matrix, make in PATHS.items():
            S = make()
            rhos = list(np.geomspace(0.05, 0.8, 30) * float(S.diagonal().max()))
            for name, forms in (
                ("k = 1..30", [CardinalityForm(k) for k in range(1, 31)]),
                ("30 values of rho", [PenaltyForm(rho) for rho in rhos]),
            ):
                rounds: list[tuple[float, float]] = []
                begun = time.process_time()
                while not rounds or (len(rounds) < REPEATS and time.process_time() - begun < REPEAT_SECONDS):
                    rounds.append(_path_round(S, forms))
                alone, together = (min(costs) for costs in zip(*rounds, strict=True))
                lines.append(f"| {matrix} | {name} | {together:.2f} | {alone:.2f} |")
    return lines


def _path_round(S: np.ndarray, forms: Sequence[L1Form]) -> tuple[float, float]:
    """Return the CPU seconds of the single solves and of the path."""
    start = time.process_time()
    for form in forms:
        Splitting().solve(S, form)
    middle = time.process_time()
    Splitting().path(S, forms)
    return middle - start, time.process_time() - middle


def first_order_steps() -> list[str]:
    """Steps of Algorithm 1 against rho n sqrt(log n) / eps, as a table and as a picture."""
    lines = ["| n | rho | eps | steps | steps / bound |", "|---|---|---|---|---|"]
    points: dict[int, list[tuple[float, int]]] = {}
    with threadpool_limits(1):
        for n in (25, 50, 100):
            S = spiked(n)
            S = S / float(np.linalg.eigvalsh(S)[-1])
            for rho, tolerance in ((0.02, 1e-2), (0.05, 1e-2), (0.1, 1e-2), (0.05, 3e-3), (0.05, 1e-3)):
                found = FirstOrder(tolerance).solve(S, PenaltyForm(rho))
                bound = rho * n * np.sqrt(np.log(n)) / tolerance
                points.setdefault(n, []).append((bound, found.iterations))
                lines.append(f"| {n} | {rho} | {tolerance} | {found.iterations} | {found.iterations / bound:.2f} |")
    _draw_steps(points)
    return lines


def _draw_steps(points: dict[int, list[tuple[float, int]]]) -> None:
    from matplotlib.figure import Figure

    ax = Figure(figsize=(6.0, 4.2), layout="constrained").add_subplot()
    every = [bound for pairs in points.values() for bound, _ in pairs]
    ends = [min(every), max(every)]
    ax.plot(ends, ends, color="0.5", linestyle="--", linewidth=1, label="steps = ρ n √(log n) / ε")
    for (n, pairs), marker, colour in zip(points.items(), "os^", ("#004488", "#BB5566", "#DDAA33"), strict=True):
        ax.plot(*zip(*pairs, strict=True), linestyle="none", marker=marker, color=colour, label=f"n = {n}")
    ax.set(xscale="log", yscale="log", xlabel="ρ n √(log n) / ε", ylabel="Steps of Algorithm 1 to a gap of ε")
    ax.legend(frameon=False)
    ax.figure.savefig(PICTURE, dpi=150)


def _best(results: Any) -> dict[str, float] | None:
    return min((r for r in results if r is not None), key=lambda r: r["seconds"], default=None)


def _ratio(other: dict[str, float] | None, ours: dict[str, float]) -> str:
    return "-" if other is None else f"{other['seconds']:.2f} s, {other['seconds'] / ours['seconds']:.0f}x"


def table() -> str:
    """Return all four comparisons as markdown."""
    parts = {
        "Against conic solvers": against_conic,
        "In dense eigendecompositions": in_eigendecompositions,
        "Paths": paths,
        "Steps of Algorithm 1": first_order_steps,
    }
    return "\n\n".join(f"### {title}\n\n" + "\n".join(make()) for title, make in parts.items())


if __name__ == "__main__":
    print(json.dumps(run(*sys.argv[1:])))
