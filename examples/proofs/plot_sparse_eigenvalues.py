"""
Sparse eigenvalues and the isometry constant
============================================

Compressed sensing works if any k columns of the measurement matrix are nearly orthogonal. The isometry constant
measures that. It is hard to compute, and the bounds of sparse PCA enclose it.
"""

import matplotlib.pyplot as plt
import numpy as np

from laconic import sparse_eigenvalues

matrix = np.random.default_rng(0).standard_normal((100, 110)) / 10  # 100 measurements of 110 unknowns
sizes = [1, 2, 3, 4, 5, 6]
found = [sparse_eigenvalues(matrix, k, proof="fast") for k in sizes]
print(found[3])

# %%
# The eigenvalues of every block of k columns lie between the smallest and the largest. The isometry constant is the
# larger of their distances to one. Each band lies between the two bounds of a number. ``proof="tight"`` makes it
# narrower.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for values, colour, name in (
    ([one.largest for one in found], "#BB5566", "largest"),
    ([one.smallest for one in found], "#004488", "smallest"),
):
    axes[0].fill_between(sizes, [v.lower for v in values], [v.upper for v in values], color=colour, label=name)
axes[0].axhline(1, color="#777777", linewidth=1)
axes[0].set(xlabel="columns k", ylabel="eigenvalue of a block of k columns", xticks=sizes)
axes[0].legend(frameon=False)
constants = [one.isometry_constant for one in found]
axes[1].fill_between(sizes, [v.lower for v in constants], [v.upper for v in constants], color="#777777")
axes[1].axhline(1, color="black", linestyle="--", linewidth=1)
axes[1].set(xlabel="columns k", ylabel="isometry constant", xticks=sizes)
plt.show()

# %%
# If the constant of 2s columns is below one (the dashed line), no two vectors with s nonzeros have the same
# measurements.

below = [k for k, constant in zip(sizes, constants, strict=True) if constant.upper < 1]
print("The constant is proved to be below one for k =", below)
