"""A board as a picture: SVG for a page, an RGB array for `rgb_array` and image observations.

Both are put together from the tiles of `tiles.py`, so they look alike. The page may recolour the
SVG by setting the custom properties named in `LIGHT` (`DARK` has a set for dark pages), and find
the cell under the pointer by its `data-r` and `data-c`. Nothing here knows the rules, the time
limit, or the page around the picture.
"""

from __future__ import annotations

from functools import lru_cache
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from envs.sokoban.board import (
    BOX,
    BOX_ON_TARGET,
    EDGE,
    FLOOR,
    PLAYER,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
    Board,
)
from envs.sokoban.tiles import DARK, LIGHT, TILES, UNIT

__all__ = ["DARK", "LIGHT", "rgb", "svg", "tiles"]

LARGEST_TILE = 256  # pixels

# A tile is defined once and used by this name. Nothing is seen of a cell that the player can never
# come near; it is there for the pointer.
_NAMES = {
    WALL: "w",
    FLOOR: "f",
    TARGET: "t",
    BOX_ON_TARGET: "d",
    BOX: "b",
    PLAYER: "p",
    PLAYER_ON_TARGET: "q",
}
_UNSEEN = "o"


def _definition(cell: int) -> str:
    beneath, shapes = TILES[cell]
    base = "" if beneath is None else f'<use href="#sok-{_NAMES[beneath]}"/>'
    return f'<g id="sok-{_NAMES[cell]}">{base}{"".join(shape.svg() for shape in shapes)}</g>'


_DEFINITIONS = (
    f'<rect id="sok-{_UNSEEN}" width="{UNIT}" height="{UNIT}" fill="none" pointer-events="all"/>'
    + "".join(_definition(cell) for cell in TILES)
)


def svg(board: Board, *, title: str = "") -> str:
    """The board as one `<svg>` element, which scales to the width it is given.

    Floor is drawn where the player could be if boxes were no obstacle, and walls around that; the
    rest is transparent. Every cell is an element with `data-r` and `data-c`.

    Args:
        board: any board.
        title: what to tell those who cannot see it; by default size and progress.
    """
    rows = "".join(_svg_row(row, names) for row, names in enumerate(tiles(board)))
    words = title or (
        f"Sokoban board of {board.rows} rows and {board.columns} columns, "
        f"{board.boxes_on_target} of {board.boxes} boxes on targets"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sokoban" role="img" '
        f'viewBox="0 0 {UNIT * board.columns} {UNIT * board.rows}" '
        f'stroke-linecap="round" stroke-linejoin="round">'
        f"<title>{escape(words)}</title><defs>{_DEFINITIONS}</defs>{rows}</svg>"
    )


def _svg_row(row: int, names: str) -> str:
    cells = "".join(
        f'<use href="#sok-{name}" x="{UNIT * column}" data-r="{row}" data-c="{column}"/>'
        for column, name in enumerate(names)
    )
    return f'<g transform="translate(0 {UNIT * row})">{cells}</g>'


@lru_cache(maxsize=4096)
def tiles(board: Board) -> tuple[str, ...]:
    """One string a row of the picture, one letter a cell: the `id`s of the SVG's tiles.

    A page that has one SVG of ours draws any other board by `<use href="#sok-{letter}"/>`.
    """
    names, columns = _seen(board), board.columns
    rows = (names[row * columns : (row + 1) * columns] for row in range(board.rows))
    return tuple("".join(row) for row in rows)


def _seen(board: Board) -> list[str]:
    """The name of each cell's tile, row by row."""
    reached, stride = _reached(board), board.stride
    around = [down + across for down in (-stride, 0, stride) for across in (-1, 0, 1)]
    names = []
    for at, cell in enumerate(board.cells):
        if cell == EDGE:
            continue
        shown = (
            at in reached
            if cell == FLOOR
            else cell != WALL or any(at + near in reached for near in around)
        )
        names.append(_NAMES[cell] if shown else _UNSEEN)
    return names


def _reached(board: Board) -> set[int]:
    """Where the player could be if boxes were no obstacle, as indices into `board.cells`."""
    cells, reached, todo = board.cells, {board.player}, [board.player]
    while todo:
        at = todo.pop()
        for near in (at - board.stride, at + board.stride, at - 1, at + 1):
            if near not in reached and 0 <= near < len(cells) and cells[near] not in (WALL, EDGE):
                reached.add(near)
                todo.append(near)
    return reached


# --- RGB -------------------------------------------------------------------------------------


def rgb(board: Board, *, tile: int = 16) -> NDArray[np.uint8]:
    """The board as an array of shape (rows * tile, columns * tile, 3), red, green, blue, 0 to 255.

    Tiles are painted once for each size and then only put together; the array is a new one at
    every call.

    Args:
        board: any board.
        tile: side of a cell in pixels, 1 to 256.
    """
    painted, lines = _painted(tile)
    cells = np.frombuffer(board.cells, np.uint8).reshape(board.rows, 1, board.stride)[:, :, :-1]
    # A tile's row of pixels is one item, so that a single look-up puts the rows in their order.
    image = painted[cells, lines].view(np.uint8)
    return image.reshape(board.rows * tile, board.columns * tile, 3)


@lru_cache(maxsize=8)
def _painted(tile: int) -> tuple[NDArray[np.void], NDArray[np.intp]]:
    """For each cell number, the tile's pixel rows as items of 3 * tile bytes; and their numbers."""
    if not 1 <= tile <= LARGEST_TILE:
        raise ValueError(f"a tile is 1 to {LARGEST_TILE} pixels wide, not {tile}")
    pixels = np.stack([_paint_tile(cell, tile) for cell in sorted(TILES)]).round().astype(np.uint8)
    rows = pixels.reshape(len(TILES), tile, 3 * tile).view(f"V{3 * tile}")[..., 0]
    return rows, np.arange(tile)[:, None]


def _paint_tile(cell: int, tile: int) -> NDArray[np.float64]:
    """The cell's shapes one over another, each edge smoothed over the width of a pixel."""
    beneath, shapes = TILES[cell]
    image = np.zeros((tile, tile, 3)) if beneath is None else _paint_tile(beneath, tile)
    scale = tile / UNIT
    centres = (np.arange(tile) + 0.5) / scale
    x, y = np.tile(centres, (tile, 1)), np.tile(centres[:, None], tile)
    for shape in shapes:
        red_green_blue = np.array(list(bytes.fromhex(LIGHT[shape.colour][1:])), dtype=float)
        cover = np.clip(0.5 - shape.distance(x, y) * scale, 0, 1)[..., None]
        image += (red_green_blue - image) * cover
    return image
