"""Picture: rows in the plane of two components, or along one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arguments import is_whole
from laconic.core.arrays import Floats
from laconic.report.labels import text_style, wrapped
from laconic.report.pictures.display import Display, Place
from laconic.report.plane.axis_labels import label_axes
from laconic.report.plane.density import MOST_MARKERS
from laconic.report.plane.groups import Colouring, colouring_of
from laconic.report.plane.points import Points, draw_points
from laconic.report.plane.strip import draw_histograms, lanes_of, name_lanes
from laconic.report.plane.words import Words
from laconic.report.style import GREY, LEGEND_ROWS, LEGEND_WIDTH, legend_above, legend_beside, marker_handle, tidy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from laconic.model.estimator import SparsePCA

# Above this many rows, one component is drawn as histograms. Dots would cover each other.
MOST_DOTS = 2000


@dataclass(eq=False, repr=False)
class ScoresDisplay(Display):
    """Rows in the plane of two components, or along one.

    Attributes
    ----------
    model
        The fitted model.
    scores
        A column for each component that is drawn. Rows without a score are left out.
    components
        The numbers of the components, from 1.
    colouring
        What the rows are coloured by.
    labels
        The name of each row, or None.
    left_out
        The number of rows that have no score, because values are missing.
    """

    model: "SparsePCA"
    scores: Floats
    components: tuple[int, ...]
    colouring: Colouring
    labels: list[str] | None = None
    left_out: int = 0

    def _size(self) -> tuple[float, float]:
        beside = 1.6 if self.colouring.codes is not None or len(self.scores) > MOST_MARKERS else 0.6
        columns = -(-len(self.colouring.handles()) // LEGEND_ROWS)
        if len(self.components) == 1:
            return 6.8, min(2.6 + 0.35 * max(1, len(self.colouring.names)), 12.0)
        entries = [wrapped(handle.get_label(), LEGEND_WIDTH).count("\n") + 1 for handle in self.colouring.handles()]
        legend = max((sum(entries[i : i + LEGEND_ROWS]) for i in range(0, len(entries), LEGEND_ROWS)), default=0)
        # A line of the legend, and the distance between two entries, in inches.
        return 5.6 + beside + 1.4 * max(0, columns - 1), max(5.2, 0.16 * legend + 0.09 * min(len(entries), LEGEND_ROWS))

    def _draw(self, axes: "NDArray[Any]") -> None:
        ax = axes[0]
        if len(self.components) == 1:
            self._points = self._draw_strip(ax)
        else:
            self._points = draw_points(ax, self.scores, self.colouring)
            tidy(ax)
        self.colour_bar_ = self._points.add_colour_bar(ax)
        handles = list(self._points.handles)
        if len(self.components) == 1:
            handles = []
        if self.left_out:
            handles.append(marker_handle("x", GREY, 5.0, f"without a score, not drawn ({self.left_out})",
                                         markeredgecolor=GREY))  # fmt: skip
        if handles and self.colour_bar_ is None:
            title = self.colouring.title if self.colouring.codes is not None else ""
            legend_beside(ax, handles, title, self._beside(ax))
        elif handles:
            legend_above(ax, handles)
        label_axes(ax, self.model, self.components)

    def _beside(self, ax: Any) -> float:  # noqa: ARG002 - a biplot has an axis there
        """Return how far the legend is from the axes, in points."""
        return 8.0

    def _draw_strip(self, ax: Any) -> Points:
        tidy(ax)
        numbers = self.colouring.numbers
        if len(self.scores) > MOST_DOTS and numbers is not None:
            there = np.isfinite(numbers)
            points = draw_points(ax, np.column_stack([self.scores[there, 0], numbers[there]]), Colouring())
            ax.set_ylabel(wrapped(self.colouring.title or "color_by", 40), **text_style([self.colouring.title]))
            return points
        if len(self.scores) > MOST_DOTS:
            draw_histograms(ax, self.scores[:, 0], self.colouring)
            points = Points(self.scores, [], np.empty((0, 4)), [])
        else:
            points = draw_points(ax, lanes_of(self.scores[:, 0], self.colouring), self.colouring)
        name_lanes(ax, self.colouring)
        return points

    def _annotate(self, axes: "NDArray[Any]") -> None:
        if len(self.scores):
            self._points.annotate(Words(axes[0]), self.labels)


def plot_scores(
    model: "SparsePCA",
    X: Any,
    *,
    components: int | Sequence[int] = (1, 2),
    color_by: Any = None,
    labels: Any = None,
    ax: Place = None,
) -> ScoresDisplay:
    """Draw rows in the plane of two components, or along one.

    Rows at the same place share a marker. Above 10,000 rows, cells of a grid show how many rows they hold.

    Parameters
    ----------
    model : SparsePCA
        A fitted `SparsePCA`.
    X : array, sparse matrix or table of shape (n_samples, n_features)
        Rows, as in `SparsePCA.transform`.
    components : int or sequence of int, default=(1, 2)
        The numbers of one or two components, from 1. A model of one component draws that.
    color_by : array-like of shape (n_samples,), optional
        One value for each row. Numbers get a colour bar. Text, and whole numbers of at most ten different values, make
        groups that differ in colour and shape.
    labels : array-like of shape (n_samples,) or False, optional
        One name for each row. The rows that stand apart get their names where there is room. By default the index of a
        table, if it holds text; False for none.
    ax : Axes, sequence of Axes, Figure or SubFigure, optional
        The axes to draw on, or an empty figure to fill. By default pyplot makes a figure.

    Returns
    -------
    ScoresDisplay
        The display. Its `figure_` and `ax_` can be changed further.

    See Also
    --------
    plot_biplot : With an arrow for each feature.
    SparsePCA.transform : The scores as numbers.

    Examples
    --------
    >>> from laconic import SparsePCA, plot_scores
    >>> from laconic.datasets import load_senate109
    >>> senate = load_senate109()
    >>> votes = senate.frame
    >>> display = plot_scores(SparsePCA(cardinality=[5, 2]).fit(votes), votes, color_by=senate.parties)
    """
    return scores_display(model, X, components, color_by, labels).plot(ax)


def scores_display(model: "SparsePCA", X: Any, components: Any, color_by: Any, labels: Any) -> ScoresDisplay:
    """Check the arguments of `plot_scores`, and return the picture before it is drawn."""
    numbers = checked_components(model, components, most=2)
    scores = np.asarray(model.transform(X), dtype=np.float64)[:, [number - 1 for number in numbers]]
    colouring = colouring_of(color_by, len(scores))
    names = row_labels(X, labels, len(scores))
    there = np.asarray(np.isfinite(scores).all(axis=1))
    if not there.any():
        raise ValueError("X has no row with a score in these components; there is nothing to draw.")
    names = None if names is None else [names[i] for i in np.flatnonzero(there)]
    left_out = int(np.count_nonzero(~there))
    return ScoresDisplay(model, scores[there], numbers, colouring.part(there), names, left_out)


def checked_components(model: "SparsePCA", components: Any, *, most: int | None = None) -> tuple[int, ...]:
    """Return the numbers of components, from 1, or raise a ValueError."""
    from sklearn.utils.validation import check_is_fitted

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


def row_labels(X: Any, labels: Any, rows: int) -> list[str] | None:
    """Return the names of rows: those given, or the index of a table if it holds text."""
    if labels is False:
        return None
    if labels is None:
        index = getattr(X, "index", None)
        if getattr(index, "dtype", None) is None or getattr(index, "inferred_type", "") != "string":
            return None
        labels = index
    names = [str(name) for name in labels]
    if len(names) != rows:
        raise ValueError(f"labels has {len(names)} names for {rows} rows; give one name for each row of X.")
    return names
