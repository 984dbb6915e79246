"""Missing values in the estimator: fits, scores, the share held, certificates, blocks."""

import re
import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from helpers import bound_of, certified, path_of
from laconic import Certificate, SparsePCA, scores, verify
from laconic.model.scores import scores_of

NAMES = list("abcdefgh")
WAYS = ("pairwise", "em")


def rows_with_holes(seed=0, n=80, p=8, share=0.15):
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n, 2)) @ rng.standard_normal((2, p)) * 2
    X = common + rng.standard_normal((n, p)) + 3
    X[rng.random(X.shape) < share] = np.nan
    return X


def fitted(X, **settings):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not positive semidefinite.*")
        warnings.filterwarnings("ignore", message=".*too few values for the score.*")
        return SparsePCA(**{"n_components": 2, "cardinality": 3, "missing": "pairwise", **settings}).fit(X)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_bounds_hold_for_the_matrix_that_was_made(way, scale, seed):
    X = rows_with_holes(seed, share=0.3)
    model = fitted(X, n_components=1, missing=way, scale=scale, proof="tight")
    frame = pd.DataFrame(X)
    if way == "pairwise":
        S = (frame.corr() if scale else frame.cov()).to_numpy()
    else:
        from laconic.covariance.missing import PresentValues
        from laconic.data.rows import ArraySource

        S = PresentValues(ArraySource(X), scale=scale).matrix("em").matrix
    truth = max(np.linalg.eigvalsh(S[np.ix_(s, s)])[-1] for s in combinations(range(8), 3))
    assert model.lower_bound_[0] == pytest.approx(truth, rel=1e-9)
    assert truth <= model.upper_bound_[0] * (1 + 1e-12)
    assert model.gap_[0] <= 1e-6
    assert "(proved)" in model.verdicts_[0]
    assert {"pairwise": "made by pairwise deletion", "em": "estimated by EM"}[way] in model.verdicts_[0]
    assert verify(model.certificates_[0], X)


def test_the_message_counts_them_by_column():
    X = np.ones((6, 3)) * np.arange(6)[:, None]
    X[1, 0] = X[2, 2] = X[4, 2] = np.nan
    expected = (
        "X has 3 missing values (NaN) in 2 of 3 columns: 'c' (2), 'a' (1); the first is at row 1, column 'a'; fill or "
        "drop them first, or set missing to pairwise, em or drop."
    )
    frame = pd.DataFrame(X, columns=list("abc"))
    for use in (SparsePCA().fit, path_of, lambda data: bound_of(data, 2)):
        with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
            use(frame)
    X[5, 1] = np.inf
    with pytest.raises(ValueError, match=r"3 missing values \(NaN\) in 2 of 3 columns: .*; 1 more is infinite"):
        SparsePCA().fit(X)
    for way in WAYS:
        with pytest.raises(ValueError, match=r"infinite entry \(inf\) at row 5, column 1"):
            SparsePCA(missing=way).fit(X)


def completed_by_hand(row, Z):
    """Complete a standardised row in the span of Z by a general least-squares solver, and score it."""
    there = ~np.isnan(row)
    t = np.linalg.lstsq(Z[:, there].T, row[there], rcond=None)[0]
    return Z @ np.where(there, row, t @ Z)


@pytest.mark.parametrize("deflation", ["projection", "schur"])
@pytest.mark.parametrize("scale", [False, True])
def test_scores_are_least_squares_on_what_is_there(scale, deflation):
    X = rows_with_holes(1)
    model = fitted(X, scale=scale, deflation=deflation, n_components=3, cardinality=4)
    Z = model.components_
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*too few values for the score.*")
        scores = model.transform(X)
    expected = np.array([completed_by_hand(row, Z) for row in (X - model.mean_) / model.scale_])
    determined = ~np.isnan(scores).any(axis=1)
    assert determined.sum() > 60
    np.testing.assert_allclose(scores[determined], expected[determined], atol=1e-8)
    whole = ~np.isnan(X[:, Z.any(axis=0)]).any(axis=1)
    np.testing.assert_allclose(
        scores[whole], scores_of(np.nan_to_num(X[whole]), Z, model.mean_, model.scale_), atol=1e-12
    )


def test_a_score_that_is_not_determined_is_nan_and_the_others_are_kept():
    X = rows_with_holes(3, share=0.05)
    model = fitted(X, joint="disjoint")
    first, second = model.supports_
    row = np.nan_to_num(X[:4], nan=1.0)
    expected = model.transform(row)
    row[1, first] = np.nan
    row[2, second] = np.nan
    row[3] = np.nan
    with pytest.warns(UserWarning, match="3 rows have too few values for the score of a component"):
        scores = model.transform(row)
    assert np.isnan(scores).tolist() == [[False, False], [True, False], [False, True], [True, True]]
    kept = ~np.isnan(scores)
    np.testing.assert_allclose(scores[kept], expected[kept], atol=1e-12)


