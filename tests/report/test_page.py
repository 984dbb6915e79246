"""What a page says: the numbers of the model, sentences that are true, names as text, and nothing from the network."""

import base64
import hashlib
import json
import re
import warnings
from html import unescape
from html.parser import HTMLParser
from importlib.resources import files
from itertools import count

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from tests.report.models import HOSTILE, hostile, senate

import laconic
from laconic import SparsePCA, stability
from laconic.core.monitor import Monitor, Note
from laconic.covariance.make import make
from laconic.model.paths import path_of
from laconic.proof.certificate import Certificate
from laconic.report.page import content_of, numbers_of, path_in_words
from laconic.report.page_data import IN_BLOCKS, OTHER_DATA, UNBOUNDED
from laconic.report.printed import print_components
from laconic.report.sentences import amount, answer, badge, share_of, together, total_for_shares


@pytest.fixture(scope="module")
def page():
    votes, frame, model = senate()
    return content_of(model, frame, color=votes.parties, labels=votes.senators, title="Votes")


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).standard_normal((30, 12)) * np.linspace(1, 2, 12)


def test_numbers_are_those_of_the_model(page):
    _, frame, model = senate()
    for place, one in enumerate(page.components):
        table = model.loadings().query(f"component == {place + 1}")
        assert [page.name(j) for j in one.features] == list(table["feature"])
        np.testing.assert_array_equal(one.loadings, table["loading"])
    np.testing.assert_allclose(page.points.scores, model.transform(frame))
    assert page.certificate.digest == model.certificates_[0].digest
    np.testing.assert_allclose(page.data.scree.variances, np.linalg.eigvalsh(frame.cov())[::-1][:10], rtol=1e-3)
    assert page.data.scree.n_above_noise == 1


def test_paths_hold_the_model_and_agree_with_path(page):
    _, frame, model = senate()
    made = make(frame, model._recipe())
    for place, part in enumerate(page.data.paths):
        path = path_of(SparsePCA(), made, Monitor(), last=20, earlier=model.components_[:place])
        # The curve is what each set adds to the earlier components, and keeps the proved gap of what they leave.
        added = [total_added(frame, [*model.components_[:place], s.vector(48)]) for s in path.solutions]
        np.testing.assert_allclose(part.found, added, rtol=1e-6)
        assert (np.array(part.upper) <= np.array(added) * path.upper_bounds / path.values * (1 + 1e-9)).all()
        assert part.chosen == len(model.supports_[place])
        at = part.cardinalities.index(part.chosen)
        assert sorted(part.supports[at]) == model.supports_[place].tolist()
        assert part.found[at] == pytest.approx(model.explained_variance_[place], rel=1e-9)
    assert path_in_words(page, page.data.paths[0], 4) == answer(model, 0)


def total_added(frame, vectors):
    """The variance that the last of some vectors adds to the others, by projections on spans."""
    S = frame.cov().to_numpy()
    spans = [np.linalg.qr(np.array(own).T)[0] for own in (vectors, vectors[:-1]) if len(own)]
    held = [np.trace(Q.T @ S @ Q) for Q in spans]
    return held[0] - (held[1] if len(held) > 1 else 0)


def test_no_certificate_is_made_and_a_covariance_at_hand_is_used(page, monkeypatch):
    _, frame, model = senate()
    made = make(frame, model._recipe())

    def forbidden(*_, **__):
        raise AssertionError

    monkeypatch.setattr(Certificate, "__init__", forbidden)
    monkeypatch.setattr("laconic.model.settings.make", forbidden)
    monkeypatch.setattr("laconic.report.page_data.open_source", forbidden)
    again = content_of(model, frame, made=made)
    assert [one.found for one in again.data.paths] == [one.found for one in page.data.paths]
    np.testing.assert_array_equal(again.points.scores, page.points.scores)


def test_proofs_are_the_files_that_save_writes(page, tmp_path):
    _, frame, model = senate()
    for one, certificate in zip(page.certificates, model.certificates_, strict=True):
        name, content = one.files[0]
        assert certificate.save(tmp_path / name).read_bytes() == content
        assert laconic.verify(tmp_path / name, frame).accepted


