"""`SparsePCA`, its components, and paths over cardinalities."""
