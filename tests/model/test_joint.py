"""SparsePCA(joint="span"): components that hold the most variance together."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine

from laconic import SparsePCA, verify
from laconic.covariance.screening import MOST_COLUMNS
from laconic.datasets import load_senate109
from laconic.methods import Penalized
from laconic.search import span


def held(X, components, weights=None):
    """The share of the variance of rows that the span of components holds, written apart from the package."""
    weights = np.ones(len(X)) if weights is None else weights
    X = X - np.average(X, axis=0, weights=weights)
    Q = np.linalg.qr(components.T)[0]
    return float((weights @ (X @ Q) ** 2).sum() / (weights @ X**2).sum())


def standardised(load):
    X = load().data
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


# Shares of the variance that throw-away code reached, to be met.
REACHED = [
    (load_breast_cancer, [25, 24, 20], 0.72605),
    (load_breast_cancer, [22, 17, 15], 0.72085),
    (load_breast_cancer, [19, 13, 12], 0.70595),
    (load_wine, [11, 11, 5], 0.6633),
    (load_wine, [9, 7, 3], 0.65315),
]


@pytest.mark.parametrize(("load", "sizes", "least"), REACHED)
def test_shares_that_were_reached_before(load, sizes, least):
    X = standardised(load)
    model = SparsePCA(3, cardinality=sizes, joint="span").fit(X)
    assert (np.count_nonzero(model.components_, axis=1) <= sizes).all()
    assert model.explained_variance_ratio_.sum() >= least
    assert held(X, model.components_) == pytest.approx(model.explained_variance_ratio_.sum(), rel=1e-10)
    assert model._together.held <= model._together.upper <= 1.05 * model._together.held
    assert verify(model.certificates_[0], X)


def rows(seed=0, n=12):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, n))
    X[:, :4] += 2 * rng.standard_normal((80, 1))
    X[:, 3:7] += 1.5 * rng.standard_normal((80, 1))
    return X


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"center": False}, {"forced_in": [8]}])
def test_every_number_of_a_model_fits_the_others(seed, settings):
    X = rows(seed)
    model = SparsePCA(3, cardinality=4, joint="span", **settings).fit(X)
    plain = SparsePCA(3, cardinality=4, **settings).fit(X)
    assert model._together.held >= plain._together.held * (1 - 1e-12)
    for fitted in (model, plain):
        assert fitted._together.held == pytest.approx(fitted.explained_variance_.sum())
        assert fitted.explained_variance_ratio_.sum() == pytest.approx(fitted._together.held / fitted.total_variance_)
        assert fitted._together.held <= fitted._together.dense * (1 + 1e-12)
        assert fitted._together.dense <= fitted.total_variance_ * (1 + 1e-12)
    assert plain._together.upper == np.inf
    assert len(plain.certificates_) == 3
    assert model._together.held <= model._together.upper
    # The bound is about dense components as well.
    assert model._together.dense <= model._together.upper * (1 + 1e-12)
    assert model.summary().loc["all", "gap"] == pytest.approx(model._together.upper / model._together.held - 1)
    # What a component adds to the others, and a bound on it.
    S = model.certificates_[0]
    assert verify(S, X)
    assert (model.lower_bound_ <= model.upper_bound_).all()
    assert (model.lower_bound_ <= model.summary()["dense_variance"].to_numpy()[:-1] * (1 + 1e-9)).all()
    for t in range(3):
        others = np.delete(model.components_, t, axis=0)
        if "scale" not in settings and "center" not in settings:
            added = (held(X, model.components_) - held(X, others)) * model.total_variance_
            assert model.lower_bound_[t] == pytest.approx(added, rel=1e-6)
    assert np.allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert (np.abs(model.components_).max(axis=1) == model.components_.max(axis=1)).all()
    # Equal cardinalities: each adds the most to those before it. A shared feature makes components oblique, and a later
    # one may then add more than the first.
    if "forced_in" not in settings:
        assert (np.diff(model.explained_variance_) <= 1e-9).all()
    assert len(model.certificates_) == 1
    if "forced_in" in settings:
        assert (model.components_[:, 8] != 0).all()
    assert not any("Optimal" in verdict for verdict in model.verdicts_)
    assert model.transform(X).shape == (80, 3)
    assert model.loadings()["component"].nunique() == 3


def test_dense_sparse_and_covariance_agree():
    X = np.where(np.random.default_rng(0).random((90, 14)) < 0.3, rows(1, 14)[np.arange(90) % 80], 0.0)
    dense = SparsePCA(2, cardinality=4, joint="span").fit(X)
    sparse = SparsePCA(2, cardinality=4, joint="span").fit(sp.csr_array(X))
    given = SparsePCA(2, cardinality=4, joint="span").fit_covariance(np.cov(X.T))
    for other in (sparse, given):
        assert [s.tolist() for s in dense.supports_] == [s.tolist() for s in other.supports_]
        assert other._together.held == pytest.approx(dense._together.held)
        assert other._together.upper == pytest.approx(dense._together.upper)
    assert verify(sparse.certificates_[0], sp.csr_array(X))
    assert verify(given.certificates_[0], np.cov(X.T))


def test_hidden_features_are_in_the_bound():
    """Sparse rows of many columns: most features are known by their variance only."""
    rng = np.random.default_rng(0)
    n = MOST_COLUMNS + 500
    X = sp.random_array((250, n), density=0.06, rng=rng, format="csc")
    X = sp.csr_array(X @ sp.diags_array(np.r_[np.full(20, 30.0), np.full(n - 20, 1.0)]))
    model = SparsePCA(2, cardinality=5, joint="span").fit(X)
    assert model._together.held <= model._together.upper < 1.6 * model._together.held
    assert verify(model.certificates_[0], X)
    found = np.unique(np.concatenate(model.supports_))
    S = np.cov(X[:, found].toarray().T)
    position = {feature: place for place, feature in enumerate(found)}
    components = np.zeros((2, len(found)))
    for t, support in enumerate(model.supports_):
        components[t, [position[feature] for feature in support]] = model.components_[t, support]
    Q = np.linalg.qr(components.T)[0]
    assert np.trace(Q.T @ S @ Q) == pytest.approx(model._together.held)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"joint": "span"}, "joint='span' needs a number of features"),
        ({"joint": "span", "cardinality": 0.8}, "joint='span' needs a number of features"),
        ({"joint": "span", "method": Penalized(0.1)}, "joint='span' needs a number of features"),
        ({"joint": "span", "cardinality": 3, "nonnegative": True}, "loadings of one sign"),
        ({"joint": "span", "cardinality": 3, "method": "gpower-l1-block"}, "in its own way"),
    ],
)
def test_what_does_not_go_together_is_said(settings, message):
    with pytest.raises(ValueError, match=message):
        SparsePCA(2, **settings).fit(rows())


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    X = rows()
    plain = SparsePCA(3, cardinality=4).fit(X)
    monkeypatch.setattr(span, "exchange", interrupted)
    model = SparsePCA(3, cardinality=4, joint="span").fit(X)
    assert all("Interrupted" in verdict for verdict in model.verdicts_)
    assert plain._together.held * (1 - 1e-12) <= model._together.held <= model._together.upper


def test_verdicts_say_what_is_held_together():
    votes = load_senate109().frame
    plain = SparsePCA(cardinality=[5, 5]).fit(votes)
    assert plain._together.verdict.startswith("Together the 2 components hold ")
    assert "Each was found given the earlier ones; joint='span' looks for" in plain._together.verdict
    assert "after component 1" in plain.verdicts_[1]
    assert "joint" not in SparsePCA(cardinality=[5, 5], joint="disjoint").fit(votes)._together.verdict
    # With nearly all features there is little to gain.
    assert SparsePCA(cardinality=[45, 45]).fit(votes)._together.verdict.endswith("given the earlier ones.")
    single = SparsePCA(cardinality=5).fit(votes)
    assert single._together.verdict.startswith("The component holds ")
    together = SparsePCA(cardinality=[5, 5], joint="span").fit(votes)
    assert "No 2 components of these sizes hold more than" in together._together.verdict
    assert together.verdicts_[0].startswith("It adds ")
