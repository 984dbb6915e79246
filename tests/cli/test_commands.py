"""The other commands: choose, stability, certify, verify, transform, report."""

import io
import shlex

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import done, refused, run

import laconic
from laconic import SparsePCA, choose, load_model
from laconic.data.text import EVERY_DIGIT
from laconic.datasets import load_pitprops, load_senate109
from laconic.report.sentences import in_columns, proof_of

VOTES = load_senate109().frame.iloc[:, :14].rename_axis("senator")


def test_choose_prints_the_recommendation_and_writes_the_rest(csv, table, tmp_path):
    out = tmp_path / "out"
    text = done("choose", csv, "--out", out).stdout
    assert text.startswith(f"{in_columns(str(choose(SparsePCA(), table)))}\n\nNext: laconic fit ")
    assert pd.read_csv(out / "choose.csv")["bend"].sum() == 1
    assert {file.name for file in out.iterdir()} == {"choose.csv", "choose.png", "command-choose.txt"}


def test_choose_names_the_next_command(csv, tmp_path):
    text = done("choose", csv, "-c", "2", "--scale", "--out", tmp_path / "o").stdout
    command = shlex.split(text.partition("\nNext: ")[2].splitlines()[0])
    assert command[:4] == ["laconic", "fit", str(csv), "--scale"]
    assert done(*command[1:]).stdout.count("Component ") == 2


def test_components_that_are_no_better_than_noise(tmp_path):
    rows = np.random.default_rng(0).standard_normal((60, 8))
    pd.DataFrame(rows).add_prefix("x").to_csv(tmp_path / "noise.csv", index=False)
    assert "No component is better than noise; one is kept, and" in done("choose", tmp_path / "noise.csv").stdout


def test_stability(csv, table, tmp_path):
    text = done("stability", csv, "-k", "5,4", "--resamples", 10, "--out", tmp_path).stdout
    expected = laconic.stability(SparsePCA(cardinality=[5, 4]), table, resamples=10)
    assert "Component 2: 10 half samples" in text
    assert expected.verdict.splitlines()[0].replace("feature", "column") in text
    np.testing.assert_allclose(pd.read_csv(tmp_path / "stability.csv")["frequency"], expected.to_frame()["frequency"])
    other = done("stability", csv, "-k", 3, "--resamples", 4, "--seed", 5).stdout
    assert "4 half samples" in other


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["choose", "-k", "0.9"], "leave out cardinality=0.9"),
        (["stability", "--resamples", "3"], "resamples=3 must be even"),
        (["stability", "--covariance"], "genes.csv"),
        (["certify", "--features", "gene A,gene Z"], "'gene Z'"),
        (["certify", "--features", "gene A,gene A"], "twice"),
        (["certify", "--features", "gene A", "--out", "c.npz"], "--out c.npz must be a file that ends in .json."),
    ],
)
def test_bad_options(csv, words, sentence):
    assert sentence in refused(words[0], csv, *words[1:])


def test_certify_a_choice_of_features(csv, table, pitprops_csv, tmp_path):
    place = tmp_path / "new" / "c.json"
    result = done("certify", csv, "--features", "gene A,gene B", "--features", "gene C", "--out", place)
    variance, bound, verdict, wrote = result.stdout.splitlines()
    found = float(variance.removeprefix("These 3 columns have a component with a variance of ").partition(":")[0])
    truth = np.linalg.eigvalsh(table[["gene A", "gene B", "gene C"]].cov())[-1]
    assert truth * (1 - 2e-5) < found <= truth
    assert bound.startswith("No 3 columns can have more than ")
    assert set(variance.partition(": ")[2].removesuffix(".").split(", ")) == {"gene A", "gene B", "gene C"}
    assert verdict.endswith("of the most that any 3 columns hold: proved.")
    assert wrote == f"Wrote {place}."
    assert done("verify", place, csv).stdout.startswith("Accepted")
    names = ",".join(load_pitprops().feature_names[:3])
    done("certify", pitprops_csv, "--covariance", "--features", names, "--out", place)
    assert done("verify", place, pitprops_csv).stdout.startswith("Accepted")
    best = done("certify", csv, "-k", 3).stdout
    assert "No other 3 columns hold more: proved." in best


