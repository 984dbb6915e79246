"""Spreadsheets: real files, read as the same table in text would be."""

import sys

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import done, refused
from tests.data.sources.checks import together

from laconic import Hint, SparsePCA, read_table
from laconic.data.sources.registry import open_source

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.standard_normal((30, 4)) + RNG.standard_normal((30, 1)), columns=list("abcd"))
FRAME = FRAME.round(6)  # openpyxl writes 16 digits
FRAME.index = pd.Index([f"Bob {i}" for i in range(30)], name="name")


@pytest.fixture
def book(tmp_path):
    """A workbook with two sheets; the table of the second begins at cell C4."""
    with pd.ExcelWriter(tmp_path / "book.xlsx") as writer:
        FRAME.to_excel(writer, sheet_name="one")
        (2 * FRAME).to_excel(writer, sheet_name="the second", startrow=3, startcol=2)
    return tmp_path / "book.xlsx"


@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_a_sheet_is_the_table_that_was_saved(tmp_path, ending):
    file = tmp_path / f"t.{ending}"
    FRAME.to_excel(file)
    pd.testing.assert_frame_equal(read_table(file), FRAME)
    source = open_source(file)
    assert source.feature_names == list("abcd")
    np.testing.assert_array_equal(together(source), FRAME)


def test_old_excel(tmp_path):
    xlwt = pytest.importorskip("xlwt")
    book = xlwt.Workbook()
    sheet = book.add_sheet("A")
    for j, column in enumerate(FRAME):
        sheet.write(0, j, column)
        for i, value in enumerate(FRAME[column]):
            sheet.write(i + 1, j, float(value))
    book.save(str(tmp_path / "t.xls"))
    np.testing.assert_array_equal(read_table(tmp_path / "t.xls"), FRAME)


def test_the_sheet_is_chosen(book):
    with pytest.warns(Hint, match=r"2 sheets; the first, 'one', is read. Give sheet='the second' for another"):
        assert read_table(book).equals(FRAME)
    assert read_table(book, sheet="the second").equals(2 * FRAME)
    with pytest.raises(ValueError, match=r"sheet='The sekond' is not a sheet of book.xlsx; did you mean 'the second'"):
        read_table(book, sheet="The sekond")
    with pytest.raises(ValueError, match=r"its sheets are 'one', 'the second'"):
        read_table(book, sheet="zzz")


def test_cells_of_all_kinds(tmp_path):
    frame = pd.DataFrame(
        {"n": ["1.5", "2.5", 3], "t": [True, False, True], "m": [1, "n/a", 3], "d": pd.Timestamp("2024-01-31")}
    )
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    found = read_table(tmp_path / "t.xlsx", numeric_only=True)
    assert found["n"].tolist() == [1.5, 2.5, 3]
    assert found["t"].tolist() == [True, False, True]
    assert np.isnan(found["m"][1])
    assert "d" not in found


def test_a_fit_of_a_spreadsheet(book, tmp_path):
    model = SparsePCA(cardinality=2).fit(FRAME)
    result = done("fit", book, "-k", 2, "--out", tmp_path / "out")
    assert result.stderr.splitlines() == [
        "laconic: hint: book.xlsx has 2 sheets; the first, 'one', is read. Give --sheet 'the second' for another."
    ]
    assert pd.read_csv(tmp_path / "out" / "loadings.csv")["feature"].tolist() == model.loadings()["feature"].tolist()
    assert done("verify", tmp_path / "out" / "component-1.json", book, "--sheet", "one").exit_code == 0
    other = done("fit", book, "-k", 2, "--sheet", "the second", "--blocks").stdout
    assert other == done("fit", book, "-k", 2, "--sheet", "one").stdout


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[None]], "is empty"),
        ([["Report", None, None], ["a", "b", "c"], [1, 2, 3]], "has 2 columns without a name in its first row"),
        ([["a", "a"], [1, 2], [3, 4]], "the column name 'a' more than once"),
    ],
)
def test_sheets_that_are_no_tables(tmp_path, rows, sentence):
    pd.DataFrame(rows).to_excel(tmp_path / "t.xlsx", header=False, index=False)
    assert sentence in refused("fit", tmp_path / "t.xlsx")


def test_what_cannot_be_read(book, tmp_path, monkeypatch):
    (tmp_path / "bad.xlsx").write_text("no workbook")
    assert refused("fit", tmp_path / "bad.xlsx").startswith("laconic: bad.xlsx cannot be read as a spreadsheet (")
    assert refused("fit", book, "--decimal", ",") == "laconic: --decimal , is for text tables only, not for book.xlsx."
    FRAME.to_csv(tmp_path / "t.csv")
    assert refused("fit", tmp_path / "t.csv", "--sheet", "one") == (
        "laconic: --sheet one is for spreadsheets only, not for t.csv."
    )
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    assert refused("fit", book) == (
        "laconic: Reading book.xlsx needs the package python-calamine; run: pip install 'laconic[excel]'"
    )


def test_a_first_sheet_of_notes_points_to_another(tmp_path):
    with pd.ExcelWriter(tmp_path / "book.xlsx") as writer:
        pd.DataFrame({"note": ["see the next sheet", "thanks"]}).to_excel(writer, sheet_name="notes", index=False)
        FRAME.to_excel(writer, sheet_name="data")
    with pytest.warns(Hint, match="2 sheets"), pytest.raises(ValueError, match="give another sheet with sheet="):
        read_table(tmp_path / "book.xlsx")
