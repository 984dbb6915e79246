"""The votes of the 109th Senate (section 4.2 of the paper)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from textwrap import fill, shorten
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from laconic.bounds.exact import BranchAndBound
from laconic.core.arrays import Floats
from laconic.covariance.deflation import DEFLATIONS
from laconic.datasets import Senate109, load_senate109
from laconic.model.cardinality_path import CardinalityPath, cardinality_path
from laconic.model.comparison import Comparison, compare_with_dense
from laconic.model.estimator import SparsePCA
from laconic.model.penalty_path import PenaltyPath, penalty_path
from laconic.report.plot import planes
from laconic.report.plot_parts import COLOURS, GREY, MARKERS, add_legend, marker_handle, tidy
from laconic.report.tables import percent
from laconic.search.problem import Status
from laconic.studies.base import Settings, Statement, Study
from laconic.studies.curves import plot_curves

if TYPE_CHECKING:
    import pandas as pd

PARTIES = {"D": "Democrat", "I": "Independent", "R": "Republican"}
# From the paper: the bills of its two components, and a cardinality with almost the variance of all bills.
FIRST = {"S. 1932", "S.Con.Res. 83", "S. 3930", "S. 403", "S. 397"}
SECOND = {"S. 1307", "H.R. 3045"}
ENOUGH = 19
# Number of directions of the line between the parties: one for each degree.
ANGLES = 360


@dataclass(frozen=True, eq=False)
class _Results:
    """The data and everything computed from them. `seconds` has the bills of the second component by deflation."""

    votes: Senate109
    frame: "pd.DataFrame"
    model: SparsePCA
    comparison: Comparison
    path: CardinalityPath
    penalties: PenaltyPath
    seconds: dict[str, set[str]]

    def bills(self, component: int) -> list[str]:
        """Return the bills of a component, largest loading first."""
        table = self.model.loadings()
        return [str(bill) for bill in table[table["component"] == component]["feature"]]


def run(settings: Settings) -> Study:
    """Run the study: which few bills have the largest variance, with a proof for every cardinality.

    Parameters
    ----------
    settings
        Seed, size and monitor. With `quick` the largest cardinality is 20, and fewer penalties are tried.
    """
    results = _compute(settings)
    votes, model, path = results.votes, results.model, results.path
    proved = [s.status is Status.OPTIMAL for s in path.solutions]
    sides = {"dense": results.comparison.dense_scores, "sparse": results.comparison.sparse_scores}
    misplaced = {kind: _misplaced(votes, scores) for kind, scores in sides.items() if scores is not None}
    facts: dict[str, object] = {
        "first": results.bills(1),
        "second": results.bills(2),
        "status": [s.status for s in model.solutions_],
        "second_by_deflation": results.seconds,
        "share_of_5": float(path.shares[4]),
        "share_of_19": float(path.shares[ENOUGH - 1]),
        "proved": proved,
        "most_stable": _most_stable(results.penalties),
        "misplaced": misplaced,
        "coinciding": _largest_groups(votes, results.comparison),
    }
    figures = {
        "senate-planes": planes(
            model,
            results.comparison,
            noun="bill",
            groups=[PARTIES[p] for p in votes.parties],
            labels=_short_names(votes),
        ),
        "senate-bills": _plot_bills(results),
        "senate-curves": plot_curves(path, results.penalties, noun="bill", marked=(5, ENOUGH)),
    }
    captions = {
        "senate-planes": "Senators in the plane of two dense components (all 48 bills on each axis) and of two sparse "
        "components (5 and 2 bills). The names are those of senators who are far from their party.",
        "senate-bills": "Share of yeas among the votes cast, in each party, for the bills of the two components.",
        "senate-curves": "Left: variance of the best sparse component against its cardinality. Filled points are "
        "optimal (proved). Right: cardinality of the l1 relaxation against the penalty rho.",
    }
    return Study(
        name="senate",
        title="Votes of the 109th US Senate",
        summary=_summary(results, proved),
        seed=settings.seed,
        figures=figures,
        captions=captions,
        tables={"senate-bills": _bill_table(results), "senate-path": path.to_frame()},
        statements=_statements(results, facts),
        facts=facts,
    )


def _compute(settings: Settings) -> _Results:
    monitor = settings.monitor
    votes = load_senate109()
    frame = votes.to_frame()
    exact = BranchAndBound(seed=settings.seed)
    monitor.tick("senate: two components, proved")
    model = SparsePCA(2, cardinality=[5, 2], method=exact).fit(frame)
    seconds = {}
    for deflation in DEFLATIONS:
        other = SparsePCA(2, cardinality=[5, 2], method=exact, deflation=deflation).fit(frame)
        seconds[deflation] = {str(frame.columns[i]) for i in other.supports_[1]}
    monitor.tick("senate: the best bills of every cardinality, proved")
    path = cardinality_path(frame, 20 if settings.quick else None, method=exact)
    monitor.tick("senate: cardinality against rho")
    penalties = penalty_path(frame, 30 if settings.quick else 80)
    return _Results(votes, frame, model, compare_with_dense(model, frame), path, penalties, seconds)


def _misplaced(votes: Senate109, scores: Floats) -> list[str]:
    """Return the senators on the wrong side of the line that separates the parties best. Ignore the Independent."""
    parties = np.array(votes.parties)
    voters = np.flatnonzero(parties != "I")
    republican = parties[voters] == "R"
    best, wrong = len(voters), np.zeros(len(voters), dtype=bool)
    for angle in np.linspace(0.0, 2 * np.pi, ANGLES, endpoint=False):
        along = np.round(scores[voters] @ np.array([np.cos(angle), np.sin(angle)]), 9)
        for threshold in np.unique(along):
            other_side = (along >= threshold) != republican
            if other_side.sum() < best:
                best, wrong = int(other_side.sum()), other_side
    return [votes.senators[i] for i in voters[wrong]]


def _largest_groups(votes: Senate109, comparison: Comparison) -> dict[str, int]:
    """Return for each large party the largest number of its senators that are at the same point of the sparse plane."""
    assert comparison.sparse_scores is not None
    parties = np.array(votes.parties)
    places = np.round(comparison.sparse_scores, 9)
    return {PARTIES[p]: int(np.unique(places[parties == p], axis=0, return_counts=True)[1].max()) for p in ("D", "R")}


def _most_stable(penalties: PenaltyPath) -> tuple[int, float, float]:
    """Return the cardinality from 3 to 24 with the widest range of rho on a logarithmic scale, and this range."""
    cardinalities = penalties.cardinalities
    best = (0, 1.0, 1.0)
    for cardinality in np.unique(cardinalities[(cardinalities > 2) & (cardinalities <= 24)]):
        reached = penalties.penalties[cardinalities == cardinality]
        if reached.max() / reached.min() > best[2] / best[1]:
            best = (int(cardinality), float(reached.min()), float(reached.max()))
    return best


def _short_names(votes: Senate109) -> list[str]:
    """Return last names, with the state for the two Nelsons."""
    last = [name.split(" (")[0] for name in votes.senators]
    return [
        f"{name} ({state})" if last.count(name) > 1 else name for name, state in zip(last, votes.states, strict=True)
    ]


def _title_of(votes: Senate109, bill: str) -> str:
    """Return a bill's title without its number."""
    return votes.titles[votes.feature_names.index(bill)].split("; ", 1)[1].rstrip(".")