@pytest.fixture
def proof(csv, tmp_path):
    done("fit", csv, "-k", "4,3", "--proof", "tight", "--method", "greedy", "--out", tmp_path / "fit")
    return tmp_path / "fit" / "component-1.json"


def test_verify_says_that_the_certificate_needs_a_column(table, proof, tmp_path):
    table.rename(columns={"gene A": "gene Z"}).to_csv(tmp_path / "other.csv")
    line = refused("verify", proof, tmp_path / "other.csv")
    assert "columns that the certificate needs: 'gene A' (did you mean " in line
    table.astype(object).replace({"gene A": {table["gene A"][3]: "ERR"}}).to_csv(tmp_path / "other.csv")
    assert "the certificate needs it; write numbers there" in refused("verify", proof, tmp_path / "other.csv")
    line = refused("verify", proof.with_name("model.laconic"), tmp_path / "other.csv")
    assert "the model needs it; write numbers there" in line


def test_verify_takes_several_certificates_and_models(csv, proof):
    second = proof.with_name("component-2.json")
    lines = done("verify", proof, second, csv).stdout.splitlines()
    assert lines[0].startswith("component-1.json: Accepted. ")
    assert lines[1].startswith("component-2.json: Accepted. ")
    assert "of what component 1 leaves" in lines[1]
    both = done("verify", proof.with_name("model.laconic"), csv).stdout
    assert [line.partition(": Acc")[0] for line in both.splitlines()] == [
        f"model.laconic, component {i}" for i in (1, 2)
    ]


def test_verify_says_what_is_wrong(proof, table, tmp_path):
    (table + 1e-9).to_csv(tmp_path / "others.csv", index=False)
    result = run("verify", proof, tmp_path / "others.csv")
    assert result.exit_code == 1
    assert result.stdout.startswith("This certificate was made for other data.")
    both = run("verify", proof, proof.with_name("component-2.json"), tmp_path / "others.csv")
    assert (both.exit_code, both.stdout.count("other data")) == (1, 2)
    told = run("verify", proof, tmp_path / "others.csv", "--explain")
    assert "2. The data are those of the certificate: this step fails" in told.stdout
    assert "3. " not in told.stdout


def test_a_proof_is_told(csv, proof):
    text = done("verify", proof.with_name("component-2.json"), csv, "--explain").stdout
    assert text.startswith("1. The claim\n   ")
    assert "\n3. The matrix S\n" in text
    assert "\n\nAccepted. " in text


