"""What the paper says of the stock market, beside what is found."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from laconic.core.limits import PROVED
from laconic.studies.base import Statement

if TYPE_CHECKING:
    import pandas as pd

PLAIN = ("hotelling", "projection", "schur")
PAPER_FIRST = "31 Financials"
PAPER_SECOND = {"Energy and Materials": 23, "Financials": 2, "Information Technology": 1}


@dataclass(frozen=True)
class Resampled:
    """Ranges of numbers over days drawn again with replacement.

    Attributes
    ----------
    times
        How often.
    entry
        The cardinality at which the first stock that is not of Financials enters, by greedy search.
    financials
        How many of 32 stocks are Financials, by greedy search.
    ninety
        The fewest stocks that reach 90 %, by thresholding.
    """

    times: int
    entry: tuple[int, int]
    financials: tuple[int, int]
    ninety: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Findings:
    """The numbers that the statements are about.

    Attributes
    ----------
    shape
        Days and stocks.
    sectors
        How many there are.
    shares
        Of the dense component's variance, by cardinality.
    at_most_300
        The share that no 300 stocks exceed, proved.
    ninety
        The fewest stocks found that reach 90 %.
    mixed_from, entrant
        The cardinality at which the first stock that is not of Financials enters, and its company.
    short
        By what share Financials alone fall short of the best, by cardinality.
    resampled
        What becomes of these numbers with other days.
    mixed_penalized
        For the l1 relaxation with a penalty: the largest cardinality met with Financials alone, and the next.
    first, second
        Sectors of the two components.
    gaps
        Proved relative gaps, by cardinality.
    proved
        Cardinalities whose support is proved best.
    shared
        Companies in both components.
    deflations
        The table of deflations.
    dense_ranges, sparse_ranges
        Of the scores on the first and second component.
    dense_variance, sparse_variance
        The share of the total variance that two components explain together.
    correlation, without_market
        Of the scores on the two sparse components, before and after the mean return of all stocks is taken out.
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
    """Return a share as a percentage with two significant digits, down to what counts as a proof of optimality."""
    return f"below {100 * PROVED:g} %" if share <= PROVED else f"{100 * share:.2g} %"


def statements(f: Findings) -> tuple[Statement, ...]:
    """Return the paper's statements, each with its verdict.

    Parameters
    ----------
    f
        What was found.
    """
    return (*_first(f), *_second(f), *_plane(f))


def _first(f: Findings) -> tuple[Statement, ...]:
    days, n = f.shape
    enough = f.at_most_300 >= 0.9
    beyond = "proved: no 300 stocks reach 90 %" if not enough else "whether 300 reach 90 % is open"
    paths = ", ".join(f"{100 * share:.1f} % with {k}" for k, share in f.shares.items())
    proved = set(range(2, f.mixed_from + 1)) <= set(f.proved)
    return (
        Statement(
            "472 stocks, 1259 trading days, ten sectors.",
            f"{n} stocks, {days} days, {f.sectors} sectors.",
            f"differs because the prices of {472 - n} stocks, and the paper's own, are not to be had",
        ),
        Statement(
            "The variance has no kink as the cardinality grows.",
            f"It grows steadily: {paths}.",
            "agrees",
        ),
        Statement(
            "Almost 300 stocks are needed for 90 % of the dense component's variance.",
            f"{f.ninety} stocks found; 300 have {100 * f.shares[300]:.1f} %, and at most {100 * f.at_most_300:.1f} %: "
            f"{beyond}.",
            "differs because the stocks and prices are not the paper's; what of them matters is not known: with the "
            f"days drawn again {f.resampled.times} times the number is {_range(f.resampled.ninety)}",
        ),
        Statement(
            "Only Financials take part until, at cardinality 32, another sector appears.",
            f"{f.entrant} enters at {f.mixed_from}{' (each support up to there is proved best)' if proved else ''}. "
            f"Financials alone fall short by {per_cent(f.short[f.mixed_from])} there and by {per_cent(f.short[32])} at "
            f"32. With the l1 penalty Financials are alone up to {f.mixed_penalized[0]} stocks, and no more at "
            f"{f.mixed_penalized[1]}.",
            "differs because the number depends on the data at hand, and the prices are not the paper's: with the days "
            f"drawn again {f.resampled.times} times it is {_range(f.resampled.entry)}",
        ),
        Statement(
            "31 of the 32 stocks are Financials.",
            f"{f.first}. With the days drawn again {_range(f.resampled.financials)} Financials.",
            _first_verdict(f),
        ),
    )


