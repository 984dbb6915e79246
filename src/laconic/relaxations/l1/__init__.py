"""The l1 relaxation (DSPCA): forms, solvers, paths."""
