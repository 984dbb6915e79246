"""
Outliers, and a robust covariance
=================================

A few wrong rows can decide a component. A robust covariance leaves them out of account. scikit-learn has one, and
``fit_covariance`` takes any covariance matrix. The proof is then about that matrix.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.covariance import MinCovDet

from laconic import SparsePCA

rng = np.random.default_rng(0)
rows = rng.standard_normal((200, 12))
rows[:, :4] += 1.2 * rng.standard_normal((200, 1))  # features 0 to 3 belong together
rows[:8, [7, 9, 10]] += 9  # eight rows with an error in three columns

plain = SparsePCA(cardinality=4).fit(rows)
robust = SparsePCA(cardinality=4).fit_covariance(MinCovDet(random_state=0).fit(rows).covariance_)
print("all rows:", plain.supports_[0])
print("robust:", robust.supports_[0])

# %%
# The scores on both components. The eight rows make the plain component; the robust one hardly sees them.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for ax, model, title in ((axes[0], plain, "all rows"), (axes[1], robust, "robust covariance")):
    scores = (rows - np.median(rows, axis=0)) @ model.components_[0]
    ax.plot(np.arange(8, 200), scores[8:], "o", color="#004488", markersize=4, label="good rows")
    ax.plot(np.arange(8), scores[:8], "s", color="#BB5566", markersize=6, label="rows with errors")
    ax.set(title=title, xlabel="row", ylabel="score")
axes[0].legend(frameon=False)
plt.show()
