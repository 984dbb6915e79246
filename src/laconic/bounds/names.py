"""The short names of methods."""

from dataclasses import replace

from laconic.bounds.dspca import Dspca
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
}


def get_solver(method: str | Solver, *, seed: int | None = None) -> Solver:
    """Return the solver of a short name, or the solver itself, with a seed put in.

    Parameters
    ----------
    method
        A short name, or a solver.
    seed
        The seed, for a solver that has one. By default the solver keeps its own.

    Examples
    --------
    >>> from laconic.methods import get_solver
    >>> get_solver("truncated-power", seed=3)
    TruncatedPower(max_iterations=200, seed=3)
    """
    if isinstance(method, str):
        if method not in SOLVERS:
            also = "; an exact proof is asked for by proof='exact'" if method == "exact" else ""
            raise ValueError(f"method={method!r} is not known; choose one of {', '.join(SOLVERS)}{also}.")
        solver = SOLVERS[method]
    elif isinstance(method, Solver) and not isinstance(method, type):
        solver = method
    else:
        raise TypeError(f"method={method!r} must be a solver or one of {', '.join(SOLVERS)}.")
    if seed is None or not abilities_of(solver).seed:
        return solver
    return replace(solver, seed=seed)  # type: ignore[type-var] # a solver is a dataclass
