"""Sentences to users: verdicts that say what is proved, and what is wrong with an argument.

Numbers in verdicts are rounded so that the sentence stays true. The sentences on how a search ended are in
`laconic.search.problem`.
"""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from difflib import get_close_matches
from numbers import Integral
from typing import Any, TypeGuard

import numpy as np

from laconic.core.arrays import PROVED, Indices

# A verdict names at most this many features. It gives only the number of a longer list, to stay readable.
MOST_NAMED = 2
# A share that was found is accurate to this, relative to itself.
ROUNDING = Decimal("1e-9")


@dataclass(frozen=True)
class Scope:
    """Words that say what a verdict is about. Empty words mean all supports of the matrix that was given."""

    supports: str = ""  # the supports that are compared: " with 'a' but without 'x'"
    setting: str = ""  # the condition of the comparison: " with non-negative loadings", " after component 1"
    matrix: str = ""  # what is proved about: " in the matrix estimated by EM"; empty for the data's own

    @property
    def about(self) -> str:
        """The words that follow "variance" in a sentence about a proof."""
        return self.setting + self.matrix


EVERYTHING = Scope()


def scope_of(
    left_out: Indices,
    forced: Indices,
    *,
    earlier: int = 0,
    nonnegative: bool = False,
    matrix: str = "",
    feature_names: Sequence[str] | None = None,
) -> Scope:
    """Return the words for the supports that a component was compared with.

    They contain `forced`, avoid `left_out`, and come after `earlier` components. `matrix` says in words what the
    variance is of, if not of the data. Without names, features are numbered from 0.
    """
    parts = []
    if len(forced):
        parts.append(f"with {_listed(forced, feature_names) or f'{len(forced)} features forced in'}")
    if len(left_out):
        parts.append(f"without {_listed(left_out, feature_names) or f'{len(left_out):,} of the features'}")
    supports = f" {' but '.join(parts)}" if parts else ""
    setting = " with non-negative loadings" if nonnegative else ""
    if earlier == 1:
        setting += " after component 1"
    elif earlier:
        setting += f" after components 1 {'and' if earlier == 2 else 'to'} {earlier}"
    return Scope(supports, setting, matrix)


def _listed(features: Indices, names: Sequence[str] | None) -> str:
    """Return a few features by name, or an empty string if there are many."""
    if len(features) > MOST_NAMED:
        return ""
    if names is None:
        return f"feature{'s' if len(features) > 1 else ''} {' and '.join(str(place) for place in features)}"
    return " and ".join(repr(str(names[place])) for place in features)


def optimal_in_words(scope: Scope = EVERYTHING) -> str:
    """Return the verdict on a support with a gap of at most one millionth."""
    return f"Optimal: no other support of this size{scope.supports} reaches more variance{scope.about} (proved)."


def proof_in_words(gap: float, scope: Scope = EVERYTHING) -> str:
    """Return the verdict on a support: optimal, or the share of the best possible variance that it reaches.

    The gap is (upper - lower) / lower, infinite if there is no upper bound.
    """
    if gap <= PROVED:
        return optimal_in_words(scope)
    if gap == np.inf:
        return "No upper bound was computed."
    among = f" among supports{scope.supports}" if scope.supports else ""
    return (
        f"This support reaches at least {percent_reached(gap)} % of the best possible variance{scope.about}{among} "
        "(proved)."
    )


def several_in_words(joint: str, sizes: Sequence[int], total: int | None = None) -> str:
    """Return components of a question in words: "2 components with disjoint supports of at most 5 and 4 features"."""
    count, same = len(sizes), len(set(sizes)) == 1
    many = counted(sizes[0], "feature") if same else f"{', '.join(map(str, sizes[:-1]))} and {sizes[-1]} features"
    if total is not None:
        # The others take a feature each. A size that leaves them no less is no limit.
        limited = min(sizes) < total - count + 1
        each = " each" if same else ""
        many = f"{many}{each}, {total:,} in all" if limited else f"{counted(total, 'feature')} in all"
    match joint:
        case "common":
            return f"{count} orthogonal components of {counted(sizes[0], 'common feature')}"
        case "disjoint":
            return f"{count} components with disjoint supports of at most {many}"
        case "orthogonal":
            return f"{count} orthogonal components of at most {many}"
    return f"{count} components of at most {many}"


