"""Names in pictures are wrapped and never cut."""

import pytest

from laconic.report.labels import listed, text_style, wrapped

NAMES = [
    "vibration_x_mm_per_second_at_the_rear_bearing_of_pump_number_12",
    "CamelCaseNameOfAVeryLongMeasurementInsideTheMachineRoom",
    "x" * 60,
    "a name of several words that goes on for some time",
    "short",
    "a/b-c.d:e;f,g|h+i=j&k" * 4,
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [5, 12, 26])
def test_lines_are_short_and_nothing_is_lost(name, width):
    lines = wrapped(name, width).split("\n")
    assert max(map(len, lines)) <= width
    assert "".join(lines).replace(" ", "") == name.replace(" ", "")


def test_lines_end_at_marks_and_capitals():
    assert wrapped("rear_bearing_of_pump", 13) == "rear_bearing_\nof_pump"
    assert wrapped("RearBearingOfPump", 12) == "RearBearing\nOfPump"
    assert wrapped("rear bearing of pump", 13) == "rear bearing\nof pump"
    assert wrapped("two\nlines\tand blanks  ", 40) == "two lines and blanks"


def test_characters_that_no_font_has_are_written_as_numbers():
    assert wrapped("a\x1bb", 20) == "a\\x1bb"
    assert "\\U000f0000" in wrapped("\U000f0000", 20)  # a private character
    assert wrapped("é ж α", 20) == "é ж α"


def test_names_are_listed_and_the_others_counted():
    assert listed(["alpha", "beta"], 30, 2) == "alpha, beta"
    assert listed(["alpha", "beta"], 30, 5) == "alpha, beta, and 3 more"
    assert listed(["alpha", "beta"], 8, 5) == "alpha,\nbeta,\nand 3\nmore"


def test_text_from_data_is_no_formula():
    style = text_style(["$x$"])
    assert style["parse_math"] is False
    assert style["usetex"] is False
