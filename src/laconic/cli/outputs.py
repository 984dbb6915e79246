"""The files that a fit leaves in the folder of --out."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from laconic.model.estimator import SparsePCA

# Names of the files that hold certificates, and of all files of a fit that not every fit writes.
CERTIFICATES = r"(component-[1-9]\d*|components)\.(json|npz)"
RESULTS = rf"scores\.(csv|parquet)|model\.laconic|plane\.png|loadings\.png|{CERTIFICATES}"


def check_apart(files: Sequence[Path], directory: Path) -> None:
    """Raise a ValueError if a result would be written over the data or among them."""
    for file in files:
        place = file.resolve()
        mixed = place == directory.resolve()
        if mixed or (place.parent == directory.resolve() and re.fullmatch(rf"loadings\.csv|{RESULTS}", file.name)):
            raise ValueError(f"--out {directory} would write results over {file}; give another folder.")


def certificate_files(directory: Path, model: "SparsePCA") -> dict[Path, Any]:
    """Return the certificates of a model: one for each component that has one, and one for all together."""
    files: dict[Path, Any] = {
        directory / f"component-{number}.json": certificate
        for number, certificate in enumerate(model.certificates_, start=1)
        if certificate is not None
    }
    if model.joint_certificate_ is not None:
        files[directory / "components.json"] = model.joint_certificate_
    return files


def fit_files(
    directory: Path, model: "SparsePCA", rows: "pd.DataFrame | None" = None, place: Path | None = None
) -> dict[Path, Any]:
    """Return the tables, certificates and pictures of a fit, with the scores of rows in `place` if they are given."""
    from matplotlib.figure import Figure

    from laconic.model.comparison import compare_with_dense
    from laconic.report.pictures.loadings import plot_loadings
    from laconic.report.pictures.planes import plot_planes
    from laconic.report.tables import scores_table

    files = {directory / "loadings.csv": model.loadings(), **certificate_files(directory, model)}
    files[directory / "model.laconic"] = model
    if rows is not None and place is not None:
        scores = files[place] = scores_table(model, rows)
    if rows is not None and model.n_components_ > 1:
        comparison = compare_with_dense(model, rows, scores)
        labels = [str(name) for name in rows.index]
        files[directory / "plane.png"] = plot_planes(model, comparison, labels=labels, ax=Figure()).figure_
    else:
        files[directory / "loadings.png"] = plot_loadings(model, ax=Figure()).figure_
    return files
