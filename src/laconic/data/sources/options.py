"""What a user says about a table in files: columns to leave out, the column of row labels, the signs of text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from laconic.data.names import split_names
from laconic.data.sources.contract import Source
from laconic.data.sources.selected import SelectedSource
from laconic.data.text_files import check_signs


@dataclass(frozen=True)
class TableOptions:
    """Options of tables. By default nothing is left out, and labels and signs are found in the table itself."""

    drop: tuple[str, ...] = ()  # names, or several names separated by commas
    index: str | None = None
    separator: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        check_signs(self.separator, self.decimal)

    def dropped(self, names: Sequence[str], table: str) -> list[str]:
        """Return the columns to leave out. A ValueError names one that a table with these names does not have."""
        found = split_names(self.drop, names)
        unknown = next((name for name in found if name not in set(names)), None)
        if unknown is not None:
            raise ValueError(f"drop={unknown!r} is not a column of {table}.")
        return found

    def refuse_signs(self, name: str) -> None:
        """Raise a ValueError if signs of text are given for data that are not a text table."""
        for sign in ("separator", "decimal"):
            if getattr(self, sign) is not None:
                raise ValueError(f"{sign}={getattr(self, sign)!r} is for text tables only, not for {name}.")

    def selected(self, source: Source) -> Source:
        """Return a source that has no row labels, without the columns to leave out."""
        if self.index is not None:
            raise ValueError(
                f"index={self.index!r} names a column of row labels, and {source.name} is not a table with such a "
                "column; leave the option out."
            )
        if not self.drop:
            return source
        # Columns without names are called by their numbers, also when others are left out.
        names = source.feature_names or [str(number) for number in range(source.n_features)]
        dropped = set(self.dropped(names, source.name))
        kept = [number for number, name in enumerate(names) if name not in dropped]
        return SelectedSource(source, np.array(kept, dtype=np.intp), [names[number] for number in kept])


AS_FOUND = TableOptions()
