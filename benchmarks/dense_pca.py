"""Five ordinary components by other packages, beside five sparse components of the same made counts.

`python -m benchmarks.large dense` computes the table, which also says which packages are not installed.
"""

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.alone import add_line, peak_megabytes, run_alone, seconds_of
from benchmarks.large_files import load_csr, words_in_memory

# Seconds for one package.
TIME_LIMIT = 300.0
COMPONENTS = 5
# Rows that are made dense at once; a tenth for IncrementalPCA, which is faster with fewer.
BATCH = 2000


def laconic_sparse(X: Any) -> Callable[[], Any]:
    from laconic import SparsePCA

    return lambda: SparsePCA(COMPONENTS, cardinality=5).fit(X)


def truncated_svd(X: Any) -> Callable[[], Any]:
    from sklearn.decomposition import TruncatedSVD

    return lambda: TruncatedSVD(COMPONENTS, random_state=0).fit(X)


def sklearn_pca(X: Any) -> Callable[[], Any]:
    from sklearn.decomposition import PCA

    return lambda: PCA(COMPONENTS, svd_solver="arpack", random_state=0).fit(X)


def scanpy_pca(X: Any) -> Callable[[], Any]:
    import anndata
    import scanpy
    import scipy.sparse as sp

    adata = anndata.AnnData(sp.csr_matrix(X))
    return lambda: scanpy.pp.pca(adata, n_comps=COMPONENTS)


def incremental_pca(X: Any) -> Callable[[], Any]:
    from sklearn.decomposition import IncrementalPCA

    return lambda: IncrementalPCA(COMPONENTS, batch_size=BATCH // 10).fit(X)


def _dask(X: Any) -> Any:
    """Return a Dask array whose blocks are made dense when they are needed."""
    import dask.array as da
    from dask import delayed

    starts = range(0, X.shape[0], BATCH)
    blocks = [delayed(lambda begin: X[begin : begin + BATCH].toarray())(begin) for begin in starts]
    shapes = [(min(BATCH, X.shape[0] - begin), X.shape[1]) for begin in starts]
    arrays = [da.from_delayed(b, shape, dtype=np.float64) for b, shape in zip(blocks, shapes, strict=True)]
    return da.concatenate(arrays)


def dask_pca(X: Any) -> Callable[[], Any]:
    from dask_ml.decomposition import PCA

    return lambda: PCA(COMPONENTS, svd_solver="randomized", random_state=0).fit(_dask(X))


def dask_svd(X: Any) -> Callable[[], Any]:
    from dask_ml.decomposition import TruncatedSVD

    return lambda: TruncatedSVD(COMPONENTS, algorithm="randomized", random_state=0).fit(_dask(X))


SPARSE: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "laconic: sparse, with proofs": laconic_sparse,
    "scikit-learn TruncatedSVD, not centred": truncated_svd,
    "scikit-learn PCA, arpack": sklearn_pca,
    "scanpy pp.pca": scanpy_pca,
}
DENSE: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "scikit-learn IncrementalPCA, dense batches": incremental_pca,
    "dask-ml PCA, randomized, dense blocks": dask_pca,
    "dask-ml TruncatedSVD, randomized, dense blocks": dask_svd,
}
# The packages that make rows dense take the smaller matrix only.
CASES = {(20_000, 5_000): {**SPARSE, **DENSE}, (300_000, 100_000): SPARSE}


def table() -> list[str]:
    """Return the table."""
    lines = [
        "| made counts | five components by | seconds | peak, MB | of it before the fit |",
        "|---|---|---|---|---|",
    ]
    for (n_rows, n_words), packages in CASES.items():
        words_in_memory(n_rows, n_words)
        for name in packages:
            r = run_alone("benchmarks.dense_pca", n_rows, n_words, name, time_limit=TIME_LIMIT)
            start = f"| {n_rows:,} x {n_words:,} | {name} |"
            if "failure" in r:
                missing = "not installed" if r["failure"] == "ModuleNotFoundError" else r["failure"]
                add_line(lines, f"{start} {missing} | - | - |")
                continue
            add_line(lines, f"{start} {r['seconds']:.2f} | {r['peak']:.0f} | {r['before']:.0f} |")
    return lines


def main(n_rows: str, n_words: str, package: str) -> None:
    warnings.simplefilter("ignore")
    X = load_csr(words_in_memory(int(n_rows), int(n_words)))
    work = {**SPARSE, **DENSE}[package](X)
    before = peak_megabytes()
    seconds, _ = seconds_of(work)
    print(json.dumps({"seconds": seconds, "peak": peak_megabytes(), "before": before}))


if __name__ == "__main__":
    main(*sys.argv[1:])
