"""
The same features for all components
====================================

Which measurements of a wine are worth making? With ``joint="common"`` all components use the same features, and are the
ordinary components of these. Given a share, the search looks for the fewest features that keep it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA

from laconic import SparsePCA

wine, cultivar = load_wine(return_X_y=True, as_frame=True)
model = SparsePCA(2, cardinality=0.8, scale=True, joint="common", proof="tight").fit(wine)
print(", ".join(model.loadings()["feature"].unique()))
print(model.summary().loc["all", "verdict"])

# %%
# The wines in the plane of all 13 measurements, and of the eight chosen. The three cultivars stay apart.

standard = (wine - wine.mean()) / wine.std()
planes = {"13 measurements": PCA(2).fit_transform(standard), "8 measurements": model.transform(wine)}
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for ax, (name, scores) in zip(axes, planes.items(), strict=True):
    for label, marker in enumerate("o^s"):
        ax.scatter(*scores[cultivar == label].T, marker=marker, s=14, label=f"cultivar {label}")
    ax.set(title=name, xlabel="component 1", ylabel="component 2")
axes[0].legend(frameon=False)
plt.show()

# %%
# Two components of four features each, one after the other, use eight features, too, and hold less. They are easier to
# read: four loadings each, not eight.

pair = SparsePCA(2, cardinality=4, scale=True).fit(wine)
for fitted in (model, pair):
    print(f"{fitted.loadings()['feature'].nunique()} features, {fitted.explained_variance_ratio_.sum():.3f}")
