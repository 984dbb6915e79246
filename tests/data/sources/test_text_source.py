"""Text tables in pieces: the same numbers as `read_table`, and words about lines that are wrong."""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.data.sources.checks import check_source, message, together

from laconic import read_table
from laconic.data.options import TableOptions
from laconic.data.passes import FirstPass
from laconic.data.sources.progress import PassProgress
from laconic.data.sources.registry import open_source
from laconic.data.sources.text import TextSource, TextTable, open_text

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 6)) * 10.0 ** RNG.integers(-20, 20, (150, 6))
NAMES = ["height", "weight", "age", "µ", "with space", 'a "quoted", one']
FRAME = pd.DataFrame(X, columns=NAMES)
LABELLED = FRAME.set_axis([f"row {i}" for i in range(150)], axis=0).rename_axis("name")


def small(path):
    """Pieces of about 120 numbers."""
    return TextSource(TextTable([path] if isinstance(path, Path) else path, block_numbers=120))


def first_pass(source):
    names = tuple(source.feature_names)
    return source.reduce(FirstPass(names, source.name), PassProgress())


@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.csv.gz", "t.tsv.bz2", "t.txt.xz", "t.csv.zst"])
@pytest.mark.parametrize("labelled", [False, True])
def test_the_numbers_of_read_table(tmp_path, name, labelled):
    path = tmp_path / name
    text = (LABELLED if labelled else FRAME).to_csv(index=labelled, sep="\t" if "tsv" in name else ",")
    if name.endswith("zst"):
        with pa.CompressedOutputStream(str(path), "zstd") as sink:
            sink.write(text.encode())
    else:
        with pd.io.common.get_handle(path, "w", compression="infer", encoding="utf-8") as handle:
            handle.handle.write(text)
    check_source(small(path), read_table(path), NAMES, min_blocks=5)
    source = open_source(path)
    assert source.name == name
    np.testing.assert_array_equal(together(source), read_table(path))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("decimal", [".", ","])
def test_separators_and_decimal_signs(tmp_path, separator, decimal):
    if decimal == "," and separator != ";":
        return
    path = tmp_path / "t.csv"
    LABELLED.to_csv(path, sep=separator, decimal=decimal)
    check_source(small(path), read_table(path), NAMES, min_blocks=5)


def test_the_first_decimal_comma_may_be_far_down(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "1;2\n" * 2000 + "1,5;2\n" + "1;2\n" * 300 + "2;3,25\n")
    check_source(small(path), read_table(path), ["a", "b"], min_blocks=5)
    path.write_text("a;b\n" + "1.5;2\n" * 2000 + "1,5;2\n")
    with pytest.raises(ValueError, match=r"'a' .*the first of them is '1,5' in line 2002"):
        together(small(path))


def test_labels_without_a_name(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text('"a" "b"\n' + "".join(f'"row {i}" {i} {i * i}\n' for i in range(200)))
    check_source(small(path), read_table(path), ["a", "b"], min_blocks=2)
    FRAME.to_csv(path, sep="\t")
    check_source(small(path), X, NAMES, min_blocks=2)


def test_blank_lines_quoted_lines_and_line_ends(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f'"label\n{i}",{i},{i % 7}' for i in range(300)]
    path.write_bytes(b"\xef\xbb\xbf\n" + "\r\n".join(['n,"a\n1",b', *lines[:100], "", "", *lines[100:]]).encode())
    source = small(path)
    expected = [[i, i % 7] for i in range(300)]
    check_source(source, expected, ["a\n1", "b"], min_blocks=3)
    # A mark of inches is not the beginning of a quotation.
    path.write_text("n,a,b\n" + "".join(f"5x{'' if i else chr(34)},{i},{i % 7}\n" for i in range(3000)))
    np.testing.assert_array_equal(together(small(path)), [[i, i % 7] for i in range(3000)])


def test_truth_values_and_whole_numbers(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": np.arange(90), "b": np.arange(90) % 3 == 0, "c": np.arange(90) / 4}).to_csv(path, index=False)
    check_source(small(path), read_table(path).to_numpy(dtype=float), ["a", "b", "c"], min_blocks=2)


def test_several_files_are_one_table(tmp_path):
    folder = tmp_path / "counts"
    folder.mkdir()
    for i, ending in enumerate(("csv", "csv.gz", "csv")):
        FRAME[50 * i : 50 * i + 50].to_csv(folder / f"part-{i}.{ending}", index=False)
    source = open_source(folder)
    assert source.name == "3 files in counts"
    np.testing.assert_array_equal(together(source), X)
    check_source(small(sorted(folder.iterdir())), X, NAMES, min_blocks=6)
    before = source.fingerprint()
    assert before == open_source(str(folder / "part-*")).fingerprint()
    os.utime(folder / "part-1.csv.gz", ns=(0, 0))
    assert source.fingerprint() != before


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("a,x,c\n1,2,3\n", r"2\.csv has 'x' where 1\.csv has 'b'"),
        ("a,b\n1,2\n", r"2\.csv has no column where 1\.csv has 'c'"),
        ("a,b,c,d\n1,2,3,4\n", r"2\.csv has 'd' where 1\.csv has no column"),
    ],
)
def test_a_file_with_other_columns_is_named(tmp_path, other, words):
    (tmp_path / "1.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    (tmp_path / "2.csv").write_text(other)
    with pytest.raises(ValueError, match=words) as error:
        together(open_source(tmp_path))
    assert "give files with the same columns" in message(error)


GOOD = "".join(f"{i},{i + 1},{i % 5}\n" for i in range(300))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1,2,3,4", "4 fields in line 302, and 3 columns"),
        ("1,2", "2 fields in line 302, and 3 columns"),
        ("1,2,abc", "cells that are not numbers: 'c' 1 of .*the first of them is 'abc' in line 302"),
        ('"1,000",x,3', "cells .*: 'b' 1 of .* digits: 'a' .*the first of them is '1,000' in line 302"),
    ],
)
def test_a_wrong_line_is_named_by_its_number(tmp_path, line, words):
    path = tmp_path / "t.csv"
    for end in ("", GOOD):
        path.write_text(f"a,b,c\n{GOOD}{line}\n{end}")
        for opened in (small, open_source):
            with pytest.raises(ValueError, match=r"^t\.csv has " + words) as error:
                together(opened(path))
            message(error)


