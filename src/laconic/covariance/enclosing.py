"""From a covariance to its enclosure, and to the scale where nothing overflows."""

import math
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from laconic.core.arrays import Floats
from laconic.covariance.base import Covariance
from laconic.covariance.deflated import DeflatedCovariance
from laconic.covariance.dense import DenseCovariance
from laconic.covariance.enclosure import Enclosure, Factored, Part, SparseRows, Written
from laconic.covariance.enclosure_deflated import Deflated
from laconic.covariance.factor import FactorCovariance
from laconic.covariance.sparse import SparseCovariance
from laconic.covariance.subset import SubsetCovariance

# One pass over sparse rows serves all components that are taken out of them.
_of_rows: WeakKeyDictionary[SparseCovariance, SparseRows] = WeakKeyDictionary()


def enclose(covariance: Any) -> Enclosure:
    """Return the enclosure of a covariance, or of a symmetric array; one that is an enclosure already stays so.

    Of a kind of covariance not known here, the submatrix of all its features is taken for S.
    """
    if isinstance(covariance, Enclosure):
        return covariance
    if isinstance(covariance, np.ndarray):
        return Written(covariance)
    if isinstance(covariance, DenseCovariance):
        return Written(covariance.matrix)
    if isinstance(covariance, FactorCovariance):
        return Factored(covariance.factor)
    if isinstance(covariance, SparseCovariance):
        if covariance not in _of_rows:
            _of_rows[covariance] = SparseRows(covariance)
        return _of_rows[covariance]
    if isinstance(covariance, DeflatedCovariance):
        return Deflated(enclose(covariance.base), covariance.factors, covariance.core, covariance.preimages)
    if isinstance(covariance, SubsetCovariance):
        return Part(enclose(covariance.base), covariance.keep)
    return Written(covariance.submatrix(np.arange(covariance.n_features)))


def exponent_of(covariance: Any) -> int:
    """Return e with the largest entry of S about 4^e, from numbers that can neither overflow nor underflow.

    An enclosure is taken as it is: its e is zero.
    """
    if isinstance(covariance, Enclosure):
        return 0
    if isinstance(covariance, DeflatedCovariance | SubsetCovariance):
        return exponent_of(covariance.base)
    if isinstance(covariance, FactorCovariance):
        return _exponent(covariance.factor)
    entries = covariance if isinstance(covariance, np.ndarray) else getattr(covariance, "matrix", None)
    return _exponent(covariance.diagonal if entries is None else entries) // 2


def _exponent(values: Floats) -> int:
    largest = float(np.abs(values).max(initial=0.0))
    return math.frexp(largest)[1] if math.isfinite(largest) else 0


def rescaled(covariance: Any, exponent: int) -> Covariance:
    """Return the covariance times 4^exponent. What is lost in underflow is below `TINY` of the result's size."""
    if isinstance(covariance, np.ndarray):
        return DenseCovariance(np.ldexp(covariance, 2 * exponent))
    if isinstance(covariance, FactorCovariance):
        return FactorCovariance(np.ldexp(covariance.factor, exponent))
    if isinstance(covariance, DeflatedCovariance):
        base = rescaled(covariance.base, exponent)
        factors, core, preimages = covariance.factors, covariance.core, covariance.preimages
        if preimages is not None:
            # Images are as large as S, and C as small as one over it: without this it would vanish.
            powers = np.frexp(np.abs(factors).max(axis=0, initial=0.0))[1]
            factors, core = np.ldexp(factors, -powers), np.ldexp(core, powers + powers[:, None])
            preimages = np.ldexp(preimages, -powers - 2 * exponent)
        core = np.ldexp(core, 2 * exponent)
        return DeflatedCovariance(base, factors, core, semidefinite=covariance.semidefinite, preimages=preimages)
    if isinstance(covariance, SubsetCovariance):
        return SubsetCovariance(rescaled(covariance.base, exponent), covariance.keep)
    if isinstance(covariance, SparseCovariance):
        scales = np.ldexp(covariance.scales, exponent)
        variances = covariance.diagonal / covariance.scales**2
        return SparseCovariance(
            covariance.rows, covariance.means, variances, scales, covariance.weights, covariance.divisor
        )
    return DenseCovariance(np.ldexp(covariance.submatrix(np.arange(covariance.n_features)), 2 * exponent))
