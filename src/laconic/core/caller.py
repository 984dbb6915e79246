"""Warnings that name the line of the user's own code."""

import sys
import warnings

# A warning names the first line outside these packages. scikit-learn wraps the methods of an estimator in functions of
# its own, and may call `fit` itself.
_PACKAGES = ("laconic", "sklearn", "joblib")


class Hint(UserWarning):
    """Something in the data that often is a mistake, and what to do about it. Nothing is wrong with the result.

    See Also
    --------
    SparsePCA : Its attribute `hints_` lists the hints of a fit.

    Examples
    --------
    >>> import warnings
    >>> from laconic import Hint
    >>> warnings.simplefilter("ignore", Hint)
    """


class Note(Hint):
    """Something that the user should know, and need not do anything about."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the line of code that called the package."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
