"""
Wide data: 100 rows, 5000 columns
=================================

With fewer rows than columns the covariance matrix is never built. Twenty of 5000 columns belong to a planted
component, as a group of genes might. The ordinary component spreads over all columns.
"""

import matplotlib.pyplot as plt
import numpy as np

from laconic import SparsePCA
from laconic.datasets import spiked_rows

planted = spiked_rows(100, 5000, 20, signal=10.0, rng=0)
model = SparsePCA(cardinality=20).fit(planted.data)
print(len(set(model.supports_[0]) & set(planted.support)), "of 20 planted columns are found")

# %%
# The loadings of both, for all columns. Grey circles are the planted columns.

centred = planted.data - planted.data.mean(axis=0)
dense = np.linalg.svd(centred, full_matrices=False)[2][0]
dense *= np.sign(dense @ model.components_[0])
figure, axes = plt.subplots(2, 1, figsize=(9, 5), sharex=True, layout="constrained")
for ax, loadings, title in (
    (axes[0], dense, "ordinary component"),
    (axes[1], model.components_[0], "sparse component"),
):
    used = np.flatnonzero(loadings)
    ax.vlines(used, 0, loadings[used], color="#004488", linewidth=0.6)
    ax.plot(planted.support, loadings[planted.support], "o", mfc="none", mec="#777777", markersize=6)
    ax.set(title=title, ylabel="loading")
axes[1].set_xlabel("column")
plt.show()

# %%
# How close are they to the direction that was planted? One is perfect.

for name, loadings in (("ordinary", dense), ("sparse", model.components_[0])):
    print(f"{name}: {abs(loadings @ planted.component):.3f}")

# %%
# Without a number of features, laconic looks for the sharpest bend of the curve in data such as these.

print(len(SparsePCA().fit(planted.data).supports_[0]), "features by default")
