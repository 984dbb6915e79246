"""
Sparse eigenvalues and the isometry constant
============================================

Compressed sensing works if any k columns of the measurement matrix are nearly orthogonal. The isometry constant
measures that. It is hard to compute, and the bounds of sparse PCA enclose it.
"""

import matplotlib.pyplot as plt

from laconic import sparse_eigenvalues
from laconic.datasets import gaussian_gram

matrix = gaussian_gram(100, 110, normalized=True, random_state=0).factor  # 100 measurements of 110 unknowns
sizes = [1, 2, 3, 4]
found = [sparse_eigenvalues(matrix, k) for k in sizes]
print(found[-1])

# %%
# The eigenvalues of every block of k columns lie between the two lines. The isometry constant is the larger of the two
# distances to one.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
axes[0].plot(sizes, [one.largest.upper for one in found], "o-", color="#BB5566", label="largest, upper bound")
axes[0].plot(sizes, [one.smallest.lower for one in found], "s-", color="#004488", label="smallest, lower bound")
axes[0].axhline(1, color="#777777", linewidth=1)
axes[0].set(xlabel="columns k", ylabel="eigenvalues of blocks", xticks=sizes)
axes[0].legend(frameon=False)
axes[1].plot(sizes, [one.isometry_constant.upper for one in found], "o-", color="black")
axes[1].axhline(1, color="#777777", linestyle="--", linewidth=1)
axes[1].set(xlabel="columns k", ylabel="isometry constant, upper bound", xticks=sizes)
plt.show()

# %%
# If the constant of 2s columns is below one (the dashed line), no two vectors with s nonzeros have the same
# measurements.

below = [k for k, one in zip(sizes, found, strict=True) if one.isometry_constant.upper < 1]
print("The constant is proved to be below one for k =", below)
