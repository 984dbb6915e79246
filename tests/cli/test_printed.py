"""Files on the command line: messy tables, several formats, blocks, standard input, missing values."""

import os
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
from laconic.data import files
from laconic.data.text import EVERY_DIGIT
from laconic.report.sentences import in_columns

RNG = np.random.default_rng(3)
CLEAN = pd.DataFrame(
    RNG.standard_normal((50, 5)) + RNG.standard_normal((50, 1)), columns=["age", "Q1", "Q2", "Q3", "u"]
)
BLOCKS = pytest.mark.parametrize("blocks", [(), ("--read", "blocks")], ids=["whole", "blocks"])


@pytest.fixture
def clean(tmp_path):
    CLEAN.to_csv(tmp_path / "clean.csv", index=False)
    return tmp_path / "clean.csv"


@pytest.fixture
def survey(tmp_path):
    frame = CLEAN.astype(object)
    frame.loc[[1, 4, 6], "u"] = ["ERR", "?", "ERR"]
    frame.insert(0, "name, full", [f"Bob, the {i}" for i in range(50)])
    frame["day"] = "2024-01-31"
    frame["site"] = 7
    frame.to_csv(tmp_path / "survey.csv", index=False, encoding="utf-8-sig")
    return tmp_path / "survey.csv"


