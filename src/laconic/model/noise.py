"""Is a component more than noise? The same search in tables with permuted columns (parallel analysis).

The largest of many random numbers is large. So the best component of pure noise has a large variance, too, and a proof
that it is the best does not make it real. Permuting each column on its own keeps every mean and every variance, and
breaks every relation between columns. What the same search finds in such tables is what it finds in noise:

    p = (1 + number of permuted tables with at least the value found in the data) / (1 + number of permuted tables).

If the columns are independent and the rows are exchangeable, p is at most a with probability at most a, for every a:
all tables, the one of the data among them, are then equally likely to have the largest value (Phipson and Smyth 2010).
The smallest possible p, 1 / (1 + permutations), is the resolution.

Later components. Component t is compared with noise of its own: columns of what the components before it have left
(Dobriban and Owen 2019 and Vitale et al. 2017, for ordinary PCA). Comparing it with the t-th component of permuted raw
data hides weak components, because the permuted columns still have the variance of the strong ones. Permuting the
residual columns as they are finds components that are not there, because residual columns have lost variance and are
not independent even if the noise is. `RowsLeft.permuted` corrects for both. In tables of 250 rows with planted
components, the first component that is only noise was called real (level 0.05) in so many sets:

    columns  planted components            sets   t-th of raw data   residual columns   as here
      20     2 of 5 features, weak         200          2 %                18 %           8 %
      20     3 of 5 features               200           -                 44 %           4 %
     100     5 of 10 features               60          0 %                10 %           5 %

The test is exact for the first component only. For later ones it is exact up to the errors in the components before
it, whose features must be about equally noisy: otherwise they leave structure behind, and the test finds it.

If the components are read in their order up to the first that is no better than noise, the chance to call any noise
real is at most the level, whatever the number of components.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from laconic.bounds.methods import get_solver
from laconic.core.arrays import Floats
from laconic.core.monitor import Monitor, Stop
from laconic.model.components import components
from laconic.model.permuting import LEVEL, ComponentNoise, RowsLeft, compare
from laconic.model.resampling import check_count, check_enough_done, check_rows, seed_of
from laconic.model.settings import check_settings, forced_places, made_of, penalty_of
from laconic.model.sizes import sizes_of
from laconic.search.problem import abilities_of

if TYPE_CHECKING:
    import pandas as pd

    from laconic.model.estimator import SparsePCA


@dataclass(frozen=True, eq=False)
class Noise:
    """Components beside what the same search finds in permuted tables; `noise` makes it."""

    components: list[ComponentNoise]  # a record for each component that was compared
    permutations: int  # the number of permuted tables that were asked for
    feature_names: list[str] | None = None
    stopped: Stop | None = None  # why the comparison was stopped early, if it was

    def __repr__(self) -> str:
        listed = ", ".join(f"{p:.3g}" for p in self.p_values)
        return f"Noise({self.permutations} permutations, p-values {listed or 'none'})\n{self.verdict}"

    def __len__(self) -> int:
        return len(self.components)

    @property
    def p_values(self) -> Floats:
        """The p-value of each component."""
        return np.array([one.p_value for one in self.components])

    def n_real(self, level: float = LEVEL) -> int:
        """Return how many components come before the first whose p-value is above a level.

        With the components in this order, the chance to call any noise real is at most the level.
        """
        above = np.flatnonzero(self.p_values > level)
        return int(above[0]) if len(above) else len(self.components)

    @property
    def verdict(self) -> str:
        """A sentence for each component."""
        lines = []
        for one in self.components:
            line = f"Component {one.component}: {one.verdict[0].lower()}{one.verdict[1:]}"
            if self.stopped is not None and 0 < one.permutations < self.permutations:
                line += f" Only {one.permutations} of {self.permutations} permuted tables were done."
            lines.append(line)
        if self.stopped is not None:
            lines.append(f"The comparison was stopped early: {self.stopped.value}.")
        return "\n".join(lines)

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with a row for each component."""
        import pandas as pd

        columns = ("component", "cardinality", "value", "mean", "quantile", "p_value", "resolution", "permutations")
        rows = [[getattr(one, column) for column in (*columns, "verdict")] for one in self.components]
        names = {"mean": "noise_mean", "quantile": "noise_quantile"}
        return pd.DataFrame(rows, columns=[names.get(column, column) for column in (*columns, "verdict")])

    def plot(self, ax: Any = None) -> Any:
        """Draw the value of each component beside the values in noise, and return the axes."""
        from laconic.report.plot_results import noise

        return noise(self, ax=ax)


