"""The row-level relaxation: a level for each row of the dual matrix."""
