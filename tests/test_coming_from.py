"""The figures in the tables of docs/coming-from.md are those that its code gives."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coming-from.md"


@pytest.fixture(scope="module")
def page():
    """Run the Python of the page. Return its names, and its text."""
    text, names = PAGE.read_text(encoding="utf-8"), {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        exec(compile(block, PAGE.name, "exec"), names)
    return names, text


@pytest.mark.parametrize(
    ("found", "row"),
    [("theirs", "alpha=4)`"), ("ours", "`cardinality=[9, 5, 2]`"), ("together", '`joint="span"`')],
)
def test_scikit_learn(page, found, row):
    names, text = page
    share = f"{100 * names['held'](names[found].components_):.1f} %"
    assert re.search(re.escape(row) + r" \| 9, 5, 2 \| " + share, text), share


def test_abess(page):
    names, text = page
    assert f"| laconic | {100 * names['three'].explained_variance_ratio_.sum():.2f} % |" in text
    assert f'`joint="span"` | {100 * names["span"].explained_variance_ratio_.sum():.2f} % |' in text
    assert names["five"].supports_[0].tolist() == [5, 6, 7, 8, 11]


def test_irlba(page):
    names, text = page
    for feature, loading in names["five"].loadings()[["feature", "loading"]].values:
        assert re.search(rf"\| {feature} \|.*\| {loading:.3f} \|", text)
    assert f"**{names['five'].lower_bound_[0]:.4f}**" in text


def test_elasticnet(page):
    names, text = page
    printed = np.zeros((13, 6))  # the loadings of Zou, Hastie and Tibshirani (2006)
    printed[[0, 1, 4, 6, 7, 8, 9], 0] = [-0.477, -0.476, 0.177, -0.250, -0.344, -0.416, -0.400]
    printed[[2, 3, 7, 11], 1] = [0.785, 0.620, -0.021, 0.013]
    printed[[4, 5, 6, 12], 2] = [0.640, 0.589, 0.492, -0.015]
    printed[[10, 11, 12], [3, 4, 5]] = [-1, -1, 1]
    S = names["S"]
    for row, components in (
        ("Zou, Hastie and Tibshirani", printed / np.linalg.norm(printed, axis=0)),
        ("laconic, one after the other", names["pitprops"].components_.T),
        ('laconic, `joint="span"`', names["jointly"].components_.T),
    ):
        adjusted = np.diag(np.linalg.qr(np.linalg.cholesky(S).T @ components)[1]) ** 2 / np.trace(S)
        basis = np.linalg.qr(components)[0]
        cells = [adjusted[0], adjusted.sum(), np.trace(basis.T @ S @ basis) / np.trace(S)]
        assert f"| {row} | " + " | ".join(f"{100 * cell:.1f}" for cell in cells) + " |" in text
