"""What the walls and targets of a level say by themselves, and where its player can walk.

Sets of cells are whole numbers here: cell (row, column) is bit `row * stride + column`, as in
`Board.cells`, so a shift moves every cell of a set at once and a wall at each row's end keeps rows
apart. It knows no search, no deadlock rule and nothing of how good a position is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache

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

# More pushes than any board needs: no box comes from this cell to this target.
UNREACHABLE = 1 << 20


def _table(mapping: dict[int, int], otherwise: int) -> bytes:
    return bytes(mapping.get(cell, otherwise) for cell in range(256))


# Takes the player and the boxes off.
_BARE = _table(
    {FLOOR: FLOOR, TARGET: TARGET, BOX: FLOOR, BOX_ON_TARGET: TARGET}
    | {PLAYER: FLOOR, PLAYER_ON_TARGET: TARGET, EDGE: EDGE},
    WALL,
)
_ONE, _ZERO = ord("1"), ord("0")
_IS_FLOOR = _table({FLOOR: _ONE, TARGET: _ONE}, _ZERO)
_IS_TARGET = _table({TARGET: _ONE}, _ZERO)
_IS_BOX = _table({BOX: _ONE, BOX_ON_TARGET: _ONE}, _ZERO)


def _cells_where(cells: bytes, table: bytes) -> int:
    return int(cells.translate(table)[::-1], 2)


def boxes_of(board: Board) -> int:
    """The set of the cells that hold a box."""
    return _cells_where(board.cells, _IS_BOX)


def cells_in(cells: int) -> Iterator[int]:
    """The cells of a set as indices, in reading order."""
    while cells:
        bit = cells & -cells
        cells ^= bit
        yield bit.bit_length() - 1


def maze_of(board: Board) -> Maze:
    """The maze of a board; positions of one level share it, as the last few dozen are kept."""
    return _maze(board.cells.translate(_BARE), board.stride)


class Maze:
    """Walls and targets, and what follows from them alone.

    Attributes:
        stride: how far apart two rows are.
        floor, targets: the cells that are not wall, and those to be filled.
        live: the cells from which a box, alone on the board, can be pushed to some target.
        halted_across, halted_along: the cells where a box can never move left and right (across) or
            up and down (along) without being lost: a wall at one side, or a dead cell at both.
    """

    def __init__(self, cells: bytes, stride: int) -> None:
        """`cells` as in `Board.cells`, holding only WALL, FLOOR, TARGET and EDGE."""
        self.stride = stride
        self.size = len(cells)
        self.floor = floor = _cells_where(cells, _IS_FLOOR)
        self.targets = _cells_where(cells, _IS_TARGET)
        self.live = self.targets
        while (grown := self.live | self.pulled(self.live)) != self.live:
            self.live = grown
        wall, dead = ~floor, ~self.live
        self.halted_across = wall << 1 | wall >> 1 | dead << 1 & dead >> 1
        self.halted_along = wall << stride | wall >> stride | dead << stride & dead >> stride
        self.rings = _rings(stride)

    def pulled(self, boxes: int) -> int:
        """Where one pull brings these boxes, each as if alone: it takes two free cells in line."""
        floor, stride = self.floor, self.stride
        up_down = boxes >> stride & floor << stride | boxes << stride & floor >> stride
        left_right = boxes >> 1 & floor << 1 | boxes << 1 & floor >> 1
        return (up_down | left_right) & floor

    @cached_property
    def distances(self) -> list[tuple[int, ...]]:
        """By cell, then by target in reading order: the pushes a box alone on the board needs.

        Found by pulling backwards from each target; `UNREACHABLE` where no way leads.
        """
        by_target = [self._distances_to(target) for target in cells_in(self.targets)]
        return list(zip(*by_target, strict=True))

    def _distances_to(self, target: int) -> list[int]:
        found = [UNREACHABLE] * self.size
        layer = seen = 1 << target
        pushes = 0
        while layer:
            for cell in cells_in(layer):
                found[cell] = pushes
            layer = self.pulled(layer) & ~seen
            seen |= layer
            pushes += 1
        return found

    def reach(self, start: int, boxes: int) -> int:
        """The cells to which a player in any cell of `start` can walk among these boxes."""
        free, stride = self.floor & ~boxes, self.stride
        reach = start
        while True:
            near = reach | reach << 1 | reach >> 1 | reach << stride | reach >> stride
            grown = near & free
            if grown == reach:
                return reach
            reach = grown

    def reach_after_push(self, reach: int, left: int, entered: int, boxes: int) -> int:
        """The player's reach after a box went from cell `left` to cell `entered`.

        Both cells are given as sets of one; `boxes` are those after the push. The old reach holds
        on as the start of the new one, which saves most of the walk, unless the box has cut it in
        two: then it starts again from the player, who stands where the box was.
        """
        start = reach | left
        if reach & entered:
            start ^= entered
            corner = entered.bit_length() - 2 - self.stride
            if not self.rings[start >> corner & self.rings.cells]:
                start = left
        return self.reach(start, boxes)


class _Rings(dict[int, bool]):
    """Whether the free cells among the eight around a cell hang together; worked out when asked.

    A key is the set of the free ones, the upper left of the eight being bit 0. Only what touches
    the middle cell by a side counts: whoever walked through it came and went there.
    """

    def __init__(self, stride: int) -> None:
        super().__init__()
        below, twice = 1 << stride, 1 << 2 * stride
        # Round the middle cell from the upper left, so every second one touches it by a side.
        self.round = (1, 2, 4, 4 * below, 4 * twice, 2 * twice, twice, below)
        self.cells = sum(self.round)

    def __missing__(self, free: int) -> bool:
        here = [bool(free & cell) for cell in self.round]
        # A side begins a new stretch when neither it nor its corner joins the side before it.
        stretches = sum(
            here[side] and not (here[side - 1] and here[side - 2]) for side in (1, 3, 5, 7)
        )
        self[free] = whole = stretches <= 1
        return whole


@lru_cache(maxsize=64)
def _rings(stride: int) -> _Rings:
    return _Rings(stride)


@lru_cache(maxsize=32)
def _maze(cells: bytes, stride: int) -> Maze:
    return Maze(cells, stride)
