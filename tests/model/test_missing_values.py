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
from laconic import Certificate, SparsePCA, certify, choose, noise, path, scores, stability, verify
from laconic.core.monitor import Note
from laconic.covariance.make import Recipe, make
from laconic.model.noise import RowsLeft, scree_of
from laconic.model.resampling import permuted
from laconic.model.scores import scores_of

NAMES = list("abcdefgh")
WAYS = ("pairwise", "em")
ALL_WAYS = (*WAYS, "drop")


def rows_with_holes(seed=0, n=80, p=8, share=0.15):
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n, 2)) @ rng.standard_normal((2, p)) * 2
    X = common + rng.standard_normal((n, p)) + 3
    X[rng.random(X.shape) < share] = np.nan
    return X


def fitted(X, **settings):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=Note)
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


# Each function on data and settings, and what it finds as numbers. Those that draw rows need them in memory.
READ = {
    "fit": lambda X, way: fitted(X, missing=way).components_,
    "choose": lambda X, way: choose(SparsePCA(2, missing=way), X).to_frame(),
    "path": lambda X, way: path(SparsePCA(missing=way), X, sizes=4).values,
    "certify": lambda X, way: certify(SparsePCA(cardinality=3, missing=way), X, [0, 2, 5]).lower,
    "verify": lambda X, way: [verify(c, X).lower for c in fitted(X, missing=way).certificates_],
    "scores": lambda X, way: fitted(X, missing=way).transform(X),
    "score": lambda X, way: fitted(X, missing=way).score(X),
}
DRAWN = {
    "noise": lambda X, way: noise(SparsePCA(2, cardinality=3, missing=way), X, permutations=3).components[1].noise,
    "stability": lambda X, way: stability(SparsePCA(cardinality=3, missing=way), X, resamples=6).frequencies,
}
CONTAINERS = {
    "frame": lambda X: pd.DataFrame(X, columns=NAMES),
    "fortran": np.asfortranarray,
    "sparse": sp.csr_array,
    "sparse, by column": sp.csc_array,
    "blocks": Blocks,
}


def table(seed=20, n=60):
    return np.round(rows_with_holes(seed, n=n, share=0.04), 2)


@pytest.fixture
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("way", ALL_WAYS)
@pytest.mark.parametrize("function", [*READ, *DRAWN])
def test_every_function_takes_every_way_in_every_container(function, way, container):
    X = table()
    call, data = {**READ, **DRAWN}[function], CONTAINERS[container](X)
    if container == "blocks" and function in DRAWN:
        with pytest.raises(ValueError, match="rows in memory"):
            call(data, way)
    else:
        found = np.asarray(call(data, way), dtype=float)
        expected = np.asarray(call(X, way), dtype=float)
        if function == "noise" and way == "drop" and sp.issparse(data):
            assert found.shape == expected.shape  # sparse columns are permuted by other random numbers
        else:
            # EM ends where a step changes a millionth; one that ends a step later differs by less than that.
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("function", [*READ, *DRAWN])
def test_drop_is_what_the_complete_rows_give_to_the_last_digit(function, weighted):
    X = table()
    complete = X[~np.isnan(X).any(axis=1)]
    assert 20 < len(complete) < 50
    if function in ("scores", "score"):  # all rows have scores
        model, alone = fitted(X, missing="drop"), fitted(complete, missing="error")
        assert np.array_equal(model.mean_, alone.mean_)
        assert np.array_equal(model.transform(complete), alone.transform(complete))
    elif not weighted:
        call = {**READ, **DRAWN}[function]
        assert np.array_equal(np.asarray(call(X, "drop")), np.asarray(call(complete, "error")))
    elif function == "fit":
        w = np.arange(1.0, 61.0) / 7
        model, kept = SparsePCA(cardinality=3, missing="drop").fit(X, sample_weight=w), w[~np.isnan(X).any(axis=1)]
        alone = SparsePCA(cardinality=3).fit(complete, sample_weight=kept)
        assert np.array_equal(model.components_, alone.components_)
        assert np.array_equal(model.lower_bound_, alone.lower_bound_)
        assert verify(model.certificates_[0], X, sample_weight=w)
        assert not verify(model.certificates_[0], X, sample_weight=2 * w)


def test_drop_says_how_many(tmp_path):
    X = table()
    frame, left_out = pd.DataFrame(X, columns=NAMES), int(np.isnan(X).any(axis=1).sum())
    with pytest.warns(Note, match=rf"^Rows of X with missing values are left out: {left_out} of 60\.$"):
        model = SparsePCA(cardinality=3, missing="drop").fit(frame)
    assert model.missing_.rows == left_out
    assert model.missing_.counts.tolist() == np.isnan(X).sum(axis=0).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        page = model.to_html(frame, labels=[f"row {i}" for i in range(60)])
    assert f"Rows with missing values were left out: {left_out}." in page
    assert '"row 59"' in page
    assert "in the complete rows (proved)" in model.verdicts_[0]
    certificate = model.certificates_[0]
    assert "complete rows among the rows with the digest" in " ".join(certificate.claim)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for data in (X, tmp_path / "t.csv", Blocks(X)):
        assert verify(certificate, data).reason.endswith("in the complete rows (proved).")
    one_more = X.copy()
    one_more[np.flatnonzero(~np.isnan(X).any(axis=1))[0], 0] = np.nan
    for data in (X[~np.isnan(X).any(axis=1)], one_more, np.nan_to_num(X)):
        assert not verify(certificate, data)
    for change in ({"missing": None}, {"missing": "pairwise"}, {"missing": "em", "iterations": 3}):
        assert not verify(replace(certificate, recipe=replace(certificate.recipe, **change)), X)


