"""
The exact solution and exhaustive search
========================================

``proof="exact"`` proves that a support is the best one. On a small table we can compare it with a search through all
supports. There soon are far too many of them. The proof needs a few cases.
"""

from math import comb
from time import perf_counter

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from laconic import SparsePCA

table = load_breast_cancer(as_frame=True).data  # 30 features
for k in (3, 4):
    every = SparsePCA(cardinality=k, method="exhaustive", scale=True).fit(table)
    exact = SparsePCA(cardinality=k, proof="exact", scale=True).fit(table)
    assert set(every.supports_[0]) == set(exact.supports_[0])
    print(f"{k} of 30 features, {comb(30, k):,} supports: the same answer")

# %%
# A proof divides the supports into cases: some features are in, some are out. A bound excludes all supports of a case
# at once. So the time hardly grows with the number of supports.

sizes = (3, 4, 6, 8, 10, 12, 15)
models, seconds = [], []
for k in sizes:
    start = perf_counter()
    models.append(SparsePCA(cardinality=k, proof="exact", scale=True).fit(table))
    seconds.append(perf_counter() - start)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].semilogy(sizes, [comb(30, k) for k in sizes], "o-", color="#BB5566")
axes[1].plot(sizes, seconds, "s-", color="#004488")
axes[0].set(xlabel="features in the component", ylabel="number of supports")
axes[1].set(xlabel="features in the component", ylabel="seconds of a fit with its proof", ylim=(0, None))
plt.show()

# %%
# Every one of these components is proved to be the best.

assert all(model.gap_[0] < 1e-6 for model in models)
print(models[-1].verdicts_[0])
