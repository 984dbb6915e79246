"""Checks of sizes and seeds for the generators of random data."""

import math
from typing import TypeAlias

import numpy as np

RandomState: TypeAlias = int | np.random.Generator


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator from a seed, or the generator that was given.

    Parameters
    ----------
    random_state : int or numpy.random.Generator
        A seed of at least 0, or the generator to draw from.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise TypeError(f"random_state must be an int or a numpy.random.Generator, got {random_state!r}.")
    if random_state < 0:
        raise ValueError(f"random_state must be at least 0, got {random_state}.")
    return np.random.default_rng(random_state)


def check_size(name: str, value: int) -> None:
    """Raise an error unless a value is a whole number of at least 1.

    Parameters
    ----------
    name : str
        The parameter's name, for the error.
    value : int
        The value to check.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an int, got {value!r}.")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}.")


def check_number(name: str, value: float) -> None:
    """Raise an error unless a value is finite and at least 0.

    Parameters
    ----------
    name : str
        The parameter's name, for the error.
    value : float
        The value to check.
    """
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and at least 0, got {value}.")
