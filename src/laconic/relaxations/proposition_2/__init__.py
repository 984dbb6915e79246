"""The bounds of Proposition 2: optimality conditions, one support, the search for rho."""
