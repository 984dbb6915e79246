"""The command line: it reads options, calls the library, and prints or writes the result.

Each command imports the library inside its function, so that `laconic --help` is fast.
"""

from laconic.cli import choosing, demo, fitting, models, pages, paths, proofs, resampling
from laconic.cli.common import app

__all__ = ["app", "choosing", "demo", "fitting", "models", "pages", "paths", "proofs", "resampling"]
