"""A proof is told step by step, and a failed check names the step that fails."""

import re
from dataclasses import replace

import numpy as np
import pytest
from certificate_examples import EXAMPLES, example

from laconic import SparsePCA, verify
from laconic.core.words import at_most
from laconic.proof.witness_joint import JointWitness

TITLES = [
    "The claim",
    "The data are those of the certificate",
    "The matrix S",
    "The component and its variance",
    "The upper bound",
    "Conclusion",
]
# Words of the step about the upper bound.
WORDS = {
    "trace": "the 3 largest variances together",
    "row sums": "a variance plus the 2 largest covariances",
    "exhaustive": "every block of 3 features among 8",
    "largest eigenvalue": "no component has more variance than the ordinary one",
    "l1 dual": "a symmetric matrix with a zero diagonal is added",
    "row levels": "Each row has a price",
    "l0": "A'A for a factor A of 8 rows",
    "Proposition 2": "costs a penalty of 1.5",
    "threshold": "covariances without signs are shrunk by 2, which costs 2 times as much",
    "steps": "Step 5, supports of 3 features among 8: the features of step 3 are bounded there. No support",
    "steps by variances": "A support with hidden features has at most the bound on its other features",
    "tree": "Each node is divided",
    "joint": "r components hold at most the r largest eigenvalues",
    "joint threshold": "each covariance in S moves towards zero by at most 1.",
    "cover, one component": "Cover: a tree of cases, stored in 177 numbers.",
    "common": "Each case says which features a component uses and which it does not.",
    "disjoint": "A matrix is subtracted from S, and each feature has a price for what that takes away.",
    "orthogonal": "the largest eigenvalues of what is left and the prices of the most expensive features",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_kind_is_told_in_six_steps(name):
    found = example(name)
    outcome = verify(found.certificate, found.data, explain=True, **found.options)
    assert outcome, outcome.reason
    titles = [title.replace("component and its", "components and their") for title in TITLES]
    several = found.certificate.n_components > 1
    assert [step.title for step in outcome.steps] == (titles if several else TITLES)
    assert all(step.holds and step.sentences for step in outcome.steps)
    assert outcome.lines[0] == "1. The claim"
    assert not any(re.search(r"nan|inf\b|None|\{|\}", line) for line in outcome.lines)
    bound = " ".join(outcome.steps[4].sentences)
    assert WORDS.get(name, "") in bound
    assert at_most(outcome.upper, 15) in bound


@pytest.mark.parametrize(("name", "most"), [("common", 3), ("disjoint", 5), ("orthogonal", 5), ("joint", 7)])
def test_the_number_of_features_of_all_components(name, most):
    """A common support has k features, a total budget limits the sum."""
    found = example(name)
    plain = replace(found.certificate, witness=JointWitness(), kind="span", upper=100.0)
    outcome = verify(plain, found.data, explain=True)
    assert outcome.steps[4].sentences[0].startswith(f"Sum of variances: the components use at most {most} features,")
    few = JointWitness(np.arange(4), np.zeros((4, 1)))
    outcome = verify(replace(plain, witness=few), found.data, explain=True)
    assert "S is that of 4 features. The others add their variances." in outcome.steps[4].sentences


def test_one_loading_is_not_several():
    S = np.diag([3.0, 2.0, 1.0])
    outcome = verify(SparsePCA(cardinality=1).fit_covariance(S).certificates_[0], S, explain=True)
    assert outcome.steps[3].sentences[0].startswith("z has 1 nonzero loading on feature")


@pytest.mark.parametrize(
    ("change", "step"),
    [
        (lambda _: {"cardinalities": np.array([2])}, 0),
        (lambda _: {"digest": "0" * 64}, 1),
        (lambda _: {"deflation": "magic"}, 2),
        (lambda c: {"earlier": 2 * c.earlier}, 2),
        (lambda c: {"lower": c.lower * (1 + 1e-9), "upper": 2 * c.upper}, 3),
        (lambda c: {"lower": c.lower / 2, "upper": c.upper * (1 - 1e-9)}, 4),
        (lambda _: {"kind": "trace"}, 4),
    ],
)
def test_the_step_that_fails_is_named(change, step):
    found = example("second component")
    assert verify(found.certificate, found.data).steps == ()
    outcome = verify(replace(found.certificate, **change(found.certificate)), found.data, explain=True)
    assert not outcome
    assert [s.title for s in outcome.steps] == TITLES[: step + 1]
    assert [s.holds for s in outcome.steps] == [True] * step + [False]
    assert outcome.steps[-1].sentences[-1] == outcome.reason
    assert f"{step + 1}. {TITLES[step]}: this step fails" in outcome.lines
