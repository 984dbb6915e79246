"""Models on disk on the command line: fit --save, transform, show."""

import io

import numpy as np
import pandas as pd
import pytest
from tests.cli.commands import done, refused, run

from laconic import SparsePCA, load_model
from laconic.datasets import load_senate109

VOTES = load_senate109().frame.iloc[:, :14].rename_axis("senator")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table and the model that `laconic fit` makes of it."""
    place = tmp_path_factory.mktemp("models")
    VOTES.to_csv(place / "votes.csv")
    done("fit", place / "votes.csv", "-k", "3,2", "--save", place / "m.laconic", "--out", place / "out")
    return place


def table(text):
    return pd.read_csv(io.StringIO(text), index_col=0, float_precision="round_trip")


def test_fit_saves_the_model_that_the_library_makes(folder):
    expected = SparsePCA(cardinality=[3, 2]).fit(VOTES)
    for file in ("m.laconic", "out/model.laconic"):
        model = load_model(folder / file)
        assert np.array_equal(model.components_, expected.components_)
        assert model.verdicts_ == expected.verdicts_


@pytest.mark.parametrize("blocks", [[], ["--blocks"]])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_scores_of_new_rows_keep_their_labels(folder, tmp_path, blocks, ending):
    model = load_model(folder / "m.laconic")
    used = [VOTES.columns[j] for j in np.flatnonzero(model.components_.any(axis=0))]
    new = VOTES.iloc[5:9][used[::-1]].assign(note="text", hole=np.nan)
    new.to_csv(tmp_path / "new.csv") if ending == "csv" else new.to_parquet(tmp_path / "new.parquet")
    expected = model.transform(VOTES.iloc[5:9])
    printed = table(done("transform", folder / "m.laconic", tmp_path / f"new.{ending}", *blocks).stdout)
    assert printed.index.name == "senator"
    assert printed.index.tolist() == VOTES.index[5:9].tolist()
    assert np.array_equal(printed.to_numpy(), expected)
    for place, read in (("s.csv", lambda file: table(file.read_text())), ("s.parquet", pd.read_parquet)):
        done("transform", folder / "m.laconic", tmp_path / f"new.{ending}", "--out", tmp_path / place, *blocks)
        written = read(tmp_path / place)
        assert written.index.name == "senator"
        pd.testing.assert_frame_equal(written, printed, check_exact=True)


def test_rows_without_labels_are_numbered_across_blocks(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("laconic.data.sources.text.PIECE_NUMBERS", 1)
    monkeypatch.setattr("laconic.data.sources.text.PIECE_ROWS", 1)
    rows = pd.concat([VOTES] * 3)
    rows.to_csv(tmp_path / "new.csv", index=False)
    printed = table(done("transform", folder / "m.laconic", tmp_path / "new.csv", "--blocks").stdout)
    assert printed.index.tolist() == list(range(len(rows)))
    assert np.array_equal(printed.to_numpy(), load_model(folder / "m.laconic").transform(rows))
    rows.to_csv(tmp_path / "new.csv")
    printed = table(done("transform", folder / "m.laconic", tmp_path / "new.csv", "--blocks").stdout)
    assert printed.index.tolist() == rows.index.tolist()


def test_several_files_and_standard_input(folder, tmp_path):
    VOTES[:40].to_parquet(tmp_path / "a.parquet")
    VOTES[40:].to_parquet(tmp_path / "b.parquet")
    whole = done("transform", folder / "m.laconic", folder / "votes.csv").stdout
    assert done("transform", folder / "m.laconic", tmp_path / "a.parquet", tmp_path / "b.parquet").stdout == whole
    assert done("transform", folder / "m.laconic", "-", stdin=VOTES.to_csv()).stdout == whole


def test_features_in_rows_are_found_by_name(folder, tmp_path):
    VOTES.T.to_csv(tmp_path / "t.csv")
    turned = table(done("transform", folder / "m.laconic", tmp_path / "t.csv", "--transpose").stdout)
    assert np.array_equal(turned.to_numpy(), load_model(folder / "m.laconic").transform(VOTES))


@pytest.mark.parametrize("blocks", [[], ["--blocks"]])
def test_missing_columns_are_one_line(folder, tmp_path, blocks):
    first = load_model(folder / "m.laconic").loadings()["feature"][0]
    VOTES.rename(columns={first: f"{first}."}).to_csv(tmp_path / "new.csv")
    result = run("transform", folder / "m.laconic", tmp_path / "new.csv", *blocks)
    assert (result.exit_code, result.stdout) == (2, "")
    words = f"new.csv has no column {first!r}, which the model needs; did you mean '{first}.'?"
    assert result.stderr.splitlines()[-1] == f"laconic: {words}"


def test_a_table_without_rows(folder, tmp_path):
    VOTES.iloc[:0].to_csv(tmp_path / "none.csv")
    assert "none.csv has no rows" in refused("transform", folder / "m.laconic", tmp_path / "none.csv")


def test_strict_demands_the_columns_of_the_fit(folder, tmp_path):
    VOTES.iloc[:, ::-1].to_csv(tmp_path / "new.csv")
    assert "same order" in refused("transform", folder / "m.laconic", tmp_path / "new.csv", "--strict")
    whole = done("transform", folder / "m.laconic", folder / "votes.csv").stdout
    assert done("transform", folder / "m.laconic", folder / "votes.csv", "--strict").stdout == whole


def test_a_used_column_of_text_cannot_be_left_out(folder, tmp_path):
    used = load_model(folder / "m.laconic").loadings()["feature"][0]
    VOTES.astype(object).assign(**{used: "ERR"}).to_csv(tmp_path / "new.csv")
    message = refused("transform", folder / "m.laconic", tmp_path / "new.csv")
    assert "the model needs it; write numbers there, or read the cells as missing values with --na ERR." in message


@pytest.mark.parametrize("blocks", [[], ["--blocks"]])
def test_holes_in_used_columns_follow_the_option(folder, tmp_path, blocks):
    holes = VOTES.astype(float)
    holes.iloc[3, np.flatnonzero(load_model(folder / "m.laconic").components_[0])[0]] = np.nan
    holes.to_csv(tmp_path / "new.csv")
    result = run("transform", folder / "m.laconic", tmp_path / "new.csv", *blocks)
    assert result.exit_code == 2
    assert "new.csv has NaN in row 4" in result.stderr
    assert result.stderr.endswith("or give --missing pairwise or --missing em.\n")
    scores = table(done("transform", folder / "m.laconic", tmp_path / "new.csv", "--missing", "em", *blocks).stdout)
    assert np.isfinite(scores.to_numpy()).all()


def test_an_array_has_no_names_and_needs_all_columns(folder, tmp_path):
    np.save(tmp_path / "new.npy", VOTES.to_numpy(dtype=float))
    scores = table(done("transform", folder / "m.laconic", tmp_path / "new.npy").stdout)
    assert np.array_equal(scores.to_numpy(), load_model(folder / "m.laconic").transform(VOTES))
    np.save(tmp_path / "new.npy", VOTES.to_numpy(dtype=float)[:, :5])
    result = run("transform", folder / "m.laconic", tmp_path / "new.npy")
    assert (result.exit_code, "new.npy has 5 features" in result.stderr) == (2, True)


def test_scores_are_not_written_over_what_is_read(folder, tmp_path):
    assert "is a file that is read" in refused(
        "transform", folder / "m.laconic", folder / "votes.csv", "--out", folder / "votes.csv"
    )
    line = refused("transform", folder / "m.laconic", folder / "votes.csv", "--out", tmp_path / "scores.xlsx")
    assert line.endswith("must end in .csv or .parquet.")


def test_show_prints_components_verdicts_and_origin(folder):
    model = load_model(folder / "m.laconic")
    text = " ".join(done("show", folder / "m.laconic").stdout.split())
    for words in [*model.verdicts_, model.joint_verdict_.partition("; joint=")[0], model.certificates_[0].digest]:
        assert " ".join(words.split()) in text
    assert "Settings: -k 3,2, -c 2." in text
    assert f"Software: laconic {model.versions_['laconic']}" in text
    assert all(feature in text for feature in model.loadings()["feature"])
    assert f"New rows need {len(set(model.loadings()['feature']))} of 14 columns" in text


def test_certificates_that_show_writes_are_verified(folder, tmp_path):
    done("show", folder / "m.laconic", "--certificates", tmp_path / "proofs")
    for number in (1, 2):
        file = tmp_path / "proofs" / f"component-{number}.json"
        assert "Accepted" in done("verify", file, folder / "votes.csv").stdout
        assert file.read_bytes() == (folder / "out" / file.name).read_bytes()
    SparsePCA(cardinality=2, proof=None).fit(VOTES).save(tmp_path / "unproved.laconic")
    line = refused("show", tmp_path / "unproved.laconic", "--certificates", tmp_path / "none")
    assert line == "laconic: unproved.laconic has no certificates: no proof was asked for, or none was found."
    assert "not computed, because there is no proof" in done("show", tmp_path / "unproved.laconic").stdout


def test_bad_model_files_are_one_line(folder, tmp_path):
    data = (folder / "m.laconic").read_bytes()
    (tmp_path / "cut.laconic").write_bytes(data[:1000])
    for file, words in [
        (tmp_path / "nix.laconic", "There is no file"),
        (tmp_path / "cut.laconic", "cut.laconic is no laconic model, or was altered or cut short."),
        (folder / "votes.csv", "votes.csv is no laconic model"),
    ]:
        assert words in refused("show", file)
        assert words in refused("transform", file, folder / "votes.csv")


def test_a_model_is_not_saved_over_the_data(tmp_path):
    file = tmp_path / "votes.csv"
    VOTES.to_csv(file)
    before = file.read_bytes()
    line = refused("fit", file, "-k", 1, "--save", tmp_path / "." / "votes.csv")
    assert line.endswith("votes.csv is a file that is read; give another one.")
    assert file.read_bytes() == before
