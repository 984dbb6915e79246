"""Pictures are looked at by people; here is what can be measured: data drawn, nothing covered, nothing global."""

import io
import subprocess
import sys
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA

from laconic import SparsePCA, cardinality_path
from laconic.datasets import load_pitprops, load_senate109
from laconic.model.comparison import compare_with_dense
from laconic.proof.gate import UpperBound
from laconic.proof.witness_plain import TraceWitness
from laconic.report.pictures.path import plot_path
from laconic.report.pictures.planes import plot_planes
from laconic.report.plane.groups import colouring_of
from laconic.report.plane.points import draw_points
from laconic.report.plane.spots import find_spots
from laconic.report.plane.words import Words
from laconic.report.style import legend_beside

PARTIES = {"D": "Democrat", "I": "Independent", "R": "Republican"}


@pytest.fixture(scope="module")
def senate():
    votes = load_senate109()
    frame = votes.frame
    model = SparsePCA(n_components=2, cardinality=[5, 2]).fit(frame)
    return votes, frame, model, compare_with_dense(model, frame)


@pytest.fixture(scope="module")
def path():
    pitprops = load_pitprops()
    return cardinality_path(pitprops.covariance, feature_names=pitprops.feature_names, method="greedy")


def pixels(figure):
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=80)
    assert file.getvalue().startswith(b"\x89PNG")
    file.seek(0)
    return imread(file)


def drawn(figure):
    """Say whether the picture holds more than a blank page."""
    return float((pixels(figure)[..., :3].min(axis=2) < 0.9).mean()) > 0.005


def bounded(path, upper):
    bounds = [None if np.isinf(u) else UpperBound(u, "trace", k, TraceWitness()) for k, u in enumerate(upper, start=1)]
    return replace(path, solutions=[replace(s, bound=b) for s, b in zip(path.solutions, bounds, strict=True)])


def names_in(ax):
    return [t for t in ax.texts if t.get_text() and not t.get_text().isdigit()]


def overlap(a, b):
    return a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1


def test_path_shows_shares_in_per_cent(path):
    ax = plot_path(path, ax=Figure()).ax_
    curve = next(line for line in ax.lines if len(line.get_xdata()) == 13 and line.get_linestyle() == "-")
    np.testing.assert_array_equal(curve.get_xdata(), np.arange(1, 14))
    np.testing.assert_allclose(curve.get_ydata(), 100 * path.values / path.dense_variance)
    assert ax.get_ylim()[1] > 100
    assert "%" in ax.get_ylabel()
    assert "ardinality" in ax.get_xlabel()
    assert drawn(ax.figure)


def test_path_draws_a_band_only_where_a_bound_is_proved(path):
    assert not plot_path(bounded(path, [np.inf] * 13), ax=Figure()).ax_.collections
    upper = np.where(path.cardinalities <= 8, 1.1 * path.values, np.inf)
    ax = plot_path(bounded(path, upper), ax=Figure()).ax_
    (band,) = ax.collections
    corners = np.concatenate([p.vertices for p in band.get_paths()])
    assert corners[:, 0].max() == 8
    # The dense component bounds every component, so the band ends there.
    shares = 100 * path.shares[:8]
    np.testing.assert_allclose(corners[:, 1].max(), np.minimum(1.1 * shares, 100).max())
    assert "proved upper bound" in [t.get_text() for t in ax.get_legend().get_texts()]


def test_path_tells_proved_points_from_others(path):
    upper = np.where(path.cardinalities <= 3, path.values, np.inf)
    ax = plot_path(bounded(path, upper), ax=Figure()).ax_
    points = {line.get_label(): len(line.get_xdata()) for line in ax.lines if line.get_marker() == "o"}
    assert points == {"found, optimal (proved)": 3, "found": 10}


