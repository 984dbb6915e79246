"""Rows in: arrays, sparse matrices, tables and files. They are checked once, and copied only if they must be."""

from laconic.data.rows import Block, Source, open_source
from laconic.data.tables import as_array_or_frame, check_finite, check_matrix, feature_names_of

__all__ = ["Block", "Source", "as_array_or_frame", "check_finite", "check_matrix", "feature_names_of"]
__all__ += ["open_source"]
