"""
Large data in blocks
====================

A file need not fit in memory. ``fit`` takes its path, reads it in blocks, and gives the components of all rows. It also
takes an iterable of blocks.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from laconic import SparsePCA, scores, verify

rng = np.random.default_rng(0)
rows = rng.standard_normal((40_000, 25)) + rng.standard_normal((40_000, 1)) * (np.arange(25) < 4)
table = pd.DataFrame(rows, columns=[f"sensor {number}" for number in range(1, 26)])
file = Path(tempfile.mkdtemp()) / "sensors.parquet"
table.to_parquet(file)

model = SparsePCA(cardinality=4).fit(file)
print(model.loadings())
print(verify(model.certificates_[0], file).reason)

# %%
# Scores are computed block by block, too.

print(scores(model, file).describe().loc[["count", "std"]])

# %%
# Rows that are made or fetched block by block are given as an iterable of blocks. It is read twice, once for the
# variances and once for the products of the columns that matter.

blocks = np.array_split(rows, 40)
assert np.array_equal(SparsePCA(cardinality=4).fit(blocks).supports_[0], model.supports_[0])

# %%
# The loadings settle as rows arrive.

seen = range(100, 4001, 100)
loadings = [SparsePCA(cardinality=4, proof=None).fit(rows[:count]).components_[0] for count in seen]
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(seen, np.abs(loadings)[:, 4:], color="#BBBBBB", linewidth=1)
for place, style in zip(range(4), ["-", "--", "-.", ":"], strict=True):
    ax.plot(seen, np.array(loadings)[:, place], style, label=f"sensor {place + 1}")
ax.axhline(0.5, color="#777777", linewidth=0.8)
ax.set(xlabel="rows seen", ylabel="loading")
ax.legend(frameon=False, loc="lower right")
plt.show()
