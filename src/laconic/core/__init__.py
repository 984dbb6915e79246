"""Arrays, rounding, eigenvalues, time and Ctrl-C, words, files: what every other room uses."""

from laconic.core.monitor import Hint

__all__ = ["Hint"]
