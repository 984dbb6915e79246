"""SparsePCA: sparse components with the interface of scikit-learn."""

from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from laconic.bounds.proof_choices import EFFORTS, Proof
from laconic.core.arguments import is_whole, places_of
from laconic.core.arrays import Floats
from laconic.core.caller import warn
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance, DenseCovariance, Standardization
from laconic.covariance.deflation import DEFLATIONS
from laconic.covariance.from_data import CovarianceOfData, covariance_from
from laconic.covariance.reading import correlation_of
from laconic.data.checks import check_matrix
from laconic.data.digest import digest_of
from laconic.data.names import check_unique, feature_names_of
from laconic.data.sources import Source, open_source
from laconic.data.tables import as_array_or_frame
from laconic.methods.registry import SOLVERS, get_solver
from laconic.model.choosing.choice import CRITERIA
from laconic.model.choosing.choose import Criterion
from laconic.model.choosing.inside_fit import choice_in_fit, with_choice
from laconic.model.components import Component, find_components
from laconic.model.conclusion import Subject
from laconic.model.explained_variance import explained_variances
from laconic.model.fitted import FittedComponents
from laconic.model.request import make_request
from laconic.model.streaming import Batches
from laconic.proof import MatrixDescription

if TYPE_CHECKING:
    pass


