import numpy as np
import pytest
from tests.report.page.models import senate

from laconic import SparsePCA
from laconic.datasets import load_pitprops
from laconic.report.page.sentences import amount_at_least, amount_at_most, answer, badge, beside_dense, total_for_shares

NBSP = "\u00a0"


def said(model, place=0):
    return answer(model, place).replace(NBSP, " ")


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).standard_normal((30, 12)) * np.linspace(1, 2, 12)


def test_a_proved_component_and_one_after_it():
    model = senate()[2]
    assert said(model) == "Component 1 keeps 19.0 % of the variance with 5 variables; no other 5 can keep more: proved."
    assert said(model, 1) == (
        "After component 1 is taken out, component 2 keeps 10.4 % of the variance with 2 variables; no other 2 can "
        "keep more: proved."
    )
    assert [badge(model, 0), badge(model, 1)] == ["proved optimal"] * 2
    assert beside_dense(model, 0).startswith("That is 42.2")


def test_a_gap_is_said_with_bounds_rounded_away_from_each_other(rows):
    model = SparsePCA(3, cardinality=4, method="sorting").fit(rows)
    found, limit = (
        100 * model.lower_bound_[0] / model.total_variance_,
        100 * model.upper_bound_[0] / model.total_variance_,
    )
    text = said(model)
    low, high = (
        float(word) for word in text.replace(";", "").split() if word.replace(".", "").isdigit() and "." in word
    )
    assert found - 0.1 < low <= found < limit <= high < limit + 0.1
    assert "; no other 4 can keep more than" in text
    assert text.endswith(": proved.")
    assert said(model, 2).startswith("After components 1 and 2 are taken out, component 3 keeps ")
    assert badge(model, 0) == "bound proved"


def test_without_a_proof_nothing_is_claimed(rows):
    model = SparsePCA(cardinality=4, proof=None, method="greedy").fit(rows)
    assert said(model).endswith("with 4 variables; nothing is proved about other sets of variables.")
    assert badge(model, 0) == "no proof"


def test_constraints_are_part_of_the_sentence(rows):
    model = SparsePCA(cardinality=3, forced_in=[2], nonnegative=True).fit(rows)
    assert "with 3 variables and no negative loading; no other 3 with feature 2, with" in said(model)
    assert "loadings of either sign, can keep more" in said(model)


def test_one_variable_and_all_variables(rows):
    assert "with 1 variable; no other variable can keep more: proved." in said(SparsePCA(cardinality=1).fit(rows))
    assert said(SparsePCA(cardinality=12).fit(rows)).endswith("with 12 variables, which is all of them.")


def test_components_found_together_add_to_each_other(rows):
    model = SparsePCA(cardinality=[3, 3], joint="span").fit(rows)
    assert " of the variance to the other components with 3 variables; no component of this size can add" in said(model)


def test_missing_values_are_named(rows):
    holes = rows.copy()
    holes[::5, 1] = np.nan
    model = SparsePCA(cardinality=3, missing="em").fit(holes)
    assert "% of the variance in the matrix estimated by EM with 3 variables" in said(model)
    model = SparsePCA(cardinality=[3, 3], joint="span", missing="em").fit(holes)
    assert "% of the variance in the matrix estimated by EM to the other components with 3 variables" in said(model)
    assert "of the total variance in the matrix estimated by EM to the other components." in model.verdicts_[0]


def test_ordinary_pca_is_named_only_if_it_is_what_is_compared_with(rows):
    model = SparsePCA(cardinality=[3, 3], disjoint=True).fit(rows)
    assert beside_dense(model, 1).endswith("of what a component with all variables that may be used would keep.")
    model = SparsePCA(cardinality=3).fit(rows)
    assert beside_dense(model, 0).endswith("of what the first component of ordinary PCA keeps with all variables.")
    blocks = SparsePCA(cardinality=[3, 3], method="gpower-l0-block").fit(rows)
    assert beside_dense(blocks, 1).endswith("of what the first component of ordinary PCA keeps with all variables.")


def test_a_matrix_that_is_no_covariance_has_no_shares():
    S = np.array([[1.0, 3.0, 0.1], [3.0, 1.0, 0.2], [0.1, 0.2, -1.5]])
    with pytest.warns(UserWarning, match="semidefinite"):
        model = SparsePCA(cardinality=2).fit_covariance(S)
    assert total_for_shares(model) is None
    assert said(model) == "Component 1 has a variance of 4 with 2 variables; no other 2 can have more: proved."
    assert "%" not in beside_dense(model, 0) or "ordinary PCA" in beside_dense(model, 0)


def test_a_correlation_matrix():
    props = load_pitprops()
    model = SparsePCA(cardinality=5, proof="tight").fit_covariance(props.covariance)
    assert said(model).startswith("Component 1 keeps 26.2 % of the variance with 5 variables; no other 5 can keep more")


def test_rounding():
    assert amount_at_least(0.29999, 1.0) == f"29.9{NBSP}%"
    assert amount_at_most(0.29991, 1.0) == f"30.0{NBSP}%"
    assert amount_at_least(1.0, 1.0) == f"100{NBSP}%"
    assert amount_at_least(0.00012345, 1.0) == f"0.0123{NBSP}%"
    assert amount_at_most(12.3451, None) == "12.35"
