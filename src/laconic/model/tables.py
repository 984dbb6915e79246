"""Tables of a fitted model."""

from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.words import gap_in_tables, percent_reached
from laconic.search.problem import Solution, Status

if TYPE_CHECKING:
    import pandas as pd

    from laconic.model.estimator import SparsePCA


def loadings_table(model: "SparsePCA", names: Any) -> "pd.DataFrame":
    """Return the nonzero loadings of a fitted model; see `SparsePCA.loadings`. Without names features are numbered."""
    import pandas as pd

    gaps = [gap_in_tables(gap) for gap in model.gap_]
    parts = []
    for number, (row, support) in enumerate(zip(model.components_, model.supports_, strict=True), start=1):
        order = support[np.argsort(-np.abs(row[support]), kind="stable")]
        labels = order if names is None else names[order]
        columns = {"component": number, "feature": labels, "loading": row[order], "gap": gaps[number - 1]}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def summary_table(model: "SparsePCA") -> "pd.DataFrame":
    """Return one row for each component of a fitted model; see `SparsePCA.summary`."""
    import pandas as pd

    compared = [] if model.noise_ is None else list(model.noise_.p_values)
    # A comparison that was stopped has no p-value for the last components.
    p_values = {"p_value": compared + [np.nan] * (model.n_components_ - len(compared))} if compared else {}
    # Short names and no name for the index: the table then fits into 80 columns, and pandas prints all of it.
    return pd.DataFrame(
        {
            "cardinality": model.cardinality_,
            "variance": model.explained_variance_ratio_,
            "of_dense": shares_of_dense(model),
            "lower": model.lower_bound_,
            "upper": model.upper_bound_,
            "gap": [gap_in_tables(gap) for gap in model.gap_],
            **p_values,
            "verdict": [_in_short(*pair) for pair in zip(model.solutions_, model.gap_, strict=True)],
        },
        index=pd.RangeIndex(1, model.n_components_ + 1),
    )


def shares_of_dense(model: "SparsePCA") -> Floats:
    """Return the variance of each component as a share of the dense component's."""
    return np.asarray([solution.value for solution in model.solutions_] / model.dense_variance_)


def _in_short(solution: Solution, gap: float) -> str:
    if solution.status is Status.OPTIMAL:
        return "optimal"
    return f"≥ {percent_reached(gap)} %" if np.isfinite(gap) else "no bound"
