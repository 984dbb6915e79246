"""The steps of a check, in plain words with the numbers of the certificate: `laconic verify --explain`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from laconic.core.words import at_least, at_most, counted
from laconic.covariance.make import Recipe
from laconic.proof.certificate import Certificate
from laconic.proof.claim import features_in_words
from laconic.proof.span_certificate import SpanCertificate

# Digits of the numbers shown.
DIGITS = 9
# The formula of each deflation, S being the matrix before it and z a component.
FORMULAS = {
    "projection": "(I - zz')S(I - zz')",
    "hotelling": "S - (z'Sz)zz'",
    "schur": "S - (Sz)(Sz)'/(z'Sz)",
    "orthogonalized-projection": "(I - qq')S(I - qq'), with q the part of z orthogonal to the earlier ones",
    "orthogonalized-hotelling": "S - (q'Sq)qq', with q the part of z orthogonal to the earlier ones",
}


class Step(NamedTuple):
    """One step of a check: what is checked, what was found, and whether it holds."""

    title: str
    sentences: tuple[str, ...]
    holds: bool


@dataclass
class Steps:
    """The steps of a check as far as it has come. Only if `wanted` are words made."""

    wanted: bool
    taken: list[Step] = field(default_factory=list)

    def begin(self, title: str) -> None:
        """Begin a step. It holds unless `fail` says otherwise."""
        self.taken.append(Step(title, (), True))

    def say(self, words: Callable[..., Iterable[str]], *about: Any, **options: Any) -> None:
        """Add the sentences that a function makes to the step that was begun last, if they are wanted."""
        if self.wanted:
            last = self.taken[-1]
            self.taken[-1] = last._replace(sentences=(*last.sentences, *words(*about, **options)))

    def fail(self, reason: str) -> None:
        """Say that the step that was begun last does not hold."""
        last = self.taken[-1]
        self.taken[-1] = Step(last.title, (*last.sentences, reason), holds=False)

    def done(self) -> tuple[Step, ...]:
        """Return the steps, or none if nobody wants them."""
        return tuple(self.taken) if self.wanted else ()


def claim_in_words(c: Certificate | SpanCertificate) -> tuple[str, ...]:
    """Return the claim."""
    return c.claim


def data_in_words(c: Certificate | SpanCertificate) -> list[str]:
    """Return how the data were recognised."""
    what = "matrix" if c.recipe.given == "covariance" else "rows and weights" if c.recipe.weighted else "rows"
    return [f"The digest of the {what}, computed from every number, is {c.digest}, as in the certificate."]


def matrix_in_words(c: Certificate | SpanCertificate) -> list[str]:
    """Return how S was made from the data."""
    m = c.recipe
    size = f"S has {counted(c.n_features, 'row')} and columns, one for each feature."
    words = [f"{_made_in_words(m)} {size}"]
    if c.earlier is not None:
        rule = str(getattr(c, "deflation", ""))
        count = len(c.earlier)
        taken = "component z is taken out" if count == 1 else f"{count} components z are taken out one after the other"
        words.append(
            f"The earlier {taken}, as given in the certificate: S becomes {FORMULAS.get(rule, rule)} ({rule})."
        )
    return words


def _made_in_words(m: Recipe) -> str:
    if m.given == "covariance":
        return "S is the matrix that was given" + (", scaled to a unit diagonal." if m.scale else ".")
    if m.missing == "pairwise":
        kind = "correlation" if m.scale else "covariance"
        return f"Entry (i, j) of S is the {kind} of columns i and j over the rows that have both values."
    if m.missing == "em":
        return f"S is estimated from the values that are there by {counted(m.iterations, 'step')} of the EM algorithm."
    centred = "The mean of each column is subtracted" if m.center else "Nothing is subtracted from the columns"
    scaled = ", and each is divided by its standard deviation" if m.scale else ""
    weighted = ", weighted," if m.weighted else ""
    divisor = "the number of rows less one" if m.center else "the number of rows"
    if m.weighted:
        divisor = "W - (sum of squared weights) / W" if m.center else "W"
        divisor += ", W the sum of the weights"
    return f"{centred}{scaled}. S is the product of the columns with each other{weighted} divided by {divisor}."


def component_in_words(c: Certificate, lower: float) -> list[str]:
    """Return what the component is, and its variance."""
    square = float(np.asarray(c.loadings) @ np.asarray(c.loadings))
    listed = ", ".join(f"{x:+.4f}" for x in c.loadings[:12].tolist()) + (", ..." if len(c.loadings) > 12 else "")
    some = features_in_words(c.support, c.feature_names)
    return [
        f"z has {counted(len(c.support), 'nonzero loading')} on {some}: {listed}.",
        f"Its squared length is {square:.12f}; z'Sz is divided by it, so that the variance is that of a unit vector.",
        f"The variance, rounded down and less all that rounding may add, is at least {at_least(lower, DIGITS)}. The "
        f"certificate claims {at_least(c.lower, DIGITS)}.",
    ]


def components_in_words(c: SpanCertificate, lower: float) -> list[str]:
    """Return what several components are, and the variance that they hold together."""
    sizes = ", ".join(str(n) for n in (np.asarray(c.loadings) != 0).sum(axis=1).tolist())
    return [
        f"The components have {sizes} nonzero loadings, on {counted(len(c.support), 'feature')} in all.",
        "With Y an orthonormal basis of their span, the variance that they hold together is the sum of the diagonal of "
        f"Y'SY. Less all that rounding may add, it is at least {at_least(lower, DIGITS)}. The certificate claims "
        f"{at_least(c.lower, DIGITS)}.",
    ]


def rounding_in_words(c: Certificate | SpanCertificate, upper: float) -> list[str]:
    """Return how rounding is allowed for."""
    return [
        "Every sum above is rounded up. Every largest eigenvalue is proved by a factorisation; a bound on its error is "
        f"added. So the upper bound holds in exact arithmetic: {at_most(upper, 15)}.",
        f"The certificate claims {at_most(c.upper, 15)}, which is not less. It leaves room for a machine that rounds "
        f"the matrix differently; {c.margin:.2g} of it were added for rounding when it was made.",
    ]


def verdict_in_words(c: Certificate | SpanCertificate) -> list[str]:
    """Return what follows from both bounds."""
    return [c.verdict]


def lines(steps: Any) -> list[str]:
    """Return the steps as lines to print: a numbered title each, and its sentences below."""
    text = []
    for number, step in enumerate(steps, start=1):
        text.append(f"{number}. {step.title}{'' if step.holds else ': this step fails'}")
        text += [f"   {sentence}" for sentence in step.sentences]
    return text
