"""Rows from which components were taken out, and such rows with their columns permuted.

Taking a unit vector z out of rows X leaves X(I - zz'). Its covariance is S deflated by projection
(`laconic.covariance.deflation`). Only the columns of features with a loading change, so sparse rows stay sparse.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Floats, Indices
from laconic.covariance.build import WRITE_OUT_COLUMNS
from laconic.covariance.contract import Covariance
from laconic.covariance.dense import DenseCovariance
from laconic.covariance.factor import FactorCovariance
from laconic.covariance.from_data import covariance_from
from laconic.covariance.standardization import Standardization

# A unit vector of a feature that is shorter than this, once the components are taken out, is only rounding.
SHORTEST = 1e-6
# Columns with more than this share of nonzero entries are permuted one by one. In others, rows drawn at random rarely
# meet, and all columns are permuted together.
DENSE_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class RowsLeft:
    """Rows less some components: XR with R = (I - z_1 z_1')(I - z_2 z_2')..."""

    rows: Any  # dense: centred, scaled, and divided by the root of the divisor; sparse: scaled only, stored by column
    center: bool
    unit: float  # the covariance of sparse rows is to be multiplied by this
    directions: tuple[Floats, ...] = ()  # z_1, z_2, ... on all features

    @classmethod
    def of(cls, X: Any, standardization: Standardization, *, center: bool, scale: bool) -> "RowsLeft":
        """Return rows that were checked, before any component is taken out. All rows count the same."""
        n = X.shape[0]
        divisor = n - 1 if center else n
        if sp.issparse(X):
            scales = sp.diags_array(standardization.scales, dtype=np.float64)
            scaled = sp.csc_array(sp.csc_array(X).astype(np.float64) @ scales)
            return cls(scaled, center, 1.0)
        factor = np.array(X, dtype=np.float64)
        factor -= standardization.means
        factor *= standardization.scales
        factor /= np.sqrt(divisor)
        factor[:, standardization.constant] = 0.0
        return cls(factor, center, 1.0)

    def without(self, z: Floats) -> "RowsLeft":
        """Return the rows without one more unit vector."""
        return replace(self, rows=_project(self.rows, z), directions=(*self.directions, z))

    def covariance(self, features: int | None, needed: Indices | None = None) -> Covariance:
        """Return the covariance, up to the factor `unit`. The arguments are those of `covariance_from`."""
        if sp.issparse(self.rows):
            made = covariance_from(
                self.rows, center=self.center, scale=False, features=features, needed=needed, with_digest=False
            )
            return made.covariance
        n, p = self.rows.shape
        if p <= WRITE_OUT_COLUMNS and p <= n:
            gram = self.rows.T @ self.rows
            return DenseCovariance(0.5 * (gram + gram.T))
        return FactorCovariance(self.rows)

    def permuted(self, random: np.random.Generator) -> "RowsLeft":
        """Return what would be left of independent columns.

        Let the rows be E = NR, with N noise. The columns of E are not independent even if those of N are: E has no
        variance along z, and column i of E has only |Re_i|^2 times the variance of column i of N, if the features of a
        component are equally noisy. So column i of E is divided by |Re_i|, all columns are permuted, which stands for
        another N, and R is applied again. Without components this is a plain permutation of each column.
        """
        lengths = self._lengths()
        if sp.issparse(self.rows):
            scaled = sp.csc_array(self.rows @ sp.diags_array(1 / lengths)) if self.directions else self.rows
            rows: Any = _permuted_sparse(scaled, random)
        else:
            rows = random.permuted(self.rows, axis=0)
            rows /= lengths
        for z in self.directions:
            rows = _project(rows, z)
        return replace(self, rows=rows)

    def _lengths(self) -> Floats:
        """Return |Re_i| for each feature, and one where a feature is taken out altogether: its column is zero."""
        lengths = np.ones(self.rows.shape[1])
        if self.directions:
            touched = np.flatnonzero(np.any(self.directions, axis=0))
            R = np.eye(len(touched))
            for z in self.directions:
                R = _project(R, z[touched])
            own = np.linalg.norm(R, axis=0)
            lengths[touched] = np.where(own < SHORTEST, 1.0, own)
        return lengths


def _project(rows: Any, z: Floats) -> Any:
    """Return X(I - zz')."""
    support = np.flatnonzero(z)
    loadings = z[support]
    if sp.issparse(rows):
        scores = sp.csc_array((rows[:, support] @ loadings)[:, None])
        return sp.csc_array(rows - sp.csc_array(scores @ sp.csc_array(z[None, :])))
    left = rows.copy()
    left[:, support] -= np.outer(rows[:, support] @ loadings, loadings)
    return left


def _permuted_sparse(rows: Any, random: np.random.Generator) -> Any:
    """Give each entry of a column another row, at random, no two the same one.

    All entries draw a row. As long as two entries of a column have the same row, all but the first of them draw again.
    No row is treated differently from another, so every way to place the entries of a column is equally likely.
    """
    n, p = rows.shape
    counts = np.diff(rows.indptr)
    column_of = np.repeat(np.arange(p), counts)
    places = random.integers(n, size=rows.nnz)
    crowded = np.flatnonzero(counts > DENSE_SHARE * n)
    for j in crowded:
        places[rows.indptr[j] : rows.indptr[j + 1]] = random.permutation(n)[: counts[j]]
    again = np.arange(rows.nnz)
    while len(again):
        keys = column_of * n + places
        _, first = np.unique(keys, return_index=True)
        repeated = np.ones(rows.nnz, dtype=bool)
        repeated[first] = False
        again = np.flatnonzero(repeated)
        places[again] = random.integers(n, size=len(again))
    moved = sp.coo_array((rows.data, (places, column_of)), shape=rows.shape)
    return sp.csc_array(moved)
