import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import done, refused

from laconic import SparsePCA, load_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with a column of text, and a model of its numbers."""
    place = tmp_path_factory.mktemp("page")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((30, 6)).round(3), columns=list("abcdef"))
    table["a"] += 2 * table["b"]
    table["kind"] = np.where(table["a"] > 0, "<b>up</b>", "down")
    table.to_csv(place / "data.csv", index=False)
    SparsePCA(cardinality=[2, 2]).fit(table.drop(columns="kind")).save(place / "m.laconic")
    return place


def test_fit_writes_a_page(folder):
    result = done("fit", folder / "data.csv", "-k", "2,2", "--color-by", "kind", "--report", folder / "page.html")
    assert f"Wrote {folder / 'page.html'}." in result.stdout.replace("\n", "")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<title>data.csv</title>" in page
    assert f"laconic fit {folder / 'data.csv'} -k 2,2 --color-by kind --report" in page
    assert "\\u003cb\\u003eup" in page
    assert "<b>up" not in page
    assert "joint=" not in page


def test_columns_that_are_left_out_are_on_the_page(folder):
    done("fit", folder / "data.csv", "-k", "2", "--report", folder / "other.html")
    page = (folder / "other.html").read_text(encoding="utf-8")
    assert "One column of data.csv is left out because it has no numbers: &#39;kind&#39;" in page
    assert "--columns" in page


def test_a_page_of_a_model_file_with_and_without_data(folder):
    done("report", folder / "m.laconic", folder / "data.csv", "--out", folder / "with.html", "--title", "Some & more")
    done("report", folder / "m.laconic", "--out", folder / "without.html")
    page, short = ((folder / name).read_text(encoding="utf-8") for name in ("with.html", "without.html"))
    assert "<title>Some &amp; more</title>" in page
    assert 'id="slider-1"' in page
    assert 'id="slider-1"' not in short
    for verdict in load_model(folder / "m.laconic").verdicts_:
        assert verdict in short


def test_pages_are_not_written_over_data(folder):
    assert refused("fit", folder / "data.csv", "--report", folder / "data.csv").endswith("let its name end in .html.")
    (folder / "model.html").write_bytes((folder / "m.laconic").read_bytes())
    line = refused("report", folder / "model.html", "--out", folder / "model.html")
    assert line.endswith("model.html holds data; give another file for the page.")
    assert "There is no folder" in refused("fit", folder / "data.csv", "--report", folder / "none" / "page.html")
    assert "is a column of the data; give the data, too." in refused(
        "report", folder / "m.laconic", "--color-by", "kind", "--out", folder / "x.html"
    )