def noise(
    model: "SparsePCA",
    X: Any,
    *,
    permutations: int = 99,
    stop_at: float | None = None,
    n_jobs: int | None = None,
    feature_names: Sequence[str] | None = None,
) -> Noise:
    """Compare each component with what the same search finds in tables with permuted columns.

    Nothing is proved here. The components are those of the model's settings with ``proof=None``.

    Parameters
    ----------
    model : SparsePCA
        Its settings count, for the data and for the permuted tables. It need not be fitted. `random_state` is the seed
        of the permutations, 0 by default.
    X : array, sparse matrix or table of shape (n_samples, n_features)
        Rows in memory, without missing values.
    permutations : int, default=99
        The number of permuted tables for each component. The smallest possible p-value is 1 / (1 + permutations).
    stop_at : float, optional
        Stop after the first component with a p-value above this. By default all components are compared.
    n_jobs : int, optional
        The number of processes, as in joblib. The result does not depend on it.
    feature_names : sequence of str, optional
        The names of the features, if the data have none.

    Returns
    -------
    Noise
        The value of each component, the values in noise, and the p-values.

    See Also
    --------
    stability : Find out whether other rows would give the same features.
    choose : With ``n_components="parallel"`` it counts the components that are better than noise.

    Examples
    --------
    >>> from laconic import SparsePCA, noise
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> print(noise(SparsePCA(cardinality=5), votes).verdict)
    Component 1: it is better than in 99 of 99 permuted tables (p <= 0.01).
    """
    check_settings(model)
    permutations = check_count("permutations", permutations)
    _check_comparable(model)
    with Monitor(model.time_limit, progress=model.verbose) as monitor:
        made = made_of(model, X, None, None, monitor, feature_names=feature_names)
        check_rows(made, "noise")
        sizes, found = sizes_of(model, made, monitor), None
        if sizes.count > 1 and abilities_of(get_solver(model.method)).together:
            raise ValueError(f"noise compares components one after the other, and method={model.method!r} does not.")
        ks = sizes.cardinalities
        if ks is None:
            found = components(clone(model).set_params(proof=None), made, sizes, monitor).solutions
            ks = [len(solution.support) for solution in found]
        records, stopped = compare(
            RowsLeft.of(made),
            get_solver(model.method),
            ks,
            np.flatnonzero(~made.constant),
            forced_places(model, made),
            monitor,
            permutations=permutations,
            seed=0 if model.random_state is None else seed_of(model.random_state),
            nonnegative=model.nonnegative,
            disjoint=model.joint == "disjoint",
            found=found,
            n_jobs=n_jobs,
            stop_at=stop_at,
        )
    check_enough_done(len(records), 1, "component", monitor.stopped)
    return Noise(records, permutations, None if made.names is None else list(made.names), stopped)


def _check_comparable(model: "SparsePCA") -> None:
    """Raise a ValueError if components of this kind cannot be compared with noise."""
    solver = get_solver(model.method)
    if model.joint == "span":
        raise ValueError(
            "noise compares components that are found one after the other, and joint='span' finds them together; "
            "leave out joint=."
        )
    if penalty_of(solver) is not None:
        raise ValueError(
            "noise compares components of one size, and a penalty finds another size in each permuted table; give "
            "cardinality= and a method without a penalty."
        )
    if abilities_of(solver).disjoint:
        raise ValueError(f"noise compares components one after the other, and method={solver.name!r} does not.")
    if model.deflation != "projection":
        raise ValueError(
            f"noise takes earlier components out of the rows, and deflation={model.deflation!r} cannot; give "
            "deflation='projection'."
        )
