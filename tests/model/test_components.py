"""All components are found before any is proved."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from helpers import best_nonnegative, best_value, ctrl_c_is_caught
from laconic import SparsePCA, verify
from laconic.bounds.prove import EFFORTS
from laconic.methods import Exact
from laconic.search import Auto
from laconic.search.problem import Status

ROWS = np.random.default_rng(0).standard_normal((100, 60))


@pytest.fixture(autouse=True)
def _fast_proofs_grow_no_tree(monkeypatch):
    """Fast proofs would prove all of these small problems."""
    monkeypatch.setitem(EFFORTS, "fast", replace(EFFORTS["fast"], features=0))


def watched(monkeypatch, act):
    """Let `act(problem, solution, proof)` run before every bound of a fit."""
    from laconic.model import components as found

    real = found.prove

    def spied(problem, solution, proof):
        result = act(problem, solution, proof)
        return real(problem, solution, proof) if result is None else result

    monkeypatch.setattr(found, "prove", spied)
    return real


@dataclass(frozen=True)
class Noted(Auto):
    """Auto that writes down when it is asked."""

    log: ClassVar[list] = []

    def solve(self, problem, *, start=None):
        self.log.append("search")
        return super().solve(problem, start=start)


@pytest.mark.parametrize("proof", ["fast", "tight"])
def test_all_components_are_found_before_any_is_proved(monkeypatch, proof):
    log = Noted.log
    log.clear()
    watched(monkeypatch, lambda _problem, _solution, proof: log.append(proof))
    SparsePCA(3, cardinality=6, method=Noted(), proof=proof).fit(ROWS)
    assert log[:3] == ["search"] * 3
    assert log[3:6] == ["fast"] * 3
    assert log[6:] == (["tight"] * 3 if proof == "tight" else [])


def test_a_proof_that_takes_all_the_time_costs_no_component(monkeypatch):
    """Each tight proof uses up its part of the time. Nothing that was found or proved before is lost."""
    plain = SparsePCA(4, cardinality=6).fit(ROWS)
    parts = []

    def use_up(problem, _solution, proof):
        if proof == "tight":
            parts.append(problem.monitor.seconds_left)
            problem.monitor._deadline = -np.inf

    watched(monkeypatch, use_up)
    model = SparsePCA(4, cardinality=6, proof="tight", time_limit=1000).fit(ROWS)
    np.testing.assert_array_equal(model.components_, plain.components_)
    assert (model.upper_bound_ <= plain.upper_bound_).all()
    assert all(one.status in (Status.TIME_LIMIT, Status.OPTIMAL) for one in model._each)
    # The first proof has a quarter of the time.
    assert parts[0] == pytest.approx(250, rel=0.1)


def stuck(n, seed):
    """c I - F'F: all variances are alike, and exchanges get stuck."""
    F = np.random.default_rng(seed).standard_normal((3 * n // 4, n)) / np.sqrt(0.75 * n)
    G = F.T @ F
    return np.linalg.eigvalsh(G)[-1] * np.eye(n) - G


@pytest.mark.parametrize("seed", [0, 12, 18])
def test_a_better_support_is_put_in_and_the_later_ones_are_found_again(seed):
    S = stuck(30, seed)
    hasty = Auto(polish=1, exhaustive=0)
    before = SparsePCA(3, cardinality=3, method=hasty).fit_covariance(S)
    model = SparsePCA(3, cardinality=3, method=hasty, proof="tight").fit_covariance(S)
    assert model.lower_bound_[0] > before.lower_bound_[0] * (1 + 1e-4)
    left = S
    for z, value, certificate in zip(model.components_, model.lower_bound_, model.certificates_, strict=True):
        assert z @ left @ z == pytest.approx(value, rel=1e-9)
        assert verify(certificate, S)
        projector = np.eye(30) - np.outer(z, z)
        left = projector @ left @ projector


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("stage", ["fast", "tight"])
def test_ctrl_c_during_the_proofs_keeps_all_that_is_found_and_proved(monkeypatch, stage, place):
    seen = []

    def interrupt(_problem, _solution, proof):
        seen.append(proof)
        if seen.count(stage) == place + 1 and proof == stage:
            raise KeyboardInterrupt

    plain = SparsePCA(3, cardinality=6).fit(ROWS)
    watched(monkeypatch, interrupt)
    with ctrl_c_is_caught("the proofs"):
        model = SparsePCA(3, cardinality=6, proof="tight").fit(ROWS)
    np.testing.assert_array_equal(model.components_, plain.components_)
    proved = 3 if stage == "tight" else place
    assert np.isfinite(model.upper_bound_[:proved]).all()
    for certificate in model.certificates_[:proved]:
        assert verify(certificate, ROWS)


def test_summary_has_a_row_for_each_component_and_one_for_all():
    X = ROWS[:, :12]
    model = SparsePCA(cardinality=[4, 2, 3], proof="tight").fit(X)
    table = model.summary()
    assert table.index.tolist() == [1, 2, 3, "all"]
    assert table["cardinality"].tolist() == [4, 2, 3, len(np.unique(np.concatenate(model.supports_)))]
    np.testing.assert_array_equal(table["variance"], [*model.explained_variance_, model.explained_variance_.sum()])
    np.testing.assert_allclose(table["share"], table["variance"] / model.total_variance_)
    np.testing.assert_array_equal(table["lower"][:-1], model.lower_bound_)
    np.testing.assert_array_equal(table["upper"][:-1], model.upper_bound_)
    assert table["verdict"][:-1].tolist() == model.verdicts_
    assert table["gap"].tolist() == [0.0, 0.0, 0.0, np.inf]
    assert "Together the 3 components hold" in table.loc["all", "verdict"]
    assert (table["variance"] <= table["dense_variance"] * (1 + 1e-6)).all()
    single = SparsePCA(cardinality=4).fit(X).summary()
    assert single.loc["all", "upper"] == single.loc[1, "upper"]


@pytest.mark.parametrize("forced", [None, [1, 7]])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("method", ["auto", "sorting"])
def test_an_exact_proof_heeds_features_forced_in_and_signs(forced, nonnegative, method):
    """A poor search keeps its own support, and the note names the better value; auto takes the better one."""
    S = stuck(12, 3)
    settings = {"cardinality": 4, "forced_in": forced, "nonnegative": nonnegative}
    solver = Auto(polish=1, exhaustive=0) if method == "auto" else method
    model = SparsePCA(method=solver, proof="exact", **settings).fit_covariance(S)
    best = best_nonnegative(S, 4, forced or ()) if nonnegative else best_value(S, 4, forced or ())
    assert model.upper_bound_[0] >= best * (1 - 1e-12)
    if method == "auto":
        assert model.lower_bound_[0] == pytest.approx(best, rel=1e-9)
        assert nonnegative or model.gap_[0] <= 1e-6
    elif model.lower_bound_[0] < best * (1 - 1e-6):
        assert "the proof met a support of value" in model._each[0].note


def test_an_exact_proof_ends_at_its_gap_or_node_limit():
    S = stuck(40, 1)
    loose = SparsePCA(cardinality=6, proof=Exact(gap=0.2)).fit_covariance(S)
    assert loose.gap_[0] <= 0.2
    limited = SparsePCA(cardinality=6, proof=Exact(node_limit=1)).fit_covariance(S)
    assert "Node limit reached" in limited.verdicts_[0]
    assert all(verify(model.certificates_[0], S) for model in (loose, limited))


def test_a_witness_that_the_gate_refuses_leaves_the_other_bounds(monkeypatch):
    monkeypatch.setattr("laconic.proof.witness_plain.MOST_SUPPORTS", 3)
    X = ROWS[:, :12]
    model = SparsePCA(cardinality=4).fit(X)
    S = np.cov(X, rowvar=False)
    assert model.lower_bound_[0] == pytest.approx(best_value(S, 4))
    assert best_value(S, 4) <= model.upper_bound_[0] < np.inf
    assert "a proof failed: 12 features have 495 supports of 4" in model._each[0].note
    assert verify(model.certificates_[0], X)
