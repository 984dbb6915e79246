"""Tables on disk: what is written is read."""

import builtins
import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import laconic
from laconic import SparsePCA, read_table

X = np.random.default_rng(0).standard_normal((30, 5))
FRAME = pd.DataFrame(X, columns=["height", "weight", "age", "µ", "with space"])
LABELLED = FRAME.set_axis([f"row {i}" for i in range(30)], axis=0).rename_axis("name")


def write_arrow(frame, path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def write_zstandard(frame, path):
    with pa.CompressedOutputStream(str(path), "zstd") as sink:
        sink.write(frame.to_csv(index=False).encode())


WRITERS = {
    "table.csv": lambda frame, path: frame.to_csv(path, index=False),
    "table.CSV": lambda frame, path: frame.to_csv(path, index=False),
    "table.csv.gz": lambda frame, path: frame.to_csv(path, index=False, compression="gzip"),
    "table.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "table.tsv.gz": lambda frame, path: frame.to_csv(path, index=False, sep="\t", compression="gzip"),
    "table.csv.bz2": lambda frame, path: frame.to_csv(path, index=False, compression="bz2"),
    "table.csv.zst": lambda frame, path: write_zstandard(frame, path),
    "table.txt": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "table.parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "table.pq": lambda frame, path: frame.to_parquet(path, index=False),
    "table.feather": lambda frame, path: frame.to_feather(path),
    "table.arrow": write_arrow,
    "with.dots.csv": lambda frame, path: frame.to_csv(path, index=False),
}


@pytest.mark.parametrize("name", WRITERS)
def test_round_trip(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](FRAME, path)
    for given in (path, str(path)):
        found = read_table(given)
        assert found.columns.tolist() == FRAME.columns.tolist()
        np.testing.assert_array_equal(found.to_numpy(), X)
    model = SparsePCA(cardinality=2).fit(read_table(path))
    np.testing.assert_allclose(model.components_, SparsePCA(cardinality=2).fit(X).components_, atol=1e-9)


@pytest.mark.parametrize("name", WRITERS)
def test_first_column_of_text_labels_the_rows(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](LABELLED.reset_index(), path)
    found = read_table(path)
    assert found.columns.tolist() == FRAME.columns.tolist()
    assert found.index.tolist() == LABELLED.index.tolist()
    assert found.index.name == "name"


@pytest.mark.parametrize("separator", [",", "\t"])
def test_a_first_column_without_a_name_labels_the_rows(tmp_path, separator):
    """As pandas writes a frame by default: row numbers are no feature."""
    path = tmp_path / ("table.csv" if separator == "," else "table.tsv")
    FRAME.to_csv(path, sep=separator)
    found = read_table(path)
    assert found.columns.tolist() == FRAME.columns.tolist()
    assert found.index.tolist() == list(range(len(FRAME)))


def test_a_line_of_numbers_for_names_is_remarked_on(tmp_path):
    path = tmp_path / "table.csv"
    FRAME.to_csv(path, index=False, header=False)
    with pytest.warns(UserWarning, match="begins with a line of numbers"):
        read_table(path)
    path.write_text("5,7,9\n1,2,3\n4,5,6\n")
    with pytest.warns(UserWarning, match="begins with a line of numbers") as caught:
        read_table(path)
    assert caught[0].filename == __file__
    # Columns that are counted: pandas names them so by itself.
    for first in (0, 1):
        pd.DataFrame(X, columns=range(first, first + 5)).to_csv(path, index=False)
        assert read_table(path).shape == X.shape


def test_column_named_as_labels(tmp_path):
    path = tmp_path / "table.csv"
    frame = FRAME.assign(year=range(1990, 2020), note="text")
    frame.to_csv(path, index=False)
    found = read_table(path, index="year")
    assert found.index.tolist() == list(range(1990, 2020))
    with pytest.raises(ValueError, match=r"index='month' is not a column of table\.csv"):
        read_table(path, index="month")
    # text elsewhere stays, and is complained of by name when it is fitted
    with pytest.raises(ValueError, match="'note'"):
        SparsePCA().fit(read_table(path))


def test_parquet_keeps_its_index(tmp_path):
    path = tmp_path / "table.parquet"
    LABELLED.to_parquet(path)
    assert read_table(path).index.tolist() == LABELLED.index.tolist()


def test_whole_numbers_and_truth_values(tmp_path):
    path = tmp_path / "table.csv"
    pd.DataFrame({"a": [1, 2, 3], "b": [True, False, True], "c": [1.5, 2.5, 4.0]}).to_csv(path, index=False)
    model = SparsePCA(cardinality=1).fit(read_table(path))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_missing_entries_are_named_at_the_fit(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n3,\n5,6\n")
    with pytest.raises(ValueError, match="X has NaN at row 1, column 'b'"):
        SparsePCA().fit(read_table(path))


@pytest.mark.parametrize("separator", [",", "\t"])
def test_a_name_twice_is_not_renamed_quietly(tmp_path, separator):
    path = tmp_path / ("table.csv" if separator == "," else "table.tsv")
    path.write_text("a,b,a\n1,2,3\n4,5,6\n".replace(",", separator))
    with pytest.raises(ValueError, match="has the column name 'a' more than once"):
        read_table(path)


SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "blank": " "}


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".csv.gz", ".txt.xz"])
@pytest.mark.parametrize("separator", SEPARATORS.values(), ids=SEPARATORS)
def test_the_separator_is_found_in_the_file(tmp_path, ending, separator):
    path = tmp_path / f"table{ending}"
    LABELLED.rename(columns={"age": "age; in years, or so"}).to_csv(path, sep=separator)
    found = read_table(path)
    assert found.columns.tolist() == ["height", "weight", "age; in years, or so", "µ", "with space"]
    assert found.index.tolist() == LABELLED.index.tolist()
    np.testing.assert_allclose(found, X, rtol=1e-14)
    np.testing.assert_allclose(read_table(path, separator=separator), X, rtol=1e-14)


