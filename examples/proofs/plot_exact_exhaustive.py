"""
The exact solution and exhaustive search
========================================

``method="exact"`` finds the best support with a proof. On a small table we can compare it with a search through all
supports. There soon are far too many of them. The exact solver looks at a few cases.
"""

from math import comb

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from laconic import SparsePCA

table = load_breast_cancer(as_frame=True).data  # 30 features
for k in (3, 4):
    every = SparsePCA(cardinality=k, method="exhaustive", scale=True).fit(table)
    exact = SparsePCA(cardinality=k, method="exact", scale=True).fit(table)
    assert set(every.supports_[0]) == set(exact.supports_[0])
    print(f"{k} of 30 features, {comb(30, k):,} supports: the same answer")

# %%
# A case (a *node* of the search) is the set of all supports that have some features and lack others. A bound excludes
# all of them at once. Here are the nodes that the exact solver needed, beside the number of supports.

sizes = (3, 4, 6, 8, 10, 12, 15)
models = [SparsePCA(cardinality=k, method="exact", scale=True).fit(table) for k in sizes]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.semilogy(sizes, [comb(30, k) for k in sizes], "o-", color="#BB5566", label="supports")
ax.semilogy(sizes, [model.solutions_[0].iterations for model in models], "s-", color="#004488", label="nodes, exact")
ax.set(xlabel="features in the component", ylabel="number")
ax.legend(frameon=False, loc="center right")
plt.show()

# %%
# Every one of these components is proved to be the best.

print(models[-1].verdicts_[0])
print(models[-1].solutions_[0].reason)
