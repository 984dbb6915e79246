"""
Digits: strokes in place of ghosts
==================================

A component of ordinary PCA on images of digits uses all 64 pixels, and looks like a ghost of several digits at once. A
sparse component uses ten pixels: the places where ink is, or is not, together.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from laconic import SparsePCA

digits = load_digits()
model = SparsePCA(6, cardinality=10).fit(digits.data)
dense = PCA(6).fit(digits.data)

# %%
# Three pixels are always empty, and a warning says so. Red pixels and blue pixels have loadings of opposite sign. The
# sparse components are parts of strokes.

figure, axes = plt.subplots(2, 6, figsize=(10, 3.8), layout="constrained")
for row, components in zip(axes, (dense.components_, model.components_), strict=True):
    for number, (ax, component) in enumerate(zip(row, components, strict=True), start=1):
        limit = abs(component).max()
        ax.imshow(component.reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
        ax.set(xticks=[], yticks=[], title=f"component {number}")
axes[0, 0].set_ylabel("64 pixels")
axes[1, 0].set_ylabel("10 pixels")
plt.show()

# %%
# Each component is close to the best ten pixels that there are. The verdict says how close.

print(model.summary().loc["all", "verdict"])
model.summary()[["variance", "share", "gap", "verdict"]].round(3)
