"""The settings of a model: checks with clear sentences, and the data as the settings make them."""

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from laconic.bounds.fast import check_proof
from laconic.bounds.methods import get_solver
from laconic.core.arguments import is_whole, places_of
from laconic.core.arrays import Indices
from laconic.core.monitor import Monitor
from laconic.covariance.deflation import DEFLATIONS
from laconic.covariance.make import Made, make, make_of_matrix
from laconic.model.criteria import CRITERIA
from laconic.search.problem import Solver, abilities_of

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA

WAYS = ("error", "pairwise", "em")
JOINT = ("disjoint", "span")


def check_settings(model: "SparsePCA") -> None:
    """Raise a ValueError or TypeError if a setting is none that the estimator takes."""
    count, time_limit = model.n_components, model.time_limit
    if not (count is None or count == "parallel" or (is_whole(count) and count >= 1)):
        raise ValueError(f"n_components={count!r} must be an int of at least 1, 'parallel' or None.")
    if isinstance(model.cardinality, str) and model.cardinality not in CRITERIA:
        raise ValueError(
            f"cardinality={model.cardinality!r} is no criterion; choose one of {', '.join(CRITERIA)}, or give a number."
        )
    check_cardinality(model.cardinality)
    for name in ("method", "proof"):
        if hasattr(getattr(model, name), "refuse"):  # its code was not in the model file
            getattr(model, name).refuse(name)
    get_solver(model.method)
    if model.proof is not None:
        check_proof(model.proof)
    for name, words in (("joint", (*JOINT, None)), ("deflation", tuple(DEFLATIONS)), ("missing", WAYS)):
        value = getattr(model, name)
        if not any(value is None if word is None else isinstance(value, str) and value == word for word in words):
            raise ValueError(f"{name}={value!r} must be one of {', '.join(repr(word) for word in words)}.")
    for name in ("nonnegative", "center", "scale", "verbose"):
        if not isinstance(getattr(model, name), bool | np.bool_):
            raise ValueError(f"{name}={getattr(model, name)!r} must be True or False.")
    if time_limit is not None and (
        isinstance(time_limit, bool) or not isinstance(time_limit, Real) or not float(time_limit) > 0
    ):
        raise ValueError(f"time_limit={time_limit!r} must be a number of seconds above zero, or None.")
    state = model.random_state
    if not (state is None or isinstance(state, np.random.RandomState) or (is_whole(state) and state >= 0)):
        raise ValueError(f"random_state={state!r} must be a whole number of at least 0, a RandomState or None.")


def made_of(
    model: "SparsePCA",
    X: Any,
    covariance: Any,
    sample_weight: Any,
    monitor: Monitor,
    *,
    feature_names: Sequence[str] | None = None,
    features: int | None = None,
    needed: Any = None,
    called: str = "forced_in",
    name: str | None = None,
) -> Made:
    """Return S as the settings of a model make it, of rows X or of a covariance matrix.

    X may be `Made` already: a command makes S once and hands it on. `features` is the number of features of all
    components together, if it is known. By default those forced in are `needed`; errors
    call them as `called` says, and the data `name`.
    """
    if isinstance(X, Made):
        return X
    if X is not None and covariance is not None:
        raise ValueError("Rows X and covariance= are given; give one of them.")
    if covariance is not None:
        if sample_weight is not None:
            raise ValueError("sample_weight is for rows, and a covariance matrix has none; leave it out.")
        return make_of_matrix(covariance, scale=model.scale, names=feature_names, name=name or "S")
    return make(
        X,
        model._recipe(),
        monitor,
        weights=sample_weight,
        names=feature_names,
        features=features,
        needed=(() if model.forced_in is None else model.forced_in) if needed is None else needed,
        needed_name=called,
        name=name or "X",
    )


def is_share(cardinality: Any) -> TypeGuard[float]:
    """Say whether a number of features is given as a share of variance: 0.9 and 1.0 are shares, and 1 is a count."""
    return isinstance(cardinality, float | np.floating) and 0 < float(cardinality) <= 1


def is_sequence(cardinality: Any) -> TypeGuard[Sequence[int]]:
    """Say whether numbers of features are given one by one."""
    return not (cardinality is None or isinstance(cardinality, str) or is_whole(cardinality) or is_share(cardinality))


def check_cardinality(cardinality: Any) -> None:
    """Raise a ValueError unless a value is a number of features, several, a share of variance, or a text."""
    if not is_sequence(cardinality):
        if is_whole(cardinality) and cardinality < 1:
            raise ValueError(f"cardinality={cardinality} must be at least 1.")
        return
    advice = "a whole number, one for each component, or a share of variance such as 0.9"
    if isinstance(cardinality, float | np.floating):
        advice = f"a whole number such as {max(1, round(cardinality) if np.isfinite(cardinality) else 1)}, or a share"
        raise ValueError(f"cardinality={cardinality!r} is no share of variance: a share is at most 1.0; give {advice}.")
    if isinstance(cardinality, bool | np.bool_ | bytes | dict) or np.ndim(cardinality) != 1:
        raise ValueError(f"cardinality={cardinality!r} must be {advice}.")
    if not all(is_whole(k) for k in cardinality):
        raise ValueError(f"cardinality={cardinality!r} must hold whole numbers; one share counts for all components.")
    if not len(cardinality):
        raise ValueError(f"cardinality={cardinality!r} is empty; give one number for each component.")


def features_asked_for(model: "SparsePCA") -> int | None:
    """Return the number of features of all components together; None if it is not known before S is made."""
    k, count = model.cardinality, model.n_components
    if is_sequence(k):
        return sum(int(size) for size in k)
    return int(k) * (int(count) if is_whole(count) else 1) if is_whole(k) else None


def forced_places(model: "SparsePCA", made: Made) -> Indices:
    """Return the sorted places of the features forced in. Each of them must vary."""
    given, n = model.forced_in, made.covariance.n_features
    if made.constant.all():
        raise ValueError(f"{made.name} has no column that varies; there is no variance to explain.")
    places = [] if given is None else places_of(given, made.names, n, argument="forced_in")
    forced = np.unique(np.array(places, dtype=np.intp))
    for place in forced[made.constant[forced]]:
        label = str(place) if made.names is None else repr(made.names[place])
        raise ValueError(f"forced_in names {label}, which does not vary; leave it out.")
    return forced


def penalty_of(solver: Solver) -> float | None:
    """Return the penalty by which a solver chooses the number of features itself; None if it does not."""
    return getattr(solver, "penalty", None) if abilities_of(solver).penalty else None
