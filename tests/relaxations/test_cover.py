"""The cover: against a conic solver, for one component and several; never below the truth; a start is not lost."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

import laconic.relaxations.row_kernels_plain as plain
from laconic.core.monitor import Monitor
from laconic.covariance import DenseCovariance
from laconic.proof.witness_cover import CoverCase, as_stored, first_groups
from laconic.relaxations.cover import Cover, clipped_to_sum
from laconic.relaxations.row_steps import take_cones
from matrices import gaussian

CLOSED = Cover(most=2000, patience=60)


def case_of(S, sizes, *, common=False, overlap=True, inside=(), total=None):
    everything, members = np.arange(len(S)), np.array(inside, dtype=np.intp)
    groups = first_groups(sizes, everything, members, common=common, overlap=overlap, total=total)
    return CoverCase(DenseCovariance(S, semidefinite=False), groups, common=common, overlap=overlap)


def solved(case, relaxation=CLOSED, **options):
    return relaxation.solve(case.S.matrix, case, **options)


def referee(case):
    """The value of the relaxation by a conic solver."""
    n, rules, parts = case.S.n_features, [], []
    for group in case.groups:
        X, z, t = cp.Variable((n, n), PSD=True), cp.Variable(n), cp.Variable(n)
        rules += [cp.trace(X) == group.count, np.eye(n) - X >> 0, cp.diag(z) - X >> 0, z >= 0, z <= group.most]
        rules += [cp.sum(z) == min(group.budget, group.most * n), *(z[i] == group.most for i in group.inside)]
        rules += [t[i] >= cp.norm1(X[i]) for i in range(n)]
        rules += [z[i] == 0 for i in range(n) if i not in group.alive]
        rules += [
            cp.SOC(X[i, i] + group.size * z[i], cp.hstack([2 * t[i], X[i, i] - group.size * z[i]])) for i in range(n)
        ]
        rules += [cp.SOC(X[i, i] + z[i], cp.hstack([2 * X[i], X[i, i] - z[i]])) for i in range(n)]
        parts.append((X, z))
    if len(parts) > 1:
        rules.append(np.eye(n) - sum(X for X, _ in parts) >> 0)
        rules += [] if case.overlap else [sum(z for _, z in parts) <= 1]
    problem = cp.Problem(cp.Maximize(sum(cp.trace(case.S.matrix @ X) for X, _ in parts)), rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # six digits are enough
        problem.solve(solver="CLARABEL")
    return float(problem.value)


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ((3,), {"common": True}),
        ((3, 3), {"common": True}),
        ((4, 4, 4), {"common": True, "inside": (2,)}),
        ((2, 2), {"overlap": False}),
        ((3, 2), {"overlap": False}),
        ((3, 3), {}),
        ((4, 2), {}),
        ((5, 5), {"total": 6}),
        ((3, 3), {"inside": (1,)}),
    ],
)
def test_agrees_with_a_conic_solver(sizes, options):
    case = case_of(gaussian(6, 0), sizes, **options)
    # The bound comes from a dual point, so that it is not below the value, and near it in the end.
    assert -1e-5 <= solved(case).estimate / referee(case) - 1 <= 3e-3


def test_a_point_proves_its_estimate():
    for seed, (sizes, options) in enumerate([((3, 3), {"common": True}), ((3, 2), {}), ((2, 2), {"overlap": False})]):
        case = case_of(gaussian(8, seed), sizes, **options)
        found = solved(case, Cover(most=60))
        assert case.bounded(as_stored(found.point)).value == pytest.approx(found.estimate, rel=1e-5)


def test_a_start_is_not_lost():
    case = case_of(gaussian(9, 3), (4, 4))
    first = solved(case, Cover(most=400))
    again = solved(case, Cover(most=10), start=first.state)
    assert again.estimate <= first.estimate * (1 + 1e-3)
    # After one of two components became a group of its own, nothing else has changed.
    without, within = case.divided(0, int(np.argmax(first.weights[0])))
    assert len(without.groups) == 1
    divided = solved(within, Cover(most=10), start=first.state.divided(0, 2, overlap=True))
    assert divided.estimate <= first.estimate * 1.02


def test_a_solve_ends_at_a_known_value_and_when_there_is_no_time():
    case = case_of(gaussian(8, 0), (3, 3))
    assert solved(case, known=1e9).steps == 10
    assert solved(case, monitor=Monitor(1e-9)) is None


def test_large_matrices_follow_their_eigenvectors():
    """Above `WHOLE` features only the eigenvectors in use are updated; the bound does not suffer."""
    rng = np.random.default_rng(0)
    spikes = np.zeros((60, 2))
    spikes[:5, 0], spikes[5:10, 1] = 1.0, 1.2
    S = np.cov((rng.standard_normal((200, 2)) @ spikes.T + rng.standard_normal((200, 60))).T)
    case = case_of(S, (5, 5), overlap=False)
    value = sum(np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in (np.arange(5), np.arange(5, 10)))
    assert value * (1 - 1e-9) <= solved(case, Cover(most=300)).estimate <= value * 1.001


def test_clipped_to_a_sum():
    rng = np.random.default_rng(1)
    for _ in range(300):
        shape = rng.integers(1, 4), rng.integers(1, 9)
        targets, upper = (
            rng.standard_normal(shape) * 10.0 ** rng.uniform(-2, 3),
            rng.integers(0, 3, shape).astype(float),
        )
        targets = np.round(targets) if rng.random() < 0.3 else targets
        slope, sums = rng.uniform(0.1, 2), upper.sum(axis=1) * rng.choice([0.0, 0.3, 1.0])
        x, _ = clipped_to_sum(targets, slope, upper, sums)
        np.testing.assert_allclose(x.sum(axis=1), sums, atol=1e-12 * np.abs(targets).max() + 1e-12)
        assert ((x >= 0) & (x <= upper)).all()


@pytest.mark.parametrize("levels", [True, False])
@pytest.mark.parametrize("kernel", [take_cones, plain.project_cones])
def test_projection_on_cones(levels, kernel):
    """Feasible, and no point near it that is feasible is nearer, with and without a compiler."""
    rng = np.random.default_rng(2)
    n, k, weight = 6, 3, 0.1
    for _ in range(20):
        Z, z = rng.standard_normal((n, n)) * 0.3, rng.standard_normal(n) * 0.3 + 0.1
        Y, y = np.zeros((n, n)), np.zeros(n)
        kernel(Z, z, weight, k, levels, np.zeros(n), np.zeros(n), Y, y)

        def used(Y):
            d, rest = Y.diagonal(), np.abs(Y - np.diag(Y.diagonal()))
            return (d + rest.sum(1)) ** 2 / k if levels else d**2 + (rest**2).sum(1)

        assert (used(Y) <= Y.diagonal() * y + 1e-9).all()
        assert (Y.diagonal() >= 0).all()
        distance = ((Y - Z) ** 2).sum(1) + weight * (y - z) ** 2
        other, w = Y + 0.01 * rng.standard_normal((n, n)), y + 0.01 * rng.standard_normal(n)
        feasible = (used(other) <= other.diagonal() * w) & (other.diagonal() >= 0) & (w >= 0)
        assert (((other - Z) ** 2).sum(1) + weight * (w - z) ** 2 >= distance - 1e-9)[feasible].all()
