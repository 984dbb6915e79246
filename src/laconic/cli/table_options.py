"""The options that say how a table is read. All commands that read tables have them."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from laconic.cli.common import as_options, option

if TYPE_CHECKING:
    import pandas as pd

    from laconic.cli.reading import Data

Index = Annotated[
    str | None,
    option("COLUMN", "The column with row labels. By default the first column, if it holds only text or has no name."),
]
Columns = Annotated[
    list[str] | None,
    option(
        "NAME[,NAME]",
        "The only columns to use: names, or patterns such as 'Q*'. By default all but those without any number.",
    ),
]
Drop = Annotated[list[str] | None, option("NAME[,NAME]", "Columns to leave out: names, or patterns such as '*_id'.")]
NumericOnly = Annotated[
    bool,
    typer.Option("--numeric-only", help="Leave out every column that holds anything but numbers, also if it has some."),
]
Na = Annotated[
    list[str] | None,
    option("MARK[,MARK]", "Marks of missing values, besides blanks and NA: a text such as ERR, a number such as -999."),
]
Transpose = Annotated[
    bool, typer.Option("--transpose", help="Features are in rows: the first column has their names, as genes often do.")
]
Separator = Annotated[
    str | None,
    option(
        "CHARACTER",
        "The separator of text fields: a character, tab or blank. By default guessed from the first two lines.",
    ),
]
Decimal = Annotated[
    str | None,
    option("SIGN", "The decimal sign in text. By default a point; a comma if semicolons separate fields such as 1,5."),
]
Encoding = Annotated[
    str | None,
    option(
        "NAME",
        "The encoding of text, such as cp1252. By default UTF-8, or UTF-16 if the file begins with its mark.",
    ),
]
Sheet = Annotated[str | None, option("NAME", "The sheet of a spreadsheet (.xlsx, .xls, .ods). By default the first.")]


@dataclass(frozen=True)
class TableReader:
    """How tables are read, as the options of a command say."""

    index: Index = None
    columns: Columns = None
    drop: Drop = None
    numeric_only: NumericOnly = False
    na: Na = None
    transpose: Transpose = False
    separator: Separator = None
    decimal: Decimal = None
    encoding: Encoding = None
    sheet: Sheet = None

    def read(
        self,
        files: Sequence[Path],
        *,
        blocks: bool = False,
        covariance: bool = False,
        only: Sequence[str] | None = None,
        once: bool = False,
    ) -> "Data":
        """Read a small table; open anything else, or any data if `blocks` is set. See `laconic.cli.reading.read`."""
        from laconic.cli.reading import read

        return read(files, **asdict(self), blocks=blocks, covariance=covariance, only=only, once=once)

    def read_colored(
        self, files: Sequence[Path], color_by: str | None, *, blocks: bool = False, covariance: bool = False
    ) -> "tuple[Data, pd.Series | None]":
        """Read a table and the column that colours its rows, if one is given. See `laconic.cli.reading`."""
        from laconic.cli.reading import read_colored

        return read_colored(files, color_by, **asdict(self), blocks=blocks, covariance=covariance)

    def as_options(self) -> list[str]:
        """Return the options that set this reader, for a command that is printed."""
        return as_options(**asdict(self))


def with_table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a `TableReader` in the place of its parameter `table`."""
    options = list(inspect.signature(TableReader).parameters.values())
    options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    names = [option.name for option in options]

    @wraps(command)
    def run(**given: Any) -> None:
        table = TableReader(**{name: given.pop(name) for name in names})
        command(**given, table=table)

    signature = inspect.signature(command)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        own = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        parameters += options if parameter.name == "table" else [own]
    # typer reads the options from the signature and the annotations.
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
