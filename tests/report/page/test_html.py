import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from tests.report.page.models import HOSTILE, hostile, senate

from laconic import SparsePCA
from laconic.report.page.of_data import UNBOUNDED


class Reader(HTMLParser):
    """Collects the texts of elements, and the tags with their attributes."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self.stack = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.stack.append(tag)

    def handle_data(self, data):
        self.texts.append((self.stack[-1] if self.stack else "", data))


def read(html):
    reader = Reader()
    reader.feed(html)
    return reader


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
    reader = read(html)
    kinds = {tag for tag, _ in reader.tags}
    assert "img" not in kinds
    assert sum(tag == "script" for tag, _ in reader.tags) == 3
    assert not any(name.startswith("on") for _, attributes in reader.tags for name in attributes)
    texts = {text for tag, text in reader.texts if tag == "bdi"}
    assert set(HOSTILE) - texts <= set(HOSTILE[6:]) - {HOSTILE[j] for j in model.supports_[0]}
    assert HOSTILE[0] in html.replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'")
    data, _, _ = script_texts(html)
    assert not set("<>&\u2028\u2029") & set(data)
    assert json.loads(data)["names"] == HOSTILE


def test_the_policy_allows_our_scripts_and_styles_and_no_network():
    html = senate()[2].to_html()
    policy = next(a["content"] for t, a in read(html).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    styles = re.findall(r"<style>(.*?)</style>", html, flags=re.DOTALL)
    for text in [*script_texts(html)[1:], *styles]:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    addresses = [a[name] for _, a in read(html).tags for name in ("src", "href", "action") if name in a]
    assert all(address.startswith(("#", "data:")) for address in addresses)


def test_numbers_are_there_without_a_script():
    votes, frame, model = senate()
    html = model.to_html(frame, labels=votes.senators)
    text = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    for feature, loading in zip(model.loadings()["feature"], model.loadings()["loading"], strict=True):
        assert f'<bdi class="name">{feature}</bdi>' in text
        assert f">{loading:+.3f}<" in text
    assert model.verdicts_[0] in text
    assert model.certificates_[0].digest in text
    assert len(html) < 1_000_000


def test_pages_of_equal_models_are_equal(tmp_path):
    _, frame, model = senate()
    place = model.report(frame, tmp_path / "page.html")
    assert place == tmp_path / "page.html"
    assert place.read_text(encoding="utf-8") == model.to_html(frame)


def test_a_name_that_was_badly_decoded_can_be_written(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((9, 3)), columns=["a", "b", "caf\udce9"])
    page = SparsePCA(cardinality=3).fit(frame).report(frame, tmp_path / "page.html").read_text(encoding="utf-8")
    assert json.loads(script_texts(page)[0])["names"][2] == "caf\udce9"


def test_a_page_cannot_be_written_to_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"page\.html"):
        senate()[2].report(None, tmp_path / "none" / "page.html")


def test_a_page_of_many_variables_is_small():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 5000)) + 2 * rng.standard_normal((40, 1)) * (np.arange(5000) < 8)
    frame = pd.DataFrame(rows, columns=[f"a rather long name of variable {j}" for j in range(5000)])
    html = SparsePCA(cardinality=[8, 40], proof="fast").fit(frame).to_html(frame, time_limit=2)
    assert 500_000 < len(html.encode()) < 5_000_000
    assert "a rather long name of variable 4999" in html
    assert UNBOUNDED in html


def test_the_bundle_is_the_one_that_is_described():
    from importlib.resources import files

    folder = files("laconic.report.page")
    digest = hashlib.sha256(folder.joinpath("charts.min.js").read_bytes()).hexdigest()
    assert digest in folder.joinpath("README.md").read_text(encoding="utf-8")


def test_an_unfitted_model_has_no_page():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        SparsePCA().to_html()
