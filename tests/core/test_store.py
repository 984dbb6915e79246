"""Documents go to disk and come back as they were, and what is no such document is refused."""

import math
import os
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import numpy as np
import pytest

from laconic.core import store
from laconic.core.arrays import Floats, Indices
from laconic.core.store import Decoder, classes_of, files_of, read_document, write_atomically, write_files


class Shape:
    """A family of dataclasses."""


class Color(Enum):
    RED = "red"


@dataclass(frozen=True, eq=False)
class Circle(Shape):
    radius: float
    color: Color = Color.RED


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
    rest: Any


KNOWN = classes_of(Drawing, Circle, Group)
DRAWING = Drawing(
    "house",
    Group(((2, Circle(1.5)), (3, Circle(math.inf)))),
    np.array([[1.0, math.nan], [-math.inf, 0.1]]),
    np.arange(4),
    ("nan", "é"),
    {"x": "1"},
    closed=True,
    rest=["inf", math.inf, None, {"a": [1, 2.5], "b": np.array([True, False])}],
)
FORMAT = {"form": "laconic drawing", "schema": 3}


def read(path):
    document, arrays = read_document(path, **FORMAT)
    return Decoder(arrays, KNOWN).decoded(Drawing, document["content"])


@pytest.mark.parametrize("inline", [0, 2000])
def test_round_trip(tmp_path, monkeypatch, inline):
    monkeypatch.setattr(store, "INLINE", inline)
    files = files_of(DRAWING, "d.json", known=KNOWN, **FORMAT)
    written = write_files(files, tmp_path / "d.json")
    assert [file.name for file in written] == (["d.json"] if inline else ["d.json", "d.npz"])
    again = read(tmp_path / "d.json")
    assert (again.name, again.labels, again.versions, again.closed) == ("house", ("nan", "é"), {"x": "1"}, True)
    assert [(count, circle.radius, circle.color) for count, circle in again.shape.members] == [
        (2, 1.5, Color.RED),
        (3, math.inf, Color.RED),
    ]
    assert np.array_equal(again.corners, DRAWING.corners, equal_nan=True)
    assert again.places.dtype == np.intp
    assert again.rest[:3] == ["inf", math.inf, None]
    assert again.rest[3]["b"].dtype == bool
    assert files_of(again, "d.json", known=KNOWN, **FORMAT) == files


def test_another_format_or_schema_is_refused(tmp_path):
    write_files(files_of(DRAWING, "d.json", known=KNOWN, **FORMAT), tmp_path / "d.json")
    with pytest.raises(ValueError, match=r"d\.json is no laconic model"):
        read_document(tmp_path / "d.json", form="laconic model", schema=3)
    with pytest.raises(ValueError, match="schema 3; this version of laconic reads 4"):
        read_document(tmp_path / "d.json", form="laconic drawing", schema=4)


@dataclass(frozen=True)
class Unknown:
    x: int = 1


@pytest.mark.parametrize("value", [Unknown(), object(), np.random.default_rng(0), {1, 2}, b"x"])
def test_what_a_file_cannot_hold_is_named(value):
    with pytest.raises(TypeError, match=f"^here is a {type(value).__name__}, which a file cannot hold"):
        files_of({"here": value}, "d.json", known=KNOWN, **FORMAT)


@pytest.mark.parametrize(
    ("hint", "value", "words"),
    [
        (int, True, "no whole number"),
        (int, 1.0, "no whole number"),
        (float, "1", "no number"),
        (float, "inf", "no number"),
        (bool, 1, "no flag"),
        (str, None, "no text"),
        (Floats, [1.0], "array of float64"),
        (Floats, {"dtype": "object", "shape": [], "values": []}, "array of float64"),
        (Any, {"dtype": "object", "shape": [], "values": []}, "array of object"),
        (tuple[int, str], [1], "1 entries in place of 2"),
        (tuple[int, ...], 1, "list is missing"),
        (dict[str, str], {"a": 1}, "no text"),
        (Literal["a", "b"], "c", "none of 'a', 'b'"),
        (Color, "BLUE", "no Color"),
        (Shape, {"type": "Square"}, "a Shape is missing"),
        (Any, {"type": "Square"}, "is missing"),
        (Circle, {"type": "Circle"}, "parts"),
        (Circle, {"type": "Group", "members": []}, "a Circle is missing"),
        (Circle | None, {"type": "Circle", "radius": "x", "color": "RED"}, "'x' is no number"),
    ],
)
def test_values_of_another_type_are_refused(hint, value, words):
    with pytest.raises(TypeError, match=words):
        Decoder({}, KNOWN).decoded(hint, value)


def test_a_device_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="pipe is no ordinary file; give the name of a file"):
        write_atomically(pipe, b"content")
    assert pipe.is_fifo()
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]
