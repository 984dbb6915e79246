"""The number of features that the l1 relaxation uses, for many penalties."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.bounds.dspca import Dspca, largest_penalty
from laconic.core.arguments import is_whole
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, check_time_limit, threads_for
from laconic.covariance import Given
from laconic.covariance.missing import Missing
from laconic.covariance.reading import read_data
from laconic.model.conclusion import Question, bounded, concluded
from laconic.model.forced import forced_places
from laconic.proof.witness import no_features
from laconic.search.problem import Problem, Solution

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """The component that the l1 relaxation gives for each penalty.

    Attributes
    ----------
    penalties : ndarray of float
        The values of the penalty rho, increasing.
    solutions : list of Solution
        The component at each penalty.
    feature_names : list of str or None
        The names of the features, or None if they have none.

    See Also
    --------
    penalty_path : Makes it.

    Examples
    --------
    >>> from laconic import penalty_path
    >>> from laconic.datasets import load_pitprops
    >>> path = penalty_path(load_pitprops().covariance, [0.1, 0.9])
    >>> list(path.to_frame().columns)
    ['penalty', 'cardinality', 'value', 'upper_bound', 'features']
    """

    penalties: Floats
    solutions: list[Solution]
    feature_names: list[str] | None = None

    def __repr__(self) -> str:
        first, last = self.penalties[0], self.penalties[-1]
        sizes = self.cardinalities
        return f"PenaltyPath({len(sizes)} penalties from {first:.4g} to {last:.4g}: {sizes[0]} to {sizes[-1]} features)"

    @property
    def cardinalities(self) -> Indices:
        """The number of features of the component at each penalty."""
        return np.array([len(s.support) for s in self.solutions], dtype=np.intp)

    @property
    def values(self) -> Floats:
        """The variance z'Sz of the component at each penalty."""
        return np.array([s.value for s in self.solutions])

    @property
    def upper_bounds(self) -> Floats:
        """The proved upper bound on the variance of every support of the same size, at each penalty."""
        return np.array([s.upper for s in self.solutions])

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with a row for each penalty."""
        import pandas as pd

        names = self.feature_names
        return pd.DataFrame(
            {
                "penalty": self.penalties,
                "cardinality": self.cardinalities,
                "value": self.values,
                "upper_bound": self.upper_bounds,
                "features": [[str(i) if names is None else names[i] for i in s.support] for s in self.solutions],
            }
        )

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the variance and the cardinality against the penalty; see `laconic.plot.path`.

        Parameters
        ----------
        ax
            The axes to draw on. By default pyplot makes a figure.
        """
        from laconic.report.plot_results import path

        return path(self, ax=ax)


def penalty_path(
    X_or_covariance: Any,
    penalties: Sequence[float] | int = 30,
    *,
    given: Given = "auto",
    forced_in: Sequence[str | int] | None = None,
    center: bool = True,
    scale: bool = False,
    missing: Missing = "error",
    feature_names: Sequence[str] | None = None,
    tolerance: float = 1e-4,
    time_limit: float | None = None,
    progress: bool = False,
) -> PenaltyPath:
    """Return the component that the l1 relaxation gives for every penalty.

    Each relaxation starts from the solution of the previous one.

    Parameters
    ----------
    X_or_covariance : array, sparse matrix, table, or data that are read in blocks
        Rows of data, or a covariance or correlation matrix.
    penalties : int or sequence of float, default=30
        The values of the penalty rho. A whole number gives that many values, evenly spaced on a logarithmic scale from
        a hundredth of the largest variance up to that variance.
    given : {"auto", "rows", "covariance"}, default="auto"
        What the first argument is, as in `cardinality_path`: "auto", "rows" or "covariance".
    forced_in : sequence of str or int, optional
        Features, by name or place, that every support must contain.
    center, scale : bool, default=True and False
        Whether to centre the columns and scale them to variance one, as in `SparsePCA`.
    missing : {"error", "pairwise", "em"}, default="error"
        What to do about missing values in rows: "error", "pairwise" or "em", as in `SparsePCA`.
    feature_names : sequence of str, optional
        The names of the features; by default the column names of a frame.
    tolerance : float, default=1e-4
        The relative gap to which each relaxation is solved.
    time_limit : float, optional
        The time for the whole path, in seconds. Penalties that are not solved by then get the last solution.
    progress : bool, default=False
        Whether to show progress; only on a terminal.

    Returns
    -------
    PenaltyPath
        The components, with a table and a picture.

    See Also
    --------
    cardinality_path : The same with a number of features in place of a penalty.

    Notes
    -----
    For each penalty rho, the relaxation of [1]_ is solved::

        maximise Tr(SX) - rho sum |X_ij|   over positive semidefinite X with trace one.

    If the solution has rank one, X = zz', then z is the component. Otherwise the leading eigenvector of X is rounded to
    one.

    References
    ----------
    .. [1] A. d'Aspremont, L. El Ghaoui, M. I. Jordan and G. R. G. Lanckriet (2007). A direct formulation for sparse PCA
       using semidefinite programming. SIAM Review 49(3), 434-448.

    Examples
    --------
    >>> from laconic import penalty_path
    >>> from laconic.datasets import load_pitprops
    >>> path = penalty_path(load_pitprops().covariance, [0.1, 0.3, 0.9])
    >>> path.cardinalities
    array([11,  7,  2])
    """
    reading = read_data(
        X_or_covariance,
        given,
        center=center,
        scale=scale,
        missing=missing,
        feature_names=feature_names,
    )
    covariance = reading.covariance
    if covariance.at_hand is not None:
        raise ValueError(
            f"penalty_path needs the whole covariance matrix, and {covariance.n_features:,} columns read in blocks are "
            "too many; use cardinality_path, or give fewer columns."
        )
    names, n = reading.feature_names, covariance.n_features
    forced = forced_places(forced_in, names, covariance.varies)
    largest = largest_penalty(covariance)
    if not largest > 0:
        raise ValueError("X has no column that varies; there is no variance to explain.")
    if isinstance(penalties, bool | np.bool_) or (is_whole(penalties) and penalties < 1):
        raise ValueError(f"penalties={penalties} must be at least 1, or a list of values.")
    if is_whole(penalties):
        values = np.geomspace(0.01 * largest, 0.999 * largest, penalties)
    else:
        values = np.unique(np.asarray(penalties, dtype=np.float64))
    if not len(values) or not (values > 0).all() or not (values < largest).all():
        raise ValueError(
            f"penalties must lie above zero and below the largest variance, {largest:.6g}, where the solution is zero."
        )
    check_time_limit(time_limit)
    with threads_for(covariance.n_features), Monitor(time_limit, progress=progress) as monitor:
        problem = Problem(covariance, n, forced, monitor=monitor)
        solutions = []
        for solution in Dspca(tolerance=tolerance).penalized_path(problem, values):
            of_this_size = problem.with_cardinality(len(solution.support))
            solution, bound = bounded(of_this_size, solution, None)
            question = Question(covariance, np.arange(n), of_this_size, no_features())
            solutions.append(concluded(question, solution, bound, feature_names=names)[0])
    return PenaltyPath(values, solutions, names)
