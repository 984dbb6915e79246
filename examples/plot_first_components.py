"""
The first two components of a table
===================================

101 senators voted on 48 bills. Which few bills show how the Senate divides?
"""

# %%
# The table has a senator in each row and a bill in each column: 1 is yea, -1 is nay, 0 is anything else.
from laconic import SparsePCA, verify
from laconic.datasets import load_senate109

senate = load_senate109()
votes = senate.to_frame()
votes.iloc[:4, :6]

# %%
# Ask for a component of five bills and one of two bills, each with a proof.
model = SparsePCA(cardinality=[5, 2], proof="tight").fit(votes)
model.loadings()

# %%
# The verdicts say what is proved. The second component is the best one *given the first*.
for number, verdict in enumerate(model.verdicts_, start=1):
    print(f"Component {number}: {verdict}")

# %%
# A second program can check each proof. It uses no code of the search.
print(verify(model.certificates_[0], votes).reason)

# %%
# The scores put each senator in a plane whose axes can be read: five bills to the right, two bills upwards. Many
# senators voted alike, so that a small random shift keeps their points apart.
import matplotlib.pyplot as plt
import numpy as np

scores = model.transform(votes)
shifted = scores + np.random.default_rng(0).normal(scale=0.06, size=scores.shape)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for party, name, color, marker in (
    ("D", "Democrats", "#2166ac", "o"),
    ("R", "Republicans", "#b2182b", "s"),
    ("I", "Independent", "#4d9221", "^"),
):
    ax.scatter(*shifted[np.array(senate.parties) == party].T, s=22, color=color, marker=marker, label=name, alpha=0.75)
ax.set(xlabel="component 1: five bills", ylabel="component 2: two bills")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
