"""
One after the other, or together
================================

By default each component is the best for what the earlier ones leave. The first may take what the second needs.
``joint="span"`` looks for components that hold the most variance together.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from laconic import SparsePCA

table = load_breast_cancer(as_frame=True).data
sizes = [5, 8, 10, 15, 20, 30]
single = [SparsePCA(3, cardinality=k, scale=True).fit(table) for k in sizes]
together = [SparsePCA(3, cardinality=k, scale=True, joint="span").fit(table) for k in sizes]

# %%
# Three components with 15 features each, found together, hold nearly as much as three ordinary ones.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(sizes, [100 * m.explained_variance_ratio_.sum() for m in together], "s-", color="#BB5566", label="together")
ax.plot(
    sizes, [100 * m.explained_variance_ratio_.sum() for m in single], "o-", color="#004488", label="one after the other"
)
dense = 100 * single[0].summary().loc["all", "dense_variance"] / single[0].total_variance_
ax.axhline(dense, color="#777777", linestyle="--", label="three ordinary components")
ax.set(xlabel="features in each component", ylabel="% of the variance held together")
ax.legend(frameon=False)
plt.show()

# %%
# The verdict has the proved limit for all components of these sizes.

print(together[2].summary().loc["all", "verdict"])
