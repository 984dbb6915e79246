"""Hints: what they find, what they leave alone, and that each comes once."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer

from laconic import SparsePCA, choose, read_table
from laconic.core import Hint
from laconic.datasets import load_pitprops, load_senate109


def rows(seed=0, n=40, m=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m))
    X[:, :3] += rng.standard_normal((n, 1))
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(m)])


def hints(X, how="fit", **settings):
    """Return the hints of a fit, which must be its warnings of this class, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Hint)
        model = getattr(SparsePCA(**{"cardinality": 2, **settings}), how)(X)
    assert [str(warning.message) for warning in caught if warning.category is Hint] == model.hints_
    assert {warning.filename for warning in caught} <= {__file__}
    return model.hints_


def test_data_in_one_unit_have_no_hints():
    assert hints(load_senate109().frame, cardinality=5) == []
    assert hints(load_pitprops().covariance, "fit_covariance", cardinality=5) == []
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.geomspace(0.05, 500, 30) * rng.gamma(2, 1, (50, 1)))
    for data in (
        counts,
        counts.astype(float),
        sp.csr_array(counts),
        sp.csr_array(counts / counts.sum(1, keepdims=True)),
    ):
        assert hints(data, cardinality=4) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("anything", np.arange(40.0)),
        ("anything", np.arange(1000.0, 1040.0)),
        ("customer_id", np.random.default_rng(0).permutation(40) * 7.0),
        ("PatientID", np.random.default_rng(0).permutation(40)),
        ("row number", np.random.default_rng(0).permutation(40)),
        ("Nr.", np.random.default_rng(0).permutation(40)),
    ],
)
def test_ids(name, values, tmp_path):
    X = rows().assign(**{name: values})
    (hint,) = hints(X)
    assert hint == (
        f"{name!r} looks like a row number or an id, and a component uses it; leave it out, for example with "
        f"drop={name!r}."
    )
    X.to_parquet(tmp_path / "t.parquet")
    assert hints(tmp_path / "t.parquet") == [hint]
    assert hints(X.drop(columns=name)) == []


@pytest.mark.parametrize("cardinality", [2, 4, None])
def test_one_column_alone(cardinality):
    X = rows().assign(income=1e5 * np.random.default_rng(1).random(40))
    for found in (hints(X, cardinality=cardinality), hints(X.cov(), "fit_covariance", cardinality=cardinality)):
        (hint,) = found
        assert hint.startswith("Component 1 is 'income' almost alone, because its variance, ")
        assert hint.endswith("give scale=True (--scale), or leave it out with drop='income'.")
    assert hints(X, cardinality=cardinality, scale=True) == []
    assert hints(X, cardinality=1) == []  # one column was asked for


RNG = np.random.default_rng(5)
# Tables of columns in different units, without one column that makes component 1 alone.
MIXED = {
    "flights": {
        "month": RNG.integers(1, 13, 200),
        "delay": RNG.integers(-20, 200, 200),
        "left": (left := RNG.integers(500, 2400, 200)),
        "arrived": left + RNG.integers(50, 300, 200),
        "hour": left // 100,
        "minute": left % 60,
        "flight": RNG.integers(1, 3000, 200),
    },
    "prices of flats": {
        "price": (price := RNG.lognormal(12, 0.5, 200).round()),
        "land": (price * RNG.uniform(0.1, 0.4, 200)).round(),
        "acres": RNG.lognormal(-1, 0.5, 200).round(2),
        "rooms": RNG.integers(2, 9, 200),
        "baths": RNG.integers(1, 4, 200),
    },
    "a questionnaire with an age": {
        **{f"item {i}": RNG.integers(1, 7, 200) for i in range(8)},
        "age": (age := RNG.integers(16, 86, 200)),
        "years at work": np.maximum(age - RNG.integers(16, 30, 200), 1),
    },
}


