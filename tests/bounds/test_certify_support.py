"""From a fit or a hand-picked support to a certificate that the checker accepts."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from helpers import best_value, random_psd
from laconic import SparsePCA, certify_support, verify
from laconic.bounds.least import bound_support
from laconic.core.monitor import Monitor
from laconic.core.words import gap_in_tables, proof_in_words
from laconic.covariance import Covariance, DenseCovariance, FactorCovariance, covariance_of
from laconic.covariance.deflation import DEFLATIONS, Deflation
from laconic.proof import certify
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.search import Greedy
from laconic.search.problem import Problem, Status


def rows(n=12, count=40, seed=0):
    """Two hidden causes: five features follow the first, four (two of them reversed) the second."""
    rng = np.random.default_rng(seed)
    W = np.zeros((2, n))
    W[0, :5] = 2
    W[1, 5:9] = [2, -2, 2, -2]
    return rng.standard_normal((count, 2)) @ W + rng.standard_normal((count, n))


def wide(p=3000):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, p))
    X[:, :6] += 3 * rng.standard_normal((40, 1))
    return X


ROWS = rows()
WEIGHTS = np.random.default_rng(1).random(40)
SPARSE = sp.random_array((200, 30), density=0.1, random_state=0, format="csr")
NAMES = [f"f{i}" for i in range(12)]

# Data, settings of the estimator, how they are fitted.
KINDS = {
    "dense rows": (ROWS, {"n_components": 2}, {}),
    "greedy": (ROWS, {"method": "greedy"}, {}),
    "not centred": (ROWS + 1, {"center": False}, {}),
    "single precision": (ROWS.astype(np.float32), {}, {}),
    "whole numbers": ((10 * ROWS).astype(int), {}, {}),
    "sparse rows": (SPARSE, {"n_components": 2}, {}),
    "sparse rows, wide": (
        sp.random_array((20, 30), density=0.5, random_state=0, format="csc"),
        {"n_components": 2},
        {},
    ),
    "weighted rows": (ROWS, {"n_components": 2}, {"sample_weight": WEIGHTS}),
    "scaled": (ROWS, {"n_components": 2, "scale": True}, {}),
    "forced in": (ROWS, {"n_components": 2, "forced_in": [10]}, {}),
    "forced, not exhaustive": (rows(30), {"forced_in": [20, 21]}, {}),
    "disjoint": (ROWS, {"n_components": 3, "disjoint": True}, {}),
    "nonnegative": (ROWS, {"n_components": 2, "nonnegative": True}, {}),
    "a share": (ROWS, {"cardinality": None, "min_variance": 0.8}, {}),
    "pandas": (pd.DataFrame(ROWS, columns=NAMES), {}, {}),
    "polars": (pl.DataFrame(ROWS, schema=NAMES), {}, {}),
    "pyarrow": (pa.table(dict(zip(NAMES, ROWS.T, strict=True))), {}, {}),
    "exact": (rows(20), {"method": "exact"}, {}),
    "exact, forced": (rows(20), {"method": "exact", "forced_in": [19]}, {}),
    "exact, nonnegative": (ROWS, {"method": "exact", "nonnegative": True}, {}),
    "exact, penalty": (ROWS, {"method": "exact", "cardinality": None, "penalty": 1.0}, {}),
    "dspca, penalty": (ROWS, {"method": "dspca", "cardinality": None, "penalty": 1.0}, {}),
    **{f"{rule}": (ROWS, {"n_components": 3, "deflation": rule}, {}) for rule in DEFLATIONS},
    **{
        f"{rule}, many": (rows(24), {"n_components": 3, "deflation": rule, "method": "greedy"}, {})
        for rule in DEFLATIONS
    },
}


def assert_proofs(model, data, tmp_path, constant="", **weights):
    """Every certificate is accepted, as it is, from disk and unpickled; bounds, gaps and words agree with it."""
    assert len(model.certificates_) == model.n_components_
    for j, certificate in enumerate(model.certificates_):
        assert certificate is not None
        for proof in (certificate, certificate.save(tmp_path / f"{j}.json"), pickle.loads(pickle.dumps(certificate))):
            outcome = verify(proof, data, **weights)
            assert outcome, outcome.reason
        lower, upper = model.lower_bound_[j], model.upper_bound_[j]
        assert certificate.lower <= lower <= upper <= certificate.upper
        assert model.gap_[j] == pytest.approx((upper - lower) / lower, abs=1e-15)
        assert np.array_equal(certificate.support, model.supports_[j])
        status, closed = model.solutions_[j].status, model.gap_[j] <= 1e-6 * (1 - 1e-6)
        # A search over all sizes claims more than a bound on one size proves, and keeps its own status.
        assert status is Status.PENALTY_COMPLETE or (status is Status.OPTIMAL) == closed
        assert closed or " % of the best possible variance" in model.verdicts_[j]
        assert "(proved)." in model.verdicts_[j]
        scope, own = certificate.scope, model.solutions_[j].scope
        # To the fit a column that does not vary is no restriction; a certificate knows of features left out alone.
        assert own.supports + constant == scope.supports
        assert own.setting.endswith(scope.setting)
        assert own.supports in model.verdicts_[j]
        assert own.setting in model.verdicts_[j]
    table = model.loadings()
    assert table["gap"].to_list() == [gap_in_tables(model.gap_[number - 1]) for number in table["component"]]


@pytest.mark.parametrize("effort", ["fast", "tight"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_certificate_of_a_fit_is_accepted(kind, effort, tmp_path):
    data, settings, weights = KINDS[kind]
    model = SparsePCA(**{"cardinality": 4, "proof": effort, **settings}).fit(data, **weights)
    assert_proofs(model, data, tmp_path, **weights)
    again = pickle.loads(pickle.dumps(model))
    assert_proofs(again, data, tmp_path, **weights)
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("effort", ["fast", "tight"])
@pytest.mark.parametrize("scale", [False, True])
def test_certificates_of_a_covariance(effort, scale, tmp_path):
    S = np.cov(ROWS, rowvar=False)
    # A feature that does not vary, but for rounding off the diagonal.
    S[3] = S[:, 3] = 0
    S[3, 0] = S[0, 3] = 1e-9
    with pytest.warns(UserWarning, match="does not vary"):
        model = SparsePCA(3, cardinality=3, proof=effort, scale=scale).fit_covariance(S, feature_names=NAMES)
    assert_proofs(model, S, tmp_path, constant=" without 'f3'")
    assert_proofs(model, pd.DataFrame(S, columns=NAMES), tmp_path, constant=" without 'f3'")


@pytest.mark.parametrize("effort", ["fast", "tight"])
def test_certificates_of_wide_rows(effort, tmp_path):
    data = wide()
    model = SparsePCA(cardinality=5, proof=effort).fit(data)
    assert_proofs(model, data, tmp_path)
    assert model.verdicts_[0].startswith("Optimal") == (effort == "tight")


@pytest.mark.parametrize("effort", ["fast", "tight"])
@pytest.mark.parametrize("seed", range(3))
def test_upper_bounds_are_above_the_truth_after_deflation(effort, seed):
    S = random_psd(9, seed=seed)
    for rule in DEFLATIONS:
        for method in ("auto", "greedy"):
            model = SparsePCA(3, cardinality=3, proof=effort, deflation=rule, method=method).fit_covariance(S)
            deflation = Deflation(DenseCovariance(S), rule)
            for z, lower, upper in zip(model.components_, model.lower_bound_, model.upper_bound_, strict=True):
                truth = best_value(deflation.current.submatrix(np.arange(9)), 3)
                assert lower <= truth * (1 + 1e-12)
                assert upper >= truth * (1 - 1e-13)
                deflation.remove(z)


@pytest.mark.parametrize("effort", ["fast", "tight"])
def test_upper_bounds_with_features_forced_in(effort):
    S = random_psd(10, seed=4)
    model = SparsePCA(cardinality=4, proof=effort, forced_in=[2, 7], method="greedy").fit_covariance(S)
    truth = best_value(S, 4, forced=(2, 7))
    assert model.upper_bound_[0] >= truth * (1 - 1e-13)
    if effort == "tight":
        assert model.upper_bound_[0] <= best_value(S, 4) * (1 + 1e-6)


def test_penalty_with_the_exact_method_is_the_best_of_all_sizes():
    S = random_psd(9, seed=2)
    for penalty in (0.05, 0.2, 0.6):
        model = SparsePCA(penalty=penalty, method="exact").fit_covariance(S)
        size = len(model.supports_[0])
        objectives = [best_value(S, k) - penalty * k for k in range(1, 10)]
        assert model.lower_bound_[0] - penalty * size == pytest.approx(max(objectives), rel=1e-6)
        assert model.upper_bound_[0] >= best_value(S, size) * (1 - 1e-13)
    with pytest.raises(ValueError, match=r"penalty=0\.5 is for method='dspca' or method='exact'"):
        SparsePCA(penalty=0.5, method="greedy").fit_covariance(S)


def test_no_bound_is_asked():
    model = SparsePCA(2, cardinality=4, proof=None, method="greedy").fit(rows(20))
    assert model.certificates_ == [None, None]
    assert np.isinf(model.upper_bound_).all()
    assert np.isinf(model.gap_).all()
    assert np.isinf(model.loadings()["gap"]).all()
    assert all(status.startswith("No upper bound was computed.") for status in model.verdicts_)
    # What a method proves by itself stays.
    exact = SparsePCA(cardinality=4, proof=None, method="exact").fit(rows(20))
    assert exact.verdicts_[0].startswith("Optimal")
    assert exact.certificates_ == [None]


def test_words_of_a_small_gap():
    S = random_psd(40, seed=0)
    model = SparsePCA(cardinality=35, method="greedy").fit_covariance(S)
    assert 1e-6 < model.gap_[0] < 0.1
    assert model.verdicts_[0].startswith(proof_in_words(model.gap_[0]))
    assert "% of the best possible variance (proved)." in model.verdicts_[0]


@pytest.mark.parametrize("seconds", [1e-9, 0.02, 0.2])
def test_a_time_limit_keeps_the_components(seconds):
    data = np.random.default_rng(0).standard_normal((100, 60))
    model = SparsePCA(2, cardinality=6, proof="tight", time_limit=seconds).fit(data)
    assert model.n_components_ == 2
    for certificate in model.certificates_:
        assert certificate is None or verify(certificate, data)
    assert (model.upper_bound_ >= model.lower_bound_).all()
    assert all("Time limit" in status or status.startswith("Optimal") for status in model.verdicts_) or seconds > 0.01


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_what_was_proved_on_the_way_is_what_a_proof_from_nothing_gives(tmp_path, deflation):
    """Of a matrix whose variances decay: the witness is a component and a number, and no array goes to another file."""
    scales = 2.0 ** -np.arange(30)
    noise = np.random.default_rng(0).standard_normal((60, 30))
    S = np.sqrt(np.outer(scales, scales)) * (noise.T @ noise / 60 + 0.5)
    model = SparsePCA(3, cardinality=5, deflation=deflation).fit_covariance(S)
    taken_out = Deflation(DenseCovariance(S), deflation)
    for place, certificate in enumerate(model.certificates_):
        path = certificate.save(tmp_path / f"{place}.json")
        outcome = verify(path, S)
        assert outcome, outcome.reason
        again = certify(
            taken_out.current,
            5,
            certificate.support,
            certificate.loadings,
            certificate.witness,
            digest=certificate.digest,
            matrix=certificate.matrix,
        )
        assert (again.lower, again.upper, again.margin) == (certificate.lower, certificate.upper, certificate.margin)
        taken_out.remove(model.components_[place])
    assert model.certificates_[0].proved
    assert isinstance(model.certificates_[0].witness, Proposition2Witness)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json"] * 3


def test_certificates_say_what_they_are_about():
    names = pd.DataFrame(ROWS, columns=NAMES)
    model = SparsePCA(2, cardinality=3, forced_in=["f0"], scale=True).fit(names)
    first, second = model.certificates_
    assert first.feature_names == tuple(NAMES)
    assert first.allowed is None
    assert first.forced.tolist() == [0]
    assert first.matrix.scale
    assert first.deflation is None
    assert second.deflation == "projection"
    np.testing.assert_array_equal(second.earlier, model.components_[:1])
    assert not verify(first, ROWS[:, ::-1])
    assert not verify(first, names.rename(columns={"f0": "g0"}))


@pytest.mark.parametrize("effort", ["fast", "tight"])
@pytest.mark.parametrize("support", [[0, 1, 2], [11, 0, 5], [3], list(range(12))])
def test_a_support_chosen_by_hand(effort, support, tmp_path):
    certificate = certify_support(ROWS, support, effort)
    S = np.cov(ROWS, rowvar=False)
    block = S[np.ix_(support, support)]
    truth = best_value(S, len(support))
    assert certificate.lower == pytest.approx(np.linalg.eigvalsh(block)[-1], rel=1e-11)
    assert certificate.upper >= truth
    if effort == "tight":
        assert certificate.upper <= truth * (1 + 2e-6)
    assert certificate.support.tolist() == sorted(support)
    assert verify(certificate.save(tmp_path / "own.json"), ROWS)
    assert certificate.proved == (certificate.gap <= 1e-6)


FORMS = {
    "frame": (lambda X: pd.DataFrame(X, columns=NAMES), ["f3", "f1"]),
    "polars": (lambda X: pl.DataFrame(X, schema=NAMES), ["f3", "f1"]),
    "pyarrow": (lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))), ["f3", "f1"]),
    "numbers for names": (pd.DataFrame, [3, 1]),
    "lists": (lambda X: X.tolist(), [3, 1]),
    "sparse": (sp.coo_array, [3, 1]),
    "nullable": (lambda X: pd.DataFrame(X, columns=NAMES).convert_dtypes(), ["f3", "f1"]),
    "covariance": (lambda X: np.cov(X, rowvar=False), [3, 1]),
    "covariance frame": (lambda X: pd.DataFrame(X, columns=NAMES).cov(), ["f3", "f1"]),
    "sparse covariance": (lambda X: sp.csr_array(np.cov(X, rowvar=False)), [3, 1]),
    "covariance object": (lambda X: DenseCovariance(np.cov(X, rowvar=False)), [3, 1]),
    "factor": (FactorCovariance, [3, 1]),
}


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_supports_in_data_of_every_form(form, scale, tmp_path):
    make, support = FORMS[form]
    data = make(ROWS)
    if scale and isinstance(data, Covariance):
        with pytest.raises(ValueError, match="scale=True is for rows or a matrix; a Covariance is used as it is"):
            certify_support(data, support, "fast", scale=scale)
        return
    certificate = certify_support(data, support, "fast", scale=scale)
    outcome = verify(certificate.save(tmp_path / "own.json"), data)
    assert outcome, outcome.reason
    assert certificate.support.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("support", "arguments", "words"),
    [
        (["f1", "g"], {}, "names 'g', which is not among the feature names"),
        ("f1", {}, r"support='f1' must be a list of features; give \['f1'\] for one"),
        (["f1", "f1"], {}, "none twice"),
        (["f1", 1], {}, "none twice"),
        ([], {}, "at least one feature"),
        ([12], {}, "holds 12; give feature names or column numbers from 0 to 11"),
        ([-1], {}, "holds -1"),
        ([1.5], {}, "holds 1.5"),
        ([None], {}, "holds None"),
        ([True, 2], {}, "holds True; give feature names or column numbers from 0 to 11"),
        (np.arange(12) < 2, {}, r"holds (np\.)?True"),
        (3, {}, r"support=3 must be a list of features; give \[3\] for one"),
        (["f1"], {"proof": "none"}, "proof='none'"),
        (["f1"], {"time_limit": 0}, "time_limit=0"),
        (["f1"], {"given": "table"}, "given='table'"),
    ],
)
def test_supports_that_make_no_sense(support, arguments, words):
    with pytest.raises(ValueError, match=words):
        certify_support(pd.DataFrame(ROWS, columns=NAMES), support, **arguments)


def test_a_support_without_variance():
    S = np.diag([1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="no variance"):
        certify_support(S, [1, 2])


def test_a_support_with_hardly_any_time():
    data = np.random.default_rng(0).standard_normal((100, 60))
    certificate = certify_support(data, [0, 1, 2, 3], time_limit=1e-9)
    assert verify(certificate, data)


def test_a_bound_that_the_method_brings_counts():
    problem = Problem(covariance_of(ROWS)[0], 3, monitor=Monitor())
    solution = Greedy().solve(problem)
    found = bound_support(problem, solution, "tight")
    again = bound_support(problem, replace(solution, estimate=found.value, witness=found.witness), "fast")
    assert again.value == found.value
    assert again.witness is found.witness
