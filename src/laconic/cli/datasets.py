"""The command that lists data sets and writes them as files: datasets."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import laconic.cli.common as common

if TYPE_CHECKING:
    import pandas as pd


class DataSet(NamedTuple):
    """A data set of `laconic.datasets`: what it is, its folder in LACONIC_DATA if it does not ship, and its table."""

    words: str
    folder: str | None
    table: "Callable[[], pd.DataFrame]"
    covariance: bool = False


def _senate() -> "pd.DataFrame":
    from laconic.datasets import load_senate109

    senate = load_senate109()
    return senate.to_frame().assign(party=list(senate.parties), state=list(senate.states))


def _matrix(name: str) -> "Callable[[], pd.DataFrame]":
    def load() -> "pd.DataFrame":
        import pandas as pd

        from laconic.datasets import load_benchmark, load_pitprops

        found = load_pitprops() if name == "pitprops" else load_benchmark(name)
        names = pd.Index(found.feature_names, name="variable")
        return pd.DataFrame(found.covariance, index=names, columns=list(found.feature_names))

    return load


def _counts(loader: str) -> "Callable[[], pd.DataFrame]":
    """Return a loader of a long table: a line for each count that is not zero."""

    def load() -> "pd.DataFrame":
        import pandas as pd

        import laconic.datasets

        found: Any = getattr(laconic.datasets, loader)()
        counts = found.data.tocoo()
        words = pd.Categorical.from_codes(counts.col, categories=pd.Index(list(found.feature_names)))
        table = pd.DataFrame({"row": counts.row.astype("int64"), "column": words, "value": counts.data})
        return table.sort_values("row", kind="stable", ignore_index=True)

    return load


def _colon() -> "pd.DataFrame":
    import pandas as pd

    from laconic.datasets import load_colon

    colon = load_colon()
    table = pd.DataFrame(colon.data, columns=list(colon.feature_names))
    return table.assign(tissue=["tumor" if tumor else "normal" for tumor in colon.is_tumor])


def _stocks() -> "pd.DataFrame":
    from laconic.datasets import load_stocks

    return load_stocks().log_returns().rename_axis("day")


SETS = {
    "senate": DataSet("votes of 101 US senators on 48 bills, with party and state", None, _senate),
    "pitprops": DataSet("correlations of 13 measurements of pit props", None, _matrix("pitprops"), True),
    "wine": DataSet("correlations of 13 measurements of wines", "benchmarks", _matrix("wine"), True),
    "wdbc": DataSet("covariances of 30 measurements of cell nuclei", "benchmarks", _matrix("wdbc"), True),
    "ionosphere": DataSet("correlations of 34 radar measurements", "benchmarks", _matrix("ionosphere"), True),
    "miniBoone": DataSet("correlations of 50 measurements of particles", "benchmarks", _matrix("miniBoone"), True),
    "lung": DataSet("correlations of 54 measurements of lung cancers", "benchmarks", _matrix("lung"), True),
    "geography": DataSet("correlations of 68 features of music", "benchmarks", _matrix("geography"), True),
    "Eisen1": DataSet("covariances of 79 gene expressions", "benchmarks", _matrix("Eisen1"), True),
    "communities": DataSet("correlations of 101 figures of communities", "benchmarks", _matrix("communities"), True),
    "lymphoma500": DataSet("covariances of 500 gene expressions", "benchmarks", _matrix("lymphoma500"), True),
    "colon": DataSet("expression of 2,000 genes in 62 tissues", "gene_expression", _colon),
    "stocks": DataSet("1,258 daily log returns of 470 stocks", "sp500_2005_2010", _stocks),
    "news100": DataSet("occurrence of 100 words in 16,242 postings", "20news_w100", _counts("load_news100")),
    "newsgroups": DataSet("counts of 93,864 words in 18,821 postings", "20newsgroups", _counts("load_newsgroups")),
    "reuters": DataSet("counts of 41,947 words in 5,000 articles", "reutersC50", _counts("load_reuters_c50")),
    "kos": DataSet("counts of 6,906 words in 3,430 blog entries", "kos", _counts("load_kos")),
    "marrow4k": DataSet("counts of 16,106 genes in 4,142 cells", "marrow4k", _counts("load_marrow4k")),
}


@common.app.command(short_help="List data sets, or write one as a file.")
@common.one_line_messages()
def datasets(
    name: Annotated[
        str | None,
        typer.Argument(
            help="The data set to write; without it all are listed.",
            metavar="NAME",
            autocompletion=common.completed(SETS),
        ),
    ] = None,
    out: Annotated[
        Path | None,
        common.option("FILE", "The file to write: .csv, or .parquet. By default NAME.csv, or NAME.parquet for counts."),
    ] = None,
) -> None:
    """List the data that come with the package and those in the folder LACONIC_DATA, or write one as a file."""
    if name is None:
        if out is not None:
            raise ValueError(f"--out {out} needs the name of a data set; run laconic datasets for a list.")
        _list()
        return
    chosen = SETS[common.one_of(list(SETS), name, "The data set")]
    # A line for each count is a large file of text.
    long = chosen.folder is not None and chosen.words.startswith(("counts", "occurrence"))
    place = Path(f"{name}.{'parquet' if long else 'csv'}") if out is None else out
    if place.suffix not in (".csv", ".parquet"):
        raise ValueError(f"--out {place} must end in .csv or .parquet.")
    common.made_directory(place.parent)
    table = chosen.table()
    labelled = (not long and table.index.name is not None) or name == "senate"
    if place.suffix == ".csv":
        table.to_csv(place, index=labelled)
    else:
        (table.reset_index() if labelled else table).to_parquet(place, index=False)
    common.say_written([place])
    option = " --covariance" if chosen.covariance else ""
    typer.echo(f"Next: laconic fit {place}{option} -k 5")


def _list() -> None:
    import os

    from rich.text import Text

    from laconic.report.tables import new_table, print_tables

    table = new_table()
    for column in ("Name", "What", "Where"):
        table.add_column(column, overflow="fold", no_wrap=column != "What")
    folder = os.environ.get("LACONIC_DATA", "")
    for name, data in SETS.items():
        there = data.folder is not None and folder != "" and (Path(folder).expanduser() / data.folder).is_dir()
        where = "in the package" if data.folder is None else "in LACONIC_DATA" if there else "not here"
        table.add_row(Text(name), Text(data.words), Text(where))
    print_tables([table])
    typer.echo("laconic datasets NAME writes one. Those that are not in the package are looked for in the folder that")
    typer.echo("the variable LACONIC_DATA names.")
