"""The steps of a check in words: `laconic verify --explain`. Nothing is proved here."""

from collections.abc import Callable, Sequence
from typing import Any

from laconic.core.words import at_least, at_most, counted
from laconic.proof.certificate import Certificate
from laconic.proof.witness_cover import CoverWitness
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_joint import JointWitness
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, ThresholdWitness, TraceWitness
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.proof.witness_steps import Again, ByRows, ByVariances, Step, StepsWitness
from laconic.proof.witness_tree import TreeWitness

# The formula of each deflation, S being the matrix before it and z a component.
FORMULAS = {
    "projection": "(I - zz')S(I - zz')",
    "hotelling": "S - (z'Sz)zz'",
    "schur": "S - (Sz)(Sz)'/(z'Sz)",
    "orthogonalized-projection": "(I - qq')S(I - qq'), with q the part of z orthogonal to the earlier ones",
    "orthogonalized-hotelling": "S - (q'Sq)qq', with q the part of z orthogonal to the earlier ones",
}
# Digits of the numbers in an explanation.
DIGITS = 9


def steps_in_words(c: Any, holding: int, lower: float, upper: float) -> list[tuple[str, tuple[str, ...]]]:
    """Return titles and sentences of the steps that hold, `holding` of six, and the title of the next one."""
    several = holding >= 3 and c.n_components > 1
    steps: tuple[tuple[str, Callable[[], Sequence[str]]], ...] = (
        ("The claim", lambda: c.claim),
        ("The data are those of the certificate", lambda: _data_in_words(c)),
        ("The matrix S", lambda: _matrix_in_words(c)),
        (f"The component{'s and their' if several else ' and its'} variance", lambda: _components_in_words(c, lower)),
        ("The upper bound", lambda: _bound_in_words(c, upper)),
        ("Conclusion", lambda: [c.verdict]),
    )
    return [(title, tuple(words()) if i < holding else ()) for i, (title, words) in enumerate(steps) if i <= holding]


def _data_in_words(c: Certificate) -> list[str]:
    what = "matrix" if c.recipe.given == "covariance" else "rows and weights" if c.recipe.weighted else "rows"
    return [f"The digest of the {what}, computed from every number, is {c.digest}, as in the certificate."]


def _bound_in_words(c: Certificate, upper: float) -> list[str]:
    n = c.n_features if c.allowed is None else len(c.allowed)
    # The most features that the components use together.
    most = int(c.cardinalities[0] if c.joint == "common" else c.cardinalities.sum())
    most = min(most, n, c.total if c.total is not None else n)
    return [
        *witness_in_words(c.witness, n, most),
        f"The bound is {at_most(upper, 15)}, with all rounding errors included. The certificate claims "
        f"{at_most(c.upper, 15)}, which leaves room for a machine that rounds the matrix differently.",
    ]


def _matrix_in_words(c: Certificate) -> list[str]:
    """Return how S was made of the data."""
    recipe, words = c.recipe, [f"S has {counted(c.n_features, 'row')}, one for each feature.", c.claim[2]]
    if recipe.missing == "em":
        words.append(f"EM made {counted(recipe.iterations, 'step')}.")
    elif recipe.given == "rows" and not recipe.estimated:
        total = "the sum W of the weights" if recipe.weighted else "the number of rows"
        words.append(f"Products of columns are divided by {total}{' less one' if recipe.center else ''}.")
        if recipe.weighted and recipe.center:
            words.append("If not all weights are whole numbers, it is W less (the sum of squared weights) / W.")
    if c.deflation is not None:
        words.append(f"For each earlier component z, S becomes {FORMULAS[c.deflation]}.")
    return words


def _components_in_words(c: Certificate, lower: float) -> list[str]:
    sizes = ", ".join(map(str, (c.loadings != 0).sum(axis=1).tolist()))
    least = f"With all rounding errors included it is at least {at_least(lower, DIGITS)}."
    if c.n_components > 1:
        held = "They hold the sum of the diagonal of Y'SY together, Y an orthonormal basis of their span."
        if c.joint in ("disjoint", "orthogonal"):
            held = "Together they hold the sum of their variances z'Sz / z'z."
        return [f"The components have {sizes} nonzero loadings on {c.features_in_words}.", f"{held} {least}"]
    count = counted(len(c.support), "nonzero loading")
    listed = ", ".join(f"{x:+.4f}" for x in c.loadings[0, :12].tolist()) + (", ..." if len(c.support) > 12 else "")
    return [
        f"z has {count} on {c.features_in_words}: {listed}.",
        f"Its variance is z'Sz / z'z. {least}",
    ]


