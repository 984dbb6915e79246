"""What the components of a fit hold together, beside as many dense components."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.monitor import Monitor
from laconic.core.words import held_at_most_in_words, held_in_words
from laconic.covariance import Covariance, SubsetCovariance, largest_eigenpairs
from laconic.model.components import Component
from laconic.model.request import Request

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# Relative residual of the dense components: shares are read to a tenth of a per cent.
ACCURACY = 1e-3
# If the components hold at least this share of what dense ones hold, to find them together would change little.
NEARLY_ALL = 0.99


def dense_variance(found: list[Component], request: Request, monitor: Monitor) -> float:
    """Return about the variance that as many dense components hold, of the features at hand that may be used.

    It is NaN if the user interrupts the computation.
    """
    if len(found) == 1:
        return found[0].dense_variance
    covariance = found[0].covariance
    everything = len(request.allowed) == covariance.n_features
    part: Covariance = covariance if everything else SubsetCovariance(covariance, request.allowed)
    values = np.array([math.nan])
    with monitor.watch():
        values, _ = largest_eigenpairs(part.on_hand(), len(found), tolerance=ACCURACY)
    return float(np.maximum(values, 0.0).sum())


def joint_attributes(
    model: "SparsePCA", found: list[Component], dense: float, request: Request, *, one_by_one: bool
) -> dict[str, Any]:
    """Return the attributes of a model that are about all components, and those that a joint question changes.

    `one_by_one` says that components without a joint question were found one after the other.
    """
    total, count = model.total_variance_ if model.total_variance_ > 0 else math.nan, len(found)
    held = float(model.explained_variance_.sum())
    dense = max(dense, held) if math.isfinite(dense) else math.nan
    upper = math.inf
    together = found[0].together
    attributes: dict[str, Any] = {}
    # In a matrix that is no covariance, components may hold more than the trace. Then there are no shares.
    share_of = None if math.isnan(total) or max(held, dense) > total * (1 + 1e-9) else total
    used = len(set().union(*(support.tolist() for support in model.supports_)))
    sentences = [held_in_words(count, held, dense, share_of, used, len(request.allowed))]
    if together is not None:
        upper = max(together.upper, held)
        uppers = np.maximum(together.uppers, model.lower_bound_)
        gaps = [_gap(*pair) for pair in zip(model.lower_bound_, uppers, strict=True)]
        attributes = {"upper_bound_": uppers, "gap_": np.array(gaps), "verdicts_": together.verdicts}
        sentences.append(held_at_most_in_words(count, held, upper, share_of, found[0].solution.scope))
    elif count == 1:
        upper = float(model.upper_bound_[0])
    elif one_by_one:
        more = held < NEARLY_ALL * dense and not (request.disjoint or request.nonnegative or request.penalized)
        advice = "; joint='span' looks for components that hold more together" if more else ""
        sentences.append(f"Each was found given the earlier ones{advice}.")
    return attributes | {
        "joint_variance_": held,
        "joint_variance_ratio_": held / total,
        "joint_dense_variance_": dense,
        "joint_dense_variance_ratio_": dense / total,
        "joint_upper_bound_": upper,
        "joint_gap_": _gap(held, upper),
        "joint_certificate_": None if together is None else together.certificate,
        "joint_verdict_": " ".join(sentences),
    }


def _gap(value: float, upper: float) -> float:
    if upper <= value:
        return 0.0
    return (upper - value) / value if value > 0 else math.inf
