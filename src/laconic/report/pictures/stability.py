"""Picture: the features of components by the share of samples that choose them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from laconic.report.labels import text_style, wrapped
from laconic.report.pictures.display import Display, Place
from laconic.report.style import COLOURS, PALE, legend_beside, tidy_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from laconic.model.stability import Stability

# A picture of frequencies draws at most this many features and components, and so many components side by side.
MOST_BARS, MOST_PANELS, SIDE_BY_SIDE = 40, 6, 3
# The number of characters on a line of a name, the height of a line in inches, and the least height of a bar.
WIDTH, LINE, BAR = 28, 0.16, 0.24


@dataclass(eq=False, repr=False)
class StabilityDisplay(Display):
    """The features of components by the share of samples that choose them, the most frequent on top.

    Dark bars are features that are chosen from all rows. The line marks a frequency.

    Attributes
    ----------
    found
        The frequencies.
    components
        The numbers of the components that are drawn, from 1.
    threshold
        The frequency that is marked.
    """

    found: "Stability"
    components: tuple[int, ...] = (1,)
    threshold: float = 0.75

    def _shown(self, component: int) -> tuple[Any, int]:
        """Return the features of a component that are drawn, and the number of the others."""
        table = self.found.to_frame()
        table = table[table["component"] == component]
        # A feature that is chosen from all rows is drawn, however rare it is in samples.
        shown = table[table["in_support"] | (table["frequency"].rank(ascending=False, method="first") <= MOST_BARS)]
        return shown, len(table) - len(shown)

    def _grid(self) -> tuple[int, int]:
        columns = min(len(self.components), SIDE_BY_SIDE)
        return -(-len(self.components) // columns), columns

    def _panels(self) -> int:
        return len(self.components)

    def _size(self) -> tuple[float, float]:
        tables = [self._shown(component)[0] for component in self.components]
        lines = max(wrapped(name, WIDTH).count("\n") + 1 for table in tables for name in table["feature"])
        height = max(len(table) for table in tables) * max(BAR, LINE * lines + 0.06)
        rows, columns = self._grid()
        return max(6.4, 4.2 * columns) + 1.6, rows * (1.9 + height)

    def _draw(self, axes: "NDArray[Any]") -> None:
        longest = max(len(self._shown(component)[0]) for component in self.components)
        for ax, component in zip(axes, self.components, strict=True):
            self._draw_one(ax, component)
            # All panels have room for the same number of bars, so that all bars are equally thick.
            ax.set_ylim(longest - 0.4, -0.6)
        handles = [
            Patch(color=COLOURS[0], label="chosen from all rows"),
            Patch(color=PALE, label="chosen in samples only"),
        ]
        if not all(self._shown(component)[0]["in_support"].all() for component in self.components):
            # On the right of the first row.
            legend_beside(axes[min(len(axes), SIDE_BY_SIDE) - 1], handles)

    def _draw_one(self, ax: "Axes", component: int) -> None:
        shown, left_out = self._shown(component)
        places, names = np.arange(len(shown)), [wrapped(feature, WIDTH) for feature in shown["feature"]]
        colours = [COLOURS[0] if inside else PALE for inside in shown["in_support"]]
        ax.barh(places, shown["frequency"], color=colours, height=0.72)
        ax.axvline(self.threshold, color=COLOURS[2], linewidth=1.2, linestyle=(0, (4, 3)), zorder=3)
        ax.annotate(f"{100 * self.threshold:.3g} %", (self.threshold, 1), (0, 2), xycoords=("data", "axes fraction"),
                    textcoords="offset points", ha="center", va="bottom", fontsize="small",
                    color=COLOURS[2])  # fmt: skip
        ax.set_yticks(places, names, **text_style(names))
        ax.set_xlim(0, 1)
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))
        more = f"\n({left_out} rarer features are not drawn)" if left_out else ""
        ax.set_xlabel(f"Chosen by so many of {len(self.found.supports)} {self.found.samples}{more}", fontsize="small")
        low, high = self.found.intervals[component - 1]
        stability = f"stability {self.found.indices[component - 1]:.2f} ({low:.2f} to {high:.2f})"
        ax.set_title(f"Component {component}\n{stability}", pad=16, fontsize="medium")
        tidy_bars(ax)


def plot_stability(
    found: "Stability", *, components: tuple[int, ...] | None = None, threshold: float = 0.75, ax: Place = None
) -> StabilityDisplay:
    """Draw the features of components by frequency, side by side. By default the first six components are drawn."""
    first = tuple(range(1, min(len(found.components), MOST_PANELS) + 1))
    return StabilityDisplay(found, first if components is None else components, threshold).plot(ax)
