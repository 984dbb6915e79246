"""Branch and bound on the row-level relaxation."""
