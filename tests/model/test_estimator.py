"""SparsePCA: what it finds and what it makes of rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA

from helpers import best_value, random_psd
from laconic import SparsePCA, certify, choose, noise, path, verify
from laconic.core.monitor import Monitor
from laconic.core.words import optimal_in_words, proof_in_words, scope_of
from laconic.covariance.deflation import DEFLATIONS
from laconic.datasets import load_senate109
from laconic.methods import Penalized
from laconic.search import ApproximateGreedy
from laconic.search.problem import Status

FIVE_BILLS = {"S. 1932", "S.Con.Res. 83", "S. 3930", "S. 403", "S. 397"}
TWO_BILLS = {"H.R. 3045", "S. 1307"}


def rows(seed=0, n=60, p=8):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + 10 * rng.standard_normal(p)


def same_components(first, second, tolerance=1e-8):
    assert [s.tolist() for s in first.supports_] == [s.tolist() for s in second.supports_]
    np.testing.assert_allclose(first.components_, second.components_, atol=tolerance)


@pytest.mark.parametrize("deflation", ["hotelling", "projection", "schur"])
def test_senate_bills_of_the_paper(deflation):
    votes = load_senate109()
    model = SparsePCA(2, cardinality=[5, 2], deflation=deflation).fit(votes.frame)
    first, second = ({votes.feature_names[i] for i in s} for s in model.supports_)
    assert first == FIVE_BILLS
    assert second == TWO_BILLS
    # the paper's figure: senators are still divided by party along the first axis
    scores = model.transform(votes.frame)[:, 0]
    party = np.array(votes.parties)
    assert scores[party == "R"].mean() * scores[party == "D"].mean() < 0
    side = np.sign(scores) == np.sign(scores[party == "R"].mean())
    assert (side == (party == "R"))[party != "I"].mean() > 0.9


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 3, 8])
def test_first_component_is_the_best_there_is(seed, k):
    X = rows(seed)
    S = np.cov(X, rowvar=False)
    model = SparsePCA(cardinality=k).fit(X)
    assert model.lower_bound_[0] == pytest.approx(best_value(S, k), rel=1e-10)
    z = model.components_[0]
    assert z @ S @ z == pytest.approx(model.lower_bound_[0], rel=1e-10)
    assert model.upper_bound_[0] >= best_value(S, k) * (1 - 1e-14)
    assert model.gap_[0] == pytest.approx((model.upper_bound_[0] - model.lower_bound_[0]) / model.lower_bound_[0])
    assert model._each[0].status is Status.OPTIMAL
    assert verify(model.certificates_[0], X)
    assert SparsePCA(cardinality=k, proof=None).fit(X).certificates_ == [None]


@pytest.mark.parametrize("seed", range(3))
def test_all_features_and_orthogonal_components_are_plain_pca(seed):
    X = rows(seed)
    model = SparsePCA(4, cardinality=8).fit(X)
    dense = PCA(4).fit(X)
    np.testing.assert_allclose(np.abs(model.components_ @ dense.components_.T), np.eye(4), atol=1e-7)
    np.testing.assert_allclose(model.explained_variance_, dense.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(model.explained_variance_ratio_, dense.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(model.mean_, dense.mean_)


@pytest.mark.parametrize("deflation", DEFLATIONS)
@pytest.mark.parametrize("seed", range(3))
def test_lower_bound_is_the_value_on_the_deflated_covariance(deflation, seed):
    """Deflate by hand, with dense matrices, and find each component again by brute force."""
    S = random_psd(7, seed=seed)
    model = SparsePCA(3, cardinality=3, deflation=deflation).fit_covariance(S)
    current, directions = S.copy(), []
    for z, value in zip(model.components_, model.lower_bound_, strict=True):
        assert value == pytest.approx(best_value(current, 3), rel=1e-9)
        assert z @ current @ z == pytest.approx(value, rel=1e-9)
        if deflation.startswith("orthogonalized"):
            q = z - sum((d * (d @ z) for d in directions), np.zeros(7))
            z = q / np.linalg.norm(q)
            directions.append(z)
        projector = np.eye(7) - np.outer(z, z)
        if deflation.endswith("hotelling"):
            current = current - (z @ current @ z) * np.outer(z, z)
        elif deflation.endswith("projection"):
            current = projector @ current @ projector
        else:
            current = current - np.outer(current @ z, current @ z) / (z @ current @ z)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("share", [0.3, 0.6, 0.8, 0.95, 1.0])
def test_smallest_cardinality_that_keeps_the_share(seed, share):
    S = random_psd(8, seed=seed)
    model = SparsePCA(cardinality=share).fit_covariance(S)
    dense = np.linalg.eigvalsh(S)[-1]
    expected = next(k for k in range(1, 9) if best_value(S, k) >= share * dense * (1 - 1e-9))
    assert len(model.supports_[0]) == expected
    assert model.lower_bound_[0] == pytest.approx(best_value(S, expected), rel=1e-9)


def test_share_out_of_reach_warns():
    S = np.array([[1.0, -0.9], [-0.9, 1.0]])
    with pytest.warns(UserWarning, match=r"cardinality=0\.9"):
        model = SparsePCA(cardinality=0.9, nonnegative=True).fit_covariance(S)
    assert model.lower_bound_[0] == pytest.approx(1)


@pytest.mark.parametrize("settings", [{}, {"cardinality": [4, 2, 1], "n_components": 3}, {"scale": True}])
@pytest.mark.parametrize("weighted", [False, True])
def test_reported_variances_are_those_of_the_scores(settings, weighted):
    """With ddof = 1, scaled or not, of all rows; weights of whole numbers count rows."""
    X = rows(1) * 10.0 ** np.arange(8)[None] % 7 + rows(11)
    weights = np.random.default_rng(0).integers(1, 4, 60).astype(float) if weighted else np.ones(60)
    settings = {"n_components": 2, "cardinality": 3, **settings}
    model = SparsePCA(**settings).fit(X, sample_weight=weights if weighted else None)
    scores, total = model.transform(X), weights.sum()
    centred = scores - np.average(scores, axis=0, weights=weights)
    variances = weights @ centred**2 / (total - 1)
    table = model.summary()
    np.testing.assert_allclose(table["raw_variance"][:-1], variances, rtol=1e-9)
    assert table.loc["all", "raw_variance"] == pytest.approx(variances.sum(), rel=1e-9)
    assert model.explained_variance_[0] == pytest.approx(variances[0], rel=1e-9)
    if model.scale:
        counted = np.repeat(X, weights.astype(int), axis=0)
        np.testing.assert_allclose(model.scale_, counted.std(axis=0, ddof=1))
        same_components(model, SparsePCA(2, cardinality=3).fit_covariance(np.corrcoef(counted, rowvar=False)))


def test_attributes_are_eighteen():
    frame = pd.DataFrame(rows(), columns=list("abcdefgh"))
    model = SparsePCA(3, cardinality=[4, 2, 1]).fit(frame)
    public = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert len(public) == 18
    assert len(model.get_params()) == 14
    assert model.components_.shape == (3, 8)
    for row, support in zip(model.components_, model.supports_, strict=True):
        assert np.flatnonzero(row).tolist() == support.tolist()
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert model.total_variance_ == pytest.approx(frame.var(ddof=1).sum())
    assert model.lower_bound_.shape == model.upper_bound_.shape == model.gap_.shape == (3,)
    assert len(model.verdicts_) == len(model.certificates_) == 3


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("p", [6, 80])
def test_without_centring_it_is_the_second_moment(seed, p):
    X = rows(seed, 50, p)
    model = SparsePCA(2, cardinality=3, center=False).fit(X)
    same_components(model, SparsePCA(2, cardinality=3).fit_covariance(X.T @ X / 50))
    assert (model.mean_ == 0).all()
    np.testing.assert_allclose(model.transform(X), X @ model.components_.T)
    root_mean_square = np.sqrt((X**2).mean(axis=0))
    scaled = SparsePCA(2, cardinality=3, center=False, scale=True).fit(X)
    Z = X / root_mean_square
    same_components(scaled, SparsePCA(2, cardinality=3).fit_covariance(Z.T @ Z / 50))


@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"center": False}, {"center": False, "scale": True}])
@pytest.mark.parametrize("shape", [(60, 8), (30, 90)])
@pytest.mark.parametrize("convert", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_rows_give_what_dense_rows_give(settings, shape, convert):
    rng = np.random.default_rng(1)
    X = rng.poisson(1.0, shape) * (rng.random(shape) < 0.4) * 1.0
    X[0] = 1  # no column is constant
    X[1] = 2
    weights = rng.random(shape[0])
    dense = SparsePCA(2, cardinality=4, **settings).fit(X, sample_weight=weights)
    sparse = SparsePCA(2, cardinality=4, **settings).fit(convert(X), sample_weight=weights)
    same_components(sparse, dense)
    np.testing.assert_allclose(sparse.explained_variance_, dense.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(sparse.total_variance_, dense.total_variance_, rtol=1e-9)
    np.testing.assert_allclose(sparse.transform(convert(X)), dense.transform(X), atol=1e-9)
    np.testing.assert_allclose(sparse.score(convert(X)), dense.score(X))


@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"center": False}])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("p", [8, 90])
def test_a_weight_is_as_good_as_repetition(settings, seed, p):
    X = rows(seed, 40, p)
    weights = np.random.default_rng(seed).integers(0, 4, 40)
    weighted = SparsePCA(2, cardinality=4, **settings).fit(X, sample_weight=weights)
    repeated = SparsePCA(2, cardinality=4, **settings).fit(np.repeat(X, weights, axis=0))
    same_components(weighted, repeated)
    np.testing.assert_allclose(weighted.mean_, repeated.mean_, atol=1e-12)
    np.testing.assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-12)
    np.testing.assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-9)
    twice = SparsePCA(2, cardinality=4, **settings).fit(X, sample_weight=2)
    np.testing.assert_allclose(
        twice.scale_, type(twice)(cardinality=4, **settings).fit(np.repeat(X, 2, axis=0)).scale_, rtol=1e-12
    )
    # Weights that are not whole numbers say how reliable rows are: only their ratios matter.
    small, smaller = (
        SparsePCA(2, cardinality=4, **settings).fit(X, sample_weight=weights * unit) for unit in (1e-2, 1e-3)
    )
    same_components(weighted, small)
    np.testing.assert_allclose(small.explained_variance_, smaller.explained_variance_, rtol=1e-9)
    ones = SparsePCA(2, cardinality=4, **settings).fit(X, sample_weight=np.full(40, 2.5))
    plain = SparsePCA(2, cardinality=4, **settings).fit(X)
    np.testing.assert_allclose(ones.explained_variance_, plain.explained_variance_, rtol=1e-9)


@pytest.mark.parametrize("method", ["auto", "greedy", "swaps", "truncated-power", "thresholding"])
def test_forced_features_by_name_and_place(method):
    frame = pd.DataFrame(rows(4), columns=list("abcdefgh"))
    by_name = SparsePCA(2, cardinality=3, forced_in=["c"], method=method).fit(frame)
    by_place = SparsePCA(2, cardinality=3, forced_in=np.array([2]), method=method).fit(frame)
    same_components(by_name, by_place)
    for support in by_name.supports_:
        assert 2 in support
        assert len(support) <= 3
    if method == "auto":
        S = np.cov(frame.to_numpy(), rowvar=False)
        assert by_name.lower_bound_[0] == pytest.approx(best_value(S, 3, (2,)), rel=1e-10)


@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"center": False}])
@pytest.mark.parametrize("seed", range(3))
def test_transform_and_back_is_the_projection_on_the_span(settings, seed):
    X = rows(seed)
    model = SparsePCA(3, cardinality=4, **settings).fit(X)
    Z = (X - model.mean_) / model.scale_
    np.testing.assert_allclose(model.transform(X), Z @ model.components_.T, atol=1e-9)
    Q = np.linalg.qr(model.components_.T)[0]
    expected = (Z @ Q @ Q.T) * model.scale_ + model.mean_
    again = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(again, expected, atol=1e-8)
    # a projection leaves what it made alone
    np.testing.assert_allclose(model.inverse_transform(model.transform(again)), again, atol=1e-7)
    # and no other point of the plane is nearer
    residual = Z - (again - model.mean_) / model.scale_
    np.testing.assert_allclose(residual @ model.components_.T, 0, atol=1e-8)


@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"center": False}])
@pytest.mark.parametrize("seed", range(3))
def test_score_is_the_share_of_variance_held(settings, seed):
    X, new = rows(seed)[:40], rows(seed)[40:]
    model = SparsePCA(3, cardinality=4, **settings).fit(X)
    for data in (X, new):
        Z = (data - model.mean_) / model.scale_
        rebuilt = (model.inverse_transform(model.transform(data)) - model.mean_) / model.scale_
        assert model.score(data) == pytest.approx(1 - ((Z - rebuilt) ** 2).sum() / (Z**2).sum(), rel=1e-8)
    assert model.score(X) == pytest.approx(model.explained_variance_ratio_.sum(), rel=1e-9)
    assert 0 <= model.score(new) <= 1


def test_pickle_and_clone():
    X = rows()
    model = SparsePCA(2, cardinality=[4, 2], method=ApproximateGreedy(candidates=2), forced_in=[1]).fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.transform(X), model.transform(X))
    assert again.verdicts_ == model.verdicts_
    fresh = clone(model)
    assert not hasattr(fresh, "components_")
    assert np.array_equal(fresh.fit(X).components_, model.components_)
    assert fresh.get_params()["cardinality"] == [4, 2]


def test_input_is_left_as_it_was():
    X = rows()
    weights = np.arange(60.0)
    S = np.cov(X, rowvar=False)
    before = X.copy(), weights.copy(), S.copy()
    SparsePCA(2, cardinality=3, scale=True).fit(X, sample_weight=weights).transform(X)
    SparsePCA(2, cardinality=3, scale=True).fit_covariance(S)
    for was, now in zip(before, (X, weights, S), strict=True):
        assert np.array_equal(was, now)
    sparse = sp.csr_array(X)
    SparsePCA(2, cardinality=3, scale=True).fit(sparse, sample_weight=weights)
    assert np.array_equal(sparse.toarray(), before[0])


PLAIN = optimal_in_words()


def test_the_verdict_says_what_a_component_is_compared_with():
    X = pd.DataFrame(rows(), columns=list("abcdefgh"))

    def words(data=X, **settings):
        return SparsePCA(**{"cardinality": 2, "method": "exhaustive", **settings}).fit(data).verdicts_

    def optimal(forced="", earlier=0):
        places = np.array([X.columns.get_loc(c) for c in forced], dtype=np.intp)
        return optimal_in_words(scope_of(places[:0], places, earlier=earlier, feature_names=X.columns))

    assert words() == [PLAIN]
    assert words(forced_in=["a"]) == [optimal(forced="a")]
    assert words(n_components=2) == [PLAIN, optimal(earlier=1)]
    priced = words(method=Penalized(0.5), cardinality=None, proof=None)
    assert "support of any size at this penalty" in priced[0]
    # A bound that the method itself gives is about the same supports.
    assert words(forced_in=["a"], proof=None) == [optimal(forced="a")]
    second = SparsePCA(2, method="sorting", cardinality=3).fit(X)
    nothing = np.array([], dtype=int)
    scope = scope_of(nothing, nothing, earlier=1, feature_names=X.columns)
    assert second.verdicts_[1].startswith(proof_in_words(second.gap_[1], scope))


def test_the_verdict_names_the_sign_of_loadings_only_where_it_matters():
    opposed = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 0.5]])
    signed = SparsePCA(cardinality=2, nonnegative=True).fit_covariance(opposed)
    assert signed._each[0].status is Status.COMPLETE
    assert "with non-negative loadings" in signed.verdicts_[0]
    assert signed.upper_bound_[0] >= best_value(opposed, 2)
    assert SparsePCA(cardinality=2, nonnegative=True).fit_covariance(np.abs(opposed)).verdicts_ == [PLAIN]


def test_a_command_makes_the_covariance_once(monkeypatch):
    """What is made for one function serves the others: data are opened, checked and multiplied once."""
    from laconic.model import settings

    calls, make = [], settings.make
    monkeypatch.setattr(settings, "make", lambda *args, **named: calls.append(1) or make(*args, **named))
    model, monitor = SparsePCA(cardinality=[3, 2]), Monitor()
    made = settings.made_of(model, rows(), None, None, monitor)
    model._fit(made, monitor)
    same_components(model, SparsePCA(cardinality=[3, 2]).fit(rows()))
    calls.clear()
    path(model, made, sizes=3, component=2)
    choose(model, made)
    noise(model, made, permutations=2)
    certify(model, made, [0, 1])
    assert not calls
    assert pickle.loads(pickle.dumps(model)).certificates_[0].digest == made.digest()
