"""The sharpest bend of variance against the number of features: the number that a component needs.

Earlier components are removed. A planted component with k features raises the variance by about the same amount for
each of its features. A feature of pure noise raises it by much less: by about 2 log(n) / m times the noise variance
with n features and m rows, the best of n - k draws of chi-square. The bend is where the one turns into the other.
"""

from collections.abc import Sequence

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.search.problem import Problem, Solution

# A bend counts only if the step before it is at least this share of the mean step. At the flat end of a curve, ratios
# of tiny steps say nothing.
VISIBLE_STEP = 0.3
# A slope below this share of the steepest is rounding.
ROUNDING = 1e-12


def bend_of(problem: Problem, solutions: Sequence[Solution]) -> int:
    """Return the sharpest bend of solutions of consecutive cardinalities, the last that of the problem.

    The curve begins at k = 0 with the second largest variance of a single feature, so that k = 1 is chosen only if one
    feature has far more variance than the next.
    """
    variances, last = problem.covariance.diagonal, problem.cardinality
    second = float(np.partition(variances, -2)[-2]) if len(variances) > 1 else 0.0
    sizes, values = np.arange(last - len(solutions) + 1, last + 1), np.array([one.value for one in solutions])
    return sharpest_bend(sizes, values, second if sizes[0] == 1 else values[0])


def sharpest_bend(sizes: Indices, values: Floats, before: float) -> int:
    """Return the cardinality with the sharpest bend of variance against cardinality (CHull).

    At a corner of the upper convex hull of the curve, the slope before it is divided by the slope after it. The largest
    visible ratio is the sharpest bend. The curve begins one feature earlier with the value `before`. See Ceulemans and
    Kiers (2006), and Wilderjans, Ceulemans and Meers, Behavior Research Methods 45 (2013), 1-15.
    """
    k = np.concatenate([[sizes[0] - 1.0], sizes])
    v = np.concatenate([[min(before, values[0])], values])
    corners = _upper_hull(k, v)
    slopes = np.diff(v[corners]) / np.diff(k[corners])
    if not v[-1] > v[0]:
        return int(sizes[0])
    if len(corners) < 3:
        return int(sizes[-1])
    visible = slopes[:-1] >= VISIBLE_STEP * (v[-1] - v[0]) / (k[-1] - k[0])
    slopes = np.maximum(slopes, ROUNDING * slopes[0])
    return int(k[corners[1:-1][visible][np.argmax((slopes[:-1] / slopes[1:])[visible])]])


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
