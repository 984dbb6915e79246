"""All pictures: what they return, where they draw, and that words neither leave the figure nor cover data."""

import io
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

import laconic
from laconic import (
    SparsePCA,
    cardinality_path,
    penalty_path,
    plot_biplot,
    plot_bounds,
    plot_loadings,
    plot_path,
    plot_scores,
    plot_scree,
    scree,
)
from laconic.report.pictures.scores import row_labels
from laconic.report.plane.groups import colouring_of

LONG = "vibration_x_mm_per_second_at_the_rear_bearing_of_pump_number_"
NAMES = [
    *(LONG + str(i) for i in range(4)),
    "$\\frac{a}$ and \\n, 100 %",
    "CamelCaseNameOfAVeryLongMeasurementInsideTheMachineRoomOfTheShip",
    "W" * 60,
    "收入中位数与支出",
    "عمر المريض",
    "</script>",
    "plain",
    "x",
]


def table(n=60, names=NAMES, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, len(names)))
    X[:, :4] += 3 * rng.standard_normal((n, 1)) * [1, -1, 1, 1]
    X[:, 4:6] += 2 * rng.standard_normal((n, 1))
    return pd.DataFrame(X, columns=names)


@pytest.fixture(scope="module")
def rows():
    return table()


@pytest.fixture(scope="module")
def model(rows):
    return SparsePCA(cardinality=[4, 4, 3], proof="fast").fit(rows)


@pytest.fixture(scope="module")
def pictures(rows, model):
    groups = pd.Series([NAMES[i % 5] for i in range(len(rows))], name=LONG)
    numbers = pd.Series(np.r_[np.nan, np.arange(len(rows) - 1.0)], name=LONG)
    labels = [f"{LONG}{i}" for i in range(len(rows))]
    path, found = cardinality_path(rows, 6), scree(rows, permutations=3)
    penalties = penalty_path(rows, 4)
    return {
        "bars": lambda ax=None: plot_loadings(model, ax=ax),
        "heat map": lambda ax=None: plot_loadings(model, kind="heatmap", ax=ax),
        "path": lambda ax=None: plot_path(path, ax=ax),
        "penalties": lambda ax=None: plot_path(penalties, ax=ax),
        "scores": lambda ax=None: plot_scores(model, rows, color_by=groups, labels=labels, ax=ax),
        "numbers": lambda ax=None: plot_scores(model, rows, color_by=numbers, ax=ax),
        "strip": lambda ax=None: plot_scores(model, rows, components=2, color_by=groups, ax=ax),
        "biplot": lambda ax=None: plot_biplot(model, rows, color_by=groups, ax=ax),
        "scree": lambda ax=None: plot_scree(found, model=model, ax=ax),
        "bounds": lambda ax=None: plot_bounds(model, ax=ax),
    }


KINDS = ["bars", "heat map", "path", "penalties", "scores", "numbers", "strip", "biplot", "scree", "bounds"]


def texts_outside(figure):
    figure.draw_without_rendering()
    page = figure.bbox
    outside = []
    for text in figure.findobj(Text):
        box = text.get_window_extent()
        if not (text.get_visible() and text.get_text().strip() and box.width):
            continue
        ax = text.axes
        if ax is not None and not ax.get_visible():
            continue
        if box.x0 < -1 or box.y0 < -1 or box.x1 > page.x1 + 1 or box.y1 > page.y1 + 1:
            outside.append((text.get_text(), box))
    # Ticks beyond the limits have texts that are not drawn.
    return [(words, box) for words, box in outside if not re.fullmatch(r"[\u2212-]?[\d.]+|\$.*10\^.*\$", words)]


def overlap(a, b):
    return a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1


