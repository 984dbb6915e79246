"""
Disjoint components: groups of features
=======================================

With ``joint="disjoint"`` each feature belongs to one component at most. The components then divide the features into
groups, as the items of a questionnaire are divided into scales.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import laconic
from laconic.datasets import load_pitprops

table = load_breast_cancer(as_frame=True).data
model = laconic.SparsePCA(4, cardinality=5, scale=True, joint="disjoint").fit(table)
for number, rows in model.loadings().groupby("component"):
    print(f"{number}: {', '.join(rows['feature'])}")

# %%
# The correlations, with the features in the order of their groups. Each group is a block.

order = [place for support in model.supports_ for place in support]
correlations = table.iloc[:, order].corr()
figure, ax = plt.subplots(figsize=(7.5, 6.5), layout="constrained")
image = ax.imshow(correlations, cmap="RdBu_r", vmin=-1, vmax=1)
ax.set_xticks([])
ax.set_yticks(range(len(order)), correlations.columns, fontsize=8)
for start in range(0, 20, 5):
    ax.add_patch(plt.Rectangle((start - 0.5, start - 0.5), 5, 5, fill=False, linewidth=2))
figure.colorbar(image, label="correlation", shrink=0.8)
plt.show()

# %%
# All components are found together, and one bound is about all of them. With a total in place of one size, the search
# chooses the sizes, too.

pitprops = load_pitprops()
for cardinality in ([4, 3], {"total": 7}):
    pair = laconic.SparsePCA(2, cardinality=cardinality, joint="disjoint", proof="tight").fit_covariance(
        pitprops.covariance
    )
    print([support.tolist() for support in pair.supports_], pair.summary().loc["all", "verdict"], sep="\n")
