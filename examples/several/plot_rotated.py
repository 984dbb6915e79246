"""
Rotated loadings beside sparse ones
===================================

Varimax makes many loadings small, but none zero. Sparse components have zeros. Both are drawn here for three components
of 13 measurements of wine. The page *Instead of varimax* has the shares of variance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import FactorAnalysis
from sklearn.preprocessing import scale

from laconic import SparsePCA

wine = load_wine(as_frame=True).data
rotated = FactorAnalysis(3, rotation="varimax", random_state=0).fit(scale(wine)).components_
rotated *= np.sign(rotated[range(3), abs(rotated).argmax(axis=1)])[:, None]  # the largest loading is positive
sparse = SparsePCA(3, cardinality=4, joint="disjoint", scale=True, proof="tight").fit(wine)

# %%
# Features are in the order of the sparse components. A white cell is a zero.

used = abs(sparse.components_)
order = np.lexsort([-used.max(axis=0), used.argmax(axis=0), used.max(axis=0) == 0])
figure, axes = plt.subplots(1, 2, figsize=(8, 4.6), sharey=True, layout="constrained")
for ax, loadings, title in (
    (axes[0], rotated, "factor analysis, varimax"),
    (axes[1], sparse.components_, "sparse, disjoint"),
):
    limit = abs(loadings).max()
    shown = np.ma.masked_equal(loadings[:, order].T, 0)
    ax.imshow(shown, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    ax.set(title=title, xticks=range(3), xticklabels=["1", "2", "3"], xlabel="component")
axes[0].set_yticks(range(13), wine.columns[order])
plt.show()

# %%
# No three disjoint components of four features hold more:

print(sparse.summary().loc["all", "verdict"])
