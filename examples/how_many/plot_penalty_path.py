"""
A path over penalties
=====================

Some methods ask for a penalty in place of a number of features. ``penalty_path`` solves the l1 relaxation for many
penalties. A larger penalty gives fewer features, and jumps over some numbers.
"""

import matplotlib.pyplot as plt

from laconic import SparsePCA, penalty_path
from laconic.datasets import load_pitprops

pitprops = load_pitprops()
path = penalty_path(pitprops.covariance, 25, feature_names=pitprops.feature_names)
picture = path.plot()

# %%
# The loadings along the path, from few features on the left to many on the right.

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
vectors = [solution.vector(13) for solution in path.solutions]
ax.set_prop_cycle(color=plt.colormaps["tab20"].colors)
lines = ax.plot(path.penalties, vectors, marker=".")
ax.invert_xaxis()
ax.set(xlabel="penalty", ylabel="loading")
used = [place for place in range(13) if any(vector[place] for vector in vectors)]
ax.legend(
    [lines[place] for place in used],
    [pitprops.feature_names[place] for place in used],
    loc="center left",
    bbox_to_anchor=(1, 0.5),
    frameon=False,
)
plt.show()

# %%
# One penalty on its own. With ``method="dspca"`` it is the l1 penalty of the relaxation. With ``method="exact"`` it is
# the price of a feature: each must add at least so much variance.

for method, penalty in (("dspca", 0.3), ("exact", 0.3)):
    model = SparsePCA(penalty=penalty, method=method).fit_covariance(pitprops.covariance, pitprops.feature_names)
    print(method, penalty, model.feature_names_in_[model.supports_[0]])
