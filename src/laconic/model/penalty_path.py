"""Cardinality against the l1 penalty."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arguments import is_whole
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, check_time_limit
from laconic.core.threads import threads_for
from laconic.covariance import Kind, read_covariance
from laconic.methods.dspca import Dspca
from laconic.problem.problem import Problem
from laconic.problem.solution import Solution

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """The component that the l1 relaxation gives for each penalty.

    Attributes
    ----------
    penalties
        The values of rho, increasing.
    solutions
        One for each.
    feature_names
        Names of the features, or None.
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
        """The number of features at each penalty."""
        return np.array([len(s.support) for s in self.solutions], dtype=np.intp)

    @property
    def values(self) -> Floats:
        """The value z'Sz at each penalty."""
        return np.array([s.value for s in self.solutions])

    @property
    def upper_bounds(self) -> Floats:
        """What no support of that size exceeds, at each penalty."""
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
        """Draw the cardinality against the penalty; return the axes."""
        from laconic.report.plots import plot_penalty_path

        return plot_penalty_path(self, ax)


def penalty_path(
    X_or_covariance: Any,
    penalties: Sequence[float] | int = 30,
    *,
    given: Kind = "auto",
    center: bool = True,
    scale: bool = False,
    tolerance: float = 1e-4,
    time_limit: float | None = None,
    progress: bool = False,
) -> PenaltyPath:
    """Return the component of the l1 relaxation for every penalty, from one warm-started run.

    Parameters
    ----------
    X_or_covariance
        Rows of data, or a covariance or correlation matrix.
    penalties
        The values of rho; or how many, spread evenly on a logarithmic scale from a hundredth of the largest variance
        up to it.
    given
        What the first argument is, as in `cardinality_path`.
    center, scale
        As in `SparsePCA`, for rows.
    tolerance
        The relative gap to which each relaxation is solved.
    time_limit
        Seconds for all of it.
    progress
        Show progress, on a terminal only.
    """
    covariance, names = read_covariance(X_or_covariance, given, center=center, scale=scale)
    largest = float(covariance.diagonal.max())
    if not largest > 0:
        raise ValueError("X has no column that varies; there is no variance to explain.")
    if isinstance(penalties, bool | np.bool_) or (is_whole(penalties) and penalties < 1):
        raise ValueError(f"penalties={penalties} must be at least 1, or the values themselves.")
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
        problem = Problem(covariance, covariance.n_features, monitor=monitor)
        solutions = Dspca(tolerance=tolerance).penalized_path(problem, values)
    return PenaltyPath(values, solutions, names)
