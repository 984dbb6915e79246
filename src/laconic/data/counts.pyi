from typing import Any

from laconic.core.arrays import Floats
from laconic.data.digest import Words

LARGEST_COUNT: int

def sums_of_counts(rows: Any) -> tuple[Floats, Floats, Words, int] | None: ...
