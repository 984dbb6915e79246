"""Exit codes and commands in the help, completion in a shell."""

import re

import pytest
from tests.cli.commands import done
from typer.testing import CliRunner

from laconic.cli import app
from laconic.cli.messages import ORDER


def test_the_help_has_exit_codes_and_all_commands():
    text = done("--help").stdout
    assert re.findall(r"^    (\d+) +\w", text, re.M) == ["0", "1", "2", "130"]
    commands = text.partition("Commands:")[2].partition("Exit codes")[0]
    assert tuple(re.findall(r"^  (\w+) ", commands, re.M)) == ORDER
    assert "--install-completion" in text


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("laconic fi", ["fit"]),
        ("laconic fit --time", ["--time-limit"]),
        ("laconic fit --method ex", ["exact", "exhaustive"]),
        ("laconic fit --pictures ", ["png", "svg", "pdf"]),
        ("laconic choose --criterion e", ["ebic"]),
    ],
)
def test_completion_in_bash(words, found):
    typed = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1), "_LACONIC_COMPLETE": "complete_bash"}
    result = CliRunner().invoke(app, [], env=typed, prog_name="laconic")
    assert result.stdout.split() == found
