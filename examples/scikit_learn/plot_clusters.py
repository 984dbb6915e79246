"""
Clusters on sparse scores
=========================

Clusters of rows are easier to explain if they were found on axes that use few features. Three clusters of wines are
found on three components of three measurements each, and compared with the three growers, whom the method does not
know.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from laconic import SparsePCA

wine = load_wine(as_frame=True)
model = SparsePCA(3, cardinality=3, scale=True, joint="span").fit(wine.data)
scores = model.transform(wine.data)
clusters = KMeans(3, n_init=10, random_state=0).fit(scores)
everything = KMeans(3, n_init=10, random_state=0).fit(scale(wine.data))
print(f"agreement with the growers, nine measurements: {adjusted_rand_score(wine.target, clusters.labels_):.2f}")
print(f"agreement with the growers, all 13 measurements: {adjusted_rand_score(wine.target, everything.labels_):.2f}")

# %%
# The plane of the first two components. The colour is the cluster, and the marker is the grower.

figure, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
colours = np.array(["#004488", "#DDAA33", "#BB5566"])
for grower, marker in zip(range(3), "os^", strict=True):
    own = wine.target == grower
    ax.scatter(*scores[own, :2].T, c=colours[clusters.labels_[own]], marker=marker, s=26, label=f"grower {grower + 1}")
ax.plot(*clusters.cluster_centers_[:, :2].T, "kX", markersize=11, label="centre of a cluster")
names = [", ".join(rows["feature"].str.replace("_", " ")) for _, rows in model.loadings().groupby("component")]
ax.set_xlabel(names[0], fontsize=8)
ax.set_ylabel(names[1], fontsize=8)
ax.legend(frameon=False)
plt.show()

# %%
# The three axes in words:

model.loadings()[["component", "feature", "loading"]]
