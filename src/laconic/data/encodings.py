"""Encodings of text files: told by the first bytes, given by the user, or guessed with a notice."""

import codecs
import io
from typing import Any, BinaryIO, NamedTuple

UTF_8 = "utf-8"
# What old programs on Windows write in Western Europe and America. Digits and separators are those of UTF-8.
GUESS = "cp1252"
# The marks that a file may begin with. The marks of UTF-32 begin as those of UTF-16 do, so they come first.
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
PIECE_BYTES = 1_000_000


class Encoding(NamedTuple):
    """The encoding of a text, and a sentence for the user if it is a guess."""

    name: str
    note: str = ""

    @property
    def is_utf_8(self) -> bool:
        """Whether the bytes are UTF-8 as they are, perhaps with a mark at the start."""
        return codecs.lookup(self.name).name in ("utf-8", "utf-8-sig")


def check_encoding(given: str | None) -> None:
    """Raise a ValueError if the encoding that a user gives is not known."""
    if given is None:
        return
    try:
        # Some codecs, such as "hex", turn bytes into bytes. They are no encodings of text.
        " ".encode(given)
    except (LookupError, ValueError):
        raise ValueError(
            f"encoding={given!r} is not known; examples are utf-8, utf-16, cp1252 (Windows), latin-1 and shift-jis."
        ) from None


def encoding_by_mark(head: bytes) -> str | None:
    """Return the encoding that the first bytes of a text say, or None if there is no mark."""
    return next((name for mark, name in MARKS.items() if head.startswith(mark)), None)


def find_encoding(content: BinaryIO, name: str, given: str | None = None, *, whole: bool = True) -> Encoding:
    """Return the encoding of a text: the given one, that of its mark, UTF-8 if it is, or a guess.

    A ValueError says that the text has another encoding than the given one, or that no guess is possible. If the text
    is not the `whole` file, its last character may be cut.
    """
    content.seek(0)
    known = given or encoding_by_mark(content.read(4))
    if known is not None:
        problem = _problem(content, known, whole)
        if problem:
            raise ValueError(not_in(name, known, problem))
        return Encoding(known)
    if not _problem(content, UTF_8, whole):
        return Encoding(UTF_8)
    if _problem(content, GUESS, whole):
        raise ValueError(
            f"{name} is not text in UTF-8, and its encoding cannot be guessed; give encoding='utf-16-le' or another."
        )
    return Encoding(
        GUESS,
        f"{name} is not text in UTF-8. It is read as {GUESS} (Windows, Western Europe), which is a guess; if letters "
        "look wrong, give encoding='cp1250' or another.",
    )


def not_in(name: str, encoding: str, problem: str) -> str:
    """Return a sentence about a text that does not have the encoding that it should have."""
    return (
        f"{name} is not text in {encoding.removesuffix('-sig').upper()} ({problem}); give encoding='cp1252' or another."
    )


def problem_of(error: UnicodeDecodeError) -> str:
    """Return what is wrong with a text, without the words of programmers."""
    return f"it has the byte {error.object[error.start : error.start + 1].hex()} where this encoding has none"


def _problem(content: BinaryIO, encoding: str, whole: bool) -> str:
    """Return what is wrong with a text if it has this encoding, or an empty text."""
    content.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        while data := content.read(PIECE_BYTES):
            if "\0" in decoder.decode(data):
                return "it has zero bytes, which text has not"
        decoder.decode(b"", final=whole)
    except UnicodeDecodeError as error:
        return problem_of(error)
    finally:
        content.seek(0)
    return ""


def in_utf_8(content: BinaryIO, encoding: Encoding) -> BinaryIO:
    """Return a whole text in UTF-8; the same stream if it is."""
    if encoding.is_utf_8:
        return content
    return io.BytesIO(content.read().decode(encoding.name).encode(UTF_8))


class Recoded:
    """A stream of bytes in another encoding, read from start to end as UTF-8."""

    def __init__(self, content: Any, encoding: str, name: str) -> None:
        self._content, self._encoding, self._name = content, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = b""

    def read(self, size: int) -> bytes:
        """Return this many bytes of UTF-8, or fewer at the end."""
        while len(self._ready) < size:
            data = self._content.read(size)
            try:
                self._ready += self._decoder.decode(data, final=not data).encode(UTF_8)
            except UnicodeDecodeError as error:
                raise ValueError(not_in(self._name, self._encoding, problem_of(error))) from None
            if not data:
                break
        found, self._ready = self._ready[:size], self._ready[size:]
        return found
