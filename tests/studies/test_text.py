import numpy as np

from laconic.core.monitor import Monitor
from laconic.search.problem import Solution, Status
from laconic.studies.base import Statement
from laconic.studies.text import agrees_if, listed, marked_if_stopped, side_by_side, words_of


def test_words_are_listed_largest_loading_first():
    solution = Solution(np.array([0, 2, 3]), np.array([0.6, -0.75, 0.28]), 1.0, Status.HEURISTIC)
    assert words_of(solution, ["a", "b", "c", "d"]) == ["c", "a", "d"]


def test_lists_as_columns():
    table = side_by_side({"k = 1": ["a"], "k = 2": ["a", "b"]})
    assert list(table.columns) == ["k = 1", "k = 2"]
    assert table.to_numpy().tolist() == [["a", "a"], ["", "b"]]


def test_sentences():
    assert listed([1, 2, 3]) == "1, 2 and 3"
    assert listed(["one"]) == "one"
    assert listed([]) == "none"
    assert agrees_if(True, "differs because ...") == "agrees"
    assert agrees_if(False, "differs because ...") == "differs because ..."


def test_a_run_that_was_stopped_says_so():
    statements = (Statement("the paper", "here", "agrees"),)
    monitor = Monitor()
    assert marked_if_stopped("Summary.", statements, monitor) == {"summary": "Summary.", "statements": statements}
    monitor.stopped = Status.TIME_LIMIT
    marked = marked_if_stopped("Summary.", statements, monitor)
    assert "stopped" in marked["summary"]
    assert marked["statements"][0].verdict.startswith("differs because the run was stopped")
