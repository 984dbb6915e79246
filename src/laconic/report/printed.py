"""Tables of components and paths, for a terminal or a text file."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from laconic.core.words import counted, percent
from laconic.report.sentences import in_columns, prepared, proof_of, share_of, together

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA
    from laconic.model.stability import Stability

# The width of tables if the output is not a terminal.
PIPED_WIDTH = 100
# A table of loadings shows at most this many features, to fit a screen.
MOST_ROWS = 40


def new_table(*columns: str, numbers: Sequence[str] = ()) -> Table:
    """Return an empty table in the style of all tables. Columns of `numbers` are aligned on the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for name in columns:
        right = name in numbers
        table.add_column(name, overflow="fold", justify="right" if right else "left", no_wrap=right)
    return table


def print_tables(tables: Iterable[Table | Group]) -> None:
    """Print tables to standard output: as plain text of a fixed width if it is not a terminal."""
    screen = Console(highlight=False)
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = PIPED_WIDTH
    for table in tables:
        with screen.capture() as text:
            screen.print(table)
        # rich pads each line with blanks.
        screen.file.write("\n".join(line.rstrip() for line in text.get().splitlines()) + "\n\n")


def print_components(model: "SparsePCA", *, noun: str = "column", titles: Mapping[str, str] | None = None) -> None:
    """Print a table for each component: a summary line, the loadings with `titles` if given, and the proof.

    What all components hold together comes last.
    """
    if model.choice_ is not None:
        print(f"{in_columns(model.choice_.reason)}\n")
    tables, loadings = [], model.loadings()
    for place in range(model.n_components_):
        rows = loadings[loadings["component"] == place + 1]
        verb = ("holds" if len(rows) == 1 else "hold") if not place else "adds" if len(rows) == 1 else "add"
        title = f"Component {place + 1}: {counted(len(rows), noun)} {verb} {share_of(model, place)}"
        table = new_table(noun.capitalize(), *([] if titles is None else ["Title"]), "Loading", numbers=["Loading"])
        table.columns[0].no_wrap = titles is not None
        for feature, loading in zip(rows["feature"][:MOST_ROWS], rows["loading"][:MOST_ROWS], strict=True):
            middle = [] if titles is None else [Text(titles[str(feature)])]
            table.add_row(Text(str(feature)), *middle, Text(f"{loading:+.3f}"))
        if len(rows) > MOST_ROWS:
            table.add_row(Text(f"... and {len(rows) - MOST_ROWS} more with smaller loadings"))
        proof = proof_of(model, place).replace("column", noun)
        # A title or caption of the table itself would be folded to the width of the table, which may be small.
        tables.append(Group(Text(title, style="bold"), table, *([Text(proof)] if proof else [])))
    given = next((one.recipe.given for one in model.certificates_ if one is not None), "rows")
    print_tables([*tables, Group(Text(together(model, noun)), Text(prepared(model, given == "covariance")))])


def stability_tables(found: "Stability") -> list[Group]:
    """Return a table for each component: the features by frequency, and whether all rows choose them."""
    tables, frame = [], found.to_frame()
    for number in range(1, len(found.components) + 1):
        rows = frame[frame["component"] == number]
        table = new_table("Column", "Frequency", "Chosen from all rows", numbers=["Frequency"])
        for _, feature, frequency, inside in rows[:MOST_ROWS].itertuples(index=False):
            table.add_row(Text(str(feature)), Text(percent(frequency)), "yes" if inside else "no")
        if len(rows) > MOST_ROWS:
            table.add_row(Text(f"... and {len(rows) - MOST_ROWS} more that are chosen more rarely"))
        tables.append(Group(Text(f"Component {number}: {len(found.supports)} half samples", style="bold"), table))
    return tables
