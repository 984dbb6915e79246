"""Is a table the wrong way round? Genes are often in rows and samples in columns, where we need the opposite."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# The words that names of samples begin with. A number follows: S1, sample_01, GSM123, TCGA-02-0001.
SAMPLE = re.compile(
    r"(s|sample|smp|patient|pat|pt|subject|subj|donor|control|ctrl|case|tumou?r|normal|healthy|disease|rep|replicate"
    r"|cell|mouse|rat|wt|ko|treated|untreated|gsm|srr|err|drr|srx|ers|tcga|individual|specimen|array|chip)[\W_]*\d.*",
    re.IGNORECASE,
)
# There must be this many times more rows than columns, and at least this many rows.
MANY, LEAST_ROWS = 5, 50


def transpose_hint(frame: "pd.DataFrame", name: str) -> str | None:
    """Return a sentence if the rows of a table look like features and its columns like samples, else None.

    That is so if there are far more rows than columns, the row labels are different texts that are not names of samples
    themselves, and all columns have names of samples.
    """
    rows, columns = frame.shape
    if columns < 3 or rows < max(MANY * columns, LEAST_ROWS):
        return None
    if not all(isinstance(c, str) and SAMPLE.fullmatch(c) for c in frame.columns):
        return None
    labels = list(frame.index)
    if not all(isinstance(label, str) for label in labels) or len(set(labels)) < rows:
        return None
    if any(SAMPLE.fullmatch(label) for label in labels[:LEAST_ROWS]):
        return None
    return (
        f"{name} has {rows:,} rows, such as {labels[0]!r}, and {columns} columns with names of samples, such as "
        f"{frame.columns[0]!r}; if the rows are the features, give transpose=True."
    )
