"""How far values and bounds move if every entry of S is known only up to some delta.

Let S' = S + E be symmetric with |E_ij| <= delta. For a unit vector x with k nonzeros |x'Ex| <= delta |x|_1^2, and
|x|_1^2 <= k. So a bound on x'Sx holds for every such S' if k delta is added to it, and z'S'z is at least
z'Sz - delta |z|_1^2.

If components were taken out before, the same vectors z_1, ..., z_m are taken out of S'. Projections and Hotelling's
deflation are linear in S, so that only E matters. Let U be the union of the supports of z_1, ..., z_m.

    projection    E becomes PEP', P = (I - z_m z_m') ... (I - z_1 z_1'), and |x'PEP'x| <= delta |y|_1^2, y = P'x. There
                  are two bounds on |y|_1^2. First, y is no longer than x, and zero off the support of x and U: hence
                  |y|_1^2 <= k + |U|. Second, |y|_1 <= sum |x_i| c_i with c_i the sum of |P_ij| over j, and by Cauchy
                  and Schwarz |y|_1^2 is at most the sum of the k largest c_i^2. For i outside U, c_i = 1.
    hotelling     E_j = E_{j-1} - (z_j'E_{j-1}z_j) z_j z_j'. By induction
                  |x'E_j x| <= delta (|x|_1^2 + sum_{i <= j} e_i (z_i'x)^2),
                  e_i = |z_i|_1^2 + sum_{h < i} e_h (z_h'z_i)^2.
                  And (z_i'x)^2 is at most the sum of the k largest squares in z_i.
    schur         is not linear in S, and is refused.
"""

from numbers import Real

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.covariance.contract import Covariance
from laconic.covariance.deflated import DeflatedCovariance
from laconic.covariance.deflation_rules import PROJECTION, SCHUR
from laconic.covariance.nearest import has_unit_diagonal

# The numbers here are sums of at most some thousand terms, and no sum of terms that cancel. Their rounding errors are
# far below this share of them.
ROUNDING = 1e-9


class Uncertainty:
    """What bounds and values of a matrix, deflated or not, pay for entries that are known only up to delta.

    `earlier` is the number of components that were to be taken out. A deflation leaves out one without variance, and
    what is left is not linear in S then.
    """

    def __init__(self, covariance: Covariance, delta: float, earlier: int | None = None) -> None:
        if not (np.isfinite(delta) and delta >= 0):
            raise ValueError(f"uncertainty={delta} must be a finite number that is not negative.")
        self._delta = delta * (1 + ROUNDING)
        self._directions = np.zeros((0, covariance.n_features))
        self._projected = False
        base = covariance.base if isinstance(covariance, DeflatedCovariance) else covariance
        if delta and base.matrix is None:
            raise ValueError(f"uncertainty={delta} is about the entries of a matrix, and this one is not written out.")
        if delta and isinstance(covariance, DeflatedCovariance):
            if covariance.made_by is None or covariance.made_by[0] is SCHUR:
                raise ValueError("uncertainty= is not known after deflation='schur'; choose another deflation.")
            rule, steps = covariance.made_by
            self._directions = np.array([step.direction for step in steps])
            self._projected = rule is PROJECTION
        if delta and earlier is not None and earlier != len(self._directions):
            raise ValueError(
                "uncertainty= needs earlier components that each have a variance to take out; one of them has none in "
                "S, and might have some in another matrix."
            )

    def of_bound(self, cardinality: int) -> float:
        """Return what a bound on all supports of k features adds."""
        k, Z = cardinality, self._directions
        if not self._delta or not len(Z):
            return self._delta * k
        if not self._projected:
            reach = np.sort(Z**2, axis=1)[:, -k:].sum(axis=1)
            return float(self._delta * (k + self._removed @ reach))
        used = np.flatnonzero(Z.any(axis=0))
        sums = np.ones(Z.shape[1])
        sums[used] = np.abs(_projected(np.eye(len(used)), Z[:, used])).sum(axis=0)
        return float(self._delta * min(k + len(used), np.sort(sums**2)[-k:].sum()))

    def of_vector(self, support: Indices, loadings: Floats) -> float:
        """Return what the value of a component, z'Sz / z'z, subtracts."""
        z = np.zeros(self._directions.shape[1])
        z[support] = loadings
        square, Z = float(z @ z), self._directions
        if self._projected:
            z = _projected(z, Z)
        cost = float(np.abs(z).sum()) ** 2
        if not self._projected:
            cost += float(self._removed @ (Z @ z) ** 2)
        return self._delta * cost / square

    @property
    def _removed(self) -> Floats:
        """The numbers e_i of Hotelling's deflation."""
        Z, found = self._directions, np.zeros(len(self._directions))
        for i, z in enumerate(Z):
            found[i] = np.abs(z).sum() ** 2 + found[:i] @ (Z[:i] @ z) ** 2
        return found


def value_lost(covariance: Covariance, delta: float, support: Indices, loadings: Floats, earlier: int) -> float:
    """Return what the value of a component may lose; infinite if that is not known."""
    try:
        return Uncertainty(covariance, delta, earlier).of_vector(support, loadings)
    except ValueError:
        return np.inf


def _projected(X: Floats, directions: Floats) -> Floats:
    """Return P'X."""
    for z in directions[::-1]:
        X = X - np.multiply.outer(z, z @ X)
    return X


def check_uncertainty(delta: float, *, indefinite: str) -> None:
    """Raise a ValueError if an uncertainty makes no sense, or does not fit what is done about an indefinite matrix."""
    if isinstance(delta, bool) or not isinstance(delta, Real) or not 0 <= float(delta) < np.inf:
        raise ValueError(f"uncertainty={delta!r} must be a number that is not negative, such as 0.0005.")
    if delta and indefinite == "nearest":
        raise ValueError(
            f"uncertainty={delta} is about the matrix as it was given, and indefinite='nearest' replaces it; use "
            "indefinite='accept'."
        )


def check_unit_diagonal(matrix: Floats, *, scale: bool, uncertainty: float) -> None:
    """Raise a ValueError if entries that are not known exactly were to be scaled."""
    if uncertainty and scale and not has_unit_diagonal(matrix):
        raise ValueError(
            f"uncertainty={uncertainty} is about the entries of S as they were given, and scale=True changes them; "
            "give the correlation matrix, or use scale=False."
        )
