"""
Your own solver
===============

A solver is a small class with a method ``solve``. It finds a support and proves nothing. laconic computes the
loadings, bounds the variance of all other supports, and writes the certificate. So a new idea can be judged at once.
"""

from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np

from laconic import SparsePCA, path
from laconic.datasets import load_senate109
from laconic.search.problem import Problem, Solution, Status
from laconic.search.support import Incumbent, values_of


@dataclass(frozen=True)
class RandomDirections:
    """Multiply random directions by the covariance matrix, and keep the largest entries."""

    starts: int = 50
    name: ClassVar[str] = "random-directions"

    def solve(self, problem: Problem, *, start=None) -> Solution:  # noqa: ARG002 - part of the contract
        rng, best = np.random.default_rng(0), Incumbent(problem)
        with problem.monitor.watch():
            for _ in range(self.starts):
                direction = problem.covariance.product(rng.standard_normal((problem.n_features, 1)))
                support = problem.top(direction)[:, 0]
                best.offer(float(values_of(problem, support[None])[0]), support)
        return best.solution(Status.HEURISTIC, method=self.name)


votes = load_senate109().frame
model = SparsePCA(cardinality=8, method=RandomDirections()).fit(votes)
print(model.verdicts_[0])

# %%
# How good is it for each number of features? The bound does not depend on the method, so every method is measured by
# the same rule.

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
methods = {
    "auto": ("auto", "o-", "#004488"),
    "random directions": (RandomDirections(), "s--", "#BB5566"),
    "thresholding": ("thresholding", "^:", "#DDAA33"),
}
best = path(SparsePCA(), votes, sizes=25)
for name, (method, style, colour) in methods.items():
    curve = best if name == "auto" else path(SparsePCA(method=method, proof=None), votes, sizes=25)
    ax.plot(curve.cardinalities, 100 * curve.values / best.upper_bounds, style, color=colour, markersize=4, label=name)
ax.set(xlabel="number of bills", ylabel="% of the proved upper bound")
ax.legend(frameon=False, loc="lower right")
plt.show()