@pytest.mark.parametrize("data", [lambda X: X, lambda X: pd.DataFrame(X, columns=NAMES), sp.csr_array, Blocks])
@pytest.mark.parametrize("kept", [0, 1])
def test_drop_needs_two_complete_rows(kept, data):
    X = np.random.default_rng(0).standard_normal((9, 8))
    X[kept:, 6] = np.nan
    name = "'g'" if hasattr(data(X), "columns") else "6"
    expected = (
        f"X has {kept} of 9 rows without missing values, and 'drop' needs two; set missing to pairwise, or "
        f"leave out columns such as {name} ({9 - kept} missing)."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        SparsePCA(missing="drop").fit(data(X))


def test_a_table_without_missing_values_is_the_same_in_every_way():
    X = np.nan_to_num(table())
    plain = SparsePCA(cardinality=3).fit(X)
    for way in ALL_WAYS:
        model = SparsePCA(cardinality=3, missing=way).fit(X)
        assert model.missing_ is None
        assert np.array_equal(model.components_, plain.components_)
        assert model.certificates_[0].recipe == plain.certificates_[0].recipe


@pytest.mark.parametrize("seed", range(3))
def test_permuted_keep_their_values_and_their_holes(seed):
    X = rows_with_holes(seed)
    found = permuted(X, np.random.default_rng(seed))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(X))
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(X, axis=0))
    assert not np.array_equal(found, X, equal_nan=True)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_noise_makes_the_matrix_of_the_fit_in_the_same_way(way, scale):
    made = make(rows_with_holes(2), Recipe(missing=way, scale=scale), quiet=True)
    left = RowsLeft.of(made)
    np.testing.assert_allclose(left.covariance(3).matrix, made.covariance.matrix, atol=1e-8)
    assert left.permuted(np.random.default_rng(0)).covariance(3).matrix.diagonal() == pytest.approx(
        made.covariance.diagonal, rel=1e-8 if way == "pairwise" else 0.2
    )
    assert scree_of(made, 3, tables=2).noise.shape == (2, 3)


@pytest.mark.parametrize("seed", range(3))
def test_rows_without_a_component_have_the_spread_that_noise_is_given_again(seed):
    """Noise, less a component, permuted and less it again: its variances are those of the noise less a component."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4000, 6))
    X[rng.random(X.shape) < 0.2] = np.nan
    z = np.array([0.8, 0.6, 0, 0, 0, 0])
    left = RowsLeft.of(make(X, Recipe(missing="pairwise"), quiet=True)).without(z)
    own = left.covariance(3).matrix.diagonal()
    assert own[0] < 0.5
    np.testing.assert_allclose(left.permuted(rng).covariance(3).matrix.diagonal(), own, rtol=0.1)


@pytest.mark.parametrize("way", ["pairwise", pytest.param("em", marks=pytest.mark.slow)])
def test_planted_components_are_told_from_noise(way):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 20))
    for t in range(2):
        X[:, 4 * t : 4 * t + 4] += 1.5 * rng.standard_normal((120, 1))
    X[rng.random(X.shape) < 0.1] = np.nan
    assert noise(SparsePCA(3, cardinality=4, missing=way), X, permutations=19).n_real() == 2
    assert way == "em" or choose(SparsePCA(missing=way), X).n_components == 2


def test_drop_on_dask():
    da = pytest.importorskip("dask.array")
    X = table(n=90)
    model = fitted(X, missing="drop")
    other = fitted(da.from_array(X, chunks=(31, 3)), missing="drop")
    np.testing.assert_allclose(other.components_, model.components_, atol=1e-10)
    assert other.certificates_[0].digest == model.certificates_[0].digest
    assert verify(model.certificates_[0], da.from_array(X, chunks=(20, 8)))


def test_a_ridge_that_em_needs_is_part_of_the_claim():
    X = rows_with_holes(12, n=30, p=4)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])  # columns that depend on each other
    with pytest.warns(UserWarning, match="no maximum-likelihood covariance"):
        certificate = SparsePCA(cardinality=2, missing="em").fit(X).certificates_[0]
    assert verify(certificate, X)
    assert not verify(replace(certificate, recipe=replace(certificate.recipe, ridge=0.0)), X)


def test_weights_of_zero_on_all_complete_rows():
    X = table()
    weights = np.isnan(X).any(axis=1).astype(float)
    with pytest.raises(ValueError, match="sample_weight leaves fewer than 2 rows that count"):
        fitted(X, missing="drop", n_components=1, cardinality=2).fit(X, sample_weight=weights)
