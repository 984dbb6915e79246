"""Names of features."""

from collections.abc import Iterable, Sequence
from typing import Any


def feature_names_of(X: Any) -> list[str] | None:
    """Return the column names of a table if all of them are strings, else None. An array has no names."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    return names if all(isinstance(name, str) for name in names) else None


def split_names(given: Sequence[str], known: Iterable[str]) -> list[str]:
    """Split names at commas, except a known name that contains a comma."""
    whole = set(known)
    return [name for text in given for name in ([text] if text in whole else text.split(","))]


def check_unique(names: Sequence[Any], *, name: str) -> None:
    """Raise a ValueError if a name occurs twice. `name` begins the message: "X has the column name"."""
    seen: set[Any] = set()
    for item in names:
        if item in seen:
            raise ValueError(f"{name} {item!r} more than once; give each feature its own name.")
        seen.add(item)
