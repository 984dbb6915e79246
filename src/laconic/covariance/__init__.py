"""What a solver sees of the data: a diagonal, some columns, a principal submatrix, a product.

No solver asks whether the rows were dense, sparse or given as a matrix already multiplied out.
"""

from laconic.covariance.base import Covariance
from laconic.covariance.build import Standardization, covariance_of
from laconic.covariance.deflated import DeflatedCovariance
from laconic.covariance.dense import DenseCovariance
from laconic.covariance.factor import FactorCovariance
from laconic.covariance.reading import Kind, is_covariance, read_covariance
from laconic.covariance.sparse import SparseCovariance
from laconic.covariance.spectrum import largest_eigenpair, rank_at_least, smallest_eigenvalue
from laconic.covariance.subset import SubsetCovariance

__all__ = [
    "Covariance",
    "DeflatedCovariance",
    "DenseCovariance",
    "FactorCovariance",
    "Kind",
    "SparseCovariance",
    "Standardization",
    "SubsetCovariance",
    "covariance_of",
    "is_covariance",
    "largest_eigenpair",
    "rank_at_least",
    "read_covariance",
    "smallest_eigenvalue",
]
