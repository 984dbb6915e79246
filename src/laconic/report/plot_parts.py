"""Parts of pictures: axes, colours, legends, names from data, rows in a plane, and words that cover nothing."""

try:
    import matplotlib
except ImportError:
    raise ImportError('Pictures need matplotlib: pip install "laconic[app]".') from None

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation
from scipy.spatial import cKDTree
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
# The number of characters on a line of a legend, and the number of entries in one of its columns.
LEGEND_WIDTH, LEGEND_ROWS = 26, 18
# The number of characters on a line of the name of a bar.
NAME_WIDTH = 26
# Above this many rows, hexagons show how many rows they hold. Markers would cover each other.
MOST_MARKERS = 20_000
# The distance of rows at one place that are drawn side by side, as a share of the axes.
STEP = 0.016
# A name may be broken after these characters, before a capital letter inside a word, and before a backslash.
BREAKS = re.compile(r"(?<=[\s_\-./:;,|+=&])(?=\S)|(?<=[a-z0-9])(?=[A-Z])|(?<=\S)(?=\\)")
# Only the beginning of a name longer than this is drawn. It would fill a page.
MOST_CHARACTERS = 1000
# Labels of axes name features on at most so many lines; a single long name may have more.
MOST_LINES, LONG_NAME = 2, 5
# Distances from a place to its name in points, and directions: beside, above or below, at the corners.
DISTANCES = (4.0, 7.0, 14.0, 22.0, 32.0, 44.0)
WAYS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 0.6), (1, -0.6), (-1, 0.6), (-1, -0.6), (0.5, 1), (-0.5, 1),
                 (0.5, -1), (-0.5, -1)])  # fmt: skip


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


def part_of(name: str, begin: float, end: float) -> LinearSegmentedColormap:
    """Return a part of a colour map. The part leaves out what is too light to be seen on white."""
    return LinearSegmentedColormap.from_list(f"{name}-part", colormaps[name](np.linspace(begin, end, 256)))


def tidy(ax: Axes, grid: str = "both") -> None:
    """Remove the upper and right border, and draw a light grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=False)
    ax.grid(color="#EEEEEE", linewidth=0.7, axis=grid)  # type: ignore[arg-type]
    ax.set_axisbelow(True)
    if grid == "x":  # names of bars need neither a line nor ticks
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)


def whole_numbers(axis: Any, most: Any = "auto") -> None:
    """Put the ticks of an axis at whole numbers."""
    axis.set_major_locator(MaxNLocator(most, integer=True, min_n_ticks=1))


def points(ax: Any, x: Any, y: Any, filled: Any, label: str, other: str, marker: str = "o", size: float = 6.0) -> None:
    """Draw points that count as filled, and the others as rings."""
    for which, face, words in ((filled, COLOURS[0], label), (~filled, "white", other)):
        if which.any():
            ax.plot(x[which], y[which], linestyle="none", marker=marker, markersize=size, markerfacecolor=face,
                    markeredgecolor=COLOURS[0], label=words, zorder=4)  # fmt: skip


def limit_values(ax: Any, values: Floats) -> None:
    """Let the vertical axis begin at zero, or below the least value if that is negative."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    room = 0.06 * (high - low) or 1.0
    ax.set_ylim(low - (room if float(values.min()) < 0.2 * room else 0.0), high + room)
    if low < 0:
        ax.axhline(0, color=INK, linewidth=0.8)


def name_bars(ax: Any, ticks: Any, names: Sequence[str], places: float) -> None:
    """Name bars, in letters as small as the height of a bar asks for."""
    lay_out(ax)
    room = ax.get_window_extent().height / ax.figure.figure.dpi * 72 / max(places, 1)
    texts = [wrapped(name, NAME_WIDTH) for name in names]
    lines = max((text.count("\n") + 1 for text in texts), default=1)
    ax.set_yticks(ticks, texts, fontsize=float(np.clip(0.83 * room / lines, 5.0, 10.0)), **text_style(texts))


def bar_height(names: Iterable[Any]) -> float:
    """Return the height of a horizontal bar with one of these names beside it, in inches."""
    return max(0.25, 0.16 * max((wrapped(name, NAME_WIDTH).count("\n") + 1 for name in names), default=1) + 0.06)


def marker_handle(marker: str, colour: str, size: float, label: str, **look: Any) -> Line2D:
    """Return a marker for a legend."""
    look = {"markeredgecolor": "white", **look}
    return Line2D([], [], linestyle="none", marker=marker, markersize=size, color=colour, label=label, **look)


