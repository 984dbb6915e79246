"""The covariance as solvers see it: its diagonal, some columns, a principal submatrix, a product.

A solver never asks how the data were given. The abilities of each kind are declared on `Covariance`.
"""

from laconic.covariance.build import covariance_of
from laconic.covariance.contract import Covariance
from laconic.covariance.deflated import DeflatedCovariance
from laconic.covariance.dense import DenseCovariance
from laconic.covariance.factor import FactorCovariance
from laconic.covariance.reading import Given
from laconic.covariance.screened import ScreenedCovariance
from laconic.covariance.screening import Screening
from laconic.covariance.sparse import SparseCovariance
from laconic.covariance.spectrum import (
    largest_eigenpair,
    largest_eigenpairs,
    largest_eigenvalues,
    rank_at_least,
    smallest_eigenvalue,
)
from laconic.covariance.standardization import Standardization
from laconic.covariance.subset import SubsetCovariance

__all__ = [
    "Covariance",
    "DeflatedCovariance",
    "DenseCovariance",
    "FactorCovariance",
    "Given",
    "ScreenedCovariance",
    "Screening",
    "SparseCovariance",
    "Standardization",
    "SubsetCovariance",
    "covariance_of",
    "largest_eigenpair",
    "largest_eigenpairs",
    "largest_eigenvalues",
    "rank_at_least",
    "smallest_eigenvalue",
]
