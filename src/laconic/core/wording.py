"""The words of verdicts: what is proved, of what, and rounded the safe way."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from laconic.core.arrays import Indices

# More features than this are counted, not named.
MOST_NAMED = 2


@dataclass(frozen=True)
class Scope:
    """What a verdict is about, as words for its sentence; without any, all supports of the matrix itself.

    Attributes
    ----------
    supports
        Which supports are compared: " with 'a' but without 'x'".
    setting
        How they are: " with non-negative loadings", " on what component 1 leaves".
    """

    supports: str = ""
    setting: str = ""


EVERYTHING = Scope()


def scope_of(
    left_out: Indices,
    forced: Indices,
    *,
    earlier: int = 0,
    nonnegative: bool = False,
    feature_names: Sequence[str] | None = None,
) -> Scope:
    """Say what a component was compared with.

    Parameters
    ----------
    left_out
        Features that no support considered holds.
    forced
        Features that every one holds.
    earlier
        How many components were taken out of the matrix before.
    nonnegative
        Whether only loadings that are not negative were considered.
    feature_names
        Of all features; without names they are called by their place.
    """
    parts = []
    if len(forced):
        parts.append(f"with {_listed(forced, feature_names) or f'{len(forced)} features forced in'}")
    if len(left_out):
        parts.append(f"without {_listed(left_out, feature_names) or f'{len(left_out):,} of the features'}")
    supports = f" {' but '.join(parts)}" if parts else ""
    setting = " with non-negative loadings" if nonnegative else ""
    if earlier:
        between = " and " if earlier == 2 else " to "
        before = "component 1 leaves" if earlier == 1 else f"components 1{between}{earlier} leave"
        setting += f" on what {before}"
    return Scope(supports, setting)


def _listed(features: Indices, names: Sequence[str] | None) -> str:
    """Return a few features by name, or nothing if they are many."""
    if len(features) > MOST_NAMED:
        return ""
    if names is None:
        return f"feature{'s' if len(features) > 1 else ''} {' and '.join(str(place) for place in features)}"
    return " and ".join(repr(str(names[place])) for place in features)


def optimal_in_words(scope: Scope = EVERYTHING) -> str:
    """Say that a support is optimal, and among which supports."""
    return (
        f"optimal: no support of this size{scope.supports} does better by more than a millionth{scope.setting}, "
        "and this is proved"
    )


def proof_in_words(gap: float, scope: Scope = EVERYTHING) -> str:
    """Say what a relative gap, not small enough to be called a proof of optimality, comes to, and of what."""
    if gap == np.inf:
        return "no bound was computed"
    supports, setting = scope.supports, scope.setting
    if gap > 1:
        most = f"{_rounded_up(1 + gap)} times its variance"
        return f"no support of this size{supports} reaches more than {most}{setting}, proved"
    among = f" among supports{supports}" if supports else ""
    return f"within {_rounded_up(100 * gap)} % of optimal{among}{setting}, proved"


def _rounded_up(number: float) -> str:
    """Return a positive number with two digits, or all before the point: not below it, as what is said is proved."""
    if number == 0:
        return "0"
    digits = max(1 - int(np.floor(np.log10(number))), 0)
    # What is off by rounding alone stays as it is.
    scaled = np.ceil(number * 10.0**digits * (1 - 1e-9))
    return f"{scaled / 10.0**digits:,.{digits}f}" if digits < 6 else f"{scaled / 10.0**digits:.2g}"
