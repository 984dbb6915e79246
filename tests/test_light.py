"""Without the extra `app`, everything but the command line, pictures, the page and Parquet works."""

import re
import subprocess
import sys

import pytest

APP = ("jinja2", "matplotlib", "pyarrow", "rich", "typer")
START = f"""
import sys
sys.modules.update(dict.fromkeys({APP}))
import numpy as np
from pathlib import Path
from laconic import SparsePCA, choose, load_model, path, read_table, scores, stability, verify
rows = np.random.default_rng(0).standard_normal((40, 6)) * np.arange(1, 7)
np.savetxt("t.csv", rows, delimiter=",", header="a,b,c,d,e,f", comments="")
table = read_table("t.csv")
model = SparsePCA(2, cardinality=2, verbose=True).fit(table)
"""
WORKS = """
assert np.array_equal(model.components_, SparsePCA(2, cardinality=2).fit("t.csv").components_)
assert np.allclose(model.transform(table), scores(model, "t.csv"))
assert verify(model.certificates_[0], "t.csv")
model.save("m.laconic")
assert np.array_equal(load_model("m.laconic").transform(table), model.transform(table))
print(model.summary(), model.loadings(), path(model, table), choose(model, table), stability(model, table, resamples=4))
"""
SENTENCES = {
    "import laconic; laconic.plot": 'ImportError: .*pip install "laconic\\[app\\]"',
    "import laconic.plot": 'ImportError: .*pip install "laconic\\[app\\]"',
    "path(model, table).plot()": 'ImportError: .*pip install "laconic\\[app\\]"',
    "model.report(table, 'page.html')": 'ImportError: .*pip install "laconic\\[app\\]"',
    "Path('t.parquet').touch(); SparsePCA().fit('t.parquet')": "ImportError: .*pip install ['\"]laconic\\[app\\]",
    "from laconic.cli import app; app()": '^laconic: The command line needs more packages: pip install "laconic\\[app\\]"',
}


def run(code, folder):
    return subprocess.run([sys.executable, "-c", START + code], capture_output=True, text=True, cwd=folder, check=False)


def test_a_fit_and_its_questions_need_no_app(tmp_path):
    result = run(WORKS, tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("code", SENTENCES)
def test_what_needs_the_app_says_so_in_one_sentence(code, tmp_path):
    result = run(code, tmp_path)
    assert result.returncode == (2 if "cli" in code else 1)

    assert re.search(SENTENCES[code], result.stderr.splitlines()[-1]), result.stderr
