"""Names from data as text in a picture: wrapped and never cut, no formulas, in fonts that have their characters."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any

from matplotlib import rcParams
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

# A name may be broken after these characters, before a capital letter inside a word, and before a backslash.
BREAKS = re.compile(r"(?<=[\s_\-./:;,|+=&])(?=\S)|(?<=[a-z0-9])(?=[A-Z])|(?<=\S)(?=\\)")
# Only the beginning of a name longer than this is drawn. It would fill a page.
MOST_CHARACTERS = 1000
# The share of a line that must be filled before a name is broken inside a word.
FILLED = 0.6
# A font that has every character, but as a box that tells only the kind of script.
NO_FONT = "Last Resort"


def wrapped(name: Any, width: int) -> str:
    """Return a name on lines of at most `width` characters. All its characters are kept, except blanks at breaks.

    Lines end after blanks, underscores and other marks, or before a capital letter. If there is none, they end
    anywhere. A character of a wide script counts twice. A character that no font has is written as its number.
    """
    text = " ".join(str(name).split())
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]} (and {len(text) - MOST_CHARACTERS} characters more)"
    lines, line = [], ""
    for part in BREAKS.split(_with_known_characters(text)):
        while _width(line + part.rstrip()) > width:
            if line and (_width(part) <= width or _width(line) >= FILLED * width):
                lines.append(line.rstrip())
                line = ""
                continue
            end = 1
            while _width(line + part[: end + 1]) <= width:
                end += 1
            lines.append(line + part[:end])
            line, part = "", part[end:]
        line += part
    return "\n".join([*lines, line.rstrip()]).rstrip("\n")


def listed(names: Iterable[str], width: int, total: int) -> str:
    """Return names with commas between them, on lines of at most `width`, and the number of others of `total`."""
    lines, line = [], ""
    shown = list(names)
    words = [f"{name}," for name in shown[:-1]] + shown[-1:]
    if len(shown) < total:
        words = [f"{name}," for name in shown] + [f"and {total - len(shown)} more"]
    for word in words:
        if line and _width(f"{line} {word}") > width:
            lines.append(line)
            line = ""
        *whole, line = wrapped(f"{line} {word}".strip() if line else word, width).split("\n")
        lines += whole
    return "\n".join([*lines, line])


def text_style(texts: Iterable[str] = ()) -> dict[str, Any]:
    """Return the settings of texts from data: no formulas, and fonts that have all characters of the texts."""
    families = list(rcParams["font.family"])
    missing = {c for text in texts for c in text if not _is_drawn(c)}
    for character in sorted(missing):
        family = _family_with(character)
        if family is not None and family not in families:
            families.append(family)
    return {"parse_math": False, "usetex": False, "fontfamily": families}


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def _with_known_characters(text: str) -> str:
    """Write characters that no font has, and those that control a terminal, as their numbers."""
    return "".join(c if _is_drawn(c) or _family_with(c) else c.encode("unicode_escape").decode() for c in text)


def _is_drawn(character: str) -> bool:
    """Say whether the usual font has a character, and it is one that can be seen."""
    return character.isprintable() and (character.isascii() or _has(findfont(FontProperties()), character))


@cache
def _family_with(character: str) -> str | None:
    """Return the name of an installed font that has a character, or None."""
    if not character.isprintable():
        return None
    for font in fontManager.ttflist:
        if font.style == "normal" and not font.name.startswith(NO_FONT) and _has(font.fname, character):
            return font.name
    return None


@cache
def _has(path: str, character: str) -> bool:
    try:
        return bool(get_font(path).get_char_index(ord(character)))
    except (OSError, RuntimeError):  # a font file that was removed, or that FreeType cannot read
        return False
