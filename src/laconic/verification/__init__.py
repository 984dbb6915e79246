"""From a witness to a proved number, and from loadings to one, with none of the solvers' code."""

from laconic.verification.lower import proved_lower
from laconic.verification.terms import Proved
from laconic.verification.upper import proved_upper, proved_upper_and_margin

__all__ = ["Proved", "proved_lower", "proved_upper", "proved_upper_and_margin"]
