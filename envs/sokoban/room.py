"""The floor of a new level: a room carved out of rock by a random walk.

The walker goes straight for a while, turns, and cuts a small shape around each cell it comes to, so
that chambers, passages and pillars come about and all floor hangs together. It knows nothing of
boxes and targets. Sets of cells are as in `maze.py`.
"""

from __future__ import annotations

from envs.sokoban.chance import Chance

_TURN = 0.35
# Cut around the walker, whose cell is the middle one; each hangs together wherever it is clipped.
_SHAPES = (
    (".#.", ".#.", ".#."),
    ("...", "###", "..."),
    ("...", "##.", ".#."),
    (".#.", ".##", "..."),
    ("...", "##.", "##."),
    (".##", ".##", "..."),
    ("...", ".##", ".##"),
    (".#.", "###", ".#."),
)
# A walk that long without having cut what was wanted has come to the end of its room.
_STEPS_A_CELL = 40


def carve_room(chance: Chance, rows: int, columns: int, share: float) -> int:
    """The floor of a room of so many rows and columns, the outer walls among them.

    Args:
        share: how much of the cells within the outer walls becomes floor, about; 1 is all.
    """
    stride = columns + 1
    inside = open_room(rows, columns)
    wanted = int(share * (rows - 2) * (columns - 2))
    if share >= 1:
        return inside
    shapes = [_cells_of(shape, stride) for shape in _SHAPES]
    steps = (-stride, stride, -1, 1)

    cell = (1 + chance.below(rows - 2)) * stride + 1 + chance.below(columns - 2)
    step = chance.pick(steps)
    floor = 1 << cell
    for _ in range(wanted * _STEPS_A_CELL):
        if floor.bit_count() >= wanted:
            break
        if chance.random() < _TURN or not inside >> cell + step & 1:
            step = chance.pick(steps)
        if inside >> cell + step & 1:
            cell += step
            floor |= chance.pick(shapes) << cell - stride - 1 & inside
    return floor


def open_room(rows: int, columns: int) -> int:
    """All cells within the outer walls."""
    row = (1 << columns - 2) - 1 << 1
    return sum(row << number * (columns + 1) for number in range(1, rows - 1))


def _cells_of(shape: tuple[str, ...], stride: int) -> int:
    return sum(
        1 << row * stride + column
        for row, line in enumerate(shape)
        for column, mark in enumerate(line)
        if mark == "#"
    )
