"""Criteria for the number of features, and cross-validation by entries.

v_k is the variance of the best component found with k features, T the total variance, n the number of features and m
the number of rows. Earlier components are removed from all of them. A planted component with k features raises v by
about the same amount for each of its features. A feature of pure noise raises it by about 2 log(n) / m times the noise
variance: the best of n - k draws of chi-square. The criteria find the place where the one turns into the other.

Cross-validation. Held-out rows cannot choose a number of features: the scores of a held-out row are computed from that
row itself, so that more features always explain more of it. Here single entries are held out. The others give the
component, and predict them.

In each fold a share of the entries of every row is held out. With the observed entries Y (zero elsewhere) and the share
d_j of observed rows in column j, the covariance is estimated by y_i'y_j / (m d_i d_j) off the diagonal and
y_j'y_j / (m d_j) on it, which is unbiased if entries are held out at random. The path of components is found in this
matrix. With the loadings z of k features and their value v, and the noise variance s, the mean of the other k - 1
eigenvalues of their block, the score of a row is predicted from its observed entries as the spiked model does it,

    t = sum of z_j x_j / (sum of z_j^2 + s / (v - s)),    the sums over the observed features of the support,

and the held-out entry x_j by t z_j; by zero, the mean, if feature j is not used. A feature of noise that enters the
support adds the error (t z_j)^2 to its entries, so that more is not always better. One feature alone predicts nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import gammaln

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices, Mask
from laconic.covariance import Covariance, DenseCovariance
from laconic.search.problem import PathSolver, Problem, Solution

Criterion: TypeAlias = Literal["cv", "hull", "sparseness", "bic", "ebic"]
# The criteria, each with its words for a sentence.
CRITERIA = {
    "cv": "cross-validation",
    "hull": "the convex hull",
    "sparseness": "the index of sparseness",
    "bic": "BIC",
    "ebic": "extended BIC",
}

# A bend of the hull counts only if the step before it is at least this share of the mean step. At the flat end of a
# curve, ratios of tiny steps say nothing.
VISIBLE_STEP = 0.3
# A residual variance below this share of the total is rounding.
ROUNDING = 1e-12
# An error that is higher by less than this share of the variance predicted is not worth another feature.
NEGLIGIBLE = 1e-3


@dataclass(frozen=True, eq=False)
class PathValues:
    """What the criteria look at: variance against cardinality."""

    cardinalities: Indices
    values: Floats  # v_k
    total: float  # T
    dense: float  # the variance of the dense component
    second: float  # the second largest variance of a single feature
    n_features: int
    n_rows: int | None  # None if only a covariance is known

    @classmethod
    def of(
        cls, problem: Problem, solutions: Sequence[Solution], dense: float, n_rows: int | None = None
    ) -> "PathValues":
        """Return the values of solutions of consecutive cardinalities, the last one that of the problem."""
        S, last = problem.covariance, problem.cardinality
        second = float(np.partition(S.diagonal, -2)[-2]) if S.n_features > 1 else 0.0
        sizes = np.arange(last - len(solutions) + 1, last + 1)
        values = np.array([solution.value for solution in solutions])
        return cls(sizes, values, S.trace, dense, second, S.n_features, n_rows)


@dataclass(frozen=True, eq=False)
class Curve:
    """A criterion for each cardinality, and the cardinality that it chooses."""

    values: Floats
    chosen: int  # 0 if no component at all is better
    errors: Floats | None = None  # standard errors


def hull(path: PathValues) -> Curve:
    """Return the scree-test ratios on the upper convex hull of variance against cardinality (CHull).

    The ratio at a point of the hull is the slope before it divided by the slope after it. The largest ratio is the
    sharpest bend. It is not a number at other points. The curve begins at k = 0 with the second largest variance of a
    single feature, so that k = 1 is chosen only if one feature has far more variance than the next.
    See Ceulemans and Kiers (2006), and Wilderjans, Ceulemans and Meers, Behavior Research Methods 45 (2013), 1-15.
    """
    k = np.concatenate([[path.cardinalities[0] - 1.0], path.cardinalities])
    start = path.second if path.cardinalities[0] == 1 else path.values[0]
    v = np.concatenate([[min(start, path.values[0])], path.values])
    corners = _upper_hull(k, v)
    slopes = np.diff(v[corners]) / np.diff(k[corners])
    ratios = np.full(len(path.values), np.nan)
    if not v[-1] > v[0]:
        return Curve(ratios, int(path.cardinalities[0]))
    if len(corners) < 3:
        return Curve(ratios, int(path.cardinalities[-1]))
    flattest = ROUNDING * slopes[0]
    at = corners[1:-1]
    ratios[at - 1] = np.maximum(slopes[:-1], flattest) / np.maximum(slopes[1:], flattest)
    visible = slopes[:-1] >= VISIBLE_STEP * (v[-1] - v[0]) / (k[-1] - k[0])
    best = at[visible][np.argmax(ratios[at[visible] - 1])]
    return Curve(ratios, int(k[best]))


def _upper_hull(x: Floats, y: Floats) -> Indices:
    corners = [0]
    for i in range(1, len(x)):
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) > (y[i] - y[b]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(i)
    return np.array(corners)


def sparseness(path: PathValues) -> Curve:
    """Return the index of sparseness, (dense / T) (v_k / T) (share of zero loadings). The largest is best.

    See Trendafilov, Computational Statistics 29 (2014), 431-454, and Gajjar, Kulahci and Palazoglu, Chemometrics and
    Intelligent Laboratory Systems 162 (2017), 160-171.
    """
    zeros = 1.0 - path.cardinalities / path.n_features
    index = (path.dense / path.total) * (path.values / path.total) * zeros
    return Curve(index, int(path.cardinalities[np.argmax(index)]))


def bic(path: PathValues) -> Curve:
    """Return log(RSS / (mn)) + k log(mn) / (mn), with RSS the squared residuals of the rank-one model. Least is best.

    See Guo et al., Journal of Computational and Graphical Statistics 19 (2010), 930-946, and Allen and Maletic-Savatic,
    Bioinformatics 27 (2011), 3029-3035.
    """
    assert path.n_rows is not None
    entries = path.n_rows * path.n_features
    left = np.maximum(path.total - path.values, ROUNDING * path.total)
    criterion = np.log(left / path.n_features) + path.cardinalities * np.log(entries) / entries
    nothing = np.log(path.total / path.n_features)
    return Curve(criterion, _least(path, criterion, nothing))


def ebic(path: PathValues) -> Curve:
    """Return the extended BIC of the spiked model. Least is best.

    The rows are normal with variance v along the component and s in all other directions. The maximum of the
    likelihood is at v = v_k and s = (T - v_k) / (n - 1), so that

        EBIC = m log v_k + m (n - 1) log s + k log m + 2 log C(n, k).

    The last term is the price of the search among C(n, k) supports. A feature of noise gains the best of n - k draws of
    chi-square, about 2 log(n - k), and pays log m + 2 log((n - k) / (k + 1)).
    See Chen and Chen, Biometrika 95 (2008), 759-771.
    """
    assert path.n_rows is not None
    m, n, k = path.n_rows, path.n_features, path.cardinalities
    left = np.maximum(path.total - path.values, ROUNDING * path.total) / max(n - 1, 1)
    supports = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    criterion = m * (np.log(np.maximum(path.values, left)) + (n - 1) * np.log(left)) + k * np.log(m) + 2 * supports
    nothing = m * n * np.log(path.total / n)
    return Curve(criterion, _least(path, criterion, nothing))


def _least(path: PathValues, criterion: Floats, nothing: float) -> int:
    """Return the cardinality of the least value, 0 if no component at all has a lower one."""
    best = int(np.argmin(criterion))
    return int(path.cardinalities[best]) if criterion[best] < nothing else 0


class ObservedCovariance(Covariance):
    """A'A with its diagonal multiplied by d, where A = Y D^-1 / sqrt(m). It need not be semidefinite."""

    semidefinite = False

    def __init__(self, factor: Floats, observed: Floats) -> None:
        self._factor, self.n_features = factor, factor.shape[1]
        lengths = np.einsum("ij,ij->j", factor, factor)
        self._variances: Floats = observed * lengths
        self._excess: Floats = lengths - self._variances

    def _diagonal(self) -> Floats:
        return np.array(self._variances)

    def block(self, rows: Indices, columns: Indices) -> Floats:
        """Return the entries of some rows and columns."""
        block = self._factor[:, rows].T @ self._factor[:, columns]
        return np.where(rows[:, None] == columns, self._variances[columns], block)

    def product(self, block: Floats) -> Floats:
        """Return the matrix times some columns."""
        excess = self._excess if block.ndim == 1 else self._excess[:, None]
        return np.asarray(self._factor.T @ (self._factor @ block) - excess * block)


