"""
Large data in blocks
====================

A file need not fit in memory. ``fit`` takes its path, reads it in blocks, and gives the components of all rows.
``partial_fit`` is for rows that arrive one batch after the other.
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
# The same rows in batches. ``partial_fit`` keeps sums, not rows. The loadings settle as rows arrive.

stream = SparsePCA(cardinality=4)
seen, loadings = [], []
for batch in np.array_split(rows[:4000], 40):
    stream.partial_fit(batch)
    seen.append(100 * (len(seen) + 1))
    loadings.append(stream.components_[0].copy())
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(seen, np.abs(loadings)[:, 4:], color="#BBBBBB", linewidth=1)
for place, style in zip(range(4), ["-", "--", "-.", ":"], strict=True):
    ax.plot(seen, np.array(loadings)[:, place], style, label=f"sensor {place + 1}")
ax.axhline(0.5, color="#777777", linewidth=0.8)
ax.set(xlabel="rows seen", ylabel="loading")
ax.legend(frameon=False, loc="lower right")
plt.show()