def test_path_uses_the_axes_it_is_given(path):
    figure = Figure()
    ax = figure.add_subplot()
    display = path.plot(ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert ax.lines


def test_legend_of_path_covers_no_point(path):
    for given in (path, bounded(path, 1.2 * path.values)):
        ax = plot_path(given, ax=Figure()).ax_
        ax.figure.draw_without_rendering()
        assert not overlap(ax.get_legend().get_window_extent(), ax.get_window_extent())


def test_path_of_one_cardinality_can_be_drawn():
    assert drawn(plot_path(cardinality_path(np.eye(3), 1, given="covariance"), ax=Figure()).figure_)


def test_markers_account_for_every_row(senate):
    _, _, _, comparison = senate
    for scores in (comparison.dense_scores, comparison.sparse_scores):
        spots = find_spots(scores)
        assert sorted(np.concatenate([spot.members for spot in spots])) == list(range(101))
        for spot in spots:
            np.testing.assert_allclose(scores[spot.members], [[spot.x, spot.y]] * len(spot.members), atol=1e-6)


def test_area_is_proportional_to_the_rows_that_coincide():
    spots = find_spots(np.array([[0.0, 0.0]] * 8 + [[1.0, 1.0]] * 2 + [[2.0, 0.5]]))
    single = min(spot.width for spot in spots)
    assert {len(spot.members): round((spot.width / single) ** 2, 6) for spot in spots} == {8: 8, 2: 2, 1: 1}


def test_groups_at_one_place_stand_side_by_side():
    first, second = find_spots(np.zeros((5, 2)), colouring_of(["a", "a", "a", "b", "b"], 5))
    apart = np.hypot(first.shift[0] - second.shift[0], first.shift[1] - second.shift[1])
    assert apart == pytest.approx((first.width + second.width) / 2, abs=0.2)


def test_a_crowded_level_is_not_piled_up():
    # 200 values a hair apart on one level would make a tower taller than the picture.
    scores = np.stack([np.linspace(0, 1, 200), np.zeros(200)], axis=1)
    assert all(spot.shift == (0.0, 0.0) for spot in find_spots(scores))


def plane(scores, *, groups=None, labels=None, max_labels=12):
    ax = Figure(layout="constrained").add_subplot()
    points = draw_points(ax, scores, colouring_of(groups, len(scores)))
    points.annotate(Words(ax), labels, most=max_labels)
    return ax


def test_groups_differ_in_colour_and_in_shape_and_in_lightness():
    rng = np.random.default_rng(0)
    ax = plane(rng.standard_normal((60, 2)), groups=list("xyz") * 20)
    colours = {tuple(c.get_facecolor()[0][:3]) for c in ax.collections}
    shapes = {c.get_paths()[0].vertices.tobytes() for c in ax.collections}
    lightness = sorted(float(np.dot(c, [0.2126, 0.7152, 0.0722])) for c in colours)
    assert len(colours) == len(shapes) == 3
    assert np.diff(lightness).min() > 0.1


def test_the_row_that_stands_apart_is_named():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((50, 2))
    scores[17] = (9, 9)
    labels = [f"row {i}" for i in range(50)]
    assert [t.get_text() for t in names_in(plane(scores, labels=labels, max_labels=1))] == ["row 17"]
    assert not names_in(plane(scores, labels=labels, max_labels=0))


def test_the_row_among_the_other_group_is_named():
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.standard_normal((30, 2)), rng.standard_normal((30, 2)) + 12])
    groups = ["a"] * 30 + ["b"] * 30
    groups[5] = "b"
    named = names_in(plane(scores, groups=groups, labels=[str(f"row {i}") for i in range(60)], max_labels=1))
    assert [t.get_text() for t in named] == ["row 5"]


@pytest.mark.parametrize("seed", range(3))
def test_names_cover_neither_markers_nor_each_other_nor_leave_the_axes(seed):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.standard_normal((150, 2)) * 4) / 4
    ax = plane(scores, groups=list("abc") * 50, labels=[f"number {i}" for i in range(150)], max_labels=30)
    ax.figure.draw_without_rendering()
    boxes = [t.get_window_extent() for t in names_in(ax)]
    assert len(boxes) > 5
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))
    frame = ax.get_window_extent()
    assert all(frame.x0 <= b.x0 and frame.y0 <= b.y0 and b.x1 <= frame.x1 and b.y1 <= frame.y1 for b in boxes)
    centres = ax.transData.transform(scores)
    assert not any(box.contains(*centre) for box in boxes for centre in centres)


