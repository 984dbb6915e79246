"""What `choose` returns: a recommendation, its reason, and every criterion's curve."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from laconic.core.arrays import Floats
from laconic.core.monitor import Stop
from laconic.core.words import at_least
from laconic.model.choosing.criteria import Curve, PathValues
from laconic.model.noise import ComponentNoise
from laconic.search.problem import Solution

if TYPE_CHECKING:
    import pandas as pd

    from laconic.report.pictures.choice import ChoiceDisplay
    from laconic.report.pictures.display import Place

# The criteria, each with its words for a sentence.
CRITERIA = {
    "cv": "cross-validation",
    "hull": "the convex hull",
    "sparseness": "the index of sparseness",
    "bic": "BIC",
    "ebic": "extended BIC",
}
# Two criteria agree if they differ by at most this share of the number of features, and always if by one feature.
NEAR = 0.1


@dataclass(frozen=True, eq=False)
class ComponentChoice:
    """The number of features of one component.

    Attributes
    ----------
    component
        The number of the component, from 1.
    cardinality
        The number of features that is recommended.
    solution
        The component that was found with so many features. A fit may find a better one.
    reason
        Why this number, in a sentence or two.
    path
        Variance against cardinality.
    curves
        For each criterion, by its name, its values and the cardinality it chooses.
    noise
        The comparison with permuted columns, if there was one.
    """

    component: int
    cardinality: int
    solution: Solution = field(repr=False)
    reason: str
    path: PathValues = field(repr=False)
    curves: dict[str, Curve] = field(repr=False)
    noise: ComponentNoise | None = field(default=None, repr=False)

    @property
    def chosen(self) -> dict[str, int]:
        """The cardinality that each criterion chooses; 0 if it prefers no component at all."""
        return {name: curve.chosen for name, curve in self.curves.items()}


@dataclass(frozen=True, eq=False)
class Choice:
    """A recommendation: how many components, and how many features in each.

    Attributes
    ----------
    cardinality : list of int
        The number of features of each component, in order.
    n_components : int
        The number of components. It is 0 if the first one is no better than noise.
    criterion : str or None
        The criterion for the number of features, or None if it was given.
    reason : str
        Why, in a few sentences.
    components : list of ComponentChoice
        A record for each component that was looked at: its curves and its comparison with noise. The last one may be
        no better than noise and does not count then.
    stopped : Stop or None
        Why the work was stopped early: a time limit or Ctrl-C. Otherwise None.

    See Also
    --------
    choose : Makes it.

    Examples
    --------
    >>> from laconic import choose
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> choice = choose(votes, 10, criterion="hull")
    >>> choice.cardinality
    [5]
    >>> choice.reason.partition(".")[0]
    'Component 1: The curve of variance bends most at 5 features, which keep 42'
    """

    cardinality: list[int]
    n_components: int
    criterion: str | None
    reason: str
    components: list[ComponentChoice] = field(repr=False)
    stopped: Stop | None = None

    def __repr__(self) -> str:
        return f"Choice(n_components={self.n_components}, cardinality={self.cardinality})"

    @property
    def without_components(self) -> str:
        """A sentence that says why no component counts."""
        if self.components and self.components[0].noise is None:
            return "There was no time to compare the first component with noise."
        return "The first component is no better than noise."

    @property
    def curves(self) -> dict[str, list[Floats]]:
        """For each criterion its values, one array a component."""
        names = [name for name in CRITERIA if any(name in one.curves for one in self.components)]
        return {name: [one.curves[name].values for one in self.components if name in one.curves] for name in names}

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with a row for each component and cardinality.

        The columns are: component, cardinality, value (the variance), share (of the dense component's variance); a
        column for each criterion; cv_error, the standard error of the difference to the least cross-validated error;
        chosen_by, the criteria that choose this cardinality; and recommended.
        """
        import pandas as pd

        parts = []
        for one in self.components:
            k = one.path.cardinalities
            columns = {
                "component": one.component,
                "cardinality": k,
                "value": one.path.values,
                "share": one.path.values / one.path.dense,
            }
            for name, curve in one.curves.items():
                columns[name] = curve.values
                if curve.errors is not None:
                    columns[f"{name}_error"] = curve.errors
            columns["chosen_by"] = [", ".join(n for n, chosen in one.chosen.items() if chosen == i) for i in k]
            # A component that is no better than noise was tried, and is not among those to take.
            columns["recommended"] = (k == one.cardinality) & (one.component <= self.n_components)
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)

    def plot(self, ax: "Place" = None) -> "ChoiceDisplay":
        """Draw for each component its variance and its criterion against the number of features.

        Parameters
        ----------
        ax
            The axes to draw on: two for each component, or one that is divided; or an empty figure to fill. By default
            pyplot makes a figure.
        """
        from laconic.report.pictures.choice import plot_choice

        return plot_choice(self, ax=ax)


def reason_of(curves: dict[str, Curve], criterion: str | None, path: PathValues) -> tuple[int, str]:
    """Return the number of features that a criterion recommends, and the reason, which says who disagrees."""
    assert criterion is not None
    curve = curves.get(criterion)
    used, note = criterion, ""
    if curve is None:
        used, note = "hull", f"There was no time for {CRITERIA[criterion]}. "
    elif not curve.chosen:
        used, note = "hull", f"By {CRITERIA[criterion]} no number of features is better than none: it may be noise. "
    k = curves[used].chosen
    text = note + _why(used, curves[used], k, path)
    if k == path.cardinalities[-1] < path.n_features:
        text += f" That is the largest number that was tried; raise max_cardinality above {k}."
    near = max(1.0, NEAR * k)
    others = {CRITERIA[name]: c.chosen for name, c in curves.items() if name not in (used, criterion)}
    agree = [name for name, chosen in others.items() if abs(chosen - k) <= near]
    differ = [f"{name} chooses {chosen or 'none'}" for name, chosen in others.items() if abs(chosen - k) > near]
    if agree:
        text += f" {_capital(_listed(agree))} agree{'s' if len(agree) == 1 else ''}."
    if differ:
        text += f" The criteria {'partly ' if agree else ''}disagree: {_listed(differ)}."
    return k, text


def _why(criterion: str, curve: Curve, k: int, path: PathValues) -> str:
    place = int(np.flatnonzero(path.cardinalities == k)[0])
    if criterion == "cv":
        least = int(path.cardinalities[np.argmin(curve.values)])
        error = f"{100 * curve.values[place]:.3g} % of their variance"
        if least == k:
            return f"With {_features(k)} the held-out entries are predicted best: the error is {error}."
        return (
            f"{_capital(_features(k))} are the fewest whose error in held-out entries, {error}, is within one standard "
            f"error of the least, at {least}."
        )
    if criterion == "hull":
        share = path.values[place] / path.dense
        return (
            f"The curve of variance bends most at {_features(k)}, which keep {at_least(100 * share, 3)} % of the dense "
            "component's variance."
        )
    what = "largest" if criterion == "sparseness" else "least"
    return f"{_capital(CRITERIA[criterion])} is {what} at {_features(k)}."


def _features(k: int) -> str:
    return "1 feature" if k == 1 else f"{k} features"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