def held_at_least_in_words(several: str, gap: float, scope: Scope = EVERYTHING) -> str:
    """Return the verdict on several components together, by their relative gap."""
    if gap <= PROVED:
        return f"Optimal: no {several}{scope.supports} hold more variance together (proved)."
    if gap == np.inf:
        return "No upper bound was computed."
    return (
        f"Together these components hold at least {percent_reached(gap)} % of the variance that any {several}"
        f"{scope.supports} hold (proved)."
    )


def percent(share: float, *, up: bool = False) -> str:
    """Return a share as a percentage with one decimal, or with two digits if it is below 1 %.

    What was found is rounded down, and with `up` a limit is rounded up. Only nothing is "0 %", and only all is "100 %".
    The text of a share that is not defined is empty.
    """
    if np.isnan(share):
        return ""
    # A share such as 0.29 is slightly smaller in binary. What is added is far below the accuracy of a share.
    number = 100 * Decimal(float(share)) * (1 if up else 1 + ROUNDING)
    decimals = 1
    if 0 < abs(number) < 1 or (up and Decimal("99.9") < number < 100):
        decimals = -min(abs(number), 100 - number).adjusted() + (number < 1)
    rounded = number.quantize(Decimal(1).scaleb(-decimals), ROUND_CEILING if up else ROUND_FLOOR)
    return f"{rounded.to_integral() if rounded in (0, 100) else rounded:f} %"


def percent_reached(gap: float) -> str:
    """Return 100 / (1 + gap), rounded down: two digits of the percentage or of what is missing to 100."""
    share = 100 / (1 + Decimal(gap))
    smaller = min(share, 100 - share)
    decimals = max(0, 1 - smaller.adjusted()) if smaller else 0
    text = f"{share.quantize(Decimal(1).scaleb(-decimals), ROUND_FLOOR):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def gap_in_tables(gap: float) -> float:
    """Return the gap of a component as tables show it: 0 if it is optimal."""
    return 0.0 if gap <= PROVED else gap


def at_most(number: float, digits: int) -> str:
    """Return an upper bound rounded up to some significant digits."""
    return _rounded(number, digits, ROUND_CEILING)


def at_least(number: float, digits: int) -> str:
    """Return a lower bound rounded down to some significant digits."""
    return _rounded(number, digits, ROUND_FLOOR)


def _rounded(number: float, digits: int, rounding: str) -> str:
    if not np.isfinite(number):
        return f"{number}"
    return f"{float(Context(digits, rounding).create_decimal(Decimal(number))):.{digits}g}"


def counted(count: int, noun: str) -> str:
    """Return a number of things: "1 feature", "1,200 features"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration_in_words(seconds: float) -> str:
    """Return a time as a person says it: "5 s", "12 min", "3 h"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


def memory_in_words(size: float) -> str:
    """Return a number of bytes as a person says it: "5 kB", "32 MB", "1.5 GB"."""
    if size < 1e6:
        return f"{size / 1e3:.0f} kB"
    return f"{size / 1e6:.0f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"


def did_you_mean(given: str, names: Collection[str]) -> str:
    """Return the end of a sentence about an unknown name: a question with the name most like it, or a full stop."""
    lower = {name.lower(): name for name in names}
    close = get_close_matches(given.lower(), lower, n=1)
    return f"; did you mean {lower[close[0]]!r}?" if close else "."


def is_whole(value: Any) -> TypeGuard[int]:
    """Say whether a value is a whole number. True and False do not count as numbers."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def places_of(features: Any, feature_names: Sequence[str] | None, n: int, *, argument: str) -> list[int]:
    """Return the column numbers, in the order given, of features given by name or by number.

    `argument` is the name of the argument that `features` came from, for errors.
    """
    if isinstance(features, str | bytes) or not hasattr(features, "__iter__"):
        raise ValueError(f"{argument}={features!r} must be a list of features; give [{features!r}] for one.")
    known = {} if feature_names is None else {name: place for place, name in enumerate(feature_names)}
    places = []
    for feature in features:
        if isinstance(feature, str):
            if feature not in known:
                unknown = "which is not among the feature names" if known else "but the data have no feature names"
                raise ValueError(f"{argument} names {feature!r}, {unknown}{did_you_mean(feature, known)}")
            places.append(known[feature])
        elif is_whole(feature) and 0 <= feature < n:
            places.append(int(feature))
        else:
            raise ValueError(f"{argument} holds {feature!r}; give feature names or column numbers from 0 to {n - 1}.")
    return places


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise a MemoryError of one sentence if a step needs more memory than the machine says it has."""
    try:
        available = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return
    if needed > available:
        raise MemoryError(
            f"{what} would need {memory_in_words(needed)}, and this machine has {memory_in_words(available)}; {remedy}."
        )
