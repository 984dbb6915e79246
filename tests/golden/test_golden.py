"""Supports, values, bounds and verdicts stay what they were. `python -m tests.golden` writes them again."""

import json
from pathlib import Path
from types import NoneType

import pytest
from tests.golden.problems import PROBLEMS
from tests.golden.surface import solve

FILE = Path(__file__).parent / "golden.json"
GOLDEN = json.loads(FILE.read_text()) if FILE.exists() else {}


def test_every_problem_is_frozen():
    assert list(GOLDEN) == list(PROBLEMS)


@pytest.mark.parametrize("name", PROBLEMS)
def test_golden(name):
    found, golden = solve(PROBLEMS[name]), GOLDEN[name]
    assert found.keys() == golden.keys()
    for part in golden:
        assert len(found[part]) == len(golden[part])
        for i, (record, before) in enumerate(zip(found[part], golden[part], strict=True)):
            _check(record, before, f"{part}[{i}]")


def _check(record, before, place):
    assert record.keys() == before.keys(), place
    for key, value in before.items():
        if key == "upper":
            _check_upper(record, value, place)
        elif key == "support" or isinstance(value, bool | str | NoneType):
            assert record[key] == value, f"{place}: {key}"
        else:
            assert record[key] == pytest.approx(value, rel=1e-9, abs=1e-12), f"{place}: {key}"


def _check_upper(record, before, place):
    """A bound may become better, but not worse, and it stays a bound."""
    if record["upper"] is None:
        assert before is None, f"{place}: the upper bound is gone"
        return
    assert record["upper"] >= record["lower"], place
    assert before is None or record["upper"] <= before + 1e-6 * abs(before), f"{place}: the upper bound is worse"
