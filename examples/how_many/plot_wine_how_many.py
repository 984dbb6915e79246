"""
How many components and features?
=================================

178 wines, 13 measurements. ``choose`` recommends one number of components and one of features, and says what they cost.
"""

from sklearn.datasets import load_wine

from laconic import SparsePCA, choose

wine = load_wine(as_frame=True).data
choice = choose(SparsePCA(scale=True), wine)
print(choice)

# %%
# Three components of ordinary PCA are above the noise line. Beyond five features each, more features add little to the
# variance that three sparse components hold together.

axes = choice.plot()

# %%
# A fit takes the same numbers by default. For shorter or longer lists, say what share of the variance you want to keep.

for cardinality in (None, 0.75):
    model = SparsePCA(3, cardinality=cardinality, scale=True).fit(wine)
    sizes = [len(support) for support in model.supports_]
    print(cardinality, "->", sizes, f"{100 * model.explained_variance_ratio_.sum():.1f} % of the variance")
