"""SparsePCA: sparse components with the interface of scikit-learn."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral, Real
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
from laconic.core.caller import Hint, warn
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance, Standardization
from laconic.covariance.contrast_of import checked_contrast, contrast_of
from laconic.covariance.deflation import DEFLATIONS
from laconic.covariance.from_data import CovarianceOfData, covariance_from
from laconic.covariance.indefinite import CHOICES
from laconic.covariance.missing import WAYS
from laconic.covariance.reading import looks_like_correlation, matrix_to_use
from laconic.covariance.rows_left import RowsLeft
from laconic.covariance.uncertainty import check_uncertainty, check_unit_diagonal
from laconic.data.checks import check_matrix
from laconic.data.digest import digest_of
from laconic.data.rows import Source, open_source
from laconic.data.tables import as_array_or_frame, check_names, check_unique, feature_names_of
from laconic.methods.registry import SOLVERS, get_solver
from laconic.model.choosing.choice import CRITERIA
from laconic.model.choosing.choose import Criterion
from laconic.model.choosing.inside_fit import choice_in_fit, with_choice
from laconic.model.components import Component, find_components
from laconic.model.conclusion import Subject
from laconic.model.explained_variance import explained_variances
from laconic.model.fitted import FittedComponents
from laconic.model.held_together import dense_variance, joint_attributes
from laconic.model.hints import Sample, hints_of, sample_of_rows, sample_of_source
from laconic.model.joint import QUESTIONS
from laconic.model.new_rows import RULES
from laconic.model.noise import NoiseComparison, check_comparable, check_rows_for_noise, compare
from laconic.model.not_kept import NotKept
from laconic.model.present_scores import has_missing
from laconic.model.request import make_request
from laconic.model.streaming import Batches
from laconic.problem.contract import abilities_of
from laconic.proof import MatrixDescription
from laconic.proof.certificate import _versions

if TYPE_CHECKING:
    pass


def _words(names: Iterable[str]) -> StrOptions:
    """Return the constraint that a setting is one of these words. An error lists them in this order."""
    return StrOptions(dict.fromkeys(names).keys())


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
    permutations : int, default=0
        Compare each component with what the same search finds in so many tables with permuted columns, for example 99;
        see `compare_with_noise`. The verdict then says whether the component is better than noise. The comparison needs
        the rows in memory, and takes the time that the proofs leave.
    deflation : str, default="projection"
        How a component is removed before the next one is found: "hotelling", "projection", "schur",
        "orthogonalized-hotelling" or "orthogonalized-projection".
    disjoint : bool, default=False
        Use each feature in one component only.
    joint : {"span", None}, default=None
        The question that all components answer together. By default components are found one after the other, and the
        first may take what a later one needs. "span" finds components of the given cardinalities whose span holds the
        most variance. The order of the cardinalities stays. Among components of equal cardinality, each is the one that
        adds most to those before it. See docs/several-components.md.
    nonnegative : bool, default=False
        Allow no negative loadings.
    forced_in, forced_out : sequence of str or int, optional
        Features, by name or place, that every component must use, and features that no component may use.
    center : bool, default=True
        Subtract the column means. Sparse data stay sparse.
    scale : bool, default=False
        Divide each column by its standard deviation, so that S is the correlation matrix. Without centring, divide by
        the root mean square.
    missing : {"error", "pairwise", "em"}, default="error"
        What to do about missing values (NaN) in rows; see docs/missing-values.md. "error" counts them in its message.
        "pairwise" computes each covariance from the rows that have both values, as `pandas.DataFrame.cov` does, and
        with `scale` each correlation, as `pandas.DataFrame.corr` does; the matrix may be indefinite. "em" estimates the
        maximum-likelihood covariance of a multivariate normal distribution. Proofs are about the matrix that is made.
        `transform` and `score` then take rows with missing values, too.
    new_rows : {"used", "all"}, default="used"
        Which columns new rows need if both they and the rows of the fit have names; see docs/new-rows.md. "used": those
        that the components use. `transform` finds them by name, in any order, and all others may be absent or anything.
        `score` finds all columns of the fit by name. "all": the same columns in the same order, as scikit-learn
        demands. Without names, the number of columns must always be that of the fit.
    indefinite : {"accept", "nearest", "error"}, default="accept"
        What to do about a matrix that is not positive semidefinite, by more than rounding, such as one from pairwise
        deletion. "accept" takes it as it is, with a warning: the bounds hold all the same, but shares of variance are
        those of a matrix that is not a covariance. "nearest" takes the nearest semidefinite matrix in the Frobenius
        norm; for a unit diagonal, the nearest correlation matrix. "error" refuses it.
    time_limit : float, optional
        Seconds for the whole fit. The components are found first; the proofs share the time that is left. If time runs
        out, the best results so far are kept, and `verdicts_` says so.
    random_state : int, RandomState instance or None, default=None
        Sets the seed of a solver that uses random directions, and of `permutations`. With None the solver keeps its
        own seed, and the permutations have one, so two fits of the same data are equal.
    progress : bool, default=False
        Show progress, on a terminal only.

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
        z'Sz of each component after the earlier components are removed. A better support must exceed it. With `joint`:
        the variance that the component adds to all others. With an uncertainty: the least of any matrix within it.
    upper_bound_ : ndarray of shape (n_components,)
        The proved limit of z'Sz for every support of that size, under the same constraints. It is infinite if nothing
        is proved. With `joint`: no component of that size adds more to the others.
    gap_ : ndarray of shape (n_components,)
        (upper - lower) / lower. With `DisjointExact` the components are best as a whole, and a single one may have a
        gap.
    dense_variance_ : ndarray of shape (n_components,)
        The variance of the dense component on the covariance in which each component was found, of the features that
        were free. With `joint`: the variance that a dense component would add to the others.
    joint_variance_, joint_variance_ratio_ : float
        The variance that all components hold together, and its share of the total: the sum of `explained_variance_`.
    joint_dense_variance_, joint_dense_variance_ratio_ : float
        The variance that as many dense components hold, of the features that may be used. It is an estimate.
    joint_upper_bound_ : float
        With `joint`: the proved limit of `joint_variance_` for components of these cardinalities, under the same
        constraints. Otherwise, and without `proof`, it is infinite.
    joint_gap_ : float
        The proved limit relative to what is held: ``(joint_upper_bound_ - joint_variance_) / joint_variance_``.
    joint_certificate_ : SpanCertificate or None
        With `joint`: the proof of `joint_upper_bound_`, which `laconic.verify` checks.
    joint_verdict_ : str
        Sentences that say what the components hold together, and what is proved of it.
    verdicts_ : list of str
        For each component a sentence on how its search ended, what is proved, and which supports it was compared with.
        With ``method="exact"`` and a penalty, the comparison is with supports of any size.
    noise_ : NoiseComparison
        The comparison with permuted tables; None without `permutations`.
    certificates_ : list of Certificate
        The proof of each upper bound, which `laconic.verify` checks, or None. A certificate is about loadings of either
        sign. With `joint` there is one for all components, `joint_certificate_`.
    solutions_ : list of Solution
        The result of the solver for each component, with the method used and the reason for it.
    mean_, scale_ : ndarray of shape (n_features,)
        Rows are centred by `mean_` and divided by `scale_`.
    missing_ : MissingValues or None
        The number of missing values in each column (`counts`), the way that the matrix was made, and for EM the number
        of `iterations` and whether it `converged`. None if no value was missing.
    total_variance_ : float
        The trace of S. If S is not positive semidefinite, ratios may exceed one; they are NaN if the trace is not
        positive, and `qr_variance_` is NaN.
    hints_ : list of str
        What in the data often is a mistake, with the remedy: an id among the features, one column that makes a
        component alone, variances of very different size, two columns that are the same. Each is a warning of the class
        `laconic.Hint`, too.
    versions_ : dict of str
        The versions of the software that made the fit.
    n_components_ : int
        The number of components found. It is smaller than asked for only after Ctrl-C.
    choice_ : Choice or None
        The numbers that were chosen from the data, and why; None if all were given.
    n_features_in_, feature_names_in_
        The number and the names of the features, as in every estimator of scikit-learn.

    See Also
    --------
    choose : Choose the number of features and of components.
    cardinality_path : The best component found for every number of features.
    compare_with_noise : Compare components with those of permuted tables.
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
    >>> model = SparsePCA(cardinality=[5, 2]).fit(votes.to_frame())
    >>> sorted(model.loadings().query("component == 2")["feature"])
    ['H.R. 3045', 'S. 1307']
    """

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's own idiom
        "n_components": [Interval(Integral, 1, None, closed="left"), _words(["parallel"]), None],
        "cardinality": [Interval(Integral, 1, None, closed="left"), _words(CRITERIA), "array-like", None],
        "min_variance": [Interval(Real, 0, 1, closed="right"), None],
        "penalty": [Interval(Real, 0, None, closed="neither"), None],
        "method": [_words(SOLVERS), HasMethods("solve")],
        "proof": [_words(EFFORTS), HasMethods("estimates"), None],
        "permutations": [Interval(Integral, 0, None, closed="left")],
        "deflation": [_words(DEFLATIONS)],
        "disjoint": ["boolean"],
        "joint": [_words(QUESTIONS), None],
        "nonnegative": ["boolean"],
        "forced_in": ["array-like", None],
        "forced_out": ["array-like", None],
        "center": ["boolean"],
        "scale": ["boolean"],
        "missing": [_words(WAYS)],
        "new_rows": [_words(RULES)],
        "indefinite": [_words(CHOICES)],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "progress": ["boolean"],
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
        permutations: int = 0,
        deflation: str = "projection",
        disjoint: bool = False,
        joint: str | None = None,
        nonnegative: bool = False,
        forced_in: Sequence[str | int] | None = None,
        forced_out: Sequence[str | int] | None = None,
        center: bool = True,
        scale: bool = False,
        missing: str = "error",
        new_rows: str = "used",
        indefinite: str = "accept",
        time_limit: float | None = None,
        random_state: Any = None,
        progress: bool = False,
    ) -> None:
        self.n_components = n_components
        self.cardinality = cardinality
        self.min_variance = min_variance
        self.penalty = penalty
        self.method = method
        self.proof = proof
        self.permutations = permutations
        self.deflation = deflation
        self.disjoint = disjoint
        self.joint = joint
        self.nonnegative = nonnegative
        self.forced_in = forced_in
        self.forced_out = forced_out
        self.center = center
        self.scale = scale
        self.missing = missing
        self.new_rows = new_rows
        self.indefinite = indefinite
        self.time_limit = time_limit
        self.random_state = random_state
        self.progress = progress

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002 - scikit-learn's contract
        sample_weight: Any = None,
        feature_names: Sequence[str] | None = None,
        contrast: Any = None,
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
            How much each row counts. A weight of 2 gives the same components and ratios as the row repeated. Variances
            are divided by W - (sum of w^2) / W, where W is the sum of the weights: n - 1 for equal weights.
        feature_names : sequence of str, optional
            The names of the features of an array or a sparse matrix, or of data without names. A table has names.
        contrast : tuple of rows and float, optional
            A pair (Y, g): background rows with the columns of X, and their weight g > 0. The components are then those
            of S_X - g S_Y, the difference of the two covariances: they vary much in X and little in Y. Each table is
            centred by its own means. With ``scale=True`` both are divided by the standard deviations of X. Columns that
            do not vary in X are not selected. Shares of variance are shares of the trace of the difference.
        """
        monitor = self._begin()
        source = open_source(X)
        if source is not None and source.in_memory() is None:
            if contrast is not None:
                raise ValueError(f"{source.name} is read in blocks; a contrast needs both tables in memory.")
            return self._fit_source(source, sample_weight, monitor, feature_names)
        X = self._validated(X if source is None else source.in_memory(), reset=True)
        if source is not None:
            self._take_names(source)
        self._name_features(feature_names)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            check_rows_for_noise(self.permutations, "X has sample_weight, and each row must count the same")
            if weights.sum() - weights.max(initial=0) <= 1e-12 * weights.sum():
                raise ValueError("sample_weight leaves fewer than 2 rows with a weight that counts; nothing varies.")
        digest = None if weights is None else digest_of(weights)
        if contrast is not None:
            return self._fit_contrast(X, contrast, weights, monitor, digest)
        if looks_like_correlation(X):
            warn(
                "X is square and symmetric with a unit diagonal, and is taken for rows; if it is a correlation matrix, "
                "use fit_covariance."
            )
        made = self._covariance(X, monitor, weights)
        if made.missing is not None:
            check_rows_for_noise(self.permutations, "X has missing values; fill them first")
        subject = self._subject(made.digest, self._description(made, bool(sp.issparse(X)), digest))
        rows = X if weights is None and made.missing is None else None
        return self._fit(made.covariance, made.standardization, monitor, "X", subject, sample_of_rows(X), rows)

    def _fit_contrast(
        self, X: Any, contrast: Any, weights: Floats | None, monitor: Monitor, digest: str | None
    ) -> Self:
        """Find the components of a difference of two covariances."""
        check_rows_for_noise(self.permutations, "a contrast has two tables; leave out permutations= or contrast=")
        names = getattr(self, "feature_names_in_", None)
        if has_missing(X):
            raise ValueError("X has missing values, and a contrast needs complete rows; fill them or leave rows out.")
        Y, weight = checked_contrast(contrast, names, self.n_features_in_)
        covariance, standardization = contrast_of(X, Y, weight, center=self.center, scale=self.scale, weights=weights)
        described = MatrixDescription("rows", self.center, self.scale, digest, bool(sp.issparse(X)))
        described = replace(described, contrast=digest_of(Y), contrast_weight=weight)
        return self._fit(covariance, standardization, monitor, "X", self._subject(digest_of(X), described))

    def _fit_source(
        self, source: Source, sample_weight: Any, monitor: Monitor, feature_names: Sequence[str] | None = None
    ) -> Self:
        """Find the components of data that are read in blocks."""
        if sample_weight is not None:
            raise ValueError(f"sample_weight is for rows in memory, and {source.name} is read in blocks; leave it out.")
        check_rows_for_noise(self.permutations, f"{source.name} is read in blocks; load it first with read_table")
        self.n_features_in_ = source.n_features
        self._take_names(source)
        self._name_features(feature_names)
        with monitor:
            made = self._covariance(source, monitor)
        subject = self._subject(made.digest, self._description(made, source.sparse))
        sample = sample_of_source(source)
        self._fit(made.covariance, made.standardization, monitor, source.name, subject, sample)
        return self

    def _take_names(self, source: Source) -> None:
        if source.feature_names is not None:
            check_unique(source.feature_names, name=f"{source.name} has the column name")
            self.feature_names_in_ = np.asarray(source.feature_names, dtype=object)

    def _name_features(self, feature_names: Sequence[str] | None) -> None:
        """Take the names that a user gives for data without names. Other rows without names are then taken as well."""
        if feature_names is None:
            return
        names = check_names(feature_names, self.n_features_in_)
        own = getattr(self, "feature_names_in_", None)
        if own is not None and names != list(own):
            raise ValueError("feature_names differ from the column names that X has; rename its columns instead.")
        if own is None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
            self._names_given = True

    def _description(self, made: CovarianceOfData, sparse: bool, weights: str | None = None) -> MatrixDescription:
        described = MatrixDescription("rows", self.center, self.scale, weights, sparse, indefinite=made.indefinite)
        return described.with_missing(made.missing)

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
        made = covariance_from(
            data,
            center=self.center,
            scale=self.scale,
            missing=self.missing,
            indefinite=self.indefinite,
            weights=weights,
            feature_names=names,
            features=int(sum(sizes) * max(count / len(sizes), 1)) if known else None,
            needed=np.array(needed, dtype=np.intp),
            monitor=monitor,
            with_digest=self.proof is not None,
        )
        self.missing_ = made.missing
        return made

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002 - scikit-learn's contract
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Add a batch of rows, and find the components of all batches so far.

        The result is that of one fit of all rows. Only sums are kept: a matrix of all pairs of columns, so that at most
        6,000 columns are possible. `fit` begins anew.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            The rows of this batch; the first one needs at least two. No value may be missing, whatever `missing` is.
        y : None
            Ignored.
        feature_names : sequence of str, optional
            The names of the features, as in `fit`. Those of the first batch count for all.
        """
        check_rows_for_noise(self.permutations, "partial_fit keeps only sums; give all rows to fit")
        if self._sums_lost:
            raise ValueError(
                "The model was read from a file, which does not hold the sums of earlier batches; give all rows to "
                "fit, or begin anew with sklearn.base.clone(model)."
            )
        before: Batches | None = getattr(self, "_batches", None)
        X = self._validated(X, reset=before is None, missing=None)
        if before is None:
            self._names_given = False
        self._name_features(feature_names)
        batches = Batches.of(X, before)
        given = self._names_given
        monitor = self._begin(keep=("n_features_in_", "feature_names_in_"))
        self._names_given = given
        self._batches: Batches | None = batches
        made = batches.covariance(center=self.center, scale=self.scale)
        subject = self._subject(made.digest, self._description(made, bool(sp.issparse(X))))
        return self._fit(made.covariance, made.standardization, monitor, "X", subject, sample_of_rows(X))

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_covariance(self, S: Any, feature_names: Sequence[str] | None = None, *, uncertainty: float = 0.0) -> Self:
        """Find the components of a covariance or correlation matrix.

        `transform` then takes rows that are centred already.

        Parameters
        ----------
        S : array or frame of shape (n_features, n_features)
            Symmetric, up to rounding errors. If one triangle is empty, the other one is mirrored. `indefinite` says
            what to do if S is not positive semidefinite.
        feature_names : sequence of str, optional
            The names of the features. By default the column names of a frame.
        uncertainty : float, default=0.0
            How far each entry of S may be from the truth: 0.0005 for numbers printed with three decimals. Both bounds
            of each component then hold for every symmetric matrix within that distance, after the same components are
            taken out. A bound costs at most `cardinality` times the uncertainty.
        """
        monitor = self._begin()
        check_rows_for_noise(self.permutations, "a covariance matrix has none; give the rows to fit")
        self._check_uncertainty(uncertainty)
        S = as_array_or_frame(S, name="S")
        matrix = check_matrix(S)
        self.n_features_in_ = n = len(matrix)
        names = feature_names_of(S) if feature_names is None else feature_names
        if names is not None:
            self._name_features(names)
            self._names_given = feature_names is not None
        check_unit_diagonal(matrix, scale=self.scale, uncertainty=uncertainty)
        made = matrix_to_use(matrix, scale=self.scale, indefinite=self.indefinite)
        described = MatrixDescription(
            "covariance", scale=self.scale, indefinite=made.indefinite, uncertainty=float(uncertainty)
        )
        subject = self._subject(digest_of(matrix), described)
        standardization = Standardization(np.zeros(n), made.scales, made.constant)
        return self._fit(made.covariance, standardization, monitor, "S", subject)

    def _check_uncertainty(self, uncertainty: float) -> None:
        check_uncertainty(uncertainty, indefinite=self.indefinite)
        if not uncertainty:
            return
        if self.proof is None:
            raise ValueError(f"uncertainty={uncertainty} widens a proof, and proof=None asks for none; give a proof.")
        if self.joint is not None:
            raise ValueError(f"uncertainty={uncertainty} is for components one after the other; leave out joint=.")
        if self.deflation == "schur" and (
            np.size(np.asarray(self.cardinality)) > 1 or self.n_components not in (None, 1)
        ):
            raise ValueError(
                f"uncertainty={uncertainty} cannot be followed through deflation='schur'; use deflation='projection'."
            )

    def _begin(self, keep: Sequence[str] = ()) -> Monitor:
        """Delete the attributes of an earlier fit, and start the clock. A fit that fails then leaves no old results."""
        for parameter in ("method", "proof"):
            if isinstance(getattr(self, parameter), NotKept):
                getattr(self, parameter).refuse(parameter)
        self._batches = None
        self._names_given = self._sums_lost = False
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
        sample: Sample | None = None,
        rows: Any = None,
    ) -> Self:
        names = getattr(self, "feature_names_in_", None)
        settings = {parameter: getattr(self, parameter) for parameter in self._parameter_constraints}
        choice = choice_in_fit(settings, covariance, standardization, rows, names, monitor)
        settings = with_choice(settings, choice)
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        solver = get_solver(self.method, seed=seed, penalty=self.penalty)
        request = make_request(settings, solver, covariance, standardization, names, name)
        if self.permutations:
            check_comparable(settings, request, solver)
        with monitor:
            found = find_components(covariance, request, solver, monitor, self.proof, subject)
            self.noise_: NoiseComparison | None = None
            if self.permutations:
                left = RowsLeft.of(rows, standardization, center=self.center, scale=self.scale)
                solutions = [component.solution for component in found]
                self.noise_ = compare(left, request, solver, monitor, self.permutations, seed or 0, found=solutions)
            dense = dense_variance(found, request, monitor)
        if len(found) < request.n_components:
            warn(f"The fit was interrupted: {len(found)} of {request.n_components} components are found and kept.")
        self._keep(found, standardization)
        one_by_one = not abilities_of(solver).together
        for attribute, value in joint_attributes(self, found, dense, request, one_by_one=one_by_one).items():
            setattr(self, attribute, value)
        self.choice_ = choice
        self.hints_ = hints_of(self, covariance, request, sample)
        for hint in self.hints_:
            warn(hint, Hint)
        return self

    def _keep(self, found: list[Component], standardization: Standardization) -> None:
        """Set the attributes of a fit."""
        covariance = found[0].covariance
        self.solutions_ = [component.solution for component in found]
        self.certificates_ = [component.certificate for component in found]
        self.dense_variance_ = np.array([component.dense_variance for component in found])
        self.n_components_ = len(found)
        self.components_ = np.array([s.vector(covariance.n_features) for s in self.solutions_])
        self.supports_ = [s.support for s in self.solutions_]
        self.cardinality_ = np.array([len(s.support) for s in self.solutions_])
        self.lower_bound_ = np.array([s.lower for s in self.solutions_])
        self.upper_bound_ = np.array([s.upper for s in self.solutions_])
        self.gap_ = np.array([s.gap for s in self.solutions_])
        self.verdicts_ = [s.verdict for s in self.solutions_]
        if self.noise_ is not None:
            self.verdicts_ = self.noise_.added_to(self.verdicts_)
        self.missing_ = getattr(self, "missing_", None)
        self.versions_ = _versions()
        self.mean_ = standardization.means
        self.scale_ = 1.0 / standardization.scales
        self.total_variance_ = covariance.trace
        by_definition = explained_variances(covariance, self.components_)
        self.explained_variance_ = by_definition["span"]
        self.raw_variance_ = by_definition["raw"]
        self.qr_variance_ = by_definition["qr"]
        # A matrix that is not semidefinite may have no positive trace. There are no shares of it then.
        total = self.total_variance_ if self.total_variance_ > 0 else np.nan
        self.explained_variance_ratio_ = self.explained_variance_ / total
        self.raw_variance_ratio_ = self.raw_variance_ / total
        self.qr_variance_ratio_ = self.qr_variance_ / total

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
