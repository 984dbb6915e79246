"""A proved bound on the variance of features that a user chose, or of all supports of a size: `certify(model, X)`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.bounds.prove import prove
from laconic.core.arguments import is_whole, places_of
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor, threads_for
from laconic.model.components import Found, concluded
from laconic.model.paths import earlier_components, without
from laconic.model.settings import check_settings, forced_places, is_sequence, made_of
from laconic.proof import Certificate
from laconic.search import Auto
from laconic.search.problem import Problem, Solution, Status, solve_at_hand
from laconic.search.support import leading

if TYPE_CHECKING:
    import pandas as pd

    from laconic.model.estimator import SparsePCA


@dataclass(frozen=True, eq=False)
class Certified:
    """Both bounds on the variance of some features, and the proof; `certify` makes it."""

    support: Indices  # the features
    loadings: Floats  # of the component on these features
    lower: float  # its variance
    upper: float  # the proved limit of the variance of every support of this size
    gap: float  # (upper - lower) / lower
    verdict: str  # a sentence that says what is proved
    certificate: Certificate | None  # the proof, which `laconic.verify` checks
    feature_names: tuple[str, ...] | None = None  # of all features

    def __repr__(self) -> str:
        return (
            f"Certified({len(self.support)} features, lower {self.lower:.6g}, upper {self.upper:.6g})\n{self.verdict}"
        )

    def to_frame(self) -> "pd.DataFrame":
        """Return a table of the features and their loadings."""
        import pandas as pd

        names = self.support if self.feature_names is None else [self.feature_names[i] for i in self.support]
        return pd.DataFrame({"feature": names, "loading": self.loadings})


def certify(
    model: "SparsePCA",
    X: Any = None,
    features: Sequence[str | int] | None = None,
    *,
    covariance: Any = None,
    sample_weight: Any = None,
    component: int = 1,
    feature_names: Sequence[str] | None = None,
) -> Certified:
    """Prove how good a set of features is that you chose, or bound the variance of every set of a size.

    Parameters
    ----------
    model : SparsePCA
        Its settings count: `proof` says how hard to prove. It need not be fitted.
    X : array, sparse matrix, table, or data that are read in blocks, optional
        Rows of data.
    features : sequence of str or int, optional
        The features, by name or place. Without them, the component of the model's cardinality that the search finds is
        certified: `upper` is a bound on every support of this size.
    covariance : array or frame of shape (n_features, n_features), optional
        A covariance or correlation matrix, in place of X.
    sample_weight : array-like of shape (n_samples,), optional
        How much each row counts.
    component : int, default=1
        The number of the component. Those before it are found first, as in a fit, and removed.
    feature_names : sequence of str, optional
        The names of the features, if the data have none.

    Returns
    -------
    Certified
        Both bounds on the variance of the set, the verdict, and the certificate.

    See Also
    --------
    path : Bounds for many numbers of features.
    verify : Check the certificate.

    Examples
    --------
    >>> from laconic import SparsePCA, certify
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> certify(SparsePCA(), votes, ["S. 1932", "S. 403"]).verdict
    'This support reaches at least 81 % of the best possible variance (proved).'
    """
    check_settings(model)
    proof = model.proof
    if proof is None:
        raise ValueError("proof=None asks for no proof; give a model with proof='fast', 'tight' or 'exact'.")
    if not is_whole(component) or component < 1:
        raise ValueError(f"component={component!r} must be an int of at least 1.")
    size = _size(model, features, component)
    with Monitor(model.time_limit, progress=model.verbose) as monitor:
        needed, name = (None, "forced_in") if features is None else (features, "features")
        how: dict[str, Any] = {"feature_names": feature_names, "features": size, "needed": needed, "called": name}
        made = made_of(model, X, covariance, sample_weight, monitor, **how)
        n = made.covariance.n_features
        if size > n:
            raise ValueError(f"cardinality={size} exceeds the number of features, {n}; ask for fewer.")
        before = earlier_components(model, made, component - 1, monitor)
        with threads_for(made.covariance.on_hand().n_features):
            left = without(made.covariance, list(before), model.deflation)
            if features is None:
                problem = Problem(left, size, forced_places(model, made), model.nonnegative, monitor)
                own = best = solve_at_hand(Auto(), problem)
            else:
                places = np.unique(np.array(places_of(features, made.names, n, argument="features"), dtype=np.intp))
                if len(places) < size:
                    raise ValueError(f"features={list(features)} must name no feature twice.")
                problem = Problem(left, size, monitor=monitor)
                value, z = leading(left.submatrix(places))
                if value <= 0:
                    raise ValueError(f"features={list(features)} have no variance; choose features that vary.")
                own = Solution(places, z, value, Status.HEURISTIC)
                best = solve_at_hand(Auto(), problem, start=places)
            bound = prove(problem, best if best.value > own.value else own, proof)[1]
            own = replace(own, estimate=np.inf, witness=None)
            found = Found(left, np.arange(n), problem, own, list(before), bound=bound, stopped=monitor.stopped)
            solution, certificate = concluded(found, made, model)
    known = (solution.value, solution.upper, solution.gap, solution.verdict)
    if certificate is not None:
        known = (certificate.lower, certificate.upper, certificate.gap, certificate.verdict)
    return Certified(solution.support, solution.loadings, *known, certificate, made.names)


def _size(model: "SparsePCA", features: Any, component: int) -> int:
    if features is not None:
        if isinstance(features, str) or not hasattr(features, "__len__") or not len(features):
            raise ValueError(f"features={features!r} must be a list of at least one feature.")
        return len(features)
    k = model.cardinality
    if is_sequence(k) and len(k) >= component:
        return int(k[component - 1])
    if not is_whole(k):
        raise ValueError(f"cardinality={k!r} must be a number, or give the features to certify.")
    return int(k)
