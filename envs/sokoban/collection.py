"""Text collections of levels (.xsb, .sok, .txt, Boxoban): boards with titles, authors, solutions.

`scanning.py` finds the boards and the notes in the gaps between them; here each note is given to a
board. The formats leave open whether to the one above or the one below. The rule here: a note that
touches one board (no empty line between) belongs to that one. Otherwise, plain text and `;` lines
belong to the board below, unless the file has `;` lines under its last board; `Title:`, `Author:`
and `Comment:` to the board above, unless the file has a `Title:` over its first board; a solution
always to the board above. Remarks that are no titles are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from envs.sokoban.board import Board
from envs.sokoban.level import Level, LevelError
from envs.sokoban.lurd import Place, read_solution
from envs.sokoban.rows import read_board
from envs.sokoban.run_length import Row
from envs.sokoban.scanning import MOVES_KINDS, Block, Note, scan

NO_LEVEL_REMEDY = (
    "Paste a board such as #####, #@$.#, ##### on lines of their own: # wall, @ player, $ box, "
    ". target; or the contents of a .xsb, .sok, .slc or Boxoban file"
)

# Solutions may together have as many moves as the text has characters, which suffices for all that
# are spelled out, and so many more where counts shorten them; this bounds the time of reading.
EXTRA_MOVES = 2_000


def read_collection(text: str, *, where: str = "") -> list[Level]:
    """Every level of a text in XSB, .sok, Boxoban or run-length rows, or in the guide's vocabulary.

    Raises:
        LevelError: a board that is not valid, a solution that does not solve, or no board at all.
    """
    boards, gaps = scan(re.split(r"\r\n|\r|\n", text), where)
    if not boards:
        raise LevelError("there is no level in this text", where=where, remedy=NO_LEVEL_REMEDY)
    return list(_levels(boards, _shared(gaps), where, longest=EXTRA_MOVES + len(text)))


class Words(NamedTuple):
    """What is said about one board: the blocks before it and after it, in the text's order."""

    before: list[list[Note]]
    after: list[list[Note]]


def _shared(gaps: Sequence[Sequence[Block]]) -> list[Words]:
    """Each board's words: every gap's notes divided between the board above and the one below."""
    remarks_follow = any(note.kind == "remark" for block in gaps[-1] for note in block.notes)
    keys_follow = all(note.kind != "title" for block in gaps[0] for note in block.notes)

    def is_above(note: Note, block: Block) -> bool:
        if note.kind in MOVES_KINDS:
            return True
        if block.touches_above != block.touches_below:
            return block.touches_above
        if note.kind == "text":
            return False
        return remarks_follow if note.kind == "remark" else keys_follow

    shares: list[tuple[list[list[Note]], list[list[Note]]]] = []
    for number, gap in enumerate(gaps):
        above: list[list[Note]] = []
        below: list[list[Note]] = []
        for block in gap:
            above.append([])
            below.append([])
            for note in block.notes:
                is_mine = number == len(gaps) - 1 or is_above(note, block)
                (above if is_mine else below)[-1].append(note)
        shares.append((above, below))
    # What is "above" the first board is the file's header; an author there speaks for every level.
    shared = [Words(shares[n][1], shares[n + 1][0]) for n in range(len(gaps) - 1)]
    if keys_follow:
        author = [note for notes in shares[0][0] for note in notes if note.kind == "author"]
        for words in shared:
            words.before.insert(0, author[:1])
    return shared


def _levels(
    boards: Sequence[Sequence[Row]], words: Sequence[Words], where: str, longest: int
) -> Iterator[Level]:
    """The levels in order; together their solutions may have `longest` moves."""
    spare: list[Note] = []
    for rows, (before, after) in zip(boards, words, strict=True):
        board = read_board(rows, where=where)
        before.append(spare)
        solution, spare = _solution(board, after, where, longest)
        longest -= len(solution)
        said: dict[str, str] = {}
        for note in chain(*after, *reversed(before)):  # what touches, or is nearest, comes first
            said.setdefault(note.kind, note.text)
        yield Level(
            board=board,
            title=said.get("title") or _title(before, after),
            author=said.get("author", ""),
            comment=said.get("comment", ""),
            solution=solution,
        )


def _solution(
    board: Board, after: Sequence[Sequence[Note]], where: str, longest: int
) -> tuple[str, list[Note]]:
    """The first solution among the words after a board, and moves that turned out to be a title."""
    solution = ""
    for note in chain.from_iterable(after):
        if note.kind not in ("solution", "moves", "moves or title") or not note.text.strip():
            continue
        place = Place(where, note.line, note.column)
        try:
            # Of several solutions the first counts; only moves that may be a title are played too.
            if not solution or note.kind == "moves or title":
                played = read_solution(board, note.text, place, longest)
                solution = solution or played
        except LevelError:
            if note.kind != "moves or title":
                raise
            return solution, [note._replace(kind="text", text=note.text.strip())]
    return solution, []


def _title(before: Sequence[Sequence[Note]], after: Sequence[Sequence[Note]]) -> str:
    """The words nearest to the board, those before it first; text goes before a `;` line."""
    for nearest_first in chain((notes[::-1] for notes in reversed(before)), after):
        for kind in ("text", "remark"):
            for note in nearest_first:
                if note.kind == kind and any(letter.isalnum() for letter in note.text):
                    return note.text
    return ""
