"""Cross-validation of sparse PCA by entries.

Held-out rows cannot choose a number of features: the scores of a held-out row are computed from that row itself, so
that more features always explain more of it. Here single entries are held out. The others give the component, and
predict them.

In each fold a share of the entries of every row is held out. With the observed entries Y (zero elsewhere) and the share
d_j of observed rows in column j, the covariance is estimated by y_i'y_j / (m d_i d_j) off the diagonal and
y_j'y_j / (m d_j) on it, which is unbiased if entries are held out at random. The path of components is found in this
matrix. With the loadings z of k features and their value v, and the noise variance s, the mean of the other k - 1
eigenvalues of their block, the score of a row is predicted from its observed entries as the spiked model does it,

    t = sum of z_j x_j / (sum of z_j^2 + s / (v - s)),    the sums over the observed features of the support,

and the held-out entry x_j by t z_j; by zero, the mean, if feature j is not used. A feature of noise that enters the
support adds the error (t z_j)^2 to its entries, so that more is not always better. One feature alone predicts nothing.
"""

import numpy as np

from laconic.core.arrays import WRITE_OUT_LIMIT, Floats, Indices, Mask
from laconic.covariance import Covariance, DenseCovariance
from laconic.covariance.observed import ObservedCovariance
from laconic.model.choosing.criteria import Curve
from laconic.search.problem import PathSolver, Problem

# An error that is higher by less than this share of the variance predicted is not worth another feature.
NEGLIGIBLE = 1e-3


def hold_out(rows: Floats, problem: Problem, solver: PathSolver, *, folds: int, seed: int) -> Curve | None:
    """Return the error of held-out entries for each cardinality, relative to predicting the mean.

    The standard errors are those of the difference to the best cardinality, over the rows. The noise of the entries is
    the same at all cardinalities and cancels in the difference. It would be most of the standard error of the error
    itself: with n = 250 features, m = 100 rows and a planted component of 10 features, that is as much as several true
    features add, and a rule of one such standard error leaves them out.

    The cardinality chosen is the smallest whose error exceeds the least one by at most one standard error of that
    difference (the one-standard-error rule). It is 0 if that holds for the mean. If the work is stopped, the folds done
    so far count; without any the result is None.

    Parameters
    ----------
    rows
        Centred and scaled rows of the free features, without the earlier components.
    problem
        The largest cardinality and the constraints; its covariance is not used.
    solver
        Finds the path of each fold.
    folds
        The number of parts that the entries are divided into.
    seed
        The seed of the division.
    """
    m, n = rows.shape
    least = max(1, len(problem.forced))
    # The first line is for no component at all.
    gains = np.zeros((problem.cardinality - least + 2, m))
    total = 0.0
    part = _parts(m, n, folds, np.random.default_rng(seed))
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


def _parts(m: int, n: int, folds: int, rng: np.random.Generator) -> Indices:
    """Divide the entries into folds at random, evenly in each row."""
    parts = (np.arange(n) + rng.integers(folds, size=(m, 1))) % folds
    return rng.permuted(parts, axis=1)


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
