"""The command line, as a user meets it: real files in, tables and pictures out, a sentence when something is wrong."""

import builtins
import io
import os
import re
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.image import imread
from tests.cli.commands import done, program, refused, run

import laconic
from laconic import Certificate, SparsePCA, cardinality_path
from laconic.cli.common import DEFLATIONS as NAMES
from laconic.cli.common import METHODS
from laconic.cli.common import QUESTIONS as CLI_QUESTIONS
from laconic.covariance import build
from laconic.covariance.deflation import DEFLATIONS, Deflation
from laconic.datasets import load_pitprops
from laconic.methods.registry import SOLVERS
from laconic.model import estimator
from laconic.model.joint import QUESTIONS

FIRST = ["S. 1932", "S.Con.Res. 83", "S. 3930", "S. 403", "S. 397"]
SECOND = ["S. 1307", "H.R. 3045"]


def rounded_down(share):
    return f"{int(1000 * share) / 10:.1f}"


def assert_picture(file):
    assert file.read_bytes().startswith(b"\x89PNG")
    image = imread(file)
    assert min(image.shape[:2]) > 300
    assert (image[..., :3].min(axis=2) < 0.9).mean() > 0.005


@pytest.fixture(scope="module")
def table():
    """Two hidden causes: five columns follow the first, four (two of them reversed) the second, three are noise."""
    rng = np.random.default_rng(5)
    W = np.zeros((2, 12))
    W[0, :5] = 3
    W[1, 5:9] = [2, -2, 2, -2]
    rows = rng.standard_normal((60, 2)) @ W + 0.5 * rng.standard_normal((60, 12))
    return pd.DataFrame(rows, columns=[f"gene {letter}" for letter in "ABCDEFGHIJKL"])


@pytest.fixture
def csv(table, tmp_path):
    table.to_csv(tmp_path / "genes.csv", index=False)
    return tmp_path / "genes.csv"


@pytest.fixture
def pitprops_csv(tmp_path):
    pitprops = load_pitprops()
    names = list(pitprops.feature_names)
    pd.DataFrame(pitprops.covariance, index=names, columns=names).to_csv(tmp_path / "pitprops.csv")
    return tmp_path / "pitprops.csv"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return done("demo", "--out", out), out


def test_demo_prints_the_bills_of_the_paper(demo):
    first, second = demo[0].stdout.split("Component 2:")
    assert all(f" {bill} " in first for bill in FIRST)
    assert all(f" {bill} " in second for bill in SECOND)
    assert "5 bills, 19.0 % of the total variance, 42.2 % of the dense component's" in first
    assert second.startswith(" 2 bills, 10.4 % of the total variance, ")
    assert "Military Commissions Act of 2006" in first
    assert demo[0].stderr == "" or "The compiled part of laconic is missing" in demo[0].stderr
    assert demo[0].stdout.count("Optimal:") == 2


def test_demo_writes_the_picture_and_the_loadings(demo):
    result, out = demo
    assert_picture(out / "senate.png")
    loadings = pd.read_csv(out / "loadings.csv")
    assert set(loadings["feature"][loadings["component"] == 1]) == set(FIRST)
    assert set(loadings["feature"][loadings["component"] == 2]) == set(SECOND)
    assert loadings["title"].str.len().min() > 10
    assert (loadings["gap"] == 0).all()  # both are optimal; their certificates have a gap of some 1e-12
    np.testing.assert_allclose(loadings.groupby("component")["loading"].apply(np.linalg.norm), 1)
    assert str(out / "senate.png") in result.stdout
    assert str(out / "loadings.csv") in result.stdout
    for number in (1, 2):
        assert done("verify", out / f"component-{number}.json", out / "votes.csv").stdout.startswith("Accepted")


def test_fit_csv_prints_each_component(csv):
    text = done("fit", csv, "-k", 5, "-c", 2).stdout
    first, second = text.split("Component 2:")
    assert first.startswith("Component 1: 5 features, ")
    assert [letter for letter in "ABCDEFGHIJKL" if f"gene {letter} " in first] == list("ABCDE")
    assert {letter for letter in "ABCDEFGHIJKL" if f"gene {letter} " in second} > set("FGHI")


