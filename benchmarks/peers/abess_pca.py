"""abess: best-subset selection in compiled code."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from abess.decomposition import SparsePCA

TITLE = "abess"


def fit(X: Any, k: int) -> np.ndarray:
    # It takes no sparse input of its own for this model: it fills the matrix in.
    rows = X.toarray() if sp.issparse(X) else X
    return np.flatnonzero(SparsePCA(support_size=k).fit(rows).coef_.ravel())
