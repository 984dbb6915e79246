"""The study of the stock market agrees with the paper as far as its data allow."""

import numpy as np
import pytest

from laconic.datasets import data_folder
from laconic.studies import Settings, get_study

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study():
    try:
        data_folder()
    except FileNotFoundError:
        pytest.skip("set LACONIC_DATA to the folder of larger data sets")
    return get_study("stocks")(Settings(quick=True))


def test_the_first_component_has_the_paper_s_count(study):
    assert study.facts["first"] == "31 Financials, 1 Consumer Discretionary"
    assert study.facts["mixed_from"] == 23
    assert study.facts["entrant"] == "Lennar Corp."


def test_financials_alone_fall_short_by_little(study):
    short = study.facts["short"]
    assert 0 < short[23] < 2e-4
    assert short[23] < short[32] < 5e-3


def test_hotellings_deflation_gives_the_paper_s_sectors(study):
    assert study.facts["second"] == "16 Energy, 7 Materials, 2 Financials, 1 Information Technology"
    assert len(study.facts["shared"]) == 2


def test_deflations(study):
    table = study.facts["deflations"].set_index("deflation")
    assert len(table) == 5
    for kind in ("hotelling", "projection"):
        assert table.loc[kind, "second"] == table.loc[f"orthogonalized-{kind}", "second"]
    # Hotelling's deflation leaves a matrix that is not positive semidefinite. The others do not.
    assert table.loc["hotelling", "least_eigenvalue"] < -1e-3
    assert (table.loc[["projection", "schur"], "least_eigenvalue"] > -1e-9).all()
    assert table.loc["projection", "pure_until"] == 25
    assert (table["second_gap"] < 0.03).all()


def test_bounds_hold_and_proofs_are_proofs(study):
    assert {3, 5, 10} <= set(study.facts["proved"])
    path = study.tables["stocks-path"]
    assert (path["upper_bound"] >= path["value"]).all()
    gaps = study.facts["gaps"]
    assert gaps[10] < 1e-6
    assert gaps[32] < 0.02
    assert gaps[300] < 0.06


def test_ninety_per_cent_takes_hundreds_of_stocks(study):
    assert study.facts["ninety"] == 316
    assert study.facts["shares"][300] == pytest.approx(0.883, abs=1e-3)
    assert np.all(np.diff(study.tables["stocks-path"]["value"]) > 0)


def test_the_orientation_is_the_market_s(study):
    assert study.facts["correlation"] == pytest.approx(0.668, abs=1e-3)
    assert study.facts["without_market"] < -0.2


def test_everything_is_written(study, tmp_path):
    names = {path.name for path in study.write(tmp_path)}
    assert {"stocks-planes.png", "stocks-sectors.svg", "stocks-gaps.png", "stocks-deflations.csv"} <= names
    assert set(study.figures) == set(study.captions)
    assert "Lennar" in (tmp_path / "README.md").read_text()


def test_without_the_data_it_says_what_to_set(monkeypatch):
    monkeypatch.delenv("LACONIC_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="LACONIC_DATA"):
        get_study("stocks")(Settings(quick=True))