def test_shares_printed_are_those_of_the_library(csv, table):
    model = SparsePCA(n_components=2, cardinality=[5, 4]).fit(table)
    dense = np.linalg.eigvalsh(table.cov())[-1]
    text = done("fit", csv, "-k", "5,4").stdout
    first, second = model.explained_variance_ratio_
    assert (
        f"Component 1: 5 features, {rounded_down(first)} % of the total variance, "
        f"{rounded_down(model.raw_variance_[0] / dense)} % of the dense component's"
    ) in text
    assert f"Component 2: 4 features, {rounded_down(second)} % of the total" in text
    assert " ".join(text.split()).endswith(
        f"Together the 2 components hold {rounded_down(first + second)} % of the variance with 9 features; 2 ordinary "
        f"components hold {rounded_down(model.joint_dense_variance_ratio_)} % with all 12. Each was found given the "
        "earlier ones."
    )
    last = done("fit", csv, "-k", "5").stdout.split("It uses all features.")[1].strip()
    assert last.startswith(f"The component holds {rounded_down(first)} % of the variance with 5 features; the ")


def test_fit_writes_loadings_scores_and_the_plane(csv, table, tmp_path):
    out = tmp_path / "out"
    text = done("fit", csv, "-k", "5", "-k", "4", "--out", out).stdout
    model = SparsePCA(n_components=2, cardinality=[5, 4]).fit(table)
    pd.testing.assert_frame_equal(pd.read_csv(out / "loadings.csv"), model.loadings(), check_dtype=False)
    scores = pd.read_csv(out / "scores.csv", index_col="row")
    np.testing.assert_allclose(scores, model.transform(table))
    assert list(scores.columns) == ["component_1", "component_2"]
    assert_picture(out / "plane.png")
    assert all(str(out / name) in text for name in ("loadings.csv", "scores.csv", "plane.png"))


def test_fit_of_one_component_draws_bars(csv, tmp_path):
    done("fit", csv, "-k", 3, "--out", tmp_path)
    assert_picture(tmp_path / "loadings.png")
    assert not (tmp_path / "plane.png").exists()


def test_parquet_gives_what_csv_gives(csv, table, tmp_path):
    table.to_parquet(tmp_path / "genes.parquet")
    pl.DataFrame(table.to_dict("list")).write_parquet(tmp_path / "polars.parquet")
    expected = done("fit", csv, "-k", 4, "-c", 2).stdout
    assert done("fit", tmp_path / "genes.parquet", "-k", 4, "-c", 2).stdout == expected
    assert done("fit", tmp_path / "polars.parquet", "-k", 4, "-c", 2).stdout == expected


def test_parquet_with_numbers_for_names(table, tmp_path):
    table.set_axis(range(12), axis=1).to_parquet(tmp_path / "t.parquet")
    text = done("fit", tmp_path / "t.parquet", "-k", 3, "--forced-in", "11,10").stdout
    assert "\n 11 " in text
    assert "\n 10 " in text


def test_row_labels_come_from_the_index(table, tmp_path):
    labelled = table.assign(sample=[f"s{i}" for i in range(60)], site="north")
    labelled.drop(columns="site").to_csv(tmp_path / "t.csv", index=False)
    done("fit", tmp_path / "t.csv", "-k", 2, "--index", "sample", "--out", tmp_path)
    assert list(pd.read_csv(tmp_path / "scores.csv")["sample"][:2]) == ["s0", "s1"]


def test_columns_can_be_left_out(table, csv, tmp_path):
    other = tmp_path / "other.csv"
    table.assign(sex="f", ward="west, 2").to_csv(other, index=False)
    assert done("fit", other, "-k", 2).stderr == (
        "laconic: 2 columns of other.csv are left out because they have no numbers: 'sex', 'ward'; choose columns with "
        "--columns, --drop or --numeric-only.\n"
    )
    options = ("--drop", "sex", "--drop", "ward")
    assert done("fit", other, "-k", 2, *options).stdout == done("fit", csv, "-k", 2).stdout
    # The certificate is about what is left.
    done("fit", other, "-k", 2, "--drop", "sex,ward", "--out", tmp_path / "fit")
    for file, dropped in ((csv, ()), (other, options)):
        assert done("verify", tmp_path / "fit" / "component-1.json", file, *dropped).stdout.startswith("Accepted")
    assert done("path", other, "-K", 2, *options).stdout == done("path", csv, "-K", 2).stdout
    assert refused("fit", other, "--drop", "age") == "laconic: --drop age is not a column of other.csv."


