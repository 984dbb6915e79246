"""
Rules of deflation compared
===========================

A component is removed from the covariance matrix before the next one is searched. For sparse components there are
several ways to do that, and the later components differ.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from laconic import SparsePCA

table = load_breast_cancer(as_frame=True).data
rules = {"projection": "o-", "schur": "s--", "hotelling": "^:"}
models = {rule: SparsePCA(6, cardinality=4, scale=True, deflation=rule).fit(table) for rule in rules}

# %%
# The variance that the components hold together, counted once. ``schur`` asks for scores without correlation, and pays
# for it in variance. ``hotelling`` is the rule of ordinary PCA. For sparse components it may leave a matrix with
# negative eigenvalues.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for (rule, style), colour in zip(rules.items(), ["#004488", "#DDAA33", "#BB5566"], strict=True):
    held = 100 * np.cumsum(models[rule].explained_variance_ratio_)
    axes[0].plot(range(1, 7), held, style, color=colour, label=rule)
    correlations = np.abs(np.corrcoef(models[rule].transform(table).T))
    largest = [correlations[place, :place].max() for place in range(1, 6)]
    axes[1].plot(range(2, 7), largest, style, color=colour, label=rule)
axes[0].set(xlabel="components", ylabel="% of the variance held together", ylim=(0, None))
axes[1].set(xlabel="component", xticks=range(2, 7), ylabel="largest correlation with earlier scores", ylim=(0, 1.03))
axes[0].legend(frameon=False)
plt.show()
