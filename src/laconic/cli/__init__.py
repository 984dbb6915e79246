"""The command line: it reads options, calls the library, and prints or writes what comes back.

Everything slow to import is imported by the command that needs it.
"""

from laconic.cli import fitting, proofs, study
from laconic.cli.common import app

__all__ = ["app", "fitting", "proofs", "study"]
