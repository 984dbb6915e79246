"""Pictures. Each function draws one on the axes given, or on a new figure, and returns the axes.

`loadings`, `scores`, `biplot` and `scree` draw a model. `path` draws a path, as its `.plot()` does.
"""

from laconic.report.pictures import biplot, loadings, path, scores, scree

__all__ = ["biplot", "loadings", "path", "scores", "scree"]
