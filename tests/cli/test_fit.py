"""`laconic fit` and `laconic demo`: what is printed, and what lies in --out."""

import re
import shlex
import shutil
import warnings
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.image import imread
from tests.cli.commands import done, program, refused, run

import laconic
from laconic import Certificate, SparsePCA, load_model, read_table, scores
from laconic.data import open_source

FIRST = ["S. 1932", "S.Con.Res. 83", "S. 3930", "S. 403", "S. 397"]
SECOND = ["S. 1307", "H.R. 3045"]


def percent(share):
    """A share of at least one percent as it is printed: rounded down."""
    return f"{int(1000 * share) / 10:.1f} %"


def assert_picture(file):
    image = imread(file)
    assert min(image.shape[:2]) > 300
    assert (image[..., :3].min(axis=2) < 0.9).mean() > 0.005


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return done("demo", "--out", out), out


def test_demo_finds_the_bills_of_the_paper_and_writes_a_page(demo):
    result, out = demo
    first, second = result.stdout.split("Component 2:")
    assert all(f" {bill} " in first for bill in FIRST)
    assert all(f" {bill} " in second for bill in SECOND)
    assert first.count("5 bills hold 19.0 % of the variance") == 1
    assert "Military Commissions Act of 2006" in first
    assert "No other 5 bills hold more: proved." in first
    assert "No other 2 bills hold more of what component 1 leaves: proved." in second
    assert set(load_model(out / "model.laconic").loadings().query("component == 1")["feature"]) == set(FIRST)
    page = (out / "senate.html").read_text()
    assert "Seven bills divide the 109th US Senate" in page
    assert "Republican" in page


def test_the_demo_is_verified_with_the_command_that_it_prints(demo):
    result, _ = demo
    command = shlex.split(result.stdout.splitlines()[-1].removeprefix("Check a proof: "))
    assert done(*command[1:]).stdout.startswith("Accepted. No other 5 columns hold more: proved.")


def test_fit_prints_each_component_with_the_numbers_of_the_library(csv, table):
    model = SparsePCA(cardinality=[5, 4]).fit(table)
    text = done("fit", csv, "-k", "5,4").stdout
    first, second = text.split("Component 2:")
    assert [letter for letter in "ABCDEFGHIJKL" if f"gene {letter} " in first] == list("ABCDE")
    assert [letter for letter in "ABCDEFGHIJKL" if f"gene {letter} " in second] == list("FGHI")
    shares = model.explained_variance_ratio_
    assert f"5 columns hold {percent(shares[0])} of the variance" in first
    assert f"4 columns add {percent(shares[1])} of the variance" in second
    last = " ".join(text.split()).partition("Together ")[2]
    assert last.startswith(f"the 2 components hold {percent(shares.sum())} of the variance with 9 columns; 2 comp")


def test_a_file_alone_gives_a_sensible_answer(csv):
    result = done("fit", csv)
    assert result.stdout.startswith("2 components of ordinary PCA are better than noise, and beyond 5 columns each, ")
    assert result.stderr == ""


def test_k_is_a_count_or_a_share(csv):
    for given, count in (("1", 1), ("0.95", 5), ("1.0", 12)):
        assert done("fit", csv, "-k", given).stdout.startswith(f"Component 1: {count} column"), given
    assert "Component 2: 2 columns" in done("fit", csv, "-k", "3,2").stdout
    assert "Component 2: 3 columns" in done("fit", csv, "-k", "3", "-c", "2").stdout


def test_options_reach_the_library(csv):
    plain = done("fit", csv, "-k", 4, "-c", 2).stdout
    assert " -0." in plain
    assert " -0." not in done("fit", csv, "-k", 4, "-c", 2, "--nonnegative").stdout
    assert "gene L" in done("fit", csv, "-k", 3, "--forced-in", "gene L,gene K").stdout
    for options in (["--scale"], ["--no-center"], ["--deflation", "schur"]):
        assert done("fit", csv, "-k", 4, "-c", 2, *options).stdout != plain, options
    twice = done("fit", csv, "-k", 6, "-c", 2, "--joint", "disjoint").stdout
    names = [line.split()[1] for line in twice.splitlines() if "gene" in line]
    assert len(names) == len(set(names)) == 12
    assert (
        "Nothing is proved about other columns."
        in done("fit", csv, "-k", 3, "--method", "sorting", "--proof", "none").stdout
    )
    assert "No other 6 columns hold more: proved." in done("fit", csv, "-k", 6, "--proof", "exact").stdout