def _first_verdict(f: Findings) -> str:
    if not f.first.startswith(PAPER_FIRST):
        return "differs because the prices are not the paper's"
    return "better: the same count, proved to be the best 32 stocks" if 32 in f.proved else "agrees"


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
            "The same guideline gives the second component 26 stocks.",
            f"The largest cardinality with Energy and Materials alone is {pure}.",
            f"differs because it depends on the deflation: {' and '.join(meets)} gives 26; Hotelling's, which alone "
            "gives the sectors of the next line, has Financials from the start"
            if meets and "hotelling" not in meets
            else "agrees"
            if meets
            else "differs because the prices are not the paper's",
        ),
        Statement(
            "Its 26 stocks are of Energy and Materials except 2 of Financials and 1 of Information Technology.",
            f"{by_kind}; proved within {per_cent(max(rows[kind]['second_gap'] for kind in PLAIN))} of the best. "
            "The two orthogonalized deflations differ from their plain ones only from the third component on.",
            "agrees" if same else "differs because the prices are not the paper's",
        ),
        Statement(
            "The two components have 32 and another, distinct 26 stocks: 58 in all.",
            f"With Hotelling's deflation {58 - len(f.shared)}, as {' and '.join(f.shared) or 'none'} are in both; with "
            f"projection {58 - rows['projection']['shared_with_first']}, but then no Financials in the second.",
            "differs because here no deflation gives both distinct stocks and the 2 Financials"
            if f.shared
            else "agrees",
        ),
    )


def _plane(f: Findings) -> tuple[Statement, ...]:
    larger = all(dense > sparse for dense, sparse in zip(f.dense_ranges, f.sparse_ranges, strict=True))
    ranges = ", ".join(f"{d:.2f} and {s:.2f}" for d, s in zip(f.dense_ranges, f.sparse_ranges, strict=True))
    return (
        Statement(
            "Two dense components explain more variance, as the larger range of their axes shows.",
            f"{100 * f.dense_variance:.1f} % of the total variance against {100 * f.sparse_variance:.1f} %. Ranges "
            f"dense and sparse, axis by axis: {ranges}.",
            "agrees"
            if larger
            else "differs because the second axis has the larger range in the sparse plane: sparse components are "
            "correlated, and the second holds variance of the first again",
        ),
        Statement(
            "In the dense plane the days lie symmetrically, in the sparse plane they have an orientation: Financials "
            "and Energy with Materials are positively correlated.",
            f"Correlation 0 by construction against {f.correlation:.2f}. Without the mean return of all stocks it is "
            f"{f.without_market:.2f}: the orientation is the market's, and apart from it the two move against each "
            "other.",
            "agrees" if f.correlation > 0.3 else "differs because the prices are not the paper's",
        ),
        Statement(
            "The key role of the Financial sector in the crisis is revealed by the data alone.",
            f"The best 10 stocks, and {f.first.split()[0]} of the best 32, are Financials; sectors were not used.",
            "agrees",
        ),
    )


def _range(ends: tuple[int, int]) -> str:
    return f"{ends[0]} to {ends[1]}"


def _counted(text: str) -> list[tuple[str, int]]:
    """Return sectors and numbers from "16 Energy, 7 Materials"."""
    parts = [part.split(" ", 1) for part in text.split(", ")]
    return [(sector, int(number)) for number, sector in parts]
