"""Several components found together: one support for all, supports that share nothing, or orthonormal loadings."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor
from laconic.covariance import Covariance

#: What several components have to do with each other.
Question: TypeAlias = Literal["common", "disjoint", "orthogonal", "span"]


@dataclass(frozen=True, eq=False)
class JointProblem:
    """Maximise the variance that several components explain together.

    With u_1, ..., u_r the components as the columns of U, the value is the sum of u_t'Su_t, where

        common      U'U = I, and one support of k features serves all components: the value of the best U on a
                    support T is the sum of the r largest eigenvalues of S_TT
        disjoint    component t has at most k_t nonzeros, and no feature serves two components
        orthogonal  U'U = I, component t has at most k_t nonzeros, and supports may overlap

    and for "span" the value is the variance of the data projected on the span of U; see `laconic.search.span`.

    Attributes
    ----------
    covariance
        The matrix S.
    question
        One of the four.
    cardinalities
        The largest number of nonzeros of each component. With "common" all are the size of the support.
    total
        The largest number of nonzeros of all components together, or None. With it, sizes are chosen: each of the
        `cardinalities` is then the most that one component may have.
    forced
        Features that every component must use; with "common", features of the support.
    nonnegative
        Whether all loadings must be at least zero. Only "disjoint" allows that.
    monitor
        Stops the search at the time limit or at Ctrl-C.
    """

    covariance: Covariance
    question: Question
    cardinalities: tuple[int, ...]
    total: int | None = None
    forced: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    nonnegative: bool = False
    monitor: Monitor = field(default_factory=Monitor)

    @property
    def count(self) -> int:
        """The number of components."""
        return len(self.cardinalities)


def value_of(problem: JointProblem, vectors: Floats) -> float:
    """Return the sum of u_t'Su_t over the columns of `vectors`."""
    return float(np.einsum("ij,ij->", vectors, problem.covariance.product(vectors)))