def hold_out(rows: Floats, problem: Problem, solver: PathSolver, *, folds: int, seed: int) -> Curve | None:
    """Return the error of held-out entries for each cardinality, relative to predicting the mean.

    The standard errors are those of the difference to the best cardinality, over the rows. The noise of the entries is
    the same at all cardinalities and cancels in the difference. It would be most of the standard error of the error
    itself: with n = 250 features, m = 100 rows and a planted component of 10 features, that is as much as several true
    features add, and a rule of one such standard error leaves them out.

    The cardinality chosen is the smallest whose error exceeds the least one by at most one standard error of that
    difference (the one-standard-error rule). It is 0 if that holds for the mean. If the work is stopped, the folds done
    so far count; without any the result is None.

    `rows` are centred and scaled, of the free features, without the earlier components. The problem's covariance is not
    used.
    """
    m, n = rows.shape
    least = max(1, len(problem.forced))
    # The first line is for no component at all.
    gains = np.zeros((problem.cardinality - least + 2, m))
    total = 0.0
    # The entries are divided into folds at random, evenly in each row.
    random = np.random.default_rng(seed)
    part = random.permuted((np.arange(n) + random.integers(folds, size=(m, 1))) % folds, axis=1)
    for fold in range(folds):
        of_fold = _gains_of_fold(rows, part != fold, problem, solver)
        if problem.monitor.stopped is not None:
            break
        gains[1:] += of_fold
        total += float((rows[part == fold] ** 2).sum())
    if not total > 0:
        return None
    errors = 1.0 + gains.sum(axis=1) / total
    negligible = NEGLIGIBLE * (1.0 - errors.min())
    best = int(np.flatnonzero(errors <= errors.min() + negligible)[0])
    spread = (gains - gains[best]).std(axis=1, ddof=1) * np.sqrt(m) / total
    chosen = int(np.flatnonzero(errors - errors[best] <= np.maximum(spread, negligible))[0])
    return Curve(errors[1:], least + chosen - 1 if chosen else 0, spread[1:])


