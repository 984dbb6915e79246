"""Proofs about a deflated covariance: how far it is from semidefinite, and its largest eigenvalue."""
