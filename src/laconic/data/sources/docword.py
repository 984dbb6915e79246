"""The bags of words of the UCI repository: docword.NAME.txt, and vocab.NAME.txt beside it with the words.

The first three lines have the number of documents, of words and of entries. Each other line has a document, a word and
a count; documents and words are counted from 1, and lines are sorted by document.
"""

from pathlib import Path

from laconic.data.compression import DECOMPRESSORS
from laconic.data.names import check_unique
from laconic.data.sources.entry_lines import PIECE_BYTES, LineSource, head_lines
from laconic.data.sources.streams import pieces_of_lines
from laconic.data.sources.triples import BLOCK_ENTRIES

HEADER = ("documents", "words", "entries")


class DocwordSource(LineSource):
    """A bag of words: a row for each document, a column for each word."""

    header_lines = len(HEADER)

    def __init__(self, file: Path, block_entries: int = BLOCK_ENTRIES, piece_bytes: int = PIECE_BYTES) -> None:
        super().__init__(file, block_entries, piece_bytes)
        lines = head_lines(file)
        for number, what in enumerate(HEADER):
            if len(lines) <= number or not lines[number].strip().isdigit():
                raise ValueError(f"{self.name} must have the number of {what} in line {number + 1}; correct the line.")
        self.n_rows, self.n_features, self.n_entries = (int(line) for line in lines[: len(HEADER)])
        self.feature_names = self._words()

    def _words(self) -> list[str] | None:
        """Return the lines of the vocabulary, if there is one."""
        stem = self._file.name.partition("docword.")[2]
        for ending in DECOMPRESSORS:
            stem = stem.removesuffix(ending)
        places = [self._file.with_name(f"vocab.{stem}{ending}") for ending in ("", *DECOMPRESSORS)]
        place = next((place for place in places if place.is_file()), None)
        if place is None:
            return None
        text = b"".join(lines.data for lines in pieces_of_lines(place, PIECE_BYTES)).decode()
        words = [word.removesuffix("\r") for word in text.removesuffix("\n").split("\n")]
        if len(words) != self.n_features:
            raise ValueError(
                f"{place.name} has {len(words)} words, and line 2 of {self.name} says {self.n_features}; give the two "
                "files that belong together."
            )
        check_unique(words, name=f"{place.name} has the word")
        return words
