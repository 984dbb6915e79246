"""Encodings of text: told by a mark, given, or guessed; the same whole and in blocks."""

import warnings

import numpy as np
import pytest
from tests.data.sources.checks import together

from laconic import Hint, read_table
from laconic.data.sources.registry import open_source
from laconic.data.sources.text import TextSource, TextTable

TEXT = "größe,b\n" + "1.5,2\n3,4\n" * 200
NUMBERS = [[1.5, 2], [3, 4]] * 200


def readers(path, encoding=None):
    yield lambda: read_table(path, encoding=encoding)
    yield lambda: open_source(path, encoding=encoding)
    yield lambda: TextSource(TextTable([path], 50, encoding=encoding))


def content(found):
    """Return the names and the numbers of a frame or a source."""
    if hasattr(found, "columns"):
        return list(found.columns), found.to_numpy()
    return found.feature_names, together(found)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_tells_the_encoding(tmp_path, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.encode(encoding))
    for read in readers(path):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            names, numbers = content(read())
        assert names == ["größe", "b"]
        np.testing.assert_array_equal(numbers, NUMBERS)


def test_windows_is_a_guess_that_is_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.replace("b", "5 €").encode("cp1252"))
    for read in readers(path):
        with pytest.warns(Hint, match=r"^t\.csv is not text in UTF-8. It is read as cp1252 .* give encoding='"):
            names, numbers = content(read())
        assert names == ["größe", "5 €"]
        np.testing.assert_array_equal(numbers, NUMBERS)


@pytest.mark.parametrize("encoding", ["utf-16-le", "shift-jis", "cp1251", "latin-1"])
def test_an_encoding_may_be_given(tmp_path, encoding):
    path = tmp_path / "t.csv"
    name = {"shift-jis": "年齢", "cp1251": "возраст"}.get(encoding, "größe")
    path.write_bytes(TEXT.replace("größe", name).encode(encoding))
    for read in readers(path, encoding):
        names, numbers = content(read())
        assert names == [name, "b"]
        np.testing.assert_array_equal(numbers, NUMBERS)


@pytest.mark.parametrize(
    ("data", "given", "sentence"),
    [
        (TEXT.encode("utf-16-le"), None, "its encoding cannot be guessed; give encoding="),
        (TEXT.encode("cp1252"), "ascii", r"t\.csv is not text in ASCII \(it has the byte f6 where .*; give encoding="),
        (TEXT.encode("utf-16")[:-1], None, r"t\.csv is not text in UTF-16 \("),
    ],
)
def test_no_error_of_a_codec(tmp_path, data, given, sentence):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    for read in readers(path, given):
        with pytest.raises(ValueError, match=sentence) as error:
            content(read())
        assert "codec" not in str(error.value)
        assert "\n" not in str(error.value)


def test_a_wrong_letter_far_below_the_head(tmp_path, monkeypatch):
    for module in ("text", "streams"):
        monkeypatch.setattr(f"laconic.data.sources.{module}.HEAD_BYTES", 300)
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"1.5,2\n" * 500 + b"\xf6,2\n")
    with pytest.raises(ValueError, match=r"^t\.csv is not text in UTF-8 .*; give encoding=") as error:
        content(open_source(path))
    assert "codec" not in str(error.value)


def test_files_with_different_marks_are_one_table(tmp_path):
    for number, encoding in enumerate(["utf-8", "utf-16", "utf-8-sig"]):
        (tmp_path / f"{number}.csv").write_bytes(TEXT.encode(encoding))
    np.testing.assert_array_equal(content(open_source(tmp_path / "*.csv"))[1], NUMBERS * 3)


@pytest.mark.parametrize("given", ["utf-9", "hex", ""])
def test_encodings_that_are_not_known(tmp_path, given):
    (tmp_path / "t.csv").write_text(TEXT, encoding="utf-8")
    for read in (read_table, open_source):
        with pytest.raises(ValueError, match=f"^encoding='{given}' is not known; examples are utf-8, "):
            read(tmp_path / "t.csv", encoding=given)
