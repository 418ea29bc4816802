"""Which characters of a finished prompt came from where, and what a chat template did to its input.

The template is a black box: it may trim a content, drop an earlier thought or rewrite a message.
So contents are looked for in its output, in order; what is not found is reported as a `Change`
and never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
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
    befores: Sequence[str] = (),
) -> tuple[list[Span], list[Change]]:
    """Find the `messages` in `text[:end]`.

    Args:
        cleaning: pairs that were applied to `text` and so must be applied to the contents.
        first: the index in the conversation of `messages[0]`, for the `Change`s.
        befores: what the template writes right before each message's content, where that is known,
            so that it is not taken for a content.

    Returns:
        Spans that cover `text[:end]` without gap or overlap (what no message brought is
        "template"), and the changes, in order.
    """
    end = len(text) if end is None else end
    runs = list(_runs(messages, tuple(cleaning), befores))
    places = _whole(text, runs, end)
    spans: list[Span] = []
    changes: list[Change] = []
    at = 0  # the end of what the runs so far account for
    for index, run in enumerate(runs):
        low, begun = _after(text, at, run.before)
        high, ended = _before_next(text, low, runs[index + 1 :], places[index + 1 :], end)
        place = places[index]
        if place is None and run.role == "assistant":
            place = _find(text, run.text, low, high)
        if begun and ended:
            place = _part(run.text, text[low:high], low) or place
        found, lost = _lay(run.pieces, place) if place else _match(text, run.pieces, low, high)
        if run.picture and found and low < found[0].start:
            spans.append(Span(low, found[0].start, "state", run.picture))
        spans += found
        at = found[-1].end if found else low
        if lost:
            kind: Literal["trimmed", "changed", "dropped"]
            kind = "changed" if found else "dropped"
            if place and not lost.strip():
                kind = "trimmed"
            last = run.pieces[-1]
            changes.append(Change(first + run.message, kind, last.origin, last.turn, lost))
    return list(_fill_gaps(spans, end)), changes


def _before_next(
    text: str, low: int, runs: Sequence[_Run], places: Sequence[_Place | None], end: int
) -> tuple[int, bool]:
    """Where the template's text before the next run that was found begins, or else that run; `end`
    without one. And whether nothing but the run at hand can stand before it."""
    for later, (run, place) in enumerate(zip(runs, places, strict=True)):
        if place is not None:
            known = bool(run.before) and text.endswith(run.before, low, place.start)
            return place.start - (len(run.before) if known else 0), known and later == 0
    return end, False


def _after(text: str, at: int, before: str) -> tuple[int, bool]:
    """The place right after `before`, where `text` has it at `at`; and whether it has.

    At the very front it may have lost its own front, which ended a message that is cut off.
    """
    for cut in range(len(before) if at == 0 else min(1, len(before))):
        if text.startswith(before[cut:], at):
            return at + len(before) - cut, True
    return at, False


class _Run(NamedTuple):
    """Text of one message that stays together: all of it, or what stands between two pictures."""

    message: int
    role: str
    pieces: list[Piece]
    picture: int  # the turn of the picture right before it; 0: none
    before: str  # what the template writes right before it, where that is known

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


class _Place(NamedTuple):
    start: int
    text: str
    trimmed: int  # characters that went at the content's left end


def _runs(
    messages: Sequence[dict[str, Any]],
    cleaning: tuple[tuple[str, str], ...],
    befores: Sequence[str],
) -> Iterator[_Run]:
    before = ""
    for index, message in enumerate(messages):
        content = message["content"]
        before += befores[index] if befores else ""
        pieces: list[Piece] = []
        picture = 0
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, ImagePart):
                if pieces:
                    yield _Run(index, message["role"], pieces, picture, before)
                pieces, picture, before = [], part.turn, ""
            else:
                text = part["text"] if isinstance(part, dict) else part
                pieces += [
                    piece._replace(text=clean(piece.text, cleaning))
                    for piece in _pieces(text, message["role"])
                ]
        if pieces:
            yield _Run(index, message["role"], pieces, picture, before)
            before = ""  # an empty message's own goes to the next


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
        place = None
        start = low
        if run.role != "assistant":
            start, begun = _after(text, low, run.before)
            # Right where the template's own text ends, or else as far as its words carry: few
            # characters may stand anywhere.
            place = _find(text, run.text, start, start + len(run.text)) if begun else None
            if not (place and place.start == start):
                place = _find(text, run.text, start, end)
                if begun and place and len(place.text) < _SHORTEST_MATCH:
                    place = None
        low = place.start + len(place.text) if place else start
        places.append(place)
    return places


def _find(text: str, content: str, low: int, high: int) -> _Place | None:
    at = text.find(content, low, high)
    if at >= 0:
        return _Place(at, content, 0)
    stripped = content.strip()
    at = text.find(stripped, low, high) if stripped else -1
    return _Place(at, stripped, len(content) - len(content.lstrip())) if at >= 0 else None


def _part(content: str, written: str, at: int) -> _Place | None:
    """The place of a content of which the template wrote one stretch and nothing else."""
    trimmed = content.rfind(written) if written else -1
    return _Place(at, written, trimmed) if trimmed >= 0 else None


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
    spans: list[Span] = []
    lost, done = [], 0
    for there, here, size in _agreements(content, text[low:high]):
        lost.append(content[done:there])
        done = there + size
        for index in range(size):
            piece, at = owners[there + index], low + here + index
            if spans and spans[-1].end == at and spans[-1][2:] == (piece.origin, piece.turn):
                spans[-1] = spans[-1]._replace(end=at + 1)
            else:
                spans.append(Span(at, at + 1, piece.origin, piece.turn))
    return spans, "".join(lost) + content[done:]


def _agreements(content: str, text: str) -> Iterator[tuple[int, int, int]]:
    """Stretches that both hold, in order: where in each, and how long.

    A short one counts only where it is all that stands between two longer ones, but for white
    space: a thought of one letter that the template put on a line of its own.
    """
    matcher = SequenceMatcher(None, content, text, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size >= _SHORTEST_MATCH]
    for block, after in zip_longest(blocks, blocks[1:]):
        yield block.a, block.b, block.size
        if after is None:
            return
        there, here = block.a + block.size, block.b + block.size
        between, written = content[there : after.a], text[here : after.b]
        short = between.strip()
        if short and short == written.strip():
            yield there + between.index(short), here + written.index(short), len(short)


def _fill_gaps(spans: list[Span], end: int) -> Iterator[Span]:
    at = 0
    for span in spans:
        if span.start > at:
            yield Span(at, span.start, "template")
        yield span
        at = span.end
    if at < end:
        yield Span(at, end, "template")
