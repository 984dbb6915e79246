"""How many features, and how many components."""