def test_bad_input_of_verify(csv, proof, table, tmp_path):
    altered = tmp_path / "altered.json"
    altered.write_text(proof.read_text().replace('"upper": ', '"upper": 1'))
    cut = tmp_path / "cut.json"
    cut.write_text(proof.read_text()[:200])
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "m.laconic").touch()
    for file, words in (
        (altered, "was altered"),
        (cut, "cut.json"),
        (tmp_path / "other.json", "other.json"),
        (tmp_path / "m.laconic", "m.laconic is no laconic model"),
        (tmp_path / "nothing.json", "There is no file"),
    ):
        assert words in refused("verify", file, csv), file
    assert "and then the data." in refused("verify", csv, proof)
    assert "and then the data." in refused("verify", proof)
    assert "nothing.csv" in refused("verify", proof, tmp_path / "nothing.csv")
    weighted = SparsePCA(cardinality=3).fit(table, sample_weight=np.arange(1.0, 61.0)).certificates_[0]
    weighted.save(tmp_path / "weighted.json")
    result = run("verify", tmp_path / "weighted.json", csv)
    assert (result.exit_code, "give the same sample_weight" in result.stdout) == (1, True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table and the model that `laconic fit` makes of it."""
    place = tmp_path_factory.mktemp("models")
    VOTES.to_csv(place / "votes.csv")
    done("fit", place / "votes.csv", "-k", "3,2", "--save", place / "m.laconic")
    return place


def scores_in(text):
    return pd.read_csv(io.StringIO(text), index_col=0, **EVERY_DIGIT)


@pytest.mark.parametrize("blocks", [(), ("--read", "blocks")], ids=["whole", "blocks"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_scores_of_new_rows_keep_their_labels(folder, tmp_path, blocks, ending):
    model = load_model(folder / "m.laconic")
    used = [VOTES.columns[j] for j in np.flatnonzero(model.components_.any(axis=0))]
    new = VOTES.iloc[5:9][used[::-1]].assign(note="text", hole=np.nan)
    file = tmp_path / f"new.{ending}"
    new.to_csv(file) if ending == "csv" else new.to_parquet(file)
    printed = scores_in(done("transform", folder / "m.laconic", file, *blocks).stdout)
    assert printed.index.name == "senator"
    assert printed.index.tolist() == VOTES.index[5:9].tolist()
    assert np.array_equal(printed.to_numpy(), model.transform(VOTES.iloc[5:9]))
    done("transform", folder / "m.laconic", file, "--out", tmp_path / "s.csv", *blocks)
    pd.testing.assert_frame_equal(scores_in((tmp_path / "s.csv").read_text()), printed, check_exact=True)


def test_scores_of_other_tables(folder, tmp_path):
    whole = done("transform", folder / "m.laconic", folder / "votes.csv").stdout
    VOTES[:40].to_parquet(tmp_path / "a.parquet")
    VOTES[40:].to_parquet(tmp_path / "b.parquet")
    assert done("transform", folder / "m.laconic", tmp_path / "a.parquet", tmp_path / "b.parquet").stdout == whole
    assert done("transform", folder / "m.laconic", "-", stdin=VOTES.to_csv()).stdout == whole
    VOTES.T.to_csv(tmp_path / "t.csv")
    turned = scores_in(done("transform", folder / "m.laconic", tmp_path / "t.csv", "--read", "transpose").stdout)
    assert np.array_equal(turned, scores_in(whole))
    np.save(tmp_path / "new.npy", VOTES.to_numpy(dtype=float))
    assert np.array_equal(
        scores_in(done("transform", folder / "m.laconic", tmp_path / "new.npy").stdout), scores_in(whole)
    )
    np.save(tmp_path / "new.npy", VOTES.to_numpy(dtype=float)[:, :5])
    assert "new.npy has 5 columns" in run("transform", folder / "m.laconic", tmp_path / "new.npy").stderr


def test_bad_rows_for_scores(folder, tmp_path):
    first = load_model(folder / "m.laconic").loadings()["feature"][0]
    new, model = tmp_path / "new.csv", folder / "m.laconic"
    VOTES.rename(columns={first: f"{first}."}).to_csv(new)
    assert f" columns that the model needs: {first!r} (did you mean " in refused("transform", model, new)
    VOTES.iloc[:0].to_csv(new)
    assert "new.csv has no rows" in refused("transform", model, new)
    VOTES.astype(object).assign(**{first: "ERR"}).to_csv(new)
    assert "the model needs it; write numbers there" in refused("transform", model, new)
    assert "is a file that is read" in refused("transform", model, folder / "votes.csv", "--out", folder / "votes.csv")
    line = refused("transform", model, folder / "votes.csv", "--out", tmp_path / "scores.xlsx")
    assert line.endswith("must be a file that ends in .csv.")


def test_report_prints_a_model(folder, tmp_path):
    model = load_model(folder / "m.laconic")
    text = " ".join(done("report", folder / "m.laconic").stdout.split())
    proofs = [proof_of(model, place) for place in (0, 1)]
    for words in [*proofs, model.certificates_[0].digest, *model.loadings()["feature"]]:
        assert " ".join(words.split()) in text
    assert "Settings: cardinality=[3, 2]." in text
    assert f"New rows need {len(set(model.loadings()['feature']))} of 14 columns: " in text
    SparsePCA(cardinality=2, proof=None).fit(VOTES).save(tmp_path / "unproved.laconic")
    assert "not computed, because there is no proof" in done("report", tmp_path / "unproved.laconic").stdout
    assert "--out page.html" in refused("report", folder / "m.laconic", folder / "votes.csv")


def test_bad_model_files_are_one_line(folder, tmp_path):
    (tmp_path / "cut.laconic").write_bytes((folder / "m.laconic").read_bytes()[:1000])
    for file, words in (
        (tmp_path / "nix.laconic", "There is no file"),
        (tmp_path / "cut.laconic", "cut.laconic is no laconic model"),
        (folder / "votes.csv", "votes.csv is no laconic model"),
    ):
        assert words in refused("report", file)
        assert words in refused("transform", file, folder / "votes.csv")
