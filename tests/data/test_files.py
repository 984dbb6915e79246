"""Tables on disk: what is written is read."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import laconic
from laconic import SparsePCA, load

X = np.random.default_rng(0).standard_normal((30, 5))
FRAME = pd.DataFrame(X, columns=["height", "weight", "age", "µ", "with space"])
LABELLED = FRAME.set_axis([f"row {i}" for i in range(30)], axis=0).rename_axis("name")


def write_arrow(frame, path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "table.csv": lambda frame, path: frame.to_csv(path, index=False),
    "table.CSV": lambda frame, path: frame.to_csv(path, index=False),
    "table.csv.gz": lambda frame, path: frame.to_csv(path, index=False, compression="gzip"),
    "table.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "table.tsv.gz": lambda frame, path: frame.to_csv(path, index=False, sep="\t", compression="gzip"),
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
        found = load(given)
        assert found.columns.tolist() == FRAME.columns.tolist()
        np.testing.assert_allclose(found.to_numpy(), X, rtol=1e-14)
    model = SparsePCA(cardinality=2).fit(load(path))
    np.testing.assert_allclose(model.components_, SparsePCA(cardinality=2).fit(X).components_, atol=1e-9)


@pytest.mark.parametrize("name", WRITERS)
def test_first_column_of_text_labels_the_rows(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](LABELLED.reset_index(), path)
    found = load(path)
    assert found.columns.tolist() == FRAME.columns.tolist()
    assert found.index.tolist() == LABELLED.index.tolist()
    assert found.index.name == "name"


@pytest.mark.parametrize("separator", [",", "\t"])
def test_a_first_column_without_a_name_labels_the_rows(tmp_path, separator):
    """As pandas writes a frame by default: row numbers are no feature."""
    path = tmp_path / ("table.csv" if separator == "," else "table.tsv")
    FRAME.to_csv(path, sep=separator)
    found = load(path)
    assert found.columns.tolist() == FRAME.columns.tolist()
    assert found.index.tolist() == list(range(len(FRAME)))


def test_a_line_of_numbers_for_names_is_remarked_on(tmp_path):
    path = tmp_path / "table.csv"
    FRAME.to_csv(path, index=False, header=False)
    with pytest.warns(UserWarning, match="begins with a line of numbers"):
        load(path)
    # Whole numbers are what pandas names columns by itself.
    pd.DataFrame(X).to_csv(path, index=False)
    assert load(path).shape == X.shape


def test_column_named_as_labels(tmp_path):
    path = tmp_path / "table.csv"
    frame = FRAME.assign(year=range(1990, 2020), note="text")
    frame.to_csv(path, index=False)
    found = load(path, index="year")
    assert found.index.tolist() == list(range(1990, 2020))
    with pytest.raises(ValueError, match=r"index='month' is not a column of table\.csv"):
        load(path, index="month")
    # text elsewhere stays, and is complained of by name when it is fitted
    with pytest.raises(ValueError, match="'note'"):
        SparsePCA().fit(load(path))


def test_parquet_keeps_its_index(tmp_path):
    path = tmp_path / "table.parquet"
    LABELLED.to_parquet(path)
    assert load(path).index.tolist() == LABELLED.index.tolist()


def test_whole_numbers_and_truth_values(tmp_path):
    path = tmp_path / "table.csv"
    pd.DataFrame({"a": [1, 2, 3], "b": [True, False, True], "c": [1.5, 2.5, 4.0]}).to_csv(path, index=False)
    model = SparsePCA(cardinality=1).fit(load(path))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_missing_entries_are_named_at_the_fit(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n3,\n5,6\n")
    with pytest.raises(ValueError, match="X has NaN at row 1, column 'b'"):
        SparsePCA().fit(load(path))


@pytest.mark.parametrize("separator", [",", "\t"])
def test_a_name_twice_is_not_renamed_quietly(tmp_path, separator):
    path = tmp_path / ("table.csv" if separator == "," else "table.tsv")
    path.write_text("a,b,a\n1,2,3\n4,5,6\n".replace(",", separator))
    with pytest.raises(ValueError, match="has the column name 'a' more than once"):
        load(path)


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*missing\.csv"):
        load(tmp_path / "missing.csv")
    with pytest.raises(ValueError, match=r"table\.xlsx has no known ending; use one of \.csv"):
        load(tmp_path / "table.xlsx")
    with pytest.raises(ValueError, match="no known ending"):
        load(tmp_path / "table")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    with pytest.raises(ValueError, match=r"empty\.csv is empty"):
        load(empty)
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("a,b\n1,2\n3,4,5\n")
    with pytest.raises(ValueError, match=r"ragged\.csv cannot be read as a table"):
        load(ragged)
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00\x81" * 10)
    with pytest.raises(ValueError, match=r"binary\.csv"):
        load(binary)


@pytest.mark.parametrize("name", ["broken.parquet", "broken.arrow", "broken.csv.gz"])
def test_a_broken_file_is_named(tmp_path, name):
    whole = gzip.compress(b"a,b\n1,2\n3,4\n" * 50)
    (tmp_path / name).write_bytes(whole[:-20] if name.endswith("gz") else b"not a table at all")
    with pytest.raises(ValueError, match=name.replace(".", r"\.")):
        load(tmp_path / name)


def test_load_is_a_public_name():
    assert laconic.load is load
