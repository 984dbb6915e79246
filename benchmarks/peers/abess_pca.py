"""abess: best-subset selection in compiled code."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from abess.decomposition import SparsePCA

TITLE = "abess"


def fit(X: Any, k: int) -> np.ndarray:
    # abess accepts no sparse input for this model.
    rows = X.toarray() if sp.issparse(X) else X
    return np.flatnonzero(SparsePCA(support_size=k).fit(rows).coef_.ravel())