def witness_in_words(witness: Any, n: int, k: int) -> list[str]:
    """Return how the bound of a witness on supports of k of n features is proved."""
    features = counted(k, "feature")
    match witness:
        case TraceWitness():
            return [f"Sum of variances: no component has more variance than the {k} largest variances together."]
        case RowSumWitness():
            sums = f"a variance plus the {k - 1} largest covariances of its row, without signs"
            return [f"Row sums: no eigenvalue of a block exceeds the largest sum of {sums} (Gershgorin)."]
        case ExhaustiveWitness():
            return [
                f"List of all supports: the largest eigenvalue of every block of {features} among {n:,} is bounded."
            ]
        case DualWitness():
            return _dual_in_words(witness, features)
        case Proposition2Witness():
            return [
                f"Proposition 2: each feature has a direction, and costs a penalty of {witness.rho:.6g}. The bound is "
                f"the largest eigenvalue of a matrix of these directions, and the penalty of {features}."
            ]
        case ThresholdWitness():
            cost = f"which costs {k - 1} times as much"
            return [
                f"Threshold: covariances without signs are shrunk by {witness.threshold:.6g}, {cost}. "
                "The bound adds the largest eigenvalue of what is left."
            ]
        case StepsWitness():
            return [line for place, step in enumerate(witness.steps) for line in _step_in_words(place, step, n)]
        case TreeWitness():
            return [
                f"Tree of cases: {counted(witness.count, 'node')}. Each node is divided into the supports with a "
                "feature and those without it. Row levels bound each leaf, or its supports are listed."
            ]
        case CoverWitness():
            return [
                f"Cover: a tree of cases, stored in {len(witness.cases) + len(witness.numbers):,} numbers. Each case "
                "says which features a component uses and which it does not. A matrix is subtracted from S, and each "
                "feature has a price for what that takes away. The bound of a case adds the largest eigenvalues of "
                "what is left and the prices of the most expensive features. The largest bound counts."
            ]
        case JointWitness(factor=None):
            return [f"Sum of variances: the components use at most {features}, whose variances they cannot exceed."]
        case JointWitness():
            words = []
            if witness.threshold:
                words.append(
                    f"Threshold: each covariance in S moves towards zero by at most {witness.threshold:.6g}. The bound "
                    "adds the most that the components can lose by that."
                )
            words.append(
                "Sum of eigenvalues: r components hold at most the r largest eigenvalues together (Ky Fan). A factor F "
                "proves it: the sum of the squares in F plus r times the largest eigenvalue of S - FF'."
            )
            if witness.kept is not None:
                words.append(f"S is that of {counted(len(witness.kept), 'feature')}. The others add their variances.")
            return [*words, f"If the sum of the largest variances of {features} is smaller, it counts."]
    return [(type(witness).__doc__ or type(witness).__name__).strip().splitlines()[0]]


def _step_in_words(place: int, step: Step, n: int) -> list[str]:
    """Return what a step bounds, and how."""
    own = n if step.features is None else len(step.features)
    about = f"Step {place + 1}, supports of {counted(step.cardinality, 'feature')} among {own:,}"
    match step.how:
        case Again(step=earlier):
            words = [f"the numbers of step {earlier + 1}, for this size."]
        case ByVariances(steps=steps):
            words = [
                f"the features of step {steps[0] + 1} are bounded there. A support with hidden features has at most "
                "the bound on its other features, and the variances of those."
            ]
        case ByRows(kept=kept, smaller=smaller):
            words = [
                f"the features of step {kept + 1} are bounded there. No support with another one exceeds the bound, "
                f"because of its variance and covariances, and of step {smaller + 1}."
            ]
        case _:
            words = witness_in_words(step.how, own, step.cardinality)
    return [f"{about}: {words[0]}", *words[1:]]


def _dual_in_words(witness: DualWitness, features: str) -> list[str]:
    words = []
    if witness.multiplier is not None:
        words.append(
            "Changed covariances: a symmetric matrix with a zero diagonal is added. A unit vector with k nonzeros "
            "loses at most k - 1 times its largest entry."
        )
    if witness.levels is not None or witness.norms is not None:
        words.append(
            "Row levels: a matrix is subtracted that reduces the covariances. Each row has a price for what it takes "
            f"away. No support of {features} pays more than the largest prices together."
        )
    if witness.factor is not None:
        words.append(
            f"l0 relaxation: the rest is A'A for a factor A of {counted(len(witness.factor), 'row')}, up to a shift of "
            f"its diagonal. Each feature costs {witness.rho:.6g}. The bound adds the costs and what is left."
        )
    elif words:
        words.append("The bound is the largest eigenvalue of the changed matrix and the cost of the change.")
    return words or ["Largest eigenvalue: no component has more variance than the ordinary one."]
