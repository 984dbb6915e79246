"""Scores of new rows: `laconic.scores` finds the columns that are used by name, `transform` follows scikit-learn."""

import io

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from laconic import SparsePCA, scores
from laconic.data.rows import open_source
from laconic.model.scores import write_scores

RNG = np.random.default_rng(5)
ROWS = RNG.standard_normal((40, 6)) @ np.diag([5, 4, 3, 1, 1, 1]) + np.arange(6)
ROWS[:, 2] += ROWS[:, 0]
NAMES = ["a", "b", "c, d", "e", "f", "g"]
FRAME = pd.DataFrame(ROWS, columns=NAMES)
MODEL = SparsePCA(cardinality=[2, 1]).fit(FRAME)
SCORES = MODEL.transform(FRAME)
# The same rows with the columns used in another order, holes and text in others, and a column of another table.
MESSY = pd.DataFrame(
    {"g": np.nan, "c, d": FRAME["c, d"], "other": 7.0, "e": ["yes"] * 40, "b": FRAME["b"], "a": FRAME["a"]}
)


def written(frame, folder, ending):
    path = folder / f"rows.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


FORMS = {
    "pandas": lambda frame, _: frame,
    "polars": lambda frame, _: pl.from_pandas(frame),
    "pyarrow": lambda frame, _: pa.Table.from_pandas(frame),
    "dask": lambda frame, _: dd.from_pandas(frame, npartitions=3),
    "csv": lambda frame, folder: written(frame, folder, "csv"),
    "parquet": lambda frame, folder: str(written(frame, folder, "parquet")),
}


@pytest.mark.parametrize("form", FORMS)
def test_columns_that_are_not_used_may_be_anything(form, tmp_path):
    found = scores(MODEL, FORMS[form](MESSY, tmp_path))
    assert np.array_equal(found.to_numpy(), SCORES)
    assert found.columns.tolist() == ["component_1", "component_2"]
    assert len(found.index) == 40


@pytest.mark.parametrize("form", FORMS)
def test_missing_columns_are_listed_in_one_sentence(form, tmp_path):
    rows = FORMS[form](MESSY.drop(columns=["b"]).rename(columns={"c, d": "c,d"}), tmp_path)
    words = r"lacks 2 of the 3 columns that .*: 'b', 'c, d' \(did you mean 'c,d'\?\)\.$"
    with pytest.raises(ValueError, match=words):
        scores(MODEL, rows)


@pytest.mark.parametrize("form", FORMS)
def test_transform_refuses_what_scikit_learn_refuses(form, tmp_path):
    assert np.array_equal(MODEL.transform(FORMS[form](FRAME, tmp_path)), SCORES)
    assert MODEL.score(FORMS[form](FRAME, tmp_path)) == pytest.approx(MODEL.score(FRAME), rel=1e-12)
    for method in (MODEL.transform, MODEL.score):
        with pytest.raises(ValueError, match="feature names"):
            method(FORMS[form](FRAME[NAMES[::-1]], tmp_path))


def test_scores_are_written_block_by_block(tmp_path):
    path = written(FRAME[NAMES[::-1]], tmp_path, "parquet")
    assert np.array_equal(scores(MODEL, open_source(path)).to_numpy(), SCORES)
    write_scores(MODEL, path, tmp_path / "scores.csv")
    np.testing.assert_allclose(pd.read_csv(tmp_path / "scores.csv", index_col=0).to_numpy(), SCORES)
    text = io.StringIO()
    write_scores(MODEL, MESSY.set_axis([f"row {i}" for i in range(40)]), text)
    assert text.getvalue().splitlines()[:2][0] == "row,component_1,component_2"
    assert text.getvalue().splitlines()[1].startswith("row 0,")


@pytest.mark.parametrize("form", ["pandas", "csv", "dask"])
def test_a_hole_in_a_used_column_follows_the_rule_of_missing(form, tmp_path):
    holes = MESSY.copy()
    holes.loc[3, "a"] = np.nan
    with pytest.raises(ValueError, match="has NaN at row 3, column 'a'"):
        scores(MODEL, FORMS[form](holes, tmp_path))
    model = SparsePCA(cardinality=[2, 1], missing="pairwise").fit(FRAME)
    found = scores(model, FORMS[form](holes, tmp_path)).to_numpy()
    assert np.isfinite(found).all()
    assert np.flatnonzero(~np.isclose(found, SCORES).all(axis=1)).tolist() == [3]


def test_a_used_column_of_text_or_twice_is_named(tmp_path):
    text = MESSY.assign(a="low")
    for rows in (text, written(text, tmp_path, "csv")):
        with pytest.raises(ValueError, match=r"'a' .*'low'"):
            scores(MODEL, rows)
    with pytest.raises(ValueError, match="column name 'a' more than once"):
        scores(MODEL, pd.concat([MESSY, MESSY[["a"]]], axis=1))
    assert np.array_equal(scores(MODEL, pd.concat([MESSY, MESSY[["g"]]], axis=1)).to_numpy(), SCORES)
    with pytest.raises(
        ValueError, match=r"^X lacks 1 of the \d columns that the components use: 'a' \(did you mean 'A'\?\)\.$"
    ):
        scores(MODEL, MESSY.rename(columns={"a": "A"}))


def test_without_names_the_number_of_columns_counts(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS[:, :3])
    for rows, name in ((ROWS[:, :3], "X"), (tmp_path / "rows.npy", r"rows\.npy")):
        with pytest.raises(ValueError, match=f"{name} has 3 features, but SparsePCA is expecting 6"):
            scores(MODEL, rows)
    np.save(tmp_path / "rows.npy", ROWS)
    assert np.array_equal(MODEL.transform(tmp_path / "rows.npy"), SCORES)
    assert np.array_equal(scores(MODEL, ROWS).to_numpy(), SCORES)
    with pytest.warns(UserWarning, match="valid feature names"):
        assert np.array_equal(MODEL.transform(ROWS), SCORES)
    assert MODEL.transform(FRAME.astype(np.float32)).dtype == np.float32
