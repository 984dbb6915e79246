"""
Components without negative loadings
====================================

With ``nonnegative=True`` a component is a weighted sum of features: an index, or a part of an image. Here are parts of
handwritten digits, found with and without the constraint.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from laconic import SparsePCA

images = load_digits().data
free = SparsePCA(5, cardinality=12, proof=None).fit(images)
parts = SparsePCA(5, cardinality=12, proof=None, nonnegative=True).fit(images)

# %%
# Three pixels are always empty, and a warning says so. Above, loadings of both signs: ink here and no ink there.
# Below, only ink.

figure, axes = plt.subplots(2, 5, figsize=(9, 4), layout="constrained")
for row, model in zip(axes, (free, parts), strict=True):
    for number, (ax, component) in enumerate(zip(row, model.components_, strict=True), start=1):
        ax.imshow(component.reshape(8, 8), cmap="RdBu_r", vmin=-0.6, vmax=0.6)
        ax.set(xticks=[], yticks=[], title=f"component {number}")
axes[0, 0].set_ylabel("either sign")
axes[1, 0].set_ylabel("nonnegative")
plt.show()

# %%
# The constraint costs variance.

print(f"either sign: {100 * free.joint_variance_ratio_:.1f} % of the variance")
print(f"nonnegative: {100 * parts.joint_variance_ratio_:.1f} %")
