"""The truncated power method, and the generalised power method with an l1 or an l0 penalty."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from laconic.core.arrays import SMALLEST_NORMAL, Floats, Indices
from laconic.core.eigenvalues import EPS, eigh
from laconic.covariance import largest_eigenpair
from laconic.covariance.deflation import Deflation
from laconic.search.problem import Abilities, Problem, Solution, Status, stopped_or
from laconic.search.span import variance_of_span
from laconic.search.support import EQUAL, Incumbent, finish, leading_on

# Every so many steps, starts with the same support are merged, and a start ends if its support is the same as before.
SETTLE_EVERY = 5
# Relative accuracy of the leading eigenvector that a single run starts from: its steps move on from there. It is also
# the accuracy of the ordinary component's variance that is reported, so that one computation serves both.
ACCURACY_OF_START = 1e-3


def truncate(problem: Problem, directions: Floats) -> tuple[Indices, Floats]:
    """Keep the k largest entries of each column, scaled to unit length. Return the supports (k x b) and the columns."""
    supports = problem.top(directions, ordered=False)
    which = np.arange(directions.shape[1])
    entries = directions[supports, which]
    if problem.nonnegative:
        entries = np.maximum(entries, 0.0)
    norms = np.linalg.norm(entries, axis=0)
    entries /= np.where(norms > 0, norms, 1.0)
    block = np.zeros_like(directions)
    block[supports, which] = entries
    return supports, block


@cache
def _keys(n: int) -> NDArray[np.uint64]:
    """Return a random number for each feature. Its sum over a support, modulo 2^64, identifies the support."""
    return np.random.default_rng(0).integers(2**64, size=n, dtype=np.uint64)


def power_supports(problem: Problem, directions: Floats, *, max_iterations: int, keep: int = 64) -> tuple[Indices, int]:
    """Run the truncated power method from all columns of `directions` together. A step is one product with S.

    Starts that reach the same support are merged, and those whose support stays the same are done, so that the batch
    soon shrinks to a few. Return the `keep` best distinct supports reached, each in a row, and the number of steps.
    """
    covariance = problem.covariance
    shift = covariance.power_shift
    keys = _keys(problem.n_features)
    settled: list[tuple[NDArray[np.uint64], Indices, Floats]] = []
    before = np.empty(0, dtype=np.uint64)
    step = 0
    while True:
        supports, block = truncate(problem, directions)
        if step % SETTLE_EVERY == 0 or step == max_iterations:
            codes = keys[supports].sum(axis=0, dtype=np.uint64)
            first = np.sort(np.unique(codes, return_index=True)[1])
            ends = (codes[first] == before[first]) | (step == max_iterations) if step else np.zeros(len(first), bool)
            settled.append((codes[first[ends]], supports[:, first[ends]], block[:, first[ends]]))
            if ends.all():
                break
            before, block = codes[first[~ends]], block[:, first[~ends]]
        step += 1
        problem.monitor.tick("truncated power")
        directions = covariance.product(block)
        if shift:
            directions += shift * block
    codes, supports, block = (np.concatenate(parts, axis=-1) for parts in zip(*settled, strict=True))
    _, first = np.unique(codes, return_index=True)
    if len(first) > keep:
        quality = np.einsum("ij,ij->j", block, covariance.product(block))[first]
        first = first[np.argsort(-quality, kind="stable")[:keep]]
    return np.sort(supports[:, first], axis=0).T, step


@dataclass(frozen=True)
class TruncatedPower:
    """Power steps, each cut to the k largest entries (Yuan and Zhang 2013).

    Attributes
    ----------
    max_iterations
        The largest number of power steps.
    seed
        Seed of the Lanczos start, if the search begins at the leading eigenvector.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import Problem, TruncatedPower
    >>> TruncatedPower().solve(Problem(load_pitprops().covariance, 4)).support
    array([0, 1, 6, 9])
    """

    max_iterations: int = 200
    seed: int = 0

    name: ClassVar[str] = "truncated-power"
    abilities: ClassVar[Abilities] = Abilities(seed=True, products=True)

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Start from `start`, or from the leading eigenvector."""
        best = Incumbent(problem)
        steps = 0
        with problem.monitor.watch():
            if start is None:
                problem.monitor.tick("leading eigenvector")
                _, vector = largest_eigenpair(problem.covariance, seed=self.seed, tolerance=ACCURACY_OF_START)
                directions = problem.both_signs(vector[:, None])
            else:
                directions = problem.direction_of(start)
            supports, steps = power_supports(problem, directions, max_iterations=self.max_iterations)
            best.offer_all(supports)
        status = Status.ITERATION_LIMIT if steps == self.max_iterations else Status.HEURISTIC
        return best.solution(status, method=self.name, iterations=steps)


