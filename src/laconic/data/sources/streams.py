"""Files that are read as streams: bytes in pieces of whole lines, and clear words about files that cannot be read."""

import io
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from laconic.data.compression import BROKEN, decompressed
from laconic.data.encodings import Encoding, Recoded, encoding_by_mark, find_encoding

# The first bytes of a file, from which its encoding is found.
HEAD_BYTES = 1_000_000
QUOTE = b'"'
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Lines(NamedTuple):
    """Some whole lines of a file."""

    data: bytes
    first_line: int  # the number of the first line, from 1
    share: float  # how much of the file has been read after them, by the bytes on disk


def name_of(files: Sequence[Path]) -> str:
    """Return the name of a file, or "12 files in counts"."""
    if len(files) == 1:
        return files[0].name
    return f"{len(files)} files in {files[0].resolve().parent.name}"


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Turn the errors of a file that cannot be read into one sentence."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {file}.") from None
    except PermissionError:
        raise PermissionError(f"{file} cannot be opened; ask for the permission to read it.") from None
    except (pa.ArrowException, zipfile.BadZipFile, *BROKEN) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(f"{file.name} is damaged or incomplete ({reason}); copy or make it again.") from None


def encoding_of_head(file: Path, given: str | None) -> Encoding:
    """Return the encoding of a text file: the given one, or what its first bytes tell."""
    if given is not None:
        return Encoding(given)
    with reading(file), file.open("rb") as raw, decompressed(raw, file) as content:
        head = _read(content, HEAD_BYTES)
    return find_encoding(io.BytesIO(head), file.name, whole=len(head) < HEAD_BYTES)


def mark_of(file: Path) -> str | None:
    """Return the encoding that the mark at the start of a text file says, if there is one."""
    with reading(file), file.open("rb") as raw, decompressed(raw, file) as content:
        return encoding_by_mark(_read(content, 4))


def pieces_of_lines(file: Path, size: int, encoding: str = "utf-8") -> Iterator[Lines]:
    """Yield a text file in pieces of about `size` bytes, each at least one line, always divided in the same way.

    Pieces of nothing but blanks are left out. The pieces are in UTF-8, whatever the encoding of the file is.
    """
    with reading(file), file.open("rb") as raw, decompressed(raw, file) as stream:
        content = stream if Encoding(encoding).is_utf_8 else Recoded(stream, encoding, file.name)
        total = max(file.stat().st_size, 1)
        rest, line = b"", 1
        while True:
            data = rest + _read(content, size)
            is_last = len(data) < len(rest) + size
            if line == 1:
                data = data.removeprefix(BYTE_ORDER_MARK)
            end = len(data) if is_last else _end_of_lines(data)
            if not is_last and len(data) > 2 * size and end == 0 and b"\n" in data:
                end = data.rindex(b"\n") + 1  # a sign of quotation that is never closed
            rest = data[end:]
            data = data[:end]
            if data and not data.isspace():
                yield Lines(data, line, min(raw.tell() / total, 1.0))
            line += data.count(b"\n")
            if is_last:
                return


def _read(content: Any, size: int) -> bytes:
    """Read this many bytes. Some streams return fewer at a time."""
    found: list[bytes] = []
    missing = size
    while missing and (data := content.read(missing)):
        found.append(data)
        missing -= len(data)
    return b"".join(found)


def _end_of_lines(data: bytes) -> int:
    """Return where the last line ends that is not inside a quoted text; 0 if there is none."""
    end = data.rfind(b"\n") + 1
    if data.count(QUOTE, 0, end) % 2:
        # The last sign of quotation opens a text that goes on; cut before the line that it stands in.
        end = data.rfind(b"\n", 0, data.rfind(QUOTE, 0, end)) + 1
    return end
