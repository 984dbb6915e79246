"""The certificate of a support that the user chose."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from laconic.bounds.fast import Proof, check_proof
from laconic.bounds.least import bound_support
from laconic.bounds.tight import solve_at_hand
from laconic.core.arguments import places_of
from laconic.core.arrays import Indices
from laconic.core.monitor import Monitor, check_time_limit
from laconic.covariance.reading import Given, Missing, read_data
from laconic.proof import Certificate, Proved, certify
from laconic.search import Auto
from laconic.search.problem import Problem, Solution, Status
from laconic.search.support import leading


def certify_support(
    X_or_covariance: Any,
    support: Sequence[str | int],
    proof: Proof = "tight",
    *,
    given: Given = "auto",
    center: bool = True,
    scale: bool = False,
    missing: Missing = "error",
    feature_names: Sequence[str] | None = None,
    time_limit: float | None = None,
    progress: bool = False,
) -> Certificate:
    """Return the certificate of a set of features that you chose: it proves how good the set is.

    Parameters
    ----------
    X_or_covariance : array, sparse matrix, table, or data that are read in blocks
        Rows of data, or a covariance or correlation matrix.
    support : sequence of str or int
        The features, by name or place.
    proof : {"fast", "tight"} or Bound, default="tight"
        How much work to spend on the upper bound: "fast", "tight" or your own bound, as in `upper_bound`.
    given : {"auto", "rows", "covariance"}, default="auto"
        Whether the first argument is "rows" or a "covariance". "auto" takes a square symmetric matrix with no negative
        diagonal entry for a covariance, and anything else for rows.
    center, scale : bool, default=True and False
        Whether to subtract the mean of each column, and to divide it by its standard deviation.
    missing : {"error", "pairwise", "em"}, default="error"
        What to do about missing values in rows: "error", "pairwise" or "em", as in `SparsePCA`.
    feature_names : sequence of str, optional
        Names of the features; by default the column names of a frame.
    time_limit : float, optional
        The time in seconds after which the least bound so far is used.
    progress : bool, default=False
        Whether to show progress. It is shown on a terminal only.

    Returns
    -------
    Certificate
        Both bounds on the variance of the set, and the numbers that prove them.

    See Also
    --------
    upper_bound : The bound alone.
    SparsePCA : Finds the set, and certifies it.
    verify : Check the certificate.

    Examples
    --------
    >>> from laconic import certify_support
    >>> from laconic.datasets import load_senate109
    >>> votes = load_senate109().frame
    >>> certify_support(votes, ["S. 1932", "S. 403"], proof="fast").verdict
    'This support reaches at least 81 % of the best possible variance (proved).'
    """
    check_proof(proof)
    check_time_limit(time_limit)
    # The time of reading the data counts as well.
    with Monitor(time_limit, progress=progress) as monitor:
        reading = read_data(
            X_or_covariance,
            given,
            center=center,
            scale=scale,
            missing=missing,
            feature_names=feature_names,
            features=len(support) if hasattr(support, "__len__") else None,
            needed=support,
            monitor=monitor,
        )
        covariance, names = reading.covariance, reading.feature_names
        places = _places(support, names, covariance.n_features)
        problem = Problem(covariance, len(places), monitor=monitor)
        value, z = leading(covariance.submatrix(places))
        if value <= 0:
            raise ValueError(f"support={list(support)} has no variance; choose features that vary.")
        own = Solution(places, z, value, Status.HEURISTIC)
        best = solve_at_hand(Auto(), problem, start=places)
        bound = bound_support(problem, best if best.value > value else own, proof)
    return certify(
        covariance,
        len(places),
        own.support,
        own.loadings,
        bound.witness,
        digest=reading.digest,
        recipe=reading.recipe,
        kind=bound.kind,
        feature_names=None if names is None else tuple(names),
        proved=Proved(bound.value, bound.margin),
    )


def _places(support: Sequence[str | int], names: list[str] | None, n: int) -> Indices:
    places = places_of(support, names, n, argument="support")
    if not places or len(set(places)) < len(places):
        raise ValueError(f"support={list(support)} must name at least one feature, and none twice.")
    return np.sort(np.array(places, dtype=np.intp))
