"""New rows need only the columns that the components use, by name, in every form that rows can have."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from laconic import SparsePCA
from laconic.data.rows import open_source

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
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_feather(path)
    return path


FORMS = {
    "pandas": lambda frame, _: frame,
    "polars": lambda frame, _: pl.from_pandas(frame),
    "pyarrow": lambda frame, _: pa.Table.from_pandas(frame),
    "record batch": lambda frame, _: pa.RecordBatch.from_pandas(frame),
    "dask": lambda frame, _: dd.from_pandas(frame, npartitions=3),
    "csv": lambda frame, folder: written(frame, folder, "csv"),
    "parquet": lambda frame, folder: str(written(frame, folder, "parquet")),
    "arrow": lambda frame, folder: [written(frame, folder, "arrow")],
    "tables in blocks": lambda frame, _: [frame[:15], frame[15:]],
}


def test_the_components_use_three_columns():
    assert [sorted(NAMES[j] for j in support) for support in MODEL.supports_] == [["a", "c, d"], ["b"]]


@pytest.mark.parametrize("form", FORMS)
def test_columns_that_are_not_used_may_be_anything(form, tmp_path):
    assert np.array_equal(MODEL.transform(FORMS[form](MESSY, tmp_path)), SCORES)


@pytest.mark.parametrize("form", FORMS)
def test_missing_columns_are_listed_in_one_sentence(form, tmp_path):
    rows = FORMS[form](MESSY.drop(columns=["b"]).rename(columns={"c, d": "c,d"}), tmp_path)
    words = r"lacks 2 of the 3 columns that .*: 'b', 'c, d'\.$"
    with pytest.raises(ValueError, match=words):
        MODEL.transform(rows)


@pytest.mark.parametrize("form", FORMS)
def test_the_strict_rule_refuses_what_scikit_learn_refuses(form, tmp_path):
    strict = SparsePCA(cardinality=[2, 1], new_rows="all").fit(FRAME)
    assert np.array_equal(strict.transform(FORMS[form](FRAME, tmp_path)), SCORES)
    with pytest.raises(ValueError, match=r"feature names|has the column"):
        strict.transform(FORMS[form](FRAME[NAMES[::-1]], tmp_path))


@pytest.mark.parametrize("form", FORMS)
def test_score_takes_all_columns_in_any_order(form, tmp_path):
    more = FRAME[NAMES[::-1]].assign(other="text")
    assert MODEL.score(FORMS[form](more, tmp_path)) == pytest.approx(MODEL.score(FRAME), rel=1e-12)
    with pytest.raises(ValueError, match=r"no column 'e', which (score|the model) needs"):
        MODEL.score(FORMS[form](FRAME.drop(columns="e"), tmp_path))


def test_a_source_of_ones_own_is_read_by_name(tmp_path):
    path = written(FRAME[NAMES[::-1]], tmp_path, "parquet")
    assert np.array_equal(MODEL.transform(open_source(path)), SCORES)
    assert MODEL.score(open_source(path)) == pytest.approx(MODEL.score(FRAME), rel=1e-12)
    out = MODEL.write_scores(path, tmp_path / "scores.parquet")
    assert np.array_equal(pd.read_parquet(out).to_numpy(), SCORES)


def test_blocks_may_be_tables_of_other_kinds_and_orders():
    assert np.array_equal(MODEL.transform([MESSY[:15], pl.from_pandas(MESSY[15:][MESSY.columns[::-1]])]), SCORES)
    with pytest.raises(ValueError, match="block 1 of X has no column 'b'"):
        MODEL.transform([MESSY[:15], MESSY[15:].drop(columns="b")])


def test_only_the_columns_used_are_read(tmp_path, monkeypatch):
    from laconic.data.files import ArrowFile

    path, asked, frames = written(MESSY, tmp_path, "parquet"), [], ArrowFile.frames
    monkeypatch.setattr(
        ArrowFile, "frames", lambda self, names, *rest: asked.append(names) or frames(self, names, *rest)
    )
    MODEL.transform(path)
    assert asked[0] is None  # the first rows tell which columns hold text
    assert [sorted(names) for names in asked[1:]] == [["a", "b", "c, d"]]


@pytest.mark.parametrize("form", ["pandas", "csv", "dask"])
def test_a_hole_in_a_used_column_follows_the_rule_of_missing(form, tmp_path):
    holes = MESSY.copy()
    holes.loc[3, "a"] = np.nan
    with pytest.raises(ValueError, match="has NaN at row 3, column 'a'"):
        MODEL.transform(FORMS[form](holes, tmp_path))
    model = SparsePCA(cardinality=[2, 1], missing="pairwise").fit(FRAME)
    scores = model.transform(FORMS[form](holes, tmp_path))
    assert np.isfinite(scores).all()
    assert np.flatnonzero(~np.isclose(scores, SCORES).all(axis=1)).tolist() == [3]


def test_a_used_column_of_text_is_named(tmp_path):
    text = MESSY.assign(a="low")
    for rows in (text, written(text, tmp_path, "csv")):
        with pytest.raises(ValueError, match=r"'a' .*'low'"):
            MODEL.transform(rows)


def test_a_used_column_twice_is_refused():
    twice = pd.concat([MESSY, MESSY[["a"]]], axis=1)
    with pytest.raises(ValueError, match="column name 'a' more than once"):
        MODEL.transform(twice)
    assert np.array_equal(MODEL.transform(pd.concat([MESSY, MESSY[["g"]]], axis=1)), SCORES)


def test_without_names_the_number_of_columns_counts(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS[:, :3])
    with pytest.warns(UserWarning, match="valid feature names"), pytest.raises(ValueError, match="X has 3 features"):
        MODEL.transform(ROWS[:, :3])
    with pytest.raises(ValueError, match=r"rows\.npy has 3 features"):
        MODEL.transform(tmp_path / "rows.npy")
    np.save(tmp_path / "rows.npy", ROWS)
    assert np.array_equal(MODEL.transform(tmp_path / "rows.npy"), SCORES)
    unnamed = SparsePCA(cardinality=[2, 1]).fit(ROWS)
    with pytest.raises(ValueError, match="has 3 features"):
        unnamed.transform(ROWS[:, :3])


def test_an_array_gives_the_same_bits_as_a_table():
    with pytest.warns(UserWarning, match="valid feature names"):
        assert np.array_equal(MODEL.transform(ROWS), SCORES)
    assert MODEL.transform(FRAME.astype(np.float32)).dtype == np.float32


def test_one_close_name_is_asked_for_at_the_end():
    with pytest.raises(ValueError, match=r"^X has no column 'a', which the components use; did you mean 'A'\?$"):
        MODEL.transform(MESSY.rename(columns={"a": "A"}))


def test_the_output_keeps_the_labels_of_rows():
    model = SparsePCA(cardinality=[2, 1]).set_output(transform="pandas").fit(FRAME)
    rows = MESSY.set_axis([f"row {i}" for i in range(40)])
    assert model.transform(rows).index.tolist() == rows.index.tolist()
