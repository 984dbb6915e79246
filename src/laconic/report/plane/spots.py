"""Rows in a plane as markers: those at one place become one, those in each other's way are moved apart."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.transforms import ScaledTranslation

from laconic.core.arrays import Floats, Indices
from laconic.report.style import COLOURS, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of a marker for one row and of the largest, in square points; where there are many, what all of them may cover.
SINGLE_AREA, LARGEST_AREA, LEAST_AREA, COVERED = 30.0, 1200.0, 3.0, 40_000.0
# So many markers are a cloud whose density is to be seen.
CROWD = 3000
# About the length of an axis, which is not known before all else is drawn.
AXES_POINTS = 270.0


@dataclass(frozen=True, eq=False)
class Spot:
    """Rows of one group at one place, drawn as one marker.

    `shift` moves it, in points, where others are in its way.
    """

    place: int
    x: float
    y: float
    group: int
    members: Indices
    width: float
    shift: tuple[float, float] = (0.0, 0.0)


def find_spots(scores: Floats, groups: Sequence[str] | None) -> list[Spot]:
    """Return the markers to draw for rows: area by number, shifted where they would hide each other."""
    # Scores that differ by rounding are at the same place.
    place = np.unique(np.round(scores / _step(scores)), axis=0, return_inverse=True)[1].ravel()
    group = np.zeros(len(scores), dtype=np.intp)
    if groups is not None:
        group = np.unique(np.asarray(groups, dtype=str), return_inverse=True)[1]
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
        spots.append(Spot(int(place[first]), x, y, int(group[first]), members, width))
    return _side_by_side(spots)


def _step(scores: Floats) -> float:
    """Return the resolution below which a difference of scores is rounding."""
    return max(float(np.abs(scores).max()), 1e-300) * 1e-7


def _side_by_side(spots: list[Spot]) -> list[Spot]:
    """Move markers in each other's way apart along the axis of fewer values until they touch, centred on its value."""
    where = np.array([(spot.x, spot.y) for spot in spots])
    levels = [np.unique(column, return_inverse=True)[1].ravel() for column in np.round(where / _step(where)).T]
    axis = 0 if levels[0].max() < levels[1].max() else 1
    room = AXES_POINTS / (2 + levels[axis].max())
    moved: list[Spot] = []
    for chain in _overlapping(spots, where[:, 1 - axis], levels[axis]):
        # Where there is no room for all, only those at exactly the same place give way.
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
    """Return chains of markers on one level of an axis of which each overlaps the one before."""
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


def draw_spots(ax: "Axes", spots: list[Spot]) -> None:
    """Draw the markers and leave room for them at the border."""
    # Markers drawn alike share a collection, as one for each row would be slow; small ones lie on top.
    alike: dict[tuple[float, int, tuple[float, float]], list[Spot]] = {}
    for spot in spots:
        alike.setdefault((-spot.width, spot.group, spot.shift), []).append(spot)
    for (_, group, shift), chosen in sorted(alike.items()):
        marker, factor = MARKERS[group % len(MARKERS)]
        drawn = ax.scatter(
            np.array([spot.x for spot in chosen]),
            np.array([spot.y for spot in chosen]),
            s=(chosen[0].width * factor) ** 2,
            c=COLOURS[group % len(COLOURS)],
            marker=marker,
            edgecolors="white",
            # An edge tells neighbours apart; in a crowd it would hide them.
            linewidths=0.6 if chosen[0].width > 4 else 0.0,
            alpha=0.9 if len(spots) < CROWD else 0.4,
            zorder=3,
        )
        moved = ScaledTranslation(shift[0] / 72, shift[1] / 72, ax.figure.dpi_scale_trans)
        drawn.set_offset_transform(ax.transData + moved)
    # Half the widest marker, on axes a few hundred points wide, and some air.
    ax.margins(0.06 + max(spot.width for spot in spots) / 500)
