"""The documents as tests read them: code, command lines, headings, links, and the tables that commands need."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from laconic import SparsePCA
from laconic.datasets import load_pitprops, load_senate109

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# Languages of fenced blocks whose lines may be commands. Output of commands stands in them, too.
SHELL = ("", "console", "sh", "bash", "shell")


class Block(NamedTuple):
    """A block of code: its language, "" if none is named, its text, and the line of the document that it begins on."""

    language: str
    text: str
    line: int


def name_of(page):
    """Return the path of a document from the root of the project."""
    return page.relative_to(ROOT).as_posix()


def blocks_of(text):
    """Return the fenced and indented blocks of a document, in order."""
    blocks, lines, i = [], text.split("\n"), 0
    while i < len(lines):
        fence = re.match(r"(`{3,}|:{3,})(.*)$", lines[i])
        start = i + 1
        if fence:
            end = next((j for j in range(start, len(lines)) if lines[j].startswith(fence[1])), len(lines))
            blocks.append(Block(fence[2].strip(), "\n".join(lines[start:end]), start + 1))
            i = end + 1
        elif lines[i].startswith("    ") and (i == 0 or not lines[i - 1].strip()):
            end = next((j for j in range(start, len(lines)) if lines[j].strip() and lines[j][:4].strip()), len(lines))
            blocks.append(Block("", "\n".join(line[4:] for line in lines[i:end]), start))
            i = end
        else:
            i += 1
    return blocks


def commands_of(block):
    """Return the `laconic` command lines of a block, as lists of words, without comments and without output."""
    if block.language not in SHELL:
        return []
    lines = re.sub(r"\\\n\s*", " ", block.text).split("\n")
    found = [re.match(r"(?:\$ )?((?:\S*/)?laconic [a-z-].*)", line) for line in lines]
    return [words for match in found if match for words in [_words(match[1])] if words]


def _words(line):
    """Return the words of a command after its name; empty if it cannot be a command, such as a sentence."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return []
    for stop in ("|", ">", "&&", ";"):
        words = words[: words.index(stop)] if stop in words else words
    return words[1:]


def inline_commands_of(text):
    """Return the `laconic` command lines inside of sentences, as lists of words."""
    found = re.findall(r"`laconic ([a-z][^`]*)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
    return [shlex.split(line) for line in found]


def headings_of(text):
    """Return the anchors that code hosts give to headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), flags=re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def links_of(text):
    """Return the targets of links and images: (file, anchor), without those on the web."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    targets = re.findall(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)", re.sub(r"`[^`\n]*`", "", prose))
    return [tuple(f"{target}#".split("#")[:2]) for target in targets if "://" not in target and "mailto:" not in target]


def write_tables(folder):
    """Write the tables, the certificate and the model that commands in the documents name."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame(rng.standard_normal((80, 24)), columns=[f"x{j}" for j in range(1, 25)])
    people[["age", "weight", "height"]] = people[["x1", "x2", "x3"]] + 1.5 * rng.standard_normal((80, 1))
    people.assign(species=["a", "b"] * 40).to_csv(folder / "data.csv", index=False)
    people.assign(sex="f", date="2024-01-31").to_parquet(folder / "data.parquet")
    people.tail(10).to_csv(folder / "new.csv", index=False)
    survey = pd.DataFrame(rng.integers(1, 6, (60, 8)), columns=[f"Q{j}" for j in range(1, 9)])
    survey.to_csv(folder / "survey.csv", index=False)
    survey.to_excel(folder / "survey.xlsx", sheet_name="answers", index=False)
    for name in ("wines", "table", "patients", "healthy", "counts-1", "counts-2"):
        numbers = pd.DataFrame(rng.standard_normal((60, 13)), columns=[f"m{j}" for j in range(1, 14)])
        numbers.to_csv(folder / f"{name}.csv", index=False)
        numbers.to_parquet(folder / f"{name}.parquet")
    votes = load_senate109().frame
    (folder / "demo").mkdir()
    votes.to_csv(folder / "demo" / "votes.csv")  # as `laconic demo` leaves it
    votes.to_csv(folder / "votes.csv")
    SparsePCA(cardinality=5).fit(votes).certificates_[0].save(folder / "component-1.json")
    SparsePCA(cardinality=[5, 3]).fit(people).save(folder / "m.laconic")
    pitprops = load_pitprops()
    correlations = pd.DataFrame(pitprops.covariance, pitprops.feature_names, pitprops.feature_names)
    correlations.to_csv(folder / "correlations.csv")
