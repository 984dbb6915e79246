"""Text tables, as people have them: the same numbers whole and in chunks, and one message about all that is wrong."""

import gzip
import io
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.checks import check_source, message, together

from laconic import SparsePCA, read_table
from laconic.core.monitor import Note
from laconic.data import files
from laconic.data.rows import open_source

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 5)) * 10.0 ** RNG.integers(-20, 20, (150, 5))
NAMES = ["height", "weight", "µ", "with space", 'a "quoted", one']
FRAME = pd.DataFrame(X, columns=NAMES)
LABELLED = FRAME.set_axis([f"row {i}" for i in range(150)], axis=0).rename_axis("name")


@pytest.fixture(autouse=True)
def _small_frames(monkeypatch):
    """Frames of a few rows, so that every table here has several."""
    monkeypatch.setattr(files, "FRAME_NUMBERS", 60)
    monkeypatch.setattr(files, "FRAME_ROWS", 1)


def both(path, **read):
    """Return the table that both readers find, which must be the same to the last digit."""
    frame = read_table(path, **read)
    for blocks in (False, True):
        source = open_source(path, blocks=blocks, **read)
        check_source(source, frame.to_numpy(dtype=float), list(frame.columns))
    return frame


def refused(path, **read):
    """Return the message of both readers, which must be the same."""
    found = []
    in_blocks = {**read, "blocks": True}
    for reader in (lambda: SparsePCA().fit(read_table(path, **read)), lambda: together(open_source(path, **in_blocks))):
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the callers match the message
            reader()
        found.append(message(error))
    return found


