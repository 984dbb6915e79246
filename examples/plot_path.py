"""
Variance against the number of features
=======================================

How much does a component lose if it uses fewer features? A path answers this for every number of features, and the
proved bounds say how much more any other choice could reach.
"""

# %%
# The measurements of 180 pit props are known by their correlation matrix.
from laconic import cardinality_path
from laconic.datasets import load_pitprops

pitprops = load_pitprops()
path = cardinality_path(pitprops.covariance, feature_names=pitprops.feature_names, proof="tight")
path.to_frame()[["cardinality", "value", "upper_bound", "gap", "share"]].round(4)

# %%
# The share is that of the ordinary first component, which uses all thirteen measurements. Every gap is 0: no other
# choice of as many measurements reaches more.
picture = path.plot()

# %%
# The bend of the curve is at ``suggested``. These measurements belong to it:
print(path.suggested, path.names(path.suggested))
