"""Every problem that laconic solves: its best value, the proved bound, and a certificate that anybody can check.

    python -m benchmarks instances                         solve what is not solved, check the rest, write the page
    python -m benchmarks.instances pitprops common         only the instances whose names have all of these parts
    python -m benchmarks.instances lung-k20 --again --seconds 600    solve it again, and keep the better result
    python -m benchmarks.instances --data wine             write the matrix or the rows as build/instances/wine.csv

Results are in benchmarks/instances.csv, certificates of at most 60 kB in benchmarks/certificates, larger ones in
build/instances. docs/instances.md is made of these, and never edited by hand.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from threadpoolctl import threadpool_limits

from benchmarks import exact, joint
from benchmarks.data import SOURCES
from laconic import Certificate, SparsePCA, verify
from laconic.core.words import at_most
from laconic.datasets import load_senate109
from studies import data

HERE = Path(__file__).parent
RESULTS, STORED, LARGE = HERE / "instances.csv", HERE / "certificates", Path("build/instances")
PAGE = HERE.parent / "docs" / "instances.md"
COLUMNS = ["instance", "n", "value", "bound", "seconds", "version", "data", "certificate", "bytes", "features"]
# Seconds for an instance, if the command does not say otherwise.
SECONDS = 60.0
# Larger certificates are not in the repository. The others together take less than 3 MB.
MOST_BYTES = 60_000
# What is computed from data may differ in its last bits from machine to machine. Rounded, it has one digest.
DECIMALS = 9
# A gap below this is closed, as in laconic's own verdicts.
OPTIMAL = 1e-6


@dataclass(frozen=True)
class Matrix:
    """A covariance matrix, or the rows of which it is made.

    Attributes
    ----------
    load
        Returns the matrix or the rows.
    what
        What it is, for the page.
    source
        Where it comes from: the name of a set of `benchmarks.data`, or the package that it is a part of.
    rows
        Whether these are rows.
    scale
        Whether columns are scaled to variance one.
    """

    load: Callable[[], Any]
    what: str
    source: str
    rows: bool = True
    scale: bool = False


def literature(name: str) -> Callable[[], np.ndarray]:
    """Return a function that loads a matrix of the literature; correlations are rounded to nine decimals."""

    def load() -> np.ndarray:
        S = data.load_benchmark(name).covariance
        return np.round((S + S.T) / 2, DECIMALS) if data.BENCHMARKS[name] else S

    return load


MATRICES = {
    **{
        name.lower(): Matrix(
            literature(name),
            "correlations, rounded to nine decimals" if correlation else "covariances",
            name if name in SOURCES else "laconic" if name == "pitprops" else "scikit-learn",
            rows=False,
        )
        for name, correlation in data.BENCHMARKS.items()
    },
    "senate": Matrix(lambda: load_senate109().frame, "votes of 101 senators on 48 bills", "laconic"),
    "breast-cancer": Matrix(lambda: load_breast_cancer().data, "569 rows, standardised", "scikit-learn", scale=True),
    "news100": Matrix(
        lambda: data.load_news100().data, "16,242 postings, whether each of 100 words occurs", "20news_w100"
    ),
    "stocks": Matrix(
        lambda: data.load_stocks().returns.to_numpy().round(DECIMALS),
        "1258 daily log returns, rounded to nine decimals",
        "sp500_2005_2010",
    ),
    "colon": Matrix(lambda: data.load_colon().data, "62 tissues, raw expression", "gene_expression"),
    "colon-scaled": Matrix(
        lambda: data.load_colon().data, "62 tissues, standardised expression", "gene_expression", scale=True
    ),
    "kos": Matrix(lambda: data.load_kos().data, "word counts of 3430 blog entries", "kos"),
    "marrow4k": Matrix(lambda: data.load_marrow4k().data, "RNA counts of 4142 cells", "marrow4k"),
    "reuters": Matrix(lambda: data.load_reuters_c50().data, "word counts of 5000 articles", "reutersC50"),
    "newsgroups": Matrix(lambda: data.load_newsgroups().data, "word counts of 18,821 postings", "20newsgroups"),
}
# The names of matrices in the other benchmarks, where they differ.
OTHER_NAMES = {
    "20news_w100": "news100",
    "news words": "news100",
    "colon, covariance": "colon",
    "colon, correlation": "colon-scaled",
    "breast cancer": "breast-cancer",
}
MANY_FEATURES = ("kos", "marrow4k", "reuters", "newsgroups")


@dataclass(frozen=True)
class Instance:
    """A problem: a matrix, the largest number of features of each component, and the question if there are several."""

    matrix: str
    sizes: tuple[int, ...]
    question: str = ""
    total: int | None = None

    @property
    def size(self) -> str:
        """The numbers of features as text."""
        if self.total is not None:
            return f"{self.total} in all"
        return ", ".join(map(str, self.sizes if len(set(self.sizes)) > 1 else self.sizes[:1]))

    @property
    def name(self) -> str:
        """The name, such as "pitprops-k5" or "pitprops-orthogonal-r3-k7-6-2"."""
        size = f"k{self.size.replace(', ', '-')}" if self.total is None else f"total{self.total}"
        return f"{self.matrix}-{self.question}-r{len(self.sizes)}-{size}" if self.question else f"{self.matrix}-{size}"

    def model(self, seconds: float) -> SparsePCA:
        """Return the estimator that solves it."""
        sizes: Any = list(self.sizes) if self.total is None else {"total": self.total}
        sizes = self.sizes[0] if self.question == "common" else sizes
        scale = MATRICES[self.matrix].scale
        several = {"joint": self.question} if self.question else {}
        return SparsePCA(len(self.sizes), cardinality=sizes, scale=scale, proof="exact", time_limit=seconds, **several)


def _every() -> Iterable[Instance]:
    for case in exact.CASES:
        for k in case.cardinalities:
            yield Instance(OTHER_NAMES.get(case.matrix, case.matrix.lower()), (k,))
    for matrix in MANY_FEATURES:
        for k in (5, 10):
            yield Instance(matrix, (k,))
    for row in joint.ROWS:
        yield Instance(OTHER_NAMES.get(row.data, row.data.lower()), row.sizes, row.question, row.total)


INSTANCES = {instance.name: instance for instance in _every()}


def chosen(words: Iterable[str]) -> list[Instance]:
    """Return the instance with this name, or those whose names have all of these parts."""
    words = list(words)
    if len(words) == 1 and words[0] in INSTANCES:
        return [INSTANCES[words[0]]]
    found = [one for name, one in INSTANCES.items() if set(words) <= {name, *_parts(one)}]
    if not found:
        raise SystemExit(f"No instance has all of {', '.join(words)} in its name; docs/instances.md lists them.")
    return found


def _parts(instance: Instance) -> list[str]:
    return [instance.matrix, *instance.name.removeprefix(f"{instance.matrix}-").split("-")]


def solve(instance: Instance, rows: Any, seconds: float) -> tuple[Certificate, float]:
    """Search and prove an instance with one BLAS thread; return its certificate and the CPU seconds."""
    model = instance.model(seconds)
    begin = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # The hints are about the data, which are as they are.
        (model.fit if MATRICES[instance.matrix].rows else model.fit_covariance)(rows)
    certificate = model.certificates_[0]
    if certificate is None:
        raise RuntimeError(f"{instance.name} has no certificate.")
    return certificate, time.process_time() - begin


def check_question(instance: Instance, certificate: Certificate) -> None:
    """Raise a ValueError unless a certificate is about the question of this instance."""
    sizes, joined = sorted(certificate.cardinalities.tolist()), certificate.joint or ""
    asked = sorted(min(size, certificate.n_features) for size in instance.sizes)
    question = sizes == asked and joined == instance.question and certificate.total == instance.total
    recipe, matrix = certificate.recipe, MATRICES[instance.matrix]
    made = (recipe.given, recipe.scale) == ("rows" if matrix.rows else "covariance", matrix.scale)
    made = made and recipe.center and recipe.missing is None and not recipe.weighted and certificate.deflation is None
    if not question or not made or certificate.allowed is not None or len(certificate.forced):
        raise ValueError(f"The certificate of {instance.name} is about another problem.")


def check(instance: Instance, certificate: Certificate, rows: Any) -> None:
    """Raise a ValueError unless a certificate is about this instance and accepted."""
    check_question(instance, certificate)
    outcome = verify(certificate, rows)
    if not outcome:
        raise ValueError(f"The certificate of {instance.name} is not accepted: {outcome.reason}")


def read_results() -> dict[str, dict[str, str]]:
    """Return the results by the names of instances."""
    if not RESULTS.is_file():
        return {}
    table = pd.read_csv(RESULTS, dtype=str, keep_default_na=False)
    return {row["instance"]: row for row in table.to_dict("records")}


def write_results(results: dict[str, dict[str, str]]) -> None:
    """Write the results in the order of the instances."""
    rows = [results[name] for name in INSTANCES if name in results]
    pd.DataFrame(rows, columns=COLUMNS).to_csv(RESULTS, index=False, lineterminator="\n")


def checksum_of(path: Path) -> str:
    """Return the SHA-256 that a certificate file has of itself."""
    return str(json.loads(path.read_text(encoding="utf-8"))["checksum"])


def result_of(name: str, path: Path, seconds: float | None) -> dict[str, str]:
    """Return the result that a certificate file holds, as text."""
    one = Certificate.load(path)
    each = [one.support[np.flatnonzero(row)] for row in one.loadings] if one.n_components > 1 else [one.support]
    size = sum(file.stat().st_size for file in (path, path.with_suffix(".npz")) if file.is_file())
    return {
        "instance": name,
        "n": str(one.n_features),
        "value": repr(one.lower),
        "bound": repr(one.upper),
        "seconds": "" if seconds is None else f"{seconds:.2f}",
        "version": one.versions["laconic"],
        "data": one.digest,
        "certificate": checksum_of(path),
        "bytes": str(size),
        "features": "; ".join(" ".join(map(str, sorted(part.tolist()))) for part in each),
    }


def save(instance: Instance, certificate: Certificate, seconds: float | None) -> dict[str, str]:
    """Write a certificate to the folder for its size, remove an older one, and return its result."""
    small = sum(map(len, certificate.files(f"{instance.name}.json").values())) <= MOST_BYTES
    for folder in (STORED, LARGE):
        folder.mkdir(parents=True, exist_ok=True)
        for ending in (".json", ".npz"):
            (folder / f"{instance.name}{ending}").unlink(missing_ok=True)
    path = certificate.save((STORED if small else LARGE) / f"{instance.name}.json")
    return result_of(instance.name, path, seconds)


def gap_of(result: dict[str, str]) -> float:
    """Return the relative gap of a result."""
    return float(result["bound"]) / float(result["value"]) - 1


def settle(instance: Instance, rows: Any, old: dict[str, str] | None, *, again: bool, seconds: float) -> dict[str, str]:
    """Check the certificate of an instance, or solve it; return the result."""
    path = next((p for p in (folder / f"{instance.name}.json" for folder in (STORED, LARGE)) if p.is_file()), None)
    if path is not None:
        stored = Certificate.load(path)
        check(instance, stored, rows)
        if old is None or old["certificate"] != checksum_of(path):
            # Somebody added this certificate. The time of its proof is not known.
            old = save(instance, stored, None)
    if old is not None and not again:
        return old
    certificate, cpu = solve(instance, rows, seconds)
    check(instance, certificate, rows)
    if old is not None and certificate.gap >= gap_of(old):
        return old
    return save(instance, certificate, cpu)


def run(words: Iterable[str] = (), *, again: bool = False, seconds: float = SECONDS) -> None:
    """Settle instances, matrix by matrix, and write the results after each."""
    asked = chosen(words)
    for matrix in dict.fromkeys(instance.matrix for instance in asked):
        try:
            rows = MATRICES[matrix].load()
        except FileNotFoundError as error:
            print(f"{matrix} is left out: {error}", file=sys.stderr)
            continue
        for instance in (one for one in asked if one.matrix == matrix):
            results = read_results()
            result = settle(instance, rows, results.get(instance.name), again=again, seconds=seconds)
            write_results({**results, instance.name: result})
            print(f"{instance.name}: {gap_in_words(result)}", file=sys.stderr, flush=True)


def gap_in_words(result: dict[str, str]) -> str:
    """Return "optimal", or the gap in percent."""
    gap = gap_of(result)
    return "optimal" if gap <= OPTIMAL else f"{100 * gap:.2g} %"


TITLES = {
    "": "One component",
    "common": "One common support",
    "disjoint": "Disjoint supports",
    "orthogonal": "Orthogonal components",
    "span": "The span of components",
}
MEANINGS = {
    "": "The largest z'Sz over unit vectors z with at most k nonzeros.",
    "common": "The largest sum of z'Sz over r orthonormal components that all use the same k features.",
    "disjoint": "The largest sum of z'Sz over r unit vectors with at most k nonzeros each. No feature is used twice.",
    "orthogonal": "The largest sum of z'Sz over r orthonormal components. Each has at most k nonzeros, or its own "
    "number if several are given, or they share a total.",
    "span": "The largest Tr(PS), with P the projection on the span of r vectors with at most k nonzeros each.",
}


def table_of(question: str, results: dict[str, dict[str, str]]) -> list[str]:
    """Return the instances of a question as a table."""
    several = bool(question)
    lines = [
        f"| instance | {'r | ' if several else ''}k | value | proved bound | gap | CPU s | certificate |",
        "|---" * (7 + several) + "|",
    ]
    for name, instance in INSTANCES.items():
        if instance.question != question or name not in results:
            continue
        one = results[name]
        digest = f"`{one['certificate'][:12]}`" + ("" if int(one["bytes"]) <= MOST_BYTES else " (not stored)")
        count = [str(len(instance.sizes))] if several else []
        value, bound = f"{float(one['value']):.10g}", at_most(float(one["bound"]), 10)
        cells = [name, *count, instance.size, value, bound, gap_in_words(one), one["seconds"], digest]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def matrices_table(results: dict[str, dict[str, str]]) -> list[str]:
    """Return the matrices as a table: what each is, how to get it, and the digest that its certificates name."""
    lines = ["| matrix | n | what | how to get it | digest |", "|---|---|---|---|---|"]
    for name, matrix in MATRICES.items():
        one = next((results[n] for n, i in INSTANCES.items() if i.matrix == name and n in results), None)
        if one is not None:
            source = f"`python -m benchmarks.data {matrix.source}`" if matrix.source in SOURCES else matrix.source
            lines.append(f"| {name} | {one['n']} | {matrix.what} | {source} | `{one['data'][:12]}` |")
    return lines


def page() -> str:
    """Return docs/instances.md."""
    results = read_results()
    proved = sum(gap_of(one) <= OPTIMAL for one in results.values())
    text = (HERE / "instances_page.md").read_text(encoding="utf-8")
    parts = [
        f"## {title}\n\n{MEANINGS[question]}\n\n" + "\n".join(table_of(question, results))
        for question, title in TITLES.items()
    ]
    for mark, content in {
        "INSTANCES": str(len(results)),
        "PROVED": str(proved),
        "MATRICES": "\n".join(matrices_table(results)),
        "TABLES": "\n\n".join(parts),
    }.items():
        text = text.replace(f"{{{mark}}}", content)
    return text


def write_data(name: str) -> Path:
    """Write a matrix, or rows, as a CSV file that `laconic verify` and tools/check_certificate.py read."""
    if name not in MATRICES:
        raise SystemExit(f"There is no matrix {name!r}; choose one of {', '.join(MATRICES)}.")
    rows = MATRICES[name].load()
    LARGE.mkdir(parents=True, exist_ok=True)
    path = LARGE / f"{name}.csv"
    if isinstance(rows, pd.DataFrame):
        rows.to_csv(path)
    else:
        array = rows.toarray() if hasattr(rows, "toarray") else rows
        pd.DataFrame(array).to_csv(path, index=False)
    return path


def table() -> str:
    """Settle all instances, write the page, and say so."""
    run()
    PAGE.write_text(page(), encoding="utf-8")
    return f"{len(read_results())} instances are in {PAGE.relative_to(HERE.parent)}."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instances", description="Solve and check instances.")
    parser.add_argument("words", nargs="*", help="parts of names")
    parser.add_argument("--again", action="store_true", help="solve again, and keep the better result")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the time limit of one instance")
    parser.add_argument("--data", metavar="MATRIX", help="only write the matrix or its rows as CSV")
    given = parser.parse_args(arguments)
    if given.data:
        print(write_data(given.data))
        return
    run(given.words, again=given.again, seconds=given.seconds)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