def test_labels_are_found_once_other_text_is_left_out(table, tmp_path):
    file = tmp_path / "labelled.csv"
    labelled = table.assign(note="text")
    labelled.insert(0, "sample", [f"sample {i}" for i in range(len(table))])
    labelled.to_csv(file, index=False)
    done("fit", file, "-k", 2, "--drop", "note", "--out", tmp_path / "fit")
    assert pd.read_csv(tmp_path / "fit" / "scores.csv")["sample"][3] == "sample 3"


def test_certificates_prove_what_the_fit_prints(csv, tmp_path):
    text = done("fit", csv, "-k", 3, "-c", 2, "--nonnegative", "--forced-out", "gene A", "--out", tmp_path).stdout
    for number in (1, 2):
        verdict = Certificate.load(tmp_path / f"component-{number}.json").verdict
        reached = re.search(r"reaches at least \S+ % of the best possible variance|Optimal: no other support", verdict)[
            0
        ]
        assert reached in " ".join(text.split(f"Component {number}:")[1].split())


@pytest.fixture
def calls(monkeypatch):
    """Count calls by name: of functions, and of methods."""
    counts = Counter()

    def count(place, name, what=None):
        function = getattr(place, name)

        def counted(*arguments, **options):
            result = function(*arguments, **options)
            counts[name if what is None else what(result, *arguments)] += 1
            return result

        monkeypatch.setattr(place, name, counted)

    return counts, count


def test_fit_does_each_thing_once(csv, calls, tmp_path):
    counts, count = calls
    for module in (io, builtins):
        count(module, "open", lambda _, file, *__: f"open {file}")
    count(pd, "read_csv", lambda frame, *_: f"parse {len(frame)} rows")
    count(estimator, "get_solver")
    count(build, "_gram")
    count(Deflation, "remove")
    count(SparsePCA, "transform")
    done("fit", csv, "-k", "5,4")
    assert counts[f"open {csv}"] == 1
    assert counts["parse 60 rows"] == 1
    assert counts["get_solver"] == 1
    assert counts["_gram"] == 1  # the covariance is built for the fit, and the printout uses numbers of the fit
    assert counts["remove"] == 1  # and the first component is removed from it before the second is searched
    assert counts["transform"] == 0  # the scores of rows are for files
    done("fit", csv, "-k", "5,4", "--out", tmp_path)
    assert counts["transform"] == 1


def test_path_says_what_is_proved_and_what_stopped_it(csv, pitprops_csv):
    assert done("path", csv, "-K", 4).stdout.splitlines()[-1] == "Optimal (proved): cardinality 1 to 4."
    text = done("path", pitprops_csv, "--covariance", "--method", "greedy", "--time-limit", "1e-9").stdout
    assert (
        text.splitlines()[-1]
        == "Time limit reached: this is the best result so far. A larger --time-limit may improve it."
    )
    text = done("path", pitprops_csv, "--covariance", "--method", "greedy", "--proof", "none").stdout
    assert "roved" not in text


def test_options_reach_the_library(csv):
    assert "gene L" in done("fit", csv, "-k", 3, "--forced-in", "gene L,gene K").stdout
    without = done("fit", csv, "-k", 5, "--forced-out", "gene A").stdout
    assert "gene A" not in without.replace("without 'gene A'", "")
    nonnegative = done("fit", csv, "-k", 4, "-c", 2, "--nonnegative", "--disjoint").stdout
    assert " -0." not in nonnegative
    assert " -0." in done("fit", csv, "-k", 4, "-c", 2).stdout
    twice = [
        line.split()[1]
        for line in done("fit", csv, "-k", 6, "-c", 2, "--disjoint").stdout.splitlines()
        if "gene" in line
    ]
    assert len(twice) == len(set(twice)) == 12
    exchanges = {
        method: "No exchange of one feature" in done("fit", csv, "-k", 3, "--method", method, "--proof", "none").stdout
        for method in ("swaps", "sorting")
    }
    assert exchanges == {"swaps": True, "sorting": False}
    share = "Component 1: 5 features"
    assert share in done("fit", csv, "--min-variance", "0.95").stdout
    assert share not in done("fit", csv, "--min-variance", "0.5").stdout
    assert done("fit", csv, "-k", 3, "--scale").stdout != done("fit", csv, "-k", 3).stdout
    assert done("fit", csv, "-k", 3, "--no-center").stdout != done("fit", csv, "-k", 3).stdout
    by_schur = done("fit", csv, "-k", 4, "-c", 2, "--deflation", "schur").stdout
    assert by_schur != done("fit", csv, "-k", 4, "-c", 2).stdout


