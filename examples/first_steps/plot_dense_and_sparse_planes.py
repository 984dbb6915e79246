"""
Dense and sparse planes
=======================

Two components of ordinary PCA show three kinds of wine as three groups, and use all 13 measurements for each axis. Two
components of three measurements each show nearly the same picture.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import scale

from laconic import SparsePCA

wine = load_wine(as_frame=True)
model = SparsePCA(2, cardinality=3, scale=True).fit(wine.data)
model.loadings()

# %%
# The units differ, so both methods use standardised columns.

dense = PCA(2).fit_transform(scale(wine.data))
sparse = model.transform(wine.data)

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
names = [", ".join(rows["feature"]).replace("_", " ") for _, rows in model.loadings().groupby("component")]
for ax, scores, title in ((axes[0], dense, "all 13 measurements"), (axes[1], sparse, "three measurements an axis")):
    for kind, colour, marker in zip(range(3), ["#004488", "#DDAA33", "#BB5566"], "os^", strict=True):
        ax.scatter(*scores[wine.target == kind].T, c=colour, marker=marker, s=22, label=f"grower {kind + 1}")
    ax.set_title(title)
axes[0].set(xlabel="component 1", ylabel="component 2")
axes[1].set_xlabel(names[0], fontsize=9)
axes[1].set_ylabel(names[1], fontsize=9)
axes[0].legend(frameon=False)
plt.show()

# %%
# What does it cost? The components hold less of the total variance, and every fit says how much.

print(model.summary().loc["all", "verdict"])
