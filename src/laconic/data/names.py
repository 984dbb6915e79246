"""Names of features."""

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import Any

from laconic.core.words import did_you_mean

# A message lists at most this many names, and the number of the others.
MOST_LISTED = 10
# Names are compared with a misspelt one if there are at most this many. More would take seconds.
MOST_COMPARED = 5000


def feature_names_of(X: Any) -> list[str] | None:
    """Return the column names of a table if all of them are strings, else None. An array has no names."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    return names if all(isinstance(name, str) for name in names) else None


def column_names(X: Any) -> list[str] | None:
    """Return the column names of a table of pandas, polars, pyarrow or Dask if all are strings, else None."""
    if hasattr(X, "column_names") and hasattr(X, "num_rows"):
        return list(X.column_names)
    # A lazy frame of polars has no columns yet.
    return feature_names_of(X) if hasattr(X, "columns") and not hasattr(X, "collect") else None


def places_by_name(wanted: Sequence[str], names: Sequence[str], table: str, why: str) -> list[int]:
    """Return the places of columns. A ValueError lists those that the table does not have.

    `why` says who needs them, such as "the components use".
    """
    places = {name: place for place, name in enumerate(names)}
    missing = [name for name in wanted if name not in places]
    if not missing:
        return [places[name] for name in wanted]
    if len(missing) == 1:
        close = did_you_mean(missing[0], names) if len(names) <= MOST_COMPARED else "."
        raise ValueError(f"{table} has no column {missing[0]!r}, which {why}{close}")
    compared = missing if len(names) <= MOST_COMPARED else []
    hints = [did_you_mean(name, names) if name in compared[:MOST_LISTED] else "." for name in missing]
    words = [f"{name!r}{'' if hint == '.' else f' ({hint[2:]})'}" for name, hint in zip(missing, hints, strict=True)]
    raise ValueError(f"{table} lacks {len(missing)} of the {len(wanted)} columns that {why}: {listed(words)}.")


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
