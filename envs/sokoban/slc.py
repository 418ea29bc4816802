"""Level collections in XML, `.slc`: `SokobanLevels/LevelCollection/Level/L`, read and written.

A level's `Id` is its title and its `Copyright` (or the collection's) its author; the format has no
place for comments and solutions. No document type and no entity is ever read, and nothing is
fetched: a file that declares one is refused before it can grow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from envs.sokoban.level import Level, LevelError
from envs.sokoban.rows import draw, read_board
from envs.sokoban.run_length import Row

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_slc(text: str, *, where: str = "") -> list[Level]:
    """Every level of an `.slc` text.

    Raises:
        LevelError: it is not well-formed, declares a document type, or holds no valid level.
    """
    reader = _Reader(where)
    parser = reader.parser
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        raise LevelError(
            f"this is not well-formed XML: {expat.ErrorString(error.code)}",
            where=where,
            line=error.lineno,
            column=error.offset + 1,
            remedy="Correct the XML, or paste the boards alone",
        ) from None
    if not reader.levels:
        remedy = "Put SokobanLevels, LevelCollection, Level and L elements in it, one L a row"
        raise LevelError("there is no level in this XML", where=where, remedy=remedy)
    return reader.levels


class _Reader:
    """Collects levels while the parser runs; a row is an `L` within a `Level`."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.levels: list[Level] = []
        self.author = self.title = self.level_author = ""
        self.rows: list[Row] | None = None  # a list within a Level
        self.row: list[str] | None = None  # pieces of text within an L
        self.place = (1, 1)
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters

    def refuse_doctype(self, *_: object) -> NoReturn:
        line, column = self.here()
        raise LevelError(
            "the file declares a document type (DOCTYPE), which could hold entities",
            where=self.where,
            line=line,
            column=column,
            remedy="Remove the DOCTYPE declaration",
        )

    def here(self) -> tuple[int, int]:
        return self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "LevelCollection":
            self.author = attributes.get("Copyright", "").strip()
        elif name == "Level":
            self.rows, self.place = [], self.here()
            self.title = attributes.get("Id", "").strip()
            self.level_author = attributes.get("Copyright", self.author).strip()
        elif name == "L" and self.rows is not None:
            line, column = self.here()
            self.row, self.place = [], (line, column + len("<L>"))

    def characters(self, text: str) -> None:
        if self.row is not None:
            self.row.append(text)

    def end(self, name: str) -> None:
        if name == "L" and self.row is not None and self.rows is not None:
            line, column = self.place
            self.rows.append(Row(line, "".join(self.row).rstrip(), column))
            self.row = None
        elif name == "Level" and self.rows is not None:
            if not any(row.symbols.strip() for row in self.rows):
                line, column = self.place
                what, remedy = "this Level has no rows", "Put an L element for each row in it"
                raise LevelError(what, where=self.where, line=line, column=column, remedy=remedy)
            board = read_board(self.rows, where=self.where)
            self.levels.append(Level(board, self.title, self.level_author))
            self.rows = None


def format_slc(levels: Sequence[Level], *, title: str = "", description: str = "") -> str:
    """An `.slc` document of `levels`, with their titles and authors. Nothing else fits."""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        "<SokobanLevels>",
        f"  <Title>{escape(_clean(title))}</Title>",
        f"  <Description>{escape(_clean(description))}</Description>",
        "  <LevelCollection>",
    ]
    for level in levels:
        size = f'Width="{level.board.columns}" Height="{level.board.rows}"'
        names = f"Id={quoteattr(_clean(level.title))}"
        if level.author:
            names += f" Copyright={quoteattr(_clean(level.author))}"
        lines.append(f"    <Level {names} {size}>")
        lines += [f"      <L>{row}</L>" for row in draw(level.board)]
        lines.append("    </Level>")
    return "\n".join([*lines, "  </LevelCollection>", "</SokobanLevels>", ""])


def _clean(text: str) -> str:
    """Without the characters that XML 1.0 cannot hold, even escaped."""
    return _NOT_XML.sub("", text)
