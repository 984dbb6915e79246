"""What rows are coloured by, numbers or groups, and the names of rows."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.words import did_you_mean

# So many groups can be told apart in a picture: six colours and seven shapes give 42 looks.
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

    def part(self, rows: Mask | Indices) -> "Colouring":
        """Return the same for some of the rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return Colouring(self.title, numbers, None if self.codes is None else self.codes[rows], self.names)

    def groups(self) -> list[tuple[int, str, Mask]]:
        """Return the code, the name with the number of rows, and the rows of each group that has rows."""
        codes = np.empty(0) if self.codes is None else self.codes
        named = [*enumerate(self.names), (OTHERS, "all other groups"), (NO_VALUE, "no value")]
        there = [(code, name, codes == code) for code, name in named]
        return [(code, f"{name} ({np.count_nonzero(rows)})", rows) for code, name, rows in there if rows.any()]


def colouring_of(X: Any, color: Any, rows: int, few: int = 10, most: int = MOST_GROUPS) -> Colouring:
    """Return what rows are coloured by: values, or the name of a column of `adata.obs`.

    Numbers stay numbers, unless they are whole and at most `few` of them differ, such as the numbers of clusters.
    Everything else makes groups, in the order of a categorical column, else sorted. Of more than `most` groups, rows
    without a value included, the smallest become one.
    """
    if color is None:
        return Colouring()
    if isinstance(color, str) and hasattr(X, "obs"):
        if color not in X.obs:
            raise ValueError(f"color={color!r} is not a column of adata.obs{did_you_mean(color, X.obs)}")
        color = X.obs[color]
    _check_is_column(color, "color")
    # These keep the order of categories, which an array would lose. Objects keep None and NaN among text.
    kinds: tuple[Any, ...] = (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)
    kind = object if isinstance(color, list | tuple) else None
    array: Any = color if isinstance(color, kinds) else np.asarray(color, dtype=kind)
    title = str(getattr(color, "name", None) or "")
    if array.ndim != 1:
        raise ValueError(f"color has {array.ndim} dimensions; give one column, with one value for each row of X.")
    values = pd.Series(array).reset_index(drop=True).infer_objects()
    if len(values) != rows:
        raise ValueError(f"color has {len(values)} values for {rows} rows; give one value for each row of X.")
    if pd.api.types.is_complex_dtype(values):
        raise ValueError("color has complex numbers; give real numbers or groups, such as their absolute values.")
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        there = np.unique(numbers[np.isfinite(numbers)])
        if len(there) > few or (there != np.round(there)).any():
            return Colouring(title, numbers=np.where(np.isfinite(numbers), numbers, np.nan))
    category = values.astype("category").cat.remove_unused_categories()
    if not isinstance(values.dtype, pd.CategoricalDtype) and category.cat.categories.inferred_type == "string":
        category = category.cat.reorder_categories(sorted(category.cat.categories, key=_natural))
    codes = category.cat.codes.to_numpy(dtype=np.intp)
    # A whole number of a float column, such as one with missing values, has no decimal point.
    names = [str(int(g)) if isinstance(g, float) and g.is_integer() else str(g) for g in category.cat.categories]
    most -= bool((codes < 0).any())
    if len(names) > most:
        sizes = np.bincount(codes[codes >= 0], minlength=len(names))
        kept = np.sort(np.argsort(-sizes, kind="stable")[: most - 1])
        new = np.full(len(names) + 1, OTHERS, dtype=np.intp)
        new[kept], new[-1] = np.arange(len(kept)), NO_VALUE
        codes, names = new[codes], [names[i] for i in kept]
    return Colouring(title, codes=codes.astype(np.intp), names=tuple(names))


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key for sorting that puts "group 2" before "group 10"."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def row_names(X: Any, labels: Any, rows: int) -> list[str] | None:
    """Return the names of rows: those given, or the index of a table if it holds no numbers; False for none."""
    if labels is False:
        return None
    if labels is None:
        labels = getattr(X, "index", None)
        if getattr(labels, "inferred_type", "integer") in ("integer", "floating"):
            return None
    _check_is_column(labels, "labels")
    names = [str(name) for name in labels]
    if len(names) != rows:
        raise ValueError(f"labels has {len(names)} names for {rows} rows; give one name for each row of X.")
    return names


def _check_is_column(values: Any, argument: str) -> None:
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise ValueError(f"{argument}={values!r} must have one value for each row, such as a column of a table.")