def test_out_holds_what_the_library_computes(csv, table, tmp_path):
    out = tmp_path / "out"
    text = done("fit", csv, "-k", "5,4", "--out", out).stdout
    model = SparsePCA(cardinality=[5, 4]).fit(table)
    pd.testing.assert_frame_equal(pd.read_csv(out / "loadings.csv"), model.loadings(), check_dtype=False)
    scores = pd.read_csv(out / "scores.csv", index_col="row")
    np.testing.assert_allclose(scores, model.transform(table))
    summary = pd.read_csv(out / "summary.csv")
    assert summary["component"].tolist() == ["1", "2", "all"]
    np.testing.assert_allclose(summary["variance"], model.summary()["variance"])
    assert summary["features"][0].split(" | ") == model.loadings().query("component == 1")["feature"].tolist()
    np.testing.assert_allclose(load_model(out / "model.laconic").components_, model.components_)
    for picture in ("scores.png", "loadings.png"):
        assert_picture(out / picture)
    (line,) = [line for line in text.splitlines() if line.startswith("Wrote ")]
    assert set(line.removeprefix("Wrote ").removesuffix(".").split(", ")) == {str(file) for file in out.iterdir()}
    for number in (1, 2):
        verdict = Certificate.load(out / f"component-{number}.json").verdict
        assert verdict == model.verdicts_[number - 1]


def test_the_command_is_written_down_and_repeats_the_files(csv, table, tmp_path):
    words = ["fit", csv, "-k", 2, "--out", tmp_path / "out"]
    done(*words)
    version, command, digest = (tmp_path / "out" / "command.txt").read_text().splitlines()
    assert version == f"laconic {laconic.__version__}"
    assert shlex.split(command) == ["laconic", *map(str, words)]
    assert digest.endswith(": " + SparsePCA(cardinality=2).fit(table).certificates_[0].digest)
    first = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    done(*words)
    assert first == {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}


def test_what_an_earlier_fit_left_goes(csv, tmp_path):
    out = tmp_path / "out"
    assert "Removed" not in done("fit", csv, "-k", "5,4", "--out", out).stdout
    kept = [out / "component-02.json", out / "my component-2.json", out / "path.csv"]
    for file in kept:
        file.write_text("mine")
    text = done("fit", csv, "-k", 3, "--out", out).stdout
    gone = [out / "component-2.json", out / "scores.png"]
    assert text.splitlines()[-1] == f"Removed files of an earlier run: {', '.join(map(str, gone))}."
    assert all(file.is_file() for file in kept)


def test_components_found_together_have_one_certificate(csv, tmp_path):
    out = tmp_path / "out"
    printed = " ".join(done("fit", csv, "-k", "4,3", "--joint", "span", "--out", out).stdout.split())
    assert "They were chosen together. They reach at least " in printed
    assert not (out / "component-1.json").exists()
    assert done("verify", out / "components.json", csv).stdout.startswith("Accepted. ")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-k", 4, "-c", 2, "--joint", "common"], "and all use the same columns. They reach at least "),
        (["-k", 0.9, "-c", 2, "--joint", "common"], "They were chosen together, and all use the same columns. "),
        (["-k", "total:7", "-c", 2, "--joint", "disjoint"], "and no column is used twice. "),
        (["-k", "4,3", "--joint", "orthogonal"], "They were chosen together, at right angles to each other. "),
    ],
)
def test_what_is_proved_of_all_components_is_printed_and_on_the_page(csv, tmp_path, options, sentence):
    page, model = tmp_path / "page.html", tmp_path / "joint.laconic"
    printed = " ".join(done("fit", csv, *options, "--report", page, "--save", model).stdout.split())
    assert sentence in printed
    html = " ".join(page.read_text().replace("\u00a0", " ").split())
    assert sentence in html
    assert printed[printed.index("Together the 2") : printed.index(": proved.")] in html
    assert " ".join(done("report", model).stdout.split()).startswith(printed[:200])
    assert done("verify", model, csv).stdout.startswith("Accepted. ")


