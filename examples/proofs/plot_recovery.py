"""
Recovery: a search against thresholding
=======================================

The simplest way to a sparse component is to keep the largest loadings of the dense one. It works if the signal is
strong. When the signal is weaker, the dense component is mostly noise, and a search still finds the planted features.
"""

import matplotlib.pyplot as plt
import numpy as np

from laconic import SparsePCA
from laconic.datasets import spiked_rows

signals = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0]
found = {"thresholding": [], "auto": []}
for method, shares in found.items():
    for signal in signals:
        hits = []
        for seed in range(10):
            planted = spiked_rows(80, 200, 10, signal=signal, random_state=seed)
            model = SparsePCA(cardinality=10, method=method, proof=None).fit(planted.data)
            hits.append(len(set(model.supports_[0]) & set(planted.support)) / 10)
        shares.append(np.mean(hits))

# %%
# 80 rows of 200 features, of which ten belong to the component. The curve shows how many of the ten are found, as a
# mean of ten tables.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(signals, found["auto"], "o-", color="#004488", label="search (auto)")
ax.plot(signals, found["thresholding"], "s--", color="#BB5566", label="thresholding")
ax.set(xlabel="strength of the planted component", ylabel="share of its features found", ylim=(0, 1.03))
ax.legend(frameon=False)
plt.show()

# %%
# With a signal that is too weak, no method finds the support: the best support of the table is another one, which fits
# the noise.

weak = spiked_rows(80, 200, 10, signal=1.0, random_state=0)
model = SparsePCA(cardinality=10, proof=None).fit(weak.data)
planted_value = np.linalg.eigvalsh(np.cov(weak.data[:, weak.support].T))[-1]
print(f"variance of the planted support: {planted_value:.3f}; of the one found: {model.lower_bound_[0]:.3f}")
