"""Every solver by its short name."""

from dataclasses import replace

from laconic.bounds.tree.search import BranchAndBound
from laconic.methods.dspca import Dspca
from laconic.problem.contract import Solver
from laconic.search.approximate_greedy import ApproximateGreedy
from laconic.search.auto import Auto
from laconic.search.backward_greedy import BackwardGreedy
from laconic.search.exhaustive import Exhaustive
from laconic.search.generalized_power import GeneralizedPower
from laconic.search.greedy import Greedy
from laconic.search.swaps import Swaps
from laconic.search.thresholding import Thresholding
from laconic.search.truncated_power import TruncatedPower
from laconic.search.variance_sorting import VarianceSorting

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


def _seeded(solver: Solver, seed: int) -> Solver:
    """Return the solver with its seed set, if it has one."""
    if isinstance(solver, Auto | BranchAndBound | Thresholding | TruncatedPower):
        return replace(solver, seed=seed)
    return solver


def get_solver(method: str | Solver, *, seed: int = 0) -> Solver:
    """Return the solver of a short name, or the solver itself."""
    if isinstance(method, str):
        if method not in SOLVERS:
            raise ValueError(f"method={method!r} is not known; choose one of {', '.join(SOLVERS)}.")
        return _seeded(SOLVERS[method], seed)
    if isinstance(method, Solver) and not isinstance(method, type):
        return method
    raise TypeError(f"method={method!r} must be a solver or one of {', '.join(SOLVERS)}.")
