"""Arrays, rounding, eigenvalues, monitor, words and files: what every room uses."""

from laconic.core.monitor import Hint

__all__ = ["Hint"]