def test_the_separator_of_the_ending_comes_first(tmp_path):
    for ending, separator, other in ((".csv", ",", ";"), (".tsv", "\t", ","), (".txt", "\t", ",")):
        path = tmp_path / f"table{ending}"
        path.write_text(f"a{other}b{separator}c\n1{separator}2\n3{separator}4\n")
        assert read_table(path).columns.tolist() == [f"a{other}b", "c"]
    path = tmp_path / "table.csv"
    path.write_text("length, cm;width\n1,5;2\n3;4\n")
    # A comma makes text of the next line, a semicolon two numbers.
    assert read_table(path).to_dict("list") == {"length, cm": [1.5, 3], "width": [2, 4]}
    with pytest.raises(ValueError, match=r"table\.csv has 1 field in line 3, and 2 columns"):
        read_table(path, separator=",")


def test_decimal_commas(tmp_path):
    path = tmp_path / "table.csv"
    FRAME.to_csv(path, index=False, sep=";", decimal=",")
    np.testing.assert_allclose(read_table(path), X, rtol=1e-14)
    LABELLED.to_csv(path, sep=";", decimal=",")
    np.testing.assert_allclose(read_table(path), X, rtol=1e-14)
    # A column may be whole for long.
    path.write_text("a;b\n" + "1;2\n" * 5000 + "1,5;2\n")
    assert read_table(path)["a"].iloc[-1] == 1.5
    # Between tabs a comma may as well stand between thousands.
    path.write_text("a\tb\n1,500\t2\n3\t4\n")
    assert read_table(path)["a"].tolist() == ["1,500", "3"]
    assert read_table(path, decimal=",")["a"].tolist() == [1.5, 3.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separator": ";;"}, "separator=';;' must be one character"),
        ({"separator": ""}, "separator='' must be one character"),
        ({"decimal": ";"}, "decimal=';' must be '.' or ','"),
    ],
)
def test_signs_that_are_none(tmp_path, options, message):
    FRAME.to_csv(tmp_path / "table.csv")
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "table.csv", **options)
    FRAME.to_parquet(tmp_path / "table.parquet")
    with pytest.raises(ValueError, match=r"separator=.* is for text tables only, not for table\.parquet"):
        read_table(tmp_path / "table.parquet", separator=";")


