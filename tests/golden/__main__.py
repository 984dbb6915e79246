"""Write golden.json again, for a change on purpose: python -m tests.golden."""

import json

from tests.golden.problems import PROBLEMS
from tests.golden.surface import solve
from tests.golden.test_golden import FILE

if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(solve(problem))}" for name, problem in PROBLEMS.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
