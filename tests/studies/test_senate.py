"""The study of the Senate agrees with the paper."""

import pytest

from laconic.search.problem import Status
from laconic.studies import Settings, get_study


@pytest.fixture(scope="module")
def study():
    return get_study("senate")(Settings(quick=True))


def test_the_bills_of_the_paper_are_proved_best(study):
    assert set(study.facts["first"]) == {"S. 1932", "S.Con.Res. 83", "S. 3930", "S. 403", "S. 397"}
    assert set(study.facts["second"]) == {"S. 1307", "H.R. 3045"}
    assert study.facts["status"] == [Status.OPTIMAL, Status.OPTIMAL]


def test_no_deflation_changes_the_second_component(study):
    assert len(study.facts["second_by_deflation"]) == 5
    assert all(bills == {"S. 1307", "H.R. 3045"} for bills in study.facts["second_by_deflation"].values())


def test_nineteen_bills_are_nearly_as_good_as_all(study):
    assert study.facts["share_of_5"] == pytest.approx(0.422, abs=5e-4)
    assert 0.99 < study.facts["share_of_19"] < 1
    assert study.facts["proved"] == [True] * 20


def test_nineteen_bills_have_the_widest_range_of_penalties(study):
    cardinality, low, high = study.facts["most_stable"]
    assert cardinality == 19
    assert high > 2 * low


def test_parties_are_divided_in_both_planes(study):
    assert study.facts["coinciding"] == {"Democrat": 18, "Republican": 36}
    for senators in study.facts["misplaced"].values():
        assert len(senators) <= 8
        assert {"Chafee (R-RI)", "Nelson (D-NE)"} <= set(senators)


def test_everything_is_written(study, tmp_path):
    names = {path.name for path in study.write(tmp_path)}
    assert {"senate-planes.png", "senate-bills.svg", "senate-curves.png", "senate-path.csv", "README.md"} <= names
    assert set(study.figures) == set(study.captions)
    page = (tmp_path / "README.md").read_text()
    assert "Deficit Reduction Act of 2005" in (tmp_path / "senate-bills.csv").read_text()
    assert all(f"]({name}.png)" in page for name in study.figures)
    assert len(study.statements) >= 8
