"""What pictures and pages read of a model and of its data, in one place."""

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from laconic.core.arguments import is_whole
from laconic.core.arrays import Floats
from laconic.core.words import Scope, at_least, at_most
from laconic.covariance import Covariance
from laconic.covariance.make import Made, make, make_of_matrix
from laconic.covariance.reading import looks_like_covariance
from laconic.data.sources import open_source
from laconic.data.tables import as_array_or_frame
from laconic.model.permuting import RowsLeft
from laconic.search.problem import Status

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA


def prepared(model: "SparsePCA", X: Any, given: str = "auto") -> Made:
    """Make the covariance of data by a model's settings. Data in blocks are a ValueError.

    By default a square symmetric matrix without a negative diagonal entry is a covariance.
    """
    source = open_source(X)
    if source is not None and source.in_memory() is None:
        raise ValueError(f"{source.name} is read in blocks; load the rows first, for example with laconic.read_table.")
    frame: Any = X if isinstance(X, Covariance) or source is not None else as_array_or_frame(X)
    auto = given == "auto" and source is None
    if isinstance(X, Covariance) or given == "covariance" or (auto and looks_like_covariance(frame)):
        return make_of_matrix(frame, scale=model.scale and not isinstance(X, Covariance), quiet=True)
    return make(frame, model._recipe(), quiet=True)


def rows_left(model: "SparsePCA", made: Made) -> RowsLeft | None:
    """Return the rows, ready for permuting their columns; None if they are not complete and in memory."""
    if not made.in_memory or made.missing is not None:
        return None
    return RowsLeft.of(made.rows, made, center=model.center, scale=model.scale)


def dense_variances(model: "SparsePCA") -> Floats:
    """Return the variance of the dense component beside each component, in the same matrix."""
    return np.array([one.dense_variance for one in model._each])


def together(model: "SparsePCA") -> tuple[str, float, float]:
    """Return the sentence on all components, their variance together, and that of as many dense components."""
    return model._together.verdict, model._together.held, model._together.dense


def certificates(model: "SparsePCA") -> list[tuple[int | None, str, Any]]:
    """Return the certificates of a model: the number of the component or None for all, the attribute, the object."""
    joint = model.joint == "span"
    return [
        (None if joint else number, f"certificates_[{number - 1}]", certificate)
        for number, certificate in enumerate(model.certificates_, start=1)
        if certificate is not None
    ]


def scope(model: "SparsePCA", place: int) -> Scope:
    """Return the words for what a component was compared with."""
    return model._each[place].scope


def found_together(model: "SparsePCA") -> bool:
    """Say whether the components were found together, so that none comes after another."""
    return model.joint == "span" or model._each[0].status is Status.TOGETHER


def value(model: "SparsePCA", place: int) -> float:
    """Return the variance of a component in the matrix that it was sought in."""
    return float(model.lower_bound_[place])


def total_for_shares(model: "SparsePCA") -> float | None:
    """Return the total variance if shares of it make sense, else None: a matrix may not be positive semidefinite."""
    total = float(model.total_variance_)
    most = np.nanmax([*together(model)[1:], *model.lower_bound_])
    return total if total > 0 and most <= total * (1 + 1e-9) else None


def amount_at_least(value: float, total: float | None) -> str:
    """Return a variance, or its share of a total, rounded down."""
    return at_least(value, 4) if total is None else share_in_words(value / total, ROUND_FLOOR)


def amount_at_most(value: float, total: float | None) -> str:
    """Return a variance, or its share of a total, rounded up."""
    return at_most(value, 4) if total is None else share_in_words(value / total, ROUND_CEILING)


def share_in_words(share: float, rounding: str) -> str:
    """Return a percentage with three digits, zeros at the end included: "19.0 %", "100 %"."""
    percent = 100 * Decimal(share)
    decimals = 2 - percent.adjusted() if percent else 0
    return f"{percent.quantize(Decimal(1).scaleb(-max(decimals, 0)), rounding):f}\u00a0%"


def count_of(number: int) -> str:
    """Return a number of variables in words: "1 variable", "5 variables"."""
    return f"{number:,} variable{'' if number == 1 else 's'}"


def checked_components(model: "SparsePCA", components: Any, *, most: int | None = None) -> tuple[int, ...]:
    """Return the numbers of components, from 1, or raise a ValueError."""
    check_is_fitted(model)
    count = model.n_components_
    if most == 2 and count == 1 and isinstance(components, tuple) and components == (1, 2):
        return (1,)
    numbers = tuple(components) if isinstance(components, Iterable) else (components,)
    if not numbers or not all(is_whole(number) and 1 <= number <= count for number in numbers):
        raise ValueError(f"components={components!r} must be numbers from 1 to {count}, the model's components.")
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"components={components!r} has a number twice; give different components.")
    if most is not None and len(numbers) > most:
        raise ValueError(f"components={components!r} has {len(numbers)} numbers; give one or two.")
    return tuple(int(number) for number in numbers)
