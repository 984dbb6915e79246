"""The settings of a model: checks with clear sentences, the data as the settings make them, and the sizes."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np

from laconic.bounds.names import get_solver
from laconic.bounds.prove import Exact, check_proof
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, warn
from laconic.core.words import at_least, counted, is_whole, places_of
from laconic.covariance import largest_eigenpair, rank_at_least
from laconic.covariance.deflation import DEFLATIONS
from laconic.covariance.make import Made, make, make_of_matrix
from laconic.covariance.missing import WAYS
from laconic.search import Thresholding
from laconic.search.greedy import cut_off
from laconic.search.problem import Problem, Solution, Solver, Status, abilities_of
from laconic.search.several import Question
from laconic.search.support import Incumbent

if TYPE_CHECKING:
    from laconic.model.choosing import Choice
    from laconic.model.estimator import SparsePCA

JOINT = ("common", "disjoint", "orthogonal", "span")
# Questions about several components that take the number of features of all of them.
BY_TOTAL = ("disjoint", "orthogonal")


def check_settings(model: "SparsePCA") -> None:
    """Raise a ValueError or TypeError if a setting is none that the estimator takes."""
    if isinstance(model, type) or not hasattr(model, "fit_covariance"):
        given = f"the class {model.__name__}" if isinstance(model, type) else f"a {type(model).__name__}"
        raise TypeError(f"model is {given}; give a SparsePCA, fitted or not, and then the data.")
    count, time_limit = model.n_components, model.time_limit
    if not (count is None or (is_whole(count) and count >= 1)):
        raise ValueError(f"n_components={count!r} must be an int of at least 1, or None.")
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
    _check_joint(model)
    for name in ("nonnegative", "center", "scale", "verbose"):
        if not isinstance(getattr(model, name), bool | np.bool_):
            raise ValueError(f"{name}={getattr(model, name)!r} must be True or False.")
    is_number = isinstance(time_limit, Real) and not isinstance(time_limit, bool)
    if time_limit is not None and not (is_number and float(time_limit) > 0):
        raise ValueError(f"time_limit={time_limit!r} must be a number of seconds above zero, or None.")
    state = model.random_state
    if not (state is None or isinstance(state, np.random.RandomState) or (is_whole(state) and state >= 0)):
        raise ValueError(f"random_state={state!r} must be a whole number of at least 0, a RandomState or None.")


def joint_of(model: "SparsePCA") -> Question | None:
    """Return the question about all components together; None for a single component, or without a question."""
    k, count = model.cardinality, model.n_components
    if count is None and k is not None:
        count = len(k) if is_sequence(k) else 1
    return None if count == 1 else cast("Question | None", model.joint)


def _check_joint(model: "SparsePCA") -> None:
    """Raise a ValueError if a setting contradicts the question about all components together."""
    k, proof, why = model.cardinality, model.proof, ""
    if is_total(k) and model.joint not in BY_TOTAL:
        raise ValueError(
            f"cardinality={k!r} is for several components with joint='disjoint' or joint='orthogonal'; give one of "
            "them, or a number."
        )
    joint = joint_of(model)
    if joint is None:
        return
    if model.method != "auto":
        why = f"searches in a way of its own, so that method={model.method!r} would be ignored; leave out method="
    elif model.deflation != "projection":
        why = f"takes no component out of S, so that deflation={model.deflation!r} would be ignored; leave it out"
    elif not (proof is None or isinstance(proof, str | Exact)):
        why = f"needs a bound on all components, and {type(proof).__name__} bounds one; give proof='fast' or 'tight'"
    elif model.nonnegative and joint != "disjoint":
        why = "has no search for loadings of one sign; leave out nonnegative=True, or give joint='disjoint'"
    elif joint == "disjoint" and model.forced_in is not None and np.size(model.forced_in):
        why = "gives no feature to two components, and forced_in gives its features to all; leave out one of them"
    elif joint == "common" and is_sequence(k) and len(set(k)) > 1:
        why = f"gives all components the same features, and cardinality={list(k)} has several numbers; give one"
    if why:
        raise ValueError(f"joint={joint!r} {why}.")


def made_of(
    model: "SparsePCA",
    X: Any,
    covariance: Any,
    sample_weight: Any,
    monitor: Monitor,
    *,
    feature_names: Sequence[str] | None = None,
    features: int | None = None,
    by_products: bool = False,
    own: Sequence[str | int] | None = None,
    name: str | None = None,
) -> Made:
    """Return S as the settings of a model make it, of rows X or of a covariance matrix.

    X may be `Made` already: a command makes S once and hands it on. `features` is the number of features of all
    components together, if it is known, and `by_products` as in `make`. `own` are the features that a user chose, in
    place of those forced in. Errors call the data `name`. The digest is computed at most once.
    """
    if isinstance(X, Made):
        return X
    if X is not None and covariance is not None:
        raise ValueError("Rows X and covariance= are given; give one of them.")
    if covariance is not None:
        if sample_weight is not None:
            raise ValueError("sample_weight is for rows, and a covariance matrix has none; leave it out.")
        made = make_of_matrix(covariance, scale=model.scale, names=feature_names, name=name or "S")
    else:
        made = make(
            X,
            model._recipe(),
            monitor,
            weights=sample_weight,
            names=feature_names,
            features=features,
            by_products=by_products,
            needed=own if own is not None else () if model.forced_in is None else model.forced_in,
            needed_name="forced_in" if own is None else "features",
            name=name or "X",
        )
    return replace(made, digest=cache(made.digest))  # for all certificates of a fit


def check_count(name: str, count: Any, least: int = 1) -> int:
    """Return a whole number of at least `least`, or raise a ValueError."""
    if not is_whole(count) or count < least:
        raise ValueError(f"{name}={count!r} must be an int of at least {least}.")
    return int(count)


def is_share(cardinality: Any) -> TypeGuard[float]:
    """Say whether a number of features is given as a share of variance: 0.9 and 1.0 are shares, and 1 is a count."""
    return isinstance(cardinality, float | np.floating) and 0 < float(cardinality) <= 1


def is_total(cardinality: Any) -> TypeGuard[dict[str, int]]:
    """Say whether the number of features of all components together is given: {"total": 30}."""
    return isinstance(cardinality, dict)


def is_sequence(cardinality: Any) -> TypeGuard[Sequence[int]]:
    """Say whether numbers of features are given one by one."""
    return not (cardinality is None or isinstance(cardinality, dict) or is_whole(cardinality) or is_share(cardinality))


def check_cardinality(cardinality: Any) -> None:
    """Raise a ValueError unless a value is a number of features, several, a share of variance or a total."""
    if is_total(cardinality):
        if set(cardinality) != {"total"} or not is_whole(cardinality["total"]) or cardinality["total"] < 1:
            raise ValueError(f"cardinality={cardinality!r} must be like {{'total': 30}}, with a whole number.")
        return
    if not is_sequence(cardinality):
        if is_whole(cardinality) and cardinality < 1:
            raise ValueError(f"cardinality={cardinality} must be at least 1.")
        return
    if isinstance(cardinality, str):
        raise ValueError(f"cardinality={cardinality!r} must be a number, or a share of variance such as 0.9.")
    advice = "a whole number, one for each component, or a share of variance such as 0.9"
    if isinstance(cardinality, float | np.floating):
        advice = f"a whole number such as {max(1, round(cardinality) if np.isfinite(cardinality) else 1)}, or a share"
        raise ValueError(f"cardinality={cardinality!r} is no share of variance: a share is at most 1.0; give {advice}.")
    if isinstance(cardinality, bool | np.bool_ | bytes) or np.ndim(cardinality) != 1:
        raise ValueError(f"cardinality={cardinality!r} must be {advice}.")
    if not all(is_whole(k) for k in cardinality):
        raise ValueError(f"cardinality={cardinality!r} must hold whole numbers; one share counts for all components.")
    if not len(cardinality):
        raise ValueError(f"cardinality={cardinality!r} is empty; give one number for each component.")


def changed_settings(model: "SparsePCA") -> str:
    """Return the settings that differ from the defaults, as arguments in Python."""
    defaults = type(model)().get_params(deep=False)
    given = {name: repr(value) for name, value in model.get_params(deep=False).items() if name != "verbose"}
    return ", ".join(f"{name}={value}" for name, value in given.items() if value != repr(defaults[name]))


def features_asked_for(model: "SparsePCA") -> int | None:
    """Return the number of features of all components together; None if it is not known before S is made."""
    k, count = model.cardinality, model.n_components
    if is_total(k):
        return k["total"]
    if is_sequence(k):
        return sum(int(size) for size in k)
    return int(k) * (int(count) if is_whole(count) else 1) if is_whole(k) else None


# With more components than this the matrix is worth its cost, even for a method that needs only products.
MOST_BY_PRODUCTS = 4


def needs_only_products(model: "SparsePCA") -> bool:
    """Say whether a fit asks S for few products, so that its matrix would cost more than it saves."""
    few = is_whole(model.cardinality) and model.n_components in (None, *range(1, MOST_BY_PRODUCTS + 1))
    return few and model.proof is None and model.joint is None and abilities_of(get_solver(model.method)).products


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


# The share may be missed by this, relative to the target: rounding errors of two eigenvalues are smaller.
ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class Sizes:
    """The number of components and of their features."""

    count: int  # of components
    cardinalities: list[int] | None  # one for each component; None to find each by the share
    share: float | None = None  # of the dense component's variance; of that of all with joint="common"
    total: int | None = None  # of all components together; each of the cardinalities is then the most that is possible
    choice: "Choice | None" = None  # how the numbers were chosen from the data, if they were


def sizes_of(model: "SparsePCA", made: Made, monitor: Monitor) -> Sizes:
    """Return how many components are wanted and of which sizes, checked against the data."""
    sizes = _given(model, made)
    if sizes is None:
        from laconic.model.choosing import choice_in_fit

        choice = choice_in_fit(model, made, monitor)
        sizes = Sizes(choice.n_components, choice.cardinality, choice=choice)
    check_sizes(model, made, sizes)
    return sizes


def _given(model: "SparsePCA", made: Made) -> Sizes | None:
    """Return the sizes that the parameters give; None if they are to be chosen from the data."""
    k, n, penalty = model.cardinality, made.covariance.n_features, penalty_of(get_solver(model.method))
    if penalty is not None and k is not None:
        raise ValueError(
            f"cardinality={k!r} and a penalty of {penalty} are given; the penalty decides on the number of features: "
            "leave out cardinality=."
        )
    joint = joint_of(model)
    if joint is not None and (k is None or (is_share(k) and joint != "common")):
        also = {"common": ", or a share such as 0.9", "span": ""}.get(joint, ", or {'total': 8} for all together")
        raise ValueError(f"joint={joint!r} needs a number of features: cardinality=5{also}.")
    if k is None and penalty is None:
        return None
    count = len(k) if is_sequence(k) and model.n_components is None else int(model.n_components or 1)
    if penalty is not None:
        return Sizes(count, [n] * count)
    if is_share(k):
        return Sizes(count, None, float(k))
    if is_total(k):
        if model.n_components is None:
            raise ValueError(f"cardinality={k!r} is for several components: say how many with n_components=.")
        total = k["total"]
        most = n if joint in (None, "disjoint") else count * n
        if not count <= total <= most:
            raise ValueError(
                f"cardinality={k!r} must lie between {count}, one feature for each component, and {most}: {made.name} "
                f"has n_features={n}."
            )
        return Sizes(count, [min(total - count + 1, n)] * count, total=None if joint is None else total)
    sizes = [int(size) for size in k] if is_sequence(k) else [int(cast("int", k))] * count
    if len(sizes) != count:
        raise ValueError(
            f"cardinality={sizes} has {len(sizes)} entries for n_components={count}; give one number, or one for each "
            "component."
        )
    for size in sizes:
        if not 1 <= size <= n:
            raise ValueError(
                f"cardinality={size} must lie between 1 and the number of features, {n}: {made.name} has "
                f"n_features={n}."
            )
    return Sizes(count, sizes)


def check_sizes(model: "SparsePCA", made: Made, sizes: Sizes) -> None:
    """Raise a ValueError if the data have no components of these sizes, or the settings contradict each other."""
    covariance, n, varying = made.covariance, made.covariance.n_features, int((~made.constant).sum())
    forced, ks, count = forced_places(model, made), sizes.cardinalities, sizes.count
    if ks is not None and len(forced) > min(ks):
        raise ValueError(
            f"forced_in names {len(forced)} features but cardinality={min(ks)}: force fewer or raise the cardinality."
        )
    joint = model.joint if count > 1 else None
    if sizes.total is not None and sizes.total < count * len(forced):
        raise ValueError(
            f"forced_in gives {count * len(forced)} features to n_components={count} components but "
            f"cardinality={model.cardinality!r}: force fewer or raise the total."
        )
    if joint == "common" and ks is not None and ks[0] < count:
        raise ValueError(
            f"joint='common' needs at least as many features as components; cardinality={ks[0]} is less than "
            f"n_components={count}."
        )
    if count > n:
        raise ValueError(
            f"n_components={count} exceeds the number of features, {n}: {made.name} has {counted(n, 'feature')}."
        )
    # In a matrix that is not semidefinite, the search says when no positive variance is left.
    if covariance.semidefinite:
        rank = rank_at_least(covariance.on_hand(), count)
        if rank < count:
            raise ValueError(
                f"n_components={count} exceeds the rank of the covariance, {rank}; ask for at most n_components={rank}."
            )
    if ks is None or penalty_of(get_solver(model.method)) is not None:
        return
    if max(ks) > varying and sizes.total is None:
        warn(f"cardinality={max(ks)} but only {varying} features may be used; no component uses more.")
    needed = sizes.total or sum(ks)
    if joint == "disjoint" and needed > varying:
        raise ValueError(
            f"joint='disjoint' needs {needed} features for cardinality={model.cardinality!r} and n_components={count} "
            f"but {varying} may be used; ask for fewer."
        )


def smallest_that_keeps(problem: Problem, solver: Solver, share: float) -> tuple[Solution, float]:
    """Return the solution of the smallest cardinality found that keeps a share, and the dense component's variance.

    The search begins at the smallest cardinality at which the dense component, cut off, still keeps the share. It
    lowers the cardinality by steps that double, then by bisection. At the end the next smaller cardinality has been
    tried and is too small. A search that is stopped keeps the share too, with more features. If all features together
    do not reach the share, which happens with non-negative loadings, the best support found is returned.
    """
    dense, vector = largest_eigenpair(problem.covariance)
    if dense <= 0:
        return solver.solve(problem), dense
    target = share * dense * (1 - ROUNDING)
    n, monitor = problem.n_features, problem.monitor
    low = max(len(problem.forced), 1) - 1
    high, cut = _cut_off_where_it_keeps(problem, vector, target)
    solution = solver.solve(problem.with_cardinality(high), start=cut.support)
    if monitor.stopped is not None and solution.value < cut.value:
        solution = cut.solution(Status[monitor.stopped.name], method=Thresholding.name)
    step = 1
    while solution.value < target and high < n and monitor.stopped is None:
        low, high, step = high, min(2 * high, n), n
        solution = solver.solve(problem.with_cardinality(high), start=solution.support)
    while high - low > 1 and monitor.stopped is None:
        middle = max(high - step, (low + high) // 2)
        trial = solver.solve(problem.with_cardinality(middle), start=solution.support)
        if trial.value >= target:
            high, solution, step = middle, trial, 2 * step
        else:
            low = middle
    kept = f"this component keeps {at_least(solution.value / dense, 3)} of the ordinary component's variance"
    if monitor.stopped is not None:
        warn(f"The search for cardinality={share} was stopped at {len(solution.support)} features; {kept}.")
    elif solution.value < target:
        warn(f"cardinality={share} cannot be reached with these constraints; {kept}.")
    return solution, dense


def _cut_off_where_it_keeps(problem: Problem, vector: Floats, target: float) -> tuple[int, Incumbent]:
    """Return the smallest cardinality at which the dense component, cut off, reaches a value, and the support there."""

    @cache
    def cut(k: int) -> Incumbent:
        return cut_off(problem.with_cardinality(k), vector)

    low = high = max(len(problem.forced), 1)
    while cut(high).value < target and high < problem.n_features:
        low, high = high + 1, min(2 * high, problem.n_features)
    k = bisect_left(range(high), target, lo=low, key=lambda size: cut(size).value)
    return k, cut(k)
