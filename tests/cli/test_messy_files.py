"""Messy tables on the command line: one message for all, the options that leave columns out, marks, hints, genes."""

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import done, refused, run

from laconic import SparsePCA
from laconic.cli import reading

RNG = np.random.default_rng(3)
CLEAN = pd.DataFrame(
    RNG.standard_normal((50, 5)) + RNG.standard_normal((50, 1)), columns=["age", "Q1", "Q2", "Q3", "u"]
)


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
    """Return the last line on standard error of a call that must fail; the first may say that data are in blocks."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1 + ("--blocks" in arguments)
    return result.stderr.splitlines()[-1]


@pytest.mark.parametrize("blocks", [(), ("--blocks",)])
def test_a_column_with_some_numbers_is_never_left_out_quietly(survey, blocks):
    assert (
        run("fit", survey, "-k", 2, *blocks)
        .stderr.splitlines()[-1]
        .startswith(
            "laconic: survey.csv has cells that are not numbers: 'u' 3 of 50 ('ERR', '?'); read them as missing values "
            "with --na 'ERR,?', or leave the column out with --drop u."
        )
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
@pytest.mark.parametrize("blocks", [(), ("--blocks",)])
def test_text_and_dates_are_left_out_by_default(clean, tmp_path, ending, blocks):
    frame = CLEAN.assign(day="31.01.2024", time="2024-01-31 12:00", sex=["m", "f"] * 25, city="Bern", job="x", zone="y")
    frame.insert(0, "who", [f"Bob {i}" for i in range(50)])
    file = tmp_path / f"raw.{ending}"
    if ending == "csv":
        frame.to_csv(file, index=False)
    else:
        (frame.to_parquet if ending == "parquet" else frame.to_excel)(file, index=False)
    options = ("-k", 2, *blocks)
    result = done("fit", file, *options, "--out", tmp_path / "out")
    assert result.stderr.splitlines()[-1] == (
        f"laconic: 6 columns of raw.{ending} are left out because they have no numbers: 'day', 'time', 'sex', 'city', "
        "'job' and 1 more; choose columns with --columns, --drop or --numeric-only."
    )
    expected = done("fit", clean, "-k", 2)
    assert result.stdout.partition("Wrote")[0] == expected.stdout
    assert expected.stderr == ""
    accepted = done("verify", tmp_path / "out" / "component-1.json", file, *blocks)
    assert accepted.stdout.startswith("Accepted")
    assert len(accepted.stderr.splitlines()) == 1 + len(blocks)
    # A column that is named is one that the user wants.
    line = run("fit", file, "--columns", "Q*,sex", *options).stderr.splitlines()[-1]
    assert line.startswith(f"laconic: raw.{ending} has a column that does not hold numbers: 'sex' (")
    assert done("fit", file, "--columns", "*", *options).stdout == expected.stdout


def test_which_columns_are_text(tmp_path):
    file = tmp_path / "t.csv"

    def kept(cells, *options):
        CLEAN.iloc[: len(cells)].assign(c=cells).to_csv(file, index=False)
        result = run("fit", file, "-k", 2, *options)
        return None if result.exit_code else "'c'" not in result.stderr

    assert kept([1.5, 2, 3, 4])
    for text in (["a", "b", "c", "d"], ["1.2.2024"] * 4, ["12:30"] * 4, ["18-24"] * 4, ["", "x", "", ""], [""] * 4):
        assert kept(text) is False, text
    # Each of these may be a column of numbers that somebody wants.
    for some in (["a", "b", "c", 4], ["1,5", "2,5", "3", "4"], ["1 %"] * 4, ["1.234.567"] * 4, ["a", "b", "65+", "c"]):
        assert kept(some) is None, some
        assert kept(some, "--numeric-only") is False, some


@pytest.mark.parametrize("blocks", [(), ("--blocks",)])
def test_each_remedy_of_the_message_works(survey, clean, blocks):
    options = ("-k", 2, *blocks)
    expected = done("fit", clean, "--drop", "u", *options).stdout
    numeric = done("fit", survey, "--numeric-only", "--drop", "site", *options)
    assert numeric.stdout == expected
    assert numeric.stderr.splitlines()[-1] == (
        "laconic: 2 columns of survey.csv are left out because they do not hold only numbers: 'u' 3 of 50 ('ERR', "
        "'?'), 'day' ('2024-01-31')."
    )
    assert done("fit", survey, "--drop", "name, full,day,u,s*", *options).stdout == expected
    assert done("fit", survey, "--columns", "Q*,age", *options).stdout == expected
    marked = ("fit", survey, "--columns", "Q*,u", "--na", "ERR,?", *options)
    assert "survey.csv has 3 missing values (NaN)" in last_line(*marked)
    assert done(*marked, "--missing", "pairwise").exit_code == 0
    words = "did you mean 'age'?"
    assert last_line("fit", survey, "--columns", "agee", *blocks).endswith(words)


@pytest.mark.parametrize("blocks", [(), ("--blocks",)])
def test_a_number_for_a_missing_value(tmp_path, blocks):
    CLEAN.round(3).replace(CLEAN["Q1"].round(3)[7], -999).to_csv(tmp_path / "t.csv", index=False)
    line = last_line("fit", tmp_path / "t.csv", "--na", "-999", *blocks)
    assert line.startswith("laconic: t.csv has NaN in row 8 below the header, column 'Q1'")


def test_every_command_takes_the_options(survey, clean, tmp_path):
    options = ("--numeric-only", "--drop", "site", "--columns", "Q*,age,u,site,day")
    done("certify", survey, "--support", "Q1,Q2", "--out", tmp_path / "c.json", *options)
    assert done("verify", tmp_path / "c.json", survey, *options).stdout.startswith("Accepted")
    assert done("verify", tmp_path / "c.json", clean, "--drop", "u").stdout.startswith("Accepted")
    assert done("path", survey, "-K", 2, *options).stdout == done("path", clean, "--drop", "u", "-K", 2).stdout


def test_hints_are_lines_of_their_own(tmp_path):
    CLEAN.assign(id=range(50)).to_csv(tmp_path / "t.csv", index=False)
    result = done("fit", tmp_path / "t.csv", "-k", 2)
    assert result.stderr == (
        "laconic: hint: 'id' looks like a row number or an id, and a component uses it; leave it out, for example with "
        "--drop id.\n"
    )
    CLEAN.assign(pay=1e4 * CLEAN["Q1"] ** 2).to_csv(tmp_path / "t.csv", index=False)
    (line,) = done("fit", tmp_path / "t.csv", "-k", 2).stderr.splitlines()
    assert line.startswith("laconic: hint: Component 1 is 'pay' almost alone")
    assert line.endswith("give --scale, or leave it out with --drop pay.")
    assert done("fit", tmp_path / "t.csv", "-k", 2, "--scale").stderr == ""
    CLEAN.assign(Q1=CLEAN["Q1"].where(CLEAN.index > 2, -999)).to_csv(tmp_path / "t.csv", index=False)
    (line,) = done("fit", tmp_path / "t.csv", "-k", 2).stderr.splitlines()
    assert line.startswith("laconic: hint: 'Q1' holds -999 in 3 of 50 rows looked at, and otherwise ")
    assert line.endswith("replace it by NaN, or read the table with --na -999.")
    assert done("fit", tmp_path / "t.csv", "-k", 2, "--na", "-999", "--missing", "pairwise").stderr == ""


def test_genes_in_rows(tmp_path):
    genes = pd.DataFrame(RNG.standard_normal((60, 9)), columns=[f"GSM{i}" for i in range(9)])
    genes.insert(0, "gene", [f"GENE{i}" for i in range(60)])
    file = tmp_path / "genes.csv"
    genes.to_csv(file, index=False)
    result = done("fit", file, "--transpose", "-k", 3, "--out", tmp_path / "out")
    assert result.stderr == ""
    model = SparsePCA(cardinality=3).fit(genes.set_index("gene").T)
    assert pd.read_csv(tmp_path / "out" / "loadings.csv")["feature"].tolist() == model.loadings()["feature"].tolist()
    assert done("verify", tmp_path / "out" / "component-1.json", file, "--transpose").stdout.startswith("Accepted")
    assert "give a table to transpose as one table" in refused("fit", file, "--transpose", "--blocks")


def test_blanks_of_a_triangle_are_not_refused_by_the_reader(tmp_path):
    (tmp_path / "t.csv").write_text("x,y,z\n1,,\n.5,1,\n.2,.3,1\n")
    found = reading.read([tmp_path / "t.csv"], None, covariance=True)
    assert np.isnan(found.to_numpy()).sum() == 3


def test_errors_name_the_file(clean, tmp_path):
    assert refused("fit", clean, "-k", 9) == "laconic: -k 9 must lie between 1 and the number of features, 5."
    assert refused("fit", clean, "--covariance").startswith("laconic: clean.csv has shape (50, 5)")
    assert refused("path", clean, "--covariance").startswith("laconic: clean.csv has shape (50, 5)")
    CLEAN.mask(CLEAN.iloc[2, 1] == CLEAN).to_csv(tmp_path / "nan.csv", index=False)
    for command in (("fit",), ("path",), ("certify", "--support", "Q1")):
        assert refused(*command, tmp_path / "nan.csv").startswith(
            "laconic: nan.csv has NaN in row 3 below the header, column 'Q1'"
        )


def test_help_says_what_a_path_writes():
    text = " ".join(done("path", "--help").stdout.split())
    assert "certificates" not in text
    assert "(path.csv)" in text


def test_in_blocks_the_first_rows_tell_which_columns_are_text_or_empty(tmp_path, monkeypatch):
    file = tmp_path / "late.csv"
    monkeypatch.setattr("laconic.data.files.HEAD_NUMBERS", 210)
    lines = [f"{i * i % 11},{i * i % 7},{'unknown' if i < 90 else i}" for i in range(100)]
    file.write_text("\n".join(["x,y,late", *lines, ""]))
    assert "a column that does not hold numbers: 'late' (90 of 100 cells" in refused("fit", file, "-k", 1)
    line = done("fit", file, "-k", 1, "--blocks").stderr.splitlines()[-1]
    assert "One column of late.csv is left out because it has no numbers in the first 7" in line
    file.write_text("\n".join(["x,y,empty", *(f"{i * i % 11},{i * i % 7}," for i in range(20)), ""]))
    whole, blocks = done("fit", file, "-k", 1), done("fit", file, "-k", 1, "--blocks")
    assert blocks.stdout == whole.stdout
    assert blocks.stderr.splitlines()[-1] == whole.stderr.splitlines()[-1]
