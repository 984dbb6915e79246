"""The maximum-likelihood covariance of rows with missing values, by the EM algorithm.

The model: complete rows are independent draws of a multivariate normal distribution, and whether a value is missing
depends on no value that is missing (missing at random). The likelihood of the values that are there has no maximum in
closed form. EM (Dempster, Laird and Rubin 1977) goes from a mean m and a covariance V to better ones:

    E step  Complete each row by its conditional mean, and add the conditional covariance C of its missing entries:
            T1 = sum of w d, T2 = sum of w (dd' + C), with d the completed deviations from m.
    M step  m + T1 / W and T2 / W - T1 T1' / W^2, with W the sum of the weights.

No step lowers the likelihood (see `ExpectationPass` for the E step). Steps become small long before the end. So after
two steps, from x0 to x1 and x2, there is a leap to x0 + 2 a r + a^2 v with r = x1 - x0 and v = x2 - x1 - r (SQUAREM:
Varadhan and Roland 2008), and a step from there. Where a step multiplies an error by c, these three multiply it by
c (1 - a (1 - c))^2. Varadhan and Roland choose a anew each time, which is faster but enlarges rounding errors without
limit. A fixed a of `LEAP` = 3.5 keeps that factor below one for all c < 1, and makes c near one 2.7 times as fast. If
the likelihood turns out to be lower after a leap, or the matrix singular, go on from x2.

Begin with the means and variances of the values
that are there, and no covariances. Columns are scaled to variance one first. End when a step changes no entry of m or V
by more than `TOLERANCE`, in units of standard deviations and their products, or after `MOST_ITERATIONS` steps.

With too few rows, or columns that depend on each other, V becomes singular: the likelihood has no maximum. A penalty
that stands for r W more rows, whose columns are uncorrelated with the variances of the values that are there, gives one
(a ridge prior: Schafer 1997, section 5.2.3). The M step is then (T2 - T1 T1' / W + r W I) / (W + r W): correlations are
shrunk by 1 / (1 + r).

Without missing values the first step ends at the covariance with divisor W. The result is multiplied by W / D, with D
the usual divisor, n - 1 for rows without weights, so that it is the ordinary covariance then. With missing values n
counts the rows that have a value.

The number of steps is part of the result: the same number of steps from the same rows gives the same matrix, up to
rounding that a contraction does not enlarge. This is how `laconic.verify` makes the matrix again.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dpocon, dpotrf, dpotri

from laconic.core.arrays import Floats
from laconic.core.threads import threads_for
from laconic.data.passes import ExpectationPart

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


class SingularError(ValueError):
    """The covariance is singular, so that rows cannot be completed."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """A mean and a covariance, the number of steps behind them, and whether another step would change them."""

    mean: Floats
    covariance: Floats
    weight: float
    divisor: float
    iterations: int
    converged: bool


def expectation_maximization(
    expectation: Callable[[Floats, Floats], ExpectationPart | None],
    n: int,
    *,
    center: bool,
    ridge: float = 0.0,
    iterations: int | None = None,
) -> Estimate | None:
    """Return the maximum-likelihood mean and covariance (divisor W) of standardised columns.

    Parameters
    ----------
    expectation
        The E step: from the mean and the precision to the sums over all rows, or None if the time is over.
    n
        The number of columns.
    center
        Whether the mean is unknown. Otherwise it is zero, and second moments about zero are estimated.
    ridge
        The share r of rows that the penalty stands for.
    iterations
        The number of steps to make; None to go on until convergence.

    Returns
    -------
    Estimate or None
        None if the time was over before the first step.
    """
    point = Point(np.zeros(n), np.eye(n))
    before: list[Point] = []  # the points since the last leap
    instead: Point | None = None  # where to go on if the present point, a leap, turns out to be worse
    found: Estimate | None = None
    best = -np.inf
    for number in range(1, (MOST_ITERATIONS if iterations is None else iterations) + 1):
        try:
            precision, determinant = _inverse(point.covariance)
        except SingularError:
            if instead is None:
                raise
            point, instead, before = instead, None, []
            precision, determinant = _inverse(point.covariance)
        part = expectation(point.mean, precision)
        if part is None:
            return found
        value = part.likelihood / part.weight - 0.5 * determinant
        value -= 0.5 * ridge * (determinant + float(precision.trace()))
        if instead is not None and found is not None and value < best - WORSE:
            point, instead, before = instead, None, []
            found = replace(found, iterations=number)
            continue
        leapt, instead, best = instead is not None, None, max(best, value)
        new = _maximized(point, part, center=center, ridge=ridge)
        divisor = part.weight - part.weight_squares / part.weight if center else part.weight
        converged = point.change(new) <= TOLERANCE
        found = Estimate(new.mean, new.covariance, part.weight, divisor, number, converged)
        if converged and iterations is None:
            break
        before, point = [] if leapt else [*before, point], new
        if len(before) == 2:
            point, instead = _leap(before[0], before[1], point), point
    return found


@dataclass(frozen=True, eq=False)
class Point:
    """A mean and a covariance on the way."""

    mean: Floats
    covariance: Floats

    def change(self, new: "Point") -> float:
        """Return the largest change of an entry, in units of standard deviations and their products."""
        sizes = np.sqrt(new.covariance.diagonal())
        entries = np.abs(new.covariance - self.covariance) / np.multiply.outer(sizes, sizes)
        return max(float((np.abs(new.mean - self.mean) / sizes).max()), float(entries.max()))


def _maximized(point: Point, part: ExpectationPart, *, center: bool, ridge: float) -> Point:
    """Return the result of the M step."""
    n = len(point.mean)
    shift = part.sums / part.weight if center else np.zeros(n)
    new = part.products / part.weight - np.multiply.outer(shift, shift)
    new.flat[:: n + 1] += ridge
    return Point(point.mean + shift, 0.5 * (new + new.T) / (1 + ridge))


def _leap(first: Point, second: Point, third: Point) -> Point:
    """Return the point to which three points lead."""

    def ahead(x0: Floats, x1: Floats, x2: Floats) -> Floats:
        return x0 + 2 * LEAP * (x1 - x0) + LEAP**2 * ((x2 - x1) - (x1 - x0))

    return Point(
        ahead(first.mean, second.mean, third.mean), ahead(first.covariance, second.covariance, third.covariance)
    )


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
