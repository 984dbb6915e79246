"""The study of the Senate agrees with the paper."""

import pytest

from studies import senate


@pytest.fixture(scope="module")
def study():
    return senate.run(quick=True)


def test_the_bills_of_the_paper_are_proved_best(study):
    assert set(study.facts["first"]) == {"S. 1932", "S.Con.Res. 83", "S. 3930", "S. 403", "S. 397"}
    assert set(study.facts["second"]) == {"S. 1307", "H.R. 3045"}
    assert max(study.facts["gaps"]) < 1e-6
    assert len(study.facts["second_by_deflation"]) == 5
    assert all(bills == {"S. 1307", "H.R. 3045"} for bills in study.facts["second_by_deflation"].values())


def test_nineteen_bills_are_nearly_as_good_as_all(study):
    assert study.facts["shares"][4] == pytest.approx(0.422, abs=5e-4)
    assert 0.99 < study.facts["shares"][18] < 1
    assert study.facts["proved"] == [True] * 20
    cardinality, low, high = study.facts["most_stable"]
    assert cardinality == 19
    assert high > 2 * low


def test_parties_are_divided_in_both_planes(study):
    assert study.facts["coinciding"] == {"D": 18, "R": 36}
    for senators in study.facts["misplaced"].values():
        assert len(senators) <= 8
        assert {"Chafee (R-RI)", "Nelson (D-NE)"} <= set(senators)


def test_everything_is_written(study, tmp_path):
    page = study.write(tmp_path).read_text()
    assert "Deficit Reduction Act of 2005" in (tmp_path / "senate-bills.csv").read_text()
    assert all(f"]({name}.png)" in page for name in ("senate-planes", "senate-bills", "senate-curves"))
    assert page.count("\n| ") == 9 + 1
    assert "differs because the 109th Senate met in 2005" in page
