"""Which characters of a finished prompt came from where, and what a chat template did to its input.

The template is a black box: it may trim a content, drop an earlier thought or rewrite a message.
So contents are looked for in its output, in order; what is not found is reported as a `Change`
and never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from prompting.formatter import Content, ImagePart, Origin, Piece

# Shorter agreements between a rewritten content and the prompt are taken for chance.
_SHORTEST_MATCH = 4

_ORIGIN_OF_ROLE: dict[str, Origin] = {"system": "system", "assistant": "response"}


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of a prompt, and the piece that they came from."""

    start: int
    end: int
    origin: Origin
    turn: int = 0


class Change(NamedTuple):
    """A message that the template did not take over as it was.

    `kind` is "trimmed" (white space at its ends went), "changed" (part of it is there) or "dropped"
    (nothing of it is); `lost` is the text of the message that the prompt does not hold.
    """

    message: int
    kind: Literal["trimmed", "changed", "dropped"]
    origin: Origin
    turn: int
    lost: str


def trace(
    text: str,
    messages: Sequence[dict[str, Any]],
    cleaning: Iterable[tuple[str, str]] = (),
    *,
    end: int | None = None,
    first: int = 0,
) -> tuple[list[Span], list[Change]]:
    """Find the `messages` in `text[:end]`.

    Args:
        cleaning: pairs that were applied to `text` and so must be applied to the contents.
        first: the index in the conversation of `messages[0]`, for the `Change`s.

    Returns:
        Spans that cover `text[:end]` without gap or overlap (what no message brought is
        "template"), and the changes, in order.
    """
    end = len(text) if end is None else end
    runs = list(_runs(messages, tuple(cleaning)))
    places = _whole(text, runs, end)
    spans: list[Span] = []
    changes: list[Change] = []
    for index, run in enumerate(runs):
        low = spans[-1].end if spans else 0
        high = next((p.start for p in places[index + 1 :] if p is not None), end)
        place = places[index] or _find(text, run.text, low, high)
        found, lost = _lay(run.pieces, place) if place else _match(text, run.pieces, low, high)
        if run.picture and found and low < found[0].start:
            spans.append(Span(low, found[0].start, "state", run.picture))
        spans += found
        if lost:
            kind: Literal["trimmed", "changed", "dropped"]
            kind = "trimmed" if place else "changed" if found else "dropped"
            last = run.pieces[-1]
            changes.append(Change(first + run.message, kind, last.origin, last.turn, lost))
    return list(_fill_gaps(spans, end)), changes


class _Run(NamedTuple):
    """Text of one message that stays together: all of it, or what stands between two pictures."""

    message: int
    role: str
    pieces: list[Piece]
    picture: int  # the turn of the picture right before it; 0: none

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


class _Place(NamedTuple):
    start: int
    text: str
    trimmed: int  # characters that went at the content's left end


def _runs(
    messages: Sequence[dict[str, Any]], cleaning: tuple[tuple[str, str], ...]
) -> Iterator[_Run]:
    for index, message in enumerate(messages):
        content = message["content"]
        pieces: list[Piece] = []
        picture = 0
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, ImagePart):
                if pieces:
                    yield _Run(index, message["role"], pieces, picture)
                pieces, picture = [], part.turn
            else:
                text = part["text"] if isinstance(part, dict) else part
                pieces += [
                    piece._replace(text=clean(piece.text, cleaning))
                    for piece in _pieces(text, message["role"])
                ]
        if pieces:
            yield _Run(index, message["role"], pieces, picture)


def _pieces(text: str, role: str) -> Sequence[Piece]:
    if isinstance(text, Content):
        return text.pieces
    return [Piece(text, _ORIGIN_OF_ROLE.get(role, "rules"))]


def clean(text: str, cleaning: Iterable[tuple[str, str]]) -> str:
    """Apply the guide's cleaning: each text is replaced everywhere, in the order given."""
    for old, new in cleaning:
        text = text.replace(old, new)
    return text


def _whole(text: str, runs: Sequence[_Run], end: int) -> list[_Place | None]:
    """The places of the long, telling contents: everything but the responses.

    They are found first because a response is short and repeats: looked for from the left, one that
    the template dropped would be found in a later turn.
    """
    places: list[_Place | None] = []
    low = 0
    for run in runs:
        place = _find(text, run.text, low, end) if run.role != "assistant" else None
        if place is not None:
            low = place.start + len(place.text)
        places.append(place)
    return places


def _find(text: str, content: str, low: int, high: int) -> _Place | None:
    at = text.find(content, low, high)
    if at >= 0:
        return _Place(at, content, 0)
    stripped = content.strip()
    at = text.find(stripped, low, high) if stripped else -1
    return _Place(at, stripped, len(content) - len(content.lstrip())) if at >= 0 else None


def _lay(pieces: Sequence[Piece], place: _Place) -> tuple[list[Span], str]:
    """The pieces one after another from `place` on; and what was trimmed off them."""
    content = "".join(piece.text for piece in pieces)
    low, high = place.start, place.start + len(place.text)
    at = place.start - place.trimmed
    spans = []
    for piece in pieces:
        start, stop = max(at, low), min(at + len(piece.text), high)
        if start < stop:
            spans.append(Span(start, stop, piece.origin, piece.turn))
        at += len(piece.text)
    return spans, content[: place.trimmed] + content[place.trimmed + len(place.text) :]


def _match(text: str, pieces: Sequence[Piece], low: int, high: int) -> tuple[list[Span], str]:
    """Where a rewritten content agrees with `text[low:high]`, and what of it is not there."""
    content = "".join(piece.text for piece in pieces)
    owners = [piece for piece in pieces for _ in piece.text]
    matcher = SequenceMatcher(None, content, text[low:high], autojunk=False)
    spans: list[Span] = []
    lost, done = [], 0
    for there, here, size in matcher.get_matching_blocks():
        if size < _SHORTEST_MATCH:
            continue
        lost.append(content[done:there])
        done = there + size
        for index in range(size):
            piece, at = owners[there + index], low + here + index
            if spans and spans[-1].end == at and spans[-1][2:] == (piece.origin, piece.turn):
                spans[-1] = spans[-1]._replace(end=at + 1)
            else:
                spans.append(Span(at, at + 1, piece.origin, piece.turn))
    return spans, "".join(lost) + content[done:]


def _fill_gaps(spans: list[Span], end: int) -> Iterator[Span]:
    at = 0
    for span in spans:
        if span.start > at:
            yield Span(at, span.start, "template")
        yield span
        at = span.end
    if at < end:
        yield Span(at, end, "template")
