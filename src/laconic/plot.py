"""Pictures. Each function draws one on the axes given, or on a new figure, and returns the axes.

`loadings`, `scores` and `biplot` draw a model. `path` draws a path, as its `.plot()` does.
"""

from laconic.report.pictures import biplot, loadings, path, scores

__all__ = ["biplot", "loadings", "path", "scores"]