def written(folder, text, name="t.csv"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.csv.gz", "t.tsv.bz2", "t.txt.xz", "t.csv.zst", "with.dots.csv"])
@pytest.mark.parametrize("labelled", [False, True])
def test_every_ending(tmp_path, name, labelled):
    path = tmp_path / name
    text = (LABELLED if labelled else FRAME).to_csv(index=labelled, sep="\t" if "tsv" in name else ",")
    if name.endswith("zst"):
        with pa.CompressedOutputStream(str(path), "zstd") as sink:
            sink.write(text.encode())
    else:
        with pd.io.common.get_handle(path, "w", compression="infer", encoding="utf-8") as handle:
            handle.handle.write(text)
    frame = both(path)
    assert list(frame.columns) == NAMES
    np.testing.assert_array_equal(frame.to_numpy(), X)
    for blocks in (False, True):
        source = open_source(path, blocks=blocks)
        assert source.name == name
        assert (len(list(source.blocks())) > 5) == blocks
        assert (source.in_memory() is None) == blocks
        if labelled:
            assert frame.index.equals(LABELLED.index)
            assert source.label_name == "name"
            assert [label for labels in source.row_labels() for label in labels] == list(LABELLED.index)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("ending", [".csv", ".txt"])
def test_the_separator_is_found_in_the_file(tmp_path, separator, ending):
    path = tmp_path / f"t{ending}"
    LABELLED.to_csv(path, sep=separator)
    np.testing.assert_array_equal(both(path), X)
    np.testing.assert_array_equal(read_table(path, sep=separator), X)


def test_the_separator_of_the_ending_comes_first(tmp_path):
    for ending, separator, other in ((".csv", ",", ";"), (".tsv", "\t", ",")):
        text = f"a{other}b{separator}c\n1{separator}2\n3{separator}4\n"
        assert list(both(written(tmp_path, text, f"t{ending}")).columns) == [f"a{other}b", "c"]
    # A comma makes text of the next line, a semicolon two numbers.
    path = written(tmp_path, "length, cm;width\n1,5;2\n3;4\n")
    assert both(path).to_dict("list") == {"length, cm": [1.5, 3], "width": [2, 4]}
    path = written(tmp_path, "name;a;b, kg;day\nBob;1,5;2,5;2024-01-31\nAnn;3;4,7;2024-02-01\n")
    assert both(path)["b, kg"].tolist() == [2.5, 4.7]


def test_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    LABELLED.to_csv(path, sep=";", decimal=",")
    np.testing.assert_array_equal(both(path), X)
    # A column may be whole for long.
    written(tmp_path, "a;b\n" + "1;2\n" * 500 + "1,5;2\n" + "1;2\n" * 50 + "2;3,25\n")
    assert both(path)["b"].iloc[-1] == 3.25
    # Between tabs a comma may as well stand between thousands.
    written(tmp_path, "a\tb\n1,500\t2\n3\t4\n")
    assert both(path, decimal=",")["a"].tolist() == [1.5, 3.0]
    for wrong in ("abc", "1.5"):
        written(tmp_path, f"a;b\n1,5;2\n2,5;3\n{wrong};4\n")
        with pytest.raises(ValueError, match=rf"'a' .*'{wrong}'; first in row 2\)"):
            together(open_source(path))
    written(tmp_path, "a;b\n" + "1.5;2\n" * 200 + "1,5;2\n")
    with pytest.raises(ValueError, match=r"'a' .*'1,5'; first in row 200\)"):
        together(open_source(path))


@pytest.mark.parametrize("separator", [",", "\t", " "])
def test_labels_without_a_name(tmp_path, separator):
    """As R writes them: one name less than fields. As pandas writes them: an empty name."""
    lines = '"a","b"\n' + "".join(f'"row {i}",{i},{i * i}\n' for i in range(50))
    frame = both(written(tmp_path, lines.replace(",", separator), "t.txt"))
    assert list(frame.columns) == ["a", "b"]
    assert frame.index[1] == "row 1"
    FRAME.to_csv(tmp_path / "t.csv", sep="," if separator == " " else separator)
    assert both(tmp_path / "t.csv").index.tolist() == list(range(150))


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("a,b\n0,1,2\n1,4,5\n", "2 names in its first line and 3 fields"),
        ("a,b\nx,1,2\n7,4,5\n", "2 names in its first line and 3 fields"),
        ("a,b\nx,2,\ny,5,\n", "2 names in its first line and 3 fields"),
        ("a,b\nx,y,1,2\nz,u,4,5\n", "2 names in its first line and 4 fields"),
        (",a,b\nx,1,2,3\ny,4,5,6\n", "3 names in its first line and 4 fields"),
        ("# measured in May\na,b,c\n1,2,3\n", "1 name in its first line and 3 fields"),
    ],
)
def test_more_fields_than_names(tmp_path, text, counts):
    assert all(f"t.csv has {counts} in the next" in line for line in refused(written(tmp_path, text)))


def test_lines_and_names_of_all_kinds(tmp_path):
    lines = [f'"label\n{i}",{i},{i % 7}' for i in range(100)]
    text = "\r\n".join(['n,"a\n1",b', *lines[:50], "", "", *lines[50:]])
    frame = both(written(tmp_path, b"\xef\xbb\xbf\n" + text.encode()))
    assert list(frame.columns) == ["a\n1", "b"]
    np.testing.assert_array_equal(frame, [[i, i % 7] for i in range(100)])
    assert both(written(tmp_path, "a,b\nTrue,1\nFalse,2\n,3\n"))["a"].isna().sum() == 1
    assert both(written(tmp_path, "a,b,c\n1,2,\n4,,6\n")).isna().to_numpy().sum() == 2
    assert list(both(written(tmp_path, "NA,null,c\n1,2,3\n4,5,7\n")).columns) == ["NA", "null", "c"]
    assert read_table(written(tmp_path, "with space\n1\n2\n"))["with space"].tolist() == [1, 2]
    found = read_table(io.BytesIO(LABELLED.to_csv(sep=";", decimal=",").encode()))
    np.testing.assert_array_equal(found, X)
    with pytest.warns(UserWarning, match="begins with a line of numbers") as caught:
        read_table(written(tmp_path, "5,7,9\n1,2,3\n4,5,6\n"))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("line", ["1", "1,2", "1,2,3,4"])