def test_text_from_data_is_not_read_as_mathematics():
    groups = ["$\\no$", "$^$"]
    ax = plane(np.eye(2), labels=["$\\bad$", "$_$"], groups=groups)
    legend_beside(ax, colouring_of(groups, 2).handles())
    assert drawn(ax.figure)


def test_dense_side_is_plain_pca(senate):
    votes, _, model, comparison = senate
    plain = PCA(2).fit(votes.data)
    np.testing.assert_allclose(comparison.dense_ratios, plain.explained_variance_ratio_, rtol=1e-6)
    np.testing.assert_allclose(np.abs(comparison.dense_scores), np.abs(plain.transform(votes.data)), atol=1e-5)
    assert (np.sum(comparison.dense_scores * comparison.sparse_scores, axis=0) > 0).all()
    np.testing.assert_allclose(model.dense_variance_[0], plain.explained_variance_[0], rtol=1e-6)


def test_share_of_a_later_component_is_that_of_the_deflated_covariance(senate):
    votes, _, model, _comparison = senate
    z = model.components_[0]
    P = np.eye(48) - np.outer(z, z)
    left = P @ np.cov(votes.data.T) @ P
    np.testing.assert_allclose(model.dense_variance_[1], np.linalg.eigvalsh(left)[-1], rtol=1e-6)


@pytest.mark.parametrize("settings", [{"scale": True}, {"center": False}, {"scale": True, "center": False}])
def test_all_features_keep_the_whole_dense_component(settings):
    rows = np.random.default_rng(0).standard_normal((40, 6)) * [1, 2, 3, 4, 5, 6] + 1
    frame = pd.DataFrame(rows, columns=list("abcdef"))
    model = SparsePCA(n_components=2, cardinality=6, **settings).fit(frame)
    comparison = compare_with_dense(model, frame)
    np.testing.assert_allclose(model.lower_bound_ / model.dense_variance_, 1, rtol=1e-6)
    np.testing.assert_allclose(comparison.dense_ratios, model.explained_variance_ratio_, rtol=1e-6)
    np.testing.assert_allclose(comparison.dense_scores, comparison.sparse_scores, atol=1e-4)


def test_a_plane_has_two_components(senate):
    _, frame, _, _ = senate
    with pytest.raises(ValueError, match="needs at least two components"):
        compare_with_dense(SparsePCA(cardinality=2).fit(frame), frame)


def test_senate_picture(senate):
    votes, _, model, comparison = senate
    figure = plot_planes(
        model,
        comparison,
        noun="bill",
        row_noun="senator",
        groups=[PARTIES[party] for party in votes.parties],
        labels=[senator.partition(" (")[0] for senator in votes.senators],
        ax=Figure(),
    ).figure_
    left, right = figure.axes
    assert left.get_title() == "Ordinary PCA: 48 bills on each axis"
    assert right.get_title() == "laconic: 5 and 2 bills"
    assert "45.1 %" in left.get_xlabel()
    assert right.get_xlabel().endswith("S. 1932, S.Con.Res. 83, S. 3930, S. 403, S. 397")
    # The largest crowd of either party, and those who vote with the other one.
    assert {"36", "18"} <= {t.get_text() for t in right.texts}
    for ax in (left, right):
        assert {"Chafee", "Landrieu"} <= {t.get_text() for t in names_in(ax)}
    legend = [t.get_text() for t in figure.legends[0].get_texts()]
    assert legend[:3] == ["Democrat (45)", "Independent (1)", "Republican (55)"]
    figure.draw_without_rendering()
    assert not any(overlap(figure.legends[0].get_window_extent(), ax.get_tightbbox()) for ax in figure.axes)
    assert drawn(figure)