@pytest.mark.parametrize("kind", KINDS)
def test_words_stay_in_the_figure_and_legends_cover_no_data(pictures, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no missing glyphs, no layout that collapses
        display = pictures[kind](Figure())
        figure = display.figure_
        assert not texts_outside(figure)
        figure.savefig(io.BytesIO())
    for ax in display.axes_:
        legend = ax.get_legend()
        if legend is not None:
            for other in figure.axes:
                assert not overlap(legend.get_window_extent(), other.get_window_extent()), kind


@pytest.mark.parametrize("kind", ["bars", "path", "scree"])
def test_a_display_has_axes_and_figure(pictures, kind):
    display = pictures[kind]()
    assert display.ax_ is display.axes_[0]
    assert display.figure_ is plt.gcf()  # a figure of pyplot, which notebooks show
    assert all(ax.figure is display.figure_ for ax in display.axes_)
    assert type(display).__name__.endswith("Display")
    assert len(repr(display)) < 200  # a notebook prints it
    plt.close("all")


@pytest.mark.parametrize("kind", ["bars", "penalties", "scree"])
def test_axes_that_are_given_are_used(pictures, kind):
    figure = Figure(figsize=(11, 8), layout="constrained")
    left, right = figure.subplots(1, 2)
    display = pictures[kind](left)
    assert display.figure_ is figure
    assert not right.has_data()
    if len(display.axes_) == 1:
        assert display.ax_ is left
    else:
        # One axes is divided among the panels.
        assert all(ax.get_subplotspec().get_topmost_subplotspec() == left.get_subplotspec() for ax in display.axes_)
    if kind == "scree":
        assert display.plot(right) is display
        assert display.ax_ is right


def test_without_a_layout_axes_make_room_for_their_words(rows, model):
    figure = Figure(figsize=(9, 5))
    left, right = figure.subplots(1, 2)
    plot_scores(model, rows, color_by=["a", "b"] * 30, ax=left)
    plot_bounds(model, ax=right)
    assert not texts_outside(figure)
    assert not overlap(left.get_legend().get_window_extent(), right.get_window_extent())


def test_axes_for_panels_are_counted():
    model = SparsePCA(cardinality=[2, 2]).fit(table(30, list("abcdef")))
    axes = Figure().subplots(1, 2)
    assert list(plot_loadings(model, ax=axes).axes_) == list(axes)
    with pytest.raises(ValueError, match="ax has 2 axes, and the picture has 1 panels"):
        plot_bounds(model, ax=axes)
    with pytest.raises(TypeError, match="ax must be axes or a figure"):
        plot_bounds(model, ax="here")
    with pytest.raises(ValueError, match="cannot be divided among 2 panels"):
        plot_loadings(model, ax=Figure().add_axes((0, 0, 1, 1)))
    part = Figure(layout="constrained").subfigures(1, 2)[0]
    assert plot_bounds(model, ax=part).figure_ is part.figure


def test_bars_are_the_loadings(model):
    display = plot_loadings(model, components=[2, 1], max_features=3, ax=Figure())
    for ax, number in zip(display.axes_, (2, 1), strict=True):
        frame = model.loadings().query("component == @number")
        np.testing.assert_allclose([bar.get_width() for bar in ax.patches], frame["loading"][:3])
        shown = ["".join(label.get_text().split()) for label in ax.get_yticklabels()]
        whole = ["".join(str(name).split()) for name in frame["feature"][:3]]
        assert [name for name in whole if name.isascii()] == [
            s for s, w in zip(shown, whole, strict=True) if w.isascii()
        ]
        assert f"Component {number}" in ax.get_title()
        assert "3 largest of 4 loadings" in ax.get_title()
    assert len(plot_loadings(model, components=1, max_features=None, ax=Figure()).ax_.patches) == 4


def test_a_heat_map_has_every_loading_with_its_sign(model):
    ax = plot_loadings(model, kind="heatmap", ax=Figure()).ax_
    image = ax.images[0].get_array()
    assert image.count() == 11
    np.testing.assert_allclose(np.sort(image.compressed()), np.sort(model.loadings()["loading"]))
    written = sorted(float(text.get_text().replace("\u2212", "-")) for text in ax.texts)
    np.testing.assert_allclose(written, np.sort(model.loadings()["loading"]), atol=0.006)


@pytest.mark.slow
def test_of_many_components_the_first_are_drawn_and_the_others_counted():
    model = SparsePCA(14, cardinality=2, proof=None).fit(table(80, [f"x{i}" for i in range(30)]))
    display = plot_loadings(model, ax=Figure())
    assert len(display.axes_) == 12
    assert "2 more components" in display.axes_[-1].get_xlabel()
    assert len(plot_loadings(model, kind="heatmap", ax=Figure()).ax_.get_xticks()) == 14
    assert not texts_outside(display.figure_)


def test_dense_clouds_show_their_density():
    X = table(100_000, list("abcdefgh"))
    model = SparsePCA(cardinality=[4, 4], proof=None).fit(X)
    display = plot_scores(model, X, ax=Figure())
    (cells,) = display.ax_.collections
    assert cells.get_array().sum() == 100_000
    assert display.colour_bar_.ax.get_ylabel() == "rows in a cell"
    file = io.BytesIO()
    display.figure_.savefig(file, format="svg")
    assert len(file.getvalue()) < 300_000
    # The mean of numbers, and the group of most rows, of each cell.
    X = X[:12_000]
    by_number = plot_scores(model, X, color_by=X["a"], ax=Figure())
    assert by_number.colour_bar_.ax.get_ylabel() == "mean of a"
    by_group = plot_scores(model, X, color_by=np.where(X["a"] > 0, "up", "down"), ax=Figure())
    assert [t.get_text().split()[0] for t in by_group.ax_.get_legend().get_texts()] == ["down", "up"]
    along = plot_scores(model, X, components=1, color_by=np.where(X["a"] > 0, "up", "down"), ax=Figure())
    assert len(along.ax_.patches) == 2


def test_a_cloud_is_not_white_from_its_edges():
    X = table(3000, list("abcdefgh"))
    display = plot_scores(SparsePCA(cardinality=[4, 4], proof=None).fit(X), X, ax=Figure())
    assert all((points.get_linewidths() == 0).all() for points in display.ax_.collections)


@pytest.mark.parametrize("n", [1, 2])
def test_few_rows_can_be_drawn(n):
    X = table(20, list("abcdef"))
    model = SparsePCA(cardinality=[2, 2], proof=None).fit(X)
    display = (plot_biplot if n == 1 else plot_scores)(model, X[:n], ax=Figure())
    assert len(display.scores) == n
    assert not texts_outside(display.figure_)


def test_thirty_groups_all_look_different(rows, model):
    display = plot_scores(model, rows, color_by=[f"group {i % 30}" for i in range(60)], ax=Figure())
    handles = display.ax_.get_legend().legend_handles
    assert len({(handle.get_marker(), handle.get_color()) for handle in handles}) == 30
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names[:3] == ["group 0 (2)", "group 1 (2)", "group 2 (2)"]  # not 0, 1, 10
    assert not texts_outside(display.figure_)
    assert colouring_of([f"g{i}" for i in range(60)], 60).handles()[-1].get_label() == "all other groups (25)"


def test_rows_without_a_score_are_counted():
    X = table(40, list("abcdef"))
    X.iloc[3] = np.nan
    X.iloc[8, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparsePCA(cardinality=[2, 2], missing="pairwise").fit(X)
        display = plot_scores(model, X, color_by=["a", None] * 20, ax=Figure())
        assert display.left_out == 1
        words = " ".join(" ".join(t.get_text() for t in display.ax_.get_legend().get_texts()).split())
        assert "without a score, not drawn (1)" in words
        assert "no value (19)" in words
        with pytest.raises(ValueError, match="no row with a score"):
            plot_scores(model, X[3:4], ax=Figure())


def test_whole_numbers_of_few_values_are_groups():
    assert colouring_of(np.arange(60) % 3, 60).names == ("0", "1", "2")
    assert colouring_of(np.arange(60), 60).numbers is not None
    assert colouring_of(np.arange(60) % 3 / 7, 60).numbers is not None
    assert colouring_of(np.array([1.0, np.nan, 2.0]), 3).codes.tolist() == [0, -1, 1]
    assert colouring_of(pd.Categorical(["low", "high"], categories=["low", "high"]), 2).names == ("low", "high")
    assert colouring_of([True, False], 2).names == ("False", "True")


def test_rows_are_named_by_the_index_of_a_table(rows, model):
    named = rows.set_axis([f"row {i}" for i in range(60)], axis="index")
    words = {t.get_text() for t in plot_scores(model, named, ax=Figure()).ax_.texts}
    assert len(words) > 3
    assert all(word.startswith("row ") for word in words)
    assert row_labels(named, False, 60) is None
    assert row_labels(rows, None, 60) is None
    assert row_labels(rows, range(60), 60)[:2] == ["0", "1"]


def test_arrows_are_the_loadings_of_the_features_of_the_components():
    rows = table(40, list("abcdefgh"))
    model = SparsePCA(cardinality=[4, 3], proof=None).fit(rows)
    display = plot_biplot(model, rows, ax=Figure())
    used = np.flatnonzero(model.components_[:2].any(axis=0))
    np.testing.assert_allclose(display.loadings, model.components_[:2, used].T)
    drawn = np.column_stack([display.arrows_.U, display.arrows_.V])
    np.testing.assert_allclose(drawn, display.arrow_scale * display.loadings)
    # The rule of the docstring: along one of the axes the longest arrow reaches nine tenths of the farthest row.
    share = np.abs(drawn).max(axis=0) / np.abs(display.scores).max(axis=0)
    assert share.max() == pytest.approx(0.9)
    display.figure_.draw_without_rendering()
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    assert not any(overlap(a, b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_bounds_say_what_is_proved(model):
    ax = plot_bounds(model, ax=Figure()).ax_
    for text, gap in zip(ax.texts, model.gap_, strict=True):
        word = text.get_text()
        assert (word == "optimal") == (gap <= 1e-6)
        if word.startswith("gap"):
            assert float(word.split()[1]) >= 100 * gap
    open_model = SparsePCA(cardinality=4, method="sorting", proof=None).fit(table())
    assert [text.get_text() for text in plot_bounds(open_model, ax=Figure()).ax_.texts] == ["no bound"]


def test_matrices_that_are_not_semidefinite_can_be_drawn():
    S = np.array([[-1, 0.5, 0, 0.2], [0.5, -2, 0.3, 0], [0, 0.3, -0.5, 0.1], [0.2, 0, 0.1, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparsePCA(cardinality=2).fit_covariance(S)
        drawn = [
            plot_bounds(model, ax=Figure()),
            plot_loadings(model, ax=Figure()),
            plot_scree(scree(S, given="covariance"), model=model, ax=Figure()),
            plot_path(cardinality_path(S, given="covariance"), ax=Figure()),
        ]
    for display in drawn:
        assert not texts_outside(display.figure_)
    low, high = drawn[2].ax_.get_ylim()
    assert low < np.linalg.eigvalsh(S).min()
    assert high > np.linalg.eigvalsh(S).max()


def test_scree_needs_the_data_of_the_model(rows, model):
    with pytest.raises(ValueError, match="give both the same data, center and scale"):
        plot_scree(scree(rows, scale=True, permutations=0), model=model, ax=Figure())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, _: plot_loadings(m, kind="pie"), "kind='pie' must be 'bars' or 'heatmap'"),
        (lambda m, _: plot_loadings(m, max_features=0), "max_features=0 must be an int of at least 1"),
        (lambda m, _: plot_loadings(m, components=4), "components=4 must be numbers from 1 to 3"),
        (lambda m, X: plot_scores(m, X, components=(1, 2, 3)), r"components=\(1, 2, 3\) has 3 numbers"),
        (lambda m, X: plot_scores(m, X, components=(2, 2)), r"components=\(2, 2\) has a number twice"),
        (lambda m, X: plot_scores(m, X, components=(0, 1)), "must be numbers from 1 to 3"),
        (lambda m, X: plot_scores(m, X, color_by=[1, 2]), "color_by has 2 values for 60 rows"),
        (lambda m, X: plot_scores(m, X, color_by=X[["x"]]), "color_by has 2 dimensions"),
        (lambda m, X: plot_scores(m, X, labels=["a"]), "labels has 1 names for 60 rows"),
        (lambda m, X: plot_biplot(m, X, components=1), "A biplot needs two components, and components=1 has one"),
        (lambda m, X: plot_scores(m, X, components=None), "components=None must be numbers from 1 to 3"),
        (lambda m, X: plot_scores(m, X, color_by=[1j] * len(X)), "color_by has complex numbers"),
        (lambda _, X: plot_path(cardinality_path(X, 3), cardinality=9), "cardinality=9 is not on the path"),
    ],
)
def test_bad_input_is_one_sentence(rows, model, call, words):
    with pytest.raises(ValueError, match=words):
        call(model, rows)


def test_wrong_objects_are_named(rows):
    with pytest.raises(TypeError, match="path must come from cardinality_path or penalty_path; a list was given"):
        plot_path([])
    with pytest.raises(TypeError, match=r"scree must come from laconic\.scree; a DataFrame was given"):
        plot_scree(rows)
    with pytest.raises(Exception, match="not fitted"):
        plot_bounds(SparsePCA())


def test_every_picture_is_a_name_of_the_package():
    names = ["plot_biplot", "plot_bounds", "plot_loadings", "plot_path", "plot_scores", "plot_scree"]
    assert set(names) <= set(laconic.__all__)
