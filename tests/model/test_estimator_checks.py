"""scikit-learn's own checks of an estimator, all of them: a check that is skipped fails here."""

import warnings

import pytest
import sklearn.utils.estimator_checks as checks
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from laconic import SparsePCA

MODELS = [
    SparsePCA(),
    SparsePCA(cardinality=1),
    SparsePCA(n_components=2, cardinality=1, deflation="hotelling"),
    SparsePCA(n_components=2, cardinality=2, proof="tight"),
    SparsePCA(cardinality=0.5, method="approximate-greedy"),
    SparsePCA(cardinality=1, nonnegative=True, center=False),
    SparsePCA(cardinality=1, method="gpower-l1-block", random_state=3),
    SparsePCA(cardinality=1, missing="pairwise"),
    SparsePCA(cardinality=1, scale=True),
]


@pytest.fixture(autouse=True)
def _no_check_is_skipped(monkeypatch):
    """A check that cannot run raises unittest.SkipTest; let that be a failure."""
    monkeypatch.setattr(checks, "SkipTest", AssertionError)


@parametrize_with_checks(MODELS)
def test_scikit_learn_check(estimator, check):
    with warnings.catch_warnings():
        # the checks fit on data with constant columns, and ask for more features than vary
        warnings.filterwarnings("ignore", message=".*not vary and will not be selected.*")
        warnings.filterwarnings("ignore", message=".*features may be used; components use.*")
        warnings.filterwarnings("error", category=SkipTestWarning)
        check(estimator)


def test_the_list_of_checks_is_the_full_one():
    """The array API checks are there only if SCIPY_ARRAY_API was set in time; none is marked as expected to fail."""
    names = {check.func.__name__ for _, check in estimator_checks_generator(SparsePCA())}
    assert "check_estimator_sparse_array" in names
    assert "check_sample_weight_equivalence_on_dense_data" in names
    assert "check_transformer_preserve_dtypes" in names
    assert "check_f_contiguous_array_estimator" in names
    assert len(names) >= 45


@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
@pytest.mark.parametrize(
    "check",
    [
        checks.check_transformer_get_feature_names_out,
        checks.check_transformer_get_feature_names_out_pandas,
        checks.check_set_output_transform,
        checks.check_set_output_transform_pandas,
        checks.check_set_output_transform_polars,
        checks.check_global_output_transform_pandas,
        checks.check_global_set_output_transform_polars,
        checks.check_dataframe_column_names_consistency,
    ],
    ids=lambda check: check.__name__,
)
def test_check_that_scikit_learn_keeps_for_itself(check):
    """Run on its own estimators only, and just as good for others."""
    check("SparsePCA", SparsePCA())
