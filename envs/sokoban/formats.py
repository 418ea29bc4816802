"""Levels from text and to text: finds out which format a text is in, and writes each of them.

The reading itself is in `collection.py` (.xsb, .sok, .txt, Boxoban, run-length rows, the guide's
vocabulary) and `slc.py` (XML); what a row of symbols means is in `rows.py`, moves are in `lurd.py`.
Nothing here opens a file or an address: the caller hands in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envs.sokoban.collection import read_collection
from envs.sokoban.level import Level, LevelError
from envs.sokoban.lurd import play_lurd, read_lurd, write_lurd
from envs.sokoban.rows import draw
from envs.sokoban.run_length import compress
from envs.sokoban.slc import format_slc, read_slc

__all__ = [
    "format_boxoban",
    "format_collection",
    "format_rle",
    "format_slc",
    "format_xsb",
    "level_note",
    "parse_level",
    "parse_levels",
    "play_lurd",
    "read_lurd",
    "write_lurd",
]

LARGEST_TEXT = 2_000_000  # characters
SOLUTION_WIDTH = 72  # letters in a line of a solution
BOXOBAN_SIZE = 10


def parse_levels(text: str, *, where: str = "level text") -> list[Level]:
    """Every level in `text`, in whichever of the formats it is written.

    XSB, .sok and .txt collections, Boxoban, run-length rows, `.slc` XML, and the text vocabulary of
    the guide (`# _ O √ X P S`) are told apart by themselves. Solutions are played: they come out in
    the right case and end with the move that solves the level.

    Args:
        text: the contents of a file, or what was pasted.
        where: what to call the text in an error: a file's name, say.

    Raises:
        LevelError: no level, one that is not valid, or a solution that does not solve its level;
            with line, column and remedy.
    """
    if len(text) > LARGEST_TEXT:
        raise LevelError(
            f"the text has {len(text):,} characters",
            where=where,
            remedy=f"At most {LARGEST_TEXT:,} can be read: split it into several files",
        )
    text = text.removeprefix("\ufeff")
    read = read_slc if text.lstrip().startswith("<") else read_collection
    return read(text, where=where)


def parse_level(text: str, *, number: int = 1, where: str = "level text") -> Level:
    """Level `number` of `text`, counted from one.

    Raises:
        LevelError: as `parse_levels`, or there is no level of that number.
    """
    levels = parse_levels(text, where=where)
    if not 1 <= number <= len(levels):
        held = "1 level" if len(levels) == 1 else f"{len(levels)} levels"
        remedy = (
            f"Choose a number from 1 to {len(levels)}" if len(levels) > 1 else "Choose number 1"
        )
        raise LevelError(f"there is no level {number}: {held} found", where=where, remedy=remedy)
    return levels[number - 1]


def level_note(level: Level) -> str:
    """What a person should know before playing the level; empty when there is nothing."""
    if level.board.solved:
        return "This level is solved at the start: every box already stands on a target."
    return ""


def format_xsb(level: Level) -> str:
    """The level in XSB: rows, then `Title:`, `Author:`, `Comment:` and `Solution:` as far as known.

    `parse_levels` reads the same level back, given a board as `parse_levels` makes them (no floor
    outside the walls) and a title and author of one line.
    """
    lines = draw(level.board)
    for key, words in (("Title", level.title), ("Author", level.author)):
        if words.strip():
            lines.append(f"{key}: {' '.join(words.split())}")
    if level.comment.strip():
        lines += ["Comment:", *_comment_lines(level.comment), "Comment-End:"]
    if level.solution:
        lines.append("Solution:")
        for start in range(0, len(level.solution), SOLUTION_WIDTH):
            lines.append(level.solution[start : start + SOLUTION_WIDTH])
    return "\n".join(lines) + "\n"


def _comment_lines(comment: str) -> list[str]:
    """The comment's lines; one that would end it early is defused with a dash in front."""
    lines = comment.strip().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [
        f"- {line}" if line.strip().lower().startswith("comment-end") else line for line in lines
    ]


def format_collection(levels: Iterable[Level]) -> str:
    """Several levels one after another, each as `format_xsb` writes it."""
    return "\n".join(format_xsb(level) for level in levels)


def format_rle(level: Level) -> str:
    """The board alone on one line of run-length rows: `5#|#@$.#|5#`."""
    rows = (row.replace(" ", "-") for row in draw(level.board))
    return "|".join(compress(row) for row in rows)


def format_boxoban(levels: Sequence[Level]) -> str:
    """A Boxoban file: `; N`, counted from zero, and ten rows of ten. Titles have no place in it.

    Raises:
        LevelError: a level that is not 10 by 10.
    """
    parts = []
    for number, level in enumerate(levels):
        rows = draw(level.board)
        if len(rows) != BOXOBAN_SIZE or len(rows[0]) != BOXOBAN_SIZE:
            raise LevelError(
                f"level {number + 1} has {len(rows)} rows and {len(rows[0])} columns",
                where="Boxoban",
                remedy="A Boxoban file holds only boards of 10 by 10: write another format",
            )
        parts.append("\n".join([f"; {number}", *rows]) + "\n")
    return "\n".join(parts)
