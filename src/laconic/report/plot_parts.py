"""Parts of pictures: axes, colours, legends, names from data, rows in a plane, and words that cover nothing."""

try:
    import matplotlib  # noqa: F401 - only to say what is missing
except ImportError:
    raise ImportError('Pictures need matplotlib: pip install "laconic[app]".') from None

import textwrap
from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from sklearn.utils.validation import check_is_fitted

from laconic.core.arrays import Floats, Indices
from laconic.core.words import counted, is_whole, percent
from laconic.report.colouring import NO_VALUE, Colouring

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# Paul Tol's high-contrast scheme. Colour-blind people can tell these colours apart, and so can everybody in grey print.
COLOURS = ("#004488", "#DDAA33", "#BB5566", "#000000", "#66AADD", "#999999")
INK, GREY, PALE = "#222222", "#777777", "#BBBBBB"
# The factor of each shape makes their areas equal.
MARKERS = (("o", 1.0), ("D", 0.72), ("s", 0.88), ("^", 1.15), ("v", 1.15), ("P", 1.0), ("X", 1.0))
# Texts from data start no formulas at "$".
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}
# The number of characters on a line of a legend, of the name of a bar and of a label of an axis.
LEGEND_WIDTH, NAME_WIDTH, LABEL_WIDTH = 26, 26, 48
# The number of entries in a column of a legend.
LEGEND_ROWS = 18
# Labels of axes name features on at most so many lines. Only the beginning of a name longer than this is drawn.
MOST_LINES, MOST_CHARACTERS = 2, 1000
# Above this many rows, hexagons show how many rows they hold. Markers would cover each other.
MOST_MARKERS = 20_000
# The distance of rows at one place that are drawn side by side, and the largest radius of all of them, as shares of the
# axes.
STEP, RADIUS = 0.016, 0.04
# Distances from a place to its name in points, and directions: beside, above or below, at the corners.
DISTANCES = (4.0, 7.0, 12.0, 18.0)
WAYS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 0.6), (1, -0.6), (-1, 0.6), (-1, -0.6)])


# The axes to draw on, an empty figure to fill, or nothing for a new figure.
Place: TypeAlias = Axes | Figure | None


def axes_for(ax: Place, size: tuple[float, float]) -> Axes:
    """Return the axes to draw on: those given, or new ones. An empty figure that is given gets the size and the axes.

    pyplot makes a new figure, so that notebooks show it. It is imported only here: it may open windows.
    """
    if isinstance(ax, Axes):
        return ax
    if ax is None:
        from matplotlib import pyplot as plt

        ax = plt.figure()
    if not isinstance(ax, Figure):
        raise TypeError(f"ax must be axes of matplotlib or None; a {type(ax).__name__} was given.")
    ax.set_size_inches(*size)
    ax.set_layout_engine("constrained")
    return ax.add_subplot()


