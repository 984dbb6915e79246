"""
What varies in one group and not in the other
=============================================

Both groups share a large source of variation, such as age. The components of the first group alone show that. A
contrast subtracts the covariance of the second group, and finds what is special in the first.
"""

import matplotlib.pyplot as plt
import numpy as np

from laconic import SparsePCA

rng = np.random.default_rng(0)
n = 30
patients, healthy = rng.standard_normal((120, n)), rng.standard_normal((100, n))
patients[:, :5] += 2 * rng.standard_normal((120, 1))  # in both groups: features 0 to 4
healthy[:, :5] += 2 * rng.standard_normal((100, 1))
subtype = np.repeat([-1.2, 1.2], 60)
patients[:, [10, 11, 12, 13]] += subtype[:, None]  # in patients only: two subtypes

plain = SparsePCA(cardinality=4).fit(patients)
contrast = SparsePCA(cardinality=4).fit(patients, contrast=(healthy, 1.5))
print("patients alone:", plain.supports_[0])
print("patients against healthy:", contrast.supports_[0])
print(contrast.verdicts_[0])

# %%
# The scores of the contrast show the two subtypes.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for ax, model, title in ((axes[0], plain, "patients alone"), (axes[1], contrast, "patients against healthy")):
    scores = model.transform(patients)[:, 0]
    for value, colour, hatch in ((-1.2, "#004488", ""), (1.2, "#DDAA33", "//")):
        kind = f"subtype {1 if value < 0 else 2}"
        ax.hist(scores[subtype == value], bins=18, alpha=0.7, color=colour, hatch=hatch, label=kind)
    ax.set(title=title, xlabel="score", ylabel="patients")
axes[1].legend(frameon=False)
plt.show()
