"""
Five bills that divide the Senate
=================================

101 senators of the 109th United States Senate voted on 48 bills. Ordinary PCA gives every bill a loading. Here the
first component may use five bills and the second two, so that each axis of the picture can be read.
"""

import laconic
from laconic.datasets import load_senate109

senate = load_senate109()
votes = senate.frame  # one row for each senator: 1 is yea, -1 is nay, 0 is neither
model = laconic.SparsePCA(cardinality=[5, 2], proof="tight").fit(votes)
model.loadings()

# %%
# What are these bills about?

for place in sorted(set(model.supports_[0]) | set(model.supports_[1])):
    print(f"{senate.feature_names[place]:14} {senate.titles[place]}")

# %%
# Each component comes with a sentence that says what is proved. The second one is the best for what the first leaves.

for verdict in model.verdicts_:
    print(verdict)

# %%
# The scores. The first axis separates the parties; the second is about one trade agreement, and divides both of them.

names = {"D": "Democrat", "R": "Republican", "I": "Independent"}
picture = laconic.plot.scores(model, votes, color=[names[party] for party in senate.parties])