def _gains_of_fold(rows: Floats, observed: Mask, problem: Problem, solver: PathSolver) -> Floats:
    """Return the squared error less that of the mean, summed over the held-out entries of each row, for each k."""
    m, n = rows.shape
    share = observed.mean(axis=0)
    known = np.where(observed, rows, 0.0)
    with np.errstate(divide="ignore"):
        weights = np.where(share > 0, 1.0 / share, 0.0)
    matrix: Covariance = ObservedCovariance(known * (weights / np.sqrt(m)), share)
    if n <= min(WRITE_OUT_LIMIT, 4 * m):
        matrix = DenseCovariance(matrix.submatrix(np.arange(n)), semidefinite=False)
    found = Problem(matrix, problem.cardinality, problem.forced, problem.nonnegative, problem.monitor)
    gains = []
    for solution in solver.path(found):
        support, z = solution.support, solution.loadings
        seen, x = observed[:, support], rows[:, support]
        if len(support) == 1:
            gains.append(np.zeros(m))
            continue
        noise = max((float(matrix.diagonal[support].sum()) - solution.value) / (len(support) - 1), 0.0)
        ratio = noise / max(solution.value - noise, np.finfo(float).tiny)
        scale = seen @ z**2 + ratio
        scores = np.where(scale > 0, known[:, support] @ z / np.where(scale > 0, scale, 1.0), 0.0)
        predicted = scores[:, None] * z
        gains.append(np.where(seen, 0.0, predicted * (predicted - 2 * x)).sum(axis=1))
    return np.array(gains)
