"""What the studies share: the page, calls of laconic that several studies make, sentences and pictures."""

import math
import sys
import warnings
from dataclasses import dataclass
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from laconic import SparsePCA
from laconic import path as path_of_model
from laconic.covariance import DenseCovariance
from laconic.methods import Dspca
from laconic.proof import Estimate
from laconic.relaxations.elementary import elementary_bounds
from laconic.relaxations.rows import RowLevels
from laconic.search.problem import Problem

COLOURS = ("#004488", "#DDAA33", "#BB5566", "#000000", "#66AADD", "#999999")
INK, GREY, PALE = "#222222", "#777777", "#BBBBBB"
DEFLATIONS = ("hotelling", "projection", "schur", "orthogonalized-hotelling", "orthogonalized-projection")
# A relative gap that counts as closed.
PROVED = 1e-6


@dataclass(frozen=True, eq=False)
class Study:
    """The result of a study.

    `statements` are triples: a statement of the paper, our result, and the verdict "agrees", "differs because ..." or
    "better: ...". `figures` and `tables` have file names as keys. `facts` are results for tests.
    """

    name: str
    title: str
    seed: int
    statements: list
    figures: dict
    tables: dict
    facts: dict

    def __post_init__(self):
        for _, _, verdict in self.statements:
            if verdict != "agrees" and not verdict.startswith(("differs because ", "better: ")):
                raise ValueError(f"verdict={verdict!r} must be 'agrees', 'differs because ...' or 'better: ...'.")

    def write(self, directory):
        """Write figures (PNG and SVG), tables (CSV) and a page (Markdown); return the path of the page."""
        directory.mkdir(parents=True, exist_ok=True)
        lines = [f"# {self.title}", "", f"`python -m studies {self.name}`, seed {self.seed}.", ""]
        lines += ["| the paper | here | |", "|---|---|---|"]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in self.statements]
        for name, figure in self.figures.items():
            figure.savefig(directory / f"{name}.png", dpi=160)
            figure.savefig(directory / f"{name}.svg", metadata={"Date": None})  # The same run writes the same file.
            lines += ["", f"![{name}]({name}.png)"]
        for name, table in self.tables.items():
            table.to_csv(directory / f"{name}.csv", index=False, float_format="%.6g")
        lines += ["", "Tables: " + ", ".join(f"[{name}]({name}.csv)" for name in self.tables) + ".", ""]
        page = directory / "README.md"
        page.write_text("\n".join(lines), encoding="utf-8")
        return page


@dataclass(frozen=True, eq=False)
class Curve:
    """Components of several cardinalities, the largest variance found and its proved bound; `dense`: ordinary PCA."""

    sizes: np.ndarray
    supports: list
    values: np.ndarray
    uppers: np.ndarray
    dense: float

    @property
    def gaps(self):
        """The relative gaps, (bound - value) / value."""
        return self.uppers / self.values - 1

    def at(self, size):
        """Return the place of a cardinality."""
        return int(np.flatnonzero(self.sizes == size)[0])

    def to_frame(self, names):
        return pd.DataFrame(
            {
                "cardinality": self.sizes,
                "value": self.values,
                "share": self.values / self.dense,
                "upper_bound": self.uppers,
                "features": [", ".join(str(names[i]) for i in support) for support in self.supports],
            }
        )


class RowLevelProof:
    """A bound of one's own for `proof=`: the relaxation with row levels, and bounds that cost almost nothing."""

    def __init__(self, **settings):
        self.relaxation = RowLevels(tolerance=1e-4, **settings)

    def estimates(self, problem, solution):
        n, k = problem.n_features, problem.cardinality
        S = problem.covariance.submatrix(np.arange(n))
        solved = self.relaxation.solve(S, k, vector=solution.vector(n), known=solution.value)
        rows = Estimate(solved.estimate, "row levels", k, solved.witness())
        return [rows, *elementary_bounds(problem.covariance, [k])]


def fitted(S, cardinality, **settings):
    """Fit components to a covariance matrix. It may be indefinite, which the study knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SparsePCA(len(np.atleast_1d(cardinality)), cardinality=cardinality, **settings).fit_covariance(S)


def curve_of(S, sizes, **settings):
    """Fit the first component for each cardinality."""
    models = []
    for k in sizes:
        say(f"{k} features")
        models.append(fitted(S, int(k), **settings))
    values, uppers = (np.array([getattr(m, name)[0] for m in models]) for name in ("lower_bound_", "upper_bound_"))
    return Curve(np.array(sizes), [m.supports_[0] for m in models], values, uppers, np.linalg.eigvalsh(S)[-1])


def path_of(S, last, **settings):
    """Fit the first component for the cardinalities 1 to `last`, each from its neighbours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = path_of_model(SparsePCA(**settings), covariance=S, sizes=last)
    # A bound for k words is also valid for fewer.
    uppers = np.minimum.accumulate(path.upper_bounds[::-1])[::-1].copy()
    return Curve(path.cardinalities, path.supports, path.values, uppers, np.linalg.eigvalsh(S)[-1])


def penalized(S, penalties):
    """Return so many penalties, and the supports that the l1 relaxation gives with them."""
    S = np.asarray(S)
    values = np.geomspace(0.01, 0.999, penalties) * S.diagonal().max()
    return values, [one.support for one in Dspca().penalized_path(Problem(DenseCovariance(S), len(S)), values)]


def fewest(S, share, **settings):
    """Return how many features keep a share of the ordinary component's variance, the fewest found."""
    return len(SparsePCA(cardinality=float(share), proof=None, **settings).fit_covariance(S).supports_[0])


