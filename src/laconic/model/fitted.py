"""What a fitted model can do: scores, rows rebuilt from them, the share of variance held, tables."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import _check_n_features, _check_sample_weight, check_is_fitted, validate_data

from laconic.core.arrays import Floats, Indices
from laconic.data.checks import MISSING_OPTIONS, check_finite, check_two_rows
from laconic.data.rows import Block, Source, open_source
from laconic.data.tables import as_array_or_frame, check_names, feature_names_of, without_duplicates
from laconic.model.blocks_out import write_blocks
from laconic.model.new_rows import rows_by_name
from laconic.model.present_scores import (
    has_missing,
    scores_of_present,
    share_held_of_present,
    warn_of_undetermined,
)
from laconic.model.scores import rows_from, scores_of, share_held
from laconic.model.streaming import check_same_features, scores_of_blocks
from laconic.model.tables import loadings_table, summary_table

if TYPE_CHECKING:
    import pandas as pd

    from laconic.model.estimator import SparsePCA
    from laconic.model.stability import Stability


# What scikit-learn checks of new rows. Values that are missing or infinite are counted here, and not there.
CHECKS: dict[str, Any] = {
    "accept_sparse": ("csr", "csc"),
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
}
# Who needs the columns that new rows lack.
USED, ALL = "the components use", "score needs"


class FittedComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """The methods of `SparsePCA` that use its components."""

    components_: Floats
    mean_: Floats
    scale_: Floats
    n_components_: int
    missing: str
    new_rows: str
    _names_given = False  # whether the fit was given names for rows that have none
    _sums_lost = False  # whether the model is from batches, and was read from a file, which does not hold their sums

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def _validated(self, X: Any, *, reset: bool, missing: str | None = "") -> Any:
        """Return checked rows. NaN is an error if `missing`, by default the parameter, is "error", or None."""
        way = self.missing if missing == "" else missing
        X = as_array_or_frame(X)
        if reset:
            check_two_rows(X)
        options = {**CHECKS, "ensure_min_samples": 2 if reset else 1}
        if not reset and self._names_given and feature_names_of(X) is None:
            # The fit was given names for rows without names, so that it takes others. scikit-learn would warn.
            X = check_array(X, input_name="X", **options)
            _check_n_features(self, X, reset=False)
        else:
            X = validate_data(self, X, reset=reset, **options)
        return self._finite(X, way, getattr(self, "feature_names_in_", None))

    def _finite(self, X: Any, way: str | None, names: Any) -> Any:
        remedy = MISSING_OPTIONS if way == "error" else ""
        check_finite(X, feature_names=names, allow_missing=way in ("pairwise", "em"), remedy=remedy)
        return without_duplicates(X)

    def _new_rows(self, X: Any, wanted: Indices, why: str) -> tuple[Any, Indices | None]:
        """Return checked new rows or a source, and the features that their columns are; None for those of the fit.

        If X and the fit have names, only the features `wanted` are there. `why` says why they are needed.
        """
        names = getattr(self, "feature_names_in_", None)
        if names is None or self.new_rows == "all":
            source = open_source(X)
            return self._validated(X, reset=False) if source is None else source, None
        labels = names[wanted].tolist()
        rows, by_name = rows_by_name(X, labels, why)
        if isinstance(rows, Source):
            return rows, wanted if by_name else None
        if not by_name:
            return self._validated(rows, reset=False), None
        rows = check_array(as_array_or_frame(rows), input_name="X", **CHECKS)
        return self._finite(rows, self.missing, labels), wanted

    def transform(self, X: Any) -> Floats:
        """Return the scores: centred rows times the components.

        With ``missing="pairwise"`` or ``"em"``, a row with missing values is completed first: by the point in the span
        of the components that is nearest to the values that are there. A score that they do not determine, such as that
        of a component none of whose features is there, is NaN.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features), or data that are read in blocks
            Rows. Sparse rows stay sparse. If they and the rows of the fit have names, only the columns that the
            components use are needed, in any order; see the parameter `new_rows`.
        """
        check_is_fitted(self)
        rows, columns = self._new_rows(X, self._used(), USED)
        if isinstance(rows, Source):
            scores = np.concatenate(list(self._scores(rows, columns)))
        else:
            scores = self._scores_in_memory(rows, columns)
        if self.missing != "error":
            warn_of_undetermined(int(np.isnan(scores).any(axis=1).sum()))
        return scores

    def _used(self) -> Indices:
        """Return the features that a component uses."""
        return np.flatnonzero(self.components_.any(axis=0))

    def _scores_in_memory(self, rows: Any, columns: Indices | None) -> Floats:
        """Return the scores of checked rows. Their columns are the features used, or those of the fit if None."""
        used = self._used()
        own = rows if columns is not None or len(used) == rows.shape[1] else rows[:, used]
        way = scores_of if self.missing == "error" else scores_of_present
        scores = way(own, self.components_[:, used], self.mean_[used], self.scale_[used])
        return scores.astype(rows.dtype, copy=False)

    def write_scores(self, X: Any, path: str | PathLike[str]) -> Path:
        """Write the scores of data that are read in blocks to a Parquet (.parquet) or text file (.csv), and return it.

        Parameters
        ----------
        X : rows, or data that are read in blocks, as in `fit`
            Neither the rows nor their scores are held in memory as a whole.
        path : path
            The file. It appears when it is complete.
        """
        check_is_fitted(self)
        rows, columns = self._new_rows(X, self._used(), USED)
        if not isinstance(rows, Source):
            blocks = iter([self._scores_in_memory(rows, columns)])
        elif Path(path).resolve() in [file.resolve() for file in rows.files]:
            raise ValueError(f"{Path(path).name} holds the rows; give another file for the scores.")
        else:
            blocks = self._scores(rows, columns)
        return write_blocks(blocks, Path(path), list(self.get_feature_names_out()))

    def _score_blocks(self, X: Any) -> Iterator[Floats]:
        """Return the scores of rows, or of data that are read in blocks, block by block."""
        rows, columns = self._new_rows(X, self._used(), USED)
        if isinstance(rows, Source):
            return self._scores(rows, columns)
        return iter([self._scores_in_memory(rows, columns)])

    def _scores(self, source: Source, columns: Indices | None) -> Iterator[Floats]:
        """Yield the scores of blocks. `columns` are the features that the source has; None for those of the fit."""
        names: Any = getattr(self, "feature_names_in_", None)
        part = slice(None) if columns is None else columns
        labels = None if names is None else names[part]
        own = self.components_[:, part], self.mean_[part], self.scale_[part]
        return scores_of_blocks(source, *own, labels, missing=self.missing)

    def _checked(self, source: Source) -> Iterator[Block]:
        """Yield blocks whose values are finite, or missing if that is allowed."""
        names, first = getattr(self, "feature_names_in_", None), 0
        error = self.missing == "error"
        for block in source.blocks():
            check_finite(
                block.rows,
                name=source.name,
                feature_names=names,
                first_row=first,
                block=True,
                allow_missing=not error,
                remedy=MISSING_OPTIONS if error else "",
            )
            first += block.rows.shape[0]
            yield block

    def inverse_transform(self, X: Any) -> Floats:
        """Return rows rebuilt from scores: the orthogonal projection of the data on the span of the components.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_components)
            Scores, all finite. The result is dense.
        """
        check_is_fitted(self)
        X = as_array_or_frame(X)
        names = feature_names_of(X)
        scores = check_array(
            X.toarray() if sp.issparse(X) else X,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_2d=False,
            allow_nd=True,
            input_name="X",
        )
        if scores.ndim != 2 or scores.shape[1] != self.n_components_:
            raise ValueError(f"X has shape {scores.shape}; scores have {self.n_components_} columns, one a component.")
        check_finite(scores, feature_names=names)
        return rows_from(scores, self.components_, self.mean_, self.scale_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002 - scikit-learn's contract
        """Return the share of the variance of X, about the fitted mean, that the span of the components holds.

        Higher is better, and 1 is all of it. `GridSearchCV` can use it to choose among models on new rows. It has no
        price for features, so that it tends to many of them; `laconic.choose` has. If values are missing, it is the
        share of the squares of those that are there, with the best fit to them in each row.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features), or data that are read in blocks
            Rows with all columns of the fit. If both have names, they may be in any order; see `new_rows`.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts. Weights must not be negative, and at least one must be above zero.
        """
        check_is_fitted(self)
        rows, columns = self._new_rows(X, np.arange(self.components_.shape[1]), ALL)
        if isinstance(rows, Source):
            if sample_weight is not None:
                raise ValueError(f"sample_weight is for rows in memory, and {rows.name} is read in blocks.")
            if columns is None:
                check_same_features(rows, self.components_.shape[1], getattr(self, "feature_names_in_", None))
            blocks = ((block.rows, np.ones(block.rows.shape[0])) for block in self._checked(rows))
            share = share_held if self.missing == "error" else share_held_of_present
            return share(blocks, self.components_, self.mean_, self.scale_)
        if sample_weight is not None and not np.any(sample_weight):
            raise ValueError("sample_weight is zero for every row of X; give at least one row a weight above zero.")
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        share = share_held_of_present if self.missing != "error" and has_missing(rows) else share_held
        return share([(rows, weights)], self.components_, self.mean_, self.scale_)

    def loadings(self, feature_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """Return a table of the nonzero loadings, with the largest of each component first.

        The columns are: component (numbered from 1), feature, loading, and the proved gap of the component,
        (upper - lower) / lower.

        Parameters
        ----------
        feature_names : sequence of str, optional
            The names of the features, if the fit did not have them. In a pipeline, the steps before know them:
            ``pipe[-1].loadings(pipe[:-1].get_feature_names_out())``.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if feature_names is not None:
            names = np.asarray(check_names(feature_names, self.components_.shape[1]), dtype=object)
        return loadings_table(cast("SparsePCA", self), names)

    def summary(self) -> "pd.DataFrame":
        """Return a table with a row for each component.

        The columns are: cardinality; variance, the share of the total variance that the component adds; of_dense, its
        variance as a share of the dense component's; the bounds lower and upper; gap, which is 0 for an optimal
        component; p_value if the fit has compared it with noise; and verdict, the share of the best possible variance
        that it is proved to reach. The whole sentences are in `verdicts_`.
        """
        check_is_fitted(self)
        return summary_table(cast("SparsePCA", self))

    def to_html(
        self,
        X: Any = None,
        *,
        title: str | None = None,
        color_by: Any = None,
        labels: Any = None,
        descriptions: Mapping[str, str] | None = None,
        stability: "Stability | None" = None,
        time_limit: float | None = None,
    ) -> str:
        """Return a page about the model, as the text of one HTML file that needs nothing else; see docs/report-page.md.

        Parameters
        ----------
        X : rows or covariance matrix that the model was fitted to, optional
            With it the page also shows variance against the number of variables, the scores and the variances of
            ordinary PCA. Other rows with the same columns are shown by their scores only.
        title : str, optional
            The title of the page.
        color_by, labels : sequence of length n_samples, optional
            A value for each row, such as a column of a table: its group or a number, and its name. By default the row
            labels of a table are the names.
        descriptions : dict of str, optional
            A longer text for features, by their names.
        stability : Stability, optional
            What `laconic.stability` has found for the same settings.
        time_limit : float, optional
            Seconds for what the page computes from X. By default 10.
        """
        from laconic.report.page.html import to_html

        check_is_fitted(self)
        return to_html(
            cast("SparsePCA", self),
            X,
            title=title,
            color_by=color_by,
            labels=labels,
            descriptions=descriptions,
            stability=stability,
            time_limit=time_limit,
        )

    def report(self, X: Any, path: str | PathLike[str], **options: Any) -> Path:
        """Write a page about the model to an HTML file, and return its path.

        Parameters
        ----------
        X : rows or covariance matrix that the model was fitted to, or None
            The data; see `to_html`.
        path : path
            The file. It appears when it is complete.
        **options
            The other arguments of `to_html`.
        """
        from laconic.report.page.html import write_page

        return write_page(self.to_html(X, **options), path)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the fitted model to one file, and return its path. `laconic.load_model` reads it.

        The file is a zip file of JSON and NumPy arrays, with the certificates inside; docs/model-format.md describes
        it. It appears whole or not at all. Data are not in it. The running sums of `partial_fit` are not in it either,
        so that a model that is read takes no further batches. The code of a solver or bound of your own is not in it:
        such a model can do everything but fit again. A warning lists whatever else is not kept.

        Parameters
        ----------
        path : path
            The file, such as "votes.laconic".
        """
        check_is_fitted(self)
        from laconic.model.storage import save_model

        return save_model(cast("SparsePCA", self), path)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)


def scores_in_blocks(model: "SparsePCA", source: Source) -> Iterator[Floats]:
    """Yield the scores of new rows that are read in blocks, whose columns are found as `new_rows` says."""
    rows, columns = model._new_rows(source, model._used(), USED)
    return model._scores(rows, columns)
