"""Arrays, eigenvalues, rounding, time limits, threads, words, files: no data, no statistics."""
