"""Positions that are lost for good, told without a search: dead squares and frozen boxes.

What it calls deadlocked has no solution; many positions without a solution pass unseen, and finding
those is the solver's work.
"""

from __future__ import annotations

from typing import NamedTuple

from envs.sokoban.board import Board
from envs.sokoban.maze import Maze, boxes_of, cells_in, maze_of


class Deadlock(NamedTuple):
    """Why a position is lost ("dead square" or "freeze"), and the (row, column) of a lost box."""

    reason: str
    position: tuple[int, int]


def is_deadlocked(board: Board) -> Deadlock | None:
    """A deadlock that can be seen at once, or None; never one where a solution exists.

    "dead square": from where the box stands no pushes could bring it to any target, even alone.
    "freeze": the box is off target and can never move again, held by walls and by other boxes that
    cannot either. The box named is the first in reading order.
    """
    maze, boxes = maze_of(board), boxes_of(board)
    for reason, lost in (
        ("dead square", boxes & ~maze.live),
        ("freeze", frozen(maze, boxes) & ~maze.targets),
    ):
        for cell in cells_in(lost):
            row, column = divmod(cell, board.stride)
            return Deadlock(reason, (row, column))
    return None


def frozen(maze: Maze, boxes: int) -> int:
    """Those of `boxes` that can never move again, or only to be lost.

    A box is held across when a wall, or a box that is itself held, stands at its left or right, or
    when both lead to dead squares; and so along. Take all for held, let go of each that can move
    along a line, and of those that leaned on it, until none is left to let go: the rest hold one
    another, so none of them can be the first to move. This finds what the usual recursion from box
    to box finds, and more, in a few operations on sets.
    """
    stride = maze.stride
    held = boxes
    while True:
        across = maze.halted_across | held << 1 | held >> 1
        along = maze.halted_along | held << stride | held >> stride
        still = held & across & along
        if still == held:
            return held
        held = still
