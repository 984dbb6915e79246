"""Documents go to disk and come back as they were, and what is no such document is refused."""

import os
from dataclasses import dataclass

import numpy as np
import pytest

from laconic.core import store
from laconic.core.arrays import Floats, Indices
from laconic.core.store import Decoder, read_archive, write_archive, write_atomically


class Shape:
    """A family of dataclasses."""


@dataclass(frozen=True, eq=False)
class Circle(Shape):
    radius: float


@dataclass(frozen=True, eq=False)
class Group(Shape):
    members: tuple[tuple[int, Shape], ...]


@dataclass(frozen=True, eq=False)
class Drawing:
    name: str
    shape: Shape
    corners: Floats
    places: Indices | None
    labels: tuple[str, ...] | None
    versions: dict[str, str]
    closed: bool


FAMILIES = {Shape: {"Circle": Circle, "Group": Group}}
DRAWING = Drawing(
    "house", Group(((2, Circle(1.5)), (3, Circle(2.0)))), np.eye(3), np.arange(4), ("a", "é"), {"x": "1"}, closed=True
)
FORMAT = {"name": "laconic drawing", "schema": 3}


def read(path, most=50):
    content, arrays = read_archive(path, **FORMAT)
    return Decoder(arrays, FAMILIES, most).decoded(Drawing, content)


@pytest.mark.parametrize("inline", [0, 2000])
def test_round_trip(tmp_path, monkeypatch, inline):
    monkeypatch.setattr(store, "INLINE", inline)
    written = write_archive(DRAWING, tmp_path / "d.json", **FORMAT)
    assert [file.name for file in written] == (["d.json"] if inline else ["d.json", "d.npz"])
    again = read(tmp_path / "d.json")
    assert (again.name, again.labels, again.versions, again.closed) == ("house", ("a", "é"), {"x": "1"}, True)
    assert [(count, circle.radius) for count, circle in again.shape.members] == [(2, 1.5), (3, 2.0)]
    assert np.array_equal(again.corners, np.eye(3))
    assert again.places.dtype == np.intp
    assert np.array_equal(again.places, np.arange(4))


def test_another_format_or_schema_is_refused(tmp_path):
    write_archive(DRAWING, tmp_path / "d.json", **FORMAT)
    with pytest.raises(ValueError, match=r"d\.json is no laconic model"):
        read_archive(tmp_path / "d.json", name="laconic model", schema=3)
    with pytest.raises(ValueError, match="schema 3; this version of laconic reads 4"):
        read_archive(tmp_path / "d.json", name="laconic drawing", schema=4)


def test_too_many_objects_are_refused(tmp_path):
    write_archive(DRAWING, tmp_path / "d.json", **FORMAT)
    assert read(tmp_path / "d.json", most=3).name == "house"
    with pytest.raises(TypeError, match="too many objects"):
        read(tmp_path / "d.json", most=2)


@pytest.mark.parametrize(
    ("hint", "value", "words"),
    [
        (int, True, "no whole number"),
        (int, 1.0, "no whole number"),
        (float, "1", "no number"),
        (bool, 1, "no flag"),
        (str, None, "no text"),
        (Floats, [1.0], "array of float64"),
        (tuple[int, str], [1], "1 entries in place of 2"),
        (tuple[int, ...], 1, "list is missing"),
        (dict[str, str], {"a": 1}, "no text"),
        (Shape, {"type": "Square"}, "'Square' is no Shape"),
        (Circle, {"type": "Circle"}, "parts"),
        (Circle, {"type": "Group", "members": []}, "a Circle is missing"),
        (Circle | Group, {"type": "Square"}, "a Circle is missing"),
    ],
)
def test_values_of_another_type_are_refused(hint, value, words):
    with pytest.raises(TypeError, match=words):
        Decoder({}, FAMILIES).decoded(hint, value)


def test_a_whole_number_may_stand_for_a_float():
    found = Decoder({}).decoded(Circle, {"type": "Circle", "radius": 2})
    assert isinstance(found.radius, float)


def test_a_device_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="pipe is no ordinary file; give the name of a file"):
        write_atomically(pipe, b"content")
    assert pipe.is_fifo()
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]
