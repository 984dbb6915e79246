"""
A biplot with few arrows
========================

A biplot shows rows as points and features as arrows. With many features an ordinary biplot is a thicket. Sparse
components have arrows only for the features that they use.
"""

from sklearn.datasets import load_wine

import laconic

wine = load_wine(as_frame=True)
growers = wine.target.map(lambda number: f"grower {number + 1}").rename("grower")

model = laconic.SparsePCA(2, cardinality=6, scale=True).fit(wine.data)
picture = laconic.plot.biplot(model, wine.data, color_by=growers)

# %%
# An arrow along an axis is a feature that one component uses. Hue is in both. The wines of grower 1 have much of the
# phenols and much alcohol; those of grower 3 have little of the phenols and a strong colour.

model.loadings()
