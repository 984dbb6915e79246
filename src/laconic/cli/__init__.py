"""The command line: it reads options, calls the library, and prints or writes the result.

It needs the packages of `laconic[app]`. Each command imports the library inside its function, so that `laconic --help`
is fast.
"""

import sys
from typing import Any

try:
    from laconic.cli.commands import app
except ImportError as error:
    if error.name not in ("typer", "rich", "click"):
        raise

    def app(*_: Any, **__: Any) -> None:  # type: ignore[misc]
        """Say what to install, and end the program with the status of bad input."""
        print('laconic: The command line needs more packages: pip install "laconic[app]".', file=sys.stderr)
        raise SystemExit(2)


__all__ = ["app"]