def legend_beside(ax: Axes, handles: Sequence[Any], title: str = "", away: float = 8.0) -> None:
    """Add a legend on the right of the axes, so many points away. Without a layout there is no room: then inside.

    A "$" in a name is shown as it is, and does not start a formula.
    """
    if not handles:
        return
    for handle in handles:
        handle.set_label(wrapped(handle.get_label(), LEGEND_WIDTH))
    beside = ax.transAxes + ScaledTranslation(away / 72, 0, ax.figure.dpi_scale_trans)
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "bbox_transform": beside}
    figure: Any = ax.figure.figure
    if figure.get_layout_engine() is None:
        place = {"loc": "best"}
    legend = ax.legend(handles=list(handles), ncols=-(-len(handles) // LEGEND_ROWS), frameon=False, fontsize="small",
                       handletextpad=0.4, borderaxespad=0.0, labelspacing=0.6, **place)  # fmt: skip
    if title:
        legend.set_title(wrapped(title, LEGEND_WIDTH), prop=FontProperties(size="small"))
        legend.set_alignment("left")
    for text in [*legend.get_texts(), legend.get_title()]:
        text.update(text_style([text.get_text()]))


def wrapped(name: Any, width: int) -> str:
    """Return a name on lines of at most `width` characters. All its characters are kept, except blanks at breaks.

    Lines end after blanks, underscores and other marks, or before a capital letter. If there is none, they end
    anywhere. A character that no font has is written as its number.
    """
    text = " ".join(str(name).split())
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]} (and {len(text) - MOST_CHARACTERS} characters more)"
    text = "".join(c if _is_drawn(c) or _family_with(c) else c.encode("unicode_escape").decode() for c in text)
    lines = [""]
    for part in BREAKS.split(text):
        if len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        while len(part.rstrip()) > width:
            lines[-1:] = [part[:width], ""]
            part = part[width:]
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines if line.strip())


def listed(names: Sequence[str], width: int, total: int) -> str:
    """Return names with commas between them, on lines of at most `width`, and the number of others of `total`."""
    words = [f"{name}," for name in names] + [f"and {total - len(names)} more"]
    if len(names) == total:
        words = [f"{name}," for name in names[:-1]] + list(names[-1:])
    lines = [""]
    for word in words:
        if lines[-1] and len(f"{lines[-1]} {word}") > width:
            lines.append("")
        lines[-1:] = wrapped(f"{lines[-1]} {word}".strip(), width).split("\n")
    return "\n".join(lines)


def text_style(texts: Iterable[str] = ()) -> dict[str, Any]:
    """Return the settings of texts from data: no formulas, and fonts that have all characters of the texts."""
    families = list(matplotlib.rcParams["font.family"])
    for character in sorted({c for text in texts for c in text if not _is_drawn(c)}):
        family = _family_with(character)
        if family is not None and family not in families:
            families.append(family)
    return {"parse_math": False, "usetex": False, "fontfamily": families}


def _is_drawn(character: str) -> bool:
    """Say whether the usual font has a character, and it is one that can be seen."""
    return character.isprintable() and (character.isascii() or _has(findfont(FontProperties()), character))


@cache
def _family_with(character: str) -> str | None:
    """Return the name of an installed font that has a character, or None."""
    if character.isprintable():
        for font in fontManager.ttflist:
            # The font "Last Resort" has every character, but as a box that tells only the kind of script.
            if font.style == "normal" and not font.name.startswith("Last Resort") and _has(font.fname, character):
                return font.name
    return None


