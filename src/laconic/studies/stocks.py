"""Daily returns of the stocks in the S&P 500, June 2005 to June 2010 (section 4.3 of the paper)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from laconic.bounds.exact import BranchAndBound
from laconic.core.arrays import Floats, Mask
from laconic.covariance import Covariance, DenseCovariance, covariance_of
from laconic.covariance.deflation import DEFLATIONS, Deflation
from laconic.datasets import StockPrices, load_stocks
from laconic.model.cardinality_path import CardinalityPath, cardinality_path
from laconic.model.comparison import Comparison, compare_with_dense
from laconic.model.estimator import SparsePCA
from laconic.model.penalty_path import PenaltyPath, penalty_path
from laconic.proof import UpperBound, prove
from laconic.relaxations.rows import RowLevels, RowLevelSolution
from laconic.search.auto import Auto
from laconic.search.problem import Problem, Solution
from laconic.studies.base import Settings, Study
from laconic.studies.curves import plot_curves
from laconic.studies.proofs import proved_by_tree
from laconic.studies.stocks_figures import (
    CAPTIONS,
    correlation,
    count_sectors,
    plot_gaps,
    plot_sectors,
    plot_stock_planes,
)
from laconic.studies.stocks_statements import Findings, Resampled, per_cent, statements

if TYPE_CHECKING:
    import pandas as pd

# The paper's cardinalities, and the deflation that gives the paper's numbers of stocks in each sector.
FIRST, SECOND = 32, 26
PAPER_DEFLATION = "hotelling"
# Ends a search that takes too long. The proofs of this study take about fifty nodes.
NODE_LIMIT = 200
# Each bound starts from the solution of the cardinality before. When the cardinality has grown by this factor, a bound
# starts without it, because the step size of the old solution no longer fits.
AFRESH = 1.3
BOUND = RowLevels(tolerance=1e-4, max_iterations=120)


@dataclass(frozen=True)
class _Size:
    """The size of the study.

    Cardinalities of the first component to draw (`cardinalities`), to bound (`bounds`) and to solve exactly (`proofs`),
    and cardinalities of the second component (`second`). The numbers of penalties and of resamples. The relaxation that
    gives the bounds.
    """

    cardinalities: tuple[int, ...]
    bounds: tuple[int, ...]
    proofs: tuple[int, ...]
    second: tuple[int, ...]
    penalties: int
    resamples: int
    relaxation: RowLevels


def _size(*, quick: bool) -> _Size:
    if quick:
        return _Size(
            cardinalities=(*range(1, 36), 100, 300),
            bounds=(10, FIRST, 300),
            proofs=(3, 5, 10),
            second=(24, 25, 26, 27),
            penalties=16,
            resamples=3,
            relaxation=replace(BOUND, max_iterations=40),
        )
    every = (*range(1, 61), *range(100, 470, 40), 470)
    return _Size(
        cardinalities=every,
        bounds=every[1:-1],
        proofs=(*range(2, 24), FIRST),
        second=tuple(range(1, 41)),
        penalties=80,
        resamples=30,
        relaxation=BOUND,
    )


def run(settings: Settings) -> Study:
    """Run the study: which few stocks explain most of the variance, and how close they are to the best choice.

    Parameters
    ----------
    settings
        Seed, size and monitor. With `quick` few bounds and proofs are computed. The prices are read from the folder in
        the environment variable LACONIC_DATA.
    """
    size = _size(quick=settings.quick)
    stocks = load_stocks()
    returns = stocks.log_returns()
    search = _Search(stocks, returns, settings, size)
    path = search.path(size.cardinalities)
    bounds = search.bounds(path, size.bounds)
    path = search.proved(path, bounds, size.proofs)
    settings.monitor.tick("stocks: cardinality against rho")
    penalties = penalty_path(returns, size.penalties)
    models = search.models()
    comparison = compare_with_dense(models[PAPER_DEFLATION], returns)
    deflations = search.deflations(models)
    findings = search.findings(path, penalties, models[PAPER_DEFLATION], comparison, deflations)
    figures = {
        "stocks-curves": plot_curves(path, penalties, noun="stock", marked=(FIRST, 300)),
        "stocks-sectors": plot_sectors(path, search.sectors, models),
        "stocks-planes": plot_stock_planes(models[PAPER_DEFLATION], comparison, search.sectors, returns.index),
        "stocks-gaps": plot_gaps(path, bounds),
    }
    return Study(
        name="stocks",
        title="Returns of the stocks in the S&P 500",
        summary=_summary(findings),
        seed=settings.seed,
        figures=figures,
        captions=CAPTIONS,
        tables={
            "stocks-path": path.to_frame(),
            "stocks-components": _component_table(stocks, models[PAPER_DEFLATION]),
            "stocks-deflations": deflations,
        },
        statements=statements(findings),
        facts={name: getattr(findings, name) for name in Findings.__dataclass_fields__},
    )


class _Search:
    """The returns, their covariance, and the computations of the study."""

    def __init__(self, stocks: StockPrices, returns: "pd.DataFrame", settings: Settings, size: _Size) -> None:
        self.returns, self.stocks, self.settings, self.size = returns, stocks, settings, size
        self.sectors = np.array(stocks.sectors)
        rows = returns.to_numpy()
        estimated, _ = covariance_of(rows)
        self.S: Floats = estimated.submatrix(np.arange(rows.shape[1]))
        self.covariance = DenseCovariance(self.S)

    def problem(self, cardinality: int, covariance: Covariance | None = None) -> Problem:
        chosen = self.covariance if covariance is None else covariance
        return Problem(chosen, cardinality, monitor=self.settings.monitor)

    def path(self, cardinalities: Iterable[int]) -> CardinalityPath:
        """Return the best supports found, from many starts at each cardinality. The greedy path gives one start."""
        cardinalities = tuple(cardinalities)
        greedy = cardinality_path(self.returns, max(cardinalities), method="greedy")
        solutions = []
        for k in cardinalities:
            self.settings.monitor.tick(f"stocks: {k} stocks")
            start = greedy.supports[k - 1]
            found = Auto(seed=self.settings.seed).solve(self.problem(k), start=start)
            solutions.append(max(found, greedy.solutions[k - 1], key=lambda solution: solution.value))
        return replace(greedy, cardinalities=np.array(cardinalities), solutions=solutions)

    def bounds(self, path: CardinalityPath, cardinalities: Iterable[int]) -> dict[int, UpperBound]:
        """Return the proved bounds of row levels by cardinality. Each solve starts from the solution before."""
        bounds: dict[int, UpperBound] = {}
        before: RowLevelSolution | None = None
        began = 0
        for k in cardinalities:
            self.settings.monitor.tick(f"stocks: bound for {k} stocks")
            if k > AFRESH * began:
                before, began = None, k
            before = self._bound(self.S, _at(path, k), k, before)
            bounds[k] = prove(self.covariance, k, before.witness())
        return bounds

    def _bound(self, S: Floats, known: Solution, k: int, start: RowLevelSolution | None = None) -> RowLevelSolution:
        vector = known.vector(len(S))
        return self.size.relaxation.solve(
            S, k, start=start, vector=vector, known=known.value, monitor=self.settings.monitor
        )

    def proved(self, path: CardinalityPath, bounds: dict[int, UpperBound], proofs: Iterable[int]) -> CardinalityPath:
        """Return the path with the bounds, and with the supports and bounds of branch and bound."""
        exact = BranchAndBound(node_limit=NODE_LIMIT, seed=self.settings.seed)
        solutions = {int(k): s for k, s in zip(path.cardinalities, path.solutions, strict=True)}
        for k, bound in bounds.items():
            solutions[k] = solutions[k].proved(bound)
        for k in proofs:
            self.settings.monitor.tick(f"stocks: proof for {k} stocks")
            before, problem = solutions[k], self.problem(k)
            found = exact.solve(problem, start=before.support)
            best = max(before, found, key=lambda solution: solution.value)
            if before.bound is not None:
                best = best.proved(before.bound)
            solutions[k] = proved_by_tree(problem, best, found)
        return replace(path, solutions=list(solutions.values()))

    def models(self) -> dict[str, SparsePCA]:
        """Return three components for each deflation. The orthogonalized deflations differ from the third on."""
        models = {}
        for kind in DEFLATIONS:
            self.settings.monitor.tick(f"stocks: components after {kind} deflation")
            model = SparsePCA(3, cardinality=[FIRST, SECOND, SECOND], deflation=kind, random_state=self.settings.seed)
            models[kind] = model.fit(self.returns)
        return models

    def deflations(self, models: dict[str, SparsePCA]) -> "pd.DataFrame":
        """Return a table with the results of each deflation."""
        import pandas as pd

        rows = []
        plain: dict[str, tuple[int, float, float]] = {}
        for kind, model in models.items():
            # An orthogonalized deflation removes the first component as the plain one does.
            rule = kind.removeprefix("orthogonalized-")
            if rule not in plain:
                self.settings.monitor.tick(f"stocks: second component after {rule} deflation")
                plain[rule] = self._second(model, rule)
            first, second, third = model.supports_
            pure_until, least, gap = plain[rule]
            rows.append(
                {
                    "deflation": kind,
                    "second": count_sectors(self.sectors[second]),
                    "third": count_sectors(self.sectors[third]),
                    "shared_with_first": len(np.intersect1d(first, second)),
                    "pure_until": pure_until,
                    "variance_of_three": float(model.explained_variance_ratio_.sum()),
                    "correlation_of_scores": correlation(model.transform(self.returns)),
                    "least_eigenvalue": least,
                    "second_gap": gap,
                }
            )
        return pd.DataFrame(rows)

    def _second(self, model: SparsePCA, kind: str) -> tuple[int, float, float]:
        """Return three numbers about the second component after a deflation.

        These are the largest cardinality with only Energy and Materials, the smallest eigenvalue of the deflated matrix
        in units of the largest variance, and the gap at the paper's cardinality.
        """
        left = Deflation(self.covariance, kind).remove(model.components_[0])
        matrix = left.submatrix(np.arange(len(self.S)))
        least = float(np.linalg.eigvalsh(matrix)[0] / self.S.diagonal().max())
        found = model.solutions_[1]
        return (
            self._pure_until(DenseCovariance(matrix)),
            least,
            found.proved(prove(left, SECOND, self._bound(matrix, found, SECOND).witness())).gap,
        )

    def _pure_until(self, covariance: Covariance) -> int:
        """Return the largest cardinality with only Energy and Materials; zero if there is none."""
        search = Auto(seed=self.settings.seed)
        supports = [search.solve(self.problem(k, covariance)).support for k in self.size.second]
        return max((len(s) for s in supports if set(self.sectors[s]) <= {"Energy", "Materials"}), default=0)

    def findings(
        self,
        path: CardinalityPath,
        penalties: PenaltyPath,
        model: SparsePCA,
        comparison: Comparison,
        deflations: "pd.DataFrame",
    ) -> Findings:
        """Return the numbers behind the statements."""
        self.settings.monitor.tick("stocks: 90 % of the dense component")
        financial = self.sectors == "Financials"
        mixed = _mixed_from(path, financial)
        entrant = next(self.stocks.names[i] for i in _at(path, mixed).support if not financial[i])
        others = [str(ticker) for ticker, inside in zip(self.stocks.tickers, financial, strict=True) if not inside]
        least = SparsePCA(min_variance=0.9, random_state=self.settings.seed).fit(self.returns)
        assert comparison.dense_scores is not None
        assert comparison.sparse_scores is not None
        proved = [int(k) for k, s in zip(path.cardinalities, path.solutions, strict=True) if s.gap <= 1e-6]
        return Findings(
            shape=self.stocks.prices.shape,
            sectors=len(set(self.stocks.sectors)),
            shares={k: float(_at(path, k).value / path.dense_variance) for k in (10, FIRST, 100, 300)},
            at_most_300=float(_at(path, 300).upper / path.dense_variance),
            ninety=len(least.supports_[0]),
            mixed_from=mixed,
            entrant=entrant,
            short={k: self._short(path, k, others) for k in (mixed, FIRST)},
            resampled=self._resampled(financial),
            mixed_penalized=_mixed_penalized(penalties, financial),
            first=count_sectors(self.sectors[_at(path, FIRST).support]),
            gaps={k: _at(path, k).gap for k in (10, FIRST, 100, 300) if k in self.size.bounds},
            proved=proved,
            second=count_sectors(self.sectors[model.supports_[1]]),
            shared=[self.stocks.names[i] for i in np.intersect1d(model.supports_[0], model.supports_[1])],
            deflations=deflations,
            dense_ranges=tuple(float(x) for x in np.ptp(comparison.dense_scores, axis=0)),
            sparse_ranges=tuple(float(x) for x in np.ptp(comparison.sparse_scores, axis=0)),
            dense_variance=float(comparison.dense_ratios[:2].sum()),
            sparse_variance=float(model.explained_variance_ratio_[:2].sum()),
            correlation=correlation(comparison.sparse_scores),
            without_market=self._without_market(comparison.sparse_scores),
        )

    def _resampled(self, financial: Mask) -> Resampled:
        """Return the ranges of three numbers over resamples of the days, with replacement."""
        rng = np.random.default_rng(self.settings.seed)
        rows = self.returns.to_numpy()
        entries, financials, ninety = [], [], []
        for _ in range(self.size.resamples):
            self.settings.monitor.tick("stocks: resampled days")
            again = rows[rng.integers(len(rows), size=len(rows))]
            path = cardinality_path(again, 2 * FIRST, method="greedy")
            entries.append(_mixed_from(path, financial))
            financials.append(int(financial[path.supports[FIRST - 1]].sum()))
            ninety.append(len(SparsePCA(min_variance=0.9, method="thresholding").fit(again).supports_[0]))
        return Resampled(len(entries), *((min(x), max(x)) for x in (entries, financials, ninety)))

    def _short(self, path: CardinalityPath, k: int, others: list[str]) -> float:
        """Return how much less variance the best k Financials have than the best k stocks, as a share."""
        financials = self.returns.drop(columns=others)
        alone = SparsePCA(cardinality=k, random_state=self.settings.seed).fit(financials)
        return 1 - float(alone.lower_bound_[0]) / _at(path, k).value

    def _without_market(self, scores: Floats) -> float:
        """Return the correlation of the scores after regression on the mean return of all stocks."""
        market = self.returns.to_numpy().mean(axis=1)
        market = market - market.mean()
        rest = scores - np.outer(market, market @ scores) / (market @ market)
        return correlation(rest)


def _at(path: CardinalityPath, cardinality: int) -> Solution:
    return path.solutions[int(np.flatnonzero(path.cardinalities == cardinality)[0])]


def _mixed_from(path: CardinalityPath, financial: Mask) -> int:
    """Return the smallest cardinality with a stock from another sector than Financials."""
    return next(int(k) for k, s in zip(path.cardinalities, path.supports, strict=True) if not financial[s].all())


def _mixed_penalized(penalties: PenaltyPath, financial: Mask) -> tuple[int, int]:
    """Return the largest cardinality of the l1 relaxation with only Financials, and the next larger cardinality."""
    found = sorted((len(s.support), bool(financial[s.support].all())) for s in penalties.solutions)
    pure = max(size for size, only in found if only)
    return pure, min(size for size, _ in found if size > pure)


def _component_table(stocks: StockPrices, model: SparsePCA) -> "pd.DataFrame":
    table = model.loadings().rename(columns={"feature": "ticker"})
    table = table[table["component"] <= 2]
    places = [stocks.tickers.index(str(ticker)) for ticker in table["ticker"]]
    return table.assign(company=[stocks.names[i] for i in places], sector=[stocks.sectors[i] for i in places])


def _summary(findings: Findings) -> str:
    days, n = findings.shape
    gaps = ", ".join(f"{per_cent(gap)} at {k} stocks" for k, gap in findings.gaps.items())
    return (
        f"The data are daily log returns of {n} stocks over {days} trading days. Which few stocks explain most of the "
        "variance, and from which sectors are they? We search from many starts, and row levels give upper bounds. At "
        f"{len(findings.proved)} cardinalities the stocks are the best (proved by branch and bound). The proved gap is "
        f"{gaps}."
    )