def _yeas(votes: Senate109, bill: str, party: str) -> float:
    """Return the share of yeas among a party's votes on a bill."""
    cast = votes.data[np.array(votes.parties) == party, votes.feature_names.index(bill)]
    return float((cast > 0).sum() / (cast != 0).sum())


def _bill_table(results: _Results) -> "pd.DataFrame":
    table = results.model.loadings().rename(columns={"feature": "bill"})
    bills = [str(bill) for bill in table["bill"]]
    table["title"] = [_title_of(results.votes, bill) for bill in bills]
    for party in ("D", "R"):
        table[f"{PARTIES[party].lower()}_yeas"] = [_yeas(results.votes, bill, party) for bill in bills]
    return table


def _plot_bills(results: _Results) -> Figure:
    table = _bill_table(results)
    figure = Figure(figsize=(8.4, 5.6), layout="constrained")
    ax = figure.add_subplot()
    # The term with the component leaves a space between the bills of the two components.
    places = np.arange(len(table)) + 0.7 * (table["component"].to_numpy() - 1)
    titles = [fill(shorten(title, 88, placeholder=" ..."), 46) for title in table["title"]]
    names = [f"{bill}\n{title}" for bill, title in zip(table["bill"], titles, strict=True)]
    shares = 100 * table[["democrat_yeas", "republican_yeas"]].to_numpy()
    ax.hlines(places, shares.min(axis=1), shares.max(axis=1), color=GREY, linewidth=1.2, zorder=2)
    handles = []
    # Use the colours and markers of the other figure. There the order is Democrat, Independent, Republican.
    for column, order, party in ((0, 0, "Democrats"), (1, 2, "Republicans")):
        marker, colour = MARKERS[order][0], COLOURS[order]
        ax.plot(shares[:, column], places, linestyle="none", marker=marker, markersize=9, color=colour, zorder=3)
        handles.append(marker_handle(marker, colour, 8.0, party))
    ax.set_yticks(places, names, parse_math=False, fontsize=9)
    ax.set_ylim(places[-1] + 0.6, -0.6)
    for component in (1, 2):
        middle = places[table["component"] == component].mean()
        ax.text(1.05, middle, f"Component {component}", transform=ax.get_yaxis_transform(), rotation=270, va="center")
    ax.set_xlim(-3, 103)
    ax.set_xlabel("Yeas (% of the party's votes cast)")
    tidy(ax)
    ax.grid(visible=False, axis="y")
    add_legend(figure, handles, columns=2, loc="outside lower center")
    return figure


