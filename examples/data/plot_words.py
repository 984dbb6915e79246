"""
From texts to topics
====================

scikit-learn's ``CountVectorizer`` turns texts into a sparse matrix of word counts. A sparse component of it is a short
list of words that occur together: a topic. The matrix stays sparse, and is centred exactly.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from laconic import SparsePCA

topics = {
    "kitchen": ["bake", "oven", "flour", "butter", "sugar", "recipe"],
    "garden": ["soil", "seed", "plant", "water", "rose", "spade"],
    "travel": ["train", "ticket", "hotel", "luggage", "station", "map"],
}
common = ["the", "of", "and", "a", "to", "in", "we", "is", "it", "was", "for", "with"]
others = [word for words in topics.values() for word in words]
rng = np.random.default_rng(0)
texts, about = [], []
for _ in range(600):
    topic = rng.choice(list(topics))
    words = [*rng.choice(topics[topic], 8), *rng.choice(common, 10), *rng.choice(others, 3)]
    texts.append(" ".join(rng.permutation(words)))
    about.append(topic)
print(texts[0])

# %%
# Frequent words that belong to no topic vary, too, but not together with others. With ``nonnegative=True`` a component
# is a list of words that occur together; without it, a component may set one topic against another.

counter = CountVectorizer(token_pattern=r"\w+")
counts = counter.fit_transform(texts)
model = SparsePCA(3, cardinality=6, nonnegative=True).fit(counts, feature_names=counter.get_feature_names_out())
for number, rows in model.loadings().groupby("component"):
    print(f"component {number}: {', '.join(rows['feature'])}")

# %%
# The scores of the texts, by the topic that they were made from.

scores = model.transform(counts)
about = np.array(about)
figure, ax = plt.subplots(figsize=(6.5, 5), layout="constrained")
for topic, colour, marker in zip(topics, ["#004488", "#DDAA33", "#BB5566"], "os^", strict=True):
    ax.scatter(*scores[about == topic, :2].T, c=colour, marker=marker, s=14, alpha=0.7, label=topic)
first, second = (", ".join(rows["feature"][:3]) for _, rows in list(model.loadings().groupby("component"))[:2])
ax.set(xlabel=f"component 1: {first}, ...", ylabel=f"component 2: {second}, ...")
ax.legend(frameon=False)
plt.show()