def test_a_ragged_line_is_named(tmp_path, line):
    path = written(tmp_path, f'a,"b\nb",c\n4,5,6\n\n{line}\n7,8,\n')
    count = line.count(",") + 1
    for found in refused(path):
        assert found == f"t.csv has {count} field{'s' * (count > 1)} in line 5, and 3 columns; correct the line."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,a\n1,2,3\n4,5,6\n", "has the column name 'a' more than once"),
        ("abc\n1;2;3\n4;5;6\n", "has one column, of text such as '1;2;3"),
        ("# a\nb;c\n1;2\n", "has one column, of text such as 'b;c"),
        ("", "t.csv is empty"),
        (b"\x00\xff\x81" * 10, "t.csv"),
        (b"a,b\n" + b"1.5,2\n" * 500 + b"\xf6,2\n", "t.csv is not text in UTF-8; give its encoding, such as encoding="),
        ("a,b\n1,2\n3,4\n".encode("utf-16-le"), "t.csv is not text in UTF-8; give its encoding"),
    ],
)
def test_no_table(tmp_path, text, words):
    assert all(words in found for found in refused(written(tmp_path, text)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "cp1251", "shift-jis"])
def test_encodings(tmp_path, encoding):
    """A mark tells UTF-16; others are given."""
    name = {"shift-jis": "年齢", "cp1251": "возраст"}.get(encoding, "größe")
    path = written(tmp_path, (f"{name},b\n" + "1.5,2\n3,4\n" * 200).encode(encoding))
    given = {} if encoding.startswith("utf") else {"encoding": encoding}
    assert list(both(path, **given).columns) == [name, "b"]
    with pytest.raises(ValueError, match=r"^encoding='utf-9' is not known; examples are utf-8, "):
        open_source(path, encoding="utf-9")


@pytest.mark.parametrize(("name", "cut"), [("t.csv.gz", -30), ("t.csv.zst", 200), ("t.csv.xz", 300)])
def test_a_file_that_is_cut_off(tmp_path, name, cut):
    path = tmp_path / name
    content = FRAME.to_csv(index=False).encode()
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(content)[:cut])
    else:
        with pa.CompressedOutputStream(str(path), "zstd") as sink:
            sink.write(content)
        path.write_bytes(path.read_bytes()[:cut])
    for found in refused(path):
        assert found.startswith(f"{name} is damaged or incomplete (")


ROWS = 60
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
    path = tmp_path / "survey.csv"
    frame.to_csv(path, index=False, encoding="utf-8-sig")
    return path


def test_one_message_names_all_columns(survey):
    chosen = "name, full,age,Q1,pay,rise"
    for found in refused(survey, columns=chosen, drop="Q1"):
        for words in (
            "survey.csv has cells that are not numbers: 'age' 3 of 60 ('ERR', '?'; first in row 3); read them as "
            "missing values with na='ERR,?'",
            "digits: 'pay' ('1,000', '2,000', '3,000', ...; first in row 0), 'rise' ('",
        ):
            assert words in found
    # A table in memory keeps its columns, as scikit-learn does.
    with pytest.raises(ValueError, match=r"^X has columns that do not hold numbers: .*X\.select_dtypes\('number'\)"):
        SparsePCA().fit(pd.read_csv(survey))


def test_columns_of_text_are_left_out_and_named(tmp_path):
    rows = 40
    frame = pd.DataFrame({"a": np.arange(rows) % 7, "b": RNG.standard_normal(rows).round(3)})
    frame["model"] = ["737", "A320-214", "EMB-145XR", "CL-600"] * 10
    frame["ages"] = ["18-24", "25-34", "35-44", "65+"] * 10
    frame["day"], frame["nothing"] = "2024-01-31", ""
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    sentence = (
        "4 columns of t.csv are left out because they do not hold numbers: 'model' (numbers in 10 of 40 cells), "
        "'ages', 'day', 'nothing' (empty)."
    )
    assert list(both(path).columns) == ["a", "b"]
    for blocks in (False, True):
        source = open_source(path, blocks=blocks)
        assert (list(source.table_columns), source.note) == (list(frame.columns), sentence)
    for fit in (lambda: SparsePCA(cardinality=1).fit(path), lambda: read_table(path)):
        with pytest.warns(Note) as notes:
            fit()
        assert [str(note.message) for note in notes] == [sentence]
    # A column that the user names is never left out quietly.
    for found in refused(path, columns="a,ages"):
        assert found.startswith("t.csv has a column that does not hold numbers: 'ages' ('18-24'); leave it out with ")
    assert list(both(path, columns="[a-c]").columns) == ["a", "b"]


