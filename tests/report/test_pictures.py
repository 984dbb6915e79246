"""Pictures are looked at by people; here is what can be measured: data drawn, words inside, nothing covered."""

import io
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

import laconic
from laconic import SparsePCA, plot
from laconic.datasets import load_pitprops
from laconic.proof.gate import UpperBound
from laconic.proof.witness_plain import TraceWitness
from laconic.report.colouring import colouring_of, row_names
from laconic.report.plot_parts import draw_rows, handles_of, listed, wrapped, write_names

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
def path():
    props = load_pitprops()
    return laconic.path(SparsePCA(method="greedy"), covariance=props.covariance)


GROUPS = pd.Series([NAMES[i % 5] for i in range(60)], name=LONG)
NUMBERS = pd.Series(np.r_[np.nan, np.arange(59.0)], name=LONG)
PICTURES = {
    "bars": lambda m, _, ax: plot.loadings(m, ax=ax),
    "path": lambda _, X, ax: plot.path(laconic.path(SparsePCA(), X, sizes=6), ax=ax),
    "scores": lambda m, X, ax: plot.scores(m, X, color=GROUPS, labels=[f"{LONG}{i}" for i in range(60)], ax=ax),
    "numbers": lambda m, X, ax: plot.scores(m, X, color=NUMBERS, ax=ax),
    "strip": lambda m, X, ax: plot.scores(m, X, components=2, color=GROUPS, ax=ax),
    "biplot": lambda m, X, ax: plot.biplot(m, X, color=GROUPS, ax=ax),
}


def texts_outside(figure):
    figure.draw_without_rendering()
    page, outside = figure.bbox, []
    for text in figure.findobj(Text):
        box = text.get_window_extent()
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
        if text.get_visible() and text.get_text().strip() and box.width and not inside:
            outside.append(text.get_text())
    # Ticks beyond the limits have texts that are not drawn.
    return [words for words in outside if not re.fullmatch(r"[\u2212-]?[\d.]+|\$.*10\^.*\$", words)]


def overlap(a, b):
    return a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_words_stay_in_the_figure_and_legends_cover_no_data(draw, model, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no layout that collapses
        warnings.filterwarnings("ignore", "Glyph")  # the usual font has neither Chinese nor Arabic letters
        ax = draw(model, rows, Figure())
        assert not texts_outside(ax.figure)
        ax.figure.savefig(io.BytesIO())
        left, right = Figure(figsize=(14, 8), layout="constrained").subplots(1, 2)
        assert draw(model, rows, left) is left  # axes that are given are used and returned
        assert left.has_data()
        assert not right.has_data()
    if ax.get_legend() is not None:
        assert not any(
            overlap(ax.get_legend().get_window_extent(), other.get_window_extent()) for other in ax.figure.axes
        )


def test_without_axes_pyplot_makes_a_figure_and_with_a_figure_it_is_left_alone(model):
    assert plot.loadings(model).figure is plt.gcf()
    plt.close("all")
    with pytest.raises(TypeError, match="ax must be axes of matplotlib or None; a str was given"):
        plot.loadings(model, ax="here")
    # In a process of its own: other tests may have imported pyplot.
    program = (
        "import sys, numpy as np, laconic\n"
        "assert 'matplotlib' not in sys.modules\n"
        "from matplotlib.figure import Figure\n"
        "laconic.path(laconic.SparsePCA(), covariance=np.diag([3.0, 2, 1])).plot(Figure())\n"
        "laconic.plot.scores(laconic.SparsePCA(2, cardinality=2).fit(np.eye(4)), np.eye(4), ax=Figure())\n"
        "assert 'matplotlib.figure' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_bars_are_the_loadings(model):
    ax = plot.loadings(model, components=[2, 1], max_features=3, ax=Figure())
    frame = pd.concat([model.loadings().query(f"component == {number}")[:3] for number in (2, 1)])
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], frame["loading"])
    shown = ["".join(label.get_text().split()) for label in ax.get_yticklabels()]
    whole = ["".join(str(name).split()) for name in frame["feature"]]
    assert all(s == w for s, w in zip(shown, whole, strict=True) if w.isascii())
    assert ax.texts[0].get_text().endswith("of the variance, 3 largest of 4 loadings")


def bounded(path, upper):
    bounds = [None if np.isinf(u) else UpperBound(u, "trace", k, TraceWitness()) for k, u in enumerate(upper, start=1)]
    return replace(path, solutions=[replace(s, bound=b) for s, b in zip(path.solutions, bounds, strict=True)])