def test_the_share_held_is_that_of_what_is_there():
    X = rows_with_holes(4)
    model = fitted(X, scale=True)
    kept = total = 0.0
    for row in (X - model.mean_) / model.scale_:
        there = ~np.isnan(row)
        fit = np.linalg.lstsq(model.components_[:, there].T, row[there], rcond=None)[0] @ model.components_[:, there]
        kept, total = kept + fit @ fit, total + row[there] @ row[there]
    assert model.score(X) == pytest.approx(kept / total, rel=1e-9)


class Blocks:
    """Rows in blocks, as users write such objects."""

    def __init__(self, X):
        self.X = X

    def __iter__(self):
        for begin in range(0, len(self.X), 13):
            yield self.X[begin : begin + 13]


@pytest.mark.parametrize("way", WAYS)
def test_fits_scores_and_proofs_of_blocks(way, tmp_path):
    X = rows_with_holes(5)
    model = fitted(X, missing=way)
    pd.DataFrame(X, columns=NAMES).to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*too few values for the score.*")
        warnings.filterwarnings("ignore", message=".*not positive semidefinite.*")
        for data in (Blocks(X), tmp_path / "t.csv"):
            other = fitted(data, missing=way)
            np.testing.assert_allclose(other.components_, model.components_, atol=1e-8)
            assert other.missing_.iterations == model.missing_.iterations
            assert other.certificates_[0].digest == model.certificates_[0].digest
            np.testing.assert_allclose(other.transform(data), model.transform(X), atol=1e-7)
            assert other.score(data) == pytest.approx(model.score(X), rel=1e-8)
            for certificate in other.certificates_:
                assert verify(certificate, X)
                assert verify(certificate, data)
        np.testing.assert_allclose(scores(model, tmp_path / "t.csv"), model.transform(X), atol=1e-7)


@pytest.mark.parametrize("settings", [{}, {"scale": True}, {"center": False}])
@pytest.mark.parametrize("way", WAYS)
def test_certificates_are_accepted_in_every_form_of_the_rows(way, settings, tmp_path):
    X = rows_with_holes(9, n=40, p=6).astype(np.float32)
    model = fitted(X, missing=way, **settings)
    for number, certificate in enumerate(model.certificates_ if way == "pairwise" else model.certificates_[1:]):
        path = certificate.save(tmp_path / f"{number}.json")
        read = Certificate.load(path)
        assert read.recipe == certificate.recipe
        for data in (X, X.astype(float), np.asfortranarray(X), pd.DataFrame(X), sp.csr_array(X), Blocks(X)):
            outcome = verify(read, data)
            assert outcome, outcome.reason
            assert "not about the complete data" in outcome.reason
        with threadpool_limits(2):
            assert verify(read, X)


@pytest.mark.parametrize("way", WAYS)
def test_weights_are_part_of_the_claim(way):
    X, w = rows_with_holes(10), np.random.default_rng(0).random(80)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not positive semidefinite.*")
        model = SparsePCA(cardinality=3, missing=way).fit(X, sample_weight=w)
    certificate = model.certificates_[0]
    assert verify(certificate, X, sample_weight=w)
    assert not verify(certificate, X)
    assert not verify(certificate, X, sample_weight=w[::-1])


@pytest.mark.parametrize("way", WAYS)
def test_other_data_and_altered_certificates_are_rejected(way):
    X = rows_with_holes(11)
    certificate = fitted(X, missing=way, proof="tight").certificates_[0]
    assert certificate.proved
    filled, moved, one_more = np.nan_to_num(X), X.copy(), X.copy()
    there = np.argwhere(~np.isnan(X))[0]
    moved[tuple(there)] += 1e-9
    one_more[tuple(there)] = np.nan
    for data in (filled, moved, one_more, X[::-1], X[:, ::-1]):
        assert not verify(certificate, data)
    other_way = WAYS[1 - WAYS.index(way)]
    steps = 40 if way == "pairwise" else 0
    changes = [
        {"missing": other_way, "iterations": steps},
        {"missing": None},
        {"missing": "mean"},
        {"scale": True},
        {"center": False},
    ]
    if way == "em":
        changes += [{"iterations": 1}, {"ridge": 0.1}, {"iterations": 0}, {"iterations": 10**12}, {"ridge": 0.7}]
    for change in changes:
        assert not verify(replace(certificate, recipe=replace(certificate.recipe, **change)), X), change
    for change in ({"upper": certificate.lower * (1 - 1e-6)}, {"lower": certificate.upper * (1 + 1e-6)}):
        assert not verify(replace(certificate, **change), X)
    tightened = replace(certificate, upper=certificate.lower, lower=certificate.lower * 0.999)
    assert not verify(tightened, X)


@pytest.mark.parametrize("way", WAYS)
def test_the_other_functions_take_them_too(way):
    frame = pd.DataFrame(rows_with_holes(14, share=0.05), columns=NAMES)
    model = fitted(frame, n_components=1, missing=way)
    support = [NAMES[i] for i in model.supports_[0]]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not positive semidefinite.*")
        found = path_of(frame, 4, missing=way)
        own = certified(frame, support, missing=way)
        bound = bound_of(frame, 3, missing=way)
    assert sorted(found.names(3)) == sorted(support)
    assert all(verify(c, frame) for c in found.certificates)
    assert verify(own, frame)
    assert own.lower <= bound
