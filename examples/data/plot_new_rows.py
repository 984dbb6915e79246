"""
Save a model, and come back with new rows
=========================================

A model is saved as one file of JSON and arrays. Later it gives scores to new rows. They need only the columns that the
components use, in any order.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from laconic import SparsePCA, load_model

wine = load_wine(as_frame=True).data.sample(frac=1, random_state=0)
first, later = wine[:120], wine[120:]
model = SparsePCA(2, cardinality=3, scale=True).fit(first)
file = model.save(Path(tempfile.mkdtemp()) / "wines.laconic")

# %%
# Next week, with six columns in place of thirteen:

model = load_model(file)
needed = model.loadings()["feature"]
few = later[needed[::-1]]
print(few.columns.tolist())
print(model.verdicts_[0])

# %%
# The new wines fall where the others are.

figure, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
ax.plot(*model.transform(first).T, "o", color="#BBBBBB", label="wines of the fit")
ax.plot(*model.transform(few).T, "^", color="#004488", label="new wines")
names = [", ".join(rows["feature"].str.replace("_", " ")) for _, rows in model.loadings().groupby("component")]
ax.set_xlabel(names[0], fontsize=9)
ax.set_ylabel(names[1], fontsize=9)
ax.legend(frameon=False)
plt.show()