def of_one_unit():
    latent = RNG.standard_normal((200, 3))
    words = RNG.poisson(np.geomspace(0.02, 20, 40) * RNG.gamma(0.5, 2, (200, 1)))
    prices = np.exp(RNG.uniform(1, 6, 12) + np.cumsum(0.03 * RNG.standard_normal((200, 12)), axis=0))
    return {
        "votes": np.sign(latent @ RNG.standard_normal((3, 30)) * (RNG.random((200, 30)) > 0.1)),
        "items": np.clip(np.round(3.5 + latent @ RNG.standard_normal((3, 20))), 1, 6),
        "words": words,
        "shares of words": words / np.maximum(words.sum(axis=1, keepdims=True), 1),
        "prices": prices,
        "returns": np.diff(np.log(prices), axis=0),
        "log ratios": latent @ RNG.standard_normal((3, 400)) * RNG.lognormal(0, 1, 400),
    }


@pytest.mark.parametrize("name", MIXED)
def test_columns_in_different_units(name):
    X = pd.DataFrame(MIXED[name])
    largest = X.var().idxmax()
    for cardinality in (2, 4):
        (hint,) = hints(X, cardinality=cardinality)
        assert hint.startswith("The columns seem to be in different units: their variances go from ")
        assert f"such as that of '{largest}'" in hint
        assert hint.endswith("give scale=True (--scale).")
        assert hints(X.to_numpy(), cardinality=cardinality)[0].replace(str(X.columns.get_loc(largest)), "") != hint
        assert hints(X, cardinality=cardinality, scale=True) == []
        holes = X.astype(float).mask(np.random.default_rng(1).random(X.shape) < 0.02)
        assert hints(holes, cardinality=cardinality, missing="pairwise")[0].startswith("The columns seem")
        # A covariance matrix does not tell what it is of.
        assert hints(X.cov(), "fit_covariance", cardinality=cardinality) == []


@pytest.mark.parametrize("name", of_one_unit())
def test_columns_in_one_unit(name):
    for _ in range(5):
        X = of_one_unit()[name]
        X = X[:, X.std(axis=0) > 0]
        assert [hint for hint in hints(X, cardinality=5) if "scale" in hint] == []


def test_decimals_whose_variances_differ_too_much_for_one_unit():
    wdbc = load_breast_cancer(as_frame=True).data.drop(columns=["worst area", "mean area", "area error"])
    (hint,) = hints(wdbc, cardinality=2)
    assert hint.startswith("The columns seem to be in different units: ")
    assert hints(wdbc, cardinality=2, scale=True) == []
    assert hints(wdbc.cov(), "fit_covariance", cardinality=2) == []


@pytest.mark.parametrize("scale", [True, False])
def test_perfectly_correlated_columns(scale):
    X = rows()
    X["inches"] = X["x0"] / 2.54 + 3
    found = hints(X, cardinality=3, scale=scale)
    assert found == [
        "'x0' and 'inches' are perfectly correlated, so that each can stand for the other; leave one of them out, for "
        "example with drop='inches'."
    ]
    assert hints(X.cov(), "fit_covariance", cardinality=3, scale=scale) == found
    assert hints(sp.csr_array(X), cardinality=3, scale=scale)[0].startswith("column 0 and column 6 are perfectly")
    assert hints(X.assign(inches=X["inches"] + 1e-3 * X["x4"]), cardinality=3, scale=scale) == []
    assert hints(X.drop(columns="inches"), cardinality=2, scale=scale) == []


def test_a_component_of_one_column_and_its_copies(tmp_path):
    X = rows().assign(a=lambda X: -3 * X["x0"], b=lambda X: X["x0"] + 1)
    X.to_csv(tmp_path / "t.csv", index=False)
    found = [hints(data, cardinality=3, scale=True) for data in (X, tmp_path / "t.csv", X.to_numpy(), sp.csr_array(X))]
    found.append(hints(X.cov(), "fit_covariance", cardinality=3, scale=True))
    for place, hint in enumerate(found):
        which = "column 0, column 6, column 7" if place in (2, 3) else "'x0', 'a', 'b'"
        assert hint == [
            f"Component 1 consists of columns that are the same up to sign and scale ({which}); keep one of them, "
            "leave out the others."
        ]


