"""Pictures of a choice: words stand at their number, inside the picture, and cover neither each other nor a curve."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from laconic import choose


@pytest.fixture(scope="module")
def choice():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 30))
    rows[:, :26] += rng.standard_normal((60, 1))
    return choose(rows, 30)


def marked(choice, cardinality, chosen, n_components=1):
    """Return the choice with other numbers: the one recommended, and that of each criterion."""
    (one,) = choice.components
    curves = {name: replace(curve, chosen=k) for (name, curve), k in zip(one.curves.items(), chosen, strict=True)}
    one = replace(one, cardinality=cardinality, curves=curves)
    return replace(choice, components=[one], n_components=n_components)


def boxes(texts):
    return [text.get_window_extent() for text in texts]


def overlap(a, b):
    return a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1


@pytest.mark.parametrize(
    ("cardinality", "chosen"),
    [
        (27, (27, 28, 29, 30, 26)),
        (1, (1, 2, 3, 4, 5)),
        (30, (30,) * 5),
        (15, (15, 16, 14, 13, 0)),
        (16, (1, 1, 30, 30, 2)),
    ],
)
def test_words_cover_nothing_and_stay_inside(choice, cardinality, chosen):
    figure = marked(choice, cardinality, chosen).plot(Figure()).figure_
    figure.draw_without_rendering()
    for ax in figure.axes:
        (words,) = (text for text in ax.texts if text.get_text() == f"recommended: {cardinality}")
        box, frame = words.get_window_extent(), ax.get_window_extent()
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1
        assert box.y0 >= frame.y1  # above the axes, where there is neither a curve nor a band
        place = ax.transData.transform((cardinality, 0))[0]
        assert min(abs(box.x0 - place), abs(box.x1 - place)) < 3
        everything = [
            *(child for child in ax.get_children() if isinstance(child, Text)),
            *([] if ax.get_legend() is None else [ax.get_legend()]),
        ]
        drawn = [box for box in boxes(everything) if box.width > 0]
        assert not any(overlap(a, b) for a, b in combinations(drawn, 2))


def test_criteria_stand_beside_their_number_below_the_curve(choice):
    names = list(choice.components[0].curves)
    chosen = dict(zip(names, (27, 28, 28, 2, 0), strict=True))
    ax = marked(choice, 27, chosen.values()).plot(Figure()).ax_
    ax.figure.draw_without_rendering()
    words = {text.get_text(): text for text in ax.texts}
    for label, k in ((names[0], 27), (f"{names[1]}, {names[2]}", 28), (names[3], 2)):
        box, place = words[label].get_window_extent(), ax.transData.transform((k, 0))
        assert box.y1 < place[1]
        assert ax.get_window_extent().y0 < box.y0
        assert min(abs(box.x0 - place[0]), abs(box.x1 - place[0])) < 10
    assert names[4] not in words  # it prefers no component at all


def test_what_does_not_count_is_not_recommended(choice):
    figure = marked(choice, 5, (5,) * 5, n_components=0).plot(Figure()).figure_
    for ax in figure.axes:
        words = [text.get_text() for text in ax.texts]
        assert "chosen: 5" in words
        assert not any("recommended" in word for word in words)
    assert "not counted" in figure.axes[0].get_title("left")
