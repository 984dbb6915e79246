"""The choice inside a fit: `SparsePCA(cardinality="cv")`, `SparsePCA("parallel")`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from laconic.core.arguments import is_whole
from laconic.core.monitor import Monitor, warn
from laconic.covariance import Covariance, Standardization
from laconic.model.choosing.choice import Choice
from laconic.model.choosing.choose import Question, answer, rows_left_of
from laconic.model.forced import forced_places
from laconic.model.resampling import seed_of

# The criterion if only the number of components is to be chosen and no number of features is given.
DEFAULT = "cv"


def choice_in_fit(
    settings: Mapping[str, Any],
    covariance: Covariance,
    standardization: Standardization,
    rows: Any,
    feature_names: Sequence[str] | None,
    monitor: Monitor,
) -> Choice | None:
    """Return what the parameters of `SparsePCA` leave to be chosen, None if that is nothing.

    `rows` are the rows that were checked, None if they are not in memory or have weights. The choice takes at most half
    of the time that is left.
    """
    cardinality, n_components = settings["cardinality"], settings["n_components"]
    chosen = isinstance(cardinality, str)
    if not chosen and n_components != "parallel":
        return None
    for argument in ("min_variance", "penalty"):
        value = settings[argument]
        if value is not None:
            first = f"cardinality={cardinality!r}" if chosen else f"n_components={n_components!r}"
            raise ValueError(f"{first} and {argument}={value} are given; give one of them.")
    varies = ~standardization.constant
    forced, allowed = forced_places(settings["forced_in"], feature_names, varies), np.flatnonzero(varies)
    center, scale = settings["center"], settings["scale"]
    given = None if chosen or cardinality is None else int(cardinality) if is_whole(cardinality) else list(cardinality)
    question = Question(
        covariance,
        None if rows is None else rows_left_of(rows, standardization, center=center, scale=scale),
        None if rows is None else rows.shape[0],
        allowed,
        forced,
        monitor.part(2),
        criterion=cardinality if chosen else DEFAULT if given is None else None,
        sizes=given,
        deflation=settings["deflation"],
        disjoint=settings["disjoint"],
        nonnegative=settings["nonnegative"],
        seed=0 if settings["random_state"] is None else seed_of(settings["random_state"]),
    )
    with monitor:
        choice = answer(question, 1 if n_components is None else n_components)
    if not choice.n_components:
        warn(f"{choice.without_components} The fit has one component all the same.")
    return choice


def with_choice(settings: Mapping[str, Any], choice: Choice | None) -> dict[str, Any]:
    """Return the parameters with numbers in the place of what was chosen."""
    if choice is None:
        return dict(settings)
    sizes = choice.cardinality or [choice.components[0].cardinality]
    return {**settings, "cardinality": sizes, "n_components": len(sizes)}
