"""Rows in: arrays, sparse matrices, frames and files, checked once and never copied without need."""

from laconic.data.files import load
from laconic.data.moments import Moments
from laconic.data.rows import as_array_or_frame, check_finite, check_matrix, feature_names_of

__all__ = ["Moments", "as_array_or_frame", "check_finite", "check_matrix", "feature_names_of", "load"]
