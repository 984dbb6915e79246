"""Batches in, scores out: the parts of an estimator that see rows one block after another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats
from laconic.core.thresholds import WRITE_OUT_LIMIT
from laconic.covariance import DenseCovariance
from laconic.covariance.from_data import CovarianceOfData
from laconic.covariance.screening import covariance_from_gram
from laconic.covariance.standardization import standardize
from laconic.data.checks import MISSING_OPTIONS, check_finite
from laconic.data.passes import FirstPart, FirstPass, GramPart, GramPass
from laconic.data.rows import Source
from laconic.model.present_scores import scores_of_present
from laconic.model.scores import scores_of


@dataclass(frozen=True, eq=False)
class Batches:
    """The sums over all batches so far: moments, digest, and the Gram matrix about the means of the first batch."""

    first: FirstPart
    gram: GramPart
    centers: Floats

    @classmethod
    def of(cls, X: Any, before: "Batches | None") -> "Batches":
        """Return the sums after one more batch."""
        n = X.shape[1]
        if n > WRITE_OUT_LIMIT:
            raise ValueError(
                f"partial_fit keeps a matrix of all pairs of columns, for at most {WRITE_OUT_LIMIT:,}; X has "
                f"{n:,}; write the batches to files and give their folder to fit, which reads them twice."
            )
        rows = X.tocsr() if sp.issparse(X) else X
        one = FirstPass()
        first = one.of(rows)
        centers = first.moments.means if before is None else before.centers
        two = GramPass(np.arange(n), centers)
        gram = two.of(rows)
        if before is None:
            return cls(first, gram, centers)
        return cls(one.merge(before.first, first), two.merge(before.gram, gram), centers)

    def covariance(self, *, center: bool, scale: bool) -> CovarianceOfData:
        """Return the covariance of all batches so far."""
        moments = self.first.moments
        standardization, _, divisor = standardize(moments, center=center, scale=scale)
        columns = np.arange(len(self.centers))
        matrix, _ = covariance_from_gram(self.gram, columns, self.centers, moments, standardization, divisor)
        return CovarianceOfData(DenseCovariance(matrix), standardization, self.first.column_digests.hexdigest())


def check_same_features(source: Source, n: int, names: Sequence[str] | None) -> None:
    """Raise a ValueError if a source does not have the features of the fit."""
    if source.n_features != n:
        raise ValueError(
            f"{source.name} has {source.n_features} features, but SparsePCA is expecting {n} features as input."
        )
    if names is not None and source.feature_names is not None and list(names) != source.feature_names:
        raise ValueError(f"{source.name} has other feature names, or another order, than the data of the fit.")


def scores_of_blocks(
    source: Source,
    components: Floats,
    mean: Floats,
    scale: Floats,
    names: Sequence[str] | None,
    *,
    missing: str = "error",
) -> Iterator[Floats]:
    """Yield the scores of data that are read in blocks. Only the columns that the components use are read.

    `missing` is the parameter of `SparsePCA`.
    """
    check_same_features(source, components.shape[1], names)
    used = np.flatnonzero(components.any(axis=0))
    labels = None if names is None else [names[int(i)] for i in used]
    for block in source.blocks(used):
        error = missing == "error"
        remedy = MISSING_OPTIONS if error else ""
        check_finite(
            block.rows, name=source.name, feature_names=labels, block=True, allow_missing=not error, remedy=remedy
        )
        way = scores_of if error else scores_of_present
        yield way(block.rows, components[:, used], mean[used], scale[used])
