"""Scores in the plane of two components."""