def test_a_covariance_matrix(pitprops_csv, tmp_path):
    out = tmp_path / "out"
    text = done("fit", pitprops_csv, "--covariance", "-k", 5, "-c", 2, "--out", out).stdout
    first = text.split("Component 2:")[0]
    assert all(f" {name} " in first for name in ("topdiam", "length", "ringbut", "bowdist", "whorls"))
    assert "5 columns hold 26.2 % of the variance" in first
    names = {"command.txt", "component-1.json", "component-2.json", "loadings.csv", "loadings.png", "model.laconic"}
    assert {file.name for file in out.iterdir()} == names | {"summary.csv"}
    np.save(tmp_path / "S.npy", pd.read_csv(pitprops_csv, index_col=0).to_numpy())
    assert "26.2 %" in done("fit", tmp_path / "S.npy", "--covariance", "-k", 5).stdout


def test_rows_are_coloured_by_a_column(csv, table, tmp_path):
    file, out = tmp_path / "more.csv", tmp_path / "out"
    table.assign(kind=["x", "y"] * 30, year=range(1960, 2020)).to_csv(file, index=False)
    plain = done("fit", csv, "-k", "5,4").stdout
    for column in ("kind", "year"):  # text is left out of the fit anyway, numbers because they colour the rows
        drop = ("--drop", "year") if column == "kind" else ()
        result = done("fit", file, "-k", "5,4", "--color-by", column, *drop, "--out", out)
        assert result.stdout.partition("Wrote")[0] == plain
        told = "'year' colours the rows and is left out of the fit; name it in --columns to keep it."
        assert (told in result.stderr) == (column == "year")
        assert_picture(out / "scores.png")
        assert done("verify", out / "component-1.json", out / "component-2.json", file).stdout.count("Accepted") == 2
    done("fit", file, "-k", 3, "--color-by", "kind", "--drop", "year", "--out", out)
    assert_picture(out / "scores.png")
    used = done("fit", file, "-k", 1, "--columns", "gene A,year", "--color-by", "year", "--out", out)
    assert re.search(r" year +[+-]", used.stdout)
    assert "colours" not in used.stderr


def test_a_path_in_python_is_what_the_command_line_reads(csv, table, tmp_path):
    frame = table.assign(kind=["north", "south"] * 30, model=["737", "A320", "EMB"] * 20)
    frame.insert(0, "plane", [f"N{i}" for i in range(60)])
    frame.to_csv(csv, index=False)
    told = done("fit", csv, "-k", 4, "--save", tmp_path / "m.laconic").stderr.strip().removeprefix("laconic: ")
    expected = load_model(tmp_path / "m.laconic")
    for data in (csv, open_source(csv), open_source(csv, blocks=True), read_table(csv)):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            model = SparsePCA(cardinality=4).fit(data)
        assert [str(one.message) for one in heard] == ([] if isinstance(data, pd.DataFrame) else [told])
        assert list(model.feature_names_in_) == list(table.columns)
        assert model.certificates_[0].digest == expected.certificates_[0].digest
        assert np.array_equal(model.components_, expected.components_)
        assert list(scores(model, data).index) == list(frame["plane"])


def test_a_page_shows_the_certificates_of_the_fit(csv, table, tmp_path):
    page = tmp_path / "page.html"
    table.assign(kind=["north", "south"] * 30, day="2024-01-31").to_csv(csv, index=False)
    done("fit", csv, "-k", "5,4", "--color-by", "kind", "--report", page, "--save", tmp_path / "m.laconic")
    text = page.read_text()
    digest = load_model(tmp_path / "m.laconic").certificates_[0].digest
    for words in (digest, "north", "laconic fit ", "2 columns of the table not used", ">kind<", ">day<", "genes.csv"):
        assert words in text
    done("report", tmp_path / "m.laconic", csv, "--color-by", "kind", "--title", "My genes", "--out", page)
    assert all(words in page.read_text() for words in ("My genes", "north", digest))
    done("report", tmp_path / "m.laconic", "--out", page)
    assert "north" not in page.read_text()


