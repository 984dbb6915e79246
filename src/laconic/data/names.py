"""Names of features."""

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import Any

from laconic.core.wording import did_you_mean

# A message lists at most this many names, and the number of the others.
MOST_LISTED = 10


def feature_names_of(X: Any) -> list[str] | None:
    """Return the column names of a table if all of them are strings, else None. An array has no names."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    return names if all(isinstance(name, str) for name in names) else None


def check_names(names: Sequence[Any], n: int, *, name: str = "feature_names", of: str = "features") -> list[str]:
    """Return names that a user gives for `n` features as a list of texts; a ValueError says what is wrong with them."""
    found = [str(item) for item in names]
    if len(found) != n:
        raise ValueError(f"{name} has {len(found)} names for {n} {of}.")
    check_unique(found, name=f"{name} holds")
    return found


def split_names(given: Sequence[str], known: Collection[str]) -> list[str]:
    """Split names at commas, except the commas of known names."""
    found = []
    for text in given:
        parts = text.split(",")
        while parts:
            # The longest known name that begins here, or the text up to the next comma.
            ends = range(len(parts), 0, -1)
            end = next((end for end in ends if ",".join(parts[:end]) in known), 1)
            found.append(",".join(parts[:end]))
            parts = parts[end:]
    return found


def matching(given: Sequence[str], names: Collection[str], *, argument: str, table: str) -> set[str]:
    """Return the names that a user means: by name, or by a pattern such as "Q*", several separated by commas.

    A ValueError names the first one that no column of the table has. `argument` is what the user calls the list.
    """
    found: set[str] = set()
    known = set(names)
    for text in split_names(given, known):
        own = {text} & known or {name for name in names if fnmatchcase(name, text)}
        if not own:
            raise ValueError(f"{argument}={text!r} is not a column of {table}{did_you_mean(text, names)}")
        found |= own
    return found


def listed(words: Sequence[str], most: int = MOST_LISTED) -> str:
    """Return the first words of a list, and the number of the others."""
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")


def check_unique(names: Sequence[Any], *, name: str) -> None:
    """Raise a ValueError if a name occurs twice. `name` begins the message: "X has the column name"."""
    seen: set[Any] = set()
    for item in names:
        if item in seen:
            raise ValueError(f"{name} {item!r} more than once; give each feature its own name.")
        seen.add(item)
