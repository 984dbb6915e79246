"""Picture: rows and features in the plane of two components."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patheffects import withStroke

from laconic.core.arrays import Floats
from laconic.report.labels import listed
from laconic.report.pictures.display import Place
from laconic.report.pictures.scores import ScoresDisplay, scores_display
from laconic.report.plane.axis_labels import feature_names
from laconic.report.plane.words import WIDTH, Words
from laconic.report.style import COLOURS, INK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from laconic.model.estimator import SparsePCA

# The longest arrow reaches this share of the way from the origin to the farthest row, along one of the axes.
REACH = 0.9
# The number of small boxes along an arrow that names keep away from.
STEPS = 12
# At most so many arrows that end together are named. The others are counted.
MOST_NAMES = 6
# Parts of arrows that are nearer than this to the end of one, in points, do not hold up its name.
NEAR = 8.0
# So many arrows usually get all their names.
FEW_ARROWS = 8
# The ends of arrows that are nearer than this, in points, get one name for all of them.
TOGETHER = 10.0


@dataclass(eq=False, repr=False)
class BiplotDisplay(ScoresDisplay):
    """Rows in the plane of two components, and an arrow for each feature of these components.

    Attributes
    ----------
    loadings
        The two loadings of each feature that has an arrow.
    names
        The names of these features.
    arrow_scale
        The number that the loadings are multiplied by.
    """

    loadings: Floats = field(default_factory=lambda: np.empty((0, 2)))
    names: list[str] = field(default_factory=list)
    arrow_scale: float = 1.0

    def _draw(self, axes: "NDArray[Any]") -> None:
        ax, ends = axes[0], self.arrow_scale * self.loadings
        ax.axhline(0, color=INK, linewidth=0.5, zorder=1)
        ax.axvline(0, color=INK, linewidth=0.5, zorder=1)
        self.arrows_ = ax.quiver(np.zeros(len(ends)), np.zeros(len(ends)), *ends.T, angles="xy", scale_units="xy",
                                 scale=1, color=COLOURS[2], width=0.005, zorder=4)  # fmt: skip
        ax.update_datalim(np.vstack([ends, np.zeros(2)]))
        ax.autoscale_view()
        factor = self.arrow_scale
        for side, which in (("top", ax.secondary_xaxis), ("right", ax.secondary_yaxis)):
            other = which(side, functions=(lambda v: v / factor, lambda v: v * factor))
            other.tick_params(colors=COLOURS[2], labelsize="small")
            other.spines[side].set_color(COLOURS[2])
            axis = other.xaxis if side == "top" else other.yaxis
            axis.set_label_text("Loading", color=COLOURS[2])
        if len(ends) > FEW_ARROWS:
            # Words above the axes may say that names are left out.
            ax.set_title(" ", loc="right", fontsize="small")
        super()._draw(axes)

    def _beside(self, ax: Any) -> float:
        box: Any = ax.child_axes[-1].get_tightbbox()
        return float(box.x1 - ax.get_window_extent().x1) * 72 / self.figure_.dpi + 8.0

    def _annotate(self, axes: "NDArray[Any]") -> None:
        words, ends = Words(axes[0]), self.arrow_scale * self.loadings
        shafts = words.boxes_at(np.concatenate([ends * t for t in np.linspace(0, 1, STEPS)]), 3.0)
        markers = np.vstack([words.boxes_at(self._points.scores[:0], 1.0), self._markers(words)])
        halo = [withStroke(linewidth=2.5, foreground="white")]
        look = {"color": COLOURS[2], "fontweight": "bold", "path_effects": halo, "zorder": 7}
        left = []
        for place, name in self._ends(words):
            own = words.boxes_at(place, 2.0)
            # Arrows that end near this one, or pass it, would leave no room for the line to the name.
            away = np.abs(shafts - np.tile(own[0, :2], 2)).max(axis=1) > NEAR * words.point
            # A name may cover rows if there is no other place, but neither arrows nor other names.
            if not words.write(name, place, own, np.vstack([markers, shafts[away]]), **look) and not words.write(
                name, place, own, shafts[away], **look
            ):
                left.append(name)
        self.unnamed_ = left
        if left:
            axes[0].set_title(f"no room for the names of {len(left)} arrows", loc="right", fontsize="small")
        self._points.annotate(words, self.labels, shafts)

    def _markers(self, words: Words) -> Floats:
        """Return the boxes of rows, in pixels."""
        if len(self._points.cells):
            return self._points.cells_in_pixels(words)
        return np.vstack([words.boxes_at(np.array([spot.x, spot.y]), spot.width) for spot in self._points.spots])

    def _ends(self, words: Words) -> list[tuple[Floats, str]]:
        """Return the ends of arrows and their names, the longest arrow first. Ends at one place share a text."""
        ends = self.arrow_scale * self.loadings
        pixels = words.ax.transData.transform(ends)
        found: list[tuple[Floats, Floats, list[str]]] = []
        for i in np.argsort(-np.linalg.norm(self.loadings, axis=1), kind="stable"):
            for _, there, names in found:
                if np.abs(there - pixels[i]).max() <= TOGETHER * words.point:
                    names.append(self.names[i])
                    break
            else:
                found.append((ends[i], pixels[i], [self.names[i]]))
        return [(end, listed(names[:MOST_NAMES], WIDTH, len(names))) for end, _, names in found]


def plot_biplot(
    model: "SparsePCA",
    X: Any,
    *,
    components: Sequence[int] = (1, 2),
    color_by: Any = None,
    labels: Any = None,
    ax: Place = None,
) -> BiplotDisplay:
    """Draw rows in the plane of two components, and an arrow for each feature that one of them uses.

    An arrow ends at the two loadings of its feature, all multiplied by one number: the longest arrow then reaches nine
    tenths of the way to the farthest row, along one of the axes. The axes above and on the right show the loadings.

    Parameters
    ----------
    model : SparsePCA
        A fitted `SparsePCA` of at least two components.
    X : array, sparse matrix or table of shape (n_samples, n_features)
        Rows, as in `SparsePCA.transform`.
    components : sequence of int, default=(1, 2)
        The numbers of two components, from 1.
    color_by, labels : array-like of shape (n_samples,), optional
        As in `plot_scores`.
    ax : Axes, sequence of Axes, Figure or SubFigure, optional
        The axes to draw on, or an empty figure to fill. By default pyplot makes a figure.

    Returns
    -------
    BiplotDisplay
        The display. Its `figure_` and `ax_` can be changed further.

    See Also
    --------
    plot_scores : The rows without the arrows.
    plot_loadings : The loadings alone.

    Examples
    --------
    >>> from laconic import SparsePCA, plot_biplot
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> display = plot_biplot(SparsePCA(cardinality=[5, 2]).fit(votes), votes)
    """
    rows = scores_display(model, X, components, color_by, labels)
    if len(rows.components) != 2:
        given = "the model has one" if model.n_components_ == 1 else f"components={components!r} has one"
        raise ValueError(f"A biplot needs two components, and {given}; use plot_scores.")
    loadings = model.components_[[number - 1 for number in rows.components]].T
    used = np.flatnonzero(loadings.any(axis=1))
    names = feature_names(model)
    farthest, longest = np.abs(rows.scores).max(axis=0), np.abs(loadings).max(axis=0)
    reached = farthest[longest > 0] / longest[longest > 0]
    scale = REACH * float(reached.min()) if (reached > 0).all() else REACH * float(reached.max()) or 1.0
    return BiplotDisplay(
        model, rows.scores, rows.components, rows.colouring, rows.labels, rows.left_out, loadings[used],
        [names[i] for i in used], scale
    ).plot(ax)  # fmt: skip
