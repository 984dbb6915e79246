"""Scores of rows, rows rebuilt from scores, and the share of variance that components hold.

Rows with missing values: least squares on what is there. Let y be a centred and scaled row, Z the components, one in
each row, and B an orthonormal basis of their span. The row is completed in the span: t minimises |y - Bt| over the
entries that are there, the missing entries become those of Bt, and the scores are Z times the completed row. A row
without missing values keeps its scores.

With G = B'B over the entries that are there, and y zero elsewhere, G t = B'y, and the scores are Zy + ZB (I - G) t.
A direction v with Gv = 0 is not seen by these entries. The score of a component that has a part in such a direction is
not determined: it is NaN. The scores of the other components do not depend on the choice of t.
"""

import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain, count, islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from laconic.core.arrays import Floats, Indices, Mask
from laconic.core.eigenvalues import eigh
from laconic.core.monitor import Monitor, warn
from laconic.data.passes import Moments, dense_parts
from laconic.data.rows import Source, columns_by_name, open_source
from laconic.data.tables import MISSING_OPTIONS, as_array_or_frame, check_finite, column_names, without_duplicates

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# What scikit-learn checks of rows. Values that are missing or infinite are counted here, and not there.
CHECKS: dict[str, Any] = {
    "accept_sparse": ("csr", "csc"),
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
}
# Directions with a singular value below this share of the largest are rounding: they are dependent on the others.
DEPENDENT = 1e-10
# A direction is not seen if the entries that are there hold at most this share of its squared length.
UNSEEN = 1e-8
# A component has a part in a direction if the inner product of the two unit vectors exceeds this.
PART = 1e-6


def scores(model: "SparsePCA", table: Any) -> pd.DataFrame:
    """Return the scores of a table that has the columns that the components use, in any order.

    Columns are found by name. All others may be absent or hold anything. `SparsePCA.transform` needs the same columns
    in the same order as the fit instead, as every estimator of scikit-learn. Without names, so does this function.

    Parameters
    ----------
    model : SparsePCA
        A fitted model.
    table : table, array or sparse matrix, or data that are read in blocks
        New rows, of any kind that `SparsePCA.fit` takes.

    Returns
    -------
    DataFrame
        A column for each component, component_1 and so on, and the labels of the rows.

    See Also
    --------
    SparsePCA.transform : The scores as scikit-learn has them.

    Examples
    --------
    >>> from laconic import SparsePCA, scores
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> model = SparsePCA(cardinality=2).fit(votes)
    >>> scores(model, votes[["S. 1307", "H.R. 3045"]]).shape
    (101, 1)
    """
    return pd.concat(list(_frames(model, *_opened(model, table), Monitor())))


def write_scores(
    model: "SparsePCA", table: Any, out: str | PathLike[str] | TextIO, monitor: Monitor | None = None
) -> None:
    """Write the scores of a table to a CSV file, or to a text stream, block by block.

    Neither the rows nor their scores are held in memory as a whole. A file appears when it is complete.
    """
    rows, index = _opened(model, table)
    frames = _frames(model, rows, index, monitor or Monitor())
    if not isinstance(out, str | PathLike):
        _print(frames, out)
        return
    path = Path(out)
    if path.resolve() in [Path(file).resolve() for file in getattr(rows, "files", ())]:
        raise ValueError(f"{path.name} holds the rows; give another file for the scores.")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        whole = Path(folder) / path.name
        with whole.open("w", encoding="utf-8", newline="") as text:
            _print(frames, text)
        whole.replace(path)


def _print(frames: Iterator[pd.DataFrame], text: TextIO) -> None:
    for number, frame in enumerate(frames):
        frame.to_csv(text, header=number == 0, lineterminator="\n")


def _opened(model: "SparsePCA", table: Any) -> tuple[Any, Any]:
    """Return the columns that the components use, as rows in memory or as a source, and the row labels of a table.

    Rows without names must have the columns of the fit.
    """
    check_is_fitted(model)
    used, names = used_features(model), getattr(model, "feature_names_in_", None)
    if names is not None:
        table = columns_by_name(table, [str(name) for name in names[used]], "the components use")
    source = open_source(table)
    own = column_names(table) if source is None else source.feature_names
    rows: Any = check_array(as_array_or_frame(table), input_name="X", **CHECKS) if source is None else source
    if names is None or own is None:
        width, name = (rows.shape[1], "X") if source is None else (source.n_features, source.name)
        check_width(width, model.n_features_in_, name)
    return rows, getattr(table, "index", None) if source is None and hasattr(table, "iloc") else None