@given(
    numbers=st.integers(0, 12), words=st.integers(0, 12), signs=st.integers(0, 12), blanks=st.integers(0, 12),
    seed=st.integers(0, 9),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_a_column_is_text_if_most_of_its_cells_are(numbers, words, signs, blanks, seed):
    cells = [*map(str, range(numbers)), *["x"] * words, *["3 %"] * signs, *[""] * blanks]
    if not cells:
        return
    order = np.random.default_rng(seed).permutation(len(cells))
    content = "\n".join(["a,b", *(f"{i},{cells[place]}" for i, place in enumerate(order))])
    total = numbers + words + signs

    def read():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Note)
            return list(read_table(io.BytesIO(content.encode())).columns)

    if not total or 2 * words > total:
        assert read() == ["a"]
    elif words + signs:
        with pytest.raises(ValueError, match="'b'"):
            read()
    else:
        assert read() == ["a", "b"]


@pytest.mark.parametrize(("twice", "is_label"), [(0, True), (2, True), (3, False), (20, False)])
def test_text_names_rows_only_if_it_is_nearly_unique(tmp_path, twice, is_label):
    path = tmp_path / "t.csv"
    names = [f"name {max(i - twice, 0)}" for i in range(20)]
    pd.DataFrame({"who": names, "a": np.arange(20), "b": np.arange(20) % 3}).to_csv(path, index=False)
    for blocks in (False, True):
        source = open_source(path, blocks=blocks)
        assert source.feature_names == ["a", "b"]
        assert source.note == (
            "'who' names the rows of t.csv."
            if is_label
            else "One column of t.csv is left out because it does not hold numbers: 'who'."
        )
        labels = source.row_labels()
        assert (None if labels is None else [label for part in labels for label in part]) == (
            names if is_label else None
        )
    assert list(both(path, index="who").index) == names


def test_bad_cells_far_down_are_all_counted(tmp_path, monkeypatch):
    good = "".join(f"{i},{i + 1},{i % 5}\n" for i in range(300))
    path = written(tmp_path, f"a,b,c\n{good}1,x,3\n{good}1,2,-\n1,x,3\n{good}")
    with pytest.raises(
        ValueError, match=r"numbers: 'b' 2 of 903 \('x'; first in row 300\), 'c' 1 of 903 \('-'; first in row 601\);"
    ):
        together(open_source(path, blocks=True))
    # In a large file only the first part is looked at.
    monkeypatch.setattr(files, "MOST_FRAMES", 2)
    monkeypatch.setattr(files, "HEAD_NUMBERS", 30)
    with pytest.raises(
        ValueError, match=r"'b' 1 of 3\d\d \('x'; first in row 300\).*\. The first 3\d\d rows were looked at\.$"
    ):
        together(open_source(path, blocks=True))


def test_columns_are_chosen_by_name_and_pattern(survey):
    assert list(both(survey, columns="Q*", na="-999").columns) == ["Q1", "Q2"]
    assert list(both(survey, columns=["share", "Q?"], drop="Q2").columns) == ["Q1", "share"]
    # The order is that of the table, and the labels are found although they are not among the columns.
    assert read_table(survey, columns="Q1,share").index[0] == 'Bob "the 0", jr.'
    assert list(read_table(survey, drop=["name, full,day", "*i*", "pay", "age"]).columns) == ["Q1", "Q2", "share"]
    for option in ("columns", "drop", "index"):
        for read in (read_table, open_source):
            with pytest.raises(ValueError, match=rf"^{option}='Age' is not a column of .*; did you mean 'age'\?$"):
                read(survey, **{option: "Age"})


