"""Picture: the loadings of components, as signed bars or as a heat map."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.ticker import MaxNLocator

from laconic.core.arguments import is_whole
from laconic.core.arrays import Floats, Indices
from laconic.report.labels import text_style, wrapped
from laconic.report.pictures.display import Display, Place
from laconic.report.pictures.scores import checked_components
from laconic.report.plane.axis_labels import component_title, feature_names
from laconic.report.style import COLOURS, INK, ramp, tidy_bars

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from laconic.model.estimator import SparsePCA

# Without a choice of components, at most this many are drawn.
MOST_PANELS = 12
# So many panels stand side by side, and a heat map of at most this many components has numbers in its cells.
SIDE_BY_SIDE, MOST_NUMBERS = 4, 12
# The number of characters on a line of a name, the height of a line in inches, and the least height of a bar.
WIDTH, LINE, BAR = 26, 0.16, 0.25
# The width of a character in inches, and the fewest of them on a line.
CHARACTER, FEWEST = 0.085, 10
# The sizes of the font of names, in points. The smaller ones are for small axes.
SIZES = (10.0, 8.0, 6.5, 5.0)


@dataclass(eq=False, repr=False)
class LoadingsDisplay(Display):
    """The loadings of components, as signed bars or as a heat map.

    Attributes
    ----------
    loadings
        A row for each component that is drawn, and a column for each feature.
    names
        The names of the features.
    titles
        A title for each component.
    numbers
        The numbers of the components, from 1.
    max_features
        How many features of a component are drawn at most; None for all.
    kind
        "bars" or "heatmap".
    left_out
        The number of components of the model that are not drawn, because they are many.
    """

    loadings: Floats
    names: list[str]
    titles: list[str]
    numbers: tuple[int, ...]
    max_features: int | None = 20
    kind: Literal["bars", "heatmap"] = "bars"
    left_out: int = 0

    def _features(self, row: Floats) -> Indices:
        """Return the features of a component that are drawn, the largest loading first."""
        order: Indices = np.argsort(-np.abs(row), kind="stable")
        return order[: np.count_nonzero(row)][: self.max_features]

    def _lines(self, feature: int) -> list[str]:
        """Return the name of a feature, line by line."""
        return wrapped(self.names[feature], WIDTH).split("\n")

    def _height(self, features: Indices) -> float:
        """Return the height of the panel of some features, in inches."""
        lines = max((len(self._lines(i)) for i in features), default=1)
        return max(3, len(features)) * max(BAR, LINE * lines + 0.06)

    def _grid(self) -> tuple[int, int]:
        if self.kind == "heatmap":
            return 1, 1
        columns = min(len(self.loadings), SIDE_BY_SIDE)
        return -(-len(self.loadings) // columns), columns

    def _panels(self) -> int:
        return 1 if self.kind == "heatmap" else len(self.loadings)

    def _size(self) -> tuple[float, float]:
        if self.kind == "heatmap":
            return 4.2 + 0.5 * len(self.loadings), 1.4 + self._height(self._union())
        rows, columns = self._grid()
        lines = [line for row in self.loadings for i in self._features(row) for line in self._lines(i)]
        beside = CHARACTER * max(map(len, lines), default=0)
        return max(5.2, (2.3 + beside) * columns), sum(self._heights()) + 1.05 * rows

    def _rows_of_panels(self) -> list[Floats]:
        """Return the loadings of the panels in each row of them."""
        columns = self._grid()[1]
        return [self.loadings[i : i + columns] for i in range(0, len(self.loadings), columns)]

    def _heights(self) -> list[float]:
        if self.kind == "heatmap":
            return [1.0]
        return [max(self._height(self._features(row)) for row in panels) + 0.3 for panels in self._rows_of_panels()]

    def _draw(self, axes: "NDArray[Any]") -> None:
        if self.kind == "heatmap":
            self._draw_heat_map(axes[0])
            return
        limit = float(np.abs(self.loadings).max()) * 1.05
        signed = bool((self.loadings < 0).any())
        columns = self._grid()[1]
        for place, (ax, row, title) in enumerate(zip(axes, self.loadings, self.titles, strict=True)):
            # The panels of a row have room for the same number of bars, so that all bars are equally thick.
            most = max(3, *(len(self._features(other)) for other in self._rows_of_panels()[place // columns]))
            features = self._features(row)
            names, size = self._fitting_names(ax, features, most)
            colours = [COLOURS[0] if row[i] > 0 else COLOURS[2] for i in features]
            ax.barh(np.arange(len(features)), row[features], color=colours, height=0.72)
            ax.axvline(0, color=INK, linewidth=0.8)
            ax.set_yticks(np.arange(len(features)), names, fontsize=size, **text_style(names))
            ax.set_ylim(most - 0.4, -0.6)
            ax.set_xlim(-limit if signed else 0, limit)
            ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
            note = f"\n({self.left_out} more components\nare not drawn)" if self.left_out and ax is axes[-1] else ""
            ax.set_xlabel(f"Loading{note}")
            total = int(np.count_nonzero(row))
            more = f"\n{len(features)} largest of {total} loadings" if len(features) < total else ""
            ax.set_title(f"{title}{more}", fontsize=10)
            tidy_bars(ax)

    def _fitting_names(self, ax: Any, features: Indices, places: int) -> tuple[list[str], float]:
        """Return names and the size of their font. In axes that were given, they fill half of the width at most.

        A figure of its own has the size that the names need.
        """
        box, dpi = ax.get_window_extent(), self.figure_.dpi
        for size in SIZES:
            room = 0.5 * box.width / dpi / (CHARACTER * size / SIZES[0])
            width = WIDTH if self._whole_figure else int(np.clip(room, FEWEST, WIDTH))
            names = [wrapped(self.names[i], width) for i in features]
            lines = max((name.count("\n") + 1 for name in names), default=1)
            if self._whole_figure or 1.2 * lines * size <= box.height / dpi * 72 / places:
                break
        return names, size

    def _union(self) -> Indices:
        """Return the features that are drawn, in the order of the first component that uses them."""
        together = np.concatenate([self._features(row) for row in self.loadings])
        return np.array(list(dict.fromkeys(together.tolist())), dtype=np.intp)

    def _draw_heat_map(self, ax: Any) -> None:
        features = self._union()
        table = self.loadings[:, features].T
        limit = float(np.abs(self.loadings).max())
        image = ax.imshow(
            np.ma.masked_equal(table, 0.0), cmap=ramp("RdBu", 0.08, 0.92), vmin=-limit, vmax=limit, aspect="auto"
        )
        names, size = self._fitting_names(ax, features, max(1, len(features)))
        ax.set_yticks(np.arange(len(features)), names, fontsize=size, **text_style(names))
        ax.set_xticks(np.arange(len(self.numbers)), [str(number) for number in self.numbers])
        ax.set_xlabel("Component")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        # The sign is written, because in grey print both ends of the colours look the same.
        for (place, component), value in np.ndenumerate(table):
            if value != 0 and (len(self.numbers) <= MOST_NUMBERS or value < 0):
                text = f"{value:.2f}".replace("-", "\u2212") if len(self.numbers) <= MOST_NUMBERS else "\u2212"
                ax.text(component, place, text, ha="center", va="center", fontsize="small",
                        color="white" if abs(value) > 0.6 * limit else INK)  # fmt: skip
        bar = ax.figure.colorbar(image, ax=ax, fraction=0.06, pad=0.03)
        bar.set_label("Loading")
        bar.outline.set_visible(False)
        biggest = max(int(np.count_nonzero(row)) for row in self.loadings)
        if self.max_features is not None and biggest > self.max_features:
            ax.set_title(f"The {self.max_features} largest loadings of each component", fontsize=10)


def plot_loadings(
    model: "SparsePCA",
    *,
    components: int | Sequence[int] | None = None,
    max_features: int | None = 20,
    kind: Literal["bars", "heatmap"] = "bars",
    ax: Place = None,
) -> LoadingsDisplay:
    """Draw the loadings of components: signed bars, a panel for each component, or one heat map.

    Parameters
    ----------
    model : SparsePCA
        A fitted `SparsePCA`.
    components : int or sequence of int, optional
        The numbers of the components, from 1. By default all of them; of more than twelve, the first twelve as bars.
    max_features : int or None, default=20
        How many features of a component are drawn at most, those with the largest loadings; None for all.
    kind : {"bars", "heatmap"}, default="bars"
        "bars" or "heatmap".
    ax : Axes, sequence of Axes, Figure or SubFigure, optional
        The axes to draw on: one for each panel, or one that is divided among them; or an empty figure to fill. By
        default pyplot makes a figure.

    Returns
    -------
    LoadingsDisplay
        The display. Its `figure_` and `axes_` can be changed further.

    See Also
    --------
    SparsePCA.loadings : The same as a table.
    plot_biplot : Loadings and rows together.

    Examples
    --------
    >>> from laconic import SparsePCA, plot_loadings
    >>> from laconic.datasets import load_pitprops
    >>> props = load_pitprops()
    >>> model = SparsePCA(cardinality=[5, 2, 2]).fit_covariance(props.covariance, props.feature_names)
    >>> display = plot_loadings(model, kind="heatmap")
    """
    if kind not in ("bars", "heatmap"):
        raise ValueError(f"kind={kind!r} must be 'bars' or 'heatmap'.")
    if max_features is not None and (not is_whole(max_features) or max_features < 1):
        raise ValueError(f"max_features={max_features!r} must be an int of at least 1, or None for all features.")
    numbers, left_out = _chosen(model, components, kind)
    rows = model.components_[[number - 1 for number in numbers]]
    # Two lines, so that a title is not wider than its panel.
    titles = [component_title(model, number).replace(": ", "\n") for number in numbers]
    return LoadingsDisplay(rows, feature_names(model), titles, numbers, max_features, kind, left_out).plot(ax)


def _chosen(model: "SparsePCA", components: Any, kind: str) -> tuple[tuple[int, ...], int]:
    """Return the numbers of the components that are drawn, and how many are left out because they are many."""
    if components is not None:
        return checked_components(model, components), 0
    numbers = checked_components(model, range(1, getattr(model, "n_components_", 0) + 1))
    kept = numbers if kind == "heatmap" else numbers[:MOST_PANELS]
    return kept, len(numbers) - len(kept)
