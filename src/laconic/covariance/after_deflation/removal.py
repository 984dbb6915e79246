"""Components taken out of S by one rule, as proofs see them."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.rounding import gamma, grown, up
from laconic.core.thresholds import BLOCK_ENTRIES
from laconic.covariance.enclosure import Enclosure

# A component is multiplied by S again only if this takes at most so many entries of S: about a second of work.
MOST_ENTRIES = 400_000_000
# The length of a direction must lie between these, or nothing is proved. Components have unit length up to rounding;
# the proofs only need that the squared length is at most two.
LENGTHS = (0.7, 1.4)


class Step(NamedTuple):
    """One component that was taken out of a matrix T."""

    direction: Floats  # z, about of unit length
    image: Floats  # y, which is Tz up to rounding
    value: float  # v, which is z'Tz up to rounding


@dataclass(frozen=True, eq=False)
class Removal:
    """The matrix S - WCW', with W and C made from steps by one rule.

    Nothing is assumed about the numbers of a step: proofs compute how far the image is from Tz.
    """

    base: Enclosure  # S
    factors: Floats  # W, with the same number of columns for each step
    core: Floats  # C
    steps: tuple[Step, ...]  # the components taken out, in order

    @cached_property
    def width(self) -> int:
        """The number of columns of W that belong to one step."""
        return len(self.core) // len(self.steps)

    def distance(self, y: Floats, z: Floats, place: int) -> tuple[Floats, Floats]:
        """Return Tz - y as computed, and bounds on its errors, T = S less the first `place` columns of WCW'."""
        used: Indices = np.flatnonzero(z)
        n = self.base.n
        if len(used) * n > MOST_ENTRIES:
            return np.zeros(n), np.full(n, math.inf)
        part, spread = z[used], self.base.spread
        size = np.abs(part)
        factors, core = self.factors[:, :place], self.core[:place, :place]
        mixed = core @ (factors[used].T @ part)
        rest = -y - factors @ mixed
        sizes = np.abs(y) + np.abs(factors) @ (np.abs(core) @ (np.abs(factors[used]).T @ size))
        step = max(1, BLOCK_ENTRIES // max(len(used), 1))
        for begin in range(0, n, step):
            rows = np.arange(begin, min(begin + step, n))
            block = self.base.block(rows, used)
            rest[rows] += block @ part
            sizes[rows] += np.abs(block, out=block) @ size
        operations = len(used) + 2 * place + 18
        error = sizes * gamma(operations) + spread * float(spread[used] @ size)
        return rest, np.asarray(grown(error, operations))


def length_up(z: Floats) -> float:
    """Return an upper bound on the length of a vector."""
    return float(grown(np.sqrt(grown(z @ z, len(z))), 1))


def length_within(rest: Floats, error: Floats) -> float:
    """Return an upper bound on the length of a vector whose entries are known up to some errors."""
    reach = up(np.abs(rest) + error)
    return float(grown(np.sqrt(grown(reach @ reach, len(rest) + 1)), 1))
