"""Convex programs: each gives an upper estimate with its witness, and a matrix to round to a support."""
