"""The problems whose results are frozen: data from fixed seeds, and settings under names of their own.

The settings use no name of the package. `surface.py` translates them, so a change of the public surface changes neither
this file nor golden.json.
"""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.linalg import block_diag

MATRICES = {"pitprops", "gram", "indefinite", "spiked", "two blocks"}


def _factors(n, p, seed):
    """Draw rows with three overlapping factors. Columns have different means and variances."""
    draw = np.random.default_rng(seed)
    loadings = np.zeros((3, p))
    for i, size in enumerate((p // 3, p // 3, p // 4)):
        loadings[i, i * p // 4 : i * p // 4 + size] = draw.uniform(0.2, 1, size) * (3 - i)
    rows = draw.standard_normal((n, 3)) @ loadings + draw.standard_normal((n, p))
    return rows * draw.uniform(0.5, 2, p) + draw.uniform(-2, 2, p)


def _tall():
    return _factors(90, 40, 1)


def _frame():
    return pd.DataFrame(_tall(), columns=[f"c{i}" for i in range(40)])


def _counts(n, p, seed):
    """Draw counts of words: a few are common, most are rare, and some come together."""
    draw = np.random.default_rng(seed)
    rates = 2 / np.arange(1, p + 1) ** 0.8
    together = draw.poisson(1, (n, 1)) * np.isin(np.arange(p), range(0, 60, 7)) * (draw.random((n, p)) < 0.4)
    return sp.csr_array((draw.poisson(rates, (n, p)) + together).astype(float))


def _blocks(rows, size):
    return [rows[i : i + size] for i in range(0, rows.shape[0], size)]


def _gram(n, p):
    A = np.random.default_rng(4).standard_normal((n, p))
    return A.T @ A / n


def _indefinite():
    S = np.random.default_rng(5).uniform(-0.9, 0.9, (30, 30))
    np.fill_diagonal(S, 1.0)
    return 0.5 * (S + S.T)


def _spiked():
    z = np.r_[np.full(8, 8**-0.5), np.zeros(52)]
    noise = np.random.default_rng(6).standard_normal((80, 60))
    return 1.2 * np.outer(z, z) + noise.T @ noise / 80


_DATA = {
    "tall": _tall,
    "frame": _frame,
    "wide": lambda: _factors(15, 120, 7),
    "decay": lambda: _factors(150, 300, 11) / np.sqrt(np.arange(1, 301)),
    "nothing": lambda: np.random.default_rng(8).standard_normal((40, 12)),
    "holes": lambda: np.where(np.random.default_rng(2).random((90, 40)) < 0.06, np.nan, _tall()),
    "counts": lambda: _counts(60, 50, 3),
    "gram": lambda: _gram(40, 30),
    "two blocks": lambda: block_diag(_gram(30, 20), 0.9 * _gram(25, 25)),
    "indefinite": _indefinite,
    "spiked": _spiked,
    "blocks": lambda: _blocks(_tall(), 20),
    "sparse blocks": lambda: _blocks(_counts(200, 7000, 10), 64),  # too many columns for a matrix of all pairs
}


def data_of(name, folder):
    """Return the data of this name. A file is written to the folder."""
    if name not in ("csv", "parquet"):
        return _DATA[name]()
    path = folder / f"rows.{name}"
    getattr(_frame(), f"to_{name}")(path, index=False)
    return path


# With "verified", the certificates are frozen and verified, too.
_FITS = {
    "tall": {"data": "tall", "k": [4, 3, 2], "verified": True},
    "frame": {"data": "frame", "k": 5, "components": 2, "forced_in": ["c3"]},
    "tall, tight": {"data": "tall", "k": [7, 5], "proof": "tight", "verified": True},
    "tall, no proof": {"data": "tall", "k": [6, 5], "proof": None},
    "tall, not centred": {"data": "tall", "k": [6, 3], "center": False, "verified": True},
    "tall, scaled": {"data": "tall", "k": [6, 5], "scale": True, "verified": True},
    "tall, scaled, not centred": {"data": "tall", "k": 6, "scale": True, "center": False},
    "tall, weights": {"data": "tall", "k": [6, 5], "weighted": True, "verified": True},
    "tall, weights, scaled": {"data": "tall", "k": 6, "weighted": True, "scale": True},
    "tall, signs": {"data": "tall", "k": [6, 3], "nonnegative": True},
    "tall, forced": {"data": "tall", "k": [5, 4], "forced_in": [2, 20], "verified": True},
    "tall, all features": {"data": "tall", "k": 40},
    "tall, one feature": {"data": "tall", "k": 1, "components": 2},
    "wide": {"data": "wide", "k": [10, 4], "verified": True},
    "wide, tight": {"data": "wide", "k": [8], "proof": "tight", "verified": True},
    "wide, scaled": {"data": "wide", "k": [6, 4], "scale": True},
    "decay": {"data": "decay", "k": [12, 20], "verified": True},
    "decay, tight": {"data": "decay", "k": [6, 6], "proof": "tight", "verified": True},
    "wide, weights": {"data": "wide", "k": [6], "weighted": True},
    "counts": {"data": "counts", "k": [6, 4], "verified": True},
    "counts, scaled": {"data": "counts", "k": [5, 3], "scale": True, "verified": True},
    "counts, not centred": {"data": "counts", "k": 8, "center": False},
    "blocks": {"data": "blocks", "k": [4, 3, 2], "verified": True},
    "blocks, scaled": {"data": "blocks", "k": [6, 5], "scale": True},
    "sparse blocks": {"data": "sparse blocks", "k": [5, 3], "verified": True},
    "csv": {"data": "csv", "k": [4, 3, 2], "verified": True},
    "parquet": {"data": "parquet", "k": [4, 3, 2], "verified": True},
    "holes, pairwise": {"data": "holes", "k": [4, 3], "missing": "pairwise", "verified": True},
    "holes, pairwise, scaled": {"data": "holes", "k": [6, 3], "missing": "pairwise", "scale": True},
    "holes, em": {"data": "holes", "k": [4, 3], "missing": "em", "verified": True},
    "senate": {"data": "senate", "k": [5, 2], "verified": True},
    "senate, ten": {"data": "senate", "k": 10, "components": 2, "verified": True},
    "pitprops": {"data": "pitprops", "k": [6, 2, 2], "verified": True},
    "pitprops, tight": {"data": "pitprops", "k": [7, 4], "proof": "tight"},
    "indefinite": {"data": "indefinite", "k": [5, 2], "verified": True},
    "spiked, tight": {"data": "spiked", "k": 8, "proof": "tight", "verified": True},
    "tall, span": {"data": "tall", "k": [4, 3], "joint": "span", "verified": True},
    "pitprops, span": {"data": "pitprops", "k": [4, 3], "joint": "span"},
    "tall, disjoint": {"data": "tall", "k": [5, 4], "joint": "disjoint"},
    "pitprops, disjoint, tight": {"data": "pitprops", "k": [5, 3], "joint": "disjoint", "proof": "tight"},
    "tall, share": {"data": "tall", "share": 0.9, "components": 2},
    "pitprops, share": {"data": "pitprops", "share": 0.8},
    "wide, share": {"data": "wide", "share": 0.9},
    "two blocks": {"data": "two blocks", "k": [7, 4], "verified": True},
    "two blocks, tight": {"data": "two blocks", "k": [7, 4], "proof": "tight", "verified": True},
    "senate, defaults": {"data": "senate"},
    "gram, exact": {"data": "gram", "k": [6, 4], "proof": "exact", "verified": True},
    "spiked, exact": {"data": "spiked", "k": 5, "proof": "exact", "verified": True},
    "wide, exact": {"data": "wide", "k": 6, "proof": "exact"},
    "pitprops, penalized": {"data": "pitprops", "penalty": 0.2, "method": "penalized", "proof": "exact"},
    "gram, penalized": {"data": "gram", "penalty": 0.15, "method": "penalized", "proof": "exact"},
    "pitprops, dspca": {"data": "pitprops", "penalty": 0.3, "method": "dspca"},
}
_STUDIES = {
    "path, tall": {"task": "path", "data": "tall", "sizes": 8},
    "path, gram, tight": {"task": "path", "data": "gram", "sizes": 5, "proof": "tight"},
    "path, gram, greedy": {"task": "path", "data": "gram", "sizes": 8, "method": "greedy"},
    "choose": {"task": "choose", "data": "wide", "components": 2},
    "stability": {"task": "stability", "data": "tall", "k": [5, 4], "draws": 20},
    "noise": {"task": "noise", "data": "tall", "k": [4, 3], "draws": 19},
    "noise, nothing": {"task": "noise", "data": "nothing", "k": [3], "draws": 9},
    "certify, senate": {"task": "certify", "data": "senate", "features": ["S. 1932", "S. 403"], "verified": True},
    "certify, gram": {"task": "certify", "data": "gram", "features": [0, 1, 2, 5], "proof": "tight", "verified": True},
    "eigenvalues, tight": {"task": "eigenvalues", "data": "nothing", "k": 3, "proof": "tight"},
    "eigenvalues, fast": {"task": "eigenvalues", "data": "tall", "k": 4},
}
_METHODS = ["auto", "sorting", "thresholding", "greedy", "backward-greedy", "approximate-greedy", "truncated-power"]
_METHODS += ["gpower-l1", "gpower-l0", "gpower-l1-block", "gpower-l0-block", "swaps", "exhaustive", "dspca"]
_DEFLATIONS = ["hotelling", "projection", "schur", "orthogonalized-hotelling", "orthogonalized-projection"]
PROBLEMS = {
    **_FITS,
    **{f"method {name}": {"data": "gram", "k": 5, "components": 2, "method": name} for name in _METHODS},
    **{f"deflation {name}": {"data": "pitprops", "k": [5, 4, 3], "deflation": name} for name in _DEFLATIONS},
    **_STUDIES,
}
