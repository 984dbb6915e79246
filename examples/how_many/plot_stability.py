"""
Would other rows give the same features?
========================================

The wines are split into halves many times, and each half is searched like the whole table. A feature that nearly every
half chooses can be reported. One that comes and goes depends on the rows at hand.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from laconic import SparsePCA, stability

wine = load_wine(as_frame=True).data
found = stability(SparsePCA(3, cardinality=3, scale=True), wine, resamples=60)
print(found.verdict)

# %%
# The share of halves that choose a feature, for each component:

shares = found.to_frame().pivot(index="feature", columns="component", values="frequency")
shares.plot.barh(subplots=True, layout=(1, 3), sharey=True, legend=False, figsize=(12, 4.5))
plt.show()

# %%
# The features that at least nine halves of ten choose:

for component in (1, 2, 3):
    print(component, found.selected(0.9, component=component))
