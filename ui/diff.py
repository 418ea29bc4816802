"""Two prompts as one text: what they share, what is new, and what is gone, by origin.

Pure functions on `Prompt`; nothing here knows Gradio.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from play.storage import shared
from prompting import Prompt

# Longer pairs of changed stretches are shown whole: comparing them word by word would take long,
# and would only match what is alike by chance.
_MOST_WORDS = 1500


def diff_parts(before: Prompt, now: Prompt) -> Iterator[tuple[str, str, int, str]]:
    """(text, origin, turn, mark) in order; mark is "" for shared, "added" or "gone".

    Without the "gone" parts the texts join to `now.text`, without the "added" ones to
    `before.text`.
    """
    start = shared(before.text, now.text)
    yield from _cut(now, 0, start, "")
    yield from _compare(before, now, (start, len(before.text)), (start, len(now.text)), _lines)


def first_break(before: Prompt, now: Prompt) -> str:
    """Where `now` stops being an extension of `before`, and why, in a sentence."""
    at = shared(before.text, now.text)
    tokens = shared(before.token_ids, now.token_ids)
    if at == len(before.text):
        return f"It extends the other prompt: its first {tokens:,} tokens are the same."
    origin, turn = _origin(now, min(at, len(now.text) - 1))
    name = origin.replace("_", " ")
    whose = f"{name} of turn {turn}" if turn else name
    place = f"The first break is at character {at + 1:,} (after {tokens:,} tokens), in the {whose}"
    for change in now.changes:
        if change not in before.changes and change.turn == turn:
            return f"{place}: the chat template left out {change.lost[:60]!r}."
    if _origin(before, at)[0] == "forced_start":
        return f"{place}: the history does not repeat what the forced start had begun."
    return f"{place}."


def _compare(
    before: Prompt, now: Prompt, old: tuple[int, int], new: tuple[int, int], split: Any
) -> Iterator[tuple[str, str, int, str]]:
    a, b = split(before.text[slice(*old)]), split(now.text[slice(*new)])
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    at_old, at_new = _bounds(old[0], a), _bounds(new[0], b)
    for kind, i, j, k, m in matcher.get_opcodes():
        was, now_is = (at_old[i], at_old[j]), (at_new[k], at_new[m])
        if kind == "equal":
            yield from _cut(now, *now_is, "")
        elif kind == "replace" and split is _lines and j - i == m - k and _short(now, now_is):
            # As many lines on both sides: the same lines with other words in them.
            yield from _compare(before, now, was, now_is, _words)
        else:
            yield from _cut(before, *was, "gone")
            yield from _cut(now, *now_is, "added")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|\s+|[^\w\s]", text)


def _short(prompt: Prompt, place: tuple[int, int]) -> bool:
    return len(_words(prompt.text[slice(*place)])) <= _MOST_WORDS


def _bounds(start: int, pieces: list[str]) -> list[int]:
    bounds = [start]
    for piece in pieces:
        bounds.append(bounds[-1] + len(piece))
    return bounds


def _cut(prompt: Prompt, start: int, end: int, mark: str) -> Iterator[tuple[str, str, int, str]]:
    """The stretch from `start` to `end`, cut where the origin changes."""
    first = bisect_right([span.end for span in prompt.spans], start)
    for span in prompt.spans[first:]:
        if span.start >= end:
            return
        text = prompt.text[max(start, span.start) : min(end, span.end)]
        if text:
            yield text, span.origin, span.turn, mark


def _origin(prompt: Prompt, at: int) -> tuple[str, int]:
    for span in prompt.spans:
        if span.start <= at < span.end:
            return span.origin, span.turn
    return "template", 0
