"""
How many features? The bend
===========================

178 wines, 13 measurements. ``choose`` looks at the path of best components, and says how many features to keep, and
why. It takes the sharpest bend of variance against the number of features.
"""

from sklearn.datasets import load_wine

from laconic import SparsePCA, choose, path

wine = load_wine(as_frame=True).data
choice = choose(SparsePCA(2, scale=True), wine)
print(choice.reason)

# %%
# The variance of the first component for each number of features.

picture = path(SparsePCA(scale=True), wine).plot()

# %%
# Nearly all measurements of the wines are correlated, so that the bend comes late. For a short list, say what share of
# the variance you want to keep.

for cardinality in ("hull", 0.75):
    model = SparsePCA(2, cardinality=cardinality, scale=True).fit(wine)
    sizes = [len(support) for support in model.supports_]
    print(cardinality, "->", sizes, f"{100 * model.explained_variance_ratio_.sum():.1f} % of the variance")
