"""A proof is told step by step, with its own numbers, and a failed check names the step that fails."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from certificate_examples import EXAMPLES, example

from laconic import verify
from laconic.covariance import DenseCovariance, Recipe
from laconic.data.digest import digest_of
from laconic.proof import certify, gate
from laconic.proof.explanation import lines
from laconic.proof.witness import Proved, Witness

TITLES = [
    "The claim",
    "The data are those of the certificate",
    "The matrix S",
    "The component and its variance",
    "The upper bound",
    "Rounding",
    "Conclusion",
]

# Words of the step about the upper bound.
WORDS = {
    "trace": "The 3 largest variances add up to at most 19.34",
    "row sums": "The largest sum of the 8 features is at most 11.6859",
    "exhaustive": "there are 56 supports of 3 among 8 features",
    "largest eigenvalue": "no component has more than the dense one, which has at most 10.8838",
    "l1 dual": "No support of 3 features loses more than 0.400000001 by the change",
    "row levels": "Each row has a price for what it takes away",
    "cancelled": "cancels all covariances of 3 features and reduces those of the other 5",
    "l0": "the matrix is A'A for a factor A of 8 rows, up to a shift of 0.125",
    "Proposition 2": "The component has 3 features, the penalty is 1.5. 3 features cost 4.5",
    "blocks": "The best block has 6 features and at most 11.298",
    "elimination": "no support with one of 2 features reaches more than 10.819",
    "elimination by variance": "from its variance, and from a bound of 13.6439001 on 2 features",
    "two groups": "The worst case is j = 1, with at most 11.0777",
    "tree": "so the 5 leaves and 4 decisions cover all supports",
    "span": "2 directions hold at most the 2 largest eigenvalues of the matrix together",
    "forced": "among 7 features that contain the 1 feature known to be in",
}


def explained(name):
    found = example(name)
    return verify(found.certificate, found.data, explain=True, **found.options)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_kind_is_told_in_seven_steps(name):
    found = explained(name)
    assert found, found.reason
    assert [step.title for step in found.steps] == TITLES
    assert all(step.holds and step.sentences for step in found.steps)
    text = lines(found.steps)
    assert text[0] == "1. The claim"
    assert not any(re.search(r"nan|inf\b|None|\{|\}", line) for line in text)
    bound = " ".join(found.steps[4].sentences)
    assert WORDS.get(name, "") in bound
    # The number of the bound stands in the words: what is computed is what is told.
    told = [float(number) for number in re.findall(r"\d+\.\d+", bound)]
    assert any(0 <= number - found.upper <= 1e-7 * found.upper for number in told)


def test_words_are_made_only_if_they_are_wanted():
    found = example("tree")
    assert verify(found.certificate, found.data).steps == ()


@pytest.mark.parametrize(
    ("change", "step"),
    [
        (lambda _: {"cardinality": 2}, 0),
        (lambda _: {"digest": "0" * 64}, 1),
        (lambda _: {"deflation": "magic"}, 2),
        (lambda c: {"earlier": 2 * c.earlier}, 2),
        (lambda c: {"lower": c.lower * (1 + 1e-9), "upper": 2 * c.upper}, 3),
        (lambda c: {"lower": c.lower / 2, "upper": c.upper * (1 - 1e-9)}, 4),
        (lambda _: {"kind": "trace"}, 4),
        (lambda _: {"witness": None}, 4),
    ],
)
def test_the_step_that_fails_is_named(change, step):
    found = example("second component")
    outcome = verify(replace(found.certificate, **change(found.certificate)), found.data, explain=True)
    assert not outcome
    assert [s.title for s in outcome.steps] == TITLES[: step + 1]
    assert [s.holds for s in outcome.steps] == [True] * step + [False]
    assert outcome.steps[-1].sentences[-1] == outcome.reason
    assert f"{step + 1}. {TITLES[step]}: this step fails" in lines(outcome.steps)


@dataclass(frozen=True, eq=False)
class WordlessWitness(Witness):
    """The whole trace, told in one line.

    And a second paragraph.
    """

    def bound(self, S, _k, _inside, _bound_of):
        return Proved(float(np.nextafter(S.variances.sum(), np.inf)), 0.0)

    def kinds(self):
        return ("wordless",)


def test_a_new_witness_needs_no_words_of_its_own():
    S = np.diag([3.0, 2.0, 1.0])
    gate.register(WordlessWitness)
    try:
        options = {"digest": digest_of(S), "recipe": Recipe("covariance")}
        certificate = certify(DenseCovariance(S), 1, [0], [1.0], WordlessWitness(), **options)
        words = verify(certificate, S, explain=True).steps[4].sentences
    finally:
        del gate.WITNESSES["WordlessWitness"]
    assert words == ("The whole trace, told in one line.", "The bound is 6.00000001.")
