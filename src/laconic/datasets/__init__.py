"""Data sets for sparse PCA: two tables in the package, and random models with known answers."""

from laconic.datasets.embedded import load_pitprops, load_senate109
from laconic.datasets.synthetic import gaussian_gram, noisy_rank_one, spiked_covariance, spiked_rows

__all__ = [
    "gaussian_gram",
    "load_pitprops",
    "load_senate109",
    "noisy_rank_one",
    "spiked_covariance",
    "spiked_rows",
]
