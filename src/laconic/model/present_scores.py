"""Scores of rows with missing values: least squares on what is there.

Let y be a centred and scaled row, Z the components, one in each row, and B an orthonormal basis of their span. The row
is completed in the span: t minimises |y - Bt| over the entries that are there, the missing entries become those of Bt,
and the scores are Z times the completed row. A row without missing values keeps its scores.

With G = B'B over the entries that are there, and y zero elsewhere, G t = B'y, and the scores are Zy + ZB (I - G) t.
A direction v with Gv = 0 is not seen by these entries. The score of a component that has a part in such a direction is
not determined: it is NaN. The scores of the other components do not depend on the choice of t.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import BLOCK_ENTRIES, Floats, Mask
from laconic.core.eigenvalues import eigh
from laconic.core.monitor import warn
from laconic.model.scores import orthonormal_basis, scores_of

# A direction is not seen if the entries that are there hold at most this share of its squared length.
UNSEEN = 1e-8
# A component has a part in a direction if the inner product of the two unit vectors exceeds this.
PART = 1e-6


def has_missing(X: Any) -> bool:
    """Say whether a value is missing."""
    return bool(np.isnan(X.data if sp.issparse(X) else X).any())


def scores_of_present(X: Any, components: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return the scores of rows that may have missing values; NaN if what is there does not determine a score."""
    if not has_missing(X):
        return scores_of(X, components, mean, scale)
    used = np.flatnonzero(components.any(axis=0))
    own, m, s = components[:, used], mean[used], scale[used]
    basis = orthonormal_basis(own).T
    inner = own @ basis
    scores = []
    for rows in _parts(X[:, used]):
        y, present = _standardized(rows, m, s)
        complete = present.all(axis=1)
        part = np.empty((len(y), len(own)))
        part[complete] = scores_of(rows[complete], own, m, s)
        y, present = y[~complete], present[~complete]
        gram, values, vectors = _seen(present, basis)
        t, unseen = _least_squares(y @ basis, values, vectors)
        completed = y @ own.T + (t - (gram @ t[:, :, None])[:, :, 0]) @ inner.T
        # The largest part of each component in a direction that is not seen.
        parts = np.abs(inner @ vectors) * unseen[:, None, :]
        completed[parts.max(axis=2, initial=0.0) > PART] = np.nan
        part[~complete] = completed
        scores.append(part)
    return np.concatenate(scores)


def warn_of_undetermined(count: int) -> None:
    """Say how many rows have a score that is NaN."""
    if count:
        rows = "1 row has" if count == 1 else f"{count} rows have"
        warn(f"{rows} too few values for the score of a component; these scores are NaN.")


def share_held_of_present(
    blocks: Iterable[tuple[Any, Floats]], components: Floats, mean: Floats, scale: Floats
) -> float:
    """Return the share of the sum of squares of the values that are there, about a mean, that the span holds.

    The rows come in blocks, each with the weights of its rows. In each row |Bt|^2 over the values that are there is
    b'G^+ b with b = B'y.
    """
    basis = orthonormal_basis(components).T
    kept = total = 0.0
    for X, weights in blocks:
        begin = 0
        for rows in _parts(X):
            y, present = _standardized(rows, mean, scale)
            own = weights[begin : begin + len(y)]
            begin += len(y)
            _, values, vectors = _seen(present, basis)
            images = y @ basis
            t, _ = _least_squares(images, values, vectors)
            kept += float(own @ (t * images).sum(axis=1))
            total += float(own @ (y**2).sum(axis=1))
    return kept / total if total > 0 else 1.0


def _parts(X: Any) -> Iterable[Floats]:
    """Yield rows in dense parts."""
    sparse = sp.issparse(X)
    X = X.tocsr() if sparse else X
    step = max(1, BLOCK_ENTRIES // max(X.shape[1], 1))
    for begin in range(0, X.shape[0], step):
        part = X[begin : begin + step]
        yield np.asarray(part.toarray() if sparse else part, dtype=np.float64)


def _standardized(rows: Floats, mean: Floats, scale: Floats) -> tuple[Floats, Mask]:
    """Return centred and scaled rows with zeros for missing values, and which values are there."""
    present = ~np.isnan(rows)
    return np.where(present, (rows - mean) / scale, 0.0), present


def _seen(present: Mask, basis: Floats) -> tuple[Floats, Floats, Floats]:
    """Return G for each row, with its eigenvalues and eigenvectors."""
    p, q = basis.shape
    outer = (basis[:, :, None] * basis[:, None, :]).reshape(p, q * q)
    gram = (present.astype(np.float64) @ outer).reshape(-1, q, q)
    return gram, *eigh(gram)


def _least_squares(images: Floats, values: Floats, vectors: Floats) -> tuple[Floats, Mask]:
    """Return the shortest t with G t = b for each row, and which eigenvectors of G are not seen."""
    unseen = values <= UNSEEN
    inside = (images[:, None, :] @ vectors)[:, 0] / np.where(unseen, 1.0, values)
    return (vectors @ np.where(unseen, 0.0, inside)[:, :, None])[:, :, 0], unseen
