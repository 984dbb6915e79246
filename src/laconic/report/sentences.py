"""What the page, the terminal and the pictures say of a fitted model, in sentences for people.

The share of a component is what it adds to those before it (`explained_variance_ratio_`). So shares sum to what all
components hold together. A proof compares the columns of a component with all others of this number, on what the
earlier components leave. It is told as a part of the best possible variance, and needs no second share.
"""

import re
from typing import TYPE_CHECKING

import numpy as np

from laconic.core.arrays import PROVED
from laconic.core.words import at_least, counted, percent, percent_reached
from laconic.proof.gate import relative_gap
from laconic.search.problem import Status

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA
    from laconic.proof import Certificate

NO_PROOF = "Nothing is proved about other columns."
FORCED = " that include those asked for"
# What was done about missing values.
MISSING = {
    "pairwise": "Each pair of columns was compared in the rows that have both values.",
    "drop": "Rows with missing values were left out: {rows:,}.",
    "em": "The others tell what they probably were (EM, a normal distribution).",
}
# How components were found together.
TOGETHER = {
    "common": "They were chosen together, and all use the same columns.",
    "disjoint": "They were chosen together, and no column is used twice.",
    "orthogonal": "They were chosen together, at right angles to each other.",
    "span": "They were chosen together.",
}


def in_columns(text: str) -> str:
    """Return a sentence of the library with the word of a table, column, for feature. Names and options stay."""
    found = r"(?<![\w'\"/.=-])([fF])eature(?=s?\b)(?!s?(?:['\"/=-]|\.\w))"
    return re.sub(found, lambda word: "column" if word[1] == "f" else "Column", text)


def count_of(number: int) -> str:
    """Return a number of columns in words: "1 column", "5 columns"."""
    return counted(number, "column")


def total_for_shares(model: "SparsePCA") -> float | None:
    """Return the total variance if shares of it make sense, else None: a matrix may not be positive semidefinite."""
    total = float(model.total_variance_)
    most = np.nanmax([model._together.held, model._together.dense, *model.explained_variance_])
    return total if total > 0 and most <= total * (1 + 1e-9) else None


def amount(value: float, total: float | None) -> str:
    """Return a variance that was found: as a share of a total if there is one. It is rounded down."""
    return f"a variance of {at_least(value, 4)}" if total is None else f"{percent(value / total)} of the variance"


def share_of(model: "SparsePCA", place: int) -> str:
    """Return what a component adds to those before it."""
    return amount(float(model.explained_variance_[place]), total_for_shares(model))


def found_in_words(number: int, k: int, said: str) -> str:
    """Return what a component holds or adds: "Component 2 adds 10.4 % of the variance with 2 columns"."""
    return f"Component {number} {'holds' if number == 1 else 'adds'} {said} with {count_of(k)}"


def proof_in_words(k: int, gap: float, n: int, *, earlier: int = 0, which: str = "", matrix: str = "") -> str:
    """Return what is proved of all sets of `k` of `n` columns, on what the `earlier` components leave.

    `which` says which sets are compared, such as those with columns that were asked for. `matrix` says what was
    computed from rows with missing values.
    """
    if k >= n:
        return "These are all columns."
    if np.isinf(gap):
        return NO_PROOF
    first = "component 1 leaves" if earlier == 1 else f"components 1 {'and' if earlier == 2 else 'to'} {earlier} leave"
    columns = f"{'column' if k == 1 else f'{k:,} columns'}{which} {'holds' if k == 1 else 'hold'}"
    left = (f" of what {first}" if earlier else "") + matrix
    if gap <= PROVED:
        return f"No other {columns} more{left}: proved."
    return f"{'It reaches' if k == 1 else 'They reach'} {_reached(gap)} of the most that any {columns}{left}: proved."


def _reached(gap: float) -> str:
    return f"at least {percent_reached(gap)} %"


def answer(model: "SparsePCA", place: int) -> str:
    """Return what a component holds or adds, and what is proved of all others of its size."""
    first = found_in_words(place + 1, len(model.supports_[place]), share_of(model, place))
    return f"{first}{', none with a negative loading' if model.nonnegative else ''}. {proof_of(model, place)}".rstrip()


def proof_of(model: "SparsePCA", place: int) -> str:
    """Return what is proved of all others of the size of a component; of those found together only how they ended."""
    one, k = model._each[place], len(model.supports_[place])
    stopped = "The search was stopped early." if one.status in (Status.TIME_LIMIT, Status.INTERRUPTED) else ""
    if model._joint is not None:
        return stopped
    which = FORCED if model.forced_in is not None else ""
    which += " with loadings of either sign" if model.nonnegative else ""
    earlier = place if " after component" in one.scope.setting else 0
    proof = proof_in_words(k, model.gap_[place], model.n_features_in_, earlier=earlier, which=which)
    return f"{proof} {stopped}".rstrip()


def certified(one: "Certificate") -> str:
    """Return what a certificate proves."""
    if one.n_components > 1:
        return _of_choices(one.gap)
    earlier, which = 0 if one.earlier is None else len(one.earlier), FORCED if len(one.forced) else ""
    k, matrix = int(one.cardinalities[0]), one.scope.matrix
    return proof_in_words(k, one.gap, one.n_features, earlier=earlier, which=which, matrix=matrix)


def _of_choices(gap: float) -> str:
    """Return what is proved of components that were chosen together, or nothing."""
    if gap <= PROVED:
        return "No other such choice holds more: proved."
    return f"They reach {_reached(gap)} of the most that such a choice can hold: proved." if np.isfinite(gap) else ""


def together(model: "SparsePCA", noun: str = "column") -> str:
    """Return what all components hold, and as many of ordinary PCA; for those found together, what is proved, too."""
    all_of, count, total = model._together, model.n_components_, total_for_shares(model)
    dense = amount(all_of.dense, total) if np.isfinite(all_of.dense) else "an unknown share (interrupted)"
    if count == 1:
        return f"The first component of ordinary PCA holds {dense} with all {noun}s."
    words = [
        f"Together the {count} components hold {amount(all_of.held, total)} with {counted(all_of.used, noun)}; "
        f"{count} components of ordinary PCA hold {dense.removesuffix(' of the variance')} with all {noun}s."
    ]
    if model._joint is not None:
        words += [TOGETHER[model._joint].replace("column", noun), _of_choices(relative_gap(all_of.held, all_of.upper))]
    return " ".join(words).rstrip()


def prepared(model: "SparsePCA", matrix: bool) -> str:
    """Return what was done to the columns before the search: scaling, and missing values."""
    words = []
    if not matrix and model.scale:
        words.append("Each column was divided by its standard deviation first, so that all count alike.")
    elif not matrix:
        words.append("The columns keep their units, so that those with a larger variance count more.")
    if model.missing_ is not None:
        count, columns = int(model.missing_.counts.sum()), int(np.count_nonzero(model.missing_.counts))
        way = MISSING.get(model.missing_.way, "").format(rows=model.missing_.rows)
        words.append(f"{count:,} values of {count_of(columns)} are missing. {way}".rstrip())
    return " ".join(words)


def badge(model: "SparsePCA", place: int) -> str:
    """Return what is proved of a component, or of all that were found together, in a few words."""
    joint = model._joint is not None
    gap = relative_gap(model._together.held, model._together.upper) if joint else float(model.gap_[place])
    words = "no proof" if np.isinf(gap) else "proved optimal" if gap <= PROVED else f"{_reached(gap)} of the best"
    return f"{words}, together" if joint else words
