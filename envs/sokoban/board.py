"""An immutable Sokoban board and the one rule function, `step(board, action) -> Outcome`.

It knows nothing of files, symbols, time limits or Gymnasium. The rules and the rewards are those of
gym-sokoban, which frameworks for language-model agents use; rewards are sums of tenths, so they are
exact to one decimal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

# A cell as a number, the numbering of gym-sokoban's observations.
WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = range(7)
# Ends every row inside `Board.cells`, so that rows join without work and an edge is never crossed.
EDGE = 7

NOOP, UP, DOWN, LEFT, RIGHT = range(5)
ACTION_NAMES = ("NoOp", "Up", "Down", "Left", "Right")

STEP_REWARD, BOX_REWARD, SOLVED_REWARD = -0.1, 1.0, 10.0
_STEP_TENTHS, _BOX_TENTHS, _SOLVED_TENTHS = -1, 10, 100

# What a cell becomes when something leaves it or enters it; None where nothing may enter.
_WITHOUT = (WALL, FLOOR, TARGET, TARGET, FLOOR, FLOOR, TARGET, EDGE)
_WITH_PLAYER = (None, PLAYER, PLAYER_ON_TARGET, PLAYER_ON_TARGET, PLAYER, None, None, None)
_WITH_BOX = (None, BOX, BOX_ON_TARGET, None, None, None, None, None)


class Board(NamedTuple):
    """A position: where walls, floor, targets, boxes and the player are.

    `cells` holds the rows one after another, each followed by one EDGE: the cell (row, column) is
    `cells[row * stride + column]` with `stride = columns + 1`. Make one with `Board.from_rows`.
    """

    cells: bytes
    stride: int
    player: int
    boxes: int
    boxes_on_target: int

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[int]]) -> Board:
        """Build a board from rows of cell numbers (0 to 6), all of one length, with one player.

        Raises:
            ValueError: rows differ in length or are empty, or there is not exactly one player.
        """
        grid = [bytes(row) for row in rows]
        if not grid or not grid[0] or len({len(row) for row in grid}) != 1:
            raise ValueError("a board needs at least one row, and rows of one length")
        cells = b"".join(row + bytes([EDGE]) for row in grid)
        players = [i for i, cell in enumerate(cells) if cell in (PLAYER, PLAYER_ON_TARGET)]
        if len(players) != 1:
            raise ValueError(f"a board needs exactly one player, this one has {len(players)}")
        on_target = cells.count(BOX_ON_TARGET)
        boxes = cells.count(BOX) + on_target
        return cls(cells, len(grid[0]) + 1, players[0], boxes, on_target)

    @property
    def columns(self) -> int:
        return self.stride - 1

    @property
    def rows(self) -> int:
        return len(self.cells) // self.stride

    @property
    def solved(self) -> bool:
        """Every target holds a box; a valid level has as many targets as boxes, at least one."""
        return self.boxes_on_target == self.boxes

    @property
    def player_position(self) -> tuple[int, int]:
        """The player's (row, column)."""
        return divmod(self.player, self.stride)

    def grid(self) -> list[list[int]]:
        """The cell numbers, row by row, without the row ends."""
        return [
            list(self.cells[start : start + self.columns])
            for start in range(0, len(self.cells), self.stride)
        ]


class Outcome(NamedTuple):
    """What one step did: the board after it, the reward, and whether the player moved or pushed."""

    board: Board
    reward: float
    moved: bool
    pushed: bool


def _reward(change: int, solved: bool) -> float:
    tenths = _STEP_TENTHS + _BOX_TENTHS * change + _SOLVED_TENTHS * solved
    return tenths / 10


# By the sign of the change in boxes on targets (-1, 0, 1) and whether the board is solved.
_REWARDS = {(c, s): _reward(c, s) for c in (-1, 0, 1) for s in (False, True)}


def offset(board: Board, action: int) -> int:
    """How far, in `cells`, one step in the direction of `action` (1 to 4) goes."""
    return (0, -board.stride, board.stride, -1, 1)[action]


def step(board: Board, action: int) -> Outcome:
    """Apply `action` (0 no-op, 1 Up, 2 Down, 3 Left, 4 Right) by the rules of Sokoban.

    A move into a box pushes it when the cell behind is free floor or a free target; two boxes are
    never pushed, and at a wall nothing moves. Every step pays -0.1, plus 1 when the number of boxes
    on targets rose, minus 1 when it fell, plus 10 when every target holds a box.
    """
    cells, stride, player, boxes, on_target = board
    delta = (0, -stride, stride, -1, 1)[action]
    here = player + delta
    # A valid level never lets the player to the border; on any other board the border holds him.
    if action == NOOP or here < 0 or here >= len(cells):
        return Outcome(board, _REWARDS[0, boxes == on_target], False, False)
    entered = _WITH_PLAYER[cells[here]]
    pushed = cells[here] in (BOX, BOX_ON_TARGET)
    behind = here + delta
    boxed = None
    if pushed:
        boxed = _WITH_BOX[cells[behind]] if 0 <= behind < len(cells) else None
        if boxed is None:
            entered = None
    if entered is None:
        return Outcome(board, _REWARDS[0, boxes == on_target], False, False)

    after = bytearray(cells)
    after[player] = _WITHOUT[cells[player]]
    after[here] = entered
    change = 0
    if boxed is not None:
        after[behind] = boxed
        change = (boxed == BOX_ON_TARGET) - (cells[here] == BOX_ON_TARGET)
    now = Board(bytes(after), stride, here, boxes, on_target + change)
    return Outcome(now, _REWARDS[change, now.boxes_on_target == boxes], True, pushed)