@pytest.mark.parametrize(
    "options",
    [
        ["-k", "4,3", "--scale", "--color-by", "kind"],
        ["-k", "4,3", "--drop", "gene L,gene C", "--read", "na=-1"],
        ["-k", "4,3", "--columns", "gene [ABDEFGH]", "--joint", "disjoint"],
    ],
)
def test_the_command_and_the_code_on_a_page_give_the_same_components(csv, table, tmp_path, monkeypatch, options):
    table.assign(kind=["north", "south"] * 30, day="2024-01-31").to_csv(csv, index=False)
    (tmp_path / "first").mkdir()
    model = tmp_path / "first" / "model.laconic"
    done("fit", csv, *options, "--report", tmp_path / "first" / "page.html", "--save", model)
    page = unescape((tmp_path / "first" / "page.html").read_text())
    command, code = re.findall(r"<pre><code>(.*?)</code></pre>", page, flags=re.DOTALL)
    expected = load_model(model).components_
    # Whoever got the page has the table in the folder of the command.
    (tmp_path / "second").mkdir()
    shutil.copy(csv, tmp_path / "second")
    monkeypatch.chdir(tmp_path / "second")
    done(*shlex.split(command)[1:])
    np.testing.assert_array_equal(load_model("model.laconic").components_, expected)
    assert unescape(Path("page.html").read_text()).count(code) == 1
    names = {}
    exec(code, names)
    np.testing.assert_array_equal(names["model"].components_, expected)
    assert [name for name in ("kind", "day", "gene L") if name not in names["X"]] == [
        name for name in ("kind", "day", "gene L") if f'<li><bdi class="name">{name}</bdi>' in page
    ]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-k", "13"], "cardinality=13 must lie between 1 and the number of columns, 12"),
        (["-k", "0.9,5"], "cardinality=[0.9, 5] must hold whole numbers"),
        (["-k", "two"], "cardinality='two' must be a number, or a share of variance such as 0.9."),
        (["-c", "13", "-k", "1"], "n_components=13"),
        (["-c", "many"], "n_components='many' must be"),
        (["--method", "magic"], "method='magic' is not known; choose one of auto, "),
        (["--proof", "hard"], "proof='hard'"),
        (["--joint", "apart"], "joint='apart' must be one of 'common', 'disjoint', 'orthogonal', 'span', None."),
        (["-k", "total:many", "--joint", "disjoint"], "cardinality={'total': 'many'} must be like {'total': 30}"),
        (["-k", "total:8"], "cardinality={'total': 8} is for several components with joint='disjoint' or"),
        (["--forced-in", "gene Z"], "'gene Z'"),
        (["--read", "index=sample"], "index='sample' is not a column of genes.csv"),
        (["--read", "speed=9"], "'speed' is no option of a table; the options are sep, decimal"),
        (["--read", "sep"], "--read sep: sep needs a value; see laconic fit --help."),
        (["--covariance"], "genes.csv has shape (60, 12)"),
        (["--covariance", "--no-center"], "--no-center is for rows"),
        (["--time-limit", "-1"], "time_limit=-1.0 must be a number of seconds above zero"),
        (["--time-limit", "soon"], "'--time-limit'"),
        (["--cardinalty", "5"], "(Possible options: --cardinality). See laconic fit --help."),
        (["--color-by", "kind"], "--color-by kind is for the pictures in --out and --report; give one of them, too."),
        (["--out", "o", "--color-by", "knd"], "color_by='knd' is not a column of genes.csv"),
        (["--report", "page.pdf"], "--report page.pdf must be a file that ends in .html or .htm."),
    ],
)
def test_bad_options(csv, tmp_path, monkeypatch, options, sentence):
    monkeypatch.chdir(tmp_path)
    assert sentence in refused("fit", csv, *options)