def test_a_name_with_a_comma_is_one_name(tmp_path):
    rows = np.random.default_rng(0).standard_normal((20, 3)) * [1, 5, 9]
    pd.DataFrame(rows, columns=["a,b", "c", "d"]).to_csv(tmp_path / "t.csv", index=False)
    assert "\n a,b " in done("fit", tmp_path / "t.csv", "-k", 1, "--forced-in", "a,b").stdout


def test_names_are_not_markup(table, tmp_path):
    renamed = table.rename(columns={"gene A": "[bold]A[/bold]", "gene B": ":smile:"})
    renamed.to_csv(tmp_path / "t.csv", index=False)
    text = done("fit", tmp_path / "t.csv", "-k", 5).stdout
    assert "[bold]A[/bold]" in text
    assert ":smile:" in text


def test_fit_covariance(pitprops_csv, tmp_path):
    out = tmp_path / "out"
    text = done("fit", pitprops_csv, "--covariance", "-k", 5, "-c", 2, "--out", out).stdout
    first = text.split("Component 2:")[0]
    assert all(f" {name} " in first for name in ("topdiam", "length", "ringbut", "bowdist", "whorls"))
    assert "26.2 % of the total variance, 80.7 % of the dense component's" in first
    written = ["command.txt", "component-1.json", "component-2.json", "loadings.csv", "loadings.png"]
    written += ["model.laconic", "summary.csv"]
    assert sorted(file.name for file in out.iterdir()) == written
    assert_picture(out / "loadings.png")


def test_covariances_have_no_rows_to_center(pitprops_csv):
    for command in (("fit",), ("path",), ("certify", "--support", "topdiam")):
        line = refused(*command, pitprops_csv, "--covariance", "--no-center")
        assert line == "laconic: --no-center is for rows; a covariance matrix (--covariance) has no rows."


def test_what_an_earlier_fit_left_goes(csv, tmp_path):
    out = tmp_path / "out"
    first = done("fit", csv, "-k", "5,4", "--out", out).stdout
    assert "Removed" not in first
    (out / "component-2.npz").write_bytes(b"")
    kept = [out / "component-02.json", out / "my component-2.json", out / "path.csv"]
    for file in kept:
        file.write_text("mine")
    text = done("fit", csv, "-k", 3, "--out", out).stdout
    gone = [out / "component-2.json", out / "component-2.npz", out / "plane.png"]
    assert text.splitlines()[-1] == f"Removed files of an earlier run: {', '.join(map(str, gone))}."
    written = {"command.txt", "component-1.json", "loadings.csv", "loadings.png", "scores.csv", "summary.csv"}
    written.add("model.laconic")
    assert {file.name for file in out.iterdir()} == written | {file.name for file in kept}


def test_every_file_written_is_named(csv, tmp_path, monkeypatch):
    monkeypatch.setattr("laconic.core.archive.INLINE", 3)
    out = tmp_path / "out"
    text = done("fit", csv, "-k", "4", "--out", out).stdout
    (line,) = [line for line in text.splitlines() if line.startswith("Wrote ")]
    assert set(line.removeprefix("Wrote ").removesuffix(".").split(", ")) == {str(file) for file in out.iterdir()}
    assert (out / "component-1.npz").is_file()
    text = done("certify", csv, "--support", "gene A,gene B,gene C,gene F", "--out", tmp_path / "c.json").stdout
    assert text.splitlines()[-1] == f"Wrote {tmp_path / 'c.json'}, {tmp_path / 'c.npz'}."


def test_a_directory_that_cannot_be_written_to_is_found_out_first(csv, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda _place, mode: mode != os.W_OK)
    for command in (("fit", csv, "-k", 2, "--out", tmp_path), ("path", csv, "--out", tmp_path)):
        assert refused(*command) == f"laconic: {tmp_path}: Permission denied."


def test_text_tables_of_all_kinds(csv, table, tmp_path):
    expected = done("fit", csv, "-k", 3).stdout
    other = tmp_path / "other.csv"
    table.to_csv(other, sep=";", decimal=",", index=False)
    assert done("fit", other, "-k", 3).stdout == expected
    table.to_csv(other, sep="\t", decimal=",", index=False)
    assert "give --decimal , if the comma is the decimal sign" in refused("fit", other, "-k", 3)
    assert done("fit", other, "-k", 3, "--decimal", ",").stdout == expected
    assert done("fit", other, "-k", 3, "--decimal", ",", "--separator", "tab").stdout == expected
    done("certify", other, "--support", "gene A", "--decimal", ",", "--out", tmp_path / "c.json")
    assert done("verify", tmp_path / "c.json", other, "--decimal", ",").stdout.startswith("Accepted")
    assert done("path", other, "-K", 2, "--decimal", ",").stdout == done("path", csv, "-K", 2).stdout
    assert refused("fit", other, "--separator", "::") == "laconic: --separator :: must be one ASCII character."