class _Together:
    """The best supports so far, one for each problem, by the variance that their components explain together.

    Each component is the best one on its support after the span of the earlier components is projected out.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = problems
        self._total = -np.inf
        self._found: list[tuple[Indices, tuple[float, Floats]]] = []

    def offer(self, directions: Floats) -> None:
        """Take the supports of the largest entries of each column if they explain more together."""
        covariance = self.problems[0].covariance
        deflation = Deflation(covariance, "orthogonalized-projection")
        vectors, supports = np.zeros(directions.shape), []
        for j, problem in enumerate(self.problems):
            support = problem.top(directions[:, [j]])[:, 0]
            vectors[support, j] = leading_on(replace(problem, covariance=deflation.current), support)[1]
            supports.append(support)
            if j < len(self.problems) - 1:
                deflation.remove(vectors[:, j])
        images = covariance.product(vectors)
        total = variance_of_span(vectors, images)
        if total > self._total + EQUAL * abs(total):
            values = np.einsum("ij,ij->j", vectors, images).tolist()
            pairs = [(values[j], vectors[support, j]) for j, support in enumerate(supports)]
            self._total, self._found = total, list(zip(supports, pairs, strict=True))

    def solutions(self, status: Status, method: str, iterations: int) -> list[Solution]:
        """Return the best. If the search stopped before it found any, return the features of largest variance."""
        if not self._found:
            return [Incumbent(p).solution(status, method=method, iterations=iterations) for p in self.problems]
        status = stopped_or(self.problems[0].monitor.stopped, status)
        return [
            finish(problem, support, status, method=method, iterations=iterations, pair=pair)
            for problem, (support, pair) in zip(self.problems, self._found, strict=True)
        ]


@dataclass(frozen=True)
class GeneralizedPower:
    """GPower of Journée, Nesterov, Richtárik and Sepulchre (2010).

    With x_1..x_m orthonormal and t_ij = a_i'x_j, maximise ::

        l1:  sum_ij  (mu_j |t_ij| - gamma_j)_+^2          l0:  sum_ij  ((mu_j t_ij)^2 - gamma_j^2)_+

    by linearising the convex objective: W is half its gradient in t, and X becomes the polar factor of A W. The method
    needs only A'X = S W (W'SW)^(-1/2), so it runs on products with S.

    The cardinality is given directly. For `tuning` steps gamma_j follows the (k+1)-th largest entry; then it stays
    fixed, and the objective rises. The support holds the k largest t_ij. The step whose components explain most
    together is returned.

    Attributes
    ----------
    norm
        The norm that is penalised, "l1" or "l0".
    block
        Find all components together, with mu_j = 1/j, and not by deflation.
    tuning
        The number of steps in which gamma follows the cardinality.
    max_iterations
        The largest number of steps at fixed gamma.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> from laconic.methods import GeneralizedPower, Problem
    >>> GeneralizedPower("l0").solve(Problem(load_pitprops().covariance, 4)).support
    array([0, 1, 8, 9])
    """

    norm: Literal["l1", "l0"] = "l1"
    block: bool = False
    tuning: int = 30
    max_iterations: int = 300

    name: ClassVar[str] = "generalized-power"

    def __post_init__(self) -> None:
        if self.norm not in ("l1", "l0"):
            raise ValueError(f"norm={self.norm!r} must be 'l1' or 'l0'.")

    @property
    def abilities(self) -> Abilities:
        """Whether the components are found together depends on `block`."""
        return Abilities(together=self.block)

    def solve(self, problem: Problem, *, start: Indices | None = None) -> Solution:
        """Start from `start`, or from the feature of largest variance."""
        begin = np.array([problem.covariance.diagonal.argmax()]) if start is None else start
        return self._run(problem, problem.direction_of(begin), _Together([problem]))[0]

    def solve_jointly(self, problem: Problem, cardinalities: Sequence[int]) -> list[Solution]:
        """Find one component for each cardinality, together; starts are the pivots of a Cholesky factorisation."""
        weights = np.zeros((problem.n_features, len(cardinalities)))
        residual = problem.covariance.diagonal.copy()
        rows = np.zeros((len(cardinalities), problem.n_features))
        for j in range(len(cardinalities)):
            pivot = int(residual.argmax())
            weights[pivot, j] = 1.0
            column = problem.covariance.columns(np.array([pivot]))[:, 0] - rows[:j].T @ rows[:j, pivot]
            rows[j] = column / np.sqrt(max(residual[pivot], SMALLEST_NORMAL))
            residual = np.maximum(residual - rows[j] ** 2, 0.0)
        best = _Together([problem.with_cardinality(k) for k in cardinalities])
        best.offer(rows.T)
        return self._run(problem, weights, best)

    def _run(self, problem: Problem, weights: Floats, best: _Together) -> list[Solution]:
        covariance = problem.covariance
        shift = covariance.power_shift
        mu = 1.0 / np.arange(1, weights.shape[1] + 1)
        gamma = np.zeros(len(mu))
        before = -np.inf
        step, converged = 0, False
        with problem.monitor.watch():
            while step < self.tuning + self.max_iterations and not converged:
                step += 1
                problem.monitor.tick(f"generalised power: step {step}")
                scores = self._scores(covariance.product(weights) + shift * weights, weights) * mu
                if problem.nonnegative:
                    scores = np.maximum(scores, 0.0)
                size = np.abs(scores)
                if step <= self.tuning:
                    # The (k+1)-th largest entry of each column, zero if there is none.
                    falling = np.vstack([-np.sort(-size, axis=0), np.zeros(len(mu))])
                    gamma = falling[[p.cardinality for p in best.problems], np.arange(len(mu))]
                if self.norm == "l1":
                    excess = np.maximum(size - gamma, 0.0)
                    objective = float((excess**2).sum())
                    updated = mu * np.sign(scores) * excess
                else:
                    kept = size > gamma
                    objective = float((scores**2 - gamma**2)[kept].sum())
                    updated = np.where(kept, mu * scores, 0.0)
                best.offer(scores)
                if not updated.any(axis=0).all():
                    converged = True  # every entry is at the threshold, so no step is left
                    break
                converged = step > self.tuning and objective - before <= 1e-12 * abs(objective)
                before, weights = objective, updated
        status = Status.HEURISTIC if converged else Status.ITERATION_LIMIT
        return best.solutions(status, self.name, step)

    @staticmethod
    def _scores(product: Floats, weights: Floats) -> Floats:
        """Let X be the polar factor of A W. Return A'X, computed from S W without A."""
        gram = weights.T @ product
        values, basis = eigh(0.5 * (gram + gram.T))
        floor = EPS * len(weights) * max(float(values[-1]), SMALLEST_NORMAL)
        inverse = np.where(values > floor, 1.0 / np.sqrt(np.maximum(values, floor)), 0.0)
        return np.asarray(product @ (basis * inverse) @ basis.T)
