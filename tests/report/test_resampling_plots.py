"""Pictures of stability and of noise: all features are drawn, names are not cut off, the support is marked."""

import io
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from laconic import compare_with_noise, stability
from laconic.report.pictures.stability import MOST_BARS
from laconic.report.style import COLOURS


def table(p, seed=0):
    X = np.random.default_rng(seed).standard_normal((60, p))
    X[:, :3] += 1.5 * np.random.default_rng(seed + 1).standard_normal((60, 1))
    return pd.DataFrame(X, columns=[f"feature number {i}" for i in range(p)])


@pytest.mark.parametrize("p", [8, 60])
def test_bars_are_the_frequencies_and_do_not_cover_their_names(p):
    found = stability(table(p), cardinality=3 if p == 8 else 12, resamples=10)
    ax = found.plot(Figure(), threshold=0.6).ax_
    frame = found.to_frame()
    bars = ax.patches[: len(ax.get_yticks())]
    assert len(bars) == min(len(frame), MOST_BARS) or frame["in_support"][MOST_BARS:].any()
    np.testing.assert_allclose([bar.get_width() for bar in bars[:5]], frame["frequency"][:5])
    dark = [to_hex(bar.get_facecolor()) == COLOURS[0].lower() for bar in bars]
    assert sum(dark) == frame["in_support"].sum()
    assert list(ax.lines[0].get_xdata()) == [0.6, 0.6]
    ax.figure.savefig(io.BytesIO())
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert all(lower.y1 <= upper.y0 + 1 for upper, lower in pairwise(boxes))
    assert min(box.x0 for box in boxes) >= 0


def test_components_side_by_side_have_bars_of_one_thickness():
    found = stability(table(12), n_components=2, cardinality=3, resamples=10)
    figure = found.plot(Figure(), component=None).figure_
    assert len(figure.axes) == 2
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


def test_noise_is_drawn_beside_each_component():
    found = compare_with_noise(table(12), n_components=2, cardinality=3, permutations=19)
    ax = Figure().add_subplot()
    assert found.plot(ax).ax_ is ax
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "95 % quantile of them" in texts
    assert "component" in texts
    points = {tuple(line.get_ydata()) for line in ax.lines}
    assert tuple(found.components[0].noise) in points


def test_after_the_first_component_of_noise_none_counts():
    found = compare_with_noise(table(12), n_components=4, cardinality=3, permutations=19)
    records = [
        replace(record, noise=np.full(19, record.value * factor))
        for record, factor in zip(found.components, (0.5, 0.5, 1.5, 0.5), strict=True)
    ]
    found = replace(found, components=records)
    assert (found.p_values <= 0.05).tolist() == [True, True, False, True]
    faces = {line.get_label(): line for line in found.plot(Figure()).ax_.lines if line.get_marker() == "D"}
    assert list(faces["component"].get_xdata()) == [1, 2]
    assert list(faces["component, does not count"].get_xdata()) == [3, 4]
    assert faces["component, does not count"].get_markerfacecolor() == "white"
