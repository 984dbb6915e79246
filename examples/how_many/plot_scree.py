"""
Scree and parallel analysis
===========================

How many components does a table have? The scree plot shows the variance of each ordinary component. Parallel analysis
compares it with the variance in tables whose columns were permuted, so that nothing is related any more.
"""

from sklearn.datasets import load_wine

import laconic

wine = load_wine(as_frame=True).data
picture = laconic.plot.scree(laconic.SparsePCA(scale=True), wine)

# %%
# For sparse components the comparison must search, too: the best of many supports is large even in noise. ``choose``
# does that. A component counts if it is larger than in all 99 permuted tables.

choice = laconic.choose(wine, 6, n_components="parallel", criterion="hull", scale=True)
print(choice.n_components, "components with", choice.cardinality, "features")

# %%
# The variances of sparse components beside the dense ones:

model = laconic.SparsePCA(cardinality=choice.cardinality, scale=True).fit(wine)
picture = laconic.plot.scree(model, wine)