@cache
def _has(path: str, character: str) -> bool:
    try:
        return bool(get_font(path).get_char_index(ord(character)))
    except (OSError, RuntimeError):  # a font file that was removed, or that FreeType cannot read
        return False


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

    Rows at one place are drawn side by side. Very many rows are drawn as hexagons, which show the number of rows, the
    mean of their numbers, or the group of most rows.
    """
    if len(scores) > MOST_MARKERS:
        _draw_hexagons(ax, scores, colouring)
        return scores
    numbers, codes = colouring.numbers, colouring.codes
    places = _side_by_side(scores, codes if numbers is None else numbers)
    size = float(np.clip(40_000 / max(1, len(scores)), 5.0, 30.0))
    style: dict[str, Any] = {
        "edgecolors": "white",
        "linewidths": 0.5 if len(scores) <= 400 else 0.0,
        "alpha": 0.9 if len(scores) <= 1500 else 0.5,
        "zorder": 3,
    }
    if numbers is not None:
        there = np.isfinite(numbers)
        ax.scatter(*places[~there].T, s=size, color=PALE, **style)
        image = ax.scatter(*places[there].T, s=size, c=numbers[there], cmap=part_of("viridis", 0.0, 0.93), **style)
        colour_bar(ax, image, colouring.title or "color_by")
    elif codes is not None:
        # Small groups are on top.
        for code, _, rows in sorted(colouring.groups(), key=lambda group: -np.count_nonzero(group[2])):
            marker, factor, colour = look(code)
            ax.scatter(*places[rows].T, s=size * factor**2, marker=marker, color=colour, **style)
    else:
        ax.scatter(*places.T, s=size, color=COLOURS[0], **style)
    ax.margins(0.08)
    return places


def _draw_hexagons(ax: Any, scores: Floats, colouring: Colouring) -> None:
    look_of: dict[str, Any] = {"gridsize": 60, "linewidths": 0.2, "rasterized": True, "zorder": 2}
    if colouring.codes is not None:
        codes = [code for code, _, _ in colouring.groups()]
        order = np.searchsorted(np.sort(codes), colouring.codes)
        ax.hexbin(*scores.T, C=order, reduce_C_function=lambda c: np.bincount(np.asarray(c, dtype=int)).argmax(),
                  cmap=ListedColormap([look(code)[2] for code in sorted(codes)]), vmin=-0.5, vmax=len(codes) - 0.5,
                  **look_of)  # fmt: skip
    elif colouring.numbers is not None:
        there = np.isfinite(colouring.numbers)
        image = ax.hexbin(*scores[there].T, C=colouring.numbers[there], cmap=part_of("viridis", 0.0, 0.93), **look_of)
        colour_bar(ax, image, f"mean of {colouring.title or 'color_by'}")
    else:
        image = ax.hexbin(*scores.T, bins="log", mincnt=1, cmap=part_of("Blues", 0.28, 1.0), **look_of)
        colour_bar(ax, image, "rows in a hexagon")


def colour_bar(ax: Axes, image: Any, label: str) -> None:
    """Add a bar of colours without a frame."""
    bar: Any = ax.figure.colorbar(image, ax=ax, fraction=0.05, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(wrapped(label, 40), **text_style([label]))
    bar.solids.set(alpha=1)


def _extent(scores: Floats) -> Floats:
    return np.where(np.ptp(scores, axis=0) > 0, np.ptp(scores, axis=0), 1.0)


def _side_by_side(scores: Floats, order: Any) -> Floats:
    """Return places for rows: those at one place form a disc, as the seeds of a sunflower, sorted by `order`.

    A disc ends halfway to the next place. Scores that differ only by rounding are at the same place.
    """
    if not len(scores):
        return scores
    extent = _extent(scores)
    centres, place, counts = np.unique(np.round(scores / extent, 7), axis=0, return_inverse=True, return_counts=True)
    if len(centres) == len(scores):
        return scores
    place = place.ravel()
    near = cKDTree(centres).query(centres, k=2)[0][:, 1]  # infinite if there is one place only
    by_place = np.lexsort((np.zeros(len(scores)) if order is None else order, place))
    rank = np.empty(len(scores))
    rank[by_place] = np.arange(len(scores)) - np.repeat(np.cumsum(counts) - counts, counts)
    radius = np.minimum(STEP, 0.48 * near / np.sqrt(counts))[place] * np.sqrt(rank)
    angle = rank * np.pi * (3 - np.sqrt(5))
    return np.asarray(scores + extent * radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


def standing_apart(scores: Floats, codes: Indices | None, most: int) -> Indices:
    """Return the rows to name: of groups with one or two rows first, then the farthest from the median of their group.

    Distances are divided by the spread of the rows around the medians of their groups. Of more than three rows of
    a group at one place none is named.
    """
    codes = np.zeros(len(scores), dtype=np.intp) if codes is None else codes
    away, small = np.zeros_like(scores), np.zeros(len(scores), dtype=bool)
    for code in np.unique(codes):
        rows = codes == code
        away[rows] = scores[rows] - np.median(scores[rows], axis=0)
        small[rows] = np.count_nonzero(rows) <= 2
    spread = np.sqrt((away**2).mean(axis=0))
    distance = np.linalg.norm(away / np.where(spread > 0, spread, 1.0), axis=1)
    order = np.lexsort((-distance, ~small))
    keys = np.column_stack([np.round(scores / _extent(scores), 7), codes])
    _, group, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return order[counts[group.ravel()][order] <= 3][:most]


def lay_out(ax: Axes) -> None:
    """Move the axes of a figure to the places that its layout gives them. Before that, places in pixels are unknown."""
    figure: Any = ax.figure.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def write_names(ax: Axes, names: Sequence[str], at: Floats, obstacles: Floats, **style: Any) -> list[str]:
    """Write names beside places, the first ones first; return those for which there is no room.

    A name covers neither `obstacles`, which are places, too, nor other names, and does not leave the axes. A name that
    is far from its place is joined to it by a line.
    """
    lay_out(ax)
    figure: Any = ax.figure.figure
    point, frame = figure.dpi / 72, ax.get_window_extent()
    blocked = ax.transData.transform(np.reshape(obstacles, (-1, 2)))
    taken, left = list[tuple[Floats, Floats]](), list[str]()
    for text in ax.texts:
        text.get_window_extent()  # moves an annotation to its place
        own = Text.get_window_extent(text)
        taken.append((np.array(own.min), np.array(own.max)))
    for name, place in zip(names, at, strict=True):
        lines = name if "\n" in name else wrapped(name, 24)
        look_of = {"fontsize": 8, "color": INK, "zorder": 6, **text_style([lines]), **style}
        text = ax.annotate(lines, tuple(place), (0, 0), textcoords="offset points", ha="center", va="center",
                           path_effects=[withStroke(linewidth=2, foreground="white")],
                           arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6}, **look_of)  # fmt: skip
        text.set_in_layout(False)
        extent, origin = Text.get_window_extent(text), ax.transData.transform(place)
        half = np.array([extent.width, extent.height]) / 2 + point
        for gap, way in product(DISTANCES, WAYS):
            centre = origin + (half + gap * point) * way
            low, high = centre - half, centre + half
            if (
                (low >= (frame.x0, frame.y0)).all()
                and (high <= (frame.x1, frame.y1)).all()
                and not any((low < other[1]).all() and (other[0] < high).all() for other in taken)
                and not ((blocked > low - 4 * point) & (blocked < high + 4 * point)).all(axis=1).any()
                and not _crosses(origin, centre, taken)
            ):
                break
        else:
            text.remove()
            left.append(name)
            continue
        text.set_position(tuple((centre - origin) / point))
        if text.arrow_patch is not None:
            text.arrow_patch.set_visible(gap > DISTANCES[1])
        taken.append((low, high))
    return left


def _crosses(start: Floats, end: Floats, boxes: list[tuple[Floats, Floats]]) -> bool:
    """Say whether a line would cross one of some boxes."""
    places = start + np.linspace(0.05, 0.95, 12)[:, None] * (end - start)
    return any(((places > low) & (places < high)).all(axis=1).any() for low, high in boxes)


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
    if not numbers or not all(is_whole(number) and 1 <= number <= count for number in numbers):
        raise ValueError(f"components={components!r} must be numbers from 1 to {count}, the model's components.")
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"components={components!r} has a number twice; give different components.")
    if most is not None and len(numbers) > most:
        raise ValueError(f"components={components!r} has {len(numbers)} numbers; give one or two.")
    return tuple(int(number) for number in numbers)


def component_title(model: "SparsePCA", number: int) -> str:
    """Return the number of a component, and its share of the variance if there is one."""
    ratio = model.explained_variance_ratio_[number - 1]
    return f"Component {number}" + (f": {percent(ratio)} of the variance" if np.isfinite(ratio) else "")


def label_axes(ax: Axes, model: "SparsePCA", numbers: Sequence[int]) -> None:
    """Label axes by components and their features. The lines are as long as the axes, and no name is cut."""
    axes = [ax.xaxis, ax.yaxis][: len(numbers)]
    # The lines are placed first without names: the layout then shows how long the axes are.
    for axis, number in zip(axes, numbers, strict=True):
        axis.set_label_text(f"{component_title(model, number)}\n" * MOST_LINES)
    lay_out(ax)
    box, all_names = ax.get_window_extent(), feature_names(model)
    figure: Any = ax.figure.figure
    for axis, number in zip(axes, numbers, strict=True):
        row, support = model.components_[number - 1], model.supports_[number - 1]
        order = support[np.argsort(-np.abs(row[support]), kind="stable")]
        names = [("\u2212" if row[i] < 0 else "") + " ".join(all_names[i].split()) for i in order]
        length = box.width if axis is ax.xaxis else box.height
        width = int(length / (0.62 * float(axis.label.get_fontsize()) * figure.dpi / 72))
        for _ in range(4):
            width = max(12, width)
            text = f"{wrapped(component_title(model, number), width)}\n{_names_that_fit(names, width)}"
            axis.set_label_text(text, **text_style([text]))
            extent = axis.label.get_window_extent()
            reached = extent.width if axis is ax.xaxis else extent.height
            if reached <= length or width == 12:
                break
            width = int(width * length / reached) - 1  # the letters are wider than average


def _names_that_fit(names: list[str], width: int) -> str:
    """Return the first names on a few lines, and the number of the others."""
    # A name and its comma have at least three characters.
    for shown in range(min(len(names), MOST_LINES * width // 3), 1, -1):
        text = listed(names[:shown], width, len(names))
        if text.count("\n") < MOST_LINES:
            return text
    text = listed(names[:1], width, len(names))
    return text if text.count("\n") < LONG_NAME else counted(len(names), "feature")
