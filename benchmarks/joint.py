"""Components found together: values, proved bounds and the time to the proof for the four questions of `joint=`.

    python -m benchmarks joint                       all rows, for hours; each line is printed when it is there
    python -m benchmarks.joint orthogonal pitprops   the rows that contain all of these words

Each row is measured in its own process, with one BLAS thread. The time of the search, until the value is found, and the
time of the proof are apart. CPU seconds are printed, too: other programs change them less than wall seconds. The root
gap is that of the cover, or of a threshold, before any case is distinguished.
"""

import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import datasets
from studies.data import load_benchmark, load_news100, load_stocks
from threadpoolctl import threadpool_limits

from benchmarks.alone import add_line, run_alone
from benchmarks.problems import BEST_KNOWN
from laconic import SparsePCA
from laconic.bounds.prove_jointly import eigenvalue_witness, prove_jointly
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance, DenseCovariance, covariance_of
from laconic.datasets import load_senate109
from laconic.methods import Exact
from laconic.proof.witness_joint import cover_case, prove_joint
from laconic.relaxations import L0Relaxation, RowLevels
from laconic.relaxations.cover import Cover
from laconic.search.problem import Problem
from laconic.search.several import JointProblem, solve_jointly
from laconic.search.span import Span, basis_of_span

# Seconds for the search of one row, and for its proof if the row does not say otherwise.
SEARCH_LIMIT, PROOF_LIMIT = 120.0, 120.0
# Additional seconds to read the data and for the first node, which is bounded twice.
START = 300.0
# A gap below this is optimal.
OPTIMAL = 1e-6


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes
    ----------
    question, data
        What `joint=` asks, and the name of the matrix.
    sizes
        The largest number of features of each component; with a total, the most that is possible.
    total
        The largest number of features of all components together, or None.
    printed, printed_bound
        The value and the upper bound in the literature, or None.
    known
        The best value known, if the search may miss it.
    limit
        Seconds for the proof.
    """

    question: str
    data: str
    sizes: tuple[int, ...]
    total: int | None = None
    printed: float | None = None
    printed_bound: float | None = None
    known: float | None = None
    limit: float = PROOF_LIMIT

    @property
    def size(self) -> str:
        """The numbers of features as text."""
        if self.total is not None:
            return f"{self.total} in all"
        alike = len(set(self.sizes)) == 1
        return f"{self.sizes[0]}" if alike else ", ".join(map(str, self.sizes))

    @property
    def title(self) -> str:
        """The row as text: by it a row is found."""
        return f"{self.question} {self.data} k={self.size} r={len(self.sizes)}".replace(", ", ",")

    @property
    def is_share(self) -> bool:
        """Whether the value is a share of the total variance, as in the literature on this question."""
        return self.question in ("disjoint", "orthogonal")


def alike(question: str, data: str, k: int, r: int, **known: Any) -> Row:
    """Return the row of r components with k features each."""
    return Row(question, data, (k,) * r, **known)


def in_all(data: str, total: int, r: int, **known: Any) -> Row:
    """Return the row of r orthogonal components with a total number of features."""
    return Row("orthogonal", data, (total - r + 1,) * r, total, **known)


COMMON = [
    *(alike("common", "pitprops", k, r) for k, r in [(5, 2), (5, 3), (10, 2), (10, 3)]),
    alike("common", "wine", 5, 2),
    alike("common", "wine", 10, 3),
    alike("common", "ionosphere", 10, 2),
    alike("common", "ionosphere", 10, 3),
    alike("common", "Eisen1", 10, 2),
    alike("common", "Eisen1", 10, 3),
    alike("common", "communities", 10, 2, limit=300),
    alike("common", "communities", 10, 3, limit=300),
    alike("common", "communities", 20, 3, limit=600),
    alike("common", "lung", 10, 3, limit=600),
    alike("common", "stocks", 20, 3, limit=600),
    alike("common", "lymphoma500", 10, 2, limit=600),
    alike("common", "lymphoma500", 20, 3, limit=600),
]
DISJOINT = [
    alike("disjoint", "pitprops", 3, 2),
    alike("disjoint", "pitprops", 4, 2),
    alike("disjoint", "pitprops", 5, 2),
    alike("disjoint", "pitprops", 3, 3),
    alike("disjoint", "pitprops", 4, 3),
    alike("disjoint", "pitprops", 2, 6),
    *(
        alike("disjoint", data, k, r)
        for data in ("ionosphere", "lung", "communities", "Senate", "news words")
        for r in (2, 3)
        for k in (3, 5, 10)
    ),
]
# Values and bounds on the slides of Cory-Wright and Pauphilet (2024). The bounds are for equal numbers of features.
ORTHOGONAL = [
    alike("orthogonal", "pitprops", 5, 3, printed=0.591, printed_bound=0.616),
    Row("orthogonal", "pitprops", (7, 6, 2), printed=0.595),
    alike("orthogonal", "pitprops", 10, 3, printed=0.650, printed_bound=0.652),
    alike("orthogonal", "ionosphere", 5, 3, printed=0.291, printed_bound=0.297, limit=300),
    Row("orthogonal", "ionosphere", (7, 6, 2), printed=0.299, limit=300),
    alike("orthogonal", "ionosphere", 10, 3, printed=0.400, printed_bound=0.411, limit=600),
    Row("orthogonal", "ionosphere", (11, 10, 9), printed=0.402, limit=600),
    alike("orthogonal", "geography", 5, 3, printed=0.219, printed_bound=0.221, limit=300),
    Row("orthogonal", "geography", (6, 5, 4), printed=0.221, limit=300),
    alike("orthogonal", "geography", 10, 3, printed=0.389, printed_bound=0.410, limit=600),
    Row("orthogonal", "geography", (12, 12, 6), printed=0.420, limit=600),
    alike("orthogonal", "communities", 5, 3, printed=0.141, printed_bound=0.141, limit=600),
    Row("orthogonal", "communities", (6, 5, 4), printed=0.142, limit=600),
    alike("orthogonal", "communities", 10, 3, printed=0.245, printed_bound=0.246, limit=600),
    Row("orthogonal", "communities", (11, 11, 8), printed=0.247, limit=600),
    *(
        in_all(data, total, 3, limit=600)
        for data in ("pitprops", "ionosphere", "geography", "communities")
        for total in (15, 30)
    ),
    *(alike("orthogonal", "pitprops", k, 6) for k in (4, 6, 8, 10)),
]
SPAN = [
    alike("span", "pitprops", 4, 2, known=5.2552),
    alike("span", "wine", 3, 3, known=6.4438),
    alike("span", "wine", 2, 4, known=6.6046),
    alike("span", "wine", 2, 5, known=8.0480),
    alike("span", "breast cancer", 5, 3, known=13.5127),
    *(alike("span", data, k, 3) for data in ("Senate", "stocks", "news words") for k in (5, 10)),
]
ROWS = [*COMMON, *DISJOINT, *ORTHOGONAL, *SPAN]

DATA: dict[str, Callable[[], Covariance]] = {
    "stocks": lambda: covariance_of(load_stocks().returns.to_numpy())[0],
    "Senate": lambda: covariance_of(load_senate109().data)[0],
    "news words": lambda: covariance_of(load_news100().data)[0],
    "breast cancer": lambda: covariance_of(datasets.load_breast_cancer().data, scale=True)[0],
}


def load(data: str) -> Covariance:
    """Return the covariance of a data set by its name."""
    return DATA[data]() if data in DATA else DenseCovariance(load_benchmark(data).covariance)


def value_of(S: Covariance, vectors: np.ndarray) -> float:
    """Return the variance of the data projected on the span of components in columns."""
    return float(np.einsum("ij,ij->", *basis_of_span(vectors, S.product(vectors))))


def found(problem: JointProblem) -> np.ndarray:
    """Search components, from those found one after the other, as SparsePCA does."""
    S, r = problem.covariance, problem.count
    sizes = [problem.total // r] * r if problem.total is not None else list(problem.cardinalities)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = SparsePCA(cardinality=sizes, proof=None).fit_covariance(S).components_
    if problem.question == "span":
        others = [replace(problem, question=question) for question in ("disjoint", "orthogonal")]
        starts = [start.T, *(solve_jointly(other, [start.T]) for other in others)]
        return Span().solve(Problem(S, max(sizes), monitor=problem.monitor), problem.cardinalities, *starts)
    return solve_jointly(problem, [np.ascontiguousarray(start.T)])


def relative(bound: float, value: float) -> float:
    """Return how far a bound is above a value."""
    return max(bound / value - 1, 0.0)


def run_row(title: str) -> dict[str, Any]:
    """Search and prove the components of a row."""
    row = next(row for row in ROWS if row.title == title)
    S = load(row.data)
    small = JointProblem(DenseCovariance(load_benchmark("pitprops").covariance), "orthogonal", (2, 2))
    prove_jointly(small, found(small), "tight")  # load every library
    problem = JointProblem(S, row.question, row.sizes, row.total)
    begin = time.perf_counter()
    vectors = found(replace(problem, monitor=Monitor(SEARCH_LIMIT)))
    searched = time.perf_counter() - begin
    before = value_of(S, vectors)
    begin, begin_cpu = time.perf_counter(), time.process_time()
    vectors, bound = prove_jointly(replace(problem, monitor=Monitor(row.limit)), vectors, "exact")
    proved, proved_cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    assert bound is not None
    value, upper = value_of(S, vectors), bound.proved.value
    nodes = re.search(r"(\d+) node", bound.reason)
    root = upper
    if nodes is not None and int(nodes[1]) > 1:
        first = prove_jointly(replace(problem, monitor=Monitor(row.limit)), vectors, Exact(node_limit=1))[1]
        root = upper if first is None else first.proved.value
    plain = prove_joint(S, row.sizes, eigenvalue_witness(S, len(row.sizes)), joint="span").value
    return {
        "n": S.n_features,
        "trace": S.trace,
        "value": value,
        "upper": upper,
        "searched": searched,
        "proved": proved,
        "proved, CPU": proved_cpu,
        "nodes": int(nodes[1]) if nodes is not None else 0,
        "gap": relative(upper, value),
        "root": relative(root, value),
        "ordinary": relative(plain, value),
        "gain": relative(value, before),
        "sizes": (vectors != 0).sum(axis=0).tolist(),
        "away": float(np.abs(vectors.T @ vectors - np.eye(len(row.sizes))).max()) if row.question != "span" else 0.0,
    }


ONE = [
    *(("pitprops", k) for k in (5, 7, 10)),
    *((data, k) for data in ("wine", "ionosphere", "lung", "Eisen1") for k in (5, 10)),
    *(("communities", k) for k in (5, 10, 20)),
]


def relaxations() -> str:
    """Return the table of relaxations of one component: percent above the best known value, without branching."""
    lines = ["| data | n | k | row levels | l0 | cover | steps |", "|---|---|---|---|---|---|---|"]
    with threadpool_limits(1):
        for data, k in ONE:
            S, best = load_benchmark(data).covariance, BEST_KNOWN[data][k]
            case, _ = cover_case(DenseCovariance(S), (k,), "common", None, np.empty(0, dtype=np.intp))
            cover = Cover(most=3000, patience=40).solve(S, case)
            assert cover is not None
            others = [RowLevels().solve(S, k).estimate, L0Relaxation().solve(S, k).estimate]
            cells = " | ".join(f"{abs(100 * (bound / best - 1)):.3f}" for bound in (*others, cover.estimate))
            add_line(lines, f"| {data} | {len(S)} | {k} | {cells} | {cover.steps} |")
    return "\n".join(lines)


def per_cent(gap: float) -> str:
    """Return a gap in percent; that of an optimal value is 0."""
    return "0" if gap <= OPTIMAL else f"{100 * gap:.0f}" if gap >= 0.1 else f"{100 * gap:.2g}"


def cells_of(row: Row, r: dict[str, Any]) -> list[str]:
    """Return a row of the table."""
    unit = r["trace"] if row.is_share else 1.0
    form = ".5f" if row.is_share else ".7g"
    value, upper = (format(r[name] / unit, form) for name in ("value", "upper"))
    printed = [f"{number:.3f}" if number is not None else "" for number in (row.printed, row.printed_bound)]
    size = row.size if row.total is None else f"{row.size}: {', '.join(map(str, r['sizes']))}"
    seconds = [f"{r[name]:.1f}" for name in ("searched", "proved", "proved, CPU")]
    found = [value, upper, per_cent(r["gap"]), str(r["nodes"]), *seconds, per_cent(r["root"]), per_cent(r["ordinary"])]
    return [row.data, str(r["n"]), str(len(row.sizes)), size, *printed, *found]


HEADER = [
    *("data", "n", "r", "k", "printed value", "printed bound", "value", "proved bound", "gap, %", "nodes"),
    *("search, s", "proof, s", "proof, CPU s", "root, %", "ordinary, %"),
]


def as_markdown(lines: list[list[str]]) -> str:
    """Return a table without the columns that are empty."""
    used = [place for place in range(len(HEADER)) if any(line[place] for line in lines)]
    parts = [[line[place] for place in used] for line in [HEADER, *lines]]
    parts.insert(1, ["---"] * len(used))
    return "\n".join(f"| {' | '.join(part)} |".replace("| --- |", "|---|").replace(" --- |", "---|") for part in parts)


TITLES = {
    "common": "One support for all: variance",
    "disjoint": "Disjoint supports: share of the total variance",
    "orthogonal": "Orthonormal loadings, supports may overlap: share of the total variance",
    "span": "The span: variance",
}


def table(words: Sequence[str] = ()) -> str:
    """Return the tables as markdown, with the rows whose titles have all the words."""
    parts = [] if words else [f"### One component: percent above the best known value\n\n{relaxations()}"]
    for question, title in TITLES.items():
        asked = [row for row in ROWS if row.question == question and all(word in row.title.split() for word in words)]
        rows, results, lines = list[Row](), list[dict[str, Any]](), list[list[str]]()
        for row in asked:
            r = run_alone("benchmarks.joint", "row", row.title, time_limit=SEARCH_LIMIT + 2 * row.limit + START)
            if "failure" in r:
                print(row.title, r["failure"], file=sys.stderr)
                lines.append([row.data, "", str(len(row.sizes)), row.size, "", "", str(r["failure"]), *[""] * 8])
                continue
            rows.append(row)
            results.append(r)
            lines.append(cells_of(row, r))
            print(row.title, *lines[-1][6:], file=sys.stderr, flush=True)
        if not results:
            continue
        notes = [f"{sum(r['gap'] <= OPTIMAL for r in results)} of {len(results)} are proved optimal."]
        better = [row.title for row, r in zip(rows, results, strict=True) if r["gain"] > OPTIMAL]
        notes += [f"The proof met better components: {', '.join(better)}."] if better else []
        missed = [
            f"{row.title} by {per_cent(1 - r['value'] / row.known)} %"
            for row, r in zip(rows, results, strict=True)
            if row.known is not None and r["value"] < row.known * (1 - 1e-4)
        ]
        notes += [f"Below the best value known: {', '.join(missed)}."] if missed else []
        if question == "orthogonal":
            notes.append(f"|U'U - I| is at most {max(r['away'] for r in results):.0e}.")
        parts.append(f"### {title}\n\n{as_markdown(lines)}\n\n{' '.join(notes)}")
    return "\n\n".join(parts)


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["row"]:
        with threadpool_limits(1):
            print(json.dumps(run_row(arguments[1])))
    else:
        print(table(arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
