"""Models whose pages are tested."""

from functools import cache

import numpy as np
import pandas as pd

from laconic import SparsePCA
from laconic.datasets import load_senate109

HOSTILE = [
    "</script><script>document.title='changed'</script>",
    "<img src=x onerror=\"document.title='changed'\">",
    "\"quotes\" and 'quotes' & &amp; {{ 7 * 7 }}",
    "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd",
    "x" * 300,
    "__proto__",
    "two\nlines\u2028three",
    "\U0001f980 crab ${1+1} `tick`",
    "]]>--><!--",
    "javascript:alert(1)",
    "constructor",
    " blanks  at the ends ",
]


@cache
def senate():
    """The votes, and a model of five and of two bills with a proof."""
    votes = load_senate109()
    frame = votes.frame
    return votes, frame, SparsePCA(cardinality=[5, 2], proof="tight").fit(frame)


@cache
def hostile():
    """A table with names that try to break out of the page, and a model of it."""
    rows = np.random.default_rng(1).standard_normal((40, len(HOSTILE)))
    rows[:, :6] += 2 * rows[:, [0]]
    frame = pd.DataFrame(rows, columns=HOSTILE, index=[HOSTILE[i % len(HOSTILE)] for i in range(40)])
    return frame, SparsePCA(cardinality=[6, 6], proof="fast").fit(frame)
