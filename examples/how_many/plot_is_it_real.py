"""
Is it more than noise?
======================

Noise has a best component, too, and it can be proved to be the best. So a proof is no test of significance. The test
compares a component with what the same search finds in tables with permuted columns.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from laconic import SparsePCA, noise

random_numbers = np.random.default_rng(0).standard_normal((100, 40))
model = SparsePCA(cardinality=5, proof="tight").fit(random_numbers)
print(model.verdicts_[0])
print(noise(model, random_numbers, permutations=39).verdict)

# %%
# Both sentences are true: no other five columns go together better, and still it is noise.
#
# Seven components of three measurements of wines, and the same test for each:

wine = load_wine(as_frame=True).data
compared = noise(SparsePCA(7, cardinality=3, scale=True), wine, permutations=39)
beside = compared.to_frame().set_index("component")[["value", "noise_line"]]
beside.plot(style=["D", "--"], ylabel="variance", figsize=(8, 4))
plt.show()

# %%
# Read from the left, and stop at the first component that is noise.

print(compared.n_real(), "components are better than noise")
compared.to_frame()[["component", "value", "noise_line", "p_value"]].round(3)
