"""One module for each method, with a function `fit(X, k) -> support`. `NAMES` has the order of the tables."""

NAMES = ["laconic_auto", "laconic_greedy_path", "abess_pca", "sklearn_pca", "sklearn_minibatch", "floor_svds"]
