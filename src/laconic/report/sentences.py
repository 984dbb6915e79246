"""What a page says about components, in sentences. What is found is rounded down, and what is proved is rounded up."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

import numpy as np

from laconic.core.arrays import PROVED
from laconic.core.words import at_least, at_most, counted

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

NO_PROOF = "nothing is proved about other sets of variables."


def total_for_shares(model: "SparsePCA") -> float | None:
    """Return the total variance if shares of it make sense, else None: a matrix may not be positive semidefinite."""
    total = float(model.total_variance_)
    most = np.nanmax([model._together.held, model._together.dense, *model.lower_bound_])
    return total if total > 0 and most <= total * (1 + 1e-9) else None


def amount_at_least(value: float, total: float | None) -> str:
    """Return a variance, or its share of a total, rounded down."""
    return at_least(value, 4) if total is None else _share(value / total, ROUND_FLOOR)


def amount_at_most(value: float, total: float | None) -> str:
    """Return a variance, or its share of a total, rounded up."""
    return at_most(value, 4) if total is None else _share(value / total, ROUND_CEILING)


def _share(share: float, rounding: str) -> str:
    """Return a percentage with three digits, zeros at the end included: "19.0 %", "100 %"."""
    percent = 100 * Decimal(share)
    decimals = 2 - percent.adjusted() if percent else 0
    return f"{percent.quantize(Decimal(1).scaleb(-max(decimals, 0)), rounding):f}\u00a0%"


def count_of(number: int) -> str:
    """Return a number of variables in words: "1 variable", "5 variables"."""
    return counted(number, "variable")


def answer(model: "SparsePCA", place: int) -> str:
    """Return what a component keeps, and what is proved of all others of its size, in one sentence."""
    total, scope = total_for_shares(model), model._each[place].scope
    number, k = place + 1, len(model.supports_[place])
    lower, upper = float(model.lower_bound_[place]), float(model.upper_bound_[place])
    sign = " and no negative loading" if model.nonnegative else ""
    amount = amount_at_least(lower, total)
    if model.joint == "span":
        adds = f"adds {amount} of the variance" if total is not None else f"adds a variance of {amount}"
        first = f"Component {number} {adds}{scope.matrix} to the other components with {count_of(k)}{sign}"
        claim = f"no component of this size{scope.supports} can add more"
        return f"{first}; {proof_in_words(lower, upper, claim, total) or NO_PROOF}"
    earlier = f"components 1 {'and' if place == 2 else 'to'} {place} are" if place > 1 else "component 1 is"
    after = f"After {earlier} taken out, component" if " after component" in scope.setting else "Component"
    of = f"keeps {amount} of the variance" if total is not None else f"has a variance of {amount}"
    first = f"{after} {number} {of}{scope.matrix} with {count_of(k)}{sign}"
    if k >= model.n_features_in_:
        return f"{first}, which is all of them."
    others = "no other variable" if k == 1 else f"no other {k:,}"
    either = ", with loadings of either sign," if model.nonnegative else ""
    claim = f"{others}{scope.supports}{either} can {'keep' if total is not None else 'have'} more"
    return f"{first}; {proof_in_words(lower, upper, claim, total) or NO_PROOF}"


def proof_in_words(lower: float, upper: float, claim: str, total: float | None) -> str:
    """Return what is proved: the claim, or the claim with its limit. Nothing if there is no bound."""
    if not np.isfinite(upper):
        return ""
    if upper - lower <= PROVED * abs(lower):
        return f"{claim}: proved."
    return f"{claim} than {amount_at_most(upper, total)}: proved."


def beside_dense(model: "SparsePCA", place: int) -> str:
    """Return how much of the dense component's variance a component keeps, in one sentence; empty if it is unknown."""
    share, scope = float(model.lower_bound_[place]) / model._each[place].dense_variance, model._each[place].scope
    if not np.isfinite(share) or not 0 < share <= 1 + 1e-6:
        return ""
    percent = _share(min(share, 1.0), ROUND_FLOOR)
    everything = "all variables that may be used" if " without " in f"{scope.supports} " else "all variables"
    if model.joint == "span":
        return f"That is {percent} of what a component with {everything} would add to the others."
    if scope.matrix or everything != "all variables":  # ordinary PCA is of another matrix, or uses more variables
        return f"That is {percent} of what a component with {everything} would keep."
    where = "there" if " after component" in scope.setting else "with all variables"
    return f"That is {percent} of what the first component of ordinary PCA keeps {where}."


def badge(model: "SparsePCA", place: int) -> str:
    """Return the verdict in one or two words."""
    if model.joint != "span" and model.gap_[place] <= PROVED:
        return "proved optimal"
    return "bound proved" if np.isfinite(model.upper_bound_[place]) else "no proof"
