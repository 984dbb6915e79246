"""The votes of the 109th Senate (section 4.2 of the paper): which few bills have the largest variance."""

from math import comb
from textwrap import fill, shorten

import numpy as np

import studies.common as common
from laconic import SparsePCA
from laconic.datasets import load_senate109

# From the paper: the bills of its two components, and a cardinality with almost the variance of all bills.
FIRST = {"S. 1932", "S.Con.Res. 83", "S. 3930", "S. 403", "S. 397"}
SECOND = {"S. 1307", "H.R. 3045"}
ENOUGH = 19
PARTIES = {"D": "Democrats", "I": "Independent", "R": "Republicans"}


def run(*, quick=False, seed=0):
    """Run the study. With `quick` the largest cardinality is 20, and fewer penalties are tried."""
    votes = load_senate109()
    frame, names = votes.frame, list(votes.feature_names)
    S = np.cov(votes.data, rowvar=False)
    parties = np.array(votes.parties)
    common.say("two components after each deflation")
    models = {
        kind: SparsePCA(2, cardinality=[5, 2], proof="tight", deflation=kind).fit(frame) for kind in common.DEFLATIONS
    }
    model = models["projection"]
    first, second = (common.by_loading(z, names) for z in model.components_)
    common.say("the best bills of every cardinality")
    path = common.curve_of(S, range(1, 21 if quick else 49), proof="tight")
    penalties, supports = common.penalized(S, 30 if quick else 80)
    centred = votes.data - votes.data.mean(axis=0)
    dense = centred @ np.linalg.svd(centred)[2][:2].T
    dense *= np.where(dense[parties == "R"].mean(axis=0) < 0, -1, 1)
    sparse = model.transform(frame)
    misplaced = {"dense": _misplaced(parties, dense), "sparse": _misplaced(parties, sparse)}
    at_one_point = {
        p: int(np.unique(sparse[parties == p].round(9), axis=0, return_counts=True)[1].max()) for p in ("D", "R")
    }
    table = model.loadings().rename(columns={"feature": "bill"})
    titles = dict(zip(names, (title.split("; ", 1)[1].rstrip(".") for title in votes.titles), strict=True))
    table["title"] = table["bill"].map(titles)
    yeas = {p: (votes.data[parties == p] > 0).sum(0) / (votes.data[parties == p] != 0).sum(0) for p in ("D", "R")}
    places = [names.index(bill) for bill in table["bill"]]
    table["democrat_yeas"], table["republican_yeas"] = yeas["D"][places], yeas["R"][places]
    facts = {
        "first": first,
        "second": second,
        "gaps": model.gap_.tolist(),
        "second_by_deflation": {kind: {names[i] for i in m.supports_[1]} for kind, m in models.items()},
        "shares": path.values / path.dense,
        "proved": (path.gaps <= common.PROVED).tolist(),
        "most_stable": _most_stable(penalties, np.array([len(s) for s in supports])),
        "sizes": [len(s) for s in supports],
        "misplaced": {kind: [votes.senators[i] for i in rows] for kind, rows in misplaced.items()},
        "coinciding": at_one_point,
        "differences": yeas["R"] - yeas["D"],
        "places": places,
    }
    last = [name.split(" (")[0] for name in votes.senators]
    labels = {i: last[i] for i in {*misplaced["dense"], *misplaced["sparse"]}}
    axes = [
        ("PCA: 48 bills on each axis", "Component 1", "Component 2"),
        ("Sparse PCA: 5 and 2 bills", f"Component 1: {', '.join(first)}", f"Component 2: {', '.join(second)}"),
    ]
    groups = np.array([PARTIES[p] for p in parties])
    n = len(path.sizes)
    f"every cardinality from 1 to {n}" if all(facts["proved"]) else f"{sum(facts['proved'])} of {n}"
    return common.Study(
        name="senate",
        title="Votes of the 109th US Senate",
        seed=seed,
        statements=_statements(votes, facts),
        figures={
            "senate-planes": common.plot_planes(dense, sparse, groups, labels, axes),
            "senate-bills": _plot_bills(table),
            "senate-curves": common.plot_curves(path, penalties, supports, noun="bill", marked=(5, ENOUGH)),
        },
        tables={"senate-bills": table, "senate-path": path.to_frame(names)},
        facts=facts,
    )


def _misplaced(parties, scores):
    """Return the senators on the wrong side of the line that separates the parties best. Ignore the Independent."""
    voters = np.flatnonzero(parties != "I")
    republican = parties[voters] == "R"
    wrong = np.ones(len(voters), dtype=bool)
    for angle in np.deg2rad(np.arange(360)):
        along = np.round(scores[voters] @ [np.cos(angle), np.sin(angle)], 9)
        for threshold in np.unique(along):
            wrong = min(wrong, (along >= threshold) != republican, key=np.sum)
    return voters[wrong]


def _most_stable(penalties, sizes):
    """Return the cardinality from 3 to 24 with the widest range of rho on a logarithmic scale, and this range."""
    ranges = [(k, penalties[sizes == k]) for k in np.unique(sizes[(sizes > 2) & (sizes <= 24)])]
    k, reached = max(ranges, key=lambda pair: pair[1].max() / pair[1].min())
    return int(k), float(reached.min()), float(reached.max())


