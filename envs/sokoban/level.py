"""A level: a valid starting board with its title, author, comment and, where known, a solution.

What makes a board valid is here and nowhere else; reading and writing files is `formats.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from envs.sokoban.board import (
    BOX,
    BOX_ON_TARGET,
    EDGE,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
    Board,
)
from errors import UserError

LARGEST = 64  # rows or columns of the largest board


class LevelError(UserError):
    """A level that cannot be played; line and column are those of the text it was read from."""


@dataclass(frozen=True)
class Level:
    """A board to start from. `solution` is LURD: lower case a move, upper case a push."""

    board: Board
    title: str = ""
    author: str = ""
    comment: str = ""
    solution: str = ""


def check_board(board: Board, *, where: str = "", first_line: int = 1) -> None:
    """Refuse a board that is not a valid level; `first_line` is the line its first row stood on.

    Raises:
        LevelError: larger than 64 by 64, no box, boxes and targets differ in number, or the player
            could leave the board.
    """

    def refuse(what: str, remedy: str, at: int | None = None) -> LevelError:
        line = column = None
        if at is not None:
            row, column = divmod(at, board.stride)
            line, column = first_line + row, column + 1
        return LevelError(what, where=where, line=line, column=column, remedy=remedy)

    if board.rows > LARGEST or board.columns > LARGEST:
        raise refuse(
            f"the board has {board.rows} rows and {board.columns} columns",
            f"The largest board is {LARGEST} by {LARGEST}: cut it down",
            0,
        )
    cells = board.cells
    targets = sum(cells.count(cell) for cell in (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET))
    if board.boxes == 0:
        raise refuse("there is no box", "Add at least one box ($) and a target (.) for it", 0)
    if board.boxes != targets:
        missing = abs(board.boxes - targets)
        more = _count(missing, "target (.)" if board.boxes > targets else "box ($)")
        raise refuse(
            f"{_count(board.boxes, 'box')} for {_count(targets, 'target')}",
            f"Add {more}, or take as many of the others away",
            next(i for i, cell in enumerate(cells) if cell in (BOX, BOX_ON_TARGET)),
        )
    gap = first_gap(board)
    if gap is not None:
        raise refuse(
            "the player can leave the board here",
            "Close the outer wall: put a wall (#) at this cell",
            gap,
        )


def _count(number: int, noun: str) -> str:
    """ "1 box", "2 boxes", "0 targets"; a sign in brackets after the noun stays where it is."""
    word, _, sign = noun.partition(" ")
    plural = "" if number == 1 else "es" if word == "box" else "s"
    return f"{number} {word}{plural} {sign}".rstrip()


def first_gap(board: Board) -> int | None:
    """The first border cell that the player could reach if boxes were no obstacle, or None."""
    cells, stride = board.cells, board.stride
    seen, todo = {board.player}, [board.player]
    while todo:
        cell = todo.pop()
        row, column = divmod(cell, stride)
        if row in (0, board.rows - 1) or column in (0, board.columns - 1):
            return cell
        for near in (cell - stride, cell + stride, cell - 1, cell + 1):
            if near not in seen and cells[near] not in (WALL, EDGE):
                seen.add(near)
                todo.append(near)
    return None
