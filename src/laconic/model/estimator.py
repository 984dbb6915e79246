"""SparsePCA: the scikit-learn contract."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from laconic.bounds.certify import Subject
from laconic.bounds.tight import EFFORTS, Effort
from laconic.core.arrays import Floats
from laconic.core.monitor import Monitor
from laconic.core.wording import scope_of
from laconic.covariance import Covariance, DenseCovariance, Standardization, covariance_of
from laconic.covariance.deflation import DEFLATIONS
from laconic.covariance.reading import correlation_of
from laconic.data.checks import check_finite, check_matrix
from laconic.data.names import check_unique, feature_names_of
from laconic.data.tables import as_array_or_frame, without_duplicates
from laconic.methods.registry import SOLVERS, get_solver
from laconic.model.components import explained_variances, find_components
from laconic.model.request import Request, make_request
from laconic.problem.contract import abilities_of
from laconic.problem.solution import Solution
from laconic.problem.status import Status
from laconic.proof import Certificate, MatrixDescription, digest_of

if TYPE_CHECKING:
    import pandas as pd


class SparsePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal components that use few features.

    Each component maximises z'Sz over unit vectors z with at most k nonzeros, S the covariance of the data (deflated
    by the components before it).

    Parameters
    ----------
    n_components : int, default=1
        How many components to find.
    cardinality : int or sequence of int, optional
        How many features a component may use: one number for all components, or one for each.
    min_variance : float, optional
        In place of `cardinality`: take for each component the smallest cardinality that keeps this share of the
        variance of the dense component, that of the features it may use. If neither is given, 0.9.
    penalty : float, optional
        In place of both, in units of variance. With ``method="dspca"`` the l1 penalty rho of the paper: the features
        that the relaxation uses are taken, however many they are. With ``method="exact"`` the price of a feature:
        z'Sz less the penalty times the number of features is maximised.
    method : str or Solver, default="auto"
        A solver, or the short name of one: "auto", "sorting", "thresholding", "greedy", "backward-greedy",
        "approximate-greedy", "truncated-power", "gpower-l1", "gpower-l0", "gpower-l1-block", "gpower-l0-block",
        "swaps", "exhaustive", "dspca", "exact".
    certify : {"fast", "tight", None}, default="fast"
        How much to spend on the proof of an upper bound for each component. "fast" costs less than the fit;
        "tight" solves convex relaxations, and branches where they leave a gap: in most cases the component is then
        proved to be the best; None leaves what the method itself proves. With ``method="auto"`` a better support that
        the branching comes across is returned; any other method keeps its own, and the `reason` of its solution says
        so.
    deflation : str, default="projection"
        How a component is taken out before the next is sought: "hotelling", "projection", "schur",
        "orthogonalized-hotelling", "orthogonalized-projection".
    disjoint : bool, default=False
        Let each feature serve one component at most.
    nonnegative : bool, default=False
        Allow no negative loading.
    forced_in : sequence of str or int, optional
        Features, by name or place, that belong to every component.
    forced_out : sequence of str or int, optional
        Features that belong to none.
    center : bool, default=True
        Subtract the column means. Sparse data are centred without being filled in.
    scale : bool, default=False
        Divide each column by its standard deviation, so that S is the correlation matrix (without centring, by its root
        mean square).
    time_limit : float, optional
        Seconds for the whole fit, an equal part of what is left for each component; then the best found so far is
        kept, and `status_` says so.
    random_state : int, RandomState instance or None, default=None
        Seeds the few random directions that large problems are probed with. None is a fixed seed too: a fit is
        repeatable unless asked otherwise.
    progress : bool, default=False
        Show progress, on a terminal only.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Unit rows. The loading largest in absolute value is positive; of loadings equally large, the first.
    supports_ : list of ndarray
        The features of each component, in increasing order.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        The variance of the data projected on the span of the components so far, in increments, and its share of the
        total.
    raw_variance_, raw_variance_ratio_ : ndarray of shape (n_components,)
        z'Sz with S not deflated: variance that components share is counted again.
    qr_variance_, qr_variance_ratio_ : ndarray of shape (n_components,)
        The variance of the scores not predicted by earlier scores (Zou, Hastie and Tibshirani 2006).
    lower_bound_ : ndarray of shape (n_components,)
        z'Sz of each component on the covariance it was found in, deflated by those before it.
    upper_bound_ : ndarray of shape (n_components,)
        What no support of that size can exceed, proved (of the features and with those forced in that were asked for);
        infinite where nothing is proved.
    gap_ : ndarray of shape (n_components,)
        (upper - lower) / lower. With `DisjointExact` the proof is about the sum: the gap of one component is what it
        gives up for the others.
    status_ : list of str
        For each component in words how its search ended and what is proved of what: of supports without the features
        forced out, say, on what the components before leave. With ``method="exact"`` and a penalty, "optimal" means
        that no support of any size does better at that penalty.
    certificates_ : list of Certificate
        The proof of each upper bound, which `laconic.verify` checks; None where there is none. A certificate is about
        loadings of either sign, so that of a non-negative component may prove less than `upper_bound_`, which then
        rests on the search alone.
    solutions_ : list of Solution
        What the solver returned, with the method used and why.
    mean_, scale_ : ndarray of shape (n_features,)
        What rows are centred by and divided by.
    total_variance_ : float
        The trace of S.
    n_components_ : int
        Components found: fewer than asked only after Ctrl-C.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from laconic import SparsePCA
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109()
    >>> model = SparsePCA(n_components=2, cardinality=[5, 2]).fit(votes.to_frame())
    >>> sorted(model.loadings().query("component == 2")["feature"])
    ['H.R. 3045', 'S. 1307']
    """

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's own idiom
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "cardinality": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "min_variance": [Interval(Real, 0, 1, closed="right"), None],
        "penalty": [Interval(Real, 0, None, closed="neither"), None],
        "method": [StrOptions(set(SOLVERS)), HasMethods("solve")],
        "certify": [StrOptions(set(EFFORTS)), None],
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
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        cardinality: int | Sequence[int] | None = None,
        min_variance: float | None = None,
        penalty: float | None = None,
        method: Any = "auto",
        certify: Effort | None = "fast",
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
    ) -> None:
        self.n_components = n_components
        self.cardinality = cardinality
        self.min_variance = min_variance
        self.penalty = penalty
        self.method = method
        self.certify = certify
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Find the components of rows.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            NumPy, SciPy sparse, pandas, polars or pyarrow.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts. Components and ratios are those of the row repeated; variances are divided by
            W - (sum of w^2) / W with W the sum of the weights, which is n - 1 for equal ones.
        """
        monitor = self._begin()
        X = self._validated(X, reset=True)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if weights.sum() - weights.max(initial=0) <= 1e-12 * weights.sum():
                raise ValueError("sample_weight leaves fewer than 2 rows with a weight that counts; nothing varies.")
        covariance, standardization = covariance_of(X, center=self.center, scale=self.scale, weights=weights)
        digest = None if weights is None or self.certify is None else digest_of(weights)
        description = MatrixDescription("rows", self.center, self.scale, digest)
        return self._fit(covariance, standardization, monitor, "X", X, description)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_covariance(self, S: Any, feature_names: Sequence[str] | None = None) -> Self:
        """Find the components of a covariance or correlation matrix given in place of data.

        `transform` then takes rows that are centred already.

        Parameters
        ----------
        S : array or frame of shape (n_features, n_features)
            Symmetric positive semidefinite, up to rounding.
        feature_names : sequence of str, optional
            By default the column names of a frame.
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
        given = matrix.copy()
        constant = matrix.diagonal() <= 0
        scales = np.ones(n)
        if self.scale:
            matrix, scales = correlation_of(matrix)
        matrix[constant] = 0.0
        matrix[:, constant] = 0.0
        standardization = Standardization(np.zeros(n), scales, constant)
        description = MatrixDescription("covariance", scale=self.scale)
        return self._fit(DenseCovariance(matrix), standardization, monitor, "S", given, description)

    def _begin(self) -> Monitor:
        """Forget an earlier fit, so that a fit that fails leaves nothing half old, and start the clock."""
        for name in [a for a in vars(self) if a.endswith("_") and not a.startswith("_")]:
            delattr(self, name)
        return Monitor(self.time_limit, progress=self.progress)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def _fit(
        self,
        covariance: Covariance,
        standardization: Standardization,
        monitor: Monitor,
        name: str,
        data: Any,
        description: MatrixDescription,
    ) -> Self:
        names = getattr(self, "feature_names_in_", None)
        settings = {parameter: getattr(self, parameter) for parameter in self._parameter_constraints}
        request = make_request(settings, covariance, standardization, names, name)
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        solver = get_solver(self.method, seed=seed, penalty=self.penalty)
        with monitor:
            subject = None
            if self.certify is not None:
                labels = None if names is None else tuple(str(label) for label in names)
                subject = Subject(digest_of(data), description, self.deflation, labels)
            solutions, certificates = find_components(covariance, request, solver, monitor, self.certify, subject)
        if len(solutions) < self.n_components:
            warnings.warn(
                f"The fit was interrupted: {len(solutions)} of n_components={self.n_components} are found and kept.",
                stacklevel=4,
            )
        n = covariance.n_features
        together = abilities_of(solver).together
        solutions = _with_scopes(solutions, certificates, request, standardization, names, together=together)
        self.solutions_ = solutions
        self.n_components_ = len(solutions)
        self.components_ = np.array([s.vector(n) for s in solutions])
        self.supports_ = [s.support for s in solutions]
        self.lower_bound_ = np.array([s.value for s in solutions])
        self.upper_bound_ = np.array([s.upper for s in solutions])
        self.gap_ = np.array([s.gap for s in solutions])
        self.status_ = [s.verdict for s in solutions]
        self.certificates_ = certificates
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
        return self

    def _validated(self, X: Any, *, reset: bool) -> Any:
        X = as_array_or_frame(X)
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
        check_finite(X, feature_names=getattr(self, "feature_names_in_", None))
        return without_duplicates(X)

    def transform(self, X: Any) -> Floats:
        """Return the scores: centred rows times the components.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            Rows. Sparse rows are not filled in.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return self._scores(X, self.components_).astype(X.dtype, copy=False)

    def _scores(self, X: Any, directions: Floats) -> Floats:
        """Return centred and scaled rows times directions (one a row); sparse rows stay sparse."""
        weights = (directions / self.scale_).T
        return np.asarray(X @ weights - self.mean_ @ weights, dtype=np.float64)

    def inverse_transform(self, X: Any) -> Floats:
        """Return rows rebuilt from scores: the orthogonal projection of the data on the span of the components.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_components)
            Scores, all finite. Sparse ones are filled in.
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
        gram = self.components_ @ self.components_.T
        rows = scores @ np.linalg.pinv(gram, hermitian=True) @ self.components_
        return np.asarray(rows * self.scale_ + self.mean_, dtype=scores.dtype)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002 - scikit-learn's contract
        """Return the share of the variance of X, about the fitted mean, that the span of the components holds.

        Higher is better, and one is all of it, so that `GridSearchCV` can choose among models on rows not seen in the
        fit.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; not negative, and not zero for all of them.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        if sample_weight is not None and not np.any(sample_weight):
            raise ValueError("sample_weight is zero for every row of X; give at least one row a weight above zero.")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        basis = np.linalg.svd(self.components_, full_matrices=False)
        orthonormal = basis.Vh[basis.S.max() * 1e-10 < basis.S]
        kept = float(weights @ (self._scores(X, orthonormal) ** 2).sum(axis=1))
        total = float(weights @ self._squared_norms(X))
        return kept / total if total > 0 else 1.0

    def _squared_norms(self, X: Any) -> Floats:
        """Return the squared length of each centred and scaled row."""
        scale = 1.0 / self.scale_
        if not sp.issparse(X):
            return np.asarray((((X - self.mean_) * scale) ** 2).sum(axis=1))
        # |x - m|^2 = |m|^2 + sum over the nonzeros of (x - m)^2 - m^2
        rows = X.tocsr().astype(np.float64)
        mean = (self.mean_ * scale)[rows.indices]
        rows.data = (rows.data * scale[rows.indices] - mean) ** 2 - mean**2
        return np.asarray(rows.sum(axis=1)).ravel() + float(((self.mean_ * scale) ** 2).sum())

    def loadings(self) -> "pd.DataFrame":
        """Return a table of the nonzero loadings: component (from 1), feature, loading, proved gap; largest first.

        The gap is that of the component, (upper - lower) / lower: nothing of its size explains more than so much more.
        """
        import pandas as pd

        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        parts = []
        for number, (row, support) in enumerate(zip(self.components_, self.supports_, strict=True), start=1):
            order = support[np.argsort(-np.abs(row[support]), kind="stable")]
            labels = order if names is None else names[order]
            columns = {"component": number, "feature": labels, "loading": row[order], "gap": self.gap_[number - 1]}
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _with_scopes(
    solutions: Sequence[Solution],
    certificates: Sequence[Certificate | None],
    request: Request,
    standardization: Standardization,
    names: Sequence[str] | None,
    *,
    together: bool,
) -> list[Solution]:
    """Return the solutions with what each is compared with, so that its verdict says so.

    Columns that do not vary are no restriction: with them no support does better.
    """
    taken = np.empty(0, dtype=np.intp)
    told = []
    for number, (solution, certificate) in enumerate(zip(solutions, certificates, strict=True)):
        free = np.setdiff1d(request.allowed, taken)
        # A certificate is of loadings of either sign; what it does not reach was proved of the others alone.
        of_all_signs = certificate is not None and certificate.upper <= solution.upper
        scope = scope_of(
            np.setdiff1d(np.flatnonzero(~standardization.constant), free),
            request.forced,
            earlier=0 if together else number,
            nonnegative=request.nonnegative and (solution.status is Status.PENALTY_COMPLETE or not of_all_signs),
            feature_names=names,
        )
        told.append(replace(solution, scope=scope))
        if request.disjoint and not together:
            taken = np.union1d(taken, solution.support)
    return told
