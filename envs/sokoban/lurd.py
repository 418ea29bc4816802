"""Moves as letters, LURD: `lurd` a move, `LURD` a push, optionally with counts (`3r2D`).

It reads, writes and replays moves by the one rule function, and checks that a solution solves. It
knows nothing of level files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from envs.sokoban.board import ACTION_NAMES, BOX, BOX_ON_TARGET, NOOP, Board, Outcome, offset, step
from envs.sokoban.level import LevelError

LONGEST = 100_000  # moves that one text may hold

LETTERS = " udlr"  # a letter's index is its action
_ACTIONS = {letter: action for action, letter in enumerate(LETTERS) if action != NOOP}
_TOKEN = re.compile(r"([0-9]*)(.?)", re.DOTALL)


class Place(NamedTuple):
    """Where a text of moves came from: for errors."""

    where: str = "moves"
    line: int = 1
    column: int = 1

    def refuse(self, what: str, text: str, index: int, remedy: str) -> LevelError:
        """An error at `index` of the text that begins at this place."""
        newlines = text.count("\n", 0, index)
        column = index - text.rfind("\n", 0, index) if newlines else self.column + index
        line = self.line + newlines
        return LevelError(what, where=self.where, line=line, column=column, remedy=remedy)


def read_lurd(text: str, *, where: str = "moves") -> tuple[int, ...]:
    """The actions (1 Up, 2 Down, 3 Left, 4 Right) that `text` spells, in either case.

    White space is skipped; a number before a letter repeats it. Whether the moves fit a board is
    not looked at.

    Raises:
        LevelError: another letter, a number without a letter, or more than 100,000 moves.
    """
    return tuple(action for action, _ in moves(text, Place(where)))


def moves(text: str, place: Place, longest: int = LONGEST) -> Iterator[tuple[int, int]]:
    """As `read_lurd`, one move at a time, each with the index of its letter in `text`."""
    written = 0
    for token in _TOKEN.finditer(text):
        count, letter, index = token[1], token[2], token.start()
        action = _ACTIONS.get(letter.lower())
        if action is None:
            if not count and (not letter or letter.isspace()):
                continue
            what = "a number without a move" if count else f"{letter!r} is not a move"
            remedy = "Moves are written u d l r, or U D L R for pushes; 3r means rrr"
            raise place.refuse(what, text, index, remedy)
        times = int((count.lstrip("0") or "0")[:7]) if count else 1
        written += times
        if written > longest:
            what = "there are too many moves to read in one text"
            raise place.refuse(what, text, index, "Cut them down")
        move = (action, token.end() - 1)
        for _ in range(times):
            yield move


def write_lurd(board: Board, actions: Iterable[int]) -> str:
    """The letters of `actions` played from `board`: upper case for a push, lower case otherwise.

    A move that does nothing keeps its (lower case) letter; a no-op has none and is left out.
    """
    letters = []
    for action in actions:
        outcome = step(board, action)
        board = outcome.board
        if action != NOOP:
            letter = LETTERS[action]
            letters.append(letter.upper() if outcome.pushed else letter)
    return "".join(letters)


def play_lurd(board: Board, lurd: str) -> list[Outcome]:
    """What each move of `lurd` did, from `board` on; a move may do nothing.

    Raises:
        LevelError: as `read_lurd`.
    """
    outcomes = []
    for action in read_lurd(lurd):
        outcomes.append(step(board, action))
        board = outcomes[-1].board
    return outcomes


def read_solution(board: Board, text: str, place: Place, longest: int = LONGEST) -> str:
    """The solution that `text` spells, in the right case, up to the move that solves the board.

    `longest` is how many moves it may have, which bounds the time. What follows the move that
    solves the board is not looked at.

    Raises:
        LevelError: as `read_lurd`; a move that does nothing; or the board is unsolved at the end.
    """
    letters: list[str] = []
    if board.solved:
        return ""
    for action, at in moves(text, place, longest):
        outcome = step(board, action)
        if not outcome.moved:
            number, name = len(letters) + 1, ACTION_NAMES[action]
            what = f"move {number} of the solution ({name}) does nothing: {_why(board, action)}"
            raise place.refuse(what, text, at, _SOLUTION_REMEDY)
        letter = LETTERS[action]
        letters.append(letter.upper() if outcome.pushed else letter)
        board = outcome.board
        if outcome.pushed and board.solved:
            return "".join(letters)
    left = board.boxes - board.boxes_on_target
    what = f"after the solution's {len(letters)} moves {left} of {board.boxes} boxes"
    verb = "is" if left == 1 else "are"
    raise place.refuse(f"{what} {verb} not on a target", text, 0, _SOLUTION_REMEDY)


_SOLUTION_REMEDY = "Correct the solution or take it out"


def _why(board: Board, action: int) -> str:
    if board.cells[board.player + offset(board, action)] not in (BOX, BOX_ON_TARGET):
        return "a wall is in the way"
    return "the box there cannot be pushed"
