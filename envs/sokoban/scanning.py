"""Which lines of a text are boards, and what the lines between them are.

It tells boards, titles, keys, comments and moves apart by their letters. To which board a note
belongs is decided in `collection.py`; what the symbols mean, in `rows.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from envs.sokoban.level import LevelError
from envs.sokoban.rows import SYMBOLS
from envs.sokoban.run_length import Row

_SET = f"[{re.escape(SYMBOLS)}\t]"
_PLAIN = re.compile(f"{_SET}*")
_RUN_LENGTH = re.compile(r"(?=.*(?:[0-9][^0-9 ]|\|))[#@p+P$b*B.\-_ 0-9()|]*")
_UNKNOWN = re.compile(f"[^{re.escape(SYMBOLS)}\t]")
_THING = re.compile(r"[^#\-_ \t0-9()|]")
_KEY = re.compile(
    r"\s*(title|author|collection|comment|comment-end|copyright|date[a-z ]*|set|id|e-?mail|url|"
    r"home-?page|web-?site|difficulty)\s*:(.*)",
    re.IGNORECASE,
)
_MOVES_HEAD = re.compile(
    r"\s*(solution|snapshot|saved game)(?:\s*[0-9]*\s*$|\s*[0-9]*[ (/][^:]*:|\s*[0-9]*\s*:)(.*)",
    re.IGNORECASE,
)
_MOVES = re.compile(r"\s*(?:[0-9]*[lurd]\s*)+", re.IGNORECASE)
_COMMENT_END = re.compile(r"\s*comment-end\s*:?\s*", re.IGNORECASE)

BLANK, ROW, LOOSE, BROKEN, WORDS = range(5)  # kinds of line

MOVES_KINDS = ("moves", "moves or title", "solution", "snapshot", "saved game")


class Note(NamedTuple):
    """Something said between two boards. `kind` is a key's name in lower case (title, author, ...),
    remark (a `;` line), text (any other words), moves, or solution or snapshot (moves under such a
    heading). The text begins at `line` and `column`."""

    kind: str
    text: str
    line: int
    column: int = 1


@dataclass
class Block:
    """Notes without an empty line between them, and whether they touch the boards around them."""

    notes: list[Note] = field(default_factory=list)
    touches_above: bool = False
    touches_below: bool = False


def scan(lines: Sequence[str], where: str) -> tuple[list[list[Row]], list[list[Block]]]:
    """The boards, and the blocks of notes before, between and after them."""
    kinds = [_kind(line) for line in lines] + [BLANK]
    boards: list[list[Row]] = []
    gaps: list[list[Block]] = [[]]
    comment_ends = [i for i, line in enumerate(lines) if _COMMENT_END.fullmatch(line)]
    comment_ends.reverse()  # so that the next one is popped from the end
    touching = False  # whether the line above is a board's or a note's
    at = 0
    while at < len(lines):
        if kinds[at] == BLANK:
            touching, at = False, at + 1
            continue
        end = _run_end(kinds, lines, at)
        if end > at and _is_board(lines, at, end):
            if touching and gaps[-1]:
                gaps[-1][-1].touches_below = True
            boards.append([Row(i + 1, lines[i].rstrip()) for i in range(at, end)])
            gaps.append([])
            touching, at = True, end
            continue
        if not (touching and gaps[-1]):
            gaps[-1].append(Block(touches_above=touching))
        touching = True
        while comment_ends and comment_ends[-1] < at:
            comment_ends.pop()
        note, at = _note(lines, at, comment_ends[-1] if comment_ends else None, where)
        gaps[-1][-1].notes.append(note)
    return boards, [_named(gap, number, len(boards)) for number, gap in enumerate(gaps)]


def _named(gap: list[Block], number: int, last: int) -> list[Block]:
    """The gap; letters of moves where no solution can stand, or a title can as well, are so named.

    "Lull" and "D" are titles that are spelled like moves: over the first board they are words; on
    the last line before another board, playing them on the board above will tell.
    """
    if gap and number < last and gap[-1].notes[-1].kind == "moves" and not gap[-1].touches_above:
        note = gap[-1].notes[-1]
        gap[-1].notes[-1] = note._replace(kind="moves or title" if number else "text")
    return gap


def _kind(line: str) -> int:
    if not line or line.isspace():
        return BLANK
    if "#" not in line:
        return LOOSE if _PLAIN.fullmatch(line) else WORDS
    if line.lstrip().startswith((";", "::")):
        return WORDS
    if _PLAIN.fullmatch(line) or _RUN_LENGTH.fullmatch(line):
        return ROW
    core = line.strip(" -_\t")
    known = len(_UNKNOWN.sub("", core))
    return BROKEN if core.startswith("#") and 2 * known >= len(core) else WORDS


def _run_end(kinds: Sequence[int], lines: Sequence[str], start: int) -> int:
    """Where the rows that begin at `start` end; `start` itself where no row begins.

    A row without a wall, or with an unknown symbol, is a row only between rows with walls. One with
    an unknown symbol that begins and ends with a wall also counts as a board's first or last row.
    """
    at = start
    if kinds[at] == BROKEN and lines[at].rstrip().endswith("#") and kinds[at + 1] == ROW:
        at += 1
    if kinds[at] != ROW:
        return start
    while True:
        while kinds[at] == ROW:
            at += 1
        ahead = at
        while kinds[ahead] in (LOOSE, BROKEN):
            ahead += 1
        if ahead == at or kinds[ahead] != ROW:
            break
        at = ahead
    return at + (kinds[at] == BROKEN and lines[at].rstrip().endswith("#"))


def _is_board(lines: Sequence[str], start: int, end: int) -> bool:
    """Whether rows are a board and not a ruler or a heading: three rows, or something on them."""
    if end - start >= 3 or any("|" in line for line in lines[start:end]):
        return True
    return any(_THING.search(line) for line in lines[start:end])


def _note(lines: Sequence[str], at: int, comment_end: int | None, where: str) -> tuple[Note, int]:
    """The note that begins on line `at`, and the line after it."""
    line = lines[at]
    if line.lstrip().startswith(("::", ";")):
        is_file_comment = line.lstrip().startswith("::")
        kind = "file comment" if is_file_comment else "remark"
        return Note(kind, line.strip().strip(";").strip(), at + 1), at + 1
    key = _KEY.fullmatch(line) if ":" in line else None
    if key and key[1].lower() == "comment":
        return _comment(lines, at, key[2], comment_end, where)
    if key:
        return Note(key[1].lower(), key[2].strip(), at + 1), at + 1
    head = _MOVES_HEAD.fullmatch(line)
    if head or _MOVES.fullmatch(line):
        end = at + 1
        while end < len(lines) and _MOVES.fullmatch(lines[end]):
            end += 1
        if head is None:
            return Note("moves", "\n".join(lines[at:end]), at + 1), end
        kind = head[1].lower()
        if end > at + 1:  # the moves follow; whatever the heading says besides is no move
            return Note(kind, "\n".join(lines[at + 1 : end]), at + 2), end
        return Note(kind, head[2], at + 1, head.start(2) + 1), end
    words = line.strip()
    quoted = len(words) > 2 and words[0] == words[-1] and words[0] in "'\""
    return Note("text", words[1:-1] if quoted else words, at + 1), at + 1


def _comment(
    lines: Sequence[str], at: int, first: str, comment_end: int | None, where: str
) -> tuple[Note, int]:
    """`Comment:` up to `Comment-End:`, or, where that is missing, the words on its own line."""
    if comment_end is None:
        if not first.strip():
            what, remedy = "this comment has no end", "Put Comment-End: on a line after it"
            raise LevelError(what, where=where, line=at + 1, remedy=remedy)
        return Note("comment", first.strip(), at + 1), at + 1
    between = range(at + 1, comment_end)
    if first.strip() and any(_is_comment_head(lines[i]) for i in between):
        return Note("comment", first.strip(), at + 1), at + 1
    words = "\n".join([first, *lines[at + 1 : comment_end]])
    return Note("comment", words.strip(), at + 1), comment_end + 1


def _is_comment_head(line: str) -> bool:
    key = _KEY.fullmatch(line)
    return bool(key and key[1].lower() == "comment")
