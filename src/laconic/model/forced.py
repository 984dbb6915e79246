"""Features that a user forces in, by name or place."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from laconic.core.arguments import places_of
from laconic.core.arrays import Indices, Mask


def forced_places(forced_in: Any, names: Sequence[str] | None, varies: Mask) -> Indices:
    """Return the places of the features forced in; one that does not vary raises a ValueError."""
    if not varies.any():
        raise ValueError("X has no column that varies; there is no variance to explain.")
    given = [] if forced_in is None else places_of(forced_in, names, len(varies), argument="forced_in")
    forced = np.unique(np.array(given, dtype=np.intp))
    wrong = forced[~varies[forced]]
    if len(wrong):
        label = wrong[0] if names is None else repr(str(names[wrong[0]]))
        raise ValueError(f"Feature {label} is in forced_in and does not vary; leave it out.")
    return forced
