"""What a cell looks like: shapes on a grid of 24 units, and the colours they are painted in.

No cell is told by its colour alone: bricks, a ring with a dot, a crate with a cross, a crate with a
check mark, a figure with a face, and the figure in the ring. A shape can say itself as SVG and tell
how far a point is from its edge, which is all that `drawing.py` needs to make pictures of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from envs.sokoban.board import (
    BOX,
    BOX_ON_TARGET,
    FLOOR,
    PLAYER,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
)

UNIT = 24  # side of a tile in the units of the shapes below

# Custom property -> colour. `LIGHT` is what the SVG falls back to, and what the RGB array shows.
LIGHT = {
    "--sok-floor": "#f1f5f9",
    "--sok-grid": "#e2e8f0",
    "--sok-wall": "#526077",
    "--sok-mortar": "#3b475b",
    "--sok-target": "#e11d48",
    "--sok-box": "#f5a524",
    "--sok-box-edge": "#a85a08",
    "--sok-done": "#22a55b",
    "--sok-done-edge": "#136c3a",
    "--sok-mark": "#ffffff",
    "--sok-player": "#2f6bed",
    "--sok-player-edge": "#1b3f9c",
    "--sok-eye": "#ffffff",
    "--sok-pupil": "#14254f",
}
DARK = LIGHT | {
    "--sok-floor": "#162032",
    "--sok-grid": "#22304a",
    "--sok-wall": "#56647c",
    "--sok-mortar": "#3a465b",
    "--sok-target": "#fb7185",
    "--sok-player": "#5b8df8",
    "--sok-player-edge": "#2c55b8",
}


@dataclass(frozen=True)
class Rect:
    """A rectangle with corners rounded by `radius`."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    colour: str

    def svg(self) -> str:
        place = f'x="{self.x:g}" y="{self.y:g}" ' if self.x or self.y else ""
        size = f'width="{self.width:g}" height="{self.height:g}"'
        # A square corner may lie on the tile's edge, where a smoothed one would leave a seam.
        corner = f'rx="{self.radius:g}"' if self.radius else 'shape-rendering="crispEdges"'
        return f"<rect {place}{size} {corner} {_paint('fill', self.colour)}/>"

    def distance(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        half_width, half_height = self.width / 2 - self.radius, self.height / 2 - self.radius
        across = np.abs(x - self.x - self.width / 2) - half_width
        down = np.abs(y - self.y - self.height / 2) - half_height
        outside = np.hypot(np.maximum(across, 0), np.maximum(down, 0))
        return np.asarray(outside + np.minimum(np.maximum(across, down), 0) - self.radius)


@dataclass(frozen=True)
class Disc:
    """A filled circle around (x, y)."""

    x: float
    y: float
    radius: float
    colour: str

    def svg(self) -> str:
        place = f'cx="{self.x:g}" cy="{self.y:g}" r="{self.radius:g}"'
        return f"<circle {place} {_paint('fill', self.colour)}/>"

    def distance(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.hypot(x - self.x, y - self.y) - self.radius)


@dataclass(frozen=True)
class Ring:
    """A circle around (x, y) drawn with a line of some width."""

    x: float
    y: float
    radius: float
    width: float
    colour: str

    def svg(self) -> str:
        place = f'cx="{self.x:g}" cy="{self.y:g}" r="{self.radius:g}" fill="none"'
        return f'<circle {place} {_paint("stroke", self.colour)} stroke-width="{self.width:g}"/>'

    def distance(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        middle = np.hypot(x - self.x, y - self.y) - self.radius
        return np.asarray(np.abs(middle) - self.width / 2)


@dataclass(frozen=True)
class Line:
    """Straight pieces from point to point, with round ends and joints."""

    points: tuple[tuple[float, float], ...]
    width: float
    colour: str

    def svg(self) -> str:
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in self.points)
        paint = _paint("stroke", self.colour)  # the ends are made round once, in `svg`
        return f'<path d="{path}" fill="none" {paint} stroke-width="{self.width:g}"/>'

    def distance(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        nearest = np.full(x.shape, np.inf)
        for (x0, y0), (x1, y1) in zip(self.points, self.points[1:], strict=False):
            dx, dy = x1 - x0, y1 - y0
            along = ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy)
            along = np.clip(along, 0, 1)
            nearest = np.minimum(nearest, np.hypot(x - x0 - along * dx, y - y0 - along * dy))
        return np.asarray(nearest - self.width / 2)


Shape = Rect | Disc | Ring | Line


def _paint(attribute: str, colour: str) -> str:
    return f'{attribute}="var({colour},{LIGHT[colour]})"'


# --- the tiles -------------------------------------------------------------------------------

_FLOOR: tuple[Shape, ...] = (
    Rect(0, 0, 24, 24, 0, "--sok-grid"),
    Rect(0.6, 0.6, 22.8, 22.8, 2, "--sok-floor"),
)
# Courses of bricks, of which the lower one continues in the tiles beside.
_WALL: tuple[Shape, ...] = (
    Rect(0, 0, 24, 24, 0, "--sok-mortar"),
    Rect(0.8, 0.8, 22.4, 10.4, 1.4, "--sok-wall"),
    Rect(0, 12.8, 11.2, 10.4, 0, "--sok-wall"),
    Rect(12.8, 12.8, 11.2, 10.4, 0, "--sok-wall"),
)
_TARGET: tuple[Shape, ...] = (
    Ring(12, 12, 6.9, 2.2, "--sok-target"),
    Disc(12, 12, 2.7, "--sok-target"),
)
_BOX: tuple[Shape, ...] = (
    Rect(2, 2, 20, 20, 4, "--sok-box-edge"),
    Rect(4, 4, 16, 16, 2.2, "--sok-box"),
    Line(((7.8, 7.8), (16.2, 16.2)), 2.6, "--sok-box-edge"),
    Line(((16.2, 7.8), (7.8, 16.2)), 2.6, "--sok-box-edge"),
)
_BOX_ON_TARGET: tuple[Shape, ...] = (
    Rect(2, 2, 20, 20, 4, "--sok-done-edge"),
    Rect(4, 4, 16, 16, 2.2, "--sok-done"),
    Line(((7.4, 12.4), (10.6, 15.6), (16.6, 8.8)), 3, "--sok-mark"),
)
_PLAYER: tuple[Shape, ...] = (
    Line(((8.6, 20.2), (9.2, 20.2)), 3.2, "--sok-player-edge"),
    Line(((14.8, 20.2), (15.4, 20.2)), 3.2, "--sok-player-edge"),
    Rect(4.4, 3.2, 15.2, 17, 7.4, "--sok-player"),
    Disc(9, 10.2, 2.7, "--sok-eye"),
    Disc(15, 10.2, 2.7, "--sok-eye"),
    Disc(9.5, 10.5, 1.4, "--sok-pupil"),
    Disc(14.5, 10.5, 1.4, "--sok-pupil"),
    Line(((9.6, 15.2), (10.7, 16.1), (12, 16.4), (13.3, 16.1), (14.4, 15.2)), 1.5, "--sok-eye"),
)
_HALO: tuple[Shape, ...] = (Ring(12, 12, 10.4, 1.9, "--sok-target"),)

# For each cell: the cell whose tile lies beneath, if any, and what is drawn on it.
TILES: dict[int, tuple[int | None, tuple[Shape, ...]]] = {
    WALL: (None, _WALL),
    FLOOR: (None, _FLOOR),
    TARGET: (FLOOR, _TARGET),
    BOX_ON_TARGET: (FLOOR, _BOX_ON_TARGET),
    BOX: (FLOOR, _BOX),
    PLAYER: (FLOOR, _PLAYER),
    PLAYER_ON_TARGET: (PLAYER, _HALO),
}
