"""The parts of a study, and how its figures, tables and page are written."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from laconic.core.monitor import Monitor

if TYPE_CHECKING:
    import pandas as pd

# Resolution of the PNG files, in dots per inch: sharp on a page, with at most 0.2 MB for each figure of the studies.
DPI = 160


@dataclass(frozen=True)
class Statement:
    """A statement of the paper and our result.

    Attributes
    ----------
    paper
        The paper's statement, in our words.
    ours
        Our result.
    verdict
        The comparison: "agrees", "differs because ..." or "better: ...".
    """

    paper: str
    ours: str
    verdict: str

    def __post_init__(self) -> None:
        if self.verdict != "agrees" and not self.verdict.startswith(("differs because ", "better: ")):
            raise ValueError(f"verdict={self.verdict!r} must be 'agrees', 'differs because ...' or 'better: ...'.")


@dataclass(frozen=True)
class Settings:
    """Settings of a run of a study.

    Attributes
    ----------
    quick
        Whether to do a smaller run, for tests.
    seed
        Seed of all random numbers.
    monitor
        Shows progress and stops at the time limit.
    """

    quick: bool = False
    seed: int = 0
    monitor: Monitor = field(default_factory=Monitor)


@dataclass(frozen=True, eq=False)
class Study:
    """The result of a study.

    Attributes
    ----------
    name, title, summary
        Short name, heading, and a paragraph with the question and the answer.
    seed
        The seed of the run.
    figures, captions
        Figures and their captions, by file name without ending, in the order of the page.
    tables
        Tables, by file name without ending.
    statements
        The paper's statements, each with our result and a verdict.
    facts
        Results by name, for tests.
    """

    name: str
    title: str
    summary: str
    seed: int
    figures: Mapping[str, Figure]
    captions: Mapping[str, str]
    tables: Mapping[str, "pd.DataFrame"]
    statements: tuple[Statement, ...]
    facts: Mapping[str, object]

    def write(self, directory: Path) -> list[Path]:
        """Write figures (PNG and SVG), tables (CSV) and a page (Markdown); return the paths of these files.

        Parameters
        ----------
        directory
            The folder to write to. It is made if it does not exist.
        """
        directory.mkdir(parents=True, exist_ok=True)
        written = []
        for name, figure in self.figures.items():
            for ending in ("png", "svg"):
                path = directory / f"{name}.{ending}"
                # No date in the file, so that the same run writes the same file.
                metadata = {"Date": None} if ending == "svg" else {}
                figure.savefig(path, dpi=DPI, metadata=metadata)
                written.append(path)
        for name, table in self.tables.items():
            path = directory / f"{name}.csv"
            table.to_csv(path, index=False, float_format="%.6g")
            written.append(path)
        page = directory / "README.md"
        page.write_text(self.page(), encoding="utf-8")
        return [*written, page]

    def page(self) -> str:
        """Return the page as Markdown: summary, statements, figures with captions, and links to the tables."""
        lines = [f"# {self.title}", "", self.summary, "", f"`laconic study {self.name}`, seed {self.seed}.", ""]
        lines += ["| the paper | here | |", "|---|---|---|"]
        lines += [f"| {_cell(s.paper)} | {_cell(s.ours)} | {_cell(s.verdict)} |" for s in self.statements]
        for name in self.figures:
            lines += ["", f"![{self.captions[name]}]({name}.png)", "", self.captions[name]]
        if self.tables:
            lines += ["", "Tables: " + ", ".join(f"[{name}]({name}.csv)" for name in self.tables) + "."]
        return "\n".join(lines) + "\n"


def share_reached(gap: float) -> str:
    """Return the share of the best possible variance that a relative gap proves, in percent and rounded down.

    Parameters
    ----------
    gap
        (upper bound - variance found) / variance found.
    """
    return f"{math.floor(1000 / (1 + gap)) / 10:.1f} %"


def _cell(text: str) -> str:
    """Return a text that fits in one cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())


Runner = Callable[[Settings], Study]
