"""The figures in the tables of docs/coming-from are those that the code of each page gives."""

import re
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "coming-from"


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Run the Python of a page. Return its names, and its text."""
    monkeypatch.chdir(tmp_path)

    def run(name):
        text, names = (FOLDER / f"{name}.md").read_text(encoding="utf-8"), {}
        for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
            exec(compile(block, name, "exec"), names)
        return names, text

    return run


def test_scikit_learn(page):
    names, text = page("scikit-learn")
    for found, row in (("theirs", "alpha=4)`"), ("ours", "`cardinality=[9, 5, 2]`"), ("together", '`joint="span"`')):
        share = f"{100 * names['held'](names[found].components_):.1f} %"
        assert re.search(re.escape(row) + r" \| 9, 5, 2 \| " + share, text), (row, share)
    for feature, loading in names["ours"].loadings().query("component == 1")[["feature", "loading"]].values:
        assert re.search(rf"\| {feature} \|.*\| {loading:.3f} \|", text)


def test_abess(page):
    names, text = page("abess")
    assert f"| laconic | {100 * names['three'].joint_variance_ratio_:.2f} % |" in text
    assert f"| {names['model'].lower_bound_[0]:.4f} | yes |" in text


def test_irlba(page):
    names, text = page("irlba")
    for feature, loading in names["model"].loadings()[["feature", "loading"]].values:
        assert re.search(rf"\| {feature} \|.*\| {loading:.3f} \|", text)


def test_elasticnet(page):
    names, text = page("elasticnet")
    for row, components in (
        ("Tibshirani, adjusted", names["printed"]),
        ("one after the other, adjusted", names["model"].components_.T),
        ('`joint="span"`, adjusted', names["together"].components_.T),
    ):
        adjusted = names["adjusted"](components)
        cells = [*adjusted, adjusted.sum(), names["held"](components)]
        assert f"{row} | " + " | ".join(f"{100 * cell:.1f}" for cell in cells) + " |" in text
    first, S = names["printed"][:, 0], names["S"]
    assert f"| **variance** | {first @ S @ first:.3f} | {names['model'].lower_bound_[0]:.3f}, " in text


def test_pma(page, capsys):
    _, text = page("pma")
    printed = capsys.readouterr().out
    for limit, k, theirs, ours in re.findall(r"(\S+): (\d+) features, variance (\S+) and (\S+),", printed):
        assert f"| {limit} | {k} | {theirs} | {ours} | yes |" in text


def test_mixomics(page):
    names, text = page("mixomics")
    for found in (names["theirs"], names["model"].components_):
        supports = [", ".join(map(str, np.flatnonzero(v))) for v in found]
        shares = [f"{100 * names['held'](found[: i + 1]):.1f} %" for i in range(2)]
        assert re.search(rf"\| {supports[0]} \| {supports[1]} \| {shares[0]}.* \| {shares[1]} \|", text)