@pytest.mark.parametrize("separator", [",", "\t", " "])
def test_labels_without_a_name_as_r_writes_them(tmp_path, separator):
    """`write.table` gives no name to the column of labels."""
    path = tmp_path / "table.txt"
    path.write_text('"a","b"\n"row 1",1,2\n"row 2",3,4\n'.replace(",", separator))
    found = read_table(path)
    assert found.columns.tolist() == ["a", "b"]
    assert found.index.tolist() == ["row 1", "row 2"]


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("a,b\n0,1,2\n1,4,5\n", "2 names in its first line and 3 fields"),
        ("a,b\nx,1,2\n7,4,5\n", "2 names in its first line and 3 fields"),
        ("a,b\n1,2,\n4,5,\n", "2 names in its first line and 3 fields"),
        ("a,b\nx,y,1,2\nz,u,4,5\n", "2 names in its first line and 4 fields"),
        (",a,b\nx,1,2,3\ny,4,5,6\n", "3 names in its first line and 4 fields"),
        ("# measured in May\na,b,c\n1,2,3\n", "1 name in its first line and 3 fields"),
        ("# measured, in May\na,b,c\n1,2,3\n", "2 names in its first line and 3 fields"),
    ],
)
def test_more_fields_than_names(tmp_path, text, counts):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"table\.csv has {counts} in the next"):
        read_table(path)


@pytest.mark.parametrize("text", ["abc\n1;2;3\n4;5;6\n", "abc\n1 2 3\n4 5 6\n", "# a\nb;c\n1;2\n"])
def test_lines_that_do_not_come_apart(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"table\.csv has one column, of text such as '.*'; begin the file"):
        read_table(path)


def test_a_single_column_of_numbers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("with space\n1\n2\n")
    assert read_table(path)["with space"].tolist() == [1, 2]
    path.write_text("a\n")
    assert read_table(path).shape == (0, 1)


@pytest.mark.parametrize("entries", [["1", "?", "3"], ["1,000", "2,000", "3,000"], ["x", "y", "-1e5"]])
def test_numbers_in_the_first_column_are_no_labels(tmp_path, entries):
    path = tmp_path / "table.csv"
    pd.DataFrame({"a": entries, "b": [1, 2, 3], "c": [2, 1, 2]}).to_csv(path, index=False)
    assert read_table(path).columns.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="'a'"):
        SparsePCA(cardinality=1).fit(read_table(path))
    assert read_table(path, index="a").index.tolist() == entries


def test_labels_that_only_look_like_numbers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n12_34,1\n2020-01-01,2\n")
    assert read_table(path).index.tolist() == ["12_34", "2020-01-01"]


def test_a_stream_is_read_as_text():
    found = read_table(io.BytesIO(LABELLED.to_csv(sep=";", decimal=",").encode()))
    assert found.index.tolist() == LABELLED.index.tolist()
    np.testing.assert_allclose(found, X, rtol=1e-14)
    with pytest.raises(ValueError, match="the table is empty"):
        read_table(io.BytesIO())


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(ValueError, match=f"{tmp_path} is a directory; give a file"):
        read_table(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"There is no file .*missing\.csv"):
        read_table(tmp_path / "missing.csv")
    with pytest.raises(ValueError, match=r"table\.xyz has no known ending; use one of \.csv"):
        read_table(tmp_path / "table.xyz")
    with pytest.raises(ValueError, match="no known ending"):
        read_table(tmp_path / "table")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    with pytest.raises(ValueError, match=r"empty\.csv is empty"):
        read_table(empty)
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("a,b\n1,2\n3,4,5\n")
    with pytest.raises(ValueError, match=r"ragged\.csv has 3 fields in line 3, and 2 columns; correct"):
        read_table(ragged)
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\x00\xff\x81" * 10)
    with pytest.raises(ValueError, match=r"binary\.csv"):
        read_table(binary)


