"""A row of symbols with its place in the text, and run-length rows: `5#|#-@$.#|5#`.

It knows counts and groups, not what a symbol means.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from envs.sokoban.level import LARGEST, LevelError

_TOKEN = re.compile(r"([0-9]*)([^0-9]?)")
_RUN = re.compile(r"(.)\1+")

_TOO_LARGE = f"The largest board is {LARGEST} by {LARGEST}: cut it down"

_Cell = tuple[str, int]  # a symbol and its column in the text


class Row(NamedTuple):
    """A row's symbols and where they stood: its line, the column of its first symbol, and, where
    symbols and columns differ (a run-length row), the column of every symbol."""

    line: int
    symbols: str
    column: int = 1
    columns: tuple[int, ...] = ()

    def column_of(self, index: int) -> int:
        """The text column of the symbol at `index`; for one past the end, where it would stand."""
        if index < len(self.columns):
            return self.columns[index]
        return self.columns[-1] + 1 if self.columns else self.column + index


def expand(row: Row, *, where: str = "") -> list[Row]:
    """The plain rows that one run-length line holds: `5#|#-@$.#|5#`, nested groups as in `2(+*)`.

    A count stands before a symbol or a group; `|` ends a row and stands outside groups.

    Raises:
        LevelError: a row longer than the largest board (it is never built), a count of zero or of
            nothing, or a parenthesis without its partner.
    """

    def refuse(what: str, index: int, remedy: str) -> LevelError:
        line, column = row.line, row.column_of(index)
        return LevelError(what, where=where, line=line, column=column, remedy=remedy)

    rows: list[list[_Cell]] = [[]]
    open_groups: list[tuple[list[_Cell], int, int]] = []  # what came before, times, index of "("
    for token in _TOKEN.finditer(row.symbols):
        count, symbol, index = token[1], token[2], token.start()
        # Past LARGEST the exact number does not matter, and digits without end cost nothing.
        times = int((count.lstrip("0") or "0")[:4]) if count else 1
        if times == 0:
            raise refuse("a count of 0", index, "Leave out what comes no times")
        if count and symbol in ("", "|", ")"):
            raise refuse("a count of nothing", index, "Put a symbol or a group after the number")
        if symbol == "(":
            open_groups.append((rows[-1], times, index))
            rows[-1] = []
            continue
        if symbol == "|":
            if open_groups:
                raise refuse("a row ends inside a group", index, "Close the group before the |")
            if len(rows) > LARGEST:
                raise refuse(f"there are more than {LARGEST} rows", index, _TOO_LARGE)
            rows.append([])
            continue
        if symbol == ")":
            if not open_groups:
                raise refuse("this ) closes no group", index, "Remove it, or add its (")
            repeated = rows[-1]
            rows[-1], times, _ = open_groups.pop()
        else:
            repeated = [(symbol, row.column + token.end() - 1)] if symbol else []
        if len(rows[-1]) + len(repeated) * times > LARGEST:
            raise refuse(
                f"the row is longer than {LARGEST} cells",
                index,
                _TOO_LARGE,
            )
        rows[-1] += repeated * times
    if open_groups:
        raise refuse("this ( is never closed", open_groups[-1][2], "Add its )")
    if len(rows) > 1 and not rows[-1]:
        rows.pop()  # a | at the end of the line ends the row and begins none
    return [_row_of(cells, row) for cells in rows]


def _row_of(cells: list[_Cell], source: Row) -> Row:
    symbols = "".join([symbol for symbol, _ in cells])
    return Row(source.line, symbols, source.column, tuple([column for _, column in cells]))


def compress(line: str) -> str:
    """A row with every run of two or more equal symbols written as its length and the symbol."""
    return _RUN.sub(lambda run: f"{len(run[0])}{run[1]}", line)
