"""Arrays, linear algebra, rounding, threads, time limits, words: no data, no statistics."""
