"""Pairwise deletion: each covariance from the rows that have both values.

Entry (i, j) is the covariance of columns i and j over the rows that have both, about the means of these rows, divided
by their number less one: what `pandas.DataFrame.cov` and `cov(use = "pairwise")` of R compute. The variances are those
of all values of a column. With scaling, entry (i, j) is the correlation over these rows, with the standard deviations
of these rows, as in `pandas.DataFrame.corr`: the diagonal is one and no entry exceeds one. The entries come from
different rows, so the matrix need not be positive semidefinite.
"""

from collections.abc import Sequence

import numpy as np

from laconic.core.arrays import Floats, Mask
from laconic.core.memory import check_memory
from laconic.core.rounding import TINY
from laconic.covariance.standardization import Standardization
from laconic.data.checks import check_magnitude
from laconic.data.passes import PairwisePart

# Arrays of the size of the matrix that are held at once: five sums of the total and of a block, and temporaries.
COPIES = 12
# A column counts as constant over the rows that it shares with another if its variance there is below this share of its
# mean square about the overall mean. Its correlation would be known to fewer than nine digits; it is set to zero.
COMMON_SPREAD = 1e-6
# A divisor of at most this share of the sum of weights is rounding: one row has all the weight.
ONE_ROW = 1e-12
EPS = float(np.finfo(float).eps)


def check_pairwise_memory(n: int) -> None:
    """Raise a MemoryError if the sums over all pairs of n columns do not fit in memory."""
    check_memory(8 * COPIES * n**2, f"The sums over all pairs of {n:,} columns", "leave columns out first")


def pairwise_matrix(
    part: PairwisePart, centers: Floats, *, center: bool, scale: bool, name: str, feature_names: Sequence[str] | None
) -> tuple[Floats, Standardization]:
    """Return the matrix of pairwise deletion, exactly symmetric, and how rows are centred and scaled.

    `centers` were subtracted from the values; they are zero if the rows are not centred. Sums are over the rows that
    have both values, as in `PairwisePart`. A column that does not vary has zero entries.
    """
    check_pairs(part, center=center, name=name, feature_names=feature_names)
    weights, sums = part.weights, part.sums
    products, squares, divisor = part.products, part.squares, weights
    own, own_weights = sums.diagonal(), weights.diagonal()
    if center:
        products = products - sums * sums.T / weights
        squares = np.maximum(squares - sums**2 / weights, 0.0)
        divisor = pair_divisors(part)
    means = centers + own / own_weights if center else np.zeros(len(centers))
    spread = squares.diagonal()
    with np.errstate(over="ignore"):
        constant = spread <= own_weights * (own_weights * EPS * means) ** 2
    if not (np.isfinite(products).all() and np.isfinite(squares).all()):
        raise ValueError(f"{name} has entries so large that their squares overflow; rescale its columns first.")
    if (spread[~constant] < TINY).any():
        raise ValueError(f"{name} has columns so small that their squares underflow; rescale these columns first.")
    if scale:
        scales = np.where(constant, 1.0, np.sqrt(own_weights / np.where(constant, 1.0, spread)))
        varies = squares > COMMON_SPREAD * part.squares
        lengths = np.sqrt(np.where(varies, squares, 1.0))
        matrix = np.where(varies & varies.T, products / lengths / lengths.T, 0.0)
        np.fill_diagonal(matrix, 1.0)
    else:
        scales = np.ones(len(means))
        matrix = products / divisor
        check_magnitude(float(matrix.diagonal()[~constant].max(initial=0.0)), name=name)
    matrix = 0.5 * (matrix + matrix.T)
    matrix[constant], matrix[:, constant] = 0.0, 0.0
    return matrix, Standardization(means, scales, constant)


def pair_divisors(part: PairwisePart) -> Floats:
    """Return the divisor of each covariance: W - (sum of w^2) / W over the rows that have both values."""
    if part.weight_squares is None:
        return part.weights - 1.0
    return np.asarray(part.weights - part.weight_squares / np.where(part.weights > 0, part.weights, 1.0))


def check_pairs(part: PairwisePart, *, center: bool, name: str, feature_names: Sequence[str] | None) -> None:
    """Raise a ValueError that names columns with too few values, or pairs of columns with too few rows in common."""
    enough: Mask = pair_divisors(part) > ONE_ROW * part.weights if center else part.weights > 0
    least = "two rows" if center else "one row"

    def label(place: int) -> str:
        return repr(str(feature_names[place])) if feature_names is not None else str(place)

    few = np.flatnonzero(~enough.diagonal())
    if len(few):
        listed = ", ".join(label(int(i)) for i in few[:5]) + (", ..." if len(few) > 5 else "")
        has = "column has" if len(few) == 1 else "columns have"
        drop = "leave it out" if len(few) == 1 else "leave them out"
        raise ValueError(f"{len(few)} {has} a value in fewer than {least} of {name}: {listed}; {drop}.")
    pairs = np.argwhere(np.triu(~enough))
    if len(pairs):
        listed = ", ".join(f"{label(int(i))} and {label(int(j))}" for i, j in pairs[:3])
        more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
        are = "pair of columns has" if len(pairs) == 1 else "pairs of columns have"
        raise ValueError(
            f"{len(pairs)} {are} fewer than {least} of {name} with both values: {listed}{more}; nothing tells how they "
            "vary together, so leave one of each pair out."
        )