def test_a_table_on_standard_input(csv, table, tmp_path):
    expected = done("fit", csv, "-k", 3, "--out", tmp_path).stdout
    for text in (csv.read_text(), table.to_csv(sep=";", decimal=",", index=False)):
        assert done("fit", "-", "-k", 3, "--out", tmp_path, stdin=text).stdout == expected
    certificate = tmp_path / "component-1.json"
    assert done("verify", certificate, "-", stdin=csv.read_text()).stdout.startswith("Accepted")


def test_a_folder_without_data(tmp_path):
    line = refused("fit", tmp_path)
    assert line.startswith(f"laconic: The folder {tmp_path} has no file with a known ending; use one of .arrow, .csv, ")


def test_long_tables_are_cut_and_say_so(tmp_path):
    rows = np.random.default_rng(0).standard_normal((30, 60))
    pd.DataFrame(rows).add_prefix("x").to_csv(tmp_path / "t.csv", index=False)
    lines = done("fit", tmp_path / "t.csv", "-k", 50, "--method", "sorting").stdout.splitlines()
    assert sum(line.startswith(" x") for line in lines) == 40
    assert " ... and 10 more with smaller loadings" in lines


def test_path_prints_and_writes_every_cardinality(csv, table, tmp_path):
    out = tmp_path / "out"
    text = done("path", csv, "-K", 7, "--out", out).stdout
    expected = cardinality_path(table, 7)
    lines = [line for line in text.splitlines() if "%" in line]
    assert [int(line.split()[0]) for line in lines] == list(range(1, 8))
    for line, value, share in zip(lines, expected.values, expected.shares, strict=True):
        (printed,) = [float(word) for word in line.split()[1:2]]
        assert value * (1 - 1e-4) < printed <= value
        assert f" {rounded_down(share + 1e-9)} %" in line
    assert f"+{expected.names(1)[0]}" in lines[0]
    written = pd.read_csv(out / "path.csv")
    np.testing.assert_allclose(written["share"], expected.shares)
    assert written["features"][2].split(" | ") == expected.names(3)
    assert_picture(out / "path.png")


def test_path_shows_features_that_leave(tmp_path):
    # One large variance alone, then three that are strongly correlated.
    S = np.zeros((4, 4))
    S[0, 0] = 2.0
    S[1:, 1:] = 0.9 + 0.6 * np.eye(3)
    pd.DataFrame(S, columns=list("abcd")).to_csv(tmp_path / "t.csv", index=False)
    lines = done("path", tmp_path / "t.csv", "--covariance").stdout.splitlines()
    assert lines[2].endswith("+a")
    assert lines[3].endswith("+b, +c, -a")


def test_path_of_a_covariance(pitprops_csv):
    text = done("path", pitprops_csv, "--covariance", "-K", 5, "--method", "exhaustive").stdout
    assert "3.4061" in text
    assert "At most" in text
    without = done("path", pitprops_csv, "--covariance", "-K", 5, "--method", "sorting", "--proof", "none").stdout
    assert "At most" not in without