@pytest.mark.parametrize("name", ["broken.parquet", "broken.arrow", "broken.csv.gz", "broken.csv.xz", "broken.csv.zst"])
def test_a_broken_file_is_named(tmp_path, name):
    whole = gzip.compress(b"a,b\n1,2\n3,4\n" * 50)
    (tmp_path / name).write_bytes(whole[:-20] if name.endswith("gz") else b"not a table at all")
    with pytest.raises(ValueError, match=name.replace(".", r"\.")):
        read_table(tmp_path / name)


def test_read_table_is_a_public_name():
    assert laconic.read_table is read_table


NEARLY_NUMBERS = ["$5", "1%", "1 000", "(5)", "<5", "\N{MINUS SIGN}5", "1.234,5"]


@pytest.mark.parametrize("entry", NEARLY_NUMBERS)
def test_numbers_with_signs_about_them_are_no_labels(tmp_path, entry):
    path = tmp_path / "table.tsv"
    path.write_text(f"p\tq\tr\n{entry}\t1\t2\n{entry}\t2\t5\n")
    assert list(read_table(path).columns) == ["p", "q", "r"]


@pytest.mark.parametrize("label", ["2020-01-31", "01/31/2020", "12:30", "gene 5", "x"])
def test_dates_and_text_are_labels(tmp_path, label):
    path = tmp_path / "table.csv"
    path.write_text(f"day,q,r\n{label},1,2\n{label},2,5\n")
    assert list(read_table(path).columns) == ["q", "r"]


def test_a_column_may_be_called_na(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("NA,null,c\n1,2,3\n4,5,7\n8,9,1\n")
    assert list(read_table(path).columns) == ["NA", "null", "c"]
    assert read_table(path)["NA"].tolist() == [1, 4, 8]


def test_a_comma_in_a_name_and_in_numbers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a;b, kg\n1;2,5\n3;4,7\n5;6,9\n")
    assert read_table(path)["b, kg"].tolist() == [2.5, 4.7, 6.9]
    # Beside text and dates, numbers do not tell which sign separates.
    path.write_text("name;a;b, kg;day\nBob;1,5;2,5;2024-01-31\nAnn;3;4,7;2024-02-01\n")
    assert read_table(path, numeric_only=True)["b, kg"].tolist() == [2.5, 4.7]


def test_an_empty_field_at_the_end_shifts_nothing(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\nx,2,\ny,4,\n")
    with pytest.raises(ValueError, match=r"2 names in its first line and 3 fields"):
        read_table(path)


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_a_file_is_opened_once_and_parsed_once(tmp_path, monkeypatch, ending, decimal):
    path = tmp_path / f"table.csv{ending}"
    LABELLED.to_csv(path, sep=";", decimal=decimal)
    opened, parsed = [], []
    read_csv, open_file = pd.read_csv, builtins.open

    def counted_read(*arguments, **options):
        parsed.append(read_csv(*arguments, **options))
        return parsed[-1]

    def counted_open(file, *arguments, **options):
        opened.append(str(file))
        return open_file(file, *arguments, **options)

    monkeypatch.setattr(pd, "read_csv", counted_read)
    for module in (io, builtins):  # pathlib uses the first name, gzip and lzma the second
        monkeypatch.setattr(module, "open", counted_open)
    np.testing.assert_allclose(read_table(path), X, rtol=1e-14)
    assert opened.count(str(path)) == 1
    assert [len(frame) for frame in parsed].count(len(X)) == 1