def test_results_are_not_written_over_the_data(csv, tmp_path):
    before = csv.read_bytes()
    assert "is a file; give a folder." in refused("fit", csv, "-k", 2, "--out", csv)
    assert "is a file that is read; give another one." in refused("fit", csv, "-k", 2, "--save", tmp_path / "genes.csv")
    csv.rename(tmp_path / "scores.csv")
    assert "would write results over" in refused("fit", tmp_path / "scores.csv", "-k", 2, "--out", tmp_path)
    assert (tmp_path / "scores.csv").read_bytes() == before


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

    monkeypatch.setattr(SparsePCA, "_fit", broken)
    assert isinstance(run("fit", csv, "-k", 2).exception, ZeroDivisionError)


def test_names_are_not_markup(table, tmp_path):
    table.rename(columns={"gene A": "[bold]A[/bold]", "gene B": ":smile:"}).to_csv(tmp_path / "t.csv", index=False)
    text = done("fit", tmp_path / "t.csv", "-k", 5).stdout
    assert "[bold]A[/bold]" in text
    assert ":smile:" in text


def test_long_tables_are_cut_and_say_so(tmp_path):
    rows = np.random.default_rng(0).standard_normal((30, 60))
    pd.DataFrame(rows).add_prefix("x").to_csv(tmp_path / "t.csv", index=False)
    lines = done("fit", tmp_path / "t.csv", "-k", 50, "--method", "sorting").stdout.splitlines()
    assert sum(line.startswith(" x") for line in lines) == 40
    assert " ... and 10 more with smaller loadings" in lines


def test_parquet_gives_what_csv_gives(csv, table, tmp_path):
    expected = done("fit", csv, "-k", 4, "-c", 2).stdout
    table.to_parquet(tmp_path / "genes.parquet")
    pl.DataFrame(table.to_dict("list")).write_parquet(tmp_path / "polars.parquet")
    for name in ("genes", "polars"):
        assert done("fit", tmp_path / f"{name}.parquet", "-k", 4, "-c", 2).stdout == expected
    table.set_axis(range(12), axis=1).to_parquet(tmp_path / "t.parquet")
    assert "\n 11 " in done("fit", tmp_path / "t.parquet", "-k", 3, "--forced-in", "11").stdout


def test_piped_output_is_plain_text(csv):
    result = program("fit", csv, "-k", 5, "-c", 2, PYTHONWARNINGS="error", PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert result.stderr == b""
    lines = result.stdout.decode("ascii").splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() and "\x1b" not in line for line in lines)


def test_a_bad_file_ends_the_program_with_a_sentence(tmp_path):
    result = program("choose", tmp_path / "missing.csv")
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.decode().splitlines() == [f"laconic: There is no file {tmp_path / 'missing.csv'}."]


def test_version_help_and_unknown_commands():
    assert done("--version").stdout == f"laconic {laconic.__version__}\n"
    text = done("--help").stdout
    commands = re.findall(r"^  ([a-z]+) ", text.partition("Commands:")[2].partition("Exit codes")[0], re.MULTILINE)
    assert commands == ["demo", "fit", "choose", "stability", "certify", "verify", "transform", "report"]
    assert "list[" not in done("fit", "--help").stdout
    assert "No such command 'ft'." in refused("ft")


def test_the_names_of_the_help_are_those_of_the_library():
    from laconic.bounds.names import SOLVERS
    from laconic.cli.options import DEFLATIONS, METHODS
    from laconic.covariance.deflation import DEFLATIONS as RULES

    assert set(METHODS) == set(SOLVERS)
    assert set(DEFLATIONS) == set(RULES)


def test_certify_offers_only_what_it_takes():
    words = " ".join(done("certify", "--help").stdout.split())
    assert "-k, --cardinality INT The number of columns." in words
    assert "SHARE" not in words
    assert "SHARE" in done("fit", "--help").stdout


def test_every_setting_of_the_model_is_an_option():
    words = done("fit", "--help").stdout
    named = {"n_components": "-c", "cardinality": "-k", "center": "--no-center", "random_state": "--seed"}
    for setting in set(SparsePCA().get_params()) - {"verbose"}:
        assert named.get(setting, f"--{setting.replace('_', '-')}") in words