def test_without_the_data_of_the_fit_the_page_shows_what_the_model_keeps():
    _, frame, model = senate()
    page = content_of(model)
    assert page.points is page.data is None
    assert len(page.certificates) == 2
    numbers = json.loads(numbers_of(page))
    assert numbers["paths"] == []
    assert len(numbers["names"]) == 48
    page = content_of(model, frame.iloc[:50])
    assert page.data.notes == [OTHER_DATA]
    assert not page.data.paths
    assert page.points.n_rows == 50
    weighted = SparsePCA(cardinality=3).fit(frame, sample_weight=np.arange(1, 102))
    assert content_of(weighted, frame).data.notes == [OTHER_DATA]


def test_many_rows_are_sampled_by_a_stated_rule(tmp_path):
    rows = np.random.default_rng(0).standard_normal((4500, 4))
    model = SparsePCA(cardinality=2).fit(rows)
    points = content_of(model, rows, labels=range(4500), color=np.arange(4500.0)).points
    assert points.rule == "one row in 3 of 4,500"
    assert points.sizes == [900] * 5  # of all rows, not of those that are drawn
    assert points.labels == [str(3 * i) for i in range(1500)]
    np.testing.assert_allclose(points.scores, model.transform(rows)[::3])
    assert points.ordered
    assert np.bincount(points.codes).tolist() == [300] * 5
    np.save(tmp_path / "rows.npy", rows)
    page = content_of(SparsePCA(cardinality=2).fit(tmp_path / "rows.npy"), tmp_path / "rows.npy")
    assert page.data.notes == [IN_BLOCKS]
    assert page.points is None


def test_groups():
    votes, frame, model = senate()
    points = content_of(model, frame, color=pd.Series(votes.states, name="state")).points
    assert points.group_title == "state"
    assert len(points.groups) == 6
    assert points.groups[-1] == "other"
    points = content_of(model, frame, color=[None, *votes.parties[1:]]).points
    assert points.groups == ["D", "I", "R", "(missing)"]
    assert points.codes[0] == 3
    assert sum(points.sizes) == 101


def test_rare_kinds_of_models():
    frame = senate()[1]
    constant = frame.assign(same=1.0)
    with pytest.warns(UserWarning, match="same"):
        model = SparsePCA(cardinality=[3, 3]).fit(constant)
    page = content_of(model, constant)
    assert [page.name(j) for j in page.left_out] == ["same"]
    for joint in ("common", "disjoint", "orthogonal", "span"):
        together = SparsePCA(2, cardinality=3, joint=joint).fit(frame)
        page = content_of(together, frame)
        assert "found together" in page.data.notes[0]
        assert [one.component for one in page.certificates] == [None]
    for proof in ("fast", None):
        page = content_of(SparsePCA(cardinality=3, proof=proof).fit_covariance(frame.cov()), frame.cov())
        assert page.points is None
        assert page.data.paths[0].chosen == 3
        assert "fit_covariance(S)" in page.python


