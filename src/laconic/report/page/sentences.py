"""The answer in sentences: what each component keeps, and what is proved of all others of its size."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

import numpy as np

from laconic.core.arrays import PROVED
from laconic.core.words import at_least, at_most
from laconic.model.tables import shares_of_dense
from laconic.search.problem import Status

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

# Significant digits of shares and variances in sentences.
DIGITS = 3


def total_for_shares(model: "SparsePCA") -> float | None:
    """Return the total variance if shares of it make sense, else None: a matrix may not be positive semidefinite."""
    total = float(model.total_variance_)
    most = np.nanmax([model.joint_variance_, model.joint_dense_variance_, *model.lower_bound_])
    return total if total > 0 and most <= total * (1 + 1e-9) else None


def amount_at_least(value: float, total: float | None) -> str:
    """Return a variance, or its share of a total, rounded down."""
    return at_least(value, DIGITS + 1) if total is None else _percent(value / total, ROUND_FLOOR)


def amount_at_most(value: float, total: float | None) -> str:
    """Return a variance, or its share of a total, rounded up."""
    return at_most(value, DIGITS + 1) if total is None else _percent(value / total, ROUND_CEILING)


def _percent(share: float, rounding: str) -> str:
    """Return a percentage with three digits, zeros at the end included: "19.0 %", "100 %"."""
    percent = 100 * Decimal(share)
    decimals = 2 - percent.adjusted() if percent else 0
    return f"{percent.quantize(Decimal(1).scaleb(-max(decimals, 0)), rounding):f}\u00a0%"


def count_of(number: int) -> str:
    """Return a number of variables in words: "1 variable", "5 variables"."""
    return f"{number:,} variable{'' if number == 1 else 's'}"


def answer(model: "SparsePCA", place: int) -> str:
    """Return what a component keeps, and what is proved of all others of its size, in one sentence."""
    total, solution = total_for_shares(model), model.solutions_[place]
    number, k = place + 1, int(model.cardinality_[place])
    lower, upper = float(model.lower_bound_[place]), float(model.upper_bound_[place])
    scope = solution.scope
    sign = " and no negative loading" if model.nonnegative else ""
    amount = amount_at_least(lower, total)
    if model.joint is not None:
        adds = f"adds {amount} of the variance" if total is not None else f"adds a variance of {amount}"
        first = f"Component {number} {adds}{scope.matrix} to the other components with {count_of(k)}{sign}"
        proof = _proof(lower, upper, f"no component of this size{scope.supports} can add more", total)
        return f"{first}; {proof}"
    after = " after component" in scope.setting
    component = f"component {number}" if after else f"Component {number}"
    lead = f"After {_earlier(place)} taken out, {component}" if after else component
    of = f"keeps {amount} of the variance" if total is not None else f"has a variance of {amount}"
    verb = "keep" if total is not None else "have"
    first = f"{lead} {of}{scope.matrix} with {count_of(k)}{sign}"
    if k >= model.n_features_in_:
        return f"{first}, which is all of them."
    others = "no other variable" if k == 1 else f"no other {k:,}"
    either = ", with loadings of either sign," if model.nonnegative else ""
    return f"{first}; {_proof(lower, upper, f'{others}{scope.supports}{either} can {verb} more', total)}"


def _proof(lower: float, upper: float, claim: str, total: float | None) -> str:
    if not np.isfinite(upper):
        return "nothing is proved about other sets of variables."
    if upper - lower <= PROVED * abs(lower):
        return f"{claim}: proved."
    return f"{claim} than {amount_at_most(upper, total)}: proved."


def _earlier(place: int) -> str:
    if place == 1:
        return "component 1 is"
    return f"components 1 {'and' if place == 2 else 'to'} {place} are"


def beside_dense(model: "SparsePCA", place: int) -> str:
    """Return how much of the dense component's variance a component keeps, in one sentence; empty if it is unknown."""
    share = float(shares_of_dense(model)[place])
    if not np.isfinite(share) or not 0 < share <= 1 + 1e-6:
        return ""
    percent = _percent(min(share, 1.0), ROUND_FLOOR)
    scope = model.solutions_[place].scope
    everything = "all variables that may be used" if " without " in f"{scope.supports} " else "all variables"
    if model.joint is not None:
        return f"That is {percent} of what a component with {everything} would add to the others."
    if scope.matrix or everything != "all variables":  # ordinary PCA is of another matrix, or uses more variables
        return f"That is {percent} of what a component with {everything} would keep."
    where = "there" if " after component" in scope.setting else "with all variables"
    return f"That is {percent} of what the first component of ordinary PCA keeps {where}."


def badge(model: "SparsePCA", place: int) -> str:
    """Return the verdict in one or two words."""
    if model.joint is None and model.solutions_[place].status is Status.OPTIMAL:
        return "proved optimal"
    return "bound proved" if np.isfinite(model.upper_bound_[place]) else "no proof"
