"""
Features that must be in, or stay out
=====================================

A measurement may be cheap, or required by a standard: ``forced_in`` fixes it, and the proof is about all supports that
contain it. A measurement that is not to be trusted is left out of the table.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from laconic import SparsePCA, path

wine = load_wine(as_frame=True).data
free = SparsePCA(cardinality=4, scale=True, proof="tight").fit(wine)
forced = SparsePCA(cardinality=4, scale=True, proof="tight", forced_in=["alcohol"]).fit(wine.drop(columns="flavanoids"))
for name, model in (("free", free), ("forced", forced)):
    print(f"{name}: {', '.join(model.loadings()['feature'])}")
    print(model.verdicts_[0])

# %%
# The price for each number of features:

paths = {
    "no constraint": path(SparsePCA(scale=True), wine),
    "with alcohol": path(SparsePCA(scale=True, forced_in=["alcohol"]), wine),
    "without flavanoids": path(SparsePCA(scale=True), wine.drop(columns="flavanoids")),
}
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, curve), style in zip(paths.items(), ["o-", "s--", "^:"], strict=True):
    ax.plot(curve.cardinalities, curve.values, style, label=name)
ax.set(xlabel="number of measurements", ylabel="variance of the component", xticks=range(1, 14, 2))
ax.legend(frameon=False)
plt.show()
