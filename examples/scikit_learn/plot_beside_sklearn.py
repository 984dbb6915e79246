"""
Beside scikit-learn's SparsePCA
===============================

scikit-learn's ``SparsePCA`` takes a penalty ``alpha``, and the number of features is what comes out. laconic takes the
number. Here both run over their settings, and the variance held is counted in the same way.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import SparsePCA as PenalizedPCA
from sklearn.preprocessing import scale

from laconic import SparsePCA

X = scale(load_wine().data)


def held(components):
    """Return the share of the variance in the span of the components."""
    basis = np.linalg.qr(components[np.any(components, axis=1)].T)[0]
    return float(np.sum((X @ basis) ** 2) / np.sum(X**2))


alphas = [0.5, 1, 2, 3, 4, 5, 6, 8, 10]
by_alpha = [PenalizedPCA(3, alpha=alpha, random_state=0).fit(X).components_ for alpha in alphas]
by_size = [SparsePCA(3, cardinality=k, joint="span", proof=None).fit(X).components_ for k in range(1, 14)]

# %%
# The same number of nonzero loadings in all three components together, and the variance that they hold.

figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for found, style, colour, name in (
    (by_size, "o-", "#004488", "laconic"),
    (by_alpha, "s", "#BB5566", "scikit-learn, nine values of alpha"),
):
    ax.plot([np.count_nonzero(c) for c in found], [100 * held(c) for c in found], style, color=colour, label=name)
ax.set(xlabel="nonzero loadings in three components", ylabel="% of the variance held together")
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# scikit-learn divides the features unevenly among the components; laconic gives each the number that you ask for.

for alpha, components in zip(alphas, by_alpha, strict=True):
    print(f"alpha = {alpha:4}: nonzero loadings {[int(np.count_nonzero(c)) for c in components]}")
