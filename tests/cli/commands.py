"""Calls of the command line, in this process and in one of its own."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from laconic.cli import app


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "100"}, input=stdin)


def done(*arguments, stdin=None):
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments):
    """Return the one line on standard error of a call that must fail."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("laconic: ")
    return line


def environment(**settings):
    """Return the environment of a process of its own, whose output does not depend on that of the tests."""
    clean = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE")}
    return {**clean, "PYTHONIOENCODING": "utf-8", **settings}


def program(*arguments, **settings):
    return subprocess.run(
        [sys.executable, "-m", "laconic", *map(str, arguments)],
        capture_output=True,
        env=environment(**settings),
        timeout=120,
    )


def genes():
    """Two hidden causes: five columns follow the first, four (two of them reversed) the second, three are noise."""
    rng = np.random.default_rng(5)
    W = np.zeros((2, 12))
    W[0, :5] = 3
    W[1, 5:9] = [2, -2, 2, -2]
    rows = rng.standard_normal((60, 2)) @ W + 0.5 * rng.standard_normal((60, 12))
    return pd.DataFrame(rows, columns=[f"gene {letter}" for letter in "ABCDEFGHIJKL"])
