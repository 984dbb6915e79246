"""The words of the command line: every message is one line, without a word of Python, and bad input ends with 2."""

import re

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import run

from laconic import SparsePCA

RNG = np.random.default_rng(5)
TABLE = pd.DataFrame(
    RNG.standard_normal((40, 1)) + RNG.standard_normal((40, 6)), columns=[f"gene {letter}" for letter in "ABCDEF"]
)
# What must not be in a message: names of Python, its types, its quotes around words of options, its arguments.
PYTHON = [
    r"(?<![/\w])[a-z]+_[a-z]+",  # time_limit
    r"\b(SparsePCA|None|True|False|dtype|ndarray|DataFrame|ValueError|numpy|pandas|codec|int|str|float)\b",
    r"\b\w+\(",  # fit(
    r"(?<!-)\b[a-z]+=",  # scale=
    r"(^|[ (])[XSY] ",
    r"(^|: )(data|support|cardinality) (has|is|names|holds)",
    r"'(em|pairwise|span|auto|exact|tight|fast|hull|cv|projection|parallel)'",
    r"[\[{]'|\[1, inf\)|feature\(s\)",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables of all kinds, and certificates of some of them."""
    place = tmp_path_factory.mktemp("words")
    covariance = TABLE.cov()
    tables = {
        "t": TABLE,
        "nan": TABLE.mask(TABLE.iloc[3, 1] == TABLE),
        "cov": covariance,
        "asym": covariance + np.diag(np.ones(5), 1),
        "indef": covariance - 9 * np.diag([1, 0, 0, 0, 0, 0]),
        "one": TABLE.iloc[:1],
        "none": TABLE.iloc[:0],
        "const": 0 * TABLE,
        "huge": 1e200 * TABLE,
        "inf": TABLE.where(TABLE.iloc[2, 2] != TABLE, np.inf),
        "few": TABLE.iloc[:, :3],
        "half": TABLE.iloc[:20],
        "renamed": TABLE.rename(columns={"gene A": "other"}),
        "marked": TABLE.astype(object).where(TABLE.iloc[5, 5] != TABLE, "ERR"),
        "comma": TABLE.map(lambda number: f"{number:.3f}".replace(".", ",")),
    }
    for name, table in tables.items():
        table.to_csv(place / f"{name}.csv", index=False)
    np.save(place / "a.npy", TABLE.to_numpy())
    (place / "latin.csv").write_bytes("größe,b\n1,2\n3,4\n".encode("latin-1"))
    read = {name: pd.read_csv(place / f"{name}.csv") for name in ("t", "half", "cov")}
    models = {
        "out": SparsePCA(cardinality=2).fit(read["t"]),
        "c": SparsePCA(cardinality=2).fit_covariance(read["cov"]),
    }
    for name, model in models.items():
        (place / name).mkdir()
        model.certificates_[0].save(place / name / "component-1.json")
    (place / "span").mkdir()
    together = SparsePCA(2, cardinality=2, joint="span").fit(read["t"])
    together.joint_certificate_.save(place / "span" / "components.json")
    return place


BAD = """
fit t -k 0 | fit t -k 99 | fit t -k 1.5 | fit t -k cvv | fit t -k 3,2,1 -c 2 | fit t -k 3 --min-variance 0.5
fit t --min-variance 1.5 | fit t --penalty -1 --method dspca | fit t --penalty 1 | fit t -k 3 --penalty 1 --method exact
fit t -c 0 | fit t -c 9 | fit t -c paralel | fit t --method autoo | fit t --method magic | fit t --deflation schor
fit t --proof tigth | fit t --joint spam | fit t --joint span | fit t --joint span -k 2 -c 2 --nonnegative
fit t --joint span -k 2 -c 2 --disjoint | fit t --joint span -k 2 -c 2 --permutations 9 | fit t --permutations -1
fit t --joint span -k 2 --method gpower-l1-block | fit cov --covariance -k 2 --permutations 9 | fit t --forced-in genA
fit t --forced-in gene_A,gene_B -k 1 | fit t --drop gene* | fit one
fit t --forced-in gene_A -k 2 -c 2 --disjoint | fit t --disjoint -k 3 -c 3 | fit t --index sampel | fit t --columns genA
fit t --covariance | fit t --time-limit 0 | fit t --missing em2 | fit t --missing em --covariance | fit nan | fit none
fit cov --covariance -k cv | fit cov --covariance -k bic | fit inf | fit const | fit huge
fit asym --covariance | fit comma | fit indef --covariance --scale | fit marked | fit t --encoding utf9
fit t --sheet x | fit t --separator ;; | fit t --decimal x | fit t t | fit nothing | fit t --scores xls --out o
fit a.npy --index x | fit a.npy --na x | fit a.npy --forced-in 99 -k 2 | fit a.npy --permutations 9 | fit t --zzz
fit latin --encoding ascii | fit | fitt t | fit t -c | fit t --time-limit abc
path t -K 0 | path t -K 99 | path t --forced-in gene_A,gene_B -K 1 | path nan | path t --time-limit 0 | path t -K x
choose t -K 99 | choose t -c 0 | choose t -c 99 | choose t --criterion cvv | choose cov --covariance | choose a.npy
choose cov --covariance --criterion hull -c parallel | choose nan --missing pairwise | choose t --forced-in x
stability t -k 0 | stability t -k cv | stability t -k 3 -c 0 | stability t -k 3 --resamples 0 | stability t
stability t -k 3 --threshold 2 | stability t -k 3 --jobs 0 | stability t -k 3 --seed -1 | stability a.npy -k 3
stability nan -k 3 | stability t -k 3 --sampling halfs | certify t --support gene_A,genB | certify t --support ,
certify t --support gene_A,gene_A | certify a.npy --support 99 | certify const --support gene_A | certify t
verify nothing.json t | verify t t | verify out/component-1.json nan | verify out/component-1.json
"""
NOT_PROVED = """
verify out/component-1.json few | verify out/component-1.json half | verify c/component-1.json t
verify c/component-1.json asym | verify span/components.json half
"""


def commands(text):
    return [command.strip() for line in text.strip().splitlines() for command in line.split("|")]


def called(command, folder):
    """Run a command. A word alone is a table of the folder, and gene_A stands for 'gene A'."""
    words = [word.replace("gene_", "gene ") for word in command.split()]
    known = {file.stem: file for file in folder.glob("*.csv")} | {"a.npy": folder / "a.npy", "nothing": "nothing.csv"}
    return run(words[0], *(known.get(word, folder / word if word.endswith(".json") else word) for word in words[1:]))


def check_words(line):
    found = [pattern for pattern in PYTHON if re.search(pattern, re.sub(r"\S*/\S*|\S+\.json", "FILE", line))]
    assert not found, line


@pytest.mark.parametrize("command", commands(BAD))
def test_bad_input(folder, command):
    result = called(command, folder)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    *notes, line = result.stderr.splitlines()
    assert all("read in blocks" in note for note in notes)
    assert line.startswith("laconic: ")
    assert line.endswith((".", "?")), line
    check_words(line.removeprefix("laconic: "))


@pytest.mark.parametrize("command", commands(NOT_PROVED))
def test_what_is_not_proved(folder, command):
    result = called(command, folder)
    assert result.exit_code == 1, result.output
    assert result.stderr == ""
    (line,) = result.stdout.splitlines()
    check_words(line)


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("fit t --columns gene_AA", "did you mean 'gene A'?"),
        ("fit t --drop GENE-a", "did you mean 'gene A'?"),
        ("fit t --index geneB", "did you mean 'gene B'?"),
        ("fit t --forced-in gene-B -k 2", "did you mean 'gene B'?"),
        ("path t --forced-in gene-B", "did you mean 'gene B'?"),
        ("certify t --support gene-B", "did you mean 'gene B'?"),
        ("fit t --out o --color-by gene-B", "did you mean 'gene B'?"),
        ("fit t --method exakt", "did you mean exact?"),
        ("fit t --deflation projektion", "did you mean projection?"),
        ("fit t -k sparsenes", "did you mean sparseness?"),
        ("choose t --criterion ebik", "did you mean ebic?"),
        ("fit t --colums x", "did you mean --columns? See laconic fit --help."),
        ("chose t", "did you mean choose? See laconic --help."),
    ],
)
def test_did_you_mean(folder, command, end):
    assert called(command, folder).stderr.splitlines()[-1].endswith(end)


def test_verdicts_name_options(folder):
    text = called("fit t -k 3 -c 2 --method exact --time-limit 0.000001", folder).stdout
    assert "--time-limit" in text
    assert "time_limit" not in text


def test_a_name_with_commas(tmp_path):
    table = TABLE.rename(columns={"gene A": "a, first", "gene B": "a"})
    table.to_csv(tmp_path / "t.csv", index=False)
    for option in ("--columns", "--drop", "--forced-in"):
        result = run("fit", tmp_path / "t.csv", "-k", 2, option, "a, first,gene C")
        assert result.exit_code == 0, result.output