def test_very_many_rows_are_drawn_as_cells_with_a_colour_bar():
    rows = np.random.default_rng(0).standard_normal((50_000, 3)) * [3, 2, 1]
    model = SparsePCA(n_components=2, cardinality=2).fit(rows)
    display = plot_planes(model, compare_with_dense(model, rows), ax=Figure())
    assert len(display.figure_.axes) == 4
    for ax in display.axes_:
        (cells,) = ax.collections
        assert cells.get_array().sum() == 50_000


def test_long_supports_are_cut_short_on_the_axis():
    rows = pd.DataFrame(
        np.random.default_rng(0).standard_normal((60, 30)), columns=[f"a rather long name {i}" for i in range(30)]
    )
    model = SparsePCA(n_components=2, cardinality=20).fit(rows)
    figure = plot_planes(model, compare_with_dense(model, rows), ax=Figure()).figure_
    assert figure.axes[1].get_xlabel().endswith("more")


def noise(n, names):
    return pd.DataFrame(np.random.default_rng(0).standard_normal((n, len(names))), columns=names)


LONG_NAMES = {
    "5000 genes": (
        lambda: noise(20, [f"{'ABCDEFG'[i % 7]}NKRD{i}P{i % 13} /// LOC{100_000 + i}" for i in range(5000)]),
        8,
    ),
    "breast cancer": (lambda: load_breast_cancer(as_frame=True).data, 10),
    "wide letters": (lambda: noise(40, ["W" * i for i in range(1, 13)]), 12),
    "long words": (lambda: noise(40, [letter * 900 for letter in "MWim"]), 3),
    "one long word": (lambda: noise(40, [letter * 900 for letter in "MWim"]), 1),
    "short words": (lambda: noise(40, [f"x{i}" for i in range(60)]), 50),
}


@pytest.mark.parametrize("case", LONG_NAMES)
@pytest.mark.parametrize("groups", [0, 18])
def test_labels_of_axes_never_leave_the_picture(case, groups):
    make, cardinality = LONG_NAMES[case]
    rows = make()
    model = SparsePCA(n_components=2, cardinality=cardinality, scale=True, method="greedy", proof=None).fit(rows)
    names = [f"group {i % groups}" for i in range(len(rows))] if groups else None
    figure = plot_planes(model, compare_with_dense(model, rows), groups=names, ax=Figure()).figure_
    figure.draw_without_rendering()
    for ax in figure.axes:
        for label in (ax.xaxis.label, ax.yaxis.label):
            box = label.get_window_extent()
            assert box.x0 >= 0
            assert box.y0 >= 0
            assert box.x1 <= figure.bbox.x1
            assert box.y1 <= figure.bbox.y1
    left, right = figure.axes
    assert not overlap(left.get_tightbbox(), right.get_tightbbox())
    for label, support in zip((right.get_xlabel(), right.get_ylabel()), model.supports_, strict=True):
        # Every feature is named, whole, or counted.
        names = "".join(label.split()).partition("ofthevariance")[2]
        signed = [str(name).replace(" ", "") for name in getattr(model, "feature_names_in_", range(60))]
        if names.endswith("features") or names == "1feature":
            assert int("".join(c for c in names if c.isdecimal())) == len(support)
            continue
        shown, _, more = names.partition(",and")
        parts = [part.removeprefix("\u2212") for part in shown.split(",")]
        assert set(parts) <= set(signed)
        assert len(parts) + int(more.removesuffix("more") or 0) == len(support)


def test_a_picture_on_a_figure_leaves_pyplot_alone():
    # In a process of its own: other tests may have imported pyplot.
    program = (
        "import sys, numpy as np, laconic\n"
        "assert 'matplotlib' not in sys.modules\n"
        "from matplotlib.figure import Figure\n"
        "laconic.cardinality_path(np.diag([3.0, 2, 1]), given='covariance').plot(Figure())\n"
        "from laconic.model.comparison import compare_with_dense\n"
        "from laconic.report.pictures.planes import plot_planes\n"
        "model = laconic.SparsePCA(n_components=2, cardinality=2).fit(np.eye(4))\n"
        "plot_planes(model, compare_with_dense(model, np.eye(4)), groups=list('abab'), ax=Figure())\n"
        "assert 'matplotlib.figure' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