def _statements(votes, f):
    wrong = {
        kind: f"The line that separates them best has {len(who)} of 100 senators on the wrong side: "
        + ", ".join(who)
        + "."
        for kind, who in f["misplaced"].items()
    }
    stable, low, high = f["most_stable"]
    alike = sum(bills == SECOND for bills in f["second_by_deflation"].values())
    gaps = 100 * f["differences"]
    chosen = gaps[f["places"]]
    return [
        (
            "101 senators and 48 bills of the 109th Senate. The paper gives the years 2000 to 2004.",
            f"{len(votes.senators)} senators, {len(votes.titles)} bills, votes from {min(votes.dates)} to "
            f"{max(votes.dates)}.",
            "differs because the 109th Senate met in 2005 and 2006. The bills are the paper's.",
        ),
        (
            "In the plane of two ordinary components the parties are almost perfectly separated.",
            wrong["dense"],
            "agrees" if len(f["misplaced"]["dense"]) < 10 else "differs because many senators are on the wrong side.",
        ),
        (
            "In the plane of two sparse components of 5 and 2 bills they are still separated.",
            wrong["sparse"],
            "agrees" if len(f["misplaced"]["sparse"]) < 10 else "differs because many senators are on the wrong side.",
        ),
        (
            "Many Republicans coincide there, and many Democrats coincide, too.",
            f"{f['coinciding']['R']} Republicans are at one point, and {f['coinciding']['D']} Democrats are at "
            "another.",
            "agrees" if min(f["coinciding"].values()) > 10 else "differs because few senators coincide.",
        ),
        (
            "The first sparse component is S. 1932, S.Con.Res. 83, S. 3930, S. 403 and S. 397.",
            f"{', '.join(f['first'])}: {100 * f['shares'][4]:.1f} % of the ordinary component's variance.",
            _verdict(set(f["first"]) == FIRST, f["gaps"][0], f"of all {comb(48, 5):,} sets of five"),
        ),
        (
            "The second is H.R. 3045 and S. 1307. Both are about the free trade agreement with Central America.",
            f"{', '.join(f['second'])}. {alike} of the {len(f['second_by_deflation'])} deflations give this pair.",
            _verdict(set(f["second"]) == SECOND, f["gaps"][1], f"of all {comb(48, 2):,} pairs"),
        ),
        (
            "The parties differ on abortion, the military, the budget and free trade.",
            f"On these bills the parties' shares of yeas differ by {chosen.min():.0f} to {chosen.max():.0f} points. On "
            f"the median bill they differ by {np.median(np.abs(gaps)):.0f} points. The liability of gun makers (S. "
            "397) belongs to the list, too. Free trade also divides each party and has a component of its own.",
            "agrees"
            if chosen.min() > np.median(np.abs(gaps))
            else "differs because the parties agree on some of them.",
        ),
        (
            "19 of 48 bills have almost the variance of all bills.",
            f"{ENOUGH} bills have {100 * f['shares'][ENOUGH - 1]:.1f} % of it.",
            "better: the bills of this cardinality, and of every other in the figure, are the best (proved)."
            if all(f["proved"])
            else "agrees",
        ),
        (
            "The cardinality decreases as the penalty rho increases (a figure).",
            f"It decreases from {f['sizes'][0]} to {f['sizes'][-1]}. It is {stable} over the widest range of rho, from "
            f"{low:.2g} to {high:.2g}.",
            "agrees" if f["sizes"][0] > f["sizes"][-1] else "differs because it increases.",
        ),
    ]


def _verdict(same, gap, choices):
    if not same:
        return "differs because other bills have a larger variance."
    return f"better: the same bills. They are the best {choices} (proved)." if gap <= common.PROVED else "agrees"


def _plot_bills(table):
    figure, (ax,) = common.panels(8.4, 5.6)
    # The term with the component leaves a space between the bills of the two components.
    places = np.arange(len(table)) + 0.7 * (table["component"].to_numpy() - 1)
    titles = [fill(shorten(title, 88, placeholder=" ..."), 46) for title in table["title"]]
    shares = 100 * table[["democrat_yeas", "republican_yeas"]].to_numpy()
    ax.hlines(places, shares.min(axis=1), shares.max(axis=1), color=common.GREY, linewidth=1.2)
    ax.plot(shares[:, 0], places, "o", markersize=8, color=common.COLOURS[0], label="Democrats")
    ax.plot(shares[:, 1], places, "s", markersize=8, color=common.COLOURS[2], label="Republicans")
    ax.set_yticks(places, [f"{bill}\n{title}" for bill, title in zip(table["bill"], titles, strict=True)], fontsize=9)
    ax.set_ylim(places[-1] + 0.6, -0.6)
    ax.set_xlim(-3, 103)
    ax.set_xlabel("Yeas (% of the party's votes cast)")
    common.tidy(ax, grid="x")
    common.legend_below(figure, [ax], 2)
    return figure
