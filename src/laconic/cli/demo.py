"""The command that shows what the package does: demo."""

from pathlib import Path
from typing import Annotated, Any

import typer

import laconic.cli.common as common
import laconic.cli.outputs as outputs
import laconic.cli.pages as pages

PARTIES = {"D": "Democrat", "I": "Independent", "R": "Republican"}


@common.app.command(short_help="Find the seven bills that divide the 109th US Senate.")
@common.one_line_messages()
def demo(
    out: Annotated[
        Path, common.option("DIR", "The folder for the page, the picture, the tables and the certificates.")
    ] = Path("laconic-demo"),
) -> None:
    """Find the seven bills that divide the 109th US Senate, and prove that they are the best."""
    from matplotlib.figure import Figure

    from laconic.datasets import load_senate109
    from laconic.model.comparison import compare_with_dense
    from laconic.model.estimator import SparsePCA
    from laconic.report.pictures.planes import plot_planes
    from laconic.report.tables import print_components

    directory = common.made_directory(out)
    senate = load_senate109()
    votes = senate.frame
    typer.echo(f"{len(votes)} senators voted on {votes.shape[1]} bills: yea is 1, nay is -1, anything else is 0.\n")
    model = SparsePCA(n_components=2, cardinality=[5, 2], proof="tight", progress=True).fit(votes)
    comparison = compare_with_dense(model, votes)
    # The record begins each title with the bill's own number.
    titles = {
        bill: title.partition("; ")[2] or title for bill, title in zip(senate.feature_names, senate.titles, strict=True)
    }
    print_components(
        model, model.verdicts_, noun="bill", titles=titles, joint_verdict=common.in_options(model.joint_verdict_)
    )
    surnames = [senator.partition(" (")[0] for senator in senate.senators]
    names = [
        surname if surnames.count(surname) == 1 else f"{surname} ({state})"
        for surname, state in zip(surnames, senate.states, strict=True)
    ]
    parties = [PARTIES[party] for party in senate.parties]
    figure = plot_planes(
        model,
        comparison,
        noun="bill",
        row_noun="senator",
        groups=parties,
        labels=names,
        ax=Figure(),
    ).figure_
    loadings = model.loadings()
    loadings.insert(2, "title", loadings["feature"].map(titles))
    files: dict[Path, Any] = {directory / "senate.png": figure, directory / "loadings.csv": loadings}
    files |= {directory / "votes.csv": votes, directory / "model.laconic": model}
    files |= outputs.certificate_files(directory, model)
    outputs.remove_earlier(outputs.write_files(files), outputs.CERTIFICATES)
    page = directory / "senate.html"
    title = "Seven bills divide the 109th US Senate"
    pages.write_page(model, votes, page, [], title=title, color_by=parties, labels=names, descriptions=titles)
    typer.echo(f"Open this page in a browser: {page}")
    typer.echo(f"Check a proof: laconic verify {directory / 'component-1.json'} {directory / 'votes.csv'}")