def deflated(S, components, kind):
    """Take unit vectors out of a matrix, one after the other (Mackey 2008)."""
    basis = np.zeros((0, len(S)))
    for z in components:
        if kind.startswith("orthogonalized-"):
            z = z - basis.T @ (basis @ z)
            z = z / np.linalg.norm(z)
            basis = np.vstack([basis, z])
        y = S @ z
        v = z @ y
        match kind.removeprefix("orthogonalized-"):
            case "hotelling":
                S = S - v * np.outer(z, z)
            case "projection":
                S = S - np.outer(z, y) - np.outer(y, z) + v * np.outer(z, z)
            case "schur":
                S = S - np.outer(y, y) / v
    return (S + S.T) / 2


def say(stage):
    """Show the stage of a run on standard error."""
    if sys.stderr.isatty():
        print(f"\r\033[K{stage}", end="", file=sys.stderr, flush=True)


def listed(items):
    """Return the items as "a, b and c", or "none" if there are none."""
    *others, last = map(str, items) if len(items) else ["none"]
    return f"{', '.join(others)} and {last}" if others else last


def percent(share):
    """Return a share as a percentage with two significant digits; a gap that counts as closed is 0."""
    return "0 %" if share <= PROVED else f"{100 * share:.0f} %" if share >= 1 else f"{100 * share:.2g} %"


def share_reached(gap):
    """Return the share of the best possible variance that a relative gap proves, in percent and rounded down."""
    return f"{math.floor(1000 / (1 + gap)) / 10:.1f} %"


def by_loading(loadings, names):
    """Return the names of the nonzero loadings, largest first."""
    order = np.argsort(-np.abs(loadings), kind="stable")
    return [str(names[i]) for i in order if loadings[i] != 0]


def side_by_side(columns):
    """Return lists of words as columns of a table. Shorter lists end with empty cells."""
    return pd.DataFrame({name: pd.Series(words, dtype=object) for name, words in columns.items()}).fillna("")


def panels(width, height, rows=1, columns=1, **settings):
    """Return a figure and its axes, in a plain style."""
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(wspace=0.06))
    axes = figure.subplots(rows, columns, squeeze=False, **settings)
    for ax in axes.flat:
        tidy(ax)
    return figure, axes.ravel() if rows == 1 else axes


def tidy(ax, *, grid="both"):
    """Leave only what helps to read values off."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=False)
    ax.grid(visible=True, axis=grid, color="#E6E6E6", linewidth=0.6)
    ax.set_axisbelow(True)


def whole_numbers(ax):
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def legend_below(figure, axes, columns):
    """Draw one legend for all axes, below them."""
    found = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns, frameon=False)


def draw_curve(ax, curve, noun):
    """Draw the share of the ordinary component's variance against the cardinality, with the bound."""
    share, upper = 100 * curve.values / curve.dense, 100 * np.minimum(curve.uppers / curve.dense, 1)
    proved = curve.gaps <= PROVED
    ax.fill_between(
        curve.sizes, share, upper, color=COLOURS[1], alpha=0.35, linewidth=0, label="not ruled out (proved)"
    )
    ax.plot(curve.sizes, share, color=COLOURS[0], linewidth=1.2)
    for which, face, label in ((proved, COLOURS[0], "optimal (proved)"), (~proved, "white", "found")):
        if which.any():
            ax.plot(curve.sizes[which], share[which], "o", markersize=4, markerfacecolor=face, label=label,
                    markeredgecolor=COLOURS[0], zorder=4)  # fmt: skip
    ax.set_xlabel(f"Cardinality (number of {noun}s)")
    ax.set_ylabel("Variance explained (% of the ordinary component)")
    ax.set_ylim(0, 104)


def plot_curves(curve, penalties, supports, *, noun, marked):
    """Draw variance against cardinality and, beside it, cardinality against the penalty."""
    figure, (left, right) = panels(10, 4.4, 1, 2)
    draw_curve(left, curve, noun)
    left.legend(loc="lower right", frameon=False)
    left.set_title("First sparse component: variance")
    for k in marked:
        share = 100 * curve.values[curve.at(k)] / curve.dense
        left.annotate(f"{k} {noun}s: {share:.1f} %", (k, share), (12, -16), textcoords="offset points", va="top",
                      fontsize="small", arrowprops={"arrowstyle": "-", "color": GREY})  # fmt: skip
    right.step(penalties, [len(s) for s in supports], where="post", color=COLOURS[0], marker="o", markersize=3)
    right.set_xscale("log")
    right.set_xlabel("Penalty ρ")
    right.set_ylabel(f"Cardinality (number of {noun}s)")
    right.set_title("ℓ1 relaxation (DSPCA): cardinality")
    return figure


def plot_planes(dense, sparse, groups, labels, names):
    """Draw rows in the plane of two ordinary and of two sparse components.

    `dense` and `sparse` are scores, `groups` says the group of each row, `labels` has the rows to name by place, and
    `names` are the names of the four axes.
    """
    figure, axes = panels(11, 5, 1, 2)
    for ax, scores, (title, x, y) in zip(axes, (dense, sparse), names, strict=True):
        for group, colour, marker in zip(np.unique(groups), COLOURS, "oDsv", strict=False):
            points = scores[groups == group]
            ax.plot(*points[:, :2].T, marker, color=colour, markersize=4, alpha=0.7, markeredgewidth=0, label=group)
        for row, text in labels.items():
            ax.annotate(text, scores[row, :2], (4, 4), textcoords="offset points", fontsize=7, color=INK)
        ax.set_title(title)
        ax.set_xlabel(fill(x, 60), fontsize=9)
        ax.set_ylabel(fill(y, 48), fontsize=9)
    legend_below(figure, axes, 4)
    return figure
