"""Rows of symbols to a valid board and back: XSB, run-length rows, and the guide's text vocabulary.

It knows symbols, walls and the place in the text that each row came from, so that an error points
there. It deliberately knows nothing of titles, comments, solutions, XML or whole files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
from envs.sokoban.level import LARGEST, LevelError, check_board
from envs.sokoban.run_length import Row, expand

# Which symbol stands for which cell. The first symbol of a cell is the one that we write.
XSB = {
    "#": WALL,
    " ": FLOOR,
    "-": FLOOR,
    "_": FLOOR,
    ".": TARGET,
    "*": BOX_ON_TARGET,
    "B": BOX_ON_TARGET,
    "$": BOX,
    "b": BOX,
    "@": PLAYER,
    "p": PLAYER,
    "+": PLAYER_ON_TARGET,
    "P": PLAYER_ON_TARGET,
}
GUIDE = {
    "#": WALL,
    "_": FLOOR,
    " ": FLOOR,
    "O": TARGET,
    "√": BOX_ON_TARGET,
    "X": BOX,
    "P": PLAYER,
    "S": PLAYER_ON_TARGET,
}
SYMBOLS = "".join(dict.fromkeys([*XSB, *GUIDE]))  # every symbol of either vocabulary, once

XSB_REMEDY = "Use # wall, @ player, + player on target, $ box, * box on target, . target, - floor"
GUIDE_REMEDY = (
    "A board with X, O, S or √ is read as # wall, _ floor, O target, √ box on target, X box, "
    "P player, S player on target"
)
NO_PLAYER_REMEDY = (
    "Put one @ (or + on a target) on the board; if an empty row cut it in two, write - in that row"
)

_ONLY_GUIDE = re.compile("[√XOS]")
_RUN_LENGTH = re.compile(r"[0-9()|]")


class _Vocabulary:
    """How to read text of one vocabulary: what it cannot hold, and its cells by symbol."""

    def __init__(self, cells: dict[str, int], remedy: str) -> None:
        self.unknown = re.compile(f"[^{re.escape(''.join(cells))}\n]")
        self.cells = {ord(symbol): chr(cell) for symbol, cell in cells.items()}
        self.remedy = remedy


_READ_XSB, _READ_GUIDE = _Vocabulary(XSB, XSB_REMEDY), _Vocabulary(GUIDE, GUIDE_REMEDY)
_WRITTEN = {cell: symbol for symbol, cell in reversed(XSB.items())}
_FLOOR, _PLAYERS = chr(FLOOR), re.compile(f"[{chr(PLAYER)}{chr(PLAYER_ON_TARGET)}]")
_WALL_CELL, _FLOOR_CELL, _OUTSIDE = bytes([WALL]), bytes([FLOOR]), bytes([EDGE])
_INSIDE = re.compile(b"[^%c%c]" % (WALL, EDGE))


def read_board(rows: Sequence[Row], *, where: str = "") -> Board:
    """The valid board that `rows` draw.

    Shorter rows are padded with floor; rows and columns at the edge that hold nothing but floor are
    dropped, so a board may be indented. Floor outside the walls becomes wall, so that the board is
    a full rectangle in every rendering; floor that walls enclose stays, and so do boxes and targets
    that a designer drew outside for decoration.

    Raises:
        LevelError: an unknown symbol, not exactly one player, or not valid by `check_board`.
    """
    text = "\n".join(row.symbols for row in rows)
    if _RUN_LENGTH.search(text):
        rows = [plain for row in rows for plain in expand(row, where=where)]
        text = "\n".join(row.symbols for row in rows)
    vocabulary = _READ_GUIDE if _ONLY_GUIDE.search(text) else _READ_XSB
    _refuse_unknown(text, rows, vocabulary, where)
    cells = text.translate(vocabulary.cells)
    lines = cells.split("\n")
    if len(_PLAYERS.findall(cells)) != 1:
        raise _players(lines, rows, where)
    top, left, lines = _trimmed(lines, rows, where)
    board = Board.from_rows([line.encode("latin-1") for line in lines])
    try:
        check_board(board, where=where)
    except LevelError as error:
        row = rows[top + (error.line or 1) - 1]
        column = row.column_of(left + (error.column or 1) - 1)
        raise LevelError(
            error.what, where=where, remedy=error.remedy, line=row.line, column=column
        ) from None
    return _closed(board)


def _refuse_unknown(text: str, rows: Sequence[Row], vocabulary: _Vocabulary, where: str) -> None:
    found = vocabulary.unknown.search(text)
    if not found:
        return
    row = rows[text.count("\n", 0, found.start())]
    column = row.column_of(found.start() - text.rfind("\n", 0, found.start()) - 1)
    if found[0] == "\t":
        what, remedy = "there is a tab in the board", "Write floor as spaces, - or _"
    else:
        what = f"{found[0]!r} is not a symbol of a board"
        remedy = vocabulary.remedy
    raise LevelError(what, where=where, line=row.line, column=column, remedy=remedy)


def _players(lines: Sequence[str], rows: Sequence[Row], where: str) -> LevelError:
    """What to say about a board with no player or several."""
    players = [
        (row, found.start())
        for row, line in zip(rows, lines, strict=True)
        for found in _PLAYERS.finditer(line)
    ]
    if not players:
        line, remedy = rows[0].line, NO_PLAYER_REMEDY
        return LevelError("there is no player", where=where, line=line, remedy=remedy)
    row, index = players[1]
    return LevelError(
        f"there are {len(players)} players; this is the second",
        where=where,
        line=row.line,
        column=row.column_of(index),
        remedy="Keep one; if these are several levels, put an empty line between them",
    )


def _trimmed(lines: list[str], rows: Sequence[Row], where: str) -> tuple[int, int, list[str]]:
    """Top row and left column of what is not merely floor at the edge, and its rows, padded."""
    drawn = [index for index, line in enumerate(lines) if line.strip(_FLOOR)]
    top, bottom = drawn[0], drawn[-1] + 1
    kept = [line.rstrip(_FLOOR) for line in lines[top:bottom]]
    left = min([len(line) - len(line.lstrip(_FLOOR)) for line in kept if line])
    columns = max(map(len, kept)) - left
    if len(kept) > LARGEST or columns > LARGEST:  # before padding, which could need much memory
        raise LevelError(
            f"the board has {len(kept)} rows and {columns} columns",
            where=where,
            line=rows[top].line,
            remedy=f"The largest board is {LARGEST} by {LARGEST}: cut it down",
        )
    return top, left, [line[left:].ljust(columns, _FLOOR) for line in kept]


def _closed(board: Board) -> Board:
    """The board with wall in place of the floor outside.

    Outside is what connects to the edge through cells that are not wall. The floor at the ends of a
    row is outside by itself; marking it first leaves only cells within the text to be flooded, so
    the work is bounded by the text's length and not by the rectangle around it.
    """
    cells, columns, stride = board.cells, board.columns, board.stride
    border = cells[:columns] + cells[-stride:-1] + cells[::stride] + cells[columns - 1 :: stride]
    if not border.strip(_WALL_CELL):
        return board
    marked = [_OUTSIDE * stride]  # a frame, so that every cell has four neighbours
    for start in range(0, len(cells), stride):
        row = cells[start : start + columns].rstrip(_FLOOR_CELL).ljust(stride, _OUTSIDE)
        marked.append(row.lstrip(_FLOOR_CELL).rjust(stride, _OUTSIDE))
    marked.append(_OUTSIDE * stride)
    flooded = _flooded(bytearray(b"".join(marked)), stride)
    closed = flooded[stride:-stride].replace(_OUTSIDE, _WALL_CELL)
    closed[columns::stride] = _OUTSIDE * board.rows
    return board._replace(cells=bytes(closed))


def _flooded(cells: bytearray, stride: int) -> bytearray:
    """`cells`, in a frame of outside, with every floor that connects to the outside marked so."""
    around = (-stride, stride, -1, 1)
    todo = [
        at
        for at in (found.start() for found in _INSIDE.finditer(cells))
        if any(cells[at + near] == EDGE for near in around)
    ]
    seen = set(todo)
    while todo:
        at = todo.pop()
        if cells[at] == FLOOR:
            cells[at] = EDGE
        for near in around:
            beside = at + near
            if beside not in seen and cells[beside] not in (WALL, EDGE):
                seen.add(beside)
                todo.append(beside)
    return cells


def draw(board: Board) -> list[str]:
    """The board's rows in XSB. Floor is a space; only where a row is all floor it is a dash."""
    lines = ["".join(_WRITTEN[cell] for cell in row) for row in board.grid()]
    return [line if line.strip() else "-" * board.columns for line in lines]
