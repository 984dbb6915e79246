"""
The l1 relaxation: DSPCA
========================

The relaxation of d'Aspremont, El Ghaoui, Jordan and Lanckriet replaces the number of features by a limit on the sum of
absolute entries. It is convex, so it gives an upper bound for every number of features, and a support to round to.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from laconic import SparsePCA, cardinality_path

tumours = load_breast_cancer(as_frame=True).data
l1 = cardinality_path(tumours, 20, scale=True, proof="l1")
fast = cardinality_path(tumours, 20, scale=True)

# %%
# A path has the variance found and a proved bound for each number of features. The gap between them is what is not
# known yet. Here the l1 bound is closer for few features. The default bound takes a few steps towards a stronger
# relaxation, and is closer for many. ``proof="tight"`` uses both, and closes most gaps.

figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for path, name, style, colour in ((l1, "l1 relaxation", "s--", "#DDAA33"), (fast, "default bound", "o-", "#004488")):
    gaps = 100 * (path.upper_bounds / path.values - 1)
    ax.plot(path.cardinalities, gaps, style, color=colour, markersize=5, label=name)
ax.set(xlabel="features", ylabel="gap in %", xticks=range(0, 21, 5))
ax.legend(frameon=False)
plt.show()

# %%
# As a method of its own, DSPCA solves the l1 relaxation and rounds its solution to a support.

model = SparsePCA(cardinality=6, method="dspca", scale=True).fit(tumours)
print(model.verdicts_[0])
print(model.solutions_[0].reason)
