"""
How many features? Cross-validation and the bend
================================================

178 wines, 13 measurements. ``choose`` looks at the path of best components, and says how many features to keep, and
why. Cross-validation asks which features help to predict entries that were held out. The hull takes the sharpest bend
of the curve.
"""

from sklearn.datasets import load_wine

from laconic import SparsePCA, choose

wine = load_wine(as_frame=True).data
choice = choose(wine, n_components=2, scale=True)
print(choice.reason)

# %%
# On the left is the variance for each number of features, with the choice of every criterion. On the right is the
# error in the entries that were held out.

picture = choice.plot()

# %%
# Nearly all measurements of the wines are correlated, so that prediction wants nearly all of them. For a short list,
# take the bend, or say what share of the variance you want to keep.

for settings in ({"cardinality": "cv"}, {"cardinality": "hull"}, {"min_variance": 0.75}):
    model = SparsePCA(2, scale=True, **settings).fit(wine)
    print(settings, "->", model.cardinality_, f"{100 * model.joint_variance_ratio_:.1f} % of the variance")
