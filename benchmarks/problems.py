"""The problems that laconic and the other packages solve."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import helmert, sqrtm
from studies.data import load_benchmark, load_marrow4k

from laconic.datasets import spiked_rows

#: The best known values of matrices from the literature: the maximum of z'Sz over unit z with k nonzeros.
BEST_KNOWN: dict[str, dict[int, float]] = {
    "pitprops": {5: 3.406155, 7: 3.996190, 10: 4.172638},
    "wine": {5: 3.439779, 10: 4.594293},
    "miniBoone": {5: 4.999998586, 10: 9.999994781},
    "ionosphere": {5: 3.754005564, 10: 6.138309428, 15: 7.789460450, 20: 8.492947973},
    "lung": {5: 3.335570683, 10: 4.812312178, 15: 6.013952298, 20: 7.070327076},
    "geography": {5: 5.0, 10: 10.0},
    "communities": {
        5: 4.860548140,
        10: 8.823615756,
        15: 11.7716362,
        20: 14.32695168,
        30: 18.77441661,
        50: 23.51996004,
    },
    "wdbc": {5: 5.64828763, 15: 5.65879247},
    "Eisen1": {
        5: 14.07570594,
        10: 17.33549909,
        15: 17.5842935,
        20: 17.71946105,
        30: 17.89625838,
        50: 18.06858927,
    },
    "lymphoma500": {5: 4300.496760, 10: 6008.741115, 20: 9082.157838, 50: 14546.93081},
}


def rows_with_covariance(S: np.ndarray) -> np.ndarray:
    """Return n + 1 centred rows with the sample covariance S, for packages that accept no covariance matrix."""
    root = np.real(sqrtm(S))
    return np.sqrt(len(S)) * helmert(len(S) + 1).T @ root


def dense_wide() -> np.ndarray:
    """500 x 10,000 Gaussian rows with a planted component of 25 features."""
    return spiked_rows(500, 10_000, 25, signal=10.0, rng=0).data


def sparse_square() -> Any:
    """CSR 20,000 x 20,000, about 100 nonzeros a row, with ten features that occur together in a thousand rows."""
    n = 20_000
    rng = np.random.default_rng(0)
    noise = sp.random_array(
        (n, n), density=100 / n, format="csr", rng=rng, data_sampler=lambda size: rng.exponential(size=size)
    )
    features, rows = rng.choice(n, 10, replace=False), rng.choice(n, 1000, replace=False)
    entries = rng.exponential(3.0, size=10_000)
    planted = sp.coo_array((entries, (np.repeat(rows, 10), np.tile(features, 1000))), shape=(n, n))
    return (noise + planted.tocsr()).tocsr()


def marrow() -> Any:
    """4,142 x 16,106 counts of genes in bone-marrow cells, CSR."""
    return load_marrow4k().data


def spike_tall() -> np.ndarray:
    """2,000 x 1,000 Gaussian rows with a planted component of 25 features."""
    return spiked_rows(2000, 1000, 25, signal=3.0, rng=0).data


def breast_cancer() -> np.ndarray:
    """569 x 30, standardised."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    return np.ascontiguousarray(StandardScaler().fit_transform(load_breast_cancer().data))


def digits() -> np.ndarray:
    """1,797 x 61, standardised: the pixels that are not constant."""
    from sklearn.datasets import load_digits
    from sklearn.preprocessing import StandardScaler

    pixels = load_digits().data
    return np.ascontiguousarray(StandardScaler().fit_transform(pixels[:, pixels.std(axis=0) > 0]))


def lung() -> np.ndarray:
    """55 x 54 rows with the covariance of the lung matrix."""
    return rows_with_covariance(load_benchmark("lung").covariance)


@dataclass(frozen=True)
class SpeedProblem:
    """A function that makes the rows, and the cardinality of the one component to find."""

    make: Callable[[], Any]
    cardinality: int


PROBLEMS: dict[str, SpeedProblem] = {
    "dense 500 x 10,000": SpeedProblem(dense_wide, 10),
    "CSR 20,000 x 20,000": SpeedProblem(sparse_square, 10),
    "marrow4k 4,142 x 16,106": SpeedProblem(marrow, 10),
    "dense 2,000 x 1,000": SpeedProblem(spike_tall, 25),
    "breast cancer 569 x 30": SpeedProblem(breast_cancer, 10),
    "lung 55 x 54": SpeedProblem(lung, 10),
    "digits 1,797 x 61": SpeedProblem(digits, 10),
}