def test_marks_of_missing_values(survey, tmp_path):
    frame = both(survey, columns="age,Q*", na=["ERR", "?", -999])
    expected = CLEAN[["age", "Q1", "Q2"]].astype(float)
    expected.loc[[3, 7, 9], "age"] = np.nan
    expected.loc[5, "Q2"] = np.nan
    np.testing.assert_array_equal(frame, expected)
    # A mark is a whole cell: 99 is no part of -999, and "R" none of "ERR". A number is compared by its value.
    assert both(survey, columns="Q*", na="99,9")["Q2"].min() == -999
    assert any("'age' 3 of 60 ('ERR', '?'; first in row 3)" in line for line in refused(survey, columns="age", na="R"))
    path = written(tmp_path, "a,b\n-999.0,1\n-999,2\n-9990,3\n")
    np.testing.assert_array_equal(both(path, na="-999"), [[np.nan, 1], [np.nan, 2], [-9990, 3]])


@pytest.mark.parametrize(
    "entries", [["1", "?", "3"], ["1,000", "2,000", "3,000"], ["$5", "1%", "(5)"], ["x", "2", "-1e5"]]
)
def test_numbers_in_the_first_column_are_no_labels(tmp_path, entries):
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": entries, "b": [1, 2, 3], "c": [2, 1, 2]}).to_csv(path, index=False)
    assert all("'a'" in line for line in refused(path))
    assert list(both(path, index="a").index) == entries


@pytest.mark.parametrize("label", ["2020-01-31", "01/31/2020", "31.01.2020", "12:30", "gene 5", "12_34"])
def test_dates_and_text_are_labels(tmp_path, label):
    path = written(tmp_path, f"day,q,r\n{label},1,2\n{label},2,5\n")
    assert list(both(path).columns) == ["q", "r"]


GENES = pd.DataFrame(
    RNG.standard_normal((60, 8)).round(3), index=[f"GENE{i}" for i in range(60)], columns=[f"GSM{i}" for i in range(8)]
)


@pytest.mark.parametrize("name", ["gene", None])
def test_features_in_rows(tmp_path, name):
    path = tmp_path / "genes.csv"
    GENES.rename_axis(name).to_csv(path)
    pd.testing.assert_frame_equal(read_table(path, transpose=True), GENES.T, check_names=False)
    assert read_table(path, transpose=True, columns="GENE1*", drop="GENE10").shape == (8, 10)
    GENES.assign(note="kinase").rename_axis(name).to_csv(path)
    with pytest.warns(Note, match=r"^One column of genes\.csv is left out because it does not hold numbers: 'note'\.$"):
        assert read_table(path, transpose=True).shape == (8, 60)
    pd.concat([GENES, GENES[:1]]).rename_axis(name).to_csv(path)
    with pytest.raises(ValueError, match=r"genes\.csv has the row name 'GENE0' more than once"):
        read_table(path, transpose=True)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("a,x,c\n1,2,3\n", "2.csv has 'x' where 1.csv has 'b'"),
        ("a,b\n1,2\n", "2.csv has no column where 1.csv has 'c'"),
        ("a,b,c,d\n1,2,3,4\n", "2.csv has 'd' where 1.csv has no column"),
    ],
)
def test_several_files_are_one_table(tmp_path, other, words):
    folder = tmp_path / "counts"
    folder.mkdir()
    for i, ending in enumerate(("csv", "csv.gz", "csv")):
        LABELLED[50 * i : 50 * i + 50].to_csv(folder / f"part-{i}.{ending}")
    source = open_source(folder)
    assert source.name == "3 files in counts"
    check_source(source, X, NAMES, min_blocks=6)
    assert [label for labels in source.row_labels() for label in labels] == list(LABELLED.index)
    written(tmp_path, "a,b,c\n1,2,3\n4,5,6\n", "1.csv")
    written(tmp_path, other, "2.csv")
    with pytest.raises(ValueError, match=words) as error:
        open_source(tmp_path / "?.csv")
    assert "give files with the same columns" in message(error)
