"""The study of the stock market agrees with the paper as far as its data allow."""

import numpy as np
import pytest

from studies import stocks

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study(data_folder):  # noqa: ARG001 - it skips without data
    return stocks.run(quick=True)


def test_the_first_component_has_the_paper_s_count(study):
    assert study.facts["first"] == "31 Financials, 1 Consumer Discretionary"
    assert (study.facts["mixed_from"], study.facts["entrant"]) == (23, "Lennar Corp.")
    short = study.facts["short"]
    assert 0 < short[23] < 2e-4
    assert short[23] < short[32] < 5e-3


def test_hotellings_deflation_gives_the_paper_s_sectors(study):
    assert study.facts["second"] == "16 Energy, 7 Materials, 2 Financials, 1 Information Technology"
    assert len(study.facts["shared"]) == 2
    table = study.facts["deflations"].set_index("deflation")
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
    assert np.all(np.diff(path["value"]) > 0)
    gaps = study.facts["gaps"]
    assert (gaps[10] < 1e-6, gaps[32] < 0.02, gaps[300] < 0.06) == (True, True, True)


def test_ninety_per_cent_takes_hundreds_of_stocks(study):
    assert study.facts["ninety"] == 316
    assert study.facts["shares"][300] == pytest.approx(0.883, abs=1e-3)


def test_the_orientation_is_the_market_s(study):
    assert study.facts["correlation"] == pytest.approx(0.668, abs=1e-3)
    assert study.facts["without_market"] < -0.2


def test_everything_is_written(study, tmp_path):
    page = study.write(tmp_path).read_text()
    assert "Lennar" in page
    assert page.count("\n| ") == 11 + 1
    assert (tmp_path / "stocks-planes.png").exists()
