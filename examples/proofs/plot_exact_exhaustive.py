"""
The exact solution and exhaustive search
========================================

``method="exact"`` finds the best support with a proof. On a small table we can compare it with a search through all
supports. The exhaustive search soon takes far too long. The exact one does not.
"""

import time
from math import comb

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from laconic import SparsePCA

table = load_breast_cancer(as_frame=True).data


def timed(method, k):
    start = time.perf_counter()
    model = SparsePCA(cardinality=k, method=method, scale=True).fit(table)
    return time.perf_counter() - start, model


timed("exact", 4)  # loads the compiled code
slow, fast = {}, {}
for k in range(2, 6):
    slow[k], every = timed("exhaustive", k)
    fast[k], exact = timed("exact", k)
    assert set(every.supports_[0]) == set(exact.supports_[0])
    print(f"{k} of 30 features, {comb(30, k):7,} supports: the same answer")

# %%
# With ten features there are thirty million supports. The exact solver still needs only a moment.

for k in (8, 10, 12, 15):
    fast[k], exact = timed("exact", k)
print(exact.verdicts_[0])

# %%
# Seconds for both:

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.semilogy(slow.keys(), slow.values(), "o-", color="#BB5566", label="exhaustive")
ax.semilogy(fast.keys(), fast.values(), "s-", color="#004488", label="exact")
ax.set(xlabel="features in the component", ylabel="seconds")
ax.legend(frameon=False)
plt.show()
