"""Two curves that the paper draws for each data set: variance against cardinality, and cardinality against rho."""

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from laconic.model.cardinality_path import CardinalityPath
from laconic.model.penalty_path import PenaltyPath
from laconic.report.plot_parts import GREY, INK, add_legend
from laconic.report.plot_results import draw_cardinalities, draw_curve
from laconic.report.tables import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_curves(path: CardinalityPath, penalties: PenaltyPath, *, noun: str, marked: tuple[int, ...]) -> Figure:
    """Draw variance against cardinality and, beside it, cardinality against the penalty.

    Parameters
    ----------
    path
        Variance against cardinality, for the left curve.
    penalties
        Cardinality against rho, for the right curve.
    noun
        The word for one feature, such as "bill".
    marked
        Cardinalities to label on the left curve. A label far to the right would not fit and is omitted.
    """
    figure = Figure(figsize=(10, 4.4), layout=ConstrainedLayoutEngine(wspace=0.06))
    left, right = figure.subplots(1, 2)
    draw_curve(left, path, path.suggested)
    add_legend(left, left.get_legend_handles_labels()[0], columns=1, loc="lower right")
    draw_cardinalities(right, penalties)
    left.set_title("First sparse component: variance")
    right.set_title("ℓ1 relaxation (DSPCA): cardinality")
    left.set_xlabel(f"Cardinality (number of {noun}s)")
    right.set_ylabel(f"Cardinality (number of {noun}s)")
    for cardinality in marked:
        if cardinality < 0.8 * path.cardinalities[-1]:
            _point_at(left, path, cardinality, noun)
    return figure


def _point_at(ax: "Axes", path: CardinalityPath, cardinality: int, noun: str) -> None:
    """Write share and cardinality below and to the right of a point, where the picture is empty."""
    share = 100 * path.shares[int((path.cardinalities == cardinality).argmax())]
    ax.annotate(
        f"{count(cardinality, noun)}: {share:.1f} %",
        (cardinality, share),
        (12, -16),
        textcoords="offset points",
        va="top",
        fontsize="small",
        color=INK,
        arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.8, "shrinkB": 4},
    )
