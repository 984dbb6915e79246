"""SCIP on sparse PCA as a mixed-integer program, with x'Sx as a sum of squares along the eigenvectors of S.

    max t   t <= sum_j l_j y_j^2,  y = V'x,  |x| <= 1,  |y| <= 1,  |x_i| <= a_i <= z_i,  sum a <= sqrt(k),  sum z = k

with S = V diag(l) V' and binary z. We may require y_n >= 0, because x and -x have the same value. |y_j| is at most the
length of the k largest entries of the eigenvector. SCIP branches on n squares here. With the n^2 products x_i x_j it
takes more than ten times as long on pitprops and wine.
"""

from dataclasses import dataclass

import numpy as np
from pyscipopt import Model, quicksum

TITLE = "SCIP"


@dataclass(frozen=True)
class Answer:
    """The result of SCIP. Its value and its bound hold up to its tolerance of 1e-6.

    Attributes
    ----------
    value, upper
        The value of the best point found, and SCIP's upper bound.
    nodes
        The number of nodes of the search tree.
    finished
        Whether SCIP reached the requested gap.
    """

    value: float
    upper: float
    nodes: int
    finished: bool

    @property
    def gap(self) -> float:
        """The relative gap: (upper - value) / value."""
        return (self.upper - self.value) / self.value if self.value > 0 else float("inf")


def solve(S: np.ndarray, k: int, *, gap: float, time_limit: float) -> Answer:
    n = len(S)
    values, vectors = np.linalg.eigh(S)
    values = np.maximum(values, 0.0)
    model = Model()
    model.hideOutput()
    model.setParams({"limits/time": time_limit, "limits/gap": gap, "lp/threads": 1, "timing/clocktype": 1})
    x = [model.addVar(lb=-1, ub=1) for _ in range(n)]
    size = [model.addVar(lb=0, ub=1) for _ in range(n)]
    z = [model.addVar(vtype="B") for _ in range(n)]
    for i in range(n):
        model.addCons(x[i] <= size[i])
        model.addCons(-x[i] <= size[i])
        model.addCons(size[i] <= z[i])
    model.addCons(quicksum(z) == k)
    model.addCons(quicksum(size) <= float(np.sqrt(k)))
    model.addCons(quicksum(v * v for v in x) <= 1)
    y = []
    for j in range(n):
        longest = float(np.sqrt(np.sort(vectors[:, j] ** 2)[-k:].sum()))
        y.append(model.addVar(lb=0.0 if j == n - 1 else -longest, ub=longest))
        model.addCons(y[j] == quicksum(float(vectors[i, j]) * x[i] for i in range(n)))
    model.addCons(quicksum(v * v for v in y) <= 1)
    t = model.addVar(lb=0, ub=float(values[-1]))
    model.addCons(t <= quicksum(float(values[j]) * y[j] * y[j] for j in range(n)))
    model.setObjective(t, "maximize")
    model.optimize()
    finished = model.getStatus() in ("optimal", "gaplimit")
    found = model.getPrimalbound() if model.getNSols() else 0.0
    return Answer(found, model.getDualbound(), model.getNNodes(), finished)
