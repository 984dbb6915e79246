"""
In a pipeline, with a grid search
=================================

``SparsePCA`` is a scikit-learn transformer. Here it prepares features for a classifier, and ``GridSearchCV`` chooses
how many features and components to keep. The final model needs only some of the measurements.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laconic import SparsePCA

tumours = load_breast_cancer(as_frame=True)
pipe = make_pipeline(StandardScaler(), SparsePCA(proof=None), LogisticRegression()).set_output(transform="pandas")
grid = {"sparsepca__n_components": [2, 4], "sparsepca__cardinality": [1, 2, 3, 5, 7]}
search = GridSearchCV(pipe, grid, cv=4).fit(tumours.data, tumours.target)
print(search.best_params_)

# %%
# The accuracy is nearly as good with few features as with many.

results = search.cv_results_
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for count, style, colour in ((2, "o-", "#004488"), (4, "s--", "#BB5566")):
    chosen = results["param_sparsepca__n_components"] == count
    ax.errorbar(
        results["param_sparsepca__cardinality"][chosen].astype(int),
        results["mean_test_score"][chosen],
        results["std_test_score"][chosen],
        fmt=style,
        color=colour,
        capsize=3,
        label=f"{count} components",
    )
ax.set(xlabel="features in each component", ylabel="accuracy, 4 folds")
ax.legend(frameon=False)
plt.show()

# %%
# Which measurements does a small model use?

pipe.set_params(sparsepca__n_components=2, sparsepca__cardinality=3, sparsepca__proof="fast")
small = pipe.fit(tumours.data, tumours.target)
small["sparsepca"].loadings()
