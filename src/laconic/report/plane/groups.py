"""What rows are coloured by: numbers, or groups that differ in colour and shape."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from laconic.core.arrays import Floats, Indices, Mask
from laconic.report.style import COLOURS, GREY, MARKERS, PALE, marker_handle

# Whole numbers with at most this many different values are groups, such as the numbers of clusters.
FEW = 10
# So many groups can be told apart: six colours and seven shapes give 42 looks. The smallest of more are drawn as one.
MOST_GROUPS = 36
# The codes of rows without a value, and of rows in groups that are too small for a look of their own.
NO_VALUE, OTHERS = -1, -2


@dataclass(frozen=True, eq=False)
class Colouring:
    """What rows are coloured by; nothing if there are neither numbers nor groups."""

    title: str = ""
    numbers: Floats | None = None
    codes: Indices | None = None  # the group of each row
    names: tuple[str, ...] = ()  # of the groups, by code

    def part(self, rows: Indices | Mask | slice) -> "Colouring":
        """Return the same for some of the rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return Colouring(self.title, numbers, None if self.codes is None else self.codes[rows], self.names)

    def handles(self) -> list[Line2D]:
        """Return a marker for each group that has rows, with its name and its number of rows."""
        if self.codes is None:
            return []
        found = []
        for code in [*range(len(self.names)), OTHERS, NO_VALUE]:
            rows = int(np.count_nonzero(self.codes == code))
            if rows:
                name = "no value" if code == NO_VALUE else "all other groups" if code == OTHERS else self.names[code]
                marker, _, colour = look(code)
                found.append(marker_handle(marker, colour, 7.0, f"{name} ({rows})"))
        return found


def look(code: int) -> tuple[str, float, str]:
    """Return the marker of a group, the factor of its size, and its colour."""
    if code < 0:
        return ("o", 0.8, PALE) if code == NO_VALUE else ("o", 0.8, GREY)
    return *MARKERS[code % len(MARKERS)], COLOURS[code % len(COLOURS)]


def colouring_of(color_by: Any, rows: int) -> Colouring:
    """Return what rows are coloured by.

    Numbers are shown by a colour bar, unless they are whole and at most ten of them differ. Everything else makes
    groups, in the order of a categorical column, else sorted.
    """
    if color_by is None:
        return Colouring()
    title = str(getattr(color_by, "name", None) or "")
    import pandas as pd

    # These keep the order of categories, which an array would lose.
    kinds: tuple[Any, ...] = (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)
    array: Any = color_by if isinstance(color_by, kinds) else np.asarray(color_by)
    if array.ndim != 1:
        raise ValueError(f"color_by has {array.ndim} dimensions; give one column, with one value for each row of X.")
    values = pd.Series(array).reset_index(drop=True)
    if len(values) != rows:
        raise ValueError(f"color_by has {len(values)} values for {rows} rows; give one value for each row of X.")
    if pd.api.types.is_complex_dtype(values):
        raise ValueError("color_by has complex numbers; give real numbers or groups, such as their absolute values.")
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        there = np.unique(numbers[np.isfinite(numbers)])
        if len(there) > FEW or (there != np.round(there)).any():
            return Colouring(title, numbers=np.where(np.isfinite(numbers), numbers, np.nan))
    category = values.astype("category").cat.remove_unused_categories()
    if not isinstance(values.dtype, pd.CategoricalDtype) and category.cat.categories.inferred_type == "string":
        category = category.cat.reorder_categories(sorted(category.cat.categories, key=_natural))
    codes, names = category.cat.codes.to_numpy(dtype=np.intp), [_named(name) for name in category.cat.categories]
    if len(names) > MOST_GROUPS:
        sizes = np.bincount(codes[codes >= 0], minlength=len(names))
        kept = np.sort(np.argsort(-sizes, kind="stable")[: MOST_GROUPS - 1])
        new = np.full(len(names) + 1, OTHERS, dtype=np.intp)
        new[kept], new[-1] = np.arange(len(kept)), NO_VALUE
        codes, names = new[codes], [names[i] for i in kept]
    return Colouring(title, codes=np.where(codes == -1, NO_VALUE, codes), names=tuple(names))


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key for sorting that puts "group 2" before "group 10"."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _named(name: Any) -> str:
    """Return the name of a group. A whole number of a float column, such as one with missing values, has no point."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)
