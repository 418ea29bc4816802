"""Levels on the page: the shelf to choose from, the editor, and what the referee says.

Plain functions from levels and episodes to what the components show; nothing here knows Gradio.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from envs.sokoban import Board, Level, LevelError, format_xsb, parse_level, step, tiles
from play import Episode, Verdict, referee

# The editor's letters are the picture's; the files' are XSB.
_XSB_OF_TILE = dict(zip("wftdbpqo", "#-.*$@+#", strict=True))
_LARGEST = 64

CATCH_UP = 2.0  # seconds to judge the turns of an episode that was just opened
MOST_SHOWN = 200  # levels of a collection on the shelf


# -- the referee


def referee_view(episode: Episode, hint: str = "") -> dict[str, Any]:
    """How far it is, what the last move did, and what may be asked for. Asks the solver."""
    now = referee.judge(episode.board)
    _catch_up(episode)
    episode = referee.carry(episode)
    last = episode.turns[-1].verdict if episode.turns else None
    kind, word = _word(episode, last, now.status)
    can = [] if episode.over or not now else ["hint", "solution"]
    if now.status == "unsolvable" and referee.fatal_turn(episode, referee.known) is not None:
        can.append("rescue")
    left = "Solved." if episode.solved else f"{_count(now.pushes, 'push')} to go." if now else ""
    return {"kind": kind, "left": left, "word": f"Best next: {hint}." if hint else word, "can": can}


def _catch_up(episode: Episode) -> None:
    """Judge the boards of the turns, the latest first, for as long as it may take."""
    end = time.monotonic() + CATCH_UP
    for turn in reversed(episode.turns):
        if time.monotonic() > end:
            return
        referee.judge(turn.after.board)
    referee.judge(episode.level.board)


def _word(episode: Episode, last: Verdict | None, status: str) -> tuple[str, str]:
    if status == "unsolvable":
        number = referee.fatal_turn(episode, referee.known)
        which = f"Turn {number} lost the level" if number else "The level cannot be solved any more"
        return "fatal", f"{which}: {referee.reason(episode.board)}."
    if status == "not_found":
        return "unknown", "The solver found no solution in its time."
    if last is None or last.optimal is None:
        return "fine", ""
    if not last.optimal:
        return "detour", "The last push was a detour."
    return "fine", ""


def replay(board: Board) -> list[Sequence[str]]:
    """The pictures of a shortest solution from `board` on, the first one being `board`."""
    frames: list[Sequence[str]] = [tiles(board)]
    for letter in referee.judge(board).lurd:
        board = step(board, "udlr".index(letter.lower()) + 1).board
        frames.append(tiles(board))
    return frames


# -- the shelf


def shelf_view(levels: Sequence[Level], chosen: Level | None = None) -> dict[str, Any]:
    """Picture, title and length of each level; what the solver is not asked for stays open."""
    shown = levels[:MOST_SHOWN]
    return {
        "levels": [
            {
                "index": index,
                "title": level.title or f"Level {index + 1}",
                "tiles": tiles(level.board),
                "note": _length(level),
            }
            for index, level in enumerate(shown)
        ],
        "chosen": next((i for i, level in enumerate(shown) if level == chosen), -1),
    }


def _length(level: Level) -> str:
    size = f"{level.board.rows}×{level.board.columns}"
    if not level.solution:
        return size
    pushes = sum(letter.isupper() for letter in level.solution)
    return f"{size} · {_count(len(level.solution), 'move')}, {_count(pushes, 'push')}"


def _count(number: int, noun: str) -> str:
    plural = "" if number == 1 else "es" if noun.endswith("sh") else "s"
    return f"{number} {noun}{plural}"


def measure(levels: Sequence[Level], seconds: float) -> list[Level]:
    """The levels with an optimal solution where they bring none, as far as the time reaches."""
    end = time.monotonic() + seconds
    measured = []
    for level in levels[:MOST_SHOWN]:
        solution = level.solution
        if not solution and time.monotonic() < end:
            solution = referee.judge(level.board).lurd
        measured.append(Level(level.board, level.title, level.author, level.comment, solution))
    return measured


# -- the editor


def editor_view(level: Level) -> dict[str, Any]:
    """The editor with a level in it."""
    rows = [row.replace("o", "w") for row in tiles(level.board)]
    return painted_view(rows) | {"taken": True}


def painted_view(rows: Any) -> dict[str, Any]:
    """What was painted, whether it is a level, and if not, which cell is wrong.

    Raises:
        LevelError: this is nothing that the editor sends.
    """
    rows = painted_rows(rows)
    shown: dict[str, Any] = {"tiles": rows, "taken": False, "at": None}
    try:
        level = painted_level(rows)
    except LevelError as error:
        at = None
        if error.line is not None and error.column is not None:
            at = [error.line - 1, error.column - 1]
        where = f"Row {at[0] + 1}, column {at[1] + 1}: " if at else ""
        word = f"{where}{error.what}. {error.remedy}."
        return shown | {"kind": "wrong", "word": word, "at": at}
    found = referee.judge(level.board)
    words = {
        "solved": f"A valid level: {_count(found.moves, 'move')}, {_count(found.pushes, 'push')}.",
        "unsolvable": "A valid board, but it has no solution.",
        "not_found": "A valid level; the solver found no solution in its time.",
    }
    kind = "wrong" if found.status == "unsolvable" else "fine"
    return shown | {"kind": kind, "word": words[found.status]}


def painted_level(rows: Any) -> Level:
    """The level that was painted.

    Raises:
        LevelError: it is not valid; line and column are the cell's, counted from 1.
    """
    text = "\n".join("".join(_XSB_OF_TILE[tile] for tile in row) for row in painted_rows(rows))
    return parse_level(f"{text}\nTitle: Painted", where="painted level")


def painted_rows(rows: Any) -> list[str]:
    """The editor's rows, which come from a browser and may be anything.

    Raises:
        LevelError: they are not rows of tile letters of one length.
    """
    fine = isinstance(rows, list) and 3 <= len(rows) <= _LARGEST
    if not fine or not all(
        isinstance(row, str)
        and len(row) == len(rows[0])
        and 3 <= len(row) <= _LARGEST
        and set(row) <= set(_XSB_OF_TILE)
        for row in rows
    ):
        raise LevelError("these are no rows of tiles", remedy="Take the level in play again")
    return rows


def level_text(level: Level) -> str:
    """The level as the text field shows it."""
    return format_xsb(level)
