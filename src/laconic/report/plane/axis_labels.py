"""The labels of the axes of a plane: number of the component, its share of the variance, and its features."""

from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.report.labels import listed, text_style, wrapped
from laconic.report.style import lay_out
from laconic.report.tables import count, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from laconic.model.estimator import SparsePCA

# Names of features fill at most so many lines, and a single long name so many. If that is not enough, the features are
# only counted.
MOST_LINES, LONG_NAME = 2, 5
# The width of an average character, in units of the font size.
CHARACTER = 0.62
# Labels keep at least this many characters on a line, however small the axes are.
FEWEST = 12
# How often a label is made shorter, if its letters turn out to be wide.
TRIES = 4


def feature_names(model: "SparsePCA") -> list[str]:
    """Return the names of all features, or their places if they have no names."""
    return [str(name) for name in getattr(model, "feature_names_in_", range(model.n_features_in_))]


def component_title(model: "SparsePCA", number: int) -> str:
    """Return the number of a component, and its share of the variance if there is one."""
    ratio = model.explained_variance_ratio_[number - 1]
    return f"Component {number}" + (f": {percent(ratio)} of the variance" if np.isfinite(ratio) else "")


def signed_names(model: "SparsePCA", number: int) -> list[str]:
    """Return the features of a component, the largest loading first, each with a minus if its loading is negative."""
    row, support = model.components_[number - 1], model.supports_[number - 1]
    names = feature_names(model)
    order = support[np.argsort(-np.abs(row[support]), kind="stable")]
    return [("\u2212" if row[i] < 0 else "") + " ".join(names[i].split()) for i in order]


def label_axes(ax: "Axes", model: "SparsePCA", numbers: tuple[int, ...]) -> None:
    """Label the axes by components. The lines are as long as the axes, and no name is cut."""
    root: Any = ax.figure.figure
    titles = [component_title(model, number) for number in numbers]
    axes = [ax.xaxis, ax.yaxis][: len(numbers)]
    # The lines are placed first without names: the layout then shows how long the axes are.
    for axis, title in zip(axes, titles, strict=True):
        axis.set_label_text(f"{title}\n" * MOST_LINES)
    lay_out(ax)
    box = ax.get_window_extent()
    for axis, title, number, length in zip(axes, titles, numbers, (box.width, box.height), strict=False):
        size = axis.label.get_fontsize() * root.dpi / 72
        characters = max(FEWEST, int(length / (CHARACTER * size)))
        names = signed_names(model, number)
        for _ in range(TRIES):
            text = f"{wrapped(title, characters)}\n{_names_that_fit(names, characters)}"
            axis.set_label_text(text, **text_style([text]))
            extent = axis.label.get_window_extent()
            reached = extent.width if axis is ax.xaxis else extent.height
            if reached <= length or characters == FEWEST:
                break
            # The letters are wider than average.
            characters = max(FEWEST, int(characters * length / reached) - 1)


def _names_that_fit(names: list[str], width: int) -> str:
    """Return the first names on a few lines, and the number of the others."""
    # A name and its comma have at least three characters.
    for shown in range(min(len(names), MOST_LINES * width // 3), 1, -1):
        text = listed(names[:shown], width, len(names))
        if text.count("\n") < MOST_LINES:
            return text
    text = listed(names[:1], width, len(names))
    return text if text.count("\n") < LONG_NAME else count(len(names), "feature")