@pytest.mark.parametrize("command", ["fit", "path"])
@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing.csv", None, "There is no file"),
        (
            "text.csv",
            "a,b,c\n1,x,2\n3,y,5\n4,7,1\n",
            "'b' (2 of 3 cells, such as 'x'); leave it out with",
        ),
        ("mark.csv", "a,b\n1,2\n?,4\n5,6\n", "'a' 1 of 3 ('?'); read them as missing values with --na '?', or"),
        ("thousands.csv", 'a,b\n"1,000",2\n"2,000",4\n', "'a' ('1,000', '2,000'); write them as plain numbers"),
        ("longer.csv", "a,b\n1,2,3\n4,5,7\n", "2 names in its first line and 3 fields in the next"),
        ("single.csv", "a\n1;2;3\n4;5;6\n", "one column, of text such as '1;2;3'"),
        ("nan.csv", "a,b\n1,2\n3,\n5,1\n", "NaN in row 2 below the header, column 'b'"),
        ("table.docx", "a,b\n1,2\n", "table.docx has no known ending"),
        ("twice.csv", "a,a,b\n1,2,3\n4,5,7\n", "'a' more than once"),
        ("empty.csv", "", "empty.csv is empty"),
        ("broken.parquet", "not a parquet file at all", "arquet"),
    ],
)
def test_bad_files(command, name, content, sentence, tmp_path):
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert sentence in refused(command, tmp_path / name)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-k", "13"], "-k 13 must lie between 1 and the number of features, 12"),
        (["-k", "0"], "-k 0 must be a whole number above 0"),
        (["-k", "two"], "-k two must be a whole number"),
        (["-k", "2,", "-c", "2"], "must be a whole number"),
        (["-k", "3,2,1", "-c", "2"], "3 entries for -c 2"),
        (["-k", "3", "--min-variance", "0.5"], "give one"),
        (["--min-variance", "1.5"], "--min-variance 1.5 must be above 0 and at most 1."),
        (["-c", "13", "-k", "1"], "-c 13"),
        (["--method", "magic"], "--method magic is not known; choose one of auto, "),
        (["--deflation", "magic"], "--deflation magic is not known; choose one of hotelling, "),
        (["--forced-in", "gene Z"], "'gene Z'"),
        (["--index", "sample"], "--index sample is not a column"),
        (["--covariance"], "square"),
        (["--time-limit", "-1"], "--time-limit -1 must be above 0."),
    ],
)
def test_bad_options_of_fit(csv, options, sentence):
    assert sentence in refused("fit", csv, *options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-K", "13"], "-K 13"),
        (["-K", "0"], "-K 0"),
        (["--method", "magic"], "--method magic is not known"),
        (["--covariance"], "square"),
    ],
)
def test_bad_options_of_path(csv, options, sentence):
    assert sentence in refused("path", csv, *options)


def test_out_that_is_a_file(csv):
    assert refused("fit", csv, "-k", 2, "--out", csv) == f"laconic: --out {csv} is a file; give a folder."


def test_a_warning_is_one_line_on_standard_error(csv, table, tmp_path):
    table.assign(same=1.0).to_csv(tmp_path / "t.csv", index=False)
    result = done("fit", tmp_path / "t.csv", "-k", 5)
    (line,) = result.stderr.splitlines()
    assert line.startswith("laconic: warning: ")
    assert "'same'" in line
    assert result.stdout == done("fit", csv, "-k", 5).stdout


def test_a_fault_in_the_program_keeps_its_traceback(csv, monkeypatch):
    def broken(*_args, **_settings):
        raise ZeroDivisionError

    monkeypatch.setattr(SparsePCA, "fit", broken)
    assert isinstance(run("fit", csv, "-k", 2).exception, ZeroDivisionError)


def test_components_together(csv, tmp_path):
    out = tmp_path / "results"
    printed = " ".join(done("fit", csv, "-k", "4,3", "--joint", "span", "--out", out).stdout.split())
    assert "Together the 2 components hold" in printed
    assert "No 2 components of these sizes hold more than" in printed
    assert not (out / "component-1.json").exists()
    checked = done("verify", out / "components.json", csv).stdout
    assert checked.startswith("Accepted. Together these 2 components hold at least")
    assert "No components of these sizes hold more than" in checked
    assert "--joint common is not known; the only choice is span" in refused("fit", csv, "-k", 2, "--joint", "common")
    assert "--joint span needs a number of features: -k 5, or -k 5,3" in refused("fit", csv, "-c", 2, "--joint", "span")
    # Each fit of several components ends with what they hold together; the next run removes the joint certificate.
    plain = " ".join(done("fit", csv, "-k", "2,2", "--out", out).stdout.split())
    assert "Each was found given the earlier ones; --joint span looks for components that hold more together." in plain
    assert not (out / "components.json").exists()
    assert tuple(QUESTIONS) == CLI_QUESTIONS


def test_piped_output_is_plain_text(csv):
    result = program("fit", csv, "-k", 5, "-c", 2, PYTHONWARNINGS="error")
    assert result.returncode == 0
    assert result.stderr == b""
    text = result.stdout.decode()
    assert "\x1b" not in text
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)
    assert "gene A" in text


def test_a_bad_file_ends_the_program_with_a_sentence(tmp_path):
    result = program("path", tmp_path / "missing.csv")
    assert result.returncode == 2
    assert result.stdout == b""
    assert result.stderr.decode().splitlines() == [f"laconic: There is no file {tmp_path / 'missing.csv'}."]


