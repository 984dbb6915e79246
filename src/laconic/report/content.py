"""Everything that a page says and shows, as plain numbers and texts. `laconic.report.page` turns it into HTML.

In sentences, what is found is rounded down, and what is proved is rounded up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.arrays import PROVED, Indices
from laconic.core.monitor import check_time_limit
from laconic.core.words import at_least, at_most, counted
from laconic.covariance.make import Made
from laconic.proof.certificate import Certificate
from laconic.proof.witness_steps import StepsWitness
from laconic.report.colouring import colouring_of, row_names
from laconic.report.page_data import DataPart, Points, data_part, is_of_fit, opened, points_of

if TYPE_CHECKING:
    from laconic.model.estimator import SparsePCA
    from laconic.model.noise import ComponentNoise
    from laconic.model.stability import Stability

# All variables can be searched if there are at most this many; otherwise those that a component or a path uses.
MOST_SEARCHED = 20_000
# Seconds that a page may take for paths, and for scores of data in blocks, if the user gives no limit.
SECONDS = 10.0
# A list of variables that were left out names at most this many.
MOST_NAMED = 200
# A page carries certificates of at most this many bytes, and one about many variables more, so that it stays below
# 2 MB and 5 MB. The text of a link is a third longer than the bytes.
MOST_BYTES, MOST_BYTES_OF_MANY, MANY = 800_000, 2_000_000, 1000
NO_PROOF = "nothing is proved about other sets of variables."


@dataclass(frozen=True, eq=False)
class ComponentPart:
    """One component."""

    number: int  # from 1
    answer: str
    beside_dense: str
    badge: str
    verdict: str
    features: list[int]  # with the largest loading first
    loadings: list[float]
    ratio: float  # the share of the total variance that it adds to the earlier ones; NaN if there are no shares
    frequencies: list[float] | None = None  # how often each feature is chosen again


@dataclass(frozen=True)
class LeftOut:
    """Variables that were left out for one reason."""

    reason: str
    features: tuple[int, ...]  # the first ones
    count: int


@dataclass(frozen=True)
class CertificateFiles:
    """The files of one certificate."""

    component: int | None  # None for the certificate of all components together
    verdict: str
    files: tuple[tuple[str, bytes], ...]  # name and content, the JSON file first; empty if they are too large
    size: int  # in bytes
    how: str  # how to save the certificate in Python


@dataclass(frozen=True, eq=False)
class Content:
    """A page."""

    title: str
    model: "SparsePCA"
    components: list[ComponentPart]
    total: float | None  # the total variance, None if shares of it make no sense
    names: list[str]  # of the variables in `shown`
    shown: Indices  # the variables that can be searched, in increasing order
    descriptions: dict[int, str]
    data: DataPart | None
    points: Points | None
    noise: "list[ComponentNoise]"  # of the components that were compared
    stability: "Stability | None"
    left_out: list[LeftOut]
    missing: str  # a sentence about missing values; empty if there are none
    columns_left_out: str  # a sentence about columns that were not read
    certificates: list[CertificateFiles]
    certificate: Certificate | None  # the first one
    python: str
    command: str

    def name(self, feature: int) -> str:
        """Return the name of a variable."""
        return self.names[int(np.searchsorted(self.shown, feature))]


def content_of(
    model: "SparsePCA",
    X: Any = None,
    *,
    title: str | None = None,
    color_by: Any = None,
    labels: Any = None,
    descriptions: Mapping[str, str] | None = None,
    stability: "Stability | None" = None,
    time_limit: float | None = None,
    command: str = "",
    columns_left_out: str = "",
    made: Made | None = None,
) -> Content:
    """Collect what a page says about a fitted model and, if they are given, the data. See `SparsePCA.to_html`.

    `command` is the line that made the model, `columns_left_out` a sentence about columns that were not read, and
    `made` the covariance that the model was fitted to, if it is at hand.
    """
    check_time_limit(time_limit)
    _check(model, X, color_by, labels, stability)
    seconds = SECONDS if time_limit is None else time_limit
    data, points = None, None
    if X is not None:
        same = made is not None
        made = made or opened(model, X)
        data = data_part(model, X, made, same=same or (made is not None and is_of_fit(model, made)), seconds=seconds)
        if data.given == "rows":
            points = points_of(model, X, made, color_by=color_by, labels=labels, seconds=seconds)
        elif color_by is not None or labels is not None:
            raise ValueError("color_by and labels are for rows, and X is a covariance matrix; leave them out.")
    out = _left_out(model, data.constant if data is not None and data.same else None)
    shown = _shown(model, data, out)
    given = getattr(model, "feature_names_in_", None)
    names = [str(j) if given is None else str(given[j]) for j in shown]
    about = {} if descriptions is None else {str(key): str(text) for key, text in descriptions.items()}
    certificate = next((one for one in model.certificates_ if one is not None), None)
    given_to_fit = data.given if certificate is None and data is not None else certificate and certificate.recipe.given
    compared = [] if model.choice_ is None else [one.noise for one in model.choice_.components]
    return Content(
        model=model,
        title=title or f"Sparse components of {count_of(model.n_features_in_)}",
        components=[_component(model, place, stability) for place in range(model.n_components_)],
        total=total_for_shares(model),
        names=names,
        shown=shown,
        descriptions={int(j): about[name] for j, name in zip(shown, names, strict=True) if name in about},
        data=data,
        points=points,
        noise=[one for one in compared if one is not None and one.permutations],
        stability=stability,
        left_out=out,
        missing=_missing_in_words(model),
        columns_left_out=columns_left_out,
        certificates=_certificate_files(model),
        certificate=certificate,
        python=_python(model, "fit_covariance(S)" if given_to_fit == "covariance" else "fit(X)"),
        command=command,
    )


def _check(model: "SparsePCA", X: Any, color_by: Any, labels: Any, stability: "Stability | None") -> None:
    for name, value in (("color_by", color_by), ("labels", labels)):
        if value is not None and X is None:
            raise ValueError(f"{name} has one value for each row, and no rows are given; give X, too.")
    rows = getattr(X, "shape", (None,))[0]
    if isinstance(rows, int):  # checked here, before anything takes time
        colouring_of(color_by, rows)
        row_names(X, False if labels is None else labels, rows)
    if stability is None:
        return
    if not hasattr(stability, "frequencies"):
        raise ValueError(f"stability={stability!r} must be what laconic.stability returns.")
    if stability.frequencies.shape != model.components_.shape:
        raise ValueError(
            f"stability is about {len(stability.frequencies)} components of {stability.frequencies.shape[1]} features, "
            f"and the model has {model.n_components_} of {model.n_features_in_}; use the same settings for both."
        )


def _component(model: "SparsePCA", place: int, stability: "Stability | None") -> ComponentPart:
    row, support = model.components_[place], model.supports_[place]
    order = support[np.argsort(-np.abs(row[support]), kind="stable")]
    ratio = float(model.explained_variance_ratio_[place]) if total_for_shares(model) is not None else np.nan
    return ComponentPart(
        number=place + 1,
        answer=answer(model, place),
        beside_dense=beside_dense(model, place),
        badge=badge(model, place),
        verdict=model.verdicts_[place],
        features=order.tolist(),
        loadings=row[order].tolist(),
        ratio=ratio,
        frequencies=None if stability is None else stability.frequencies[place, order].tolist(),
    )


def _shown(model: "SparsePCA", data: DataPart | None, out: Sequence[LeftOut]) -> Indices:
    """Return the variables that can be searched: all, or of very many those that the page speaks of."""
    if model.n_features_in_ <= MOST_SEARCHED:
        return np.arange(model.n_features_in_)
    used: list[Any] = [*model.supports_, *(group.features for group in out)]
    if data is not None:
        used += [support for path in data.paths for support in path.supports]
    return np.unique(np.concatenate([np.asarray(part, dtype=np.intp) for part in used]))


def _left_out(model: "SparsePCA", constant: Sequence[int] | None) -> list[LeftOut]:
    """Return the variables that were left out, by reason. `constant` are those that do not vary, None if unknown."""
    first = model.certificates_[0] if model.certificates_ else None
    if constant is None and first is not None and first.allowed is not None:
        # The features that the first certificate does not allow do not vary.
        constant = np.setdiff1d(np.arange(first.n_features), first.allowed).tolist()
    groups: list[tuple[str, Any]] = [("They do not vary, or their variance is rounding only.", constant or ())]
    total = total_for_shares(model)
    for number, certificate in enumerate(model.certificates_, start=1):
        witness = None if certificate is None else certificate.witness
        kept = witness.innermost.features if isinstance(witness, StepsWitness) else None
        if certificate is not None and kept is not None:
            allowed = np.arange(certificate.n_features) if certificate.allowed is None else certificate.allowed
            which, keep = count_of(int(certificate.cardinalities[0])), "keep" if total is not None else "have"
            most = amount_at_most(certificate.upper, total)
            reason = (
                f"Safe elimination for component {number}: no {which} with one of them can {keep} more than {most} "
                "(proved)."
            )
            groups.append((reason, np.delete(allowed, kept)))
    return [
        LeftOut(reason, tuple(int(j) for j in features[:MOST_NAMED]), len(features))
        for reason, features in groups
        if len(features)
    ]


def _certificate_files(model: "SparsePCA") -> list[CertificateFiles]:
    """Return the files of all certificates of a model, the first ones with their content as long as a page can bear."""
    room, result = MOST_BYTES if model.n_features_in_ <= MANY else MOST_BYTES_OF_MANY, []
    together = len(model.certificates_) == 1 < model.n_components_
    for place, certificate in enumerate(model.certificates_):
        if certificate is None:
            continue
        name = "components.json" if together else f"component-{place + 1}.json"
        written = tuple(sorted(certificate.files(name).items(), key=lambda item: item[0] != name))
        size = sum(len(content) for _, content in written)
        fits = size <= room
        room -= size if fits else 0
        how = f'model.certificates_[{place}].save("{name}")'
        number = None if together else place + 1
        result.append(CertificateFiles(number, certificate.verdict, written if fits else (), size, how))
    return result


def _missing_in_words(model: "SparsePCA") -> str:
    if model.missing_ is None:
        return ""
    count, columns = int(model.missing_.counts.sum()), int(np.count_nonzero(model.missing_.counts))
    way = "pairwise deletion" if model.missing_.way == "pairwise" else "EM"
    return f"{count:,} values of {count_of(columns)} are missing; the covariance was made by {way}."


def _python(model: "SparsePCA", call: str) -> str:
    """Return the Python call that makes the model: only settings that differ from the defaults."""
    default = type(model)().get_params(deep=False)
    shown = {k: v for k, v in model.get_params(deep=False).items() if k != "verbose"}
    settings = ", ".join(f"{name}={value!r}" for name, value in shown.items() if repr(value) != repr(default[name]))
    return f"from laconic import SparsePCA\n\nmodel = SparsePCA({settings}).{call}"


def total_for_shares(model: "SparsePCA") -> float | None:
    """Return the total variance if shares of it make sense, else None: a matrix may not be positive semidefinite."""
    total = float(model.total_variance_)
    most = np.nanmax([model._together.held, model._together.dense, *model.lower_bound_])
    return total if total > 0 and most <= total * (1 + 1e-9) else None


def amount_at_least(value: float, total: float | None) -> str:
    """Return a variance, or its share of a total, rounded down."""
    return at_least(value, 4) if total is None else _share(value / total, ROUND_FLOOR)


def amount_at_most(value: float, total: float | None) -> str:
    """Return a variance, or its share of a total, rounded up."""
    return at_most(value, 4) if total is None else _share(value / total, ROUND_CEILING)


def _share(share: float, rounding: str) -> str:
    """Return a percentage with three digits, zeros at the end included: "19.0 %", "100 %"."""
    percent = 100 * Decimal(share)
    decimals = 2 - percent.adjusted() if percent else 0
    return f"{percent.quantize(Decimal(1).scaleb(-max(decimals, 0)), rounding):f}\u00a0%"


def count_of(number: int) -> str:
    """Return a number of variables in words: "1 variable", "5 variables"."""
    return counted(number, "variable")


def answer(model: "SparsePCA", place: int) -> str:
    """Return what a component keeps, and what is proved of all others of its size, in one sentence."""
    total, scope = total_for_shares(model), model._each[place].scope
    number, k = place + 1, len(model.supports_[place])
    lower, upper = float(model.lower_bound_[place]), float(model.upper_bound_[place])
    sign = " and no negative loading" if model.nonnegative else ""
    amount = amount_at_least(lower, total)
    if model.joint == "span":
        adds = f"adds {amount} of the variance" if total is not None else f"adds a variance of {amount}"
        first = f"Component {number} {adds}{scope.matrix} to the other components with {count_of(k)}{sign}"
        claim = f"no component of this size{scope.supports} can add more"
        return f"{first}; {proof_in_words(lower, upper, claim, total) or NO_PROOF}"
    earlier = f"components 1 {'and' if place == 2 else 'to'} {place} are" if place > 1 else "component 1 is"
    after = f"After {earlier} taken out, component" if " after component" in scope.setting else "Component"
    of = f"keeps {amount} of the variance" if total is not None else f"has a variance of {amount}"
    first = f"{after} {number} {of}{scope.matrix} with {count_of(k)}{sign}"
    if k >= model.n_features_in_:
        return f"{first}, which is all of them."
    others = "no other variable" if k == 1 else f"no other {k:,}"
    either = ", with loadings of either sign," if model.nonnegative else ""
    claim = f"{others}{scope.supports}{either} can {'keep' if total is not None else 'have'} more"
    return f"{first}; {proof_in_words(lower, upper, claim, total) or NO_PROOF}"


def proof_in_words(lower: float, upper: float, claim: str, total: float | None) -> str:
    """Return what is proved: the claim, or the claim with its limit. Nothing if there is no bound."""
    if not np.isfinite(upper):
        return ""
    if upper - lower <= PROVED * abs(lower):
        return f"{claim}: proved."
    return f"{claim} than {amount_at_most(upper, total)}: proved."


def beside_dense(model: "SparsePCA", place: int) -> str:
    """Return how much of the dense component's variance a component keeps, in one sentence; empty if it is unknown."""
    share, scope = float(model.lower_bound_[place]) / model._each[place].dense_variance, model._each[place].scope
    if not np.isfinite(share) or not 0 < share <= 1 + 1e-6:
        return ""
    percent = _share(min(share, 1.0), ROUND_FLOOR)
    everything = "all variables that may be used" if " without " in f"{scope.supports} " else "all variables"
    if model.joint == "span":
        return f"That is {percent} of what a component with {everything} would add to the others."
    if scope.matrix or everything != "all variables":  # ordinary PCA is of another matrix, or uses more variables
        return f"That is {percent} of what a component with {everything} would keep."
    where = "there" if " after component" in scope.setting else "with all variables"
    return f"That is {percent} of what the first component of ordinary PCA keeps {where}."


def badge(model: "SparsePCA", place: int) -> str:
    """Return the verdict in one or two words."""
    if model.joint != "span" and model.gap_[place] <= PROVED:
        return "proved optimal"
    return "bound proved" if np.isfinite(model.upper_bound_[place]) else "no proof"
