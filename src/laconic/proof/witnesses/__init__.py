"""One file for each kind of witness."""