def test_output_survives_a_terminal_without_unicode(csv):
    result = program("fit", csv, "-k", 2, PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert result.stdout.isascii()


def test_version_and_help():
    assert done("--version").stdout == f"laconic {laconic.__version__}\n"
    text = done("--help").stdout
    assert all(command in text for command in ("demo", "fit", "path"))
    options = done("fit", "--help").stdout
    assert all(option in options for option in ("-k", "-c", "--min-variance", "--forced-in", "--out"))


def test_the_names_of_the_help_are_those_of_the_library():
    assert set(METHODS) == set(SOLVERS)
    assert set(NAMES) == set(DEFLATIONS)


@pytest.fixture
def proof(csv, tmp_path):
    """A fit with certificates written, one of them large enough for an NPZ file beside it."""
    out = tmp_path / "fit"
    done("fit", csv, "-k", "4,3", "--proof", "tight", "--method", "greedy", "--out", out)
    return out / "component-1.json"


def test_fit_writes_certificates_that_verify(csv, proof):
    for number in (1, 2):
        result = done("verify", proof.parent / f"component-{number}.json", csv)
        accepted, lower, upper = result.stdout.splitlines()
        assert accepted.startswith("Accepted. ")
        assert lower.startswith("The component has a variance of at least ")
        assert upper.startswith("No support of this size has more than ")
        assert result.stderr == ""


def test_verify_says_what_a_certificate_is_about(csv, tmp_path):
    done("fit", csv, "-k", "2,2", "--forced-in", "gene B", "--forced-out", "gene A", "--out", tmp_path / "fit")
    first, second = (
        done("verify", tmp_path / "fit" / f"component-{number}.json", csv).stdout.splitlines()[0] for number in (1, 2)
    )
    assert "with 'gene B' but without 'gene A'" in first
    assert "after" not in first
    assert "with 'gene B' but without 'gene A'" in second
    assert "after component 1" in second


def test_fit_without_certificates(csv, tmp_path):
    done("fit", csv, "-k", "4", "--proof", "none", "--out", tmp_path / "fit")
    assert not list((tmp_path / "fit").glob("component*"))
    line = refused("fit", csv, "-k", "4", "--proof", "hard")
    assert line == "laconic: --proof hard must be fast, tight or none."


def rejected(*arguments):
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stderr == ""
    (line,) = result.stdout.splitlines()
    return line


def test_verify_says_what_is_wrong(proof, table, tmp_path):
    (table + 1e-9).to_csv(tmp_path / "others.csv", index=False)
    assert "another matrix" in rejected("verify", proof, tmp_path / "others.csv")
    renamed = table.rename(columns={"gene A": "gene Z"})
    renamed.to_csv(tmp_path / "renamed.csv", index=False)
    assert "other names" in rejected("verify", proof, tmp_path / "renamed.csv")
    table[table.columns[::-1]].to_csv(tmp_path / "turned.csv", index=False)
    assert "the same names in another order" in rejected("verify", proof, tmp_path / "turned.csv")


def test_bad_input_of_verify(csv, proof, table, tmp_path):
    altered = tmp_path / "altered.json"
    altered.write_text(proof.read_text().replace('"cardinality": 4', '"cardinality": 3'))
    assert "was altered" in refused("verify", altered, csv)
    cut = tmp_path / "cut.json"
    cut.write_text(proof.read_text()[:200])
    assert "is no JSON file" in refused("verify", cut, csv)
    assert "give the certificate first" in refused("verify", csv, proof)
    (tmp_path / "m.laconic").touch()
    assert "is a model; laconic show" in refused("verify", tmp_path / "m.laconic", csv)
    for content in ("{}", '{"a": 1}'):
        (tmp_path / "other.json").write_text(content)
        assert "is no laconic certificate" in refused("verify", tmp_path / "other.json", csv)
    table.mask(table == table.iloc[3, 1]).to_csv(tmp_path / "nan.csv", index=False)
    line = refused("verify", proof, tmp_path / "nan.csv")
    assert line == "laconic: nan.csv has NaN in row 4 below the header, column 'gene B'; fill or drop it first."


def test_verify_reads_the_certificate_before_the_table(csv, calls, tmp_path):
    counts, count = calls
    count(pd, "read_csv")
    (tmp_path / "other.json").write_text("{}")
    assert "other.json is no laconic certificate" in refused("verify", tmp_path / "other.json", csv)
    assert counts["read_csv"] == 0


def test_weighted_rows_are_verified_in_python(csv, table, tmp_path):
    weights = np.arange(1.0, 61.0)
    model = SparsePCA(cardinality=3).fit(table, sample_weight=weights)
    path = model.certificates_[0].save(tmp_path / "weighted.json")
    assert "laconic.verify(certificate, X, sample_weight=...)" in refused("verify", path, csv)
    assert laconic.verify(path, table, sample_weight=weights)


def test_verify_misses_files(csv, proof, tmp_path):
    assert "There is no file" in refused("verify", tmp_path / "nothing.json", csv)
    assert "nothing.csv" in refused("verify", proof, tmp_path / "nothing.csv")
    assert "There is no file" in refused("verify", tmp_path, csv)


def test_verify_misses_arrays(csv, tmp_path, monkeypatch):
    monkeypatch.setattr("laconic.core.archive.INLINE", 3)
    path = tmp_path / "proof.json"
    done("certify", csv, "--support", "gene A,gene B,gene C,gene F", "--proof", "fast", "--out", path)
    assert done("verify", path, csv).stdout.startswith("Accepted")
    path.with_suffix(".npz").unlink()
    assert "are missing" in refused("verify", path, csv)


def test_certify_a_choice_of_features(csv, table, tmp_path):
    result = done("certify", csv, "--support", "gene A,gene B", "--support", "gene C", "--out", tmp_path / "c.json")
    variance, bound, verdict, wrote = result.stdout.splitlines()
    block = np.cov(table[["gene A", "gene B", "gene C"]].to_numpy(), rowvar=False)
    found = float(variance.removeprefix("These 3 features have a component with a variance of ").removesuffix("."))
    truth = np.linalg.eigvalsh(block)[-1]
    assert truth * (1 - 2e-5) < found <= truth
    assert bound.startswith("No 3 features can have more than ")
    assert verdict.startswith("This support reaches at least ")
    assert verdict.endswith("(proved).")
    assert wrote == f"Wrote {tmp_path / 'c.json'}."
    assert done("verify", tmp_path / "c.json", csv).stdout.startswith("Accepted")


def test_certify_a_choice_in_a_covariance(pitprops_csv, tmp_path):
    names = list(load_pitprops().feature_names)
    done("certify", pitprops_csv, "--covariance", "--support", ",".join(names[:3]), "--out", tmp_path / "c.json")
    assert done("verify", tmp_path / "c.json", pitprops_csv).stdout.startswith("Accepted")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--support", "gene A,gene Z"],
            "support names 'gene Z', which is not among the feature names; did you mean",
        ),
        (["--support", "gene A,gene A"], "none twice"),
        (["--support", ""], "support names ''"),
        (["--support", "gene A", "--proof", "hard"], "--proof hard must be fast or tight."),
        (["--support", "gene A", "--proof", "none"], "--proof none must be fast or tight."),
        (["--support", "gene A", "--time-limit", "0"], "--time-limit 0 must be above 0."),
    ],
)
def test_bad_options_of_certify(csv, options, sentence):
    assert sentence in refused("certify", csv, *options)