@pytest.mark.parametrize("separator", [",", " "])
def test_wrong_lines_far_below_the_head(tmp_path, monkeypatch, separator):
    for module in ("text", "streams"):
        monkeypatch.setattr(f"laconic.data.sources.{module}.HEAD_BYTES", 300)
    path = tmp_path / "t.csv"
    for line, words in (
        ("1,2,3,4", "4 fields in line 302, and 3 columns"),
        ("1,2", "2 fields in line 302, and 3 columns"),
        ("1,x,3", "cells that are not numbers: 'b' 1 of .*the first of them is 'x' in line 302"),
    ):
        path.write_text(f"a,b,c\n{GOOD}{line}\n{GOOD}".replace(",", separator))
        with pytest.raises(ValueError, match=r"^t\.csv has " + words) as error:
            together(small(path))
        message(error)
    # Labels are not needed, and only pandas looks at them.
    lines = "n,a,b,c\n" + "".join(f"x,{line}\n" for line in GOOD.split()) + "ö,1,2,3\n"
    path.write_bytes(lines.replace(",", separator).encode("latin-1"))
    if separator == ",":
        assert together(small(path)).shape == (301, 3)
        return
    with pytest.raises(
        ValueError, match=r"^t\.csv is not text in UTF-8 \(it has the byte f6 .*; give encoding='"
    ) as error:
        together(small(path))
    message(error)


def test_text_between_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    for wrong in ("abc", "1.5"):
        path.write_text(f"a;b\n1,5;2\n2,5;3\n{wrong};4\n")
        with pytest.raises(ValueError, match=rf"'a' .*the first of them is '{wrong}' in line 4"):
            together(open_source(path))


def test_signs_may_be_given(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\tb\n1,500\t2\n3\t4\n")
    np.testing.assert_array_equal(together(open_text([path], TableOptions(decimal=","))), [[1.5, 2], [3, 4]])


def test_a_missing_entry_is_named_by_its_row_in_the_whole_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b,c\n{GOOD}1,,3\n{GOOD}")
    with pytest.raises(ValueError, match=r"^t\.csv has NaN at row 300, column 'b'; fill or drop it first"):
        first_pass(small(path))


def test_text_in_a_second_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,b,c\nx,y,1\nz,u,2\n")
    with pytest.raises(ValueError, match=r"columns that do not hold numbers: 'label' \('x'\), 'b' \('y'\)"):
        together(open_source(path))


@pytest.mark.parametrize(("name", "cut"), [("t.csv.gz", -30), ("t.csv.zst", 200), ("t.csv.xz", 300)])
def test_a_file_that_is_cut_off(tmp_path, name, cut):
    path = tmp_path / name
    content = FRAME.to_csv(index=False).encode()
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(content)[:cut])
    elif name.endswith("zst"):
        with pa.CompressedOutputStream(str(path), "zstd") as sink:
            sink.write(content)
        path.write_bytes(path.read_bytes()[:cut])
    else:
        FRAME.to_csv(path, index=False)
        path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=rf"^{name} is damaged or incomplete \(.*\); copy or make it again") as error:
        together(open_source(path))
    message(error)


def test_files_without_rows_and_without_permission(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("")
    with pytest.raises(ValueError, match=r"^t\.csv is empty; give a table with at least two rows"):
        open_source(path)
    path.write_text("a,b\n")
    with pytest.raises(ValueError, match=r"^t\.csv has no rows"):
        first_pass(open_source(path))
    with pytest.raises(FileNotFoundError, match=r"There is no file .*none\.csv\."):
        open_source(tmp_path / "none.csv")
    monkeypatch.setattr(Path, "open", lambda *_a, **_o: (_ for _ in ()).throw(PermissionError(13, "denied")))
    with pytest.raises(PermissionError, match=r"t\.csv cannot be opened; ask for the permission to read it"):
        open_source(path)


def test_a_line_of_numbers_for_names_is_remarked_on(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("5,7,9\n1,2,3\n4,5,6\n")
    with pytest.warns(UserWarning, match="begins with a line of numbers"):
        open_source(path)
