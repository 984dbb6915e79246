"""Checks before the work begins: what a user gives, and the memory that a step needs."""

import os
from collections.abc import Sequence
from numbers import Integral
from typing import Any, TypeGuard

import numpy as np

from laconic.core.words import did_you_mean, memory_in_words


def is_whole(value: Any) -> TypeGuard[int]:
    """Say whether a value is a whole number. True and False do not count as numbers."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def places_of(features: Any, feature_names: Sequence[str] | None, n: int, *, argument: str) -> list[int]:
    """Return the column numbers, in the order given, of features given by name or by number.

    `argument` is the name of the argument that `features` came from, for errors.
    """
    if isinstance(features, str | bytes) or not hasattr(features, "__iter__"):
        raise ValueError(f"{argument}={features!r} must be a list of features; give [{features!r}] for one.")
    known = {} if feature_names is None else {name: place for place, name in enumerate(feature_names)}
    places = []
    for feature in features:
        if isinstance(feature, str):
            if feature not in known:
                unknown = "which is not among the feature names" if known else "but the data have no feature names"
                raise ValueError(f"{argument} names {feature!r}, {unknown}{did_you_mean(feature, known)}")
            places.append(known[feature])
        elif is_whole(feature) and 0 <= feature < n:
            places.append(int(feature))
        else:
            raise ValueError(f"{argument} holds {feature!r}; give feature names or column numbers from 0 to {n - 1}.")
    return places


def physical_memory() -> float:
    """Return the bytes of memory of this machine, infinite if it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise a MemoryError of one sentence if a step needs more memory than the machine has."""
    available = physical_memory()
    if needed > available:
        raise MemoryError(
            f"{what} would need {memory_in_words(needed)}, and this machine has {memory_in_words(available)}; {remedy}."
        )
