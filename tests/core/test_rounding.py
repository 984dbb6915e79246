"""Sums, products and norms rounded the safe way, checked in exact rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.test_eigenvalues import is_upper_bound, symmetric

from laconic.core import rounding


@given(st.lists(st.floats(-1e300, 1e300), max_size=30))
def test_sums_are_rounded_up(values):
    total = sum((Fraction(v) for v in values), Fraction(0))
    assert rounding.sum_up(values) == math.inf or Fraction(rounding.sum_up(values)) >= total


def test_sums_of_what_is_no_number():
    assert rounding.sum_up([1.0, np.nan]) == math.inf
    assert rounding.sum_up([1.0, np.inf, -np.inf]) == math.inf
    assert rounding.sum_up([1.0, -np.inf]) == -math.inf
    assert rounding.sum_up([1e308, 1e308]) == math.inf


@given(st.lists(st.floats(0, 1e100), min_size=1, max_size=40), st.integers(0, 1000))
def test_grown_and_shrunk_enclose_a_sum_of_products(values, seed):
    x = np.array(values)
    y = np.random.default_rng(seed).random(len(x))
    true = sum((Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)), Fraction(0))
    low, high = (float(f(float(x @ y), len(x))) for f in (rounding.shrunk, rounding.grown))
    assert Fraction(low) <= true <= Fraction(high)


def test_norms_are_rounded_up():
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e-320, 1e-200, 1e200, 1e307):
        for n in (1, 2, 3):
            E = symmetric(rng, n) * scale
            bound = rounding.norm_up(E)
            assert is_upper_bound(bound, E)
            assert is_upper_bound(bound, -E)
    assert rounding.norm_up(np.zeros((3, 3))) == 0
    assert rounding.norm_up(np.full((2, 2), np.inf)) == math.inf


def test_scaling_back_rounds_up():
    assert rounding.scaled_up(1.5, 2000) == math.inf
    assert Fraction(rounding.scaled_up(-1.5, 2000)) >= -Fraction(3, 2) * 2**2000
    assert Fraction(rounding.scaled_up(1 + 2.0**-52, -1060)) >= Fraction(1 + 2.0**-52) / 2**1060
    assert rounding.scaled_up(3.0, 4) == 48.0


def test_too_many_roundings_are_refused():
    with pytest.raises(ValueError, match="beyond"):
        rounding.gamma(10**15)
