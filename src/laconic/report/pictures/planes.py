"""Picture: rows in the plane of two dense components, beside the plane of two sparse ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arrays import Floats
from laconic.model.comparison import Comparison
from laconic.report.labels import wrapped
from laconic.report.pictures.display import Display, Place
from laconic.report.plane.axis_labels import label_axes
from laconic.report.plane.groups import Colouring, colouring_of
from laconic.report.plane.points import draw_points
from laconic.report.plane.words import Words
from laconic.report.style import add_legend, legend_beside, tidy
from laconic.report.tables import count, percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from laconic.model.estimator import SparsePCA


@dataclass(eq=False, repr=False)
class PlanesDisplay(Display):
    """Rows in the plane of two dense components, beside the plane of two sparse ones.

    Attributes
    ----------
    model
        The fitted model.
    dense_ratios
        The shares of the total variance that the two dense components explain.
    dense_scores, sparse_scores
        The scores in both planes. Rows without a score are left out.
    colouring
        The groups of the rows.
    labels
        The name of each row, or None.
    noun, row_noun
        The words for a feature and for a row.
    max_labels
        The number of places that get a name at most.
    """

    model: "SparsePCA"
    dense_ratios: Floats
    dense_scores: Floats
    sparse_scores: Floats
    colouring: Colouring
    labels: Sequence[str] | None = None
    noun: str = "feature"
    row_noun: str = "row"
    max_labels: int = 14

    def _grid(self) -> tuple[int, int]:
        return 1, 2

    def _size(self) -> tuple[float, float]:
        return 10.0, 5.4 + 0.25 * max(0, -(-len(self.colouring.names) // 4) - 1)

    def _draw(self, axes: "NDArray[Any]") -> None:
        first, second = (len(support) for support in self.model.supports_[:2])
        titles = (
            f"Ordinary PCA: {count(self.model.n_features_in_, self.noun)} on each axis",
            f"laconic: {first} and {count(second, self.noun)}",
        )
        self._drawn = []
        for ax, scores, title in zip(axes, (self.dense_scores, self.sparse_scores), titles, strict=True):
            points = draw_points(ax, scores, self.colouring, row_noun=self.row_noun)
            points.add_colour_bar(ax)
            self._drawn.append(points)
            ax.set_title(title, fontsize=12, fontweight="bold", pad=10)
            tidy(ax)
        shares = [
            f"Dense component {j}: {percent(r)} of the variance" for j, r in enumerate(self.dense_ratios, start=1)
        ]
        axes[0].set_xlabel(shares[0])
        axes[0].set_ylabel(shares[1])
        handles = {handle.get_label(): handle for points in self._drawn for handle in points.handles}
        if handles and self._whole_figure:
            for handle in handles.values():
                handle.set_label(wrapped(handle.get_label(), 40))
            add_legend(self.figure_, list(handles.values()), columns=4, loc="outside lower center", columnspacing=2.5)
        elif handles:
            legend_beside(axes[-1], list(handles.values()))
        label_axes(axes[1], self.model, (1, 2))

    def _annotate(self, axes: "NDArray[Any]") -> None:
        for ax, points in zip(axes, self._drawn, strict=True):
            points.annotate(Words(ax), self.labels, most=self.max_labels)


def plot_planes(
    model: "SparsePCA",
    comparison: Comparison,
    *,
    noun: str = "feature",
    row_noun: str = "row",
    groups: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    max_labels: int = 14,
    ax: Place = None,
) -> PlanesDisplay:
    """Draw rows in the plane of two dense components and, beside it, in the plane of two sparse ones.

    Each group of rows has its own colour and shape. The rows farthest from the middle of their group are named by their
    labels if there is room, at `max_labels` places at most. Above 10,000 rows, cells of a grid show how many rows they
    hold. `noun` and `row_noun` are the words for a feature and for a row.
    """
    both = np.hstack([comparison.dense_scores, comparison.sparse_scores])
    there = np.asarray(np.isfinite(both).all(axis=1))
    colouring = colouring_of(groups, len(there)).part(there)
    names = None if labels is None else [str(labels[i]) for i in np.flatnonzero(there).tolist()]
    scores = comparison.dense_scores[there], comparison.sparse_scores[there]
    return PlanesDisplay(model, comparison.dense_ratios, *scores, colouring, names, noun, row_noun, max_labels).plot(ax)
