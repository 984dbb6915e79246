from datetime import date
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from laconic.datasets import load_pitprops, load_senate109

FIVE_BILLS = ("S. 1932", "S.Con.Res. 83", "S. 3930", "S. 403", "S. 397")


def largest_eigenvalues(covariance, supports):
    supports = np.asarray(supports)
    blocks = covariance[supports[:, :, None], supports[:, None, :]]
    return np.linalg.eigvalsh(blocks)[:, -1]


def test_pitprops_is_a_correlation_matrix():
    table = load_pitprops()
    S = table.covariance
    assert S.shape == (13, 13)
    assert S.dtype == np.float64
    assert np.array_equal(S, S.T)
    assert np.array_equal(np.diag(S), np.ones(13))
    assert np.linalg.eigvalsh(S)[0] > 0.03
    assert table.kind == "correlation"
    assert table.n_samples == 180


@pytest.mark.parametrize(
    ("first", "second", "correlation"),
    [
        ("topdiam", "length", 0.954),
        ("moist", "testsg", 0.882),
        ("ringtop", "ringbut", 0.813),
        ("testsg", "ovensg", 0.220),
        ("knots", "diaknot", 0.184),
    ],
)
def test_pitprops_names_stand_in_jeffers_order(first, second, correlation):
    table = load_pitprops()
    names = table.feature_names
    assert table.covariance[names.index(first), names.index(second)] == correlation


def test_pitprops_best_five_by_exhaustive_search():
    table = load_pitprops()
    supports = list(combinations(range(13), 5))
    values = largest_eigenvalues(table.covariance, supports)
    assert len(values) == 1287
    assert values.max() == pytest.approx(3.406155, abs=1e-6)
    best = {table.feature_names[j] for j in supports[values.argmax()]}
    assert best == {"topdiam", "length", "ringbut", "bowdist", "whorls"}


def test_pitprops_loads_are_independent():
    load_pitprops().covariance[0, 1] = 0
    assert load_pitprops().covariance[0, 1] == 0.954


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
    assert {len(names) for names in (senate.senators, senate.parties, senate.states)} == {101}
    assert len(set(senate.feature_names)) == 48
    assert len(set(senate.vote_ids)) == 48
    assert len(set(senate.senators)) == 101
    assert {"Nelson (D-FL)", "Nelson (D-NE)", "McCain (R-AZ)", "Jeffords (I-VT)"} <= set(senate.senators)


def test_senate_totals_are_those_of_the_record():
    senate = load_senate109()
    assert np.array_equal((senate.data == 1).sum(axis=0), senate.yeas)
    assert np.array_equal((senate.data == -1).sum(axis=0), senate.nays)


def test_senate_titles_and_dates_belong_to_their_bills():
    senate = load_senate109()
    title = dict(zip(senate.feature_names, senate.titles, strict=True))
    day = dict(zip(senate.feature_names, senate.dates, strict=True))
    assert "Deficit Reduction Act of 2005" in title["S. 1932"]
    assert "Military Commissions Act of 2006" in title["S. 3930"]
    assert day["S. 1932"] == date(2005, 11, 3)
    assert list(senate.dates) == sorted(senate.dates)
    assert min(senate.dates).year == 2005
    assert max(senate.dates).year == 2006


def test_senate_successor_never_votes_beside_his_predecessor():
    frame = load_senate109().frame
    corzine, menendez = frame.loc["Corzine (D-NJ)"], frame.loc["Menendez (D-NJ)"]
    assert (corzine != 0).any()
    assert (menendez != 0).any()
    assert not ((corzine != 0) & (menendez != 0)).any()


def test_senate_frame_carries_the_names():
    senate = load_senate109()
    frame = senate.to_frame()
    assert tuple(frame.index) == senate.senators
    assert tuple(frame.columns) == senate.feature_names
    assert np.array_equal(frame.to_numpy(), senate.data)
    assert frame.loc["McCain (R-AZ)", "S. 1932"] == 1
    frame.iloc[0, 0] = 7
    assert senate.data[0, 0] == 1


def test_senate_five_bills_of_the_paper():
    senate = load_senate109()
    covariance = np.cov(senate.data, rowvar=False)
    five = [senate.feature_names.index(bill) for bill in FIVE_BILLS]
    value = largest_eigenvalues(covariance, [five])[0]
    assert value / np.linalg.eigvalsh(covariance)[-1] == pytest.approx(0.422, abs=5e-4)
    # No exchange of one bill for another explains more.
    swaps = [[*five[:i], j, *five[i + 1 :]] for i in range(5) for j in range(48) if j not in five]
    assert largest_eigenvalues(covariance, swaps).max() < value


def test_senate_first_component_separates_the_parties():
    senate = load_senate109()
    centered = senate.data - senate.data.mean(axis=0)
    scores = centered @ np.linalg.svd(centered)[2][0]
    parties = np.array(senate.parties)
    low, high = sorted((np.median(scores[parties == "R"]), np.median(scores[parties == "D"])))
    wrong_side = ((scores > (low + high) / 2) == (parties == "R")).mean()
    assert min(wrong_side, 1 - wrong_side) < 0.1


@pytest.mark.parametrize("name", ["pitprops.csv", "senate109_bills.csv", "senate109_votes.csv"])
def test_files_carry_no_machine_paths(name):
    text = files("laconic.datasets").joinpath("files", name).read_text(encoding="utf-8")
    assert "/" not in text
    assert "\\" not in text
