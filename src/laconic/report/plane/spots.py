"""Markers for rows in a plane: rows at one place share a marker, and markers that overlap are moved apart."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import Normalize, to_hex
from matplotlib.transforms import ScaledTranslation

from laconic.core.arrays import Floats, Indices
from laconic.report.plane.groups import NO_VALUE, Colouring, look
from laconic.report.style import NUMBERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

# Areas in square points: of a marker for one row, of the largest and the smallest marker, and of all markers together.
SINGLE_AREA, LARGEST_AREA, LEAST_AREA, COVERED = 30.0, 1200.0, 3.0, 40_000.0
# A white edge separates neighbours, up to this many markers. In a crowd edges would hide the markers below.
MOST_EDGES = 400
# From this many markers on they are drawn transparent, so that their density can be seen.
CROWD = 1500
# The approximate length of an axis in points. The exact length is known only after everything is drawn.
AXES_POINTS = 270.0


@dataclass(frozen=True, eq=False)
class Spot:
    """A marker for the rows of one group at one place."""

    place: int  # the number of the place, which markers of different groups may share
    x: float
    y: float
    group: int  # the number of the group
    members: Indices  # the rows
    colour: str
    width: float  # in points
    shift: tuple[float, float] = (0.0, 0.0)  # how far it is moved, in points, because others would cover it


def find_spots(scores: Floats, colouring: Colouring | None = None) -> list[Spot]:
    """Return the markers for rows. Rows at the same place become one marker, and its area grows with their number.

    Rows of different groups at the same place are drawn side by side: they are moved along the axis that has fewer
    distinct values. Markers that would overlap are moved in the same way if that axis has few distinct values, as for
    sparse components of votes or counts. A marker for rows with numbers has the colour of their mean.
    """
    colouring = colouring or Colouring()
    # Scores that differ only by rounding are at the same place.
    place = np.unique(np.round(scores / _step(scores)), axis=0, return_inverse=True)[1].ravel()
    group = np.zeros(len(scores), dtype=np.intp) if colouring.codes is None else colouring.codes
    norm = number_range(colouring)
    if colouring.numbers is not None:
        group = np.where(np.isnan(colouring.numbers), NO_VALUE, 0)
    order = np.lexsort((group, place))
    keys = np.stack([place, group], axis=1)[order]
    parts = np.split(order, np.flatnonzero((np.diff(keys, axis=0) != 0).any(axis=1)) + 1)
    single = max(LEAST_AREA, min(SINGLE_AREA, COVERED / len(parts)))
    largest = min(LARGEST_AREA, max(10 * single, COVERED / len(parts)))
    unit = min(single, largest / max(len(part) for part in parts))
    spots = []
    for members in parts:
        first = members[0]
        x, y = scores[first].tolist()
        width = float(np.sqrt(max(len(members) * unit, LEAST_AREA)))
        code = int(group[first])
        colour = look(code)[2]
        if colouring.numbers is not None and code != NO_VALUE:
            colour = to_hex(NUMBERS(norm(float(colouring.numbers[members].mean()))))
        spots.append(Spot(int(place[first]), x, y, code, members, colour, width))
    return _side_by_side(spots)


def number_range(colouring: Colouring) -> Normalize:
    """Return the scale of the colours of numbers: from the smallest to the largest."""
    if colouring.numbers is None or np.isnan(colouring.numbers).all():
        return Normalize(0.0, 1.0)
    return Normalize(float(np.nanmin(colouring.numbers)), float(np.nanmax(colouring.numbers)))


def _step(scores: Floats) -> float:
    """Return the size below which a difference of scores is rounding."""
    return max(float(np.abs(scores).max()), 1e-300) * 1e-7


def _side_by_side(spots: list[Spot]) -> list[Spot]:
    """Move overlapping markers apart, along the axis with fewer distinct values, until they only touch."""
    where = np.array([(spot.x, spot.y) for spot in spots])
    levels = [np.unique(column, return_inverse=True)[1].ravel() for column in np.round(where / _step(where)).T]
    axis = 0 if levels[0].max() < levels[1].max() else 1
    room = AXES_POINTS / (2 + levels[axis].max())
    moved: list[Spot] = []
    for chain in _overlapping(spots, where[:, 1 - axis], levels[axis]):
        # If there is no room for all, move only markers at exactly the same place.
        fits = sum(spot.width for spot in chain) <= room
        together: dict[int, list[Spot]] = {}
        for spot in chain:
            together.setdefault(-1 if fits else spot.place, []).append(spot)
        for stack in together.values():
            if len(stack) == 1:
                moved += stack
                continue
            end = -sum(spot.width for spot in stack) / 2
            for spot in stack:
                along = round(end + spot.width / 2, 1)
                moved.append(replace(spot, shift=(along, 0.0) if axis == 0 else (0.0, along)))
                end += spot.width
    return moved


def _overlapping(spots: list[Spot], along: Floats, level: Indices) -> list[list[Spot]]:
    """Return chains of markers at one `level` of an axis. Each marker of a chain overlaps the one before it."""
    point = max(float(np.ptp(along)), 1e-300) / AXES_POINTS
    chains: list[list[Spot]] = []
    end, last = -np.inf, -1
    for i in np.lexsort((along, level)):
        half = spots[i].width / 2
        if level[i] != last or along[i] / point - half > end - 0.5:
            chains.append([])
            end, last = -np.inf, level[i]
        chains[-1].append(spots[i])
        end = max(end, along[i] / point + half)
    return chains


def draw_spots(ax: "Axes", spots: list[Spot]) -> list["PathCollection"]:
    """Draw the markers, and leave room for them at the border."""
    # Markers of the same look share a collection, because one collection for each row is slow. Small ones are on top.
    alike: dict[tuple[float, int, tuple[float, float]], list[Spot]] = {}
    for spot in spots:
        alike.setdefault((-spot.width, spot.group, spot.shift), []).append(spot)
    drawn = []
    for (_, group, shift), chosen in sorted(alike.items()):
        marker, factor, _ = look(group)
        points = ax.scatter(
            np.array([spot.x for spot in chosen]),
            np.array([spot.y for spot in chosen]),
            s=(chosen[0].width * factor) ** 2,
            c=[spot.colour for spot in chosen],
            marker=marker,
            edgecolors="white",
            linewidths=0.6 if chosen[0].width > 4 and len(spots) <= MOST_EDGES else 0.0,
            alpha=0.9 if len(spots) < CROWD else 0.5,
            zorder=3,
        )
        moved = ScaledTranslation(shift[0] / 72, shift[1] / 72, ax.figure.dpi_scale_trans)
        points.set_offset_transform(ax.transData + moved)
        drawn.append(points)
    # The margin is half of the widest marker (an axis has some hundred points) and some free space.
    ax.margins(0.06 + max(spot.width for spot in spots) / 500)
    return drawn
