"""
A correlation matrix with three decimals
========================================

A printed correlation of 0.954 may be anything from 0.9535 to 0.9545. With ``uncertainty=0.0005`` both bounds hold for
every matrix that would be printed like this one.
"""

import matplotlib.pyplot as plt

from laconic import SparsePCA
from laconic.datasets import load_pitprops

pitprops = load_pitprops()
half_digit = 0.0005
model = SparsePCA(cardinality=5, proof="tight").fit_covariance(
    pitprops.covariance, pitprops.feature_names, uncertainty=half_digit
)
print(model.verdicts_[0])

# %%
# With fewer digits less can be proved. Here the same matrix is taken as if it had been printed with three, two or one
# decimals.

figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
sizes = range(2, 11)
for half, colour, name in ((0.05, "#DDAA33", "one"), (0.005, "#BB5566", "two"), (0.0005, "#004488", "three")):
    models = [SparsePCA(cardinality=k).fit_covariance(pitprops.covariance, uncertainty=half) for k in sizes]
    lower, upper = ([m.lower_bound_[0] for m in models], [m.upper_bound_[0] for m in models])
    ax.fill_between(sizes, lower, upper, color=colour, alpha=0.75, label=f"{name} decimal{'s' * (half < 0.05)}")
ax.set(xlabel="number of features", ylabel="variance of the best component")
ax.legend(frameon=False, loc="upper left")
plt.show()
