"""Rows in: arrays, sparse matrices, tables and files. They are checked once, and copied only if they must be."""

from laconic.data.checks import check_finite, check_matrix
from laconic.data.files import read_table
from laconic.data.moments import Moments
from laconic.data.names import feature_names_of
from laconic.data.tables import as_array_or_frame

__all__ = ["Moments", "as_array_or_frame", "check_finite", "check_matrix", "feature_names_of", "read_table"]
