"""
Pit props, the classic example
==============================

Jeffers (1967) measured 180 pit props of pine, and published 13 measurements as a correlation matrix. Nearly every
paper on sparse PCA uses it. Six components with 7, 4, 4, 1, 1 and 1 features are the usual question, after Zou, Hastie
and Tibshirani (2006).
"""

import laconic
from laconic.datasets import load_pitprops

pitprops = load_pitprops()
model = laconic.SparsePCA(cardinality=[7, 4, 4, 1, 1, 1]).fit_covariance(pitprops.covariance, pitprops.feature_names)
model.summary().round(4)

# %%
# All six are proved optimal, each given the earlier ones. The loadings:

picture = laconic.plot.loadings(model)

# %%
# Papers count explained variance in different ways. Zou, Hastie and Tibshirani adjust it for correlated scores: the
# column ``qr_variance``. Their loadings, which have the same number of nonzeros, hold 75.8 % in this sense. Components
# found one after the other are chosen for another sum. ``joint="span"`` finds components that hold more together.

together = laconic.SparsePCA(cardinality=[7, 4, 4, 1, 1, 1], joint="span")
together.fit_covariance(pitprops.covariance, pitprops.feature_names)
for name, one in (("one after the other", model), ("together", together)):
    adjusted, held = 100 * one.summary().loc["all", ["qr_variance", "variance"]] / one.total_variance_
    print(f"{name}: {adjusted:.1f} % adjusted, {held:.1f} % in the span")

# %%
# The best variance for each number of features of the first component. Every value is proved.

tight = laconic.SparsePCA(proof="tight")
path = laconic.path(tight, covariance=pitprops.covariance)
assert max(path.upper_bounds / path.values) < 1 + 1e-6
picture = laconic.plot.path(path)
