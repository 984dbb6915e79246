"""
Missing values: pairwise deletion and EM
========================================

A third of the entries of a table are removed at random. ``missing="pairwise"`` and ``missing="em"`` find components
all the same, and scores for rows with holes. Filling the holes with column means is compared, too.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from laconic import SparsePCA

wine = load_wine(as_frame=True).data
holes = wine.mask(np.random.default_rng(0).random(wine.shape) < 0.33)
print(f"{int(holes.isna().sum().sum())} of {wine.size} values are missing")

complete = SparsePCA(2, cardinality=4, scale=True).fit(wine)
models = {
    "column means": SparsePCA(2, cardinality=4, scale=True).fit(holes.fillna(holes.mean())),
    "pairwise": SparsePCA(2, cardinality=4, scale=True, missing="pairwise").fit(holes),
    "em": SparsePCA(2, cardinality=4, scale=True, missing="em").fit(holes),
}

# %%
# How many of the features are those of the complete table, and how large do the components seem? Column means hide a
# part of every correlation, so that the variance looks too small.

print(f"complete: variances {complete.explained_variance_.round(2)}")
for way, model in models.items():
    common = [len(set(a) & set(b)) for a, b in zip(complete.supports_, model.supports_, strict=True)]
    print(f"{way}: {common} of [4, 4] features, variances {model.explained_variance_.round(2)}")

# %%
# Scores from rows with holes against the scores of the complete rows. A score that the values present do not determine
# is NaN.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True, sharey=True, layout="constrained")
truth = complete.transform(wine)[:, 0]
for ax, way in zip(axes, ("pairwise", "em"), strict=True):
    scores = models[way].transform(holes)[:, 0]
    kept = ~np.isnan(scores)
    ax.axline((0, 0), slope=1, color="#777777", linewidth=1)
    ax.plot(truth[kept], scores[kept], "o", color="#004488", markersize=4, alpha=0.7)
    correlation = np.corrcoef(truth[kept], scores[kept])[0, 1]
    ax.set(title=f"{way}: correlation {correlation:.2f}", xlabel="score of the complete row")
axes[0].set_ylabel("score of the row with holes")
plt.show()
