"""The command line on data that are read in blocks. Small files stand for large ones."""

import gzip
import os
import re
import signal
import subprocess
import sys

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from tests.cli.commands import done, environment, refused, run

from laconic import SparsePCA
from laconic.cli import reading

WORDS = [f"word {j}" for j in range(20)]


def made_counts():
    """A hidden cause drives the first five of twenty columns, which are mostly zero."""
    rng = np.random.default_rng(3)
    return rng.poisson(0.4, (90, 20)) * (1 + rng.poisson(2.0, (90, 1)) * (np.arange(20) < 5))


COUNTS = pd.DataFrame(made_counts(), columns=WORDS)


def csv(folder):
    COUNTS.to_csv(folder / "counts.csv", index=False)
    return folder / "counts.csv"


def parquet_folder(folder):
    for number in range(3):
        COUNTS[30 * number : 30 * (number + 1)].to_parquet(folder / f"part-{number}.parquet", index=False)
    (folder / "_SUCCESS").touch()
    return folder


def npz(folder):
    sp.save_npz(folder / "counts.npz", sp.csr_array(COUNTS.to_numpy()))
    return folder / "counts.npz"


def mtx(folder):
    with gzip.open(folder / "counts.mtx.gz", "wb") as file:
        scipy.io.mmwrite(file, sp.coo_array(COUNTS.to_numpy()))
    return folder / "counts.mtx.gz"


def h5ad(folder):
    adata = anndata.AnnData(sp.csr_matrix(COUNTS.to_numpy(dtype=float)))
    adata.var_names = WORDS
    adata.write_h5ad(folder / "counts.h5ad")
    return folder / "counts.h5ad"