def _frames(model: "SparsePCA", rows: Any, index: Any, monitor: Monitor) -> Iterator[pd.DataFrame]:
    """Yield the scores of rows as frames, block by block, with the labels of the rows or their numbers from 0 on."""
    columns = [f"component_{number}" for number in range(1, model.n_components_ + 1)]
    source = rows if isinstance(rows, Source) else None
    parts, label_name = (None, "row") if source is None else (source.row_labels(), source.label_name)
    labels: Iterator[Any] = count() if parts is None else chain.from_iterable(parts)
    undetermined = 0
    with monitor.watch():
        used = used_features(model)
        width = rows.shape[1] if source is None else source.n_features
        places = used if width == model.n_features_in_ else np.arange(len(used))
        for block, share in _blocks(model, rows, places, used):
            own = scores_of(block, model.components_[:, used], model.mean_[used], model.scale_[used])
            undetermined += int(np.isnan(own).any(axis=1).sum())
            of_rows: Any = list(islice(labels, len(own)))
            if index is not None:
                of_rows, label_name = index, index.name or "row"
            yield pd.DataFrame(own, index=pd.Index(of_rows, name=label_name), columns=columns)
            monitor.tick(f"scores, {100 * share:.0f} % of the rows")
        warn_of_undetermined(undetermined)
        return
    raise KeyboardInterrupt("Interrupted before all scores were computed.")


def used_features(model: "SparsePCA") -> Indices:
    """Return the features that a component uses."""
    return np.flatnonzero(model.components_.any(axis=0))


def check_width(found: int, wanted: int, name: str) -> None:
    """Raise a ValueError if rows do not have as many columns as those of the fit, as scikit-learn says it."""
    if found != wanted:
        raise ValueError(f"{name} has {found} features, but SparsePCA is expecting {wanted} features as input.")


def _blocks(model: "SparsePCA", rows: Any, columns: Indices, features: Indices) -> Iterator[tuple[Any, float]]:
    """Yield blocks of some columns of rows, which are these features, and the share of the rows read so far."""
    names, allowed = getattr(model, "feature_names_in_", None), model.missing != "error"
    how: dict[str, Any] = {"allow_missing": allowed, "remedy": "" if allowed else MISSING_OPTIONS}
    how["feature_names"] = None if names is None else names[features]
    if not isinstance(rows, Source):
        own = without_duplicates(rows if len(columns) == rows.shape[1] else rows[:, columns])
        check_finite(own, **how)
        yield own, 1.0
        return
    first = 0
    for block in rows.blocks(columns):
        check_finite(block.rows, name=rows.name, first_row=first, block=True, **how)
        first += block.rows.shape[0]
        yield block.rows, block.share


def strict_blocks(model: "SparsePCA", X: Any, columns: Indices) -> Iterator[Any]:
    """Yield blocks of some columns of new rows, which must have the columns of the fit, in the same order."""
    rows: Any = open_source(X)
    everything = np.arange(model.n_features_in_)
    if rows is None:
        # Values are checked in all columns, as scikit-learn does.
        own, _ = next(_blocks(model, model._validated(X), everything, everything))
        yield own if len(columns) == len(everything) else own[:, columns]
        return
    check_width(rows.n_features, model.n_features_in_, rows.name)
    names = getattr(model, "feature_names_in_", None)
    if names is not None and rows.feature_names is not None and list(names) != rows.feature_names:
        raise ValueError(
            f"{rows.name} has other feature names, or another order, than the data of the fit; laconic.scores finds "
            "columns by name."
        )
    for own, _ in _blocks(model, rows, columns, columns):
        yield own


def warn_of_undetermined(count: int) -> None:
    """Say how many rows have a score that is NaN."""
    if count:
        rows = "1 row has" if count == 1 else f"{count} rows have"
        warn(f"{rows} too few values for the score of a component; these scores are NaN.")


