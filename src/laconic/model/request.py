"""What the user asks for, checked against the data."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from laconic.core.arguments import is_whole, places_of
from laconic.core.arrays import Indices
from laconic.covariance import Covariance, Standardization, rank_at_least
from laconic.problem.contract import abilities_of

DEFAULT_MIN_VARIANCE = 0.9
# A warning is of the user's line, which is so many calls away: two here, two of the estimator, one of scikit-learn.
CALLER = 6


@dataclass(frozen=True)
class Request:
    """What components are wanted.

    Attributes
    ----------
    n_components
        How many.
    cardinalities
        One for each component, or None to choose each by `min_variance`.
    min_variance
        The share of the dense component's variance that the sparse one must keep: the smallest cardinality that does is
        taken, as in the paper's application to news.
    deflation
        One of the five names.
    disjoint
        Whether a feature may serve one component only.
    nonnegative
        Whether loadings must not be negative.
    allowed, forced
        Features that may be used, and those that must be.
    penalized
        Whether a penalty decides how many features a component has.
    """

    n_components: int
    cardinalities: Sequence[int] | None
    min_variance: float
    deflation: str
    disjoint: bool
    nonnegative: bool
    allowed: Indices
    forced: Indices
    penalized: bool = False


def make_request(
    settings: Mapping[str, Any],
    covariance: Covariance,
    standardization: Standardization,
    feature_names: Sequence[str] | None,
    name: str,
) -> Request:
    """Return the request that an estimator's settings make, or raise one sentence that says what is wrong with them.

    Parameters
    ----------
    settings
        The parameters of `SparsePCA`, by name.
    covariance, standardization
        What the data came to.
    feature_names
        Names of the features, or None.
    name
        What the data were called.
    """
    n = covariance.n_features
    n_components, disjoint = settings["n_components"], settings["disjoint"]
    if not is_whole(n_components):
        raise ValueError(f"n_components={n_components!r} must be an int.")
    forced_in = _places(settings, "forced_in", feature_names, n)
    forced_out = _places(settings, "forced_out", feature_names, n)
    both = np.intersect1d(forced_in, forced_out)
    if len(both):
        raise ValueError(f"Feature {_label(feature_names, both[0])} is both in forced_in and in forced_out.")
    cardinalities = _cardinalities(settings, n, name)
    if cardinalities is not None and len(forced_in) > min(cardinalities):
        raise ValueError(
            f"forced_in names {len(forced_in)} features but cardinality={min(cardinalities)}: "
            "force fewer or raise the cardinality."
        )
    if disjoint and len(forced_in) and n_components > 1:
        raise ValueError(
            f"forced_in puts a feature into each of n_components={n_components} components, "
            "which disjoint=True forbids; drop one of the two."
        )
    constant = np.flatnonzero(standardization.constant)
    if len(constant) == n:
        raise ValueError(f"{name} has no column that varies; there is no variance to explain.")
    pinned = np.intersect1d(constant, forced_in)
    if len(pinned):
        raise ValueError(f"forced_in names {_label(feature_names, pinned[0])}, which does not vary; leave it out.")
    standardization.warn_of_constant(feature_names, stacklevel=CALLER)
    allowed = np.setdiff1d(np.arange(n), np.union1d(forced_out, constant))
    if not len(allowed):
        raise ValueError("forced_out leaves no feature that varies; force fewer out.")
    _check_rank(covariance, n_components, name)
    if settings["cardinality"] is not None and cardinalities is not None:
        _check_enough(cardinalities, len(allowed), disjoint=disjoint)
    share = settings["min_variance"]
    return Request(
        n_components=n_components,
        cardinalities=cardinalities,
        min_variance=DEFAULT_MIN_VARIANCE if share is None else share,
        deflation=settings["deflation"],
        disjoint=disjoint,
        nonnegative=settings["nonnegative"],
        allowed=allowed,
        forced=forced_in,
        penalized=_penalty(settings) is not None,
    )


def _check_rank(covariance: Covariance, n_components: int, name: str) -> None:
    n = covariance.n_features
    if n_components > n:
        raise ValueError(f"n_components={n_components} exceeds the number of features, {n}: {name} has {n} feature(s).")
    rank = rank_at_least(covariance, n_components)
    if rank < n_components:
        raise ValueError(
            f"n_components={n_components} exceeds the rank of the covariance, {rank}; "
            f"ask for at most n_components={rank}."
        )


def _check_enough(cardinalities: list[int], allowed: int, *, disjoint: bool) -> None:
    if max(cardinalities) > allowed:
        warnings.warn(
            f"cardinality={max(cardinalities)} but only {allowed} features may be used; no component uses more.",
            stacklevel=CALLER,
        )
    if disjoint and sum(cardinalities) > allowed:
        raise ValueError(
            f"disjoint=True needs {sum(cardinalities)} features for cardinality={cardinalities} but {allowed} "
            "may be used; ask for fewer."
        )


def _penalty(settings: Mapping[str, Any]) -> float | None:
    """Return the penalty of the settings, or of the solver given."""
    method, penalty = settings["method"], settings["penalty"]
    if penalty is None and abilities_of(method).penalty:
        penalty = method.penalty
    return None if penalty is None else float(penalty)


def _cardinalities(settings: Mapping[str, Any], n: int, name: str) -> list[int] | None:
    """Return a cardinality for each component, all features if a penalty decides, None if a share does."""
    cardinality, n_components = settings["cardinality"], settings["n_components"]
    penalty = _penalty(settings)
    asked = {"cardinality": cardinality, "min_variance": settings["min_variance"], "penalty": penalty}
    several = [f"{argument}={value}" for argument, value in asked.items() if value is not None]
    if len(several) > 1:
        raise ValueError(f"{' and '.join(several)} are given; give one of them.")
    if penalty is not None:
        return [n] * n_components
    if cardinality is None:
        return None
    if is_whole(cardinality):
        cardinalities = [int(cardinality)] * n_components
    else:
        if np.ndim(cardinality) != 1 or not all(is_whole(k) for k in cardinality):
            raise ValueError(f"cardinality={cardinality!r} must be an int or a sequence of ints.")
        cardinalities = [int(k) for k in cardinality]
        if len(cardinalities) != n_components:
            raise ValueError(
                f"cardinality has {len(cardinalities)} entries for n_components={n_components}; "
                "give one number, or one for each component."
            )
    for k in cardinalities:
        if not 1 <= k <= n:
            raise ValueError(
                f"cardinality={k} must lie between 1 and the number of features, {n}: {name} has {n} feature(s)."
            )
    return cardinalities


def _places(settings: Mapping[str, Any], argument: str, feature_names: Sequence[str] | None, n: int) -> Indices:
    """Turn names or places into sorted places."""
    given = settings[argument]
    return np.unique(np.array([] if given is None else places_of(given, feature_names, n, argument=argument), np.intp))


def _label(feature_names: Sequence[str] | None, place: int) -> str:
    return str(place) if feature_names is None else repr(str(feature_names[place]))