def _summary(results: _Results, proved: Sequence[bool]) -> str:
    n = len(proved)
    scope = f"every cardinality from 1 to {n}" if all(proved) else f"{sum(proved)} of {n} cardinalities"
    return (
        f"{len(results.votes.senators)} senators voted on the passage of {len(results.votes.titles)} bills "
        "(yea 1, nay -1, anything else 0). Which few bills show the division of the Senate as well as all bills? "
        "Branch and bound finds the supports of both components. No other five bills have a larger variance. Given "
        "those five, no other two have a larger variance in what is left. "
        f"We prove which bills are the best for {scope}."
    )


def _statements(results: _Results, facts: dict[str, object]) -> tuple[Statement, ...]:
    votes, path, model = results.votes, results.path, results.model
    misplaced = facts["misplaced"]
    coinciding = facts["coinciding"]
    stable, low, high = _most_stable(results.penalties)
    assert isinstance(misplaced, dict)
    assert isinstance(coinciding, dict)
    optimal = [s.status is Status.OPTIMAL for s in model.solutions_]
    alike = [name for name, bills in results.seconds.items() if bills == SECOND]
    gaps = [_yeas(votes, bill, "R") - _yeas(votes, bill, "D") for bill in (*results.bills(1), *results.bills(2))]
    all_votes = [_yeas(votes, bill, "R") - _yeas(votes, bill, "D") for bill in votes.feature_names]
    return (
        Statement(
            "101 senators and 48 bills of the 109th Senate. The paper gives the years 2000 to 2004.",
            f"{len(votes.senators)} senators, {len(votes.titles)} bills, votes from {min(votes.dates)} to "
            f"{max(votes.dates)}.",
            "differs because the 109th Senate met in 2005 and 2006. The bills are the paper's.",
        ),
        Statement(
            "In the plane of two dense components the parties are almost perfectly separated.",
            f"The line that separates them best has {len(misplaced['dense'])} of 100 senators on the wrong side: "
            f"{', '.join(misplaced['dense'])}.",
            "agrees",
        ),
        Statement(
            "In the plane of two sparse components of 5 and 2 bills they are still separated.",
            f"The line that separates them best has {len(misplaced['sparse'])} of 100 senators on the wrong side: "
            f"{', '.join(misplaced['sparse'])}.",
            "agrees",
        ),
        Statement(
            "Many Republicans coincide there, and many Democrats coincide, too.",
            f"{coinciding['Republican']} Republicans are at one point, and {coinciding['Democrat']} Democrats are at "
            "another.",
            "agrees",
        ),
        Statement(
            "The first sparse component is S. 1932, S.Con.Res. 83, S. 3930, S. 403 and S. 397.",
            f"{', '.join(results.bills(1))}: {percent(path.shares[4])} of the dense component's variance.",
            _bills_verdict(set(results.bills(1)) == FIRST, optimal[0], f"of all {comb(48, 5):,} sets of five"),
        ),
        Statement(
            "The second is H.R. 3045 and S. 1307. Both are about the free trade agreement with Central America.",
            f"{', '.join(results.bills(2))}. {len(alike)} of the {len(results.seconds)} deflations give this pair.",
            _bills_verdict(set(results.bills(2)) == SECOND, optimal[1], f"of all {comb(48, 2):,} pairs"),
        ),
        Statement(
            "The parties differ on abortion, the military, the budget and free trade.",
            f"On these bills the parties' shares of yeas differ by {100 * min(gaps):.0f} to {100 * max(gaps):.0f} "
            f"points. On the median bill they differ by {100 * float(np.median(np.abs(all_votes))):.0f} points. The "
            "liability of gun makers (S. 397) belongs to the list, too. Free trade also divides each party and has a "
            "component of its own.",
            "agrees",
        ),
        Statement(
            "19 of 48 bills have almost the variance of all bills.",
            f"{ENOUGH} bills have {percent(path.shares[ENOUGH - 1])} of it.",
            "better: the bills of this cardinality, and of every other in the figure, are the best (proved)."
            if all(s.status is Status.OPTIMAL for s in path.solutions)
            else "agrees",
        ),
        Statement(
            "The cardinality decreases as the penalty rho increases (a figure).",
            f"It decreases from {results.penalties.cardinalities[0]} to {results.penalties.cardinalities[-1]}. It is "
            f"{stable} over the widest range of rho, from {low:.2g} to {high:.2g}.",
            "agrees",
        ),
    )


def _bills_verdict(same: bool, proved: bool, choices: str) -> str:
    if not same:
        return "differs because other bills have a larger variance."
    return f"better: the same bills. They are the best {choices} (proved)." if proved else "agrees"
