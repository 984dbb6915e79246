"""laconic beside its peers, in one run on one machine: `make bench`."""