class SparsePCA(FittedComponents, BaseEstimator):
    """Principal components that use few features.

    Each component maximises z'Sz over unit vectors z with at most k nonzeros. S is the covariance of the data, with the
    earlier components removed.

    Parameters
    ----------
    n_components : int or "parallel", optional
        The number of components. By default the number of cardinalities if there are several, otherwise 1. With
        "parallel", as many as are better than noise; see `laconic.choose`.
    cardinality : int, sequence of int or {"cv", "hull", "sparseness", "bic", "ebic"}, optional
        The number of features that a component may use. One number counts for all components. A sequence has one
        number for each component: [5, 2] asks for two components. A criterion chooses the numbers from the data, at
        most 100 for each component; see `laconic.choose`.
    min_variance : float, optional
        Use this instead of `cardinality`. Each component gets the smallest cardinality found that keeps this share of
        the dense component's variance. The dense component uses all features that are free. If neither is given, the
        share is 0.9. If that takes more than 30 features, the sharpest bend of variance against the number of features
        is taken instead, if it is sharp and comes earlier; if it takes more than 100, in any case. The `reason` of each
        solution says which.
    penalty : float, optional
        Use this instead of both, in units of variance. With ``method="dspca"`` it is the l1 penalty rho of the paper.
        The component takes the features that the relaxation uses. With ``method="exact"`` it is the price of a
        feature: z'Sz minus the penalty times the number of features is maximised.
    method : str or Solver, default="auto"
        A solver or its short name: "auto", "sorting", "thresholding", "greedy", "backward-greedy",
        "approximate-greedy", "truncated-power", "gpower-l1", "gpower-l0", "gpower-l1-block", "gpower-l0-block",
        "swaps", "exhaustive", "dspca", "exact".
    proof : {"fast", "tight", None} or Bound, default="fast"
        How much work to spend on a proved upper bound for each component. "fast" costs about as much as the fit.
        "tight" solves convex relaxations, and distinguishes cases if they leave a gap. It proves most components
        optimal. None only uses bounds that the method itself gives. All components are found before a tight proof
        begins. If the proof meets a better support, ``method="auto"`` returns that support, and finds the later
        components again. Any other method keeps its support; the `reason` of its solution then names the better value.
        A `Bound` is an object of your own.
    deflation : str, default="projection"
        How a component is removed before the next one is found: "hotelling", "projection", "schur",
        "orthogonalized-hotelling" or "orthogonalized-projection".
    disjoint : bool, default=False
        Use each feature in one component only.
    nonnegative : bool, default=False
        Allow no negative loadings.
    forced_in, forced_out : sequence of str or int, optional
        Features, by name or place, that every component must use, and features that no component may use.
    center : bool, default=True
        Subtract the column means. Sparse data stay sparse.
    scale : bool, default=False
        Divide each column by its standard deviation, so that S is the correlation matrix. Without centring, divide by
        the root mean square.
    time_limit : float, optional
        Seconds for the whole fit. The components are found first; the proofs share the time that is left. If time runs
        out, the best results so far are kept, and `verdicts_` says so.
    random_state : int, RandomState instance or None, default=None
        Sets the seed of a solver that uses random directions. With None the solver keeps its own seed, so two fits of
        the same data are equal.
    progress : bool, default=False
        Show progress, on a terminal only.
    checkpoint : path, optional
        A folder. If a pass over data on disk is interrupted, the next fit of the same data continues from there.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        One unit vector in each row. Signs are chosen so that the largest loading is positive. If several are equally
        large, the first one is positive.
    supports_ : list of ndarray
        The features of each component, in increasing order.
    cardinality_ : ndarray of shape (n_components,)
        The number of features of each component.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        The data are projected on the span of the components so far. This is the variance that each component adds, and
        its share of the total.
    raw_variance_, raw_variance_ratio_ : ndarray of shape (n_components,)
        z'Sz before any deflation. Variance that two components share is counted twice.
    qr_variance_, qr_variance_ratio_ : ndarray of shape (n_components,)
        The variance of the scores that earlier scores do not predict (Zou, Hastie and Tibshirani 2006).
    lower_bound_ : ndarray of shape (n_components,)
        z'Sz of each component after the earlier components are removed. A better support must exceed it.
    upper_bound_ : ndarray of shape (n_components,)
        The proved limit of z'Sz for every support of that size, under the same constraints. It is infinite if nothing
        is proved.
    gap_ : ndarray of shape (n_components,)
        (upper - lower) / lower. With `DisjointExact` the components are best as a whole, and a single one may have a
        gap.
    dense_variance_ : ndarray of shape (n_components,)
        The variance of the dense component on the covariance in which each component was found, of the features that
        were free.
    verdicts_ : list of str
        For each component a sentence on how its search ended, what is proved, and which supports it was compared with.
        With ``method="exact"`` and a penalty, the comparison is with supports of any size.
    certificates_ : list of Certificate
        The proof of each upper bound, which `laconic.verify` checks, or None. A certificate is about loadings of either
        sign.
    solutions_ : list of Solution
        The result of the solver for each component, with the method used and the reason for it.
    mean_, scale_ : ndarray of shape (n_features,)
        Rows are centred by `mean_` and divided by `scale_`.
    total_variance_ : float
        The trace of S.
    n_components_ : int
        The number of components found. It is smaller than asked for only after Ctrl-C.
    choice_ : Choice or None
        The numbers that were chosen from the data, and why; None if all were given.
    n_features_in_, feature_names_in_
        The number and the names of the features, as in every estimator of scikit-learn.

    Examples
    --------
    >>> from laconic import SparsePCA
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109()
    >>> model = SparsePCA(cardinality=[5, 2]).fit(votes.to_frame())
    >>> sorted(model.loadings().query("component == 2")["feature"])
    ['H.R. 3045', 'S. 1307']
    """

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's own idiom
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"parallel"}), None],
        "cardinality": [Interval(Integral, 1, None, closed="left"), StrOptions(set(CRITERIA)), "array-like", None],
        "min_variance": [Interval(Real, 0, 1, closed="right"), None],
        "penalty": [Interval(Real, 0, None, closed="neither"), None],
        "method": [StrOptions(set(SOLVERS)), HasMethods("solve")],
        "proof": [StrOptions(set(EFFORTS)), HasMethods("estimates"), None],
        "deflation": [StrOptions(set(DEFLATIONS))],
        "disjoint": ["boolean"],
        "nonnegative": ["boolean"],
        "forced_in": ["array-like", None],
        "forced_out": ["array-like", None],
        "center": ["boolean"],
        "scale": ["boolean"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "progress": ["boolean"],
        "checkpoint": [str, PathLike, None],
    }

    def __init__(
        self,
        n_components: int | Literal["parallel"] | None = None,
        *,
        cardinality: int | Sequence[int] | Criterion | None = None,
        min_variance: float | None = None,
        penalty: float | None = None,
        method: Any = "auto",
        proof: Proof | None = "fast",
        deflation: str = "projection",
        disjoint: bool = False,
        nonnegative: bool = False,
        forced_in: Sequence[str | int] | None = None,
        forced_out: Sequence[str | int] | None = None,
        center: bool = True,
        scale: bool = False,
        time_limit: float | None = None,
        random_state: Any = None,
        progress: bool = False,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.n_components = n_components
        self.cardinality = cardinality
        self.min_variance = min_variance
        self.penalty = penalty
        self.method = method
        self.proof = proof
        self.deflation = deflation
        self.disjoint = disjoint
        self.nonnegative = nonnegative
        self.forced_in = forced_in
        self.forced_out = forced_out
        self.center = center
        self.scale = scale
        self.time_limit = time_limit
        self.random_state = random_state
        self.progress = progress
        self.checkpoint = checkpoint

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Find the components of rows.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features), or data that are read in blocks
            A NumPy array, a SciPy sparse matrix, or a table of pandas, polars or pyarrow. Or data that need not fit
            in memory: the path of a file or folder, a pattern such as "part-*.parquet", a Dask array or dataframe, an
            AnnData object, a memory map, or an iterable of blocks; see docs/large-data.md.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts. A weight of 2 gives the same components and ratios as the row repeated. Variances
            are divided by W - (sum of w^2) / W, where W is the sum of the weights: n - 1 for equal weights.
        """
        monitor = self._begin()
        source = open_source(X)
        if source is not None and source.in_memory() is None:
            return self._fit_source(source, sample_weight, monitor)
        X = self._validated(X if source is None else source.in_memory(), reset=True)
        if source is not None:
            self._take_names(source)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if weights.sum() - weights.max(initial=0) <= 1e-12 * weights.sum():
                raise ValueError("sample_weight leaves fewer than 2 rows with a weight that counts; nothing varies.")
        made = self._covariance(X, monitor, weights)
        digest = None if weights is None else digest_of(weights)
        subject = self._subject(made.digest, self._description(bool(sp.issparse(X)), digest))
        rows = X if weights is None else None
        return self._fit(made.covariance, made.standardization, monitor, "X", subject, rows)

    def _fit_source(self, source: Source, sample_weight: Any, monitor: Monitor) -> Self:
        """Find the components of data that are read in blocks."""
        if sample_weight is not None:
            raise ValueError(f"sample_weight is for rows in memory, and {source.name} is read in blocks; leave it out.")
        self.n_features_in_ = source.n_features
        self._take_names(source)
        with monitor:
            made = self._covariance(source, monitor)
        subject = self._subject(made.digest, self._description(source.sparse))
        self._fit(made.covariance, made.standardization, monitor, source.name, subject)
        if made.screening is not None:
            made.screening.forget()
        return self

    def _take_names(self, source: Source) -> None:
        if source.feature_names is not None:
            check_unique(source.feature_names, name=f"{source.name} has the column name")
            self.feature_names_in_ = np.asarray(source.feature_names, dtype=object)

    def _description(self, sparse: bool, weights: str | None = None) -> MatrixDescription:
        return MatrixDescription("rows", self.center, self.scale, weights, sparse)

    def _covariance(self, data: Any, monitor: Monitor, weights: Floats | None = None) -> CovarianceOfData:
        sizes = [] if self.cardinality is None else np.atleast_1d(self.cardinality).tolist()
        known = bool(sizes) and all(is_whole(k) for k in sizes)
        count = self.n_components if is_whole(self.n_components) else len(sizes)
        names = getattr(self, "feature_names_in_", None)
        needed = (
            []
            if self.forced_in is None
            else places_of(self.forced_in, names, self.n_features_in_, argument="forced_in")
        )
        return covariance_from(
            data,
            center=self.center,
            scale=self.scale,
            weights=weights,
            features=int(sum(sizes) * max(count / len(sizes), 1)) if known else None,
            needed=np.array(needed, dtype=np.intp),
            monitor=monitor,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
            with_digest=self.proof is not None,
        )

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Add a batch of rows, and find the components of all batches so far.

        The result is that of one fit of all rows. Only sums are kept: a matrix of all pairs of columns, so that at most
        6,000 columns are possible. `fit` begins anew.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            The rows of this batch; the first one needs at least two.
        y : None
            Ignored.
        """
        before: Batches | None = getattr(self, "_batches", None)
        X = self._validated(X, reset=before is None)
        batches = Batches.of(X, before)
        monitor = self._begin(keep=("n_features_in_", "feature_names_in_"))
        self._batches: Batches | None = batches
        made = batches.covariance(center=self.center, scale=self.scale)
        subject = self._subject(made.digest, self._description(bool(sp.issparse(X))))
        return self._fit(made.covariance, made.standardization, monitor, "X", subject)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_covariance(self, S: Any, feature_names: Sequence[str] | None = None) -> Self:
        """Find the components of a covariance or correlation matrix.

        `transform` then takes rows that are centred already.

        Parameters
        ----------
        S : array or frame of shape (n_features, n_features)
            Symmetric and positive semidefinite, up to rounding errors.
        feature_names : sequence of str, optional
            The names of the features. By default the column names of a frame.
        """
        monitor = self._begin()
        S = as_array_or_frame(S, name="S")
        names = feature_names_of(S) if feature_names is None else [str(f) for f in feature_names]
        matrix = check_matrix(S)
        self.n_features_in_ = n = len(matrix)
        if names is not None:
            if len(names) != n:
                raise ValueError(f"feature_names has {len(names)} names for {n} features.")
            check_unique(names, name="feature_names holds")
            self.feature_names_in_ = np.asarray(names, dtype=object)
        subject = self._subject(digest_of(matrix), MatrixDescription("covariance", scale=self.scale))
        constant = matrix.diagonal() <= 0
        scales = np.ones(n)
        if self.scale:
            matrix, scales = correlation_of(matrix)
        matrix[constant] = 0.0
        matrix[:, constant] = 0.0
        standardization = Standardization(np.zeros(n), scales, constant)
        return self._fit(DenseCovariance(matrix), standardization, monitor, "S", subject)

    def _begin(self, keep: Sequence[str] = ()) -> Monitor:
        """Delete the attributes of an earlier fit, and start the clock. A fit that fails then leaves no old results."""
        self._batches = None
        for name in [a for a in vars(self) if a.endswith("_") and not a.startswith("_") and a not in keep]:
            delattr(self, name)
        return Monitor(self.time_limit, progress=self.progress)

    def _subject(self, digest: str, matrix: MatrixDescription) -> Subject | None:
        if self.proof is None:
            return None
        names = getattr(self, "feature_names_in_", None)
        labels = None if names is None else tuple(str(label) for label in names)
        return Subject(digest, matrix, self.deflation, labels)

    def _fit(
        self,
        covariance: Covariance,
        standardization: Standardization,
        monitor: Monitor,
        name: str,
        subject: Subject | None,
        rows: Any = None,
    ) -> Self:
        names = getattr(self, "feature_names_in_", None)
        settings = {parameter: getattr(self, parameter) for parameter in self._parameter_constraints}
        choice = choice_in_fit(settings, covariance, standardization, rows, names, monitor)
        settings = with_choice(settings, choice)
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        solver = get_solver(self.method, seed=seed, penalty=self.penalty)
        request = make_request(settings, solver, covariance, standardization, names, name)
        with monitor:
            found = find_components(covariance, request, solver, monitor, self.proof, subject)
        if len(found) < request.n_components:
            warn(f"The fit was interrupted: {len(found)} of {request.n_components} components are found and kept.")
        self._keep(found, covariance, standardization)
        self.choice_ = choice
        return self

    def _keep(self, found: list[Component], covariance: Covariance, standardization: Standardization) -> None:
        """Set the attributes of a fit."""
        self.solutions_ = [component.solution for component in found]
        self.certificates_ = [component.certificate for component in found]
        self.dense_variance_ = np.array([component.dense_variance for component in found])
        self.n_components_ = len(found)
        self.components_ = np.array([s.vector(covariance.n_features) for s in self.solutions_])
        self.supports_ = [s.support for s in self.solutions_]
        self.cardinality_ = np.array([len(s.support) for s in self.solutions_])
        self.lower_bound_ = np.array([s.value for s in self.solutions_])
        self.upper_bound_ = np.array([s.upper for s in self.solutions_])
        self.gap_ = np.array([s.gap for s in self.solutions_])
        self.verdicts_ = [s.verdict for s in self.solutions_]
        self.mean_ = standardization.means
        self.scale_ = 1.0 / standardization.scales
        self.total_variance_ = covariance.trace
        by_definition = explained_variances(covariance, self.components_)
        self.explained_variance_ = by_definition["span"]
        self.raw_variance_ = by_definition["raw"]
        self.qr_variance_ = by_definition["qr"]
        self.explained_variance_ratio_ = self.explained_variance_ / self.total_variance_
        self.raw_variance_ratio_ = self.raw_variance_ / self.total_variance_
        self.qr_variance_ratio_ = self.qr_variance_ / self.total_variance_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
