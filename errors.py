"""The one kind of error that a person may cause: what was wrong, where, and what to do.

Every package raises a subclass of `UserError` for bad input; the page and the command line print
its text and never a traceback. Anything else that escapes is a bug of ours.
"""

from __future__ import annotations


class UserError(ValueError):
    """Something a person gave us cannot be used.

    Args:
        what: what was wrong, with the offending value as it was seen.
        where: the file, field or place it was found in; may be empty.
        remedy: what to do about it; may be empty.
        line: one-based line in the text the person gave, where that is known.
        column: one-based column in that line, where that is known.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        remedy: str = "",
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.what, self.where, self.remedy = what, where, remedy
        self.line, self.column = line, column
        super().__init__(str(self))

    def __str__(self) -> str:
        place = [self.where] if self.where else []
        if self.line is not None:
            place.append(f"line {self.line}")
        if self.column is not None:
            place.append(f"column {self.column}")
        head = f"{', '.join(place)}: {self.what}" if place else self.what
        return f"{_sentence(head)} {_sentence(self.remedy)}".strip()


def _sentence(text: str) -> str:
    return text if not text or text[-1] in ".!?" else text + "."