def tidy(ax: Axes, grid: Literal["both", "x", "y"] = "both") -> None:
    """Remove the upper and right border, and draw a light grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=False)
    ax.grid(color="#EEEEEE", linewidth=0.7, axis=grid)
    ax.set_axisbelow(True)
    if grid == "x":  # names of bars need neither a line nor ticks
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)


def name_bars(ax: Any, ticks: Any, names: Iterable[Any]) -> None:
    """Name horizontal bars."""
    ax.set_yticks(ticks, [wrapped(name, NAME_WIDTH) for name in names], fontsize="small", **PLAIN)


def bar_height(names: Iterable[Any]) -> float:
    """Return the height of a horizontal bar with one of these names beside it, in inches."""
    return max(0.25, 0.16 * max((wrapped(name, NAME_WIDTH).count("\n") + 1 for name in names), default=1) + 0.06)


def marker_handle(marker: str, colour: str, size: float, label: str, **look: Any) -> Line2D:
    """Return a marker for a legend."""
    look = {"markeredgecolor": "white", **look}
    return Line2D([], [], linestyle="none", marker=marker, markersize=size, color=colour, label=label, **look)


def legend_beside(ax: Axes, handles: Sequence[Any], title: str = "", away: float = 0.02) -> None:
    """Add a legend on the right of the axes, or inside if there is no layout that makes room. `away` is in axes."""
    if not handles:
        return
    for handle in handles:
        handle.set_label(wrapped(handle.get_label(), LEGEND_WIDTH))
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0 + away, 1.0)}
    figure: Any = ax.figure.figure
    if figure.get_layout_engine() is None:
        place = {"loc": "best"}
    legend = ax.legend(handles=list(handles), ncols=-(-len(handles) // LEGEND_ROWS), frameon=False, fontsize="small",
                       handletextpad=0.4, borderaxespad=0.0, labelspacing=0.6, **place)  # fmt: skip
    if title:
        legend.set_title(wrapped(title, LEGEND_WIDTH), prop=FontProperties(size="small"))
        legend.set_alignment("left")
    for text in [*legend.get_texts(), legend.get_title()]:
        text.update(PLAIN)


def wrapped(name: Any, width: int) -> str:
    """Return a name on lines of at most `width` characters. All its characters are kept, except blanks at breaks."""
    text = str(name)
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}\u2026 ({len(text) - MOST_CHARACTERS} characters more)"
    return textwrap.fill(" ".join(text.split()), width)


def listed(names: Sequence[str], width: int, total: int) -> str:
    """Return names with commas between them, on lines of at most `width`, and the number of others of `total`."""
    more = [f"and {total - len(names)} more"] if len(names) < total else []
    return wrapped(", ".join([*names, *more]), width)


def handles_of(colouring: Colouring) -> list[Line2D]:
    """Return a marker for each group."""
    return [marker_handle(look(code)[0], look(code)[2], 7.0, name) for code, name, _ in colouring.groups()]


def look(code: int) -> tuple[str, float, str]:
    """Return the marker of a group, the factor of its size, and its colour."""
    if code < 0:
        return "o", 0.8, PALE if code == NO_VALUE else GREY
    return *MARKERS[code % len(MARKERS)], COLOURS[code % len(COLOURS)]


def draw_rows(ax: Any, scores: Floats, colouring: Colouring) -> Floats:
    """Draw rows, given by two coordinates each, with a colour bar for numbers; return where they are drawn.

    Rows at one place are drawn side by side. Very many rows without colours are drawn as hexagons.
    """
    numbers, codes = colouring.numbers, colouring.codes
    if len(scores) > MOST_MARKERS and numbers is None and codes is None:
        image = ax.hexbin(*scores.T, bins="log", mincnt=1, cmap="viridis", gridsize=60,
                          linewidths=0.2, rasterized=True, zorder=2)  # fmt: skip
        colour_bar(ax, image, "rows in a hexagon")
        return scores
    places = _side_by_side(scores)
    size = float(np.clip(40_000 / max(1, len(scores)), 1.0, 30.0))
    style: dict[str, Any] = {
        "edgecolors": "white",
        "linewidths": 0.5 if len(scores) <= 400 else 0.0,
        "alpha": 0.9 if len(scores) <= 1500 else 0.5,
        "rasterized": len(scores) > MOST_MARKERS,
        "zorder": 3,
    }
    if numbers is not None:
        there = np.isfinite(numbers)
        ax.scatter(*places[~there].T, s=size, color=PALE, **style)
        image = ax.scatter(*places[there].T, s=size, c=numbers[there], cmap="viridis", **style)
        colour_bar(ax, image, colouring.title or "color")
    elif codes is not None:
        # Small groups are on top.
        for code, _, rows in sorted(colouring.groups(), key=lambda group: -np.count_nonzero(group[2])):
            marker, factor, colour = look(code)
            ax.scatter(*places[rows].T, s=size * factor**2, marker=marker, color=colour, **style)
    else:
        ax.scatter(*places.T, s=size, color=COLOURS[0], **style)
    ax.margins(0.08)
    return places


def colour_bar(ax: Axes, image: Any, label: str) -> None:
    """Add a bar of colours without a frame."""
    bar: Any = ax.figure.colorbar(image, ax=ax, fraction=0.05, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(wrapped(label, 40), **PLAIN)
    bar.solids.set(alpha=1)


def _side_by_side(scores: Floats) -> Floats:
    """Return places for rows: those at one place, up to rounding, form a disc, as the seeds of a sunflower."""
    extent = np.where(np.ptp(scores, axis=0) > 0, np.ptp(scores, axis=0), 1.0)
    at_one_place = pd.DataFrame(np.round(scores / extent, 7)).groupby([0, 1])
    rank, count = at_one_place.cumcount().to_numpy(), at_one_place[0].transform("size").to_numpy()
    radius, angle = np.minimum(STEP, RADIUS / np.sqrt(count)) * np.sqrt(rank), rank * np.pi * (3 - np.sqrt(5))
    return np.asarray(scores + extent * radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


def standing_apart(scores: Floats, codes: Indices | None, most: int) -> Indices:
    """Return the rows to name: the farthest from the median of their group, in units of the spread around medians."""
    frame = pd.DataFrame(scores)
    away = frame - frame.groupby(np.zeros(len(frame)) if codes is None else codes).transform("median")
    spread = np.sqrt((away**2).mean())
    distance = np.linalg.norm(away / spread.where(spread > 0, 1.0), axis=1)
    return np.argsort(-distance, kind="stable")[:most]


def write_names(ax: Axes, names: Sequence[str], at: Floats, obstacles: Floats, **style: Any) -> list[str]:
    """Write names beside places, the first ones first; return those for which there is no room.

    A name covers neither `obstacles`, which are places, too, nor other names, and does not leave the axes.
    """
    figure: Any = ax.figure.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)  # moves the axes to their places; before that, places in pixels are unknown
    point, frame = figure.dpi / 72, ax.get_window_extent()
    blocked = ax.transData.transform(np.reshape(obstacles, (-1, 2)))
    taken, left = [text.get_window_extent() for text in ax.texts], list[str]()
    for name, place in zip(names, at, strict=True):
        look_of = {"fontsize": 8, "color": INK, "zorder": 6, **PLAIN, **style}
        text = ax.annotate(wrapped(name, LEGEND_WIDTH), tuple(place), (0, 0), textcoords="offset points", ha="center",
                           va="center", path_effects=[withStroke(linewidth=2, foreground="white")],
                           **look_of)  # fmt: skip
        text.set_in_layout(False)
        box = text.get_window_extent()
        for gap, way in product(DISTANCES, WAYS):
            shift = (np.array(box.size) / 2 + gap * point) * way
            moved = box.translated(*shift)
            inside = frame.count_contains(moved.corners()) == 4
            if inside and not moved.count_overlaps(taken) and not moved.padded(3 * point).count_contains(blocked):
                text.set_position(tuple(shift / point))
                taken.append(moved)
                break
        else:
            text.remove()
            left.append(name)
    return left


def feature_names(model: "SparsePCA") -> list[str]:
    """Return the names of all features, or their places if they have no names."""
    return [str(name) for name in getattr(model, "feature_names_in_", range(model.n_features_in_))]


def checked_components(model: "SparsePCA", components: Any, *, most: int | None = None) -> tuple[int, ...]:
    """Return the numbers of components, from 1, or raise a ValueError."""
    check_is_fitted(model)
    count = model.n_components_
    if most == 2 and count == 1 and isinstance(components, tuple) and components == (1, 2):
        return (1,)
    numbers = tuple(components) if isinstance(components, Iterable) else (components,)
    known = all(is_whole(number) and 1 <= number <= count for number in numbers)
    if not numbers or not known or len(set(numbers)) < len(numbers):
        raise ValueError(f"components={components!r} must be numbers from 1 to {count}, each once.")
    if most is not None and len(numbers) > most:
        raise ValueError(f"components={components!r} has {len(numbers)} numbers; give one or two.")
    return tuple(int(number) for number in numbers)


def component_title(model: "SparsePCA", number: int) -> str:
    """Return the number of a component, and its share of the variance if there is one."""
    ratio = model.explained_variance_ratio_[number - 1]
    return f"Component {number}" + (f": {percent(ratio)} of the variance" if np.isfinite(ratio) else "")


def label_axes(ax: Axes, model: "SparsePCA", numbers: Sequence[int]) -> None:
    """Label axes by components and as many of their features as fit on a few lines."""
    all_names = feature_names(model)
    for axis, number in zip((ax.xaxis, ax.yaxis), numbers, strict=False):
        row, support = model.components_[number - 1], model.supports_[number - 1]
        order = support[np.argsort(-np.abs(row[support]), kind="stable")]
        names = [("\u2212" if row[i] < 0 else "") + all_names[i] for i in order]
        # A name and its comma have at least two characters.
        most = min(len(names), MOST_LINES * LABEL_WIDTH // 2)
        texts = (listed(names[:shown], LABEL_WIDTH, len(names)) for shown in range(most, 0, -1))
        short = (text for text in texts if text.count("\n") < MOST_LINES)
        axis.set_label_text(
            f"{component_title(model, number)}\n{next(short, counted(len(names), 'feature'))}", fontsize=9, **PLAIN
        )
