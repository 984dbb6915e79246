from datetime import date
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from helpers import value_on
from laconic.datasets import load_pitprops, load_senate109

FIVE_BILLS = ("S. 1932", "S.Con.Res. 83", "S. 3930", "S. 403", "S. 397")


def test_pitprops_is_a_correlation_matrix_with_names_in_jeffers_order():
    table = load_pitprops()
    S = table.covariance
    assert S.shape == (13, 13)
    assert S.dtype == np.float64
    assert np.array_equal(S, S.T)
    assert np.array_equal(np.diag(S), np.ones(13))
    assert np.linalg.eigvalsh(S)[0] > 0.03
    assert table.n_samples == 180
    assert tuple(table.frame.index) == tuple(table.frame.columns) == table.feature_names
    for first, second, correlation in (
        ("topdiam", "length", 0.954),
        ("moist", "testsg", 0.882),
        ("ringtop", "ringbut", 0.813),
        ("testsg", "ovensg", 0.220),
        ("knots", "diaknot", 0.184),
    ):
        assert table.frame.loc[first, second] == correlation
    S[0, 1] = 0
    assert load_pitprops().covariance[0, 1] == table.frame.iloc[0, 1] == 0.954


def test_pitprops_best_five_by_exhaustive_search():
    table = load_pitprops()
    best = max(combinations(range(13), 5), key=lambda support: value_on(table.covariance, support))
    assert value_on(table.covariance, best) == pytest.approx(3.406155, abs=1e-6)
    assert {table.feature_names[j] for j in best} == {"topdiam", "length", "ringbut", "bowdist", "whorls"}


def test_senate_shape_values_and_parties():
    senate = load_senate109()
    assert senate.data.shape == (101, 48)
    assert set(np.unique(senate.data)) == {-1.0, 0.0, 1.0}
    assert {party: senate.parties.count(party) for party in set(senate.parties)} == {"R": 55, "D": 45, "I": 1}
    # Fifty states have two senators each. New Jersey has a third, who replaced another.
    assert len(set(senate.states)) == 50
    assert {state for state in senate.states if senate.states.count(state) != 2} == {"NJ"}


def test_senate_names_are_unique_and_aligned():
    senate = load_senate109()
    per_bill = (senate.feature_names, senate.titles, senate.vote_ids, senate.dates, senate.yeas, senate.nays)
    assert {len(names) for names in per_bill} == {48}
    assert len(set(senate.feature_names)) == len(set(senate.vote_ids)) == 48
    assert len(set(senate.senators)) == len(senate.parties) == 101
    assert {"Nelson (D-FL)", "Nelson (D-NE)", "McCain (R-AZ)", "Jeffords (I-VT)"} <= set(senate.senators)
    frame = senate.frame
    assert tuple(frame.index) == senate.senators
    assert tuple(frame.columns) == senate.feature_names
    assert np.array_equal(frame.to_numpy(), senate.data)
    assert frame.loc["McCain (R-AZ)", "S. 1932"] == 1
    frame.iloc[0, 0] = 7
    assert senate.data[0, 0] == 1


def test_senate_totals_are_those_of_the_record():
    senate = load_senate109()
    assert np.array_equal((senate.data == 1).sum(axis=0), senate.yeas)
    assert np.array_equal((senate.data == -1).sum(axis=0), senate.nays)


def test_senate_titles_and_dates_belong_to_their_bills():
    senate = load_senate109()
    place = senate.feature_names.index
    assert "Deficit Reduction Act of 2005" in senate.titles[place("S. 1932")]
    assert "Military Commissions Act of 2006" in senate.titles[place("S. 3930")]
    assert senate.dates[place("S. 1932")] == date(2005, 11, 3)
    assert list(senate.dates) == sorted(senate.dates)
    assert (senate.dates[0].year, senate.dates[-1].year) == (2005, 2006)


def test_senate_successor_never_votes_beside_his_predecessor():
    frame = load_senate109().frame
    corzine, menendez = frame.loc["Corzine (D-NJ)"], frame.loc["Menendez (D-NJ)"]
    assert (corzine != 0).any()
    assert (menendez != 0).any()
    assert not ((corzine != 0) & (menendez != 0)).any()


def test_senate_five_bills_of_the_paper():
    senate = load_senate109()
    S = np.cov(senate.data, rowvar=False)
    five = [senate.feature_names.index(bill) for bill in FIVE_BILLS]
    assert value_on(S, five) / np.linalg.eigvalsh(S)[-1] == pytest.approx(0.422, abs=5e-4)
    # No exchange of one bill for another explains more.
    swaps = [[*five[:i], j, *five[i + 1 :]] for i in range(5) for j in range(48) if j not in five]
    assert max(value_on(S, swap) for swap in swaps) < value_on(S, five)


@pytest.mark.parametrize("name", ["pitprops.csv", "senate109_bills.csv", "senate109_votes.csv"])
def test_files_carry_no_machine_paths(name):
    text = files("laconic.datasets").joinpath("files", name).read_text(encoding="utf-8")
    assert "/" not in text
    assert "\\" not in text
