"""Proofs about several components together: lower <= truth <= upper, and closed where nothing stops them."""

from itertools import combinations, product

import numpy as np
import pytest

from laconic.bounds.prove import Exact
from laconic.bounds.prove_jointly import prove_jointly
from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance
from laconic.datasets import load_pitprops
from laconic.proof.witness_joint import cover_case, prove_joint
from laconic.search.problem import Status
from laconic.search.several import JointProblem, solve_jointly, value_of
from matrices import gaussian


def problem_of(S, question, sizes, **options):
    covariance = DenseCovariance(S, semidefinite=bool(np.linalg.eigvalsh(S)[0] >= 0))
    return JointProblem(covariance, question, tuple(sizes), **options)


def truth(S, question, sizes, total=None, forced=()):
    """The best value over all supports, for a common support and for disjoint ones."""
    n, r = len(S), len(sizes)
    if question == "common":
        supports = (T for T in combinations(range(n), sizes[0]) if set(forced) <= set(T))
        return max(np.linalg.eigvalsh(S[np.ix_(T, T)])[-r:].sum() for T in supports)
    best = {}
    for labels in product(range(r + 1), repeat=n):
        counts = [labels.count(t) for t in range(r)]
        if min(counts) == 0 or any(c > k for c, k in zip(counts, sizes, strict=True)):
            continue
        if total is None or sum(counts) <= total:
            key = tuple(sorted(tuple(i for i in range(n) if labels[i] == t) for t in range(r)))
            if key not in best:
                best[key] = sum(np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in key)
    return max(best.values())


def simple(problem):
    """Components that nobody has improved."""
    vectors = np.zeros((problem.covariance.n_features, problem.count))
    for t in range(problem.count):
        vectors[[*problem.forced.tolist(), t][0] if len(problem.forced) and t == 0 else t, t] = 1.0
    return vectors


QUESTIONS = [
    ("common", (3, 3), {}),
    ("common", (4, 4, 4), {}),
    ("common", (3, 3), {"forced": np.array([1])}),
    ("disjoint", (2, 2), {}),
    ("disjoint", (3, 1), {}),
    ("disjoint", (2, 2, 2), {}),
    ("disjoint", (3, 3), {"total": 4}),
]


@pytest.mark.parametrize(("question", "sizes", "options"), QUESTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_an_exact_proof_finds_and_proves_the_truth(question, sizes, options, seed):
    rng = np.random.default_rng(seed)
    S = gaussian(6, seed) if seed % 2 else np.add(*[(M := rng.standard_normal((6, 6))), M.T])
    problem = problem_of(S, question, sizes, **options)
    best = truth(S, question, sizes, options.get("total"), options.get("forced", ()))
    found = solve_jointly(problem)
    vectors, bound = prove_jointly(problem, found, "exact")
    assert value_of(problem, vectors) == pytest.approx(best, rel=1e-9)
    assert best <= bound.proved.value <= best + 1.1e-6 * abs(best) + 1e-12
    # The tree meets what the search has missed.
    vectors, bound = prove_jointly(problem, simple(problem), "exact")
    assert best - 1e-9 <= bound.proved.value <= best + 1.1e-6 * abs(best) + 1e-12
    assert value_of(problem, vectors) >= best - 1e-6 * abs(best)


@pytest.mark.parametrize("proof", ["fast", "tight"])
@pytest.mark.parametrize(("question", "sizes", "options"), QUESTIONS)
def test_no_bound_is_below_the_truth(question, sizes, options, proof):
    S = gaussian(6, 10)
    problem = problem_of(S, question, sizes, **options)
    _, bound = prove_jointly(problem, solve_jointly(problem), proof)
    assert bound.proved.value >= truth(S, question, sizes, options.get("total"), options.get("forced", ())) - 1e-12


@pytest.mark.parametrize(
    ("question", "sizes", "share"),
    [("disjoint", (3, 3), 0.3599), ("disjoint", (2,) * 6, 0.74923), ("orthogonal", (3, 2), 0.33518)],
)
def test_pitprops_is_closed(question, sizes, share):
    S = load_pitprops().covariance
    problem = problem_of(S, question, sizes)
    vectors, bound = prove_jointly(problem, solve_jointly(problem), "exact")
    value = value_of(problem, vectors)
    assert value / 13 == pytest.approx(share, abs=6e-5)
    assert bound.proved.value <= value * (1 + 1e-6)
    assert bound.status is Status.JOINTLY_COMPLETE


def test_orthogonal_components_with_a_total_budget():
    """The best of all ways to divide the budget is bounded, and each way has its own branch of the tree."""
    S = gaussian(5, 4)
    problem = problem_of(S, "orthogonal", (4, 4), total=5)
    vectors, bound = prove_jointly(problem, solve_jointly(problem), "exact")
    best = 0.0
    for sizes in ((4, 1), (3, 2)):
        one = problem_of(S, "orthogonal", sizes)
        best = max(best, value_of(one, solve_jointly(one)))
    assert best * (1 - 1e-9) <= value_of(problem, vectors) <= bound.proved.value
    case, ways = cover_case(problem.covariance, (4, 4), "orthogonal", 5, np.array([], dtype=int))
    assert ways == [(4, 1), (3, 2)]
    assert len(case.groups) == 1


def test_a_span_has_the_least_of_two_bounds():
    S = gaussian(8, 2)
    problem = problem_of(S, "span", (2, 2))
    vectors = np.linalg.eigh(S)[1][:, -2:]
    _, fast = prove_jointly(problem, vectors, "fast")
    _, tight = prove_jointly(problem, vectors, "tight")
    best = max(np.linalg.eigvalsh(S[np.ix_(T, T)])[-2:].sum() for T in combinations(range(8), 4))
    assert best <= tight.proved.value <= fast.proved.value <= np.linalg.eigvalsh(S)[-2:].sum() * (1 + 1e-9)


def test_a_gap_a_limit_of_nodes_and_no_time():
    S = load_pitprops().covariance
    problem = problem_of(S, "orthogonal", (5, 5, 5))
    found = solve_jointly(problem)
    value = value_of(problem, found)
    _, loose = prove_jointly(problem, found, Exact(gap=0.06))
    assert value <= loose.proved.value <= value * 1.061
    _, few = prove_jointly(problem, found, Exact(node_limit=5))
    assert few.status is Status.NODE_LIMIT
    stopped = problem_of(S, "orthogonal", (5, 5, 5), monitor=Monitor(1.5))
    _, bound = prove_jointly(stopped, found, "exact")
    assert bound.status is Status.TIME_LIMIT
    assert value <= bound.proved.value < np.linalg.eigvalsh(S)[-3:].sum()
    assert prove_jointly(problem, found, None)[1] is None


def test_every_witness_is_checked_again():
    S = gaussian(7, 5)
    for question, sizes, total in (("common", (3, 3), None), ("disjoint", (4, 4), 5), ("orthogonal", (3, 2), None)):
        problem = problem_of(S, question, sizes, total=total)
        for proof in ("fast", "exact"):
            _, bound = prove_jointly(problem, solve_jointly(problem), proof)
            again = prove_joint(problem.covariance, sizes, bound.witness, joint=question, total=total)
            assert again.value == pytest.approx(bound.proved.value, rel=1e-12)