def test_stability_noise_and_choice():
    frame = senate()[1]
    model = SparsePCA().fit(frame)
    sizes = [len(support) for support in model.supports_]
    again = stability(SparsePCA(cardinality=sizes), frame, resamples=4)
    page = content_of(model, frame, stability=again)
    np.testing.assert_allclose(page.components[0].frequencies, again.frequencies[0, page.components[0].features])
    assert "better than noise" in model.to_html()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"color": [1, 2]}, "color has 2 values for 101 rows; give one value for each row of X."),
        ({"labels": "name"}, "labels='name' must have one value for each row"),
        ({"stability": 3}, "stability=3 must be what laconic.stability returns."),
        ({"time_limit": -1}, "time_limit=-1 must be above zero."),
        ({"X": None, "color": [1]}, "no rows are given; give X, too"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        content_of(senate()[2], **{"X": senate()[1], **options})


def said(model, place=0):
    return answer(model, place).replace("\u00a0", " ")


def test_a_proved_component_and_one_after_it():
    model = senate()[2]
    assert said(model) == (
        "Component 1 holds 19.0 % of the variance with 5 columns. No other 5 columns hold more: proved."
    )
    assert said(model, 1) == (
        "Component 2 adds 10.4 % of the variance with 2 columns. No other 2 columns hold more of what component 1 "
        "leaves: proved."
    )
    assert [badge(model, 0), badge(model, 1)] == ["proved optimal"] * 2
    assert together(model) == (
        "Together the 2 components hold 29.4 % of the variance with 7 columns; 2 components of ordinary PCA hold "
        "53.1 % with all columns."
    )


def test_a_gap_is_told_as_a_part_of_the_best(rows):
    model = SparsePCA(3, cardinality=4, method="sorting").fit(rows)
    low = float(
        re.search(r"They reach at least ([\d.]+) % of the most that any 4 columns hold: proved", said(model))[1]
    )
    assert 100 * model.lower_bound_[0] / model.upper_bound_[0] - 1 < low
    assert low <= 100 * model.lower_bound_[0] / model.upper_bound_[0] < 100
    assert " of what components 1 and 2 leave: proved." in said(model, 2)
    assert badge(model, 0) == f"at least {low:g} % of the best"


def test_other_questions_have_other_sentences(rows):
    model = SparsePCA(cardinality=4, proof=None, method="greedy").fit(rows)
    assert said(model).endswith("with 4 columns. Nothing is proved about other columns.")
    assert badge(model, 0) == "no proof"
    assert said(SparsePCA(cardinality=1).fit(rows)).endswith("with 1 column. No other column holds more: proved.")
    assert said(SparsePCA(cardinality=12).fit(rows)).endswith("with 12 columns. These are all columns.")
    model = SparsePCA(cardinality=3, forced_in=[2], nonnegative=True).fit(rows)
    assert "with 3 columns, none with a negative loading. " in said(model)
    assert " columns that include those asked for with loadings of either sign hold" in said(model)
    model = SparsePCA(cardinality=[3, 3], joint="disjoint").fit(rows)
    assert said(model, 1).endswith(" of the variance with 3 columns.")
    assert "They were chosen together, and no column is used twice. " in together(model)
    assert badge(model, 0).endswith(", together")
    model = SparsePCA(cardinality=3).fit(rows)
    assert together(model).startswith("The first component of ordinary PCA holds ")


def test_the_page_the_terminal_and_the_pictures_tell_the_same_share(rows, capsys):
    # The components share columns, so that what one keeps after deflation is not what it adds.
    model = SparsePCA(3, cardinality=5).fit(rows)
    assert not np.allclose(model.lower_bound_, model.explained_variance_)
    shares = model.explained_variance_ratio_
    print_components(model)
    printed, html = capsys.readouterr().out, model.to_html(rows).replace("\u00a0", " ")
    bars = laconic.plot.loadings(model, ax=Figure())
    for place in range(3):
        share = f"{np.floor(1000 * shares[place]) / 10:.1f} % of the variance"
        assert share_of(model, place) == share
        assert f"5 columns {'add' if place else 'hold'} {share}" in printed
        assert f"Component {place + 1} {'adds' if place else 'holds'} {share} with 5 columns" in html
        assert bars.texts[place].get_text() == f"Component {place + 1}: {share}"
        assert json.loads(script_texts(html)[0])["components"][place]["share"] == share
    assert f"hold {np.floor(1000 * shares.sum()) / 10:.1f} % of the variance" in printed


def test_a_matrix_that_is_no_covariance_has_no_shares():
    S = np.array([[1.0, 3.0, 0.1], [3.0, 1.0, 0.2], [0.1, 0.2, -1.5]])
    with pytest.warns(UserWarning, match="semidefinite"):
        model = SparsePCA(cardinality=2).fit_covariance(S)
    assert total_for_shares(model) is None
    assert said(model) == "Component 1 holds a variance of 4 with 2 columns. No other 2 columns hold more: proved."
    assert amount(0.29999, 1.0) == "29.9 % of the variance"


# Words of Python and of the field that a colleague does not know, and names of options.
UNKNOWN = (
    r"=True|=False|\w='|--\w|variable|feature|dense|deflat|certificate|support|cardinalit|n_components|heuristic|"
    r"joint|span\b|hull|sparse components"
)


def words_of(html):
    """What people read on a page, without the code that makes it again, and without names from the data."""
    html = re.sub(r"<(script|style|pre|bdi).*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


@pytest.mark.parametrize(
    "settings",
    [
        {"cardinality": 4, "n_components": 2},
        {"cardinality": 4, "n_components": 2, "joint": "disjoint"},
        {"cardinality": 4, "n_components": 2, "joint": "span", "scale": True},
        {"cardinality": 4, "n_components": 3, "method": "sorting", "forced_in": ["b"]},
        {"cardinality": 3, "nonnegative": True, "missing": "pairwise", "proof": None},
    ],
)
def test_a_page_has_no_words_that_a_colleague_does_not_know(rows, settings):
    frame = pd.DataFrame(rows.copy(), columns=list("abcdefghijkl"))
    frame["id"], frame["twin"], frame["large"] = range(30), 2 * frame["a"], 500 * frame["b"]
    if "missing" in settings:
        frame.iloc[3, 4] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparsePCA(**settings).fit(frame)
        words = words_of(model.to_html(frame, stability=None))
    assert not re.findall(UNKNOWN, words, flags=re.IGNORECASE)
    assert model.scale or model.hints_
    assert len(model.hints_) == words.count("Look at this.")


def test_a_curve_that_meets_better_columns_gives_them_to_the_component():
    # In noise, one in ten searches finds less than the curve with its neighbours as starts.
    rows = np.random.default_rng(54).standard_normal((30, 52))
    model = SparsePCA(cardinality=6, scale=True, proof=None).fit(rows)
    before = model.lower_bound_[0]
    with pytest.warns(Note, match="Its curve met better columns for component 1, which has them now"):
        html = model.to_html(rows)
    assert model.lower_bound_[0] > before * (1 + 1e-4)
    assert (model.lower_bound_ <= model.upper_bound_).all()
    page = content_of(model, rows)  # nothing better is met now
    at = page.data.paths[0].cardinalities.index(6)
    assert page.data.paths[0].found[at] == pytest.approx(model.explained_variance_[0])
    assert max(page.data.paths[0].found[: at + 1]) == page.data.paths[0].found[at]
    assert share_of(model, 0) in html.replace("\u00a0", " ")
    again = SparsePCA(cardinality=6, scale=True, proof=None).fit(rows)
    with pytest.warns(Note):
        assert again.to_html(rows) == html
    # A method that was chosen by name keeps its columns, and no curve runs above them.
    weak = SparsePCA(cardinality=[5, 5], method="sorting").fit(rows)
    value = weak.lower_bound_.copy()
    page = content_of(weak, rows)
    np.testing.assert_array_equal(weak.lower_bound_, value)
    assert page.data.paths == []
    assert "Component 1 has no curve: a wider search finds better columns than this method." in page.data.notes


def test_a_page_does_not_depend_on_the_clock(rows, monkeypatch):
    model = SparsePCA(2, cardinality=4).fit(rows)
    html = model.to_html(rows)
    monkeypatch.setattr("time.monotonic", count().__next__)  # a second for each look
    assert model.to_html(rows) == html
    # With very many columns there are no curves, because they would take long.
    monkeypatch.setattr("laconic.report.page_data.MOST_WORK", 12 * 210 + 1)
    assert content_of(model, rows).data.notes == ["Curves are computed for the first 1 of 2 components only."]


class Reader(HTMLParser):
    """Collects the texts of elements, and the tags with their attributes."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append((self.tags[-1][0] if self.tags else "", data))


def script_texts(html):
    return re.findall(r"<script(?: [^>]*)?>(.*?)</script>", html, flags=re.DOTALL)


def test_names_are_text_wherever_they_stand():
    frame, model = hostile()
    html = model.to_html(
        frame,
        title=HOSTILE[0],
        color=[HOSTILE[i % 5] for i in range(40)],
        descriptions=dict.fromkeys(HOSTILE, HOSTILE[1]),
    )
    reader = Reader(html)
    kinds = [tag for tag, _ in reader.tags]
    assert "img" not in kinds
    assert kinds.count("script") == 3
    assert not any(name.startswith("on") for _, attributes in reader.tags for name in attributes)
    texts = {text for tag, text in reader.texts if tag == "bdi"}
    assert set(HOSTILE) - texts <= set(HOSTILE[6:]) - {HOSTILE[j] for j in model.supports_[0]}
    data, _, _ = script_texts(html)
    assert not set("<>&\u2028\u2029") & set(data)
    assert json.loads(data)["names"] == HOSTILE


def test_long_names_lose_their_middle():
    rows = np.random.default_rng(0).standard_normal((30, 4))
    begin = "a name with a beginning that many others have, "
    names = [f"{begin}first", f"{begin}second", "short", "one more name that is long and begins in its own way"]
    html = SparsePCA(cardinality=4).fit(pd.DataFrame(rows, columns=names)).to_html()
    texts = {text for tag, text in Reader(html).texts if tag == "bdi"}
    assert {
        "a name with a beginnin\u2026any others have, first",
        "a name with a beginnin\u2026ny others have, second",
    } <= texts
    assert "short" in texts


def test_the_policy_allows_our_scripts_and_styles_and_no_network():
    html = senate()[2].to_html()
    tags = Reader(html).tags
    policy = next(a["content"] for _, a in tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert not re.search("unsafe|http", policy)
    styles = re.findall(r"<style>(.*?)</style>", html, flags=re.DOTALL)
    for text in [*script_texts(html)[1:], *styles]:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    addresses = [a[name] for _, a in tags for name in ("src", "href", "action") if name in a]
    assert all(address.startswith(("#", "data:")) for address in addresses)


def test_numbers_are_there_without_a_script_and_pages_of_equal_models_are_equal(tmp_path):
    votes, frame, model = senate()
    html = model.to_html(frame, labels=votes.senators)
    place = model.report(frame, tmp_path / "page.html", labels=votes.senators)
    assert place.read_text(encoding="utf-8") == html
    text = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    for feature, loading in zip(model.loadings()["feature"], model.loadings()["loading"], strict=True):
        assert f'<bdi class="name">{feature}</bdi>' in text
        assert f">{loading:+.3f}<" in text
    assert answer(model, 0).replace(" %", "\u00a0%") in text
    assert model.certificates_[0].digest in text
    assert len(html) < 1_000_000


def test_a_page_of_many_variables_is_small():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 5000)) + 2 * rng.standard_normal((40, 1)) * (np.arange(5000) < 8)
    frame = pd.DataFrame(rows, columns=[f"a rather long name of variable {j}" for j in range(5000)])
    html = SparsePCA(cardinality=[8, 40], proof="fast").fit(frame).to_html(frame)
    assert 500_000 < len(html.encode()) < 5_000_000
    assert "a rather long name of variable 4999" in html
    assert UNBOUNDED in html


def test_where_a_page_can_be_written(tmp_path):
    names = pd.Index(["a", "b", "caf\udce9"], dtype=object)  # text of pandas 3 is UTF-8 alone
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((9, 3)), columns=names)
    page = SparsePCA(cardinality=3).fit(frame).report(frame, tmp_path / "page.html").read_text(encoding="utf-8")
    assert json.loads(script_texts(page)[0])["names"][2] == "caf\udce9"  # a name that was badly decoded
    with pytest.raises(FileNotFoundError, match=r"page\.html"):
        senate()[2].report(None, tmp_path / "none" / "page.html")
    with pytest.raises(NotFittedError):
        SparsePCA().to_html()


def test_the_bundle_is_the_one_that_is_described():
    folder = files("laconic.report").joinpath("page_assets")
    digest = hashlib.sha256(folder.joinpath("charts.min.js").read_bytes()).hexdigest()
    assert digest in folder.joinpath("README.md").read_text(encoding="utf-8")
