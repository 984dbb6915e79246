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
# Dark bars are the features that the whole table chooses.

figure, axes = plt.subplots(1, 3, figsize=(12, 4.5), layout="constrained")
for component, ax in enumerate(axes, start=1):
    found.plot(ax, component=component)
plt.show()

# %%
# The features that at least nine halves of ten choose:

for component in (1, 2, 3):
    print(component, found.selected(0.9, component=component))