def counts_with_rare_genes(rare_rows, n=60, m=30):
    """Counts of which the last ten are zero but for the same rows."""
    X = np.random.default_rng(0).poisson(2.0, (n, m)).astype(float)
    X[:, -10:] = 0.0
    X[:rare_rows, -10:] = np.arange(1, rare_rows + 1)[:, None]
    return X


@pytest.mark.parametrize("rare_rows", [1, 4, 5])
def test_columns_seen_in_a_handful_of_rows(rare_rows, tmp_path):
    X = counts_with_rare_genes(rare_rows)
    often = {1: "one of 60 rows", 4: "at most 4 of 60 rows"}.get(rare_rows)
    pd.DataFrame(X).add_prefix("g").to_csv(tmp_path / "t.csv", index=False)
    sp.save_npz(tmp_path / "t.npz", sp.csr_array(X))
    files = (tmp_path / "t.csv", tmp_path / "t.npz")
    for data in (X, sp.csr_array(X), sp.csc_array(X), X.astype(np.float32), pd.DataFrame(X), *files):
        found = hints(data, cardinality=10, scale=True)
        if often is None:
            assert found[0].startswith("Component 1 consists of columns that are the same up to sign and scale (")
        else:
            assert found == [
                f"Component 1 consists of columns that differ from their most common value in {often}, so that a few "
                "rows decide it; leave out columns seen in so few rows."
            ]
    # Most of the columns are zero elsewhere; any value may be the common one.
    if often is not None:
        assert hints(7.0 - X, cardinality=10, scale=True) == found
    # Without rows nothing is known about them.
    assert "same up to" in hints(np.cov(X.T), "fit_covariance", cardinality=10, scale=True)[0]


def survey(seed=0, n=500, m=20):
    """Answers from 1 to 7, of which the first five belong together."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m))
    X[:, :5] += 1.5 * rng.standard_normal((n, 1))
    answers = np.clip(np.round(4 + X), 1, 7)
    return pd.DataFrame(answers, columns=[f"Q{j}" for j in range(1, m + 1)])


@pytest.mark.parametrize("mark", [-99, 99, -999, 999, -9999, 99999])
@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"cardinality": 1}])
def test_a_mark_of_missing_values(mark, settings, tmp_path):
    X = survey()
    X.loc[10:24, "Q15"] = mark
    settings = {**settings, "forced_in": ["Q15"]}
    (hint,) = hints(X, **settings)
    assert hint == (
        f"'Q15' holds {mark} in 15 of 500 rows looked at, and otherwise 1 to 7; if {mark} marks a missing value, "
        f"replace it by NaN, or read the table with na='{mark}'."
    )
    assert hints(X.astype(np.float32), **settings) == [hint]
    X.to_csv(tmp_path / "t.csv", index=False)
    assert hints(read_table(tmp_path / "t.csv"), **settings) == hints(tmp_path / "t.csv", **settings) == [hint]
    assert hints(read_table(tmp_path / "t.csv", na=str(mark)), missing="pairwise", **settings) == []
    assert hints(X.drop(columns="Q15")) == []


@pytest.mark.parametrize(
    "values",
    [
        [9] * 5 + [0, 1] * 250,  # a count
        [99] * 5 + list(range(1, 100)) * 5,  # an age
        [-999] + [1, 2] * 250,  # once
        [0] * 490 + [99] * 15,  # nothing else varies
        [99999] * 5 + list(np.geomspace(1, 41310, 495).round()),  # a long tail
        [-99.5] * 5 + [1, 2] * 250,
        [-99] * 5 + list(np.linspace(-90, 90, 495)),
    ],
)
def test_no_marks(values):
    X = survey().assign(x=np.array(values, dtype=float)[:500])
    assert not any("missing" in hint for hint in hints(X, forced_in=["x"]))


def test_choose_gives_the_hint_about_units_too():
    X = pd.DataFrame(MIXED["flights"])
    with pytest.warns(Hint, match="seem to be in different units"):
        choose(SparsePCA(), X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Hint)
        choose(SparsePCA(scale=True), X)