def test_certify_looks_at_its_target_before_it_computes(csv, tmp_path, monkeypatch):
    options = ("certify", csv, "--support", "gene A", "--out")
    new = tmp_path / "new" / "folder" / "c.json"
    assert done(*options, new).stdout.endswith(f"Wrote {new}.\n")

    def computed(*_args, **_settings):
        raise AssertionError

    monkeypatch.setattr("laconic.bounds.certify_support.certify_support", computed)
    assert refused(*options, tmp_path) == f"laconic: --out {tmp_path} is a folder; give a file that ends in .json."
    assert f"--out {tmp_path / 'c.npz'} must end in .json" in refused(*options, tmp_path / "c.npz")
    assert refused(*options, csv / "c.json") == f"laconic: --out {csv} is a file; give a folder."


@pytest.mark.parametrize("proof", ["fast", "tight", "none"])
def test_bounds_of_a_path(csv, tmp_path, proof):
    done("path", csv, "-K", "5", "--proof", proof, "--method", "greedy", "--out", tmp_path / "path")
    written = pd.read_csv(tmp_path / "path" / "path.csv")
    found = cardinality_path(laconic.read_table(csv), 5, proof=None if proof == "none" else proof, method="greedy")
    np.testing.assert_allclose(written["upper_bound"], found.upper_bounds, rtol=1e-9)
    assert np.isinf(found.upper_bounds[1:]).all() == (proof == "none")
    assert refused("path", csv, "--proof", "hard") == "laconic: --proof hard must be fast, tight or none."
