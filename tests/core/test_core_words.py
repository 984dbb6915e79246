"""Verdicts: exact sentences, and numbers that are rounded the safe way."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laconic.core.words import (
    at_least,
    at_most,
    optimal_in_words,
    percent,
    percent_reached,
    proof_in_words,
    scope_of,
)

NONE = np.empty(0, dtype=np.intp)


def test_the_three_verdicts():
    assert optimal_in_words() == "Optimal: no other support of this size reaches more variance (proved)."
    assert proof_in_words(0.055) == "This support reaches at least 94.7 % of the best possible variance (proved)."
    assert proof_in_words(0.0) == proof_in_words(1e-6) == optimal_in_words()
    assert proof_in_words(1.1e-6) == "This support reaches at least 99.99989 % of the best possible variance (proved)."
    assert proof_in_words(np.inf) == "No upper bound was computed."


@pytest.mark.parametrize(
    ("earlier", "words"),
    [(1, "component 1"), (2, "components 1 and 2"), (3, "components 1 to 3"), (7, "components 1 to 7")],
)
def test_later_components(earlier, words):
    scope = scope_of(NONE, NONE, earlier=earlier)
    assert optimal_in_words(scope) == (
        f"Optimal: no other support of this size reaches more variance after {words} (proved)."
    )
    assert proof_in_words(1.2, scope) == (
        f"This support reaches at least 45 % of the best possible variance after {words} (proved)."
    )


def test_restricted_supports():
    scope = scope_of(np.array([2]), np.array([0]), earlier=1, nonnegative=True, feature_names=["age", "sex", "height"])
    assert optimal_in_words(scope) == (
        "Optimal: no other support of this size with 'age' but without 'height' reaches more variance with "
        "non-negative loadings after component 1 (proved)."
    )
    assert proof_in_words(0.5, scope) == (
        "This support reaches at least 66 % of the best possible variance with non-negative loadings after "
        "component 1 among supports with 'age' but without 'height' (proved)."
    )
    many = scope_of(np.arange(1234), np.arange(3))
    assert many.supports == " with 3 features forced in but without 1,234 of the features"
    assert scope_of(np.arange(2), NONE).supports == " without features 0 and 1"


@pytest.mark.parametrize(
    ("gap", "percent"),
    [
        (2e-6, "99.9998"),
        (0.00012, "99.988"),
        (0.0055, "99.45"),
        (0.0704, "93.4"),
        (0.12, "89"),
        (0.74, "57"),
        (1.0, "50"),
        (9.0, "10"),
        (20.0, "4.7"),
        (123456.0, "0.0008"),
        (0.0, "100"),
    ],
)
def test_the_share_of_the_best_possible_variance(gap, percent):
    assert percent_reached(gap) == percent


@pytest.mark.parametrize(
    ("share", "found", "limit"),
    [
        (0.99965, "99.9 %", "99.97 %"),
        (0.999985, "99.9 %", "99.999 %"),
        (0.29, "29.0 %", "29.0 %"),
        (0.001, "0.10 %", "0.11 %"),
        (0.00043, "0.043 %", "0.043 %"),
        (0.00995, "0.99 %", "1.00 %"),
        (0.0, "0 %", "0 %"),
        (1.0, "100 %", "100 %"),
        (1.25, "125.0 %", "125.0 %"),
        (np.nan, "", ""),
    ],
)
def test_a_share_is_rounded_down_and_a_limit_up(share, found, limit):
    assert percent(share) == found
    assert percent(share, up=True) == limit


@given(st.floats(1e-12, 1 - 1e-8))
def test_no_share_but_nothing_and_all_reads_like_nothing_or_all(share):
    low, high = (Fraction(percent(share, up=up).removesuffix(" %")) for up in (False, True))
    assert 0 < low <= 100 * Fraction(share) * (1 + Fraction(1, 10**8))
    assert 100 * Fraction(share) <= high < 100 or share >= 1 - 1e-9
    assert high - low <= max(Fraction(1, 5), 0)


@given(st.floats(1e-6, 1e9))
def test_the_share_is_never_rounded_up(gap):
    share, said = 100 / (1 + Fraction(gap)), Fraction(percent_reached(gap))
    assert said <= share
    # Two digits of what is smaller, the share or what is missing, are told.
    assert share - said <= min(share, 100 - share) / 10 + Fraction(1, 10**20)


@given(st.floats(1e-300, 1e300), st.integers(2, 12))
def test_bounds_are_rounded_the_safe_way(number, digits):
    lower, upper = Fraction(at_least(number, digits)), Fraction(at_most(number, digits))
    assert lower <= Fraction(number) <= upper
    assert upper - lower <= Fraction(number) / 10 ** (digits - 2)
    assert Fraction(at_most(-number, digits)) >= Fraction(-number)


def test_bounds_that_are_no_numbers():
    assert (at_most(np.inf, 5), at_least(np.nan, 5)) == ("inf", "nan")
