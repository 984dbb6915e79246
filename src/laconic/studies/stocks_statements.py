"""The paper's statements about the stock market, and our results."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from laconic.core.arrays import PROVED
from laconic.studies.base import Statement, share_reached

if TYPE_CHECKING:
    import pandas as pd

PLAIN = ("hotelling", "projection", "schur")
PAPER_FIRST = "31 Financials"
PAPER_SECOND = {"Energy and Materials": 23, "Financials": 2, "Information Technology": 1}


@dataclass(frozen=True)
class Resampled:
    """Smallest and largest values over resamples of the days, with replacement.

    Attributes
    ----------
    times
        The number of resamples.
    entry
        The smallest cardinality with a stock from another sector than Financials, by greedy search.
    financials
        The number of Financials among 32 stocks, by greedy search.
    ninety
        The fewest stocks that reach 90 %, by thresholding.
    """

    times: int
    entry: tuple[int, int]
    financials: tuple[int, int]
    ninety: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Findings:
    """The numbers behind the statements.

    Attributes
    ----------
    shape
        The number of days and of stocks.
    sectors
        The number of sectors.
    shares
        Shares of the dense component's variance, by cardinality.
    at_most_300
        An upper bound on the share of any 300 stocks.
    ninety
        The fewest stocks found that reach 90 %.
    mixed_from, entrant
        The smallest cardinality with a stock from another sector than Financials, and the company of this stock.
    short
        How much less variance the best Financials have than the best stocks, as a share, by cardinality.
    resampled
        The ranges of such numbers over resamples of the days.
    mixed_penalized
        For the l1 relaxation with a penalty: the largest cardinality found with only Financials, and the next larger
        cardinality found.
    first, second
        The numbers of stocks in each sector, for the two components.
    gaps
        Proved gaps, by cardinality.
    proved
        Cardinalities at which the support is proved optimal.
    shared
        Companies in both components.
    deflations
        The table of deflations.
    dense_ranges, sparse_ranges
        The ranges of the scores on the first and the second component.
    dense_variance, sparse_variance
        The share of the total variance that two components explain together.
    correlation, without_market
        The correlation of the scores on the two sparse components, before and after regression on the mean return of
        all stocks.
    """

    shape: tuple[int, int]
    sectors: int
    shares: dict[int, float]
    at_most_300: float
    ninety: int
    mixed_from: int
    entrant: str
    short: dict[int, float]
    resampled: Resampled
    mixed_penalized: tuple[int, int]
    first: str
    second: str
    gaps: dict[int, float]
    proved: list[int]
    shared: list[str]
    deflations: "pd.DataFrame"
    dense_ranges: tuple[float, ...]
    sparse_ranges: tuple[float, ...]
    dense_variance: float
    sparse_variance: float
    correlation: float
    without_market: float


def per_cent(share: float) -> str:
    """Return a share as a percentage with two significant digits. A gap that counts as optimal is 0.

    Parameters
    ----------
    share
        A share or a gap.
    """
    return "0 %" if share <= PROVED else f"{100 * share:.2g} %"


def statements(f: Findings) -> tuple[Statement, ...]:
    """Return the paper's statements, each with our result and a verdict.

    Parameters
    ----------
    f
        Our results.
    """
    return (*_first(f), *_second(f), *_plane(f))


def _first(f: Findings) -> tuple[Statement, ...]:
    days, n = f.shape
    enough = f.at_most_300 >= 0.9
    beyond = "We do not know whether 300 stocks can reach 90 %." if enough else "No 300 stocks reach 90 %."
    paths = ", ".join(f"{100 * share:.1f} % with {k}" for k, share in f.shares.items())
    proved = set(range(2, f.mixed_from + 1)) <= set(f.proved)
    return (
        Statement(
            "472 stocks, 1259 trading days, ten sectors.",
            f"{n} stocks, {days} days, {f.sectors} sectors.",
            f"differs because the prices of {472 - n} stocks, and the paper's own prices, are not available.",
        ),
        Statement(
            "The variance has no kink as the cardinality grows.",
            f"It grows steadily: {paths}.",
            "agrees",
        ),
        Statement(
            "Almost 300 stocks are needed for 90 % of the dense component's variance.",
            f"We find {f.ninety} stocks. The best 300 that we find have {100 * f.shares[300]:.1f} %. At most "
            f"{100 * f.at_most_300:.1f} % are possible with 300 (proved). {beyond}",
            "differs because the stocks and prices are not the paper's. We do not know which difference matters. In "
            f"{f.resampled.times} resamples of the days the number is {_range(f.resampled.ninety)}.",
        ),
        Statement(
            "All stocks are Financials until another sector enters at cardinality 32.",
            f"{f.entrant} enters at cardinality {f.mixed_from}."
            + (" The supports up to this cardinality are the best (proved)." if proved else "")
            + f" The best set of Financials alone has {per_cent(f.short[f.mixed_from])} less variance at "
            f"{f.mixed_from}, and {per_cent(f.short[32])} less at 32. With the l1 penalty all stocks are Financials up "
            f"to {f.mixed_penalized[0]} stocks. At {f.mixed_penalized[1]} another sector has entered.",
            "differs because the cardinality depends on the data, and the prices are not the paper's. In "
            f"{f.resampled.times} resamples of the days it is {_range(f.resampled.entry)}.",
        ),
        Statement(
            "31 of the 32 stocks are Financials.",
            f"{f.first}. In resamples of the days the number of Financials is {_range(f.resampled.financials)}.",
            _first_verdict(f),
        ),
    )


def _first_verdict(f: Findings) -> str:
    if not f.first.startswith(PAPER_FIRST):
        return "differs because the prices are not the paper's."
    return "better: the number is the same, and these are the best 32 stocks (proved)." if 32 in f.proved else "agrees"


def _second(f: Findings) -> tuple[Statement, ...]:
    rows: dict[str, Any] = {row["deflation"]: row for row in f.deflations.to_dict("records")}
    by_kind = "; ".join(f"{kind}: {rows[kind]['second']}" for kind in PLAIN)
    pure = ", ".join(f"{rows[kind]['pure_until']} ({kind})" for kind in PLAIN)
    meets = [kind for kind in PLAIN if rows[kind]["pure_until"] == 25]
    counts = dict(_counted(f.second))
    energy = counts.pop("Energy", 0) + counts.pop("Materials", 0)
    same = {"Energy and Materials": energy, **counts} == PAPER_SECOND
    return (
        Statement(
            "By the same rule (stop when another sector enters) the second component has 26 stocks.",
            f"The largest cardinality with only Energy and Materials is {pure}.",
            f"differs because it depends on the deflation. The {' and '.join(meets)} deflation gives 26. Only "
            "Hotelling's deflation gives the sectors of the next row, but it has Financials from the start."
            if meets and "hotelling" not in meets
            else "agrees"
            if meets
            else "differs because the prices are not the paper's.",
        ),
        Statement(
            "23 of its 26 stocks are from Energy and Materials, 2 from Financials and 1 from Information Technology.",
            f"{by_kind}. Each reaches at least {share_reached(max(rows[kind]['second_gap'] for kind in PLAIN))} of the "
            "best possible variance (proved). The two orthogonalized deflations differ from the plain ones only from "
            "the third component on.",
            "agrees" if same else "differs because the prices are not the paper's.",
        ),
        Statement(
            "The two components have 32 and 26 different stocks: 58 in all.",
            f"With Hotelling's deflation there are {58 - len(f.shared)} stocks: {' and '.join(f.shared) or 'none'} "
            f"{'is' if len(f.shared) < 2 else 'are'} in both components. With projection there are "
            f"{58 - rows['projection']['shared_with_first']}, but the second component has no Financials.",
            "differs because no deflation gives both different stocks and 2 Financials in the second component."
            if f.shared
            else "agrees",
        ),
    )


def _plane(f: Findings) -> tuple[Statement, ...]:
    larger = all(dense > sparse for dense, sparse in zip(f.dense_ranges, f.sparse_ranges, strict=True))
    ranges = ", ".join(f"{d:.2f} and {s:.2f}" for d, s in zip(f.dense_ranges, f.sparse_ranges, strict=True))
    return (
        Statement(
            "Two dense components explain more variance. The larger range of their axes shows this.",
            f"They explain {100 * f.dense_variance:.1f} % of the total variance, the sparse ones "
            f"{100 * f.sparse_variance:.1f} %. Ranges of the scores, dense and sparse, for the first and the second "
            f"component: {ranges}.",
            "agrees"
            if larger
            else "differs because the range of the second sparse component is larger. Sparse components are "
            "correlated. The second component explains part of the first one's variance again.",
        ),
        Statement(
            "The days are symmetric in the dense plane. In the sparse plane they have an orientation: Financials are "
            "positively correlated with Energy and Materials.",
            f"The correlation of dense scores is always 0. That of the sparse scores is {f.correlation:.2f}. After "
            f"regression on the mean return of all stocks it is {f.without_market:.2f}. The orientation comes from the "
            "whole market." + (" Without it, the two are negatively correlated." if f.without_market < 0 else ""),
            "agrees" if f.correlation > 0.3 else "differs because the prices are not the paper's.",
        ),
        Statement(
            "The data alone show the key role of the Financial sector in the crisis.",
            f"The best 10 stocks, and {f.first.split()[0]} of the best 32, are Financials. We did not use the sectors "
            "to find them.",
            "agrees",
        ),
    )


def _range(ends: tuple[int, int]) -> str:
    return f"between {ends[0]} and {ends[1]}"


def _counted(text: str) -> list[tuple[str, int]]:
    """Return pairs of a sector and its number, from a text such as "16 Energy, 7 Materials"."""
    parts = [part.split(" ", 1) for part in text.split(", ")]
    return [(sector, int(number)) for number, sector in parts]
