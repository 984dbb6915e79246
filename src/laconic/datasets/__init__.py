"""Data sets for sparse PCA: two tables in the package, and random rows with a known answer."""

from laconic.datasets.embedded import load_pitprops, load_senate109
from laconic.datasets.synthetic import spiked_rows

__all__ = ["load_pitprops", "load_senate109", "spiked_rows"]