def refused_in_blocks(*arguments):
    """Return the last line on standard error of a call that must fail; the line before says that it reads in blocks."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    first, last = result.stderr.splitlines()
    assert "read in blocks" in first
    return last.removeprefix("laconic: ")


@pytest.mark.parametrize("write", [csv, parquet_folder, npz, mtx, h5ad])
def test_every_command_takes_every_format(write, tmp_path):
    (tmp_path / "data").mkdir()
    file, out = write(tmp_path / "data"), tmp_path / "out"
    names = WORDS if write not in (npz, mtx) else [str(j) for j in range(20)]
    model = SparsePCA(2, cardinality=3).fit(COUNTS)
    result = done("fit", file, "--blocks", "-k", 3, "-c", 2, "--out", out)
    assert re.fullmatch(r"laconic: .* \(\d+ kB\) (is|are) read in blocks, at least twice\.\n", result.stderr)
    loadings = pd.read_csv(out / "loadings.csv", dtype={"feature": str})
    expected = model.loadings()["feature"].map(dict(zip(WORDS, names, strict=True)))
    assert list(loadings["feature"]) == list(expected)
    scores = pd.read_csv(out / "scores.csv")
    assert list(scores.columns) == ["component_1", "component_2"]
    np.testing.assert_allclose(scores, model.transform(COUNTS), rtol=1e-9, atol=1e-9)
    files = ["command.txt", "component-1.json", "component-2.json", "loadings.csv", "loadings.png", "model.laconic"]
    files += ["scores.csv", "summary.csv"]
    assert sorted(place.name for place in out.iterdir()) == files
    assert done("verify", out / "component-2.json", file, "--blocks").stdout.startswith("Accepted")
    assert f"+{expected[0]}" in done("path", file, "--blocks", "-K", 2).stdout
    chosen = ",".join(names[j] for j in model.supports_[0])
    done("certify", file, "--blocks", "--support", chosen, "--proof", "fast", "--out", tmp_path / "c.json")
    assert done("verify", tmp_path / "c.json", file, "--blocks").stdout.startswith("Accepted")


def test_in_blocks_as_in_memory(tmp_path):
    file = csv(tmp_path)
    for command in (("fit", "-k", "3,2"), ("path", "-K", 3), ("certify", "--support", "word 0,word 1")):
        assert done(*command, file, "--blocks").stdout == done(*command, file).stdout
    assert done("fit", file, "-k", 2).stderr == ""


def test_files_folder_and_pattern_are_the_same_table(tmp_path):
    folder = parquet_folder(tmp_path)
    expected = done("fit", folder, "-k", 3).stdout
    parts = sorted(folder.glob("*.parquet"))
    assert done("fit", *parts, "-k", 3).stdout == expected
    result = done("fit", folder / "part-*.parquet", "-k", 3)
    assert result.stdout == expected
    assert result.stderr.startswith(f"laconic: 3 files in {tmp_path.name} (")


def test_large_tables_are_read_in_blocks(tmp_path, monkeypatch):
    file = csv(tmp_path)
    COUNTS.to_parquet(tmp_path / "counts.parquet")
    monkeypatch.setattr(reading, "WHOLE_BYTES", file.stat().st_size)
    assert done("fit", file, "-k", 2).stderr == ""
    # What is compressed counts more.
    assert (tmp_path / "counts.parquet").stat().st_size > file.stat().st_size / 5
    assert "in blocks" in done("fit", tmp_path / "counts.parquet", "-k", 2).stderr
    monkeypatch.setattr(reading, "WHOLE_BYTES", file.stat().st_size - 1)
    assert "in blocks" in done("fit", file, "-k", 2).stderr
    # A covariance matrix is read as a whole, whatever its size.
    COUNTS.cov().to_csv(tmp_path / "S.csv", index=False)
    monkeypatch.setattr(reading, "WHOLE_BYTES", 1)
    assert done("fit", tmp_path / "S.csv", "--covariance", "-k", 2).stderr == ""


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_of_text_can_be_left_out(tmp_path, ending):
    table = COUNTS.assign(note="x")
    table.insert(0, "sample", [f"s{i}" for i in range(90)])
    table["place, date"] = "here"
    file = tmp_path / f"labelled.{ending}"
    table.to_csv(file, index=False) if ending == "csv" else table.to_parquet(file, index=False)
    expected = done("fit", csv(tmp_path), "-k", 3).stdout
    text = ("--drop", "note", "--drop", "place, date")
    # The labels are found once other text is left out.
    for options in (text, (*text, "--index", "sample"), (*text, "--drop", "sample")):
        assert done("fit", file, "--blocks", "-k", 3, *options).stdout == expected
    drop = ("--drop", "note,word 0", "--drop", "place, date")
    assert "word 0" not in done("fit", file, "--blocks", "-k", 3, *drop, "--out", tmp_path / "out").stdout
    for options in (("--blocks",), (), ("--blocks", "--index", "sample")):
        assert done("verify", tmp_path / "out" / "component-1.json", file, *drop, *options).stdout.startswith("Accept")
    assert refused_in_blocks("fit", file, "--blocks", "--drop", "age") == f"--drop age is not a column of {file.name}."
    line = refused_in_blocks("fit", file, "--blocks", "--index", "age", *drop)
    assert line == f"--index age is not a column of {file.name}."


def test_columns_without_names_keep_their_numbers(tmp_path):
    file, out = npz(tmp_path), tmp_path / "out"
    done("fit", file, "-k", 2, "--drop", "0,1", "--forced-in", "4", "--out", out)
    assert 4 in pd.read_csv(out / "loadings.csv")["feature"].tolist()
    assert done("verify", out / "component-1.json", file, "--drop", "0,1").stdout.startswith("Accepted")
    assert run("verify", out / "component-1.json", file).exit_code == 1
    assert "\n 4 " in done("fit", file, "-k", 2, "--forced-in", "4").stdout


def test_signs_of_text(tmp_path):
    (COUNTS / 4).to_csv(tmp_path / "t.csv", sep="\t", decimal=",", index=False)
    options = ("--separator", "tab", "--decimal", ",", "-k", 3)
    expected = done("fit", tmp_path / "t.csv", *options).stdout
    assert done("fit", tmp_path / "t.csv", "--blocks", *options).stdout == expected


def test_scores_as_parquet(tmp_path):
    file, out = csv(tmp_path), tmp_path / "out"
    done("fit", file, "-k", "3,2", "--out", out)
    in_memory = pd.read_csv(out / "scores.csv", index_col="row")
    for blocks in ((), ("--blocks",)):
        text = done("fit", file, "-k", "3,2", "--out", out, "--scores", "parquet", *blocks).stdout
        scores = pd.read_parquet(out / "scores.parquet")
        np.testing.assert_allclose(scores, in_memory, rtol=1e-9, atol=1e-9)
        assert list(scores.columns) == list(in_memory.columns)
        assert not (out / "scores.csv").exists()
    assert f"Removed files of an earlier run: {out / 'plane.png'}." in text
    assert "--scores xls is not known" in refused("fit", file, "-k", 2, "--scores", "xls")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["counts.csv", "--blocks", "--covariance"], "counts.csv would be read in blocks of rows; give a covariance"),
        (["counts.npz", "--covariance"], "counts.npz would be read in blocks of rows"),
        (["counts.csv", "counts.npz"], "several formats, such as counts.csv, counts.npz; give files of one format."),
        (["-", "--blocks"], "Standard input (-) is one table that is read as a whole"),
        (["counts.csv", "--blocks", "--separator", "::"], "--separator :: must be one ASCII character."),
        (["none-*.npz"], "No file matches 'none-*.npz'."),
        (["none.npz"], "There is no file none.npz."),
        (["table.docx"], "table.docx has no known ending; use one of .arrow, .csv, .feather, .h5ad, .mtx, "),
    ],
)
def test_refused_before_anything_is_read(tmp_path, monkeypatch, options, sentence):
    csv(tmp_path)
    npz(tmp_path)
    (tmp_path / "table.docx").touch()
    monkeypatch.chdir(tmp_path)
    assert sentence in refused("fit", *options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["counts.npz", "--index", "a"], "--index a is for tables with row labels only, not for counts.npz."),
        (["counts.npz", "--decimal", ","], "--decimal , is for text tables only, not for counts.npz."),
        (
            ["counts.npz", "--drop", ",".join(map(str, range(20)))],
            "counts.npz has no column of numbers left; give a table with columns of numbers, or drop fewer.",
        ),
        (["counts.npz", "--forced-in", "x"], "--forced-in names 'x', but the data have no feature names."),
        (["counts.csv", "--blocks", "-k", "21"], "-k 21 must lie between 1 and the number of features, 20"),
        (["cut.csv.gz", "--blocks"], "cut.csv.gz is damaged or incomplete ("),
        (["nan.csv", "--blocks"], "nan.csv has NaN in row 2 below the header, column 'b'"),
        (
            ["text.csv", "--blocks"],
            "text.csv has cells that are not numbers: 'a' 1 of 3 ('x'); read them as missing",
        ),
    ],
)
def test_refused_in_one_line(tmp_path, monkeypatch, options, sentence):
    file = csv(tmp_path)
    npz(tmp_path)
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(file.read_bytes())[:-100])
    (tmp_path / "nan.csv").write_text("a,b\n1,2\n3,\n5,1\n")
    (tmp_path / "text.csv").write_text("a,b\n1,2\nx,3\n5,1\n")
    monkeypatch.chdir(tmp_path)
    assert sentence in refused_in_blocks("fit", *options)


def test_data_that_cannot_be_read_are_not_a_verdict(tmp_path):
    file = csv(tmp_path)
    done("fit", file, "-k", 3, "--out", tmp_path / "out")
    certificate = tmp_path / "out" / "component-1.json"
    (COUNTS + 1).to_csv(tmp_path / "others.csv", index=False)
    result = run("verify", certificate, tmp_path / "others.csv", "--blocks")
    assert result.exit_code == 1
    assert "another matrix" in result.stdout
    COUNTS.astype(float).replace({"word 3": {3.0: np.nan}}).to_csv(tmp_path / "nan.csv", index=False)
    assert "nan.csv has 8 missing values (NaN) in 1 column of rows " in refused_in_blocks(
        "verify", certificate, tmp_path / "nan.csv", "--blocks"
    )


def test_a_time_limit_within_a_pass(tmp_path):
    line = refused_in_blocks("fit", csv(tmp_path), "--blocks", "-k", 2, "--time-limit", "1e-9")
    assert line.startswith("The time limit was reached in pass 1 over counts.csv, before anything was found; give more")


def test_too_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("laconic.core.memory.physical_memory", lambda: 1000.0)
    assert "would need 2 kB, and this machine has 1 kB" in refused_in_blocks("fit", csv(tmp_path), "--blocks", "-k", 2)


def write_digits(file, rows, columns):
    """Write a table of digits, quickly."""
    text = np.full((rows, 2 * columns), ord(","), dtype=np.uint8)
    text[:, ::2] = np.random.default_rng(0).integers(ord("0"), ord("9") + 1, (rows, columns), dtype=np.uint8)
    text[:, -1] = ord("\n")
    file.write_bytes(",".join(f"x{j}" for j in range(columns)).encode() + b"\n" + text.tobytes())


def run_until(shown, *arguments):
    """Run a command with a terminal for its messages, and press Ctrl-C when something is shown on it."""
    pty = pytest.importorskip("pty")
    terminal, own = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "laconic", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=own,
        env=environment(TERM="xterm", COLUMNS="100"),
    )
    os.close(own)
    text = ""
    pressed = False
    while True:
        try:
            text += os.read(terminal, 4096).decode("utf-8", "replace")
        except OSError:  # the process has ended
            break
        if not pressed and shown in text:
            process.send_signal(signal.SIGINT)
            pressed = True
    os.close(terminal)
    return process.wait(timeout=60), re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def test_an_interrupted_run_says_so(tmp_path):
    # Two passes over this table take a second or more, and Ctrl-C comes a moment after the first block of the first.
    file = tmp_path / "big[a].csv"
    write_digits(file, 600_000, 50)
    status, text = run_until("pass 1", "fit", file, "--blocks", "-k", 2)
    assert status == 130
    assert re.search(r"pass 1 over big\[a\]\.csv: variances: \d+ %, \d+ s left", text)
    (line,) = [line for line in text.splitlines() if line.startswith("laconic: Interrupted")]
    assert re.fullmatch(r".* in pass [12] over big\[a\]\.csv\.", line)
    assert "Traceback" not in text


def test_interrupted_scores_leave_no_file(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    file = csv(tmp_path)
    monkeypatch.setattr("laconic.cli.watched.write_blocks", interrupted)
    result = run("fit", file, "--blocks", "-k", 2, "--out", tmp_path / "out")
    assert result.exit_code == 130
    where = tmp_path / "out" / "scores.csv"
    assert result.stderr.splitlines()[-1] == (f"laconic: Interrupted before {where} was complete; the other files are.")
    assert sorted(place.name for place in where.parent.iterdir()) == [
        "command.txt", "component-1.json", "loadings.csv", "loadings.png", "model.laconic", "summary.csv",
    ]  # fmt: skip


def test_results_are_not_written_over_the_data(tmp_path):
    file = csv(tmp_path)
    place = tmp_path / "out"
    done("fit", file, "-k", 2, "--out", place)
    before = (place / "scores.csv").read_bytes()
    line = refused("fit", place / "scores.csv", "-k", 1, "--out", place)
    assert "would write results over" in line
    assert (place / "scores.csv").read_bytes() == before
    assert "would write results over" in refused("fit", tmp_path, "-k", 1, "--out", tmp_path)
    assert "give --out, too" in refused("fit", file, "-k", 1, "--scores", "parquet")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_scores_in_blocks_keep_row_labels(tmp_path, ending):
    rows = np.random.default_rng(0).standard_normal((30, 5))
    labels = pd.Index([f"Bob {i}" for i in range(30)], name="who")
    table = pd.DataFrame(rows, columns=list("abcde"), index=labels)
    table.to_csv(tmp_path / "t.csv")
    out = tmp_path / "out"
    done("fit", tmp_path / "t.csv", "-k", 2, "--blocks", "--out", out, "--scores", ending)
    scores = (
        pd.read_csv(out / "scores.csv", index_col=0) if ending == "csv" else pd.read_parquet(out / "scores.parquet")
    )
    done("fit", tmp_path / "t.csv", "-k", 2, "--out", out)
    pd.testing.assert_frame_equal(scores, pd.read_csv(out / "scores.csv", index_col=0))
