"""What a fitted model can do: scores, rows rebuilt from them, the share of variance held, tables, files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from laconic.core.arrays import PROVED, Floats, Indices
from laconic.core.words import Scope, at_least, at_most, gap_in_tables, percent
from laconic.data.checks import check_finite
from laconic.data.tables import as_array_or_frame, check_names, feature_names_of
from laconic.model.scores import (
    CHECKS,
    check_width,
    rows_from,
    scores_of,
    share_held,
    strict_blocks,
    used_features,
    warn_of_undetermined,
)
from laconic.proof.gate import relative_gap
from laconic.search.problem import Status

if TYPE_CHECKING:
    import pandas as pd

    from laconic.model.estimator import SparsePCA
    from laconic.model.stability import Stability


@dataclass(frozen=True)
class OneOf:
    """What `summary` and the page tell of one component, beside the attributes of the model."""

    raw_variance: float  # z'Sz before any deflation
    qr_variance: float  # the variance of the scores that earlier scores do not predict
    dense_variance: float  # of the dense component in the same matrix, of the features that were free
    status: Status
    method: str
    note: str
    scope: Scope  # what it was compared with, in words


@dataclass(frozen=True)
class Together:
    """What `summary` and the page tell of all components together."""

    used: int  # the number of features that any component uses
    held: float  # the variance that the components hold together
    dense: float  # the variance that as many dense components hold, an estimate
    upper: float  # the proved limit of what components of these sizes hold; infinite if there is none
    verdict: str


class FittedComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """The methods of `SparsePCA` that use its components."""

    components_: Floats
    mean_: Floats
    scale_: Floats
    supports_: list[Indices]
    explained_variance_: Floats
    explained_variance_ratio_: Floats
    lower_bound_: Floats
    upper_bound_: Floats
    gap_: Floats
    verdicts_: list[str]
    total_variance_: float
    n_components_: int
    n_features_in_: int
    missing: str
    _each: list[OneOf]
    _together: Together
    _names_given = False  # whether the fit was given names for rows that have none

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _validated(self, X: Any) -> Any:
        """Return new rows in memory, checked as scikit-learn does: the columns of the fit, in the same order."""
        X = as_array_or_frame(X)
        if self._names_given and feature_names_of(X) is None:
            # The fit was given names for rows without names, so that it takes others. scikit-learn would warn.
            rows = check_array(X, input_name="X", **CHECKS)
            check_width(rows.shape[1], self.n_features_in_, "X")
            return rows
        return validate_data(cast("SparsePCA", self), X, reset=False, **CHECKS)

    def transform(self, X: Any) -> Floats:
        """Return the scores: centred rows times the components.

        With ``missing="pairwise"`` or ``"em"``, a row with missing values is completed first: by the point in the span
        of the components that is nearest to the values that are there. A score that they do not determine, such as that
        of a component none of whose features is there, is NaN.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features), or data that are read in blocks
            Rows with the columns of the fit, in the same order. Sparse rows stay sparse. `laconic.scores` finds the
            columns that it needs by name.
        """
        check_is_fitted(self)
        used = used_features(cast("SparsePCA", self))
        own = self.components_[:, used], self.mean_[used], self.scale_[used]
        blocks = strict_blocks(cast("SparsePCA", self), X, used)
        scores = np.concatenate([scores_of(rows, *own).astype(rows.dtype, copy=False) for rows in blocks])
        warn_of_undetermined(int(np.isnan(scores).any(axis=1).sum()))
        return scores

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

        1 is all of it. `GridSearchCV` can use it, but it has no price for features, so that it tends to many of them;
        `laconic.choose` has. If values are missing, it is the share of the squares of those that are there.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features), or data that are read in blocks
            Rows with the columns of the fit, in the same order.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts. Weights must not be negative, and at least one must be above zero.
        """
        check_is_fitted(self)
        weights = None if sample_weight is None else _weights(sample_weight)
        blocks = self._weighted(strict_blocks(cast("SparsePCA", self), X, np.arange(self.n_features_in_)), weights)
        return share_held(blocks, self.components_, self.mean_, self.scale_)

    @staticmethod
    def _weighted(blocks: Any, weights: Floats | None) -> Any:
        """Yield blocks of rows, each with its weights: one for each row if none are given."""
        first = 0
        for rows in blocks:
            last = first + rows.shape[0]
            if weights is not None and last > len(weights):
                raise ValueError(f"sample_weight has {len(weights)} numbers, and X has more rows; give one for each.")
            yield rows, np.ones(rows.shape[0]) if weights is None else weights[first:last]
            first = last
        if weights is not None and first != len(weights):
            raise ValueError(f"sample_weight has {len(weights)} numbers for {first} rows; give one for each row.")

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
        import pandas as pd

        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if feature_names is not None:
            names = np.asarray(check_names(feature_names, self.n_features_in_), dtype=object)
        parts = []
        for number, (row, support) in enumerate(zip(self.components_, self.supports_, strict=True), start=1):
            order = support[np.argsort(-np.abs(row[support]), kind="stable")]
            labels = order if names is None else names[order]
            gap = gap_in_tables(self.gap_[number - 1])
            parts.append(pd.DataFrame({"component": number, "feature": labels, "loading": row[order], "gap": gap}))
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> "pd.DataFrame":
        """Return a table with a row for each component, numbered from 1, and a row "all" for all of them together.

        The columns are: cardinality, the number of features; variance, what a component adds to those before it if the
        data are projected on their span; raw_variance, z'Sz, in which variance that two components share is counted
        twice; qr_variance, the variance of the scores that earlier scores do not predict (Zou, Hastie and Tibshirani
        2006), NaN if S is not semidefinite; share, the variance as a share of the total; dense_variance, that of the
        dense component in the same matrix; the bounds lower and upper; gap, which is 0 for an optimal component;
        verdict, what is proved, in words; method and note, how it was found.
        """
        import pandas as pd

        check_is_fitted(self)
        each, all_of = self._each, self._together
        total = self.total_variance_ if self.total_variance_ > 0 else np.nan
        raw, qr = [one.raw_variance for one in each], [one.qr_variance for one in each]
        gaps = [*self.gap_, relative_gap(all_of.held, all_of.upper)]
        return pd.DataFrame(
            {
                "cardinality": [*(len(support) for support in self.supports_), all_of.used],
                "variance": [*self.explained_variance_, all_of.held],
                "raw_variance": [*raw, sum(raw)],
                "qr_variance": [*qr, sum(qr)],
                "share": [*self.explained_variance_ratio_, all_of.held / total],
                "dense_variance": [*(one.dense_variance for one in each), all_of.dense],
                "lower": [*self.lower_bound_, all_of.held],
                "upper": [*self.upper_bound_, all_of.upper],
                "gap": [gap_in_tables(gap) for gap in gaps],
                "verdict": [*self.verdicts_, all_of.verdict],
                "method": [*(one.method for one in each), ""],
                "note": [*(one.note for one in each), ""],
            },
            index=[*range(1, self.n_components_ + 1), "all"],
        )

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
        from laconic.report.page import to_html

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

    def report(self, X: Any = None, path: str | PathLike[str] = "report.html", **options: Any) -> Path:
        """Write a page about the model to an HTML file, and return its path.

        Parameters
        ----------
        X : rows or covariance matrix that the model was fitted to, or None
            The data; see `to_html`.
        path : path, default="report.html"
            The file. It appears when it is complete.
        **options
            The other arguments of `to_html`.
        """
        from laconic.report.page import write_page

        return write_page(self.to_html(X, **options), path)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the fitted model to one file, and return its path. `laconic.load_model` reads it.

        The file is a zip file of JSON and NumPy arrays, with the certificates inside; docs/model-format.md describes
        it. It appears whole or not at all. Data are not in it. The code of a solver or bound of your own is not in it:
        such a model can do everything but fit again.

        Parameters
        ----------
        path : path
            The file, such as "votes.laconic".
        """
        check_is_fitted(self)
        from laconic.model.save import save_model

        return save_model(cast("SparsePCA", self), path)


def _weights(sample_weight: Any) -> Floats:
    """Return the weights of rows whose share is asked for."""
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite numbers of at least 0, one for each row of X.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row of X; give at least one row a weight above zero.")
    return weights


def held_in_words(count: int, held: float, dense: float, total: float | None, used: int, everything: int) -> str:
    """Return how much variance components hold together, and as many dense components, as shares of a total or not.

    The components use `used` features, and the dense ones `everything`. `dense` is NaN if it was not computed.
    """

    def amount(value: float) -> str:
        return f"a variance of {at_least(value, 4)}" if total is None else percent(value / total)

    which = "The component holds" if count == 1 else f"Together the {count} components hold"
    beside = "the ordinary component holds" if count == 1 else f"{count} ordinary components hold"
    features = f"{used} feature{'' if used == 1 else 's'}"
    first = f"{which} {amount(held)}{'' if total is None else ' of the variance'} with {features}"
    if np.isnan(dense):
        return f"{first}. Interrupted before the ordinary ones were computed."
    return f"{first}; {beside} {amount(dense)} with all {everything:,}."


def held_at_most_in_words(count: int, held: float, upper: float, total: float | None, scope: Scope) -> str:
    """Return what is proved of the variance that components hold together, as a share of a total or not."""
    if not np.isfinite(upper):
        return "No upper bound was computed."
    most = at_most(upper, 3) if total is None else f"{at_most(100 * upper / total, 3)} %"
    more = "more" if upper - held <= PROVED * held else f"more than {most}"
    return f"No {count} components of these sizes{scope.supports} hold {more} (proved)."
