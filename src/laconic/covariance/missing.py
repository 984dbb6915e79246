"""The covariance of rows with missing values: by pairwise deletion, or by EM.

**Pairwise deletion.** Entry (i, j) is the covariance of columns i and j over the rows that have both, about the means
of these rows, divided by their number less one, as in `pandas.DataFrame.cov`. With scaling it is the correlation over
these rows, as in `pandas.DataFrame.corr`. The entries come from different rows, so the matrix need not be positive
semidefinite.

**EM.** The model: complete rows are independent draws of a multivariate normal distribution, and whether a value is
missing depends on no value that is missing. EM (Dempster, Laird and Rubin 1977) goes from a mean m and a covariance V
to better ones; no step lowers the likelihood:

    E step  Complete each row by its conditional mean, and add the conditional covariance C of its missing entries:
            T1 = sum of w d, T2 = sum of w (dd' + C), with d the completed deviations from m.
    M step  m + T1 / W and T2 / W - T1 T1' / W^2, with W the sum of the weights.

Steps become small long before the end. So after two steps, from x0 to x1 and x2, there is a leap to
x0 + 2 a r + a^2 v with r = x1 - x0 and v = x2 - x1 - r (SQUAREM: Varadhan and Roland 2008), and a step from there.
Where a step multiplies an error by c, these three multiply it by c (1 - a (1 - c))^2. A fixed a of `LEAP` = 3.5 keeps
that factor below one for all c < 1, so that rounding errors do not grow. If the likelihood is lower after a leap, or
the matrix singular, go on from x2. Columns are scaled to variance one first. EM ends when a step changes no entry of m
or V by more than `TOLERANCE`, in units of standard deviations and their products.

With too few rows, or columns that depend on each other, the likelihood has no maximum. A penalty that stands for r W
more rows with uncorrelated columns gives one (a ridge prior: Schafer 1997, section 5.2.3). The M step is then
(T2 - T1 T1' / W + r W I) / (W + r W).

Without missing values the first step ends at the covariance with divisor W. The result is multiplied by W / D, with D
the usual divisor. The number of steps is part of the recipe: the same number of steps from the same rows gives the same
matrix, up to rounding. This is how `laconic.verify` makes it again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg.lapack import dpocon, dpotrf, dpotri

from laconic.core.arrays import BLOCK_ENTRIES, WRITE_OUT_LIMIT, Floats, Indices, Mask
from laconic.core.eigenvalues import EPS
from laconic.core.monitor import Monitor, Note, Stop, threads_for, warn
from laconic.core.rounding import TINY
from laconic.core.words import check_memory
from laconic.covariance.of_rows import SMALL_NUMBERS
from laconic.covariance.screening import Screening, check_unchanged
from laconic.data.passes import PairwisePart, PairwisePass, count_rows, dense_parts, divisor_of
from laconic.data.rows import CompleteRows, complete
from laconic.data.tables import check_magnitude, listed

# What may be done about missing values.
WAYS = ("error", "pairwise", "em", "drop")
TOLERANCE = 1e-6
MOST_ITERATIONS = 1000
# The length of a leap.
LEAP = 3.5
# A leap is taken back if it lowers the mean log-likelihood of a row by more than this. Less may be rounding.
WORSE = 1e-6
# If there is no maximum, correlations are shrunk as if this share more rows had been seen.
RIDGE = 0.1
# The least reciprocal condition number of a correlation matrix whose inverse is used. Below, half of the digits of the
# conditional means are lost.
LEAST_CONDITION = 1e-8
# Arrays of the size of the matrix that pairwise deletion holds at once: five sums of the total and of a block, and
# temporaries.
COPIES = 12
# A column counts as constant over the rows that it shares with another if its variance there is below this share of its
# mean square about the overall mean. Its correlation would be known to fewer than nine digits; it is set to zero.
COMMON_SPREAD = 1e-6
# A divisor of at most this share of the sum of weights is rounding: one row has all the weight.
ONE_ROW = 1e-12


@dataclass(frozen=True, eq=False)
class MissingValues:
    """The missing values of a fit, and what was done about them."""

    way: str  # "pairwise", "em" or "drop"
    counts: Indices  # the number of missing values in each column
    iterations: int = 0  # the steps of EM
    converged: bool = True  # whether another step of EM would have changed nothing that matters
    ridge: float = 0.0  # EM shrank correlations as if this share more rows had been seen; 0 if there was no need
    rows: int = 0  # the rows that were left out with "drop"


@dataclass(frozen=True, eq=False)
class MatrixOfPresent:
    """The matrix that was made from the values that are there, how columns are centred and scaled, and how."""

    matrix: Floats
    means: Floats
    scales: Floats
    constant: Mask
    missing: MissingValues


@dataclass(eq=False)
class PresentValues(Screening):
    """A source with missing values, and the passes over it. EM needs the rows in memory."""

    allow_missing: bool = True
    weights: Floats | None = None

    def matrix(self, way: str, iterations: int = 0, ridge: float = 0.0) -> MatrixOfPresent:
        """Return the matrix that is made in this way; the last two arguments are those of `em`."""
        return self._pairwise(*self._pairs(), scale=self.scale) if way == "pairwise" else self.em(iterations, ridge)

    def _pairs(self) -> tuple[PairwisePart, Floats]:
        """Return the sums over all pairs of columns, and the centers that they are about."""
        n = self.source.n_features
        if n > WRITE_OUT_LIMIT:
            raise ValueError(
                f"Missing values need sums over all pairs of columns, for at most {WRITE_OUT_LIMIT:,} columns, and "
                f"{self.source.name} has {n:,}; leave columns out, or fill the missing values first."
            )
        check_memory(8 * COPIES * n**2, f"The sums over all pairs of {n:,} columns", "leave columns out first")
        centers = self.first.present_means if self.center else np.zeros(n)
        with threads_for(n):
            part = self.run(PairwisePass(np.arange(n), centers, self.weights), f"products of {n:,} columns")
        check_unchanged(self.source, part.column_digests.agrees_with(self.first.column_digests))
        return part, centers

    def _pairwise(self, part: PairwisePart, centers: Floats, *, scale: bool) -> MatrixOfPresent:
        """Return the matrix of pairwise deletion, exactly symmetric. A column that does not vary has zero entries."""
        _check_pairs(part, center=self.center, name=self.source.name, feature_names=self.source.feature_names)
        weights, sums = part.weights, part.sums
        products, squares, divisor = part.products, part.squares, weights
        own, own_weights = sums.diagonal(), weights.diagonal()
        if self.center:
            products = products - sums * sums.T / weights
            squares = np.maximum(squares - sums**2 / weights, 0.0)
            divisor = pair_divisors(part)
        means = centers + own / own_weights if self.center else np.zeros(len(centers))
        spread, name = squares.diagonal(), self.source.name
        with np.errstate(over="ignore"):
            constant = spread <= own_weights * (own_weights * EPS * means) ** 2
        if not (np.isfinite(products).all() and np.isfinite(squares).all()):
            raise ValueError(f"{name} has entries so large that their squares overflow; rescale its columns first.")
        if (spread[~constant] < TINY).any():
            raise ValueError(f"{name} has columns so small that their squares underflow; rescale these columns first.")
        scales = np.ones(len(means))
        if scale:
            scales = np.where(constant, 1.0, np.sqrt(divisor.diagonal() / np.where(constant, 1.0, spread)))
            varies = squares > COMMON_SPREAD * part.squares
            lengths = np.sqrt(np.where(varies, squares, 1.0))
            matrix = np.where(varies & varies.T, products / lengths / lengths.T, 0.0)
            np.fill_diagonal(matrix, 1.0)
        else:
            matrix = products / divisor
            check_magnitude(float(matrix.diagonal()[~constant].max(initial=0.0)), name=name)
        matrix = 0.5 * (matrix + matrix.T)
        matrix[constant], matrix[:, constant] = 0.0, 0.0
        return MatrixOfPresent(matrix, means, scales, constant, MissingValues("pairwise", self.first.missing))

    def em(self, iterations: int = 0, ridge: float = 0.0) -> MatrixOfPresent:
        """Return the maximum-likelihood covariance, or one with a ridge if the likelihood has no maximum.

        To make a matrix again, the number of steps and the ridge are given; 0 steps go on until convergence.
        """
        if not 0 <= iterations <= MOST_ITERATIONS:
            raise ValueError(f"EM makes from 1 to {MOST_ITERATIONS} steps, not {iterations}.")
        if ridge not in (0.0, RIDGE):
            raise ValueError(f"EM has a ridge of 0 or {RIDGE}, not {ridge}.")
        if self.first.n_rows * self.source.n_features > SMALL_NUMBERS:
            raise ValueError(
                f"EM reads all rows in each step, and {self.source.name} is too large for memory; use pairwise "
                "deletion, or fill the missing values first."
            )
        part, centers = self._pairs()
        start = self._pairwise(part, centers, scale=True)
        columns = np.flatnonzero(~start.constant)
        means, scales, matrix = start.means.copy(), np.ones(len(centers)), np.zeros_like(start.matrix)
        missing = MissingValues("em", self.first.missing)
        if len(columns):
            # EM works with the divisor W, the sum of the weights.
            total, usual = part.weights.diagonal()[columns], pair_divisors(part).diagonal()[columns]
            units = start.scales[columns] * (np.sqrt(total / usual) if self.center else 1.0)
            rows = np.concatenate([part for block in self.source.blocks() for _, part in dense_parts(block.rows)])
            rows = (rows[:, columns] - start.means[columns]) * units
            weights = counted(rows, self.weights)
            (found, steps, converged), used = self._estimate(rows, weights, iterations, ridge)
            missing = MissingValues("em", missing.counts, steps, converged, used)
            means[columns] += found[0] / units
            own, sizes, weight = found[1:], np.sqrt(found[1:].diagonal()), float(weights.sum())
            squares = None if count_rows(self.weights) else float((weights**2).sum())
            divisor = float(divisor_of(weight, squares)) if self.center else weight
            if self.scale:
                scales[columns] = units / sizes * np.sqrt(divisor / weight)
                own = own / np.multiply.outer(sizes, sizes)
                np.fill_diagonal(own, 1.0)
            else:
                own = own * (weight / divisor) / np.multiply.outer(units, units)
                check_magnitude(float(own.diagonal().max()), name=self.source.name)
            matrix[np.ix_(columns, columns)] = own
        return MatrixOfPresent(matrix, means, scales, start.constant, missing)

    def complete_rows(self) -> tuple[Any, Floats | None, MissingValues]:
        """Return the rows that have no missing value, in memory if all are, their weights, and what is left out."""
        source, first = self.source, self.first
        kept = first.n_rows - first.incomplete
        if kept < 2:
            place = int(first.missing.argmax())
            most = repr(place if source.feature_names is None else source.feature_names[place])
            raise ValueError(
                f"{source.name} has {kept} of {first.n_rows:,} rows without missing values, and 'drop' needs two; set "
                f"missing to pairwise, or leave out columns such as {most} ({first.missing[place]:,} missing)."
            )
        missing = MissingValues("drop", first.missing, rows=first.incomplete)
        rows = source.in_memory()
        if rows is None:
            return CompleteRows(source), None, missing
        there = complete(rows)
        return rows[there], None if self.weights is None else self.weights[there], missing

    def _estimate(self, rows: Floats, weights: Floats, iterations: int, ridge: float) -> tuple["Estimate", float]:
        """Return the estimate for standardised columns, and the ridge: if none is asked for, one only where it must."""
        least = RIDGE if not iterations and len(rows) <= rows.shape[1] else ridge
        with threads_for(rows.shape[1]):
            try:
                return expectation_maximization(rows, weights, self.monitor, self.center, least, iterations), least
            except SingularError:
                if least:
                    raise
                return expectation_maximization(rows, weights, self.monitor, self.center, RIDGE, iterations), RIDGE

    def warn_of(self, missing: MissingValues) -> None:
        """Say in a sentence each if rows are left out, or EM used a ridge, or did not converge."""
        if missing.rows:
            left_out = f"{missing.rows:,} of {self.first.n_rows:,}"
            place, names = int(missing.counts.argmax()), self.source.feature_names
            most = f"column {place}" if names is None else repr(names[place])
            warn(
                f"Rows of {self.source.name} with missing values are left out: {left_out}; {missing.counts[place]:,} "
                f"have none for {most}.",
                Note,
            )
        if missing.ridge:
            warn(
                f"{self.source.name} has no maximum-likelihood covariance, because it has too few rows or columns that "
                "depend on each other; EM shrinks the correlations towards zero, as if a tenth more rows with "
                "uncorrelated columns had been seen (pairwise deletion does not)."
            )
        if not missing.converged:
            stop = self.monitor.stopped
            why = {None: "", Stop.TIME_LIMIT: " at the time limit", Stop.INTERRUPTED: " by Ctrl-C"}[stop]
            warn(
                f"EM was stopped{why} after {missing.iterations} steps, before it converged; the covariance is that of "
                f"the last step{'' if stop else ' (pairwise deletion needs no steps)'}."
            )


def pair_divisors(part: PairwisePart) -> Floats:
    """Return the divisor of each covariance, with the sums over the rows that have both values."""
    return np.asarray(divisor_of(part.weights, part.weight_squares))


def _check_pairs(part: PairwisePart, *, center: bool, name: str, feature_names: Sequence[str] | None) -> None:
    """Raise a ValueError that names columns with too few values, or pairs of columns with too few rows in common."""
    enough: Mask = pair_divisors(part) > ONE_ROW * part.weights if center else part.weights > 0
    least = "two rows" if center else "one row"
    labels = range(len(enough)) if feature_names is None else [repr(str(label)) for label in feature_names]
    few = [str(labels[i]) for i in np.flatnonzero(~enough.diagonal())]
    if few:
        has = "column has" if len(few) == 1 else "columns have"
        raise ValueError(
            f"{len(few)} {has} a value in fewer than {least} of {name}: {listed(few)}; leave these columns out."
        )
    pairs = [f"{labels[i]} and {labels[j]}" for i, j in np.argwhere(np.triu(~enough)).tolist()]
    if pairs:
        have = "pair of columns has" if len(pairs) == 1 else "pairs of columns have"
        raise ValueError(
            f"{len(pairs)} {have} fewer than {least} of {name} with both values: {listed(pairs)}; nothing tells how "
            "they vary together, so leave one of each pair out."
        )


class SingularError(ValueError):
    """The covariance is singular, so that rows cannot be completed."""


# A mean and below it a covariance, in one array; the number of steps behind them; and whether another step would change
# nothing that matters.
Estimate: TypeAlias = tuple[Floats, int, bool]


def expectation_maximization(
    rows: Floats, weights: Floats, monitor: Monitor, center: bool, ridge: float = 0.0, iterations: int = 0
) -> Estimate:
    """Return the maximum-likelihood mean and covariance (divisor W) of standardised columns.

    Without `center` the mean is zero, and second moments about zero are estimated. `ridge` is the share r of rows that
    the penalty stands for. A number of `iterations` is made exactly. At the time limit the estimate so far is returned,
    or an error raised if there is none.
    """
    n, weight = rows.shape[1], float(weights.sum())
    point = np.vstack([np.zeros(n), np.eye(n)])
    before: list[Floats] = []  # the points since the last leap
    instead: Floats | None = None  # where to go on if the present point, a leap, turns out to be worse
    found: Estimate | None = None
    best = -np.inf
    with monitor.watch():
        for number in range(1, (iterations or MOST_ITERATIONS) + 1):
            monitor.tick(f"EM, step {number}")
            try:
                precision, determinant = _inverse(point[1:])
            except SingularError:
                if instead is None:
                    raise
                point, instead, before = instead, None, []
                precision, determinant = _inverse(point[1:])
            sums, products, likelihood = expectation(rows, weights, point[0], precision)
            value = likelihood / weight - 0.5 * determinant
            value -= 0.5 * ridge * (determinant + float(precision.trace()))
            if instead is not None and found is not None and value < best - WORSE:
                point, instead, before = instead, None, []
                found = found[0], number, found[2]
                continue
            leapt, instead, best = instead is not None, None, max(best, value)
            shift = sums / weight if center else np.zeros(n)
            moments = products / weight - np.multiply.outer(shift, shift)
            moments.flat[:: n + 1] += ridge
            new = np.vstack([point[0] + shift, 0.5 * (moments + moments.T) / (1 + ridge)])
            sizes = np.sqrt(new[1:].diagonal())
            units = np.vstack([sizes, np.multiply.outer(sizes, sizes)])
            converged = bool((np.abs(new - point) / units).max() <= TOLERANCE)
            found = new, number, converged
            if converged and not iterations:
                break
            before, point = [] if leapt else [*before, point], new
            if len(before) == 2:
                (x0, x1), instead = before, new
                point = x0 + 2 * LEAP * (x1 - x0) + LEAP**2 * ((new - x1) - (x1 - x0))
    if found is None:
        if monitor.stopped is Stop.TIME_LIMIT:
            raise TimeoutError("The time limit was reached before the first step of EM; give more time.")
        raise KeyboardInterrupt("Interrupted before the first step of EM.")
    return found


def counted(rows: Floats, weights: Floats | None) -> Floats:
    """Return the weights of rows. A row without any value says nothing, and has none."""
    return np.where(np.isnan(rows).all(axis=1), 0.0, 1.0 if weights is None else weights)


def expectation(rows: Floats, weights: Floats, mean: Floats, precision: Floats) -> tuple[Floats, Floats, float]:
    """Do the E step for a multivariate normal with this mean m and precision K, the inverse of the covariance.

    Return the expected sums T1 and T2 of the complete rows, given the values that are there, and the log-likelihood.

    Let d = x - m be a row with its missing entries set to zero, and let M be the places of these entries. Given the
    others, the missing entries are normal with covariance C = (K_MM)^-1 and mean m_M - C (Kd)_M. So each row adds its
    completed deviations e, their products, and C on the places M. Its log-likelihood, up to a constant, is
    -(logdet(V) + logdet(K_MM) + e'Kd) / 2, V the covariance: the determinant of V on the other places is det(V) times
    that of K_MM, and e'Ke = e'Kd because Ke is zero on M. The terms with V are left out.
    """
    n = len(mean)
    sums, products, likelihood = np.zeros(n), np.zeros((n, n)), 0.0
    for begin, block in dense_parts(rows):
        w = weights[begin : begin + len(block)]
        deviations = block - mean
        missing = np.isnan(deviations)
        deviations[missing] = 0.0
        images = deviations @ precision
        determinants = _complete(deviations, images, missing, w, precision, products)
        products += (deviations * w[:, None]).T @ deviations
        sums += w @ deviations
        likelihood -= 0.5 * (determinants + float(w @ (deviations * images).sum(axis=1)))
    return sums, products, likelihood


def _complete(
    deviations: Floats, images: Floats, missing: Mask, weights: Floats, precision: Floats, products: Floats
) -> float:
    """Complete rows in place, add their conditional covariances, and return the weighted sum of logdet(K_MM).

    Rows with equally many missing entries are treated together: a stack of small inverses, one for each pattern.
    """
    counts, total = missing.sum(axis=1), 0.0
    for count in np.unique(counts[(counts > 0) & (weights > 0)]):
        rows = np.flatnonzero((counts == count) & (weights > 0))
        places = np.nonzero(missing[rows])[1].reshape(len(rows), count)
        all_patterns, which = np.unique(places, axis=0, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        rows, which = rows[order], which.ravel()[order]
        step = max(1, BLOCK_ENTRIES // int(count) ** 2)
        for begin in range(0, len(all_patterns), step):
            own = slice(*np.searchsorted(which, (begin, begin + step)))
            patterns, these, of_row = all_patterns[begin : begin + step], rows[own], which[own] - begin
            blocks = precision[patterns[:, :, None], patterns[:, None, :]]
            conditional, determinants = np.linalg.inv(blocks), np.linalg.slogdet(blocks)[1]
            for first in range(0, len(these), step):
                one = of_row[first : first + step]
                at = these[first : first + step, None], patterns[one]
                deviations[at] = -(conditional[one] @ images[at][:, :, None])[:, :, 0]
            sizes = np.bincount(of_row, weights[these], minlength=len(patterns))
            cells = patterns[:, :, None] * len(products) + patterns[:, None, :]
            added = np.bincount(cells.ravel(), (conditional * sizes[:, None, None]).ravel(), minlength=products.size)
            products += added.reshape(products.shape)
            total += float(sizes @ determinants)
    return total


def _inverse(covariance: Floats) -> tuple[Floats, float]:
    """Return the inverse and the log-determinant of a covariance matrix.

    Raises a `SingularError` if it is singular, up to rounding.
    """
    if not (covariance.diagonal() > 0).all():
        raise SingularError
    scales = 1.0 / np.sqrt(covariance.diagonal())
    correlation = covariance * scales * scales[:, None]
    with threads_for(len(covariance)):
        factor, info = dpotrf(correlation, lower=True, clean=True)
        rcond = dpocon(factor, np.abs(correlation).sum(axis=0).max(), uplo="L")[0] if info == 0 else 0.0
        if rcond < LEAST_CONDITION:
            raise SingularError
        inverse = dpotri(factor, lower=True)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    determinant = 2 * float(np.log(factor.diagonal()).sum() - np.log(scales).sum())
    return np.asarray(inverse * scales * scales[:, None]), determinant
