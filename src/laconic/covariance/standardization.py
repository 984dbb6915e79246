"""How rows are centred and scaled."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Floats, Mask
from laconic.core.caller import warn
from laconic.data.checks import check_magnitude
from laconic.data.passes import Moments
from laconic.data.tables import listed


@dataclass(frozen=True, eq=False)
class Standardization:
    """How rows are centred and scaled: z = (x - means) * scales.

    Attributes
    ----------
    means
        Subtracted from each row; zero without centring.
    scales
        Factors that each row is multiplied by; one without scaling, and one for constant columns.
    constant
        True for columns that do not vary.
    """

    means: Floats
    scales: Floats
    constant: Mask

    def warn_of_constant(self, names: Sequence[str] | None) -> None:
        """Warn if there are columns that do not vary, and list them by name or number."""
        places = np.flatnonzero(self.constant)
        if not len(places):
            return
        labels = [str(i) if names is None else repr(str(names[i])) for i in places.tolist()]
        subject = f"{len(places)} columns do" if len(places) > 1 else "One column does"
        warn(f"{subject} not vary and will not be selected: {listed(labels)}.")


def standardize(
    moments: Moments, *, center: bool, scale: bool, name: str = "X"
) -> tuple[Standardization, Floats, float]:
    """Return how rows are centred and scaled, their variances before scaling, and the divisor of the variance."""
    if center:
        # A correlation does not depend on the divisor. With the sum of the weights, a weight of two counts a row twice.
        divisor = moments.weight if scale else moments.divisor
        means, variances, constant = moments.means, moments.squares / divisor, moments.constant
    else:
        means, divisor = np.zeros_like(moments.means), moments.weight
        with np.errstate(over="ignore"):
            variances = moments.squares / divisor + moments.means**2
        constant = variances == 0
    if not (np.isfinite(variances).all() and np.isfinite(means).all()):
        raise ValueError(f"{name} has entries so large that their squares overflow; rescale its columns first.")
    variances = np.where(constant, 0.0, variances)
    if not scale:
        check_magnitude(float(variances.max(initial=0.0)), name=name)
    varying = np.where(constant, 1.0, variances)
    scales = np.where(constant, 1.0, 1.0 / np.sqrt(varying)) if scale else np.ones(len(variances))
    return Standardization(means, scales, constant), variances, divisor
