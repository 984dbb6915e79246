"""SparsePCA: sparse components with the interface of scikit-learn. The estimator is the request."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from laconic.bounds.prove import Proof
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Hint, Monitor, warn
from laconic.core.words import Scope, gap_in_tables
from laconic.covariance.make import Made, Recipe
from laconic.data.tables import as_array_or_frame, check_finite, check_names, feature_names_of
from laconic.model.components import (
    Components,
    components,
    dense_variance,
    explained_variances,
)
from laconic.model.hints import hints_of
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
from laconic.model.settings import (
    Sizes,
    check_settings,
    features_asked_for,
    joint_of,
    made_of,
    needs_only_products,
    sizes_of,
)
from laconic.proof.gate import relative_gap
from laconic.search.problem import Status
from laconic.search.several import Question


@dataclass(frozen=True)
class OneOf:
    """What `summary` and the page tell of one component, beside the attributes of the model."""

    raw_variance: float  # z'Sz before any deflation
    qr_variance: float  # the variance of the scores that earlier scores do not predict
    dense_variance: float  # of the ordinary component in the same matrix, of the features that were free
    status: Status
    method: str
    note: str
    scope: Scope  # what it was compared with, in words


@dataclass(frozen=True)
class Together:
    """What `summary` and the page tell of all components together."""

    used: int  # the number of features that any component uses
    held: float  # the variance that the components hold together
    dense: float  # the variance that as many ordinary components hold, an estimate
    upper: float  # the proved limit of what components of these sizes hold; infinite if there is none


class SparsePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal components that use few features.

    Each component maximises z'Sz over unit vectors z with at most k nonzeros. S is the covariance of the data, with the
    earlier components removed.

    Parameters
    ----------
    n_components : int, optional
        The number of components. By default that of the numbers in `cardinality`, or 1 if it is one number or a share.
        Without `cardinality` as many as are better than noise, but at most 10; see `laconic.choose`.
    cardinality : int, sequence of int, float or dict, optional
        The number of features that a component may use. One number counts for all components. A sequence has one
        number for each component: [5, 2] asks for two components. A float up to 1.0 is a share: each component gets the
        smallest number of features found that keeps this share of the ordinary component's variance. So 1 is a count,
        and 1.0 a share. {"total": 30} is a number for all components together, which the search divides. By default
        the numbers are those that `laconic.choose` recommends.
    method : str or Solver, default="auto"
        How to search: a solver or its short name: "auto", "sorting", "thresholding", "greedy", "backward-greedy",
        "approximate-greedy", "truncated-power", "gpower-l1", "gpower-l0", "gpower-l1-block", "gpower-l0-block",
        "swaps", "exhaustive", "dspca". `laconic.methods.Dspca(penalty=)` and `laconic.methods.Penalized(penalty=)`
        choose the number of features by a penalty, in units of variance, in place of `cardinality`.
    proof : {"fast", "tight", "exact", None}, Exact or Bound, default="fast"
        How hard to prove an upper bound for each component. "fast" costs about as much as the fit. "tight" solves
        convex relaxations, and distinguishes some cases if they leave a gap. "exact" distinguishes cases until the
        component is proved optimal, which may take long; `laconic.methods.Exact(gap=, node_limit=, workers=)` ends
        earlier. None only uses bounds that the method itself gives. All components are found before a tight or exact
        proof begins. If the proof meets a better support, ``method="auto"`` takes it, and finds the later components
        again. Any other method keeps its support, and the note in `summary` names the better value. A `Bound` is an
        object of your own.
    joint : {"common", "disjoint", "orthogonal", "span", None}, default=None
        Find all components together, those that hold the most variance, and prove one bound for all. By default each is
        the best one after those before it. "common": all components use the same features, and are the ordinary
        principal components of these; a share as `cardinality` is that of as many ordinary components. "disjoint": no
        feature is used in two components. "orthogonal": loadings are orthonormal, and components may share features.
        "span": any components; the data are projected on their span. "disjoint" and "orthogonal" take a total as
        `cardinality`. All need `method` and `deflation` as they are by default. See docs/several-components.md.
    deflation : str, default="projection"
        How a component is removed before the next one is found: "hotelling", "projection", "schur",
        "orthogonalized-hotelling" or "orthogonalized-projection".
    nonnegative : bool, default=False
        Allow no negative loadings.
    forced_in : sequence of str or int, optional
        Features, by name or place, that every component must use.
    center : bool, default=True
        Subtract the column means. Sparse data stay sparse.
    scale : bool, default=False
        Divide each column by its standard deviation, so that S is the correlation matrix. Without centring, divide by
        the root mean square.
    missing : {"error", "pairwise", "em", "drop"}, default="error"
        What to do about missing values (NaN) in rows; see docs/missing-values.md. "error" counts them in its message.
        "pairwise" computes each covariance as `pandas.DataFrame.cov` does, and with `scale` as `pandas.DataFrame.corr`;
        the matrix may be indefinite. "em" estimates the maximum-likelihood covariance of a normal distribution. "drop"
        leaves incomplete rows out. Proofs are about the matrix that is made.
    time_limit : float, optional
        Seconds for the whole fit. The components are found first; the proofs share the time that is left. If time runs
        out, the best results so far are kept, and `verdicts_` says so.
    random_state : int, RandomState instance or None, default=None
        The seed of the solver, and of the tables that `choose`, `noise` and `stability` draw; they take no seed of
        their own. None is a fixed seed too, so two fits of the same data are equal.
    verbose : bool, default=False
        Show progress, on a terminal only.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        One unit vector in each row. Signs are chosen so that the largest loading is positive. If several are equally
        large, the first one is positive.
    mean_, scale_ : ndarray of shape (n_features,)
        Rows are centred by `mean_` and divided by `scale_`.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        The data are projected on the span of the components so far. This is the variance that each component adds, and
        its share of the total.
    total_variance_ : float
        The trace of S. If S is not positive semidefinite, ratios may exceed one; they are NaN if the trace is not
        positive.
    supports_ : list of ndarray
        The features of each component, in increasing order.
    lower_bound_ : ndarray of shape (n_components,)
        z'Sz of each component after the earlier components are removed. A better support must exceed it. With
        `joint`: the variance that the component adds to all others.
    upper_bound_ : ndarray of shape (n_components,)
        The proved limit of z'Sz for every support of that size, under the same constraints. It is infinite if nothing
        is proved. With `joint`: beside the others as they are, no component of that size adds more. The row "all" of
        `summary` has the bound on all together.
    gap_ : ndarray of shape (n_components,)
        (upper - lower) / lower.
    verdicts_ : list of str
        For each component a sentence on how its search ended, what is proved, and which supports it was compared with.
        With `Penalized` the comparison is with supports of any size. With `joint` it is about all of them together.
    certificates_ : list of Certificate
        The proof of each upper bound, which `laconic.verify` checks, or None. A certificate is about loadings of either
        sign. With `joint` the list holds one certificate, for all components together.
    hints_ : list of str
        What in the data often is a mistake, with the remedy: an id among the features, one column that makes a
        component alone, variances of very different size, two columns that are the same. Each is a warning of the class
        `laconic.core.Hint`, too.
    choice_ : Choice or None
        The numbers that were chosen from the data, and why; None if all were given.
    missing_ : MissingValues or None
        The number of missing values in each column (`counts`), the number of `rows` left out, and for EM the number of
        `iterations` and whether it `converged`. None if no value was missing.
    n_components_ : int
        The number of components found. It is smaller than asked for only after Ctrl-C.
    n_features_in_, feature_names_in_
        The number and the names of the features, as in every estimator of scikit-learn.

    See Also
    --------
    choose : Choose the number of features and of components.
    path : The best component found for every number of features.
    noise : Compare components with those of permuted tables.
    stability : Find out how often each feature is chosen when the rows are drawn again.
    verify : Check a certificate.

    Notes
    -----
    The first component solves ::

        maximise z'Sz   over vectors z of length one with at most k nonzeros.

    This problem is NP-hard. The search finds a component, whose variance is a lower bound on the best value. A convex
    relaxation or a tree of cases gives an upper bound. Both are computed again with rounding errors included before
    they are called proved. A later component solves the same problem after the earlier ones are removed from S [2]_:
    with the default deflation, S becomes (I - zz')S(I - zz').

    Most methods come from [1]_. The relaxation behind ``method="dspca"`` is that of [3]_.

    References
    ----------
    .. [1] Y. Zhang, A. d'Aspremont and L. El Ghaoui (2012). Sparse PCA: convex relaxations, algorithms and
       applications. In Handbook on Semidefinite, Conic and Polynomial Optimization, Springer, 915-940.
    .. [2] L. Mackey (2008). Deflation methods for sparse PCA. Advances in Neural Information Processing Systems 21.
    .. [3] A. d'Aspremont, L. El Ghaoui, M. I. Jordan and G. R. G. Lanckriet (2007). A direct formulation for sparse PCA
       using semidefinite programming. SIAM Review 49(3), 434-448.

    Examples
    --------
    >>> from laconic import SparsePCA
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109()
    >>> model = SparsePCA(cardinality=[5, 2]).fit(votes.frame)
    >>> sorted(model.loadings().query("component == 2")["feature"])
    ['H.R. 3045', 'S. 1307']
    """

    _names_given = False  # whether the fit was given names for rows that have none
    _doc_link_module = "laconic"  # scikit-learn's HTML view links to the manual
    _doc_link_template = "https://laconic.readthedocs.io/en/stable/api/laconic.SparsePCA.html"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        cardinality: int | Sequence[int] | float | dict[str, int] | None = None,
        method: Any = "auto",
        proof: Proof | None = "fast",
        joint: str | None = None,
        deflation: str = "projection",
        nonnegative: bool = False,
        forced_in: Sequence[str | int] | None = None,
        center: bool = True,
        scale: bool = False,
        missing: str = "error",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.cardinality = cardinality
        self.method = method
        self.proof = proof
        self.joint = joint
        self.deflation = deflation
        self.nonnegative = nonnegative
        self.forced_in = forced_in
        self.center = center
        self.scale = scale
        self.missing = missing
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002 - scikit-learn's contract
        sample_weight: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Find the components of rows.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features), or data that are read in blocks
            A NumPy array, a SciPy sparse matrix, or a table of pandas, polars or pyarrow. Or data that need not fit in
            memory: the path of a file or folder, a pattern such as ``"part-*.parquet"``, a Dask array or dataframe, an
            AnnData object, a memory map, or an iterable of blocks; see docs/large-data.md.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; W is their sum. Weights that are all whole numbers count rows: a weight of 2 gives
            the same model as the row twice, a weight of 0 leaves it out, and variances are divided by W - 1. Other
            weights say how reliable a row is: variances are divided by W - (sum of w^2) / W.
        feature_names : sequence of str, optional
            The names of the features of an array or a sparse matrix, or of data without names. A table has names.
        """
        with self._begin() as monitor:
            features = features_asked_for(self)
            how: Any = {"features": features, "by_products": needs_only_products(self)}
            made = made_of(self, X, None, sample_weight, monitor, feature_names=feature_names, **how)
            self._names_given = feature_names is not None
            return self._fit(made, monitor)

    def fit_covariance(self, S: Any, feature_names: Sequence[str] | None = None) -> Self:
        """Find the components of a covariance or correlation matrix.

        `transform` then takes rows that are centred already.

        Parameters
        ----------
        S : array or frame of shape (n_features, n_features)
            Symmetric, up to rounding errors. If one triangle is empty, the other one is mirrored. A matrix that is not
            positive semidefinite is accepted with a warning: the bounds hold all the same, but shares of variance are
            those of a matrix that is not a covariance.
        feature_names : sequence of str, optional
            The names of the features. By default the column names of a frame.
        """
        with self._begin() as monitor:
            made = made_of(self, None, S, None, monitor, feature_names=feature_names)
            self._names_given = feature_names is not None
            return self._fit(made, monitor)

    def _begin(self) -> Monitor:
        """Check the settings, delete the attributes of an earlier fit, and start the clock."""
        check_settings(self)
        for name in [a for a in vars(self) if a.endswith("_") and not a.startswith("_")]:
            delattr(self, name)
        return Monitor(self.time_limit, progress=self.verbose)

    def _recipe(self) -> Recipe:
        missing: Any = None if self.missing == "error" else self.missing
        return Recipe(center=bool(self.center), scale=bool(self.scale), missing=missing)

    def _fit(self, made: Made, monitor: Monitor) -> Self:
        """Find the components of a covariance that is made: their sizes, then the search and the proofs."""
        sizes = sizes_of(self, made, monitor)
        found = components(self, made, sizes, monitor)
        if len(found.solutions) < sizes.count:
            warn(f"The fit was interrupted: {len(found.solutions)} of {sizes.count} components are found and kept.")
        self.choice_ = sizes.choice
        self._keep(made, found, monitor)
        for hint in self.hints_:
            warn(hint, Hint)
        return self

    def _fit_from(self, supports: Sequence[Indices], made: Made, monitor: Monitor) -> None:
        """Fit again from better supports, one for each component, of the sizes that the components have."""
        sizes = Sizes(self.n_components_, [len(support) for support in self.supports_], choice=self.choice_)
        self._keep(made, components(self, made, sizes, monitor, supports), monitor)

    def _keep(self, made: Made, found: Components, monitor: Monitor) -> None:
        """Set the attributes of a fit."""
        covariance, solutions = found.covariance, found.solutions
        self.n_features_in_ = covariance.n_features
        if made.names is not None:
            self.feature_names_in_ = np.asarray(made.names, dtype=object)
        self.n_components_ = len(solutions)
        self.components_ = np.array([s.vector(covariance.n_features) for s in solutions])
        self.supports_ = [s.support for s in solutions]
        self.mean_, self.scale_ = made.means, 1.0 / made.scales
        self.missing_ = made.missing
        self.certificates_ = found.certificates
        self.lower_bound_ = np.array([s.value for s in solutions])
        self.upper_bound_ = np.array([s.upper for s in solutions])
        self.verdicts_ = [s.verdict for s in solutions]
        if found.together is not None and found.uppers is not None:
            self.upper_bound_, self.verdicts_ = found.uppers, [found.together.verdict] * len(solutions)
        self.gap_ = np.array([relative_gap(*pair) for pair in zip(self.lower_bound_, self.upper_bound_, strict=True)])
        variances = explained_variances(covariance, self.components_)
        self.total_variance_ = covariance.trace
        self.explained_variance_ = variances["span"]
        # A matrix that is not semidefinite may have no positive trace. There are no shares of it then.
        self.explained_variance_ratio_ = variances["span"] / (covariance.trace if covariance.trace > 0 else np.nan)
        parts = zip(variances["raw"], variances["qr"], found.dense_variances, solutions, strict=True)
        self._each = [
            OneOf(float(raw), float(qr), float(dense), s.status, s.method, s.reason, s.scope)
            for raw, qr, dense, s in parts
        ]
        self._together = self._of_all(made, found, monitor)
        self.hints_ = hints_of(self, made, covariance)

    def _of_all(self, made: Made, found: Components, monitor: Monitor) -> Together:
        """Return what the components hold together, beside as many ordinary components."""
        held, dense = float(self.explained_variance_.sum()), float(found.dense_variances[0])
        if self.n_components_ > 1:
            dense = dense_variance(found.covariance, np.flatnonzero(~made.constant), self.n_components_, monitor)
        dense = max(dense, held) if np.isfinite(dense) else np.nan
        upper = float(self.upper_bound_[0]) if self.n_components_ == 1 else np.inf
        if found.together is not None:
            upper = max(found.together.upper, held)
        return Together(len(np.unique(np.concatenate(self.supports_))), held, dense, upper)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    @property
    def _joint(self) -> Question | None:
        """The question by which the components were found together, if they were."""
        return joint_of(self) if self.n_components_ > 1 else None

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
        return validate_data(self, X, reset=False, **CHECKS)

    def transform(self, X: Any) -> Floats:
        """Return the scores: centred rows times the components.

        Unless ``missing="error"``, a row with missing values is completed first: by the point in the span of the
        components that is nearest to the values that are there. A score that they do not determine is NaN.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features), or data that are read in blocks
            Rows with the columns of the fit, in the same order. Sparse rows stay sparse. `laconic.scores` finds the
            columns that it needs by name.
        """
        check_is_fitted(self)
        used = used_features(self)
        own = self.components_[:, used], self.mean_[used], self.scale_[used]
        blocks = strict_blocks(self, X, used)
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

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 - scikit-learn's contract
        """Return the share of the variance of X, about the fitted mean, that the span of the components holds.

        1 is all of it. `GridSearchCV` can use it, but it has no price for features, so that it tends to many of them;
        `laconic.choose` has. If values are missing, it is the share of the squares of those that are there.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features), or data that are read in blocks
            Rows with the columns of the fit, in the same order.
        y : None
            Ignored.
        """
        check_is_fitted(self)
        blocks = strict_blocks(self, X, np.arange(self.n_features_in_))
        return share_held(blocks, self.components_, self.mean_, self.scale_)

    def loadings(self, feature_names: Sequence[str] | None = None) -> pd.DataFrame:
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
            names = np.asarray(check_names(feature_names, self.n_features_in_), dtype=object)
        parts = []
        for number, (row, support) in enumerate(zip(self.components_, self.supports_, strict=True), start=1):
            order = support[np.argsort(-np.abs(row[support]), kind="stable")]
            labels = order if names is None else names[order]
            gap = gap_in_tables(self.gap_[number - 1])
            parts.append(pd.DataFrame({"component": number, "feature": labels, "loading": row[order], "gap": gap}))
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> pd.DataFrame:
        """Return a table with a row for each component, numbered from 1, and a row "all" for all of them together.

        The columns are: cardinality, the number of features; variance, what a component adds to those before it if the
        data are projected on their span; raw_variance, z'Sz, in which variance that two components share is counted
        twice; qr_variance, the variance of the scores that earlier scores do not predict (Zou, Hastie and Tibshirani
        2006), NaN if S is not semidefinite; share, the variance as a share of the total; dense_variance, that of the
        ordinary component in the same matrix, NaN with `joint`; the bounds lower and upper; gap, which is 0 for an
        optimal component; verdict, what is proved, in words; method and note, how it was found.
        """
        from laconic.report.sentences import together

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
                "verdict": [*self.verdicts_, together(self, "feature")],
                "method": [*(one.method for one in each), ""],
                "note": [*(one.note for one in each), ""],
            },
            index=[*range(1, self.n_components_ + 1), "all"],
        )

    def to_html(self, X: Any = None, *, time_limit: float | None = None, **options: Any) -> str:
        """Return a page about the model, as the text of one HTML file that needs nothing else; see docs/report-page.md.

        Parameters
        ----------
        X : rows or covariance matrix that the model was fitted to, optional
            With it the page also shows variance against the number of features, the scores and the variances of
            ordinary PCA. If a curve meets better features for a component, ``method="auto"`` takes them: the model has
            them afterwards, and a warning says so. Other rows with the same columns are shown by their scores only.
        time_limit : float, optional
            Seconds for what the page computes from X. By default it is limited by work, so that pages repeat.
        **options
            `title`, a text. `color`, a group or a number for each row, or a column of `adata.obs`. `labels`, a name for
            each row; by default the row labels of a table. `descriptions`, a dictionary with longer texts for features,
            by name. `stability`, what `laconic.stability` has found for the same settings.
        """
        from laconic.report.page import content_of, rendered

        check_is_fitted(self)
        return rendered(content_of(self, X, time_limit=time_limit, **options))

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

        return save_model(self, path)
