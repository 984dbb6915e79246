"""Without the extra `app`, everything but the command line, pictures, the page and Parquet works."""

import re
import subprocess
import sys

APP = ("jinja2", "matplotlib", "pyarrow", "rich", "typer")
START = f"""
import sys
sys.modules.update(dict.fromkeys({APP}))
import numpy as np
from laconic import SparsePCA, choose, load_model, path, read_table, scores, stability, verify
rows = np.random.default_rng(0).standard_normal((40, 6)) * np.arange(1, 7)
np.savetxt("t.csv", rows, delimiter=",", header="a,b,c,d,e,f", comments="")
open("t.parquet", "wb").close()
table = read_table("t.csv")
model = SparsePCA(2, cardinality=2, verbose=True).fit(table)
"""
WORKS = """
assert np.allclose(model.components_, SparsePCA(2, cardinality=2).fit("t.csv").components_, rtol=0, atol=1e-15)
assert np.allclose(model.transform(table), scores(model, "t.csv"))
assert verify(model.certificates_[0], "t.csv")
model.save("m.laconic")
assert np.array_equal(load_model("m.laconic").transform(table), model.transform(table))
print(model.summary(), model.loadings(), path(model, table), choose(model, table), stability(model, table, resamples=4))
"""
NEEDS_THE_APP = [
    "import laconic; laconic.plot.loadings",
    "import laconic.plot",
    "path(model, table).plot()",
    "model.report(table, 'page.html')",
    "SparsePCA().fit('t.parquet')",
]
SENTENCES = f"""
for code in {NEEDS_THE_APP}:
    try:
        exec(code)
    except ImportError as error:
        print(error)
    else:
        print(code, "needs nothing")
from laconic.cli import app
app()
"""


def run(code, folder):
    return subprocess.run([sys.executable, "-c", START + code], capture_output=True, text=True, cwd=folder, check=False)


def test_a_fit_and_its_questions_need_no_app(tmp_path):
    result = run(WORKS, tmp_path)
    assert result.returncode == 0, result.stderr


def test_what_needs_the_app_says_so_in_one_sentence(tmp_path):
    result = run(SENTENCES, tmp_path)
    lines = result.stdout.splitlines()
    assert len(lines) == len(NEEDS_THE_APP), result.stdout + result.stderr
    for code, line in zip(NEEDS_THE_APP, lines, strict=True):
        assert re.search(r"pip install ['\"]laconic\[app\]['\"]", line), (code, line)
    assert result.returncode == 2
    assert result.stderr == 'laconic: The command line needs more packages: pip install "laconic[app]".\n'
