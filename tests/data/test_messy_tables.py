"""Tables as people have them: text, dates, marks, signs around numbers, blanks, triangles, genes in rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.data.sources.checks import together

from laconic import Hint, SparsePCA, read_table
from laconic.data.names import matching, split_names
from laconic.data.orientation import transpose_hint
from laconic.data.sources import open_source

ROWS = 60
RNG = np.random.default_rng(0)
CLEAN = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, ROWS),
        "Q1": RNG.integers(1, 6, ROWS),
        "Q2": RNG.integers(1, 6, ROWS),
        "share": RNG.standard_normal(ROWS).round(3),
    }
)


@pytest.fixture
def survey(tmp_path):
    """A file with a byte order mark, quotes, text with commas, dates, marks of missing values and other signs."""
    frame = CLEAN.astype(object)
    frame.loc[[3, 7, 9], "age"] = ["ERR", "?", "ERR"]
    frame.loc[5, "Q2"] = -999
    frame.insert(0, "name, full", [f'Bob "the {i}", jr.' for i in range(ROWS)])
    frame["day"] = "2024-01-31"
    frame["pay"] = [f"{i + 1},000" for i in range(ROWS)]
    frame["rise"] = [f"{i} %" for i in range(ROWS)]
    frame["site"] = 7
    path = tmp_path / "survey.csv"
    frame.to_csv(path, index=False, encoding="utf-8-sig")
    return path


def numbers(path, **options):
    """Return the numbers that both readers find, which must be the same."""
    frame = read_table(path, **options)
    source = open_source(path, **options)
    assert source.feature_names == list(frame.columns)
    np.testing.assert_array_equal(together(source), frame.to_numpy(dtype=float))
    return frame


def test_one_message_names_all_columns(survey):
    with pytest.raises(ValueError, match=r"^X has columns that do not hold numbers: 'name, full' ") as error:
        SparsePCA().fit(read_table(survey))
    text = str(error.value)
    assert "'day' (" in text
    assert "'2024-01-31'" in text
    assert "X.select_dtypes('number')" in text
    with pytest.raises(ValueError, match=r"^survey\.csv has columns that do not hold numbers: 'name, full' ") as error:
        open_source(survey)
    text = str(error.value)
    for words in (
        "'day' ('2024-01-31'); leave them out with numeric_only=True or drop='name, full,day'",
        "cells that are not numbers: 'age' 3 of 60 ('ERR', '?'); read them as missing values with na='ERR,?'",
        "digits: 'pay' ('",
        "'rise' ('",
        "The first 60 rows were looked at.",
    ):
        assert words in text


def test_objects_in_a_frame_are_counted_and_quoted():
    frame = CLEAN.astype({"age": object})
    frame.loc[[1, 2], "age"] = "ERR"
    with pytest.raises(ValueError, match=r"^X has cells that are not numbers: 'age' 2 of 60 \('ERR'\); make them miss"):
        SparsePCA().fit(frame.assign(site=1))
    with pytest.raises(ValueError, match=r"columns that do not vary: 'site'"):
        SparsePCA().fit(frame.assign(site=1))


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame, pa.table])
def test_many_columns_of_text_are_named_up_to_ten(convert):
    table = convert({f"t{i}": ["x", "y", "z"] for i in range(22)} | {"a": [1.0, 2.0, 4.0]})
    with pytest.raises(ValueError, match=r"'t9' \(.*'x'\) and 12 more; leave them out with X\.select") as error:
        SparsePCA().fit(table)
    assert "'t10'" not in str(error.value)


def test_columns_are_chosen_by_name_and_pattern(survey):
    assert list(numbers(survey, columns="Q*", na="-999").columns) == ["Q1", "Q2"]
    assert list(numbers(survey, columns=["share", "Q?"], drop="Q2").columns) == ["Q1", "share"]
    # The order is that of the table, and the labels are found although they are not among the columns.
    assert read_table(survey, columns="Q1,share").index[0] == 'Bob "the 0", jr.'
    assert list(read_table(survey, drop=["name, full,day", "*i*", "pay"]).columns) == ["age", "Q1", "Q2", "share"]


def test_numeric_only_leaves_out_what_is_not_numeric(survey):
    kept = ["Q1", "Q2", "share", "site"]
    with pytest.warns(Hint, match=r"^3 columns of survey\.csv are left out .*: 'age' 3 of 60 \('ERR', '\?'\), 'pay' "):
        frame = read_table(survey, numeric_only=True)
    assert list(frame.columns) == kept
    assert frame.index.name == "name, full"
    source = open_source(survey, numeric_only=True)
    assert source.feature_names == kept
    # The first column holds the row labels.
    assert source.note.startswith("4 columns of survey.csv are left out because they do not hold only numbers: 'age' ")
    assert "'day' ('2024-01-31')" in source.note


def test_numeric_only_of_a_parquet_file(tmp_path):
    path = tmp_path / "t.parquet"
    table = CLEAN.assign(day=pd.Timestamp("2024-01-31"), note="x", ok=True)
    table.insert(0, "name", [f"row {i}" for i in range(ROWS)])
    table.to_parquet(path, index=False)
    frame = numbers(path, numeric_only=True)
    assert list(frame.columns) == ["age", "Q1", "Q2", "share", "ok"]
    assert frame.index.name == "name"
    with pytest.raises(ValueError, match=r"'name' \(.*'day' \(timestamp.*'2024-01-31'\), 'note'"):
        open_source(path)
    assert np.isnan(numbers(path, columns="Q*", na=3)["Q1"]).sum() == (CLEAN["Q1"] == 3).sum()


def test_marks_of_missing_values(survey):
    frame = numbers(survey, columns="age,Q*", na=["ERR", "?", -999])
    expected = CLEAN[["age", "Q1", "Q2"]].astype(float)
    expected.loc[[3, 7, 9], "age"] = np.nan
    expected.loc[5, "Q2"] = np.nan
    np.testing.assert_array_equal(frame, expected)
    # A mark is a whole cell: 99 is no part of -999, and "R" none of "ERR".
    assert numbers(survey, columns="Q*", na="99,9")["Q2"].min() == -999
    with pytest.raises(ValueError, match=r"'age' 3 of 60 \('ERR', '\?'\)"):
        together(open_source(survey, columns="age", na="R"))


def test_a_number_is_a_mark_by_its_value(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n-999.0,1\n-999,2\n-9990,3\n")
    np.testing.assert_array_equal(numbers(path, na="-999"), [[np.nan, 1], [np.nan, 2], [-9990, 3]])


def test_marks_are_for_tables(tmp_path):
    np.save(tmp_path / "t.npy", np.eye(3))
    with pytest.raises(ValueError, match=r"^na='-9' is for tables with named columns, not for t\.npy"):
        open_source(tmp_path / "t.npy", na=-9)


@pytest.mark.parametrize("option", ["columns", "drop", "index"])
def test_a_misspelt_column_is_recognised(survey, option):
    for read in (read_table, open_source):
        with pytest.raises(ValueError, match=rf"^{option}='Age' is not a column of survey\.csv; did you mean 'age'\?$"):
            read(survey, **{option: "Age"})
        with pytest.raises(ValueError, match=rf"^{option}='zzzz' is not a column of survey\.csv\.$"):
            read(survey, **{option: "zzzz"})


def test_commas_of_names():
    names = ["a", "b", "a,b", "c, d", "e[1]", "e1"]
    assert split_names(["a,b"], names) == ["a,b"]
    assert split_names(["b,a,c, d,x", "a"], names) == ["b", "a", "c, d", "x", "a"]
    # A name counts before a pattern.
    assert matching(["e[1]"], names, argument="drop", table="t") == {"e[1]"}
    assert matching(["e*"], names, argument="drop", table="t") == {"e[1]", "e1"}


def test_truth_values_with_blanks_are_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\nTrue,1\nFalse,2\n,3\n")
    np.testing.assert_array_equal(numbers(path).to_numpy(dtype=float), [[1, 1], [0, 2], [np.nan, 3]])


@pytest.mark.parametrize("line", ["1", "1,2", "1,2,3,4"])
def test_both_readers_name_a_ragged_line(tmp_path, line):
    path = tmp_path / "t.csv"
    path.write_text(f'a,"b\nb",c\n4,5,6\n\n{line}\n7,8,\n')
    for read in (read_table, lambda path: together(open_source(path))):
        count = line.count(",") + 1
        with pytest.raises(
            ValueError, match=rf"^t\.csv has {count} fields? in line 5, and 3 columns; correct the line"
        ):
            read(path)


def test_blanks_at_the_end_of_a_line_are_missing_values(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,2,\n4,,6\n")
    np.testing.assert_array_equal(numbers(path), [[1, 2, np.nan], [4, np.nan, 6]])


@pytest.mark.parametrize(
    "text",
    ["x,y,z\n1\n.5,1\n.2,.3,1\n", ",x,y,z\nx,1\ny,.5,1\nz,.2,.3,1\n", "x,y,z\n1,,\n.5,1,\n.2,.3,1\n"],
    ids=["short lines", "labels", "blanks"],
)
def test_a_triangle_is_read_with_blanks(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    frame = read_table(path)
    assert list(frame.columns) == ["x", "y", "z"]
    np.testing.assert_array_equal(frame, [[1, np.nan, np.nan], [0.5, 1, np.nan], [0.2, 0.3, 1]])


GENES = pd.DataFrame(
    RNG.standard_normal((60, 8)).round(3), index=[f"GENE{i}" for i in range(60)], columns=[f"GSM{i}" for i in range(8)]
)


@pytest.mark.parametrize("name", ["gene", None])
def test_genes_in_rows(tmp_path, name):
    path = tmp_path / "genes.csv"
    GENES.rename_axis(name).to_csv(path)
    frame = read_table(path, transpose=True)
    pd.testing.assert_frame_equal(frame, GENES.T, check_names=False)
    assert read_table(path, transpose=True, columns="GENE1*", drop="GENE10,GSM0").shape == (7, 10)
    model = SparsePCA(cardinality=3).fit(frame)
    assert set(model.loadings()["feature"]) <= set(GENES.index)


def test_genes_in_rows_with_notes(tmp_path):
    path = tmp_path / "genes.csv"
    GENES.assign(note="kinase").rename_axis("gene").to_csv(path)
    with pytest.raises(ValueError, match=r"a column that does not hold numbers: 'note' \('kinase'\)"):
        read_table(path, transpose=True)
    for options in ({"numeric_only": True}, {"drop": "note"}):
        assert read_table(path, transpose=True, **options).shape == (8, 60)
    pd.concat([GENES, GENES[:1]]).rename_axis("gene").to_csv(path)
    with pytest.raises(ValueError, match=r"genes\.csv has the row name 'GENE0' more than once"):
        read_table(path, transpose=True)


def test_names_may_be_numbers_in_a_table_to_transpose(tmp_path):
    path = tmp_path / "genes.csv"
    GENES.set_axis(range(100, 160)).rename_axis("entrez").to_csv(path)
    frame = read_table(path, transpose=True, na=GENES.iloc[0, 0])
    assert frame.columns[0] == "100"
    assert np.isnan(frame.iloc[0, 0])


def test_a_table_that_looks_the_wrong_way_round(tmp_path):
    path = tmp_path / "genes.csv"
    GENES.rename_axis("gene").to_csv(path)
    with pytest.warns(Hint, match=r"^genes\.csv has 60 rows, such as 'GENE0', and 8 .* 'GSM0'; .* transpose=True"):
        read_table(path)
    assert transpose_hint(GENES, "t") is not None
    for other in (
        GENES.T,  # more columns than rows
        GENES[:30],  # not far more rows than columns
        GENES.set_axis(range(60)),  # rows that are only numbered
        GENES.set_axis([f"sample {i}" for i in range(60)]),  # rows with names of samples
        GENES.set_axis(list("abcdefgh"), axis=1),  # columns with other names
        GENES.set_axis([f"Q{i}" for i in range(8)], axis=1),
    ):
        assert transpose_hint(other, "t") is None


def test_numbers_that_are_stored_as_text_in_a_frame_have_their_own_message():
    frame = CLEAN.astype({"age": str}).astype({"age": object})
    with pytest.raises(ValueError, match=r"^X has numbers that are stored as text, in 'age'; make them numbers with "):
        SparsePCA(cardinality=1).fit(frame)
