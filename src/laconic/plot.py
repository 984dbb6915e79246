"""Pictures. Each function draws one on the axes given, or on a new figure, and returns the axes.

`loadings`, `scores`, `biplot` and `scree` draw a model. `path`, `choice`, `stability` and `noise` draw the results of
functions of a model; they have `.plot()`, which is the same.
"""

from laconic.report.pictures import biplot, loadings, scores, scree
from laconic.report.plot_results import choice, noise, path, stability

__all__ = ["biplot", "choice", "loadings", "noise", "path", "scores", "scree", "stability"]