def has_missing(X: Any) -> bool:
    """Say whether a value is missing."""
    return bool(np.isnan(X.data if sp.issparse(X) else X).any())


def scores_of(X: Any, directions: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return rows, centred by `mean` and divided by `scale`, times directions. Sparse rows stay sparse.

    Rows with missing values are completed first; a score that what is there does not determine is NaN.
    """
    if has_missing(X):
        return _scores_of_present(X, directions, mean, scale)
    weights = (directions / scale).T
    return np.asarray(X @ weights - mean @ weights, dtype=np.float64)


def rows_from(scores: Floats, components: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return the rows in the span of the components that have the scores given."""
    gram = components @ components.T
    rows = scores @ np.linalg.pinv(gram, hermitian=True) @ components
    return np.asarray(rows * scale + mean, dtype=scores.dtype)


def share_held(blocks: Iterable[Any], components: Floats, mean: Floats, scale: Floats) -> float:
    """Return the share of the variance of rows, about a mean, that the span of the components holds.

    If values are missing, it is the share of the squares of those that are there: in each row |Bt|^2 over them is
    b'G^+ b with b = B'y.
    """
    orthonormal = _orthonormal_basis(components)
    kept = total = 0.0
    for X in blocks:
        if not has_missing(X):
            kept += float((scores_of(X, orthonormal, mean, scale) ** 2).sum())
            moments = Moments.of(X)
            total += float(((moments.squares + moments.weight * (moments.means - mean) ** 2) / scale**2).sum())
            continue
        for _, rows in dense_parts(X):
            y, present = _standardized(rows, mean, scale)
            t, *_ = _least_squares(y, present, orthonormal.T)
            kept += float((t * (y @ orthonormal.T)).sum())
            total += float((y**2).sum())
    return kept / total if total > 0 else 1.0


def _orthonormal_basis(components: Floats) -> Floats:
    """Return an orthonormal basis of the span of the components, one vector in each row."""
    basis = np.linalg.svd(components, full_matrices=False)
    return np.asarray(basis.Vh[basis.S.max() * DEPENDENT < basis.S])


def _scores_of_present(X: Any, components: Floats, mean: Floats, scale: Floats) -> Floats:
    used = np.flatnonzero(components.any(axis=0))
    own, m, s = components[:, used], mean[used], scale[used]
    basis = _orthonormal_basis(own).T
    inner = own @ basis
    scores = []
    for _, rows in dense_parts(X[:, used]):
        y, present = _standardized(rows, m, s)
        complete = present.all(axis=1)
        part = np.empty((len(y), len(own)))
        part[complete] = scores_of(rows[complete], own, m, s)
        y, present = y[~complete], present[~complete]
        t, gram, vectors, unseen = _least_squares(y, present, basis)
        completed = y @ own.T + (t - (gram @ t[:, :, None])[:, :, 0]) @ inner.T
        # The largest part of each component in a direction that is not seen.
        parts = np.abs(inner @ vectors) * unseen[:, None, :]
        completed[parts.max(axis=2, initial=0.0) > PART] = np.nan
        part[~complete] = completed
        scores.append(part)
    return np.concatenate(scores)


def _standardized(rows: Floats, mean: Floats, scale: Floats) -> tuple[Floats, Mask]:
    """Return centred and scaled rows with zeros for missing values, and which values are there."""
    present = ~np.isnan(rows)
    return np.where(present, (rows - mean) / scale, 0.0), present


def _least_squares(y: Floats, present: Mask, basis: Floats) -> tuple[Floats, Floats, Floats, Mask]:
    """Return the shortest t with G t = B'y for each row, G, its eigenvectors, and which of them are not seen."""
    p, q = basis.shape
    outer = (basis[:, :, None] * basis[:, None, :]).reshape(p, q * q)
    gram = (present.astype(np.float64) @ outer).reshape(-1, q, q)
    values, vectors = eigh(gram)
    unseen = values <= UNSEEN
    inside = ((y @ basis)[:, None, :] @ vectors)[:, 0] / np.where(unseen, 1.0, values)
    return (vectors @ np.where(unseen, 0.0, inside)[:, :, None])[:, :, 0], gram, vectors, unseen