def last_line(*arguments):
    """Return the last line on standard error of a call that must fail. One before it may be about blocks."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    return result.stderr.splitlines()[-1].removeprefix("laconic: ")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing.csv", None, "There is no file"),
        (
            "half.csv",
            "a,b,c\n1,x,2\n3,y,5\n4,7,1\n5,8,2\n",
            "'b' 2 of 4 ('x', 'y'; first in row 0); read them as missing",
        ),
        ("text.csv", "a,b\nx,y\nz,u\n", "text.csv has no column of numbers left"),
        (
            "mark.csv",
            "a,b\n1,2\n?,4\n5,6\n",
            "'a' 1 of 3 ('?'; first in row 1); read them as missing values with na='?', or",
        ),
        ("thousands.csv", 'a,b\n"1,000",2\n"2,000",4\n', "'a' ('1,000', '2,000'; first in row 0); write"),
        ("nan.csv", "a,b\n1,2\n3,\n5,1\n", "nan.csv has NaN"),
        ("table.docx", "a,b\n1,2\n", "table.docx has no known ending"),
        ("empty.csv", "", "empty.csv is empty"),
        ("broken.parquet", "not a parquet file at all", "arquet"),
    ],
)
def test_bad_files(name, content, sentence, tmp_path):
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    for command in ("fit", "choose"):
        assert sentence in refused(command, tmp_path / name)


def test_a_folder_without_data(tmp_path):
    assert refused("fit", tmp_path).startswith(f"laconic: The folder {tmp_path} has no file with a known ending")


@BLOCKS
def test_a_column_with_some_numbers_is_never_left_out_quietly(survey, blocks):
    assert last_line("fit", survey, "-k", 2, *blocks).startswith(
        "survey.csv has cells that are not numbers: 'u' 3 of 50 ('ERR', '?'; first in row 1); read them as missing "
        "values with na='ERR,?', or leave the column out with drop='u'."
    )


@BLOCKS
@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_text_and_dates_are_left_out_with_one_line(clean, tmp_path, ending, blocks):
    frame = CLEAN.assign(day="31.01.2024", time="2024-01-31 12:00", sex=["m", "f"] * 25, city="Bern", job="x", zone="y")
    frame.insert(0, "who", [f"Bob {i}" for i in range(50)])
    file = tmp_path / f"raw.{ending}"
    write = {"csv": frame.to_csv, "parquet": frame.to_parquet, "xlsx": frame.to_excel}[ending]
    write(file, index=False)
    options = ("-k", 2, *blocks)
    result = done("fit", file, *options, "--out", tmp_path / "out")
    assert result.stderr.splitlines()[-1] == (
        f"laconic: 6 columns of raw.{ending} are left out because they do not hold numbers: 'day', 'time', 'sex', "
        f"'city', 'job', 'zone'. 'who' names the rows of raw.{ending}."
    )
    assert len(result.stderr.splitlines()) == 1 + bool(blocks)
    expected = done("fit", clean, "-k", 2)
    assert result.stdout.partition("Wrote")[0] == expected.stdout
    assert pd.read_csv(tmp_path / "out" / "scores.csv")["who"].tolist()[3] == "Bob 3"
    accepted = done("verify", tmp_path / "out" / "component-1.json", file, *blocks)
    assert accepted.stdout.startswith("Accepted")
    # A column that is named is one that the user wants.
    line = last_line("fit", file, "--columns", "Q*,sex", *options)
    assert line.startswith(f"raw.{ending} has a column that does not hold numbers: 'sex' (")
    assert done("fit", file, "--columns", "*", *options).stdout == expected.stdout


@BLOCKS
def test_each_remedy_of_the_message_works(survey, clean, blocks):
    options = ("-k", 2, *blocks)
    expected = done("fit", clean, "--drop", "u", *options).stdout
    assert done("fit", survey, "--drop", "name, full,day,u,s*", *options).stdout == expected
    assert done("fit", survey, "--columns", "Q*,age", *options).stdout == expected
    marked = ("fit", survey, "--columns", "Q*,u", "--read", "na=ERR,?", *options)
    assert "survey.csv has 3 missing values (NaN)" in last_line(*marked)
    assert done(*marked, "--missing", "pairwise").exit_code == 0
    assert last_line("fit", survey, "--columns", "agee", *blocks).endswith("did you mean 'age'?")


@BLOCKS
def test_a_fit_that_drops_columns_is_verified_with_the_whole_file(survey, tmp_path, blocks):
    done("fit", survey, "-k", "2,2", "--drop", "u,site", "--out", tmp_path / "out", *blocks)
    for number in (1, 2):
        result = done("verify", tmp_path / "out" / f"component-{number}.json", survey, *blocks)
        assert result.stdout.startswith("Accepted")
    shuffled = pd.read_csv(survey, **EVERY_DIGIT).iloc[:, ::-1]
    shuffled.to_csv(tmp_path / "shuffled.csv", index=False)
    assert done("verify", tmp_path / "out" / "component-1.json", tmp_path / "shuffled.csv", *blocks)
    shuffled.drop(columns="Q1").to_csv(tmp_path / "less.csv", index=False)
    assert "'Q1'" in last_line("verify", tmp_path / "out" / "component-1.json", tmp_path / "less.csv", *blocks)


def test_names_with_commas_are_names(tmp_path):
    table = CLEAN.rename(columns={"Q1": "a, first", "Q2": "a"})
    table.to_csv(tmp_path / "t.csv", index=False)
    for option in ("--columns", "--drop", "--forced-in"):
        done("fit", tmp_path / "t.csv", "-k", 2, option, "a, first,age")


def test_hints_are_lines_of_their_own(tmp_path):
    CLEAN.assign(id=range(50)).to_csv(tmp_path / "t.csv", index=False)
    (line,) = done("fit", tmp_path / "t.csv", "-k", 2).stderr.splitlines()
    assert line.startswith("laconic: hint: 'id' looks like a row number or an id")
    assert done("fit", tmp_path / "t.csv", "-k", 2, "--drop", "id").stderr == ""
    CLEAN.assign(Q1=CLEAN["Q1"].where(CLEAN.index > 2, -999)).to_csv(tmp_path / "t.csv", index=False)
    (line,) = done("fit", tmp_path / "t.csv", "-k", 2).stderr.splitlines()
    assert line.startswith("laconic: hint: 'Q1' holds -999 in 3 of 50 rows looked at, and otherwise ")
    assert done("fit", tmp_path / "t.csv", "-k", 2, "--read", "na=-999", "--missing", "pairwise").stderr == ""


def test_features_in_rows(tmp_path):
    genes = pd.DataFrame(RNG.standard_normal((60, 9)), columns=[f"GSM{i}" for i in range(9)])
    genes.insert(0, "gene", [f"GENE{i}" for i in range(60)])
    file = tmp_path / "genes.csv"
    genes.to_csv(file, index=False)
    done("fit", file, "--read", "transpose", "-k", 3, "--out", tmp_path / "out")
    model = SparsePCA(cardinality=3).fit(genes.set_index("gene").T)
    assert pd.read_csv(tmp_path / "out" / "loadings.csv")["feature"].tolist() == model.loadings()["feature"].tolist()
    assert done("verify", tmp_path / "out" / "component-1.json", file, "--read", "transpose")
    assert "transpose needs one table" in last_line("fit", file, "--read", "transpose", "--read", "blocks")


def test_text_of_all_kinds(csv, table, tmp_path):
    expected = done("fit", csv, "-k", 3).stdout
    other = tmp_path / "other.csv"
    table.to_csv(other, sep=";", decimal=",", index=False)
    assert done("fit", other, "-k", 3).stdout == expected
    assert done("fit", "-", "-k", 3, stdin=other.read_text()).stdout == expected
    table.to_csv(other, sep="\t", decimal=",", index=False)
    assert "decimal=','" in refused("fit", other, "-k", 3)
    assert done("fit", other, "-k", 3, "--read", "decimal=,", "--read", "sep=tab").stdout == expected
    assert "sep='::' must be one" in refused("fit", other, "--read", "sep=::")
    done("fit", csv, "-k", 3, "--out", tmp_path / "out")
    assert done("verify", tmp_path / "out" / "component-1.json", "-", stdin=csv.read_text())


def test_a_table_in_two_encodings(tmp_path):
    CLEAN.rename(columns={"Q1": "Größe"}).to_csv(tmp_path / "t.csv", index=False, encoding="cp1252")
    assert "encoding" in refused("fit", tmp_path / "t.csv", "-k", 5)
    assert " Größe " in done("fit", tmp_path / "t.csv", "-k", 5, "--read", "encoding=cp1252").stdout


WORDS = [f"word {j}" for j in range(20)]


def made_counts():
    """A hidden cause drives the first five of twenty columns, which are mostly zero."""
    rng = np.random.default_rng(3)
    return rng.poisson(0.4, (90, 20)) * (1 + rng.poisson(2.0, (90, 1)) * (np.arange(20) < 5))


COUNTS = pd.DataFrame(made_counts(), columns=WORDS)


def write_csv(folder):
    COUNTS.to_csv(folder / "counts.csv", index=False)
    return folder / "counts.csv"


def write_parquet_folder(folder):
    for number in range(3):
        COUNTS[30 * number : 30 * (number + 1)].to_parquet(folder / f"part-{number}.parquet", index=False)
    (folder / "_SUCCESS").touch()
    return folder


def write_npz(folder):
    sp.save_npz(folder / "counts.npz", sp.csr_array(COUNTS.to_numpy()))
    return folder / "counts.npz"


def write_mtx(folder):
    scipy.io.mmwrite(folder / "counts.mtx", sp.coo_array(COUNTS.to_numpy()))
    return folder / "counts.mtx"


def write_h5ad(folder):
    adata = anndata.AnnData(sp.csr_matrix(COUNTS.to_numpy(dtype=float)))
    adata.var_names = WORDS
    adata.write_h5ad(folder / "counts.h5ad")
    return folder / "counts.h5ad"


@pytest.mark.parametrize("write", [write_csv, write_parquet_folder, write_npz, write_mtx, write_h5ad])
def test_every_command_takes_every_format(write, tmp_path):
    (tmp_path / "data").mkdir()
    file, out = write(tmp_path / "data"), tmp_path / "out"
    names = WORDS if write not in (write_npz, write_mtx) else [str(j) for j in range(20)]
    blocks = ("--read", "blocks")
    model = SparsePCA(2, cardinality=3).fit(COUNTS)
    done("fit", file, *blocks, "-k", 3, "-c", 2, "--out", out)
    loadings = pd.read_csv(out / "loadings.csv", dtype={"feature": str})
    expected = model.loadings()["feature"].map(dict(zip(WORDS, names, strict=True)))
    assert list(loadings["feature"]) == list(expected)
    scores = pd.read_csv(out / "scores.csv").filter(like="component")
    np.testing.assert_allclose(scores, model.transform(COUNTS), rtol=1e-9, atol=1e-9)
    assert done("verify", out / "model.laconic", file, *blocks).stdout.count("Accepted") == 2
    chosen = ",".join(names[j] for j in model.supports_[0])
    done("certify", file, *blocks, "--features", chosen, "--proof", "fast", "--out", tmp_path / "c.json")
    assert done("verify", tmp_path / "c.json", file, *blocks).stdout.startswith("Accepted")


def test_files_folder_and_pattern_are_the_same_table(tmp_path):
    folder = write_parquet_folder(tmp_path)
    expected = done("fit", folder, "-k", 3)
    assert expected.stderr == f"laconic: 3 files in {tmp_path.name} are read in blocks.\n"
    assert expected.stdout == done("fit", write_csv(tmp_path.parent), "-k", 3).stdout
    parts = sorted(folder.glob("*.parquet"))
    assert done("fit", *parts, "-k", 3).stdout == expected.stdout
    assert done("fit", folder / "part-*.parquet", "-k", 3).stdout == expected.stdout
    assert "color_by='word 1' needs one table" in last_line(
        "fit", *parts, "--color-by", "word 1", "--out", tmp_path / "o"
    )


def test_a_large_file_is_read_in_blocks(tmp_path, monkeypatch):
    file = write_csv(tmp_path)
    whole = done("fit", file, "-k", 3)
    monkeypatch.setattr(files, "WHOLE_BYTES", 1000)
    blocks = done("fit", file, "-k", 3)
    assert blocks.stdout == whole.stdout
    assert (whole.stderr, blocks.stderr) == ("", "laconic: counts.csv is read in blocks.\n")


@BLOCKS
@pytest.mark.parametrize("way", ["pairwise", "em", "drop"])
def test_from_a_table_with_holes_to_a_verified_proof(tmp_path, way, blocks):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((60, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[7] = np.nan
    csv, out = tmp_path / "survey.csv", tmp_path / "out"
    pd.DataFrame(X, columns=[f"q{i}" for i in range(6)]).to_csv(csv, index=False)
    line = last_line("fit", csv, *blocks)
    assert "survey.csv has" in line
    assert "column 'q" in line
    assert "set missing to pairwise, em or drop" in line
    result = done("fit", csv, "-k", "3,2", "--missing", way, "--out", out, *blocks)
    said = {"pairwise": "Each pair of columns was compared", "em": "(EM, a normal", "drop": "were left out: 26."}[way]
    assert said in " ".join(result.stdout.split())
    assert ("left out: 26 of 60" in result.stderr) == (way == "drop")
    scores = pd.read_csv(out / "scores.csv").filter(like="component")
    assert len(scores) == 60
    assert scores.iloc[7].isna().all()
    checked = done("verify", out / "component-1.json", csv, *blocks)
    assert ("not about the complete data" in checked.stdout) == (way != "drop")
    pd.read_csv(csv).fillna(0).to_csv(tmp_path / "filled.csv", index=False)
    assert run("verify", out / "component-1.json", tmp_path / "filled.csv", *blocks).exit_code == 1


def test_a_feature_is_a_column_but_names_files_and_options_stay():
    assert in_columns("Features add little: 1 feature of 2 features.") == "Columns add little: 1 column of 2 columns."
    same = "'feature' \"features\" feature.csv data/feature/x --features n_features=3 features=['a'] feature-2"
    assert in_columns(same) == same


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent as a signal")
def test_ctrl_c_before_a_result_is_one_line(tmp_path):
    fifo = tmp_path / "slow.csv"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "laconic", "fit", "-", "-k", "2"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        process.stdin.write(b"a,b\n1,2\n")
        process.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(8)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, b"")
    assert error.decode().splitlines() == ["laconic: Interrupted."]
