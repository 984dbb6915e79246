"""The covariance as solvers see it: its diagonal, some columns, a principal submatrix, a product.

A solver never asks how the data were given. The abilities of each kind are declared on `Covariance`.
"""

from laconic.covariance.deflation import DeflatedCovariance
from laconic.covariance.make import Recipe, make, make_of_matrix
from laconic.covariance.matrix import (
    Covariance,
    DenseCovariance,
    FactorCovariance,
    largest_eigenpair,
    largest_eigenpairs,
    largest_eigenvalues,
    rank_at_least,
    smallest_eigenvalue,
)
from laconic.covariance.of_rows import SparseCovariance, covariance_of
from laconic.covariance.screening import Screening
from laconic.covariance.views import ScreenedCovariance, SubsetCovariance

__all__ = ["Covariance", "DeflatedCovariance", "DenseCovariance", "FactorCovariance", "Recipe", "ScreenedCovariance"]
__all__ += ["Screening", "SparseCovariance", "SubsetCovariance", "covariance_of", "largest_eigenpair"]
__all__ += ["largest_eigenpairs", "largest_eigenvalues", "make", "make_of_matrix", "rank_at_least"]
__all__ += ["smallest_eigenvalue"]
