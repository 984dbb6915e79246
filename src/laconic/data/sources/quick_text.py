"""Lines of numbers, parsed by pyarrow: exact to the last digit, and several times faster than older versions of pandas.

Whatever is not plain is left to pandas, which reads it as `laconic.read_table` does: marks for truth values, blanks
around numbers, lines that are too long or too short.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# The marks of missing numbers that pandas knows.
MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"]
MISSING += ["<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]
# Lines are parsed in parts of at least this many bytes, by several threads.
PART_BYTES = 1_000_000


def quick_frame(
    data: bytes,
    separator: str,
    n_fields: int,
    types: Mapping[int, str],
    decimal: str = ".",
    na: Sequence[str] = (),
) -> "pd.DataFrame | None":
    """Return the fields at some positions, each of the type that is given for it, or None if they are not plain.

    `na` are more marks of missing numbers.
    """
    import pyarrow as pa
    from pyarrow import csv

    if not separator.isascii():
        return None
    names = [str(position) for position in range(n_fields)]
    # A line must not be longer than a part.
    size = max(PART_BYTES, 8 * len(data) // max(data.count(b"\n"), 1))
    try:
        table: Any = csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(column_names=names, block_size=min(size, len(data) + 1)),
            csv.ParseOptions(delimiter=separator, newlines_in_values=b'"' in data),
            csv.ConvertOptions(
                column_types={names[position]: kind for position, kind in types.items()},
                include_columns=[names[position] for position in types],
                null_values=[*MISSING, *na],
                decimal_point=decimal,
            ),
        )
    except pa.ArrowException:
        return None
    frame: pd.DataFrame = table.to_pandas()
    frame.columns = list(types)
    return frame
