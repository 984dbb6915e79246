"""Results of several loaders: a covariance matrix with names, and a sparse table of counts with names."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from laconic.core.arrays import Floats

# Quoted, because csr_array of older SciPy versions cannot be subscripted at run time.
Counts: TypeAlias = "csr_array[np.float64, tuple[int, int]]"
Strings: TypeAlias = NDArray[np.str_]


@dataclass(frozen=True, eq=False, kw_only=True)
class CovarianceTable:
    """A covariance or correlation matrix and the names of its variables.

    Attributes
    ----------
    name : str
        Short name of the data set.
    covariance : array of shape (n_features, n_features)
        Symmetric and positive semidefinite up to rounding.
    kind : {"correlation", "covariance"}
        Which of the two it is. A correlation matrix has ones on the diagonal.
    feature_names : tuple of str
        One name for each variable; ``x1``, ``x2``, ... where the source has none.
    n_samples : int or None
        Number of rows from which the matrix was computed; None if the source does not say.
    description : str
        The source of the numbers.
    """

    name: str
    covariance: Floats = field(repr=False)
    kind: Literal["correlation", "covariance"]
    feature_names: tuple[str, ...] = field(repr=False)
    n_samples: int | None
    description: str

    def __post_init__(self) -> None:
        n = len(self.feature_names)
        if self.covariance.shape != (n, n):
            raise ValueError(f"{self.name}: {n} feature names do not fit a matrix of shape {self.covariance.shape}.")


@dataclass(frozen=True, eq=False, kw_only=True)
class CountTable:
    """Counts in sparse rows: documents by words, or cells by genes.

    Attributes
    ----------
    data : csr_array of shape (n_samples, n_features)
        The counts as float64. The files store them in 8 or 16 bits, and a product such as ``data.T @ data``
        would overflow in these types without a warning.
    feature_names : tuple of str
        The words or genes, one for each column.
    description : str
        The source of the numbers.
    """

    data: Counts
    feature_names: tuple[str, ...] = field(repr=False)
    description: str

    def __post_init__(self) -> None:
        n_features = self.data.shape[1]
        if len(self.feature_names) != n_features:
            raise ValueError(f"{len(self.feature_names)} feature names do not fit {n_features} columns of counts.")


def read_columns(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Read comma-separated text with a header line, column by column.

    Parameters
    ----------
    lines : iterable of str
        An open text file.

    Returns
    -------
    dict of str to tuple of str
        The values of each column by its header, in the order of the file.
    """
    header, *rows = csv.reader(lines)
    return dict(zip(header, zip(*rows, strict=True), strict=True))
