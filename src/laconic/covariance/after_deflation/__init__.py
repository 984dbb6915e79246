"""What is left of a covariance after deflation: how far it is from semidefinite, and its largest eigenvalue."""
