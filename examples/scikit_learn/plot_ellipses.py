"""
Add ellipses to a picture
=========================

Every picture of laconic returns matplotlib's axes, which take any further drawing. Here an ellipse is drawn around each
group of wines: two standard deviations, if the group is normal.
"""

import numpy as np
from matplotlib.patches import Ellipse
from sklearn.datasets import load_wine

import laconic

wine = load_wine(as_frame=True)
growers = wine.target.map(lambda number: f"grower {number + 1}")
model = laconic.SparsePCA(2, cardinality=3, scale=True).fit(wine.data)
ax = laconic.plot.scores(model, wine.data, color_by=growers)

scores = model.transform(wine.data)
for grower in growers.unique():
    group = scores[growers == grower]
    variances, axes = np.linalg.eigh(np.cov(group.T))
    angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
    width, height = 4 * np.sqrt(variances[::-1])
    ax.add_patch(Ellipse(group.mean(axis=0), width, height, angle=angle, fill=False, color="#777777"))

# %%
# The centres of the groups, in the same plane:

for grower in growers.unique():
    print(grower, scores[growers == grower].mean(axis=0).round(2))
