"""What a page says: the numbers of the model, sentences that are true, names as text, and nothing from the network."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from tests.report.models import HOSTILE, hostile, senate

import laconic
from laconic import SparsePCA, stability
from laconic.core.monitor import Monitor
from laconic.covariance.make import make
from laconic.model.paths import path_of
from laconic.proof.certificate import Certificate
from laconic.report.page import (
    amount_at_least,
    amount_at_most,
    answer,
    badge,
    beside_dense,
    content_of,
    numbers_of,
    path_in_words,
    total_for_shares,
)
from laconic.report.page_data import IN_BLOCKS, OTHER_DATA, UNBOUNDED


@pytest.fixture(scope="module")
def page():
    votes, frame, model = senate()
    return content_of(model, frame, color_by=votes.parties, labels=votes.senators, title="Votes")


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).standard_normal((30, 12)) * np.linspace(1, 2, 12)


def test_numbers_are_those_of_the_model(page):
    _, frame, model = senate()
    for place, one in enumerate(page.components):
        table = model.loadings().query(f"component == {place + 1}")
        assert [page.name(j) for j in one.features] == list(table["feature"])
        np.testing.assert_array_equal(one.loadings, table["loading"])
        assert one.verdict == model.verdicts_[place]
    np.testing.assert_allclose(page.points.scores, model.transform(frame))
    assert page.certificate.digest == model.certificates_[0].digest
    np.testing.assert_allclose(page.data.scree.variances, np.linalg.eigvalsh(frame.cov())[::-1][:10], rtol=1e-3)
    assert page.data.scree.n_above_noise == 1


def test_paths_hold_the_model_and_agree_with_path(page):
    _, frame, model = senate()
    made = make(frame, model._recipe())
    for place, part in enumerate(page.data.paths):
        path = path_of(SparsePCA(), made, Monitor(), last=20, earlier=model.components_[:place])
        np.testing.assert_allclose(part.found, path.values, rtol=1e-6)
        assert (np.array(part.upper) <= path.upper_bounds * (1 + 1e-12)).all()
        assert (np.diff(part.upper) >= 0).all()
        assert part.chosen == len(model.supports_[place])
        at = part.cardinalities.index(part.chosen)
        assert sorted(part.supports[at]) == model.supports_[place].tolist()
    assert path_in_words(page.data.paths[0], 4, page.total).endswith("no other 5 can keep more: proved.")


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
    points = content_of(model, rows, labels=range(4500), color_by=np.arange(4500.0)).points
    assert points.rule == "one row in 3 of 4,500"
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
    points = content_of(model, frame, color_by=pd.Series(votes.states, name="state")).points
    assert points.group_title == "state"
    assert len(points.groups) == 6
    assert points.groups[-1] == "other"
    points = content_of(model, frame, color_by=[None, *votes.parties[1:]]).points
    assert points.groups == ["D", "I", "R", "(missing)"]
    assert points.codes[0] == 3


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
        assert page.python.endswith("fit_covariance(S)")


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
        ({"color_by": [1, 2]}, "color_by has 2 values for 101 rows; give one value for each row of X."),
        ({"labels": "name"}, "labels='name' must have one value for each row"),
        ({"stability": 3}, "stability=3 must be what laconic.stability returns."),
        ({"time_limit": -1}, "time_limit=-1 must be above zero."),
        ({"X": None, "color_by": [1]}, "no rows are given; give X, too"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        content_of(senate()[2], **{"X": senate()[1], **options})


def said(model, place=0):
    return answer(model, place).replace("\u00a0", " ")


def test_a_proved_component_and_one_after_it():
    model = senate()[2]
    assert said(model) == "Component 1 keeps 19.0 % of the variance with 5 variables; no other 5 can keep more: proved."
    assert said(model, 1) == (
        "After component 1 is taken out, component 2 keeps 10.4 % of the variance with 2 variables; no other 2 can "
        "keep more: proved."
    )
    assert [badge(model, 0), badge(model, 1)] == ["proved optimal"] * 2
    assert beside_dense(model, 0).startswith("That is 42.2")


def test_a_gap_is_said_with_bounds_rounded_away_from_each_other(rows):
    model = SparsePCA(3, cardinality=4, method="sorting").fit(rows)
    found, limit = (100 * bound[0] / model.total_variance_ for bound in (model.lower_bound_, model.upper_bound_))
    text = said(model)
    low, high = (float(word) for word in re.findall(r"\d+\.\d+", text))
    assert found - 0.1 < low <= found < limit <= high < limit + 0.1
    assert "; no other 4 can keep more than" in text
    assert text.endswith(": proved.")
    assert said(model, 2).startswith("After components 1 and 2 are taken out, component 3 keeps ")
    assert badge(model, 0) == "bound proved"


def test_other_questions_have_other_sentences(rows):
    model = SparsePCA(cardinality=4, proof=None, method="greedy").fit(rows)
    assert said(model).endswith("with 4 variables; nothing is proved about other sets of variables.")
    assert badge(model, 0) == "no proof"
    assert "with 1 variable; no other variable can keep more: proved." in said(SparsePCA(cardinality=1).fit(rows))
    assert said(SparsePCA(cardinality=12).fit(rows)).endswith("with 12 variables, which is all of them.")
    model = SparsePCA(cardinality=3, forced_in=[2], nonnegative=True).fit(rows)
    assert "with 3 variables and no negative loading; no other 3 with feature 2, with" in said(model)
    model = SparsePCA(cardinality=[3, 3], joint="span").fit(rows)
    assert " of the variance to the other components with 3 variables; beside the others as they are, no " in said(
        model
    )
    model = SparsePCA(cardinality=[3, 3], joint="disjoint").fit(rows)
    assert " with 3 variables; beside the others as they are, no component of this size on other features can hold" in (
        said(model)
    )
    holes = rows.copy()
    holes[::5, 1] = np.nan
    model = SparsePCA(cardinality=3, missing="em").fit(holes)
    assert "% of the variance in the matrix estimated by EM with 3 variables" in said(model)
    model = SparsePCA(cardinality=3).fit(rows)
    assert beside_dense(model, 0).endswith("of what the first component of ordinary PCA keeps with all variables.")


def test_shares_are_rounded_and_a_matrix_that_is_no_covariance_has_none():
    S = np.array([[1.0, 3.0, 0.1], [3.0, 1.0, 0.2], [0.1, 0.2, -1.5]])
    with pytest.warns(UserWarning, match="semidefinite"):
        model = SparsePCA(cardinality=2).fit_covariance(S)
    assert total_for_shares(model) is None
    assert said(model) == "Component 1 has a variance of 4 with 2 variables; no other 2 can have more: proved."
    amounts = [amount_at_least(share, 1.0) for share in (0.29999, 1.0, 0.00012345)]
    assert [amount.replace("\u00a0", " ") for amount in amounts] == ["29.9 %", "100 %", "0.0123 %"]
    assert amount_at_most(0.29991, 1.0) == "30.0\u00a0%"
    assert amount_at_most(12.3451, None) == "12.35"


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
        color_by=[HOSTILE[i % 5] for i in range(40)],
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
    assert model.verdicts_[0] in text
    assert model.certificates_[0].digest in text
    assert len(html) < 1_000_000


def test_a_page_of_many_variables_is_small():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 5000)) + 2 * rng.standard_normal((40, 1)) * (np.arange(5000) < 8)
    frame = pd.DataFrame(rows, columns=[f"a rather long name of variable {j}" for j in range(5000)])
    html = SparsePCA(cardinality=[8, 40], proof="fast").fit(frame).to_html(frame, time_limit=2)
    assert 500_000 < len(html.encode()) < 5_000_000
    assert "a rather long name of variable 4999" in html
    assert UNBOUNDED in html


def test_where_a_page_can_be_written(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((9, 3)), columns=["a", "b", "caf\udce9"])
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
