"""The figures in the tables of some pages are those that their code gives, and what they call proved is true."""

import re
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.datasets import load_breast_cancer, load_wine
from tests.documents import ROOT, blocks_of


def run(name, blocks=None):
    """Run the Python of a page, or its first blocks. Return its names, and its text."""
    text, names = (ROOT / "docs" / name).read_text(encoding="utf-8"), {}
    for block in [block for block in blocks_of(text) if block.language == "python"][:blocks]:
        exec(compile(block.text, name, "exec"), names)
    return names, text


def rows_of(text):
    """Return the rows of the tables of a page as lists of cells."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


@pytest.fixture(scope="module")
def page():
    return run("coming-from.md")


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


def test_which_features():
    names, text = run("which-features.md")
    shown = [row[1] for row in rows_of(text) if row[-1].endswith(" %")]
    tumours, wine = names["scale"](names["tumours"]), names["X"]
    held, everything = names["held"], np.arange(13)
    found = [held(tumours, names["largest"], 1), held(tumours, names["best"], 1)]
    found += [held(wine, np.argsort(-ranking)[:6], 3) for ranking in names["rankings"].values()]
    found += [held(wine, names["model"].supports_[0], 3), held(wine, everything, 3)]
    assert shown == [f"{100 * share:.2f} %" for share in found]


@pytest.fixture(scope="module")
def varimax():
    return run("instead-of-varimax.md")


def test_varimax(varimax):
    names, text = varimax
    rows = rows_of(text)
    shares = [row[-1].split(" %")[0] for row in rows if re.fullmatch(r"\d+, \d+, \d+", row[1])]
    parts = [names["pca"].components_.T, names["rotated"], names["four"], names["sparse"].components_.T]
    parts += [names["span"].components_.T, names["above"], names["sizes"].components_.T]
    assert shares == [f"{100 * names['held'](names['X'], part):.1f}" for part in parts]
    assert np.count_nonzero(names["above"], axis=0).tolist() == [8, 4, 2]
    for feature, *cells in [row for row in rows if row[0] in names["wine"].columns]:
        place = names["wine"].columns.get_loc(feature)
        expected = [*names["rotated"][place], *names["sparse"].components_[:, place]]
        assert [float(cell or 0) for cell in cells] == pytest.approx(expected, abs=0.0051)


def test_varimax_is_a_maximum(varimax):
    """No rotation of two of the columns has a larger variance of squared loadings."""
    rotated = varimax[0]["rotated"]
    best = (rotated**2).var(axis=0).sum()
    for i, j in combinations(range(3), 2):
        for angle in np.linspace(-np.pi / 4, np.pi / 4, 40):
            turned = rotated.copy()
            turned[:, i] = np.cos(angle) * rotated[:, i] + np.sin(angle) * rotated[:, j]
            turned[:, j] = np.cos(angle) * rotated[:, j] - np.sin(angle) * rotated[:, i]
            assert (turned**2).var(axis=0).sum() <= best + 1e-12


@pytest.fixture(scope="module")
def beyond():
    return run("beyond-pca.md", blocks=1)[0]


def largest_ratio(A, B, k):
    """Return the largest ratio by exhaustive search."""
    blocks = (np.ix_(support, support) for support in combinations(range(len(A)), k))
    return max(eigh(A[block], B[block], eigvals_only=True)[-1] for block in blocks)


def pairs_of_wine(question):
    """Return the matrices of a question about wine, without units."""
    wine, cultivar = load_wine(return_X_y=True)
    if question == "discriminant":
        wine -= wine.mean(axis=0)
        means = np.array([wine[cultivar == label].mean(axis=0) for label in cultivar])
        return np.cov(means.T), np.cov((wine - means).T)
    if question == "contrast":
        return np.cov(wine[cultivar == 0].T), np.cov(wine[cultivar != 0].T)
    R, side = np.corrcoef(wine.T), np.arange(13) < 6
    inside = side[:, None] == side
    return np.where(inside, 0, R), np.where(inside, R, 0)


@pytest.mark.filterwarnings("ignore:S is not positive semidefinite")
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("question", ["discriminant", "correlation", "contrast"])
def test_best_ratio_is_that_of_exhaustive_search(beyond, question, k):
    A, B = beyond["with_unit_diagonal"](*pairs_of_wine(question))
    support, ratio, bound = beyond["best_ratio"](A, B, k)
    assert len(support) == k
    assert ratio == pytest.approx(largest_ratio(A, B, k), rel=1e-9)
    assert ratio < bound < ratio * (1 + 1e-6)


@pytest.mark.filterwarnings("ignore:S is not positive semidefinite")
@pytest.mark.parametrize("seed", range(40))
def test_bound_on_ratios_holds(beyond, seed):
    """For random matrices, B nearly singular in some, and for a loop that ends too early, as with a poor search."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    rows = rng.standard_normal((int(rng.integers(k + 1, 2 * n)), n)) @ rng.standard_normal((n, n))
    other = rng.standard_normal((3, n))
    A, B = beyond["with_unit_diagonal"](other.T @ other - seed % 2 * np.eye(n), rows.T @ rows + 1e-9 * np.eye(n))
    truth = largest_ratio(A, B, k)
    _, ratio, bound = beyond["best_ratio"](A, B, k)
    assert ratio <= truth * (1 + 1e-9)
    assert truth * (1 - 1e-12) <= bound <= truth * (1 + 1e-5)
    for c in (0.3 * truth, 0.9 * truth, 1.5 * truth):
        upper = beyond["SparsePCA"](cardinality=k, proof="fast").fit_covariance(A + c * (np.eye(n) - B)).upper_bound_[0]
        smallest = min(np.linalg.eigvalsh(B[np.ix_(support, support)])[0] for support in combinations(range(n), k))
        assert c + max(upper - c, 0) / smallest >= truth * (1 - 1e-9)


@pytest.mark.filterwarnings("ignore:S is not positive semidefinite")
def test_a_singular_matrix_below_is_refused(beyond):
    rows = np.random.default_rng(0).standard_normal((2, 6))
    A, B = beyond["with_unit_diagonal"](np.eye(6), rows.T @ rows)
    with pytest.raises(ValueError, match="may be singular on k features"):
        beyond["best_ratio"](A, B, 3)


@pytest.mark.filterwarnings("ignore:S is not positive semidefinite")
def test_table_of_discriminants(beyond):
    _, text = run("beyond-pca.md", blocks=0)
    tumours, kind = load_breast_cancer(return_X_y=True)
    tumours -= tumours.mean(axis=0)
    means = np.array([tumours[kind == label].mean(axis=0) for label in kind])
    A, B = beyond["with_unit_diagonal"](np.cov(means.T), np.cov((tumours - means).T))
    assert f"| breast cancer | 30 | 3 | {beyond['best_ratio'](A, B, 3)[1]:.6f} |" in text
