"""A board as text, by a vocabulary of one symbol a cell, and back again.

Pictures are `drawing.py`; level files are `formats.py`.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass

from envs.sokoban.board import Board
from envs.sokoban.level import LevelError
from errors import UserError

CELL_NAMES = (
    "wall", "empty", "target", "box on target", "box", "player", "player on target"
)  # fmt: skip
_CELL_OF_MEANING = {name: cell for cell, name in enumerate(CELL_NAMES)} | {"floor": 1}


class VocabularyError(UserError):
    """A vocabulary that does not give each of the seven cells a symbol of its own."""


@dataclass(frozen=True)
class Vocabulary:
    """The symbol of each cell, in the order of the cell numbers 0 to 6; the default is the guide's.

    Raises:
        VocabularyError: not seven symbols, one that is not a single character, or two equal ones.
    """

    symbols: str = "#_O√XPS"

    def __post_init__(self) -> None:
        if len(self.symbols) != len(CELL_NAMES):
            raise VocabularyError(
                f"{len(self.symbols)} symbols {self.symbols!r} for {len(CELL_NAMES)} cells",
                where="vocabulary",
                remedy=f"Give one character each for {', '.join(CELL_NAMES)}",
            )
        for cell, symbol in enumerate(self.symbols):
            first = self.symbols.index(symbol)
            if symbol == "\n" or first != cell:
                raise VocabularyError(
                    f"{symbol!r} stands for {CELL_NAMES[cell]!r}"
                    + (f" and for {CELL_NAMES[first]!r}" if first != cell else ""),
                    where="vocabulary",
                    remedy="Give every cell a visible symbol of its own",
                )

    @classmethod
    def from_config(
        cls,
        grid_vocab: Mapping[str, str] | None,
        grid_lookup: Mapping[int, str] | None = None,
    ) -> Vocabulary:
        """The vocabulary that a prompt config describes.

        `grid_lookup` (cell number: symbol) decides where it is given; else the meanings of
        `grid_vocab` (symbol: meaning) do, if they are the guide's; with neither, the guide's own.

        Raises:
            VocabularyError: a cell is left without a symbol.
        """
        if grid_lookup:
            found = dict(grid_lookup)
            where = "grid_lookup"
        elif grid_vocab:
            found = {}
            where = "grid_vocab"
            for symbol, meaning in grid_vocab.items():
                cell = _CELL_OF_MEANING.get(meaning.strip().lower())
                if cell in found:
                    raise VocabularyError(
                        f"{found[cell]!r} and {symbol!r} both mean {meaning!r}",
                        where=where,
                        remedy="Keep one symbol for each meaning",
                    )
                if cell is not None:
                    found[cell] = symbol
        else:
            return cls()
        missing = [name for cell, name in enumerate(CELL_NAMES) if cell not in found]
        if missing:
            raise VocabularyError(
                f"no symbol means {', '.join(missing)}",
                where=where,
                remedy="Use these words as meanings, or say it by number in grid_lookup "
                f"({', '.join(f'{cell}: {name}' for cell, name in enumerate(CELL_NAMES))})",
            )
        return cls("".join(found[cell] for cell in range(len(CELL_NAMES))))

    def text(self, board: Board) -> str:
        """The board's rows joined by newlines, nothing between the cells."""
        return codecs.charmap_decode(board.cells, "strict", self.symbols + "\n")[0][:-1]

    def read(self, text: str) -> Board:
        """The board that `text` shows: the inverse of `text`.

        Raises:
            LevelError: a symbol is not in the vocabulary, or the rows do not make a board.
        """
        rows = []
        for number, line in enumerate(text.split("\n"), start=1):
            for column, symbol in enumerate(line, start=1):
                if symbol not in self.symbols:
                    raise LevelError(
                        f"{symbol!r} is not a symbol of this vocabulary",
                        line=number,
                        column=column,
                        remedy=f"The symbols are {' '.join(self.symbols)}",
                    )
            rows.append([self.symbols.index(symbol) for symbol in line])
        try:
            return Board.from_rows(rows)
        except ValueError as error:
            raise LevelError(str(error), remedy="Correct the rows") from None
