"""The components that the user asks for, checked against the data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from laconic.core.arguments import is_whole, places_of
from laconic.core.arrays import Indices
from laconic.core.monitor import warn
from laconic.covariance import Covariance, Standardization, rank_at_least
from laconic.search.problem import Solver, abilities_of


@dataclass(frozen=True, eq=False)
class Request:
    """The components that are wanted."""

    n_components: int
    cardinalities: Sequence[int] | None  # one for each component; None chooses each by `min_variance`
    # Take the smallest cardinality that keeps this share of the dense component's variance; None: the default rule.
    min_variance: float | None
    deflation: str
    disjoint: bool
    joint: str | None  # the question that all components answer together; None for one after the other
    nonnegative: bool
    allowed: Indices  # the features that vary, and may be chosen
    forced: Indices  # those that must be chosen
    penalized: bool = False  # a penalty decides on the number of features
    feature_names: Sequence[str] | None = None


def make_request(
    settings: Mapping[str, Any],
    solver: Solver,
    covariance: Covariance,
    standardization: Standardization,
    feature_names: Sequence[str] | None,
    name: str,
) -> Request:
    """Return the request that the parameters of `SparsePCA` make. Errors call the data by `name`."""
    n = covariance.n_features
    disjoint = settings["disjoint"]
    penalty: float | None = getattr(solver, "penalty", None) if abilities_of(solver).penalty else None
    n_components = _n_components(settings)
    forced_in = _places(settings, "forced_in", feature_names, n)
    cardinalities = _cardinalities(settings, penalty, n_components, n, name)
    if settings["joint"] is not None:
        _check_joint(settings, solver, cardinalities, penalty)
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
    standardization.warn_of_constant(feature_names)
    allowed = np.flatnonzero(~standardization.constant)
    _check_rank(covariance, n_components, name)
    if settings["cardinality"] is not None and cardinalities is not None:
        _check_enough(cardinalities, len(allowed), disjoint=disjoint)
    return Request(
        n_components=n_components,
        cardinalities=cardinalities,
        min_variance=settings["min_variance"],
        deflation=settings["deflation"],
        disjoint=disjoint,
        joint=settings["joint"],
        nonnegative=settings["nonnegative"],
        allowed=allowed,
        forced=forced_in,
        penalized=penalty is not None,
        feature_names=feature_names,
    )


def _check_joint(
    settings: Mapping[str, Any], solver: Solver, cardinalities: list[int] | None, penalty: float | None
) -> None:
    joint = f"joint={settings['joint']!r}"
    if cardinalities is None or penalty is not None:
        example = "cardinality=5, or cardinality=[5, 3] for two components"
        raise ValueError(f"{joint} needs a number of features: {example}.")
    if settings["disjoint"]:
        raise ValueError(f"{joint} and disjoint=True are different questions; give one of them.")
    if settings["nonnegative"]:
        raise ValueError(f"{joint} has no search for loadings of one sign; leave out nonnegative=True or joint=.")
    if abilities_of(solver).together:
        raise ValueError(
            f"method={solver.name!r} finds components together in its own way; leave out method= or joint=."
        )


def _check_rank(covariance: Covariance, n_components: int, name: str) -> None:
    n = covariance.n_features
    if n_components > n:
        raise ValueError(f"n_components={n_components} exceeds the number of features, {n}: {name} has {n} feature(s).")
    if not covariance.semidefinite:
        return  # the search says when no positive variance is left
    rank = rank_at_least(covariance.on_hand(), n_components)
    if rank < n_components:
        raise ValueError(
            f"n_components={n_components} exceeds the rank of the covariance, {rank}; "
            f"ask for at most n_components={rank}."
        )


def _check_enough(cardinalities: list[int], allowed: int, *, disjoint: bool) -> None:
    if max(cardinalities) > allowed:
        warn(f"cardinality={max(cardinalities)} but only {allowed} features may be used; no component uses more.")
    if disjoint and sum(cardinalities) > allowed:
        raise ValueError(
            f"disjoint=True needs {sum(cardinalities)} features for cardinality={cardinalities} but {allowed} "
            "may be used; ask for fewer."
        )


def _is_sequence(cardinality: Any) -> bool:
    return cardinality is not None and not is_whole(cardinality)


def _n_components(settings: Mapping[str, Any]) -> int:
    """Return the number of components; without one, the number of cardinalities, or one."""
    n_components, cardinality = settings["n_components"], settings["cardinality"]
    if _is_sequence(cardinality) and (np.ndim(cardinality) != 1 or not all(is_whole(k) for k in cardinality)):
        raise ValueError(f"cardinality={cardinality!r} must be an int or a sequence of ints.")
    if n_components is None:
        if _is_sequence(cardinality) and not len(cardinality):
            raise ValueError(f"cardinality={cardinality!r} is empty; give one number for each component.")
        return len(cardinality) if _is_sequence(cardinality) else 1
    if not is_whole(n_components):
        raise ValueError(f"n_components={n_components!r} must be an int.")
    return int(n_components)


def _cardinalities(
    settings: Mapping[str, Any], penalty: float | None, n_components: int, n: int, name: str
) -> list[int] | None:
    """Return one cardinality for each component, or None to choose each by the share of variance."""
    cardinality = settings["cardinality"]
    asked = {"cardinality": cardinality, "min_variance": settings["min_variance"], "penalty": penalty}
    several = [f"{argument}={value}" for argument, value in asked.items() if value is not None]
    if len(several) > 1:
        raise ValueError(f"{' and '.join(several)} are given; give one of them.")
    if penalty is not None:
        return [n] * n_components
    if cardinality is None:
        return None
    cardinalities = [int(k) for k in cardinality] if _is_sequence(cardinality) else [int(cardinality)] * n_components
    if len(cardinalities) != n_components:
        raise ValueError(
            f"cardinality={cardinalities} has {len(cardinalities)} entries for n_components={n_components}; "
            "give one number, or one for each component."
        )
    for k in cardinalities:
        if not 1 <= k <= n:
            raise ValueError(
                f"cardinality={k} must lie between 1 and the number of features, {n}: {name} has {n} feature(s)."
            )
    return cardinalities


def _places(settings: Mapping[str, Any], argument: str, feature_names: Sequence[str] | None, n: int) -> Indices:
    """Return the sorted places of features that are given by name or place."""
    given = settings[argument]
    return np.unique(np.array([] if given is None else places_of(given, feature_names, n, argument=argument), np.intp))


def _label(feature_names: Sequence[str] | None, place: int) -> str:
    return str(place) if feature_names is None else repr(str(feature_names[place]))
