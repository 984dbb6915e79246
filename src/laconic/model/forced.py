"""Features that a user forces in or out, by name or place."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from laconic.core.arguments import places_of
from laconic.core.arrays import Indices, Mask


def forced_and_allowed(
    forced_in: Any, forced_out: Any, names: Sequence[str] | None, varies: Mask
) -> tuple[Indices, Indices]:
    """Return the places of the features forced in, and of those that may be used: they vary and are not forced out."""
    n = len(varies)
    if not varies.any():
        raise ValueError("X has no column that varies; there is no variance to explain.")
    forced, excluded = (
        np.unique(np.array([] if given is None else places_of(given, names, n, argument=argument), dtype=np.intp))
        for argument, given in (("forced_in", forced_in), ("forced_out", forced_out))
    )
    for wrong, why in (
        (np.intersect1d(forced, excluded), "is both in forced_in and in forced_out"),
        (forced[~varies[forced]], "is in forced_in and does not vary; leave it out"),
    ):
        if len(wrong):
            raise ValueError(f"Feature {wrong[0] if names is None else repr(str(names[wrong[0]]))} {why}.")
    allowed = np.setdiff1d(np.flatnonzero(varies), excluded)
    if not len(allowed):
        raise ValueError("forced_out leaves no feature that varies; force fewer out.")
    return forced, allowed
