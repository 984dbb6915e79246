"""A warning names the line of the caller, however deep in the package it begins."""

import inspect

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laconic import SparsePCA, cardinality_path, penalty_path, upper_bound
from laconic.core.caller import warn

X = np.random.default_rng(0).standard_normal((30, 5))
CONSTANT = np.column_stack([X, np.ones(30)])

CALLS = {
    "fit": lambda: SparsePCA(cardinality=2).fit(CONSTANT),
    "fit_transform": lambda: SparsePCA(cardinality=2).fit_transform(CONSTANT),
    "cardinality beyond the features": lambda: SparsePCA(cardinality=6).fit(CONSTANT),
    "out of reach": lambda: SparsePCA(nonnegative=True).fit_covariance(np.array([[1.0, -0.9], [-0.9, 1.0]])),
    "stopped": lambda: SparsePCA(min_variance=0.5, time_limit=1e-9).fit(np.tile(X, (1, 20))),
    "pipeline": lambda: make_pipeline(StandardScaler(), SparsePCA(cardinality=2)).fit(CONSTANT),
    "grid search": lambda: GridSearchCV(SparsePCA(), {"cardinality": [2]}, cv=2).fit(CONSTANT),
    "path": lambda: cardinality_path(CONSTANT, 2),
    "penalty path": lambda: penalty_path(CONSTANT, 2),
    "upper bound": lambda: upper_bound(CONSTANT, 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_line_of_the_caller_is_named(name):
    call = CALLS[name]
    with pytest.warns(UserWarning, match="vary|features|min_variance") as caught:
        call()
    lines, first = inspect.getsourcelines(call)
    for warning in caught:
        assert warning.filename == __file__
        assert first <= warning.lineno < first + len(lines)


def test_outside_the_package_it_is_the_line_itself():
    with pytest.warns(UserWarning, match="plain") as caught:
        warn("plain")
    assert caught[0].filename == __file__
