"""Benchmarks of laconic and other packages, in one run on one machine: `make bench`."""
