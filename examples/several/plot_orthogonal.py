"""
Orthogonal components
=====================

Components that are found one after the other and share features are not orthogonal. With ``joint="orthogonal"`` they
are, as in ordinary PCA, so that their variances add up. A total number of features is divided by the search.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from laconic import SparsePCA

wine = load_wine(as_frame=True).data
single = SparsePCA(cardinality=[8, 6], scale=True).fit(wine)
together = SparsePCA(cardinality=[8, 6], scale=True, joint="orthogonal", proof="tight").fit(wine)
for name, model in (("one after the other", single), ("orthogonal", together)):
    product = abs(model.components_[0] @ model.components_[1])
    print(f"{name}: {model.explained_variance_ratio_.sum():.4f} of the variance, inner product {product:.0e}")
print(together.summary().loc["all", "verdict"])

# %%
# The loadings. Two features are in both components.

figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
places = np.arange(wine.shape[1])
for ax, model, name in zip(axes, (single, together), ("one after the other", "orthogonal"), strict=True):
    for shift, loadings, colour in zip((-0.2, 0.2), model.components_, ("#004488", "#DDAA33"), strict=True):
        ax.barh(places + shift, loadings, height=0.4, color=colour)
    ax.set(title=name, xlabel="loading")
axes[0].set_yticks(places, wine.columns, fontsize=8)
axes[0].invert_yaxis()
plt.show()

# %%
# How should ten features be divided? ``{"total": 10}`` lets the search decide, and the proof is about all divisions.

divided = SparsePCA(2, cardinality={"total": 10}, scale=True, joint="orthogonal", proof="tight").fit(wine)
print([len(support) for support in divided.supports_])
print(divided.summary().loc["all", "verdict"])