def test_path_shows_shares_in_per_cent_and_a_band_only_where_a_bound_is_proved(path):
    ax = plot.path(bounded(path, [np.inf] * 13), ax=Figure())
    curve = next(line for line in ax.lines if len(line.get_xdata()) == 13 and line.get_linestyle() == "-")
    np.testing.assert_allclose(curve.get_ydata(), 100 * path.values / path.dense_variance)
    assert not ax.collections
    upper = np.where(path.cardinalities <= 8, 1.1 * path.values, np.inf)
    (band,) = plot.path(bounded(path, upper), ax=Figure()).collections
    corners = np.concatenate([p.vertices for p in band.get_paths()])
    assert corners[:, 0].max() == 8
    # The dense component bounds every component, so the band ends there.
    np.testing.assert_allclose(corners[:, 1].max(), np.minimum(110 * path.shares[:8], 100).max())
    ax = plot.path(bounded(path, np.where(path.cardinalities <= 3, path.values, np.inf)), ax=Figure())
    points = {line.get_label(): len(line.get_xdata()) for line in ax.lines if line.get_marker() == "o"}
    assert points == {"found, optimal (proved)": 3, "found": 10}


def test_groups_differ_in_colour_shape_and_lightness():
    ax = Figure().add_subplot()
    draw_rows(ax, np.random.default_rng(0).standard_normal((60, 2)), colouring_of(None, list("xyz") * 20, 60))
    colours = {tuple(c.get_facecolor()[0][:3]) for c in ax.collections}
    lightness = sorted(float(np.dot(c, [0.2126, 0.7152, 0.0722])) for c in colours)
    assert len({c.get_paths()[0].vertices.tobytes() for c in ax.collections}) == len(lightness) == 3
    assert np.diff(lightness).min() > 0.1
    handles = handles_of(colouring_of(None, [f"group {i % 30}" for i in range(60)], 60))
    assert len({(handle.get_marker(), handle.get_color()) for handle in handles}) == 30
    assert [h.get_label() for h in handles[:3]] == ["group 0 (2)", "group 1 (2)", "group 2 (2)"]  # not 0, 1, 10
    assert handles_of(colouring_of(None, [f"g{i}" for i in range(60)], 60))[-1].get_label() == "all other groups (25)"


def test_whole_numbers_of_few_values_are_groups():
    assert colouring_of(None, np.arange(60) % 3, 60).names == ("0", "1", "2")
    assert colouring_of(None, np.arange(60), 60).numbers is not None
    assert colouring_of(None, np.arange(60) % 3 / 7, 60).numbers is not None
    assert colouring_of(None, np.array([1.0, np.nan, 2.0]), 3).codes.tolist() == [0, -1, 1]
    assert colouring_of(None, pd.Categorical(["low", "high"], categories=["low", "high"]), 2).names == ("low", "high")


def test_names_cover_neither_markers_nor_each_other_nor_leave_the_axes():
    rng = np.random.default_rng(0)
    scores = np.round(rng.standard_normal((150, 2)) * 4) / 4
    ax = Figure(layout="constrained").add_subplot()
    places = draw_rows(ax, scores, colouring_of(None, list("abc") * 50, 150))
    apart = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(150)
    assert apart.min() > 0.001  # rows at one place are drawn side by side
    assert np.abs(places - scores).max() < 0.3
    left = write_names(ax, [f"number {i}" for i in range(30)], places[:30], places)
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in ax.texts]
    assert len(boxes) + len(left) == 30
    assert len(boxes) > 5
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))
    frame = ax.get_window_extent()
    assert all(frame.x0 <= b.x0 and frame.y0 <= b.y0 and b.x1 <= frame.x1 and b.y1 <= frame.y1 for b in boxes)
    assert not any(box.contains(*centre) for box in boxes for centre in ax.transData.transform(places))


def test_rows_are_named_by_the_index_of_a_table(rows, model):
    named = rows.set_axis([f"row {i}" for i in range(60)], axis="index")
    words = [text.get_text() for text in plot.scores(model, named, ax=Figure()).texts]
    assert len(words) > 3
    assert all(word.startswith("row ") for word in words)
    assert row_names(named, False, 60) is row_names(rows, None, 60) is None


def test_very_many_rows_are_drawn_as_hexagons():
    X = table(30_000, list("abcdefgh"))
    model = SparsePCA(cardinality=[4, 4], proof=None).fit(X)
    ax = plot.scores(model, X, ax=Figure())
    assert ax.collections[0].get_array().sum() == 30_000
    assert ax.figure.axes[1].get_ylabel() == "rows in a hexagon"
    ax = plot.scores(model, X, color=X["a"], ax=Figure())
    assert (len(ax.collections[-1].get_offsets()), ax.figure.axes[1].get_ylabel()) == (30_000, "a")
    up = np.where(X["a"] > 0, "up", "down")
    legend = plot.scores(model, X, color=up, ax=Figure()).get_legend()
    assert [t.get_text().split()[0] for t in legend.get_texts()] == ["down", "up"]
    assert len(plot.scores(model, X, components=1, color=up, ax=Figure()).collections) == 2


