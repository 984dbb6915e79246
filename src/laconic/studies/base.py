"""What a study is, and how its figures, tables and page are written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from laconic.core.monitor import Monitor

if TYPE_CHECKING:
    import pandas as pd

DPI = 160


@dataclass(frozen=True)
class Statement:
    """A statement of the paper beside what was found.

    Attributes
    ----------
    paper
        What the paper says, in our words.
    ours
        What was found.
    verdict
        "agrees", "differs because ...", or "better: ...".
    """

    paper: str
    ours: str
    verdict: str

    def __post_init__(self) -> None:
        if self.verdict != "agrees" and not self.verdict.startswith(("differs because ", "better: ")):
            raise ValueError(f"verdict={self.verdict!r} must be 'agrees', 'differs because ...' or 'better: ...'.")


@dataclass(frozen=True)
class Settings:
    """How a study is run.

    Attributes
    ----------
    quick
        A smaller run, for tests.
    seed
        Of everything random.
    monitor
        Shows progress and stops in time.
    """

    quick: bool = False
    seed: int = 0
    monitor: Monitor = field(default_factory=Monitor)


@dataclass(frozen=True, eq=False)
class Study:
    """The outcome of a study.

    Attributes
    ----------
    name, title, summary
        Short name, heading, and a paragraph that says what was asked and what came out.
    seed
        The seed it was run with.
    figures, captions
        Figures by file name without ending, in the order of the page, and a sentence on each.
    tables
        Tables by file name without ending.
    statements
        The paper's statements, each with its verdict.
    facts
        Numbers by name that a test can hold on to.
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
        """Write figures (PNG and SVG), tables (CSV) and a page (Markdown); return what was written.

        Parameters
        ----------
        directory
            Where; it is made if need be.
        """
        directory.mkdir(parents=True, exist_ok=True)
        written = []
        for name, figure in self.figures.items():
            for ending in ("png", "svg"):
                path = directory / f"{name}.{ending}"
                # Neither dates nor random identifiers: the same run writes the same file.
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
        """Return the page."""
        lines = [f"# {self.title}", "", self.summary, "", f"`laconic study {self.name}`, seed {self.seed}.", ""]
        lines += ["| the paper | here | |", "|---|---|---|"]
        lines += [f"| {_cell(s.paper)} | {_cell(s.ours)} | {_cell(s.verdict)} |" for s in self.statements]
        for name in self.figures:
            lines += ["", f"![{self.captions[name]}]({name}.png)", "", self.captions[name]]
        if self.tables:
            lines += ["", "Tables: " + ", ".join(f"[{name}]({name}.csv)" for name in self.tables) + "."]
        return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


Runner = Callable[[Settings], Study]
