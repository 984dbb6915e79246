"""One file a peer, each with `fit(X, k) -> support`; `NAMES` lists them in the order of the tables."""

NAMES = ["laconic_auto", "laconic_greedy_path", "abess_pca", "sklearn_pca", "sklearn_minibatch", "floor_svds"]