def test_rows_without_a_score_are_counted():
    X = table(40, list("abcdef"))
    X.iloc[3], X.iloc[8, 1] = np.nan, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparsePCA(cardinality=[2, 2], missing="pairwise").fit(X)
        ax = plot.scores(model, X, color=["a", None] * 20, ax=Figure())
        words = " ".join(" ".join(t.get_text() for t in ax.get_legend().get_texts()).split())
        assert "without a score, not drawn (1)" in words
        assert "no value (19)" in words
        with pytest.raises(ValueError, match="no row with a score"):
            plot.scores(model, X[3:4], ax=Figure())


def test_arrows_are_the_loadings_of_the_features_of_the_components():
    rows = table(40, list("abcdefgh"))
    model = SparsePCA(cardinality=[4, 3], proof=None).fit(rows)
    ax = plot.biplot(model, rows, ax=Figure())
    used = np.flatnonzero(model.components_.any(axis=0))
    arrows = next(c for c in ax.collections if hasattr(c, "U"))
    drawn, vectors = np.column_stack([arrows.U, arrows.V]), model.components_[:, used].T
    np.testing.assert_allclose(drawn, np.abs(drawn).max() / np.abs(vectors).max() * vectors, atol=1e-12)
    # The rule of the docstring: along one of the axes the longest arrow reaches nine tenths of the farthest row.
    assert (np.abs(drawn).max(axis=0) / np.abs(model.transform(rows)).max(axis=0)).max() == pytest.approx(0.9)
    assert {name for text in ax.texts for name in re.split(r",\s", text.get_text())} == set(rows.columns[used])


@pytest.mark.parametrize(
    ("names", "cardinality"),
    [
        ([f"{'ABCDEFG'[i % 7]}NKRD{i}P{i % 13} /// LOC{100_000 + i}" for i in range(50)], 8),
        ([letter * 900 for letter in "MWim"], 3),
        ([f"x{i}" for i in range(60)], 50),
    ],
)
def test_labels_of_axes_never_leave_the_picture_and_name_or_count_every_feature(names, cardinality):
    rows = pd.DataFrame(np.random.default_rng(0).standard_normal((40, len(names))), columns=names)
    model = SparsePCA(n_components=2, cardinality=cardinality, scale=True, method="greedy", proof=None).fit(rows)
    ax = plot.scores(model, rows, color=[f"group {i % 18}" for i in range(40)], ax=Figure())
    assert not texts_outside(ax.figure)
    for label, support in zip((ax.get_xlabel(), ax.get_ylabel()), model.supports_, strict=True):
        said = "".join(label.split()).partition("ofthevariance")[2]
        if re.fullmatch(r"\d+features?", said):
            assert int(re.match(r"\d+", said)[0]) == len(support)
            continue
        shown, _, more = said.partition(",and")
        parts = [part.removeprefix("\u2212") for part in shown.split(",")]
        assert set(parts) <= {name.replace(" ", "") for name in names}
        assert len(parts) + int(more.removesuffix("more") or 0) == len(support)


def test_lines_of_names_are_short_and_nothing_is_lost():
    for name in [*NAMES[:7], "x" * 60, "a name of several words", "a/b-c.d:e;f,g|h+i=j&k" * 4]:
        lines = wrapped(name, 12).split("\n")
        assert max(map(len, lines)) <= 12
        assert "".join(lines).replace(" ", "") == name.replace(" ", "")
    assert wrapped("rear bearing of pump", 13) == "rear bearing\nof pump"
    assert listed(["alpha", "beta"], 30, 2) == "alpha, beta"
    assert listed(["alpha", "beta"], 8, 5) == "alpha,\nbeta,\nand 3\nmore"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, _: plot.loadings(m, components=4), "components=4 must be numbers from 1 to 3"),
        (lambda m, X: plot.scores(m, X, components=(1, 2, 3)), r"components=\(1, 2, 3\) has 3 numbers"),
        (lambda m, X: plot.scores(m, X, color=[1, 2]), "color has 2 values for 60 rows"),
        (lambda m, X: plot.scores(m, X, color="x"), "color='x' must have one value for each row"),
        (lambda m, X: plot.scores(m, X, labels=["a"]), "labels has 1 names for 60 rows"),
        (lambda m, X: plot.biplot(m, X, components=1), "A biplot needs two components, and components=1 has one"),
        (lambda _, __: plot.loadings(SparsePCA()), "not fitted"),
    ],
)
def test_bad_input_is_one_sentence(rows, model, call, words):
    with pytest.raises(ValueError, match=words):
        call(model, rows)
    with pytest.raises(TypeError, match=r"path must be what .* returns; a list was given"):
        plot.path([])
