"""The short names of methods."""

from dataclasses import replace
from typing import Any

from laconic.bounds.dspca import Dspca
from laconic.bounds.exact import BranchAndBound
from laconic.search.auto import Auto
from laconic.search.exhaustive import Exhaustive
from laconic.search.greedy import ApproximateGreedy, BackwardGreedy, Greedy, Thresholding, VarianceSorting
from laconic.search.power import GeneralizedPower, TruncatedPower
from laconic.search.problem import Solver, abilities_of
from laconic.search.swaps import Swaps

#: Short name -> solver with its default settings.
SOLVERS: dict[str, Solver] = {
    "auto": Auto(),
    "sorting": VarianceSorting(),
    "thresholding": Thresholding(),
    "greedy": Greedy(),
    "backward-greedy": BackwardGreedy(),
    "approximate-greedy": ApproximateGreedy(),
    "truncated-power": TruncatedPower(),
    "gpower-l1": GeneralizedPower("l1"),
    "gpower-l0": GeneralizedPower("l0"),
    "gpower-l1-block": GeneralizedPower("l1", block=True),
    "gpower-l0-block": GeneralizedPower("l0", block=True),
    "swaps": Swaps(),
    "exhaustive": Exhaustive(),
    "dspca": Dspca(),
    "exact": BranchAndBound(),
}


def get_solver(method: str | Solver, *, seed: int | None = None, penalty: float | None = None) -> Solver:
    """Return the solver of a short name, or the solver itself, with a seed and a penalty put in.

    Parameters
    ----------
    method
        A short name, or a solver.
    seed, penalty
        The seed and the price of a feature, for a solver that has them. By default the solver keeps its own.
    """
    if isinstance(method, str):
        if method not in SOLVERS:
            raise ValueError(f"method={method!r} is not known; choose one of {', '.join(SOLVERS)}.")
        solver = SOLVERS[method]
    elif isinstance(method, Solver) and not isinstance(method, type):
        solver = method
    else:
        raise TypeError(f"method={method!r} must be a solver or one of {', '.join(SOLVERS)}.")
    abilities, changes = abilities_of(solver), dict[str, Any]()
    if seed is not None and abilities.seed:
        changes["seed"] = seed
    if penalty is not None:
        if not abilities.penalty:
            names = " or ".join(f"method={name!r}" for name, known in SOLVERS.items() if abilities_of(known).penalty)
            raise ValueError(
                f"penalty={penalty} is for {names}; method={solver.name!r} takes none. "
                "Give cardinality= or min_variance= instead."
            )
        changes["penalty"] = float(penalty)
    return replace(solver, **changes) if changes else solver  # type: ignore[type-var] # a solver is a dataclass
