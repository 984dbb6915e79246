"""
A biplot with few arrows
========================

A biplot shows rows as points and features as arrows. With 30 features an ordinary biplot is a thicket. Sparse
components have arrows only for the features that they use.
"""

from sklearn.datasets import load_breast_cancer

import laconic

tumours = load_breast_cancer(as_frame=True)
kinds = tumours.target.map({0: "malignant", 1: "benign"})

model = laconic.SparsePCA(2, cardinality=5, scale=True, disjoint=True).fit(tumours.data)
picture = laconic.plot_biplot(model, tumours.data, color_by=kinds)

# %%
# The first component is the size of the nuclei, the second their shape. Malignant tumours have large nuclei.

model.loadings()
