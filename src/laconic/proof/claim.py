"""The claim of a certificate in words and numbers, for people who read the file.

Numbers are rounded so that each sentence stays true. The words follow from the fields of the certificate; a file in
which they differ is refused (`laconic.proof.storage`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from laconic.core.arrays import Indices
from laconic.core.words import Scope, at_least, at_most, counted

if TYPE_CHECKING:
    from laconic.covariance.make import Recipe

# Digits of a bound. The gap of an optimal component shows in the twelfth.
DIGITS = 12
# A sentence names at most this many features.
MOST_FEATURES = 12


def component_claim(
    support: Indices,
    names: Sequence[str] | None,
    cardinality: int,
    bounds: tuple[float, float],
    scope: Scope,
) -> tuple[str, ...]:
    """Return what is claimed of one component: a sentence for each bound."""
    lower, upper = at_least(bounds[0], DIGITS), at_most(bounds[1], DIGITS)
    among = f",{scope.supports}" if scope.supports else ""
    return (
        f"The component with these loadings on {features_in_words(support, names)} has a variance{scope.about} "
        f"of at least {lower}.",
        f"No component with at most {counted(cardinality, 'nonzero loading')}, of either sign{among}, has a "
        f"variance{scope.about} of more than {upper}.",
    )


def span_claim(
    support: Indices,
    names: Sequence[str] | None,
    cardinalities: Sequence[int],
    bounds: tuple[float, float],
    scope: Scope,
) -> tuple[str, ...]:
    """Return what is claimed of several components together: a sentence for each bound."""
    lower, upper = at_least(bounds[0], DIGITS), at_most(bounds[1], DIGITS)
    count, sizes = len(cardinalities), ", ".join(map(str, cardinalities))
    return (
        f"The {counted(count, 'component')} with these loadings on {features_in_words(support, names)} together hold "
        f"a variance{scope.about} of at least {lower}.",
        f"No {counted(count, 'component')} with at most {sizes} nonzero loadings{scope.supports} together hold a "
        f"variance{scope.about} of more than {upper}.",
    )


def matrix_claim(recipe: "Recipe", digest: str, deflation: str | None = None) -> str:
    """Return the sentence that says which matrix the variances are of."""
    if recipe.given == "covariance":
        made = "the matrix" + (", scaled to a unit diagonal," if recipe.scale else "")
        of = f"with the digest {digest}"
    else:
        made = "the covariance matrix" if recipe.center else "the matrix of second moments about zero"
        if recipe.scale:
            made = "the correlation matrix" if recipe.center else f"{made}, scaled to a unit diagonal,"
        if recipe.missing is not None:
            made += ", estimated by EM," if recipe.missing == "em" else ", made by pairwise deletion,"
        of = f"of the rows{' and weights' if recipe.weighted else ''} with the digest {digest}"
    taken = "" if deflation is None else f", after the earlier components were taken out by {deflation} deflation"
    return f"Variances are those in {made} {of}{taken}."


def features_in_words(features: Indices, names: Sequence[str] | None) -> str:
    """Return features by name, or by number counted from zero; the first ones if there are many."""
    shown = [str(i) if names is None else repr(str(names[i])) for i in features[:MOST_FEATURES].tolist()]
    rest = len(features) - len(shown)
    listed = ", ".join(shown) + (f" and {rest} more" if rest else "")
    return listed if names is not None else f"{'feature' if len(features) == 1 else 'features'} {listed}"
