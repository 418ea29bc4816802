"""Token ids and offsets of a finished prompt, made anew only for the stretches that are new.

A tokenizer first cuts a text at its added tokens (`<|im_start|>` and the like) and then works on
each stretch by itself. So a stretch that stood in an earlier prompt, with the added token before
it, has the ids that it had there: they are kept, and the result is that of a full tokenisation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary, ref

Ids = tuple[int, ...]
Offsets = tuple[tuple[int, int], ...]

_KEPT_STRETCHES = 8192


def tokenize(tokenizer: Any, text: str) -> tuple[Ids, Offsets]:
    """The ids of `text`, none added, and for each the (start, end) of its characters.

    Offsets are empty where the tokenizer cannot tell them.
    """
    return _of(tokenizer).whole(text)


def control_tokens(tokenizer: Any, token_ids: Ids) -> tuple[int, ...]:
    """The indices of the ids that are special or added tokens to this tokenizer."""
    known = _of(tokenizer).control
    return tuple(index for index, token in enumerate(token_ids) if token in known)


class _Stretches:
    """One tokenizer, where it may be cut, and what it made of the stretches met so far."""

    def __init__(self, tokenizer: Any) -> None:
        self.size = len(tokenizer)
        added = getattr(tokenizer, "added_tokens_decoder", {})
        self.control = {*getattr(tokenizer, "all_special_ids", ()), *added}
        self._tokenizer = ref(tokenizer)  # it keeps this object alive, and not the other way round
        self._fast = bool(getattr(tokenizer, "is_fast", False))
        self._cut = _cutter(added) if self._fast else None
        self._kept = lru_cache(maxsize=_KEPT_STRETCHES)(self._encode)

    def whole(self, text: str) -> tuple[Ids, Offsets]:
        if self._cut is None:
            return self._encode(text)
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        at = 0
        for stretch in self._stretches(text, self._cut):
            some, places = self._kept(stretch)
            ids += some
            offsets += [(at + start, at + end) for start, end in places]
            at += len(stretch)
        return tuple(ids), tuple(offsets)

    def _stretches(self, text: str, cut: re.Pattern[str]) -> Iterator[str]:
        at = 0
        for match in cut.finditer(text):
            if match.start() > at:
                yield text[at : match.start()]
            at = match.start()
        if at < len(text):
            yield text[at:]

    def _encode(self, text: str) -> tuple[Ids, Offsets]:
        tokenizer = self._tokenizer()
        assert tokenizer is not None, "whoever asks holds it"
        encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=self._fast)
        offsets = encoded["offset_mapping"] if self._fast else ()
        return tuple(encoded["input_ids"]), tuple((start, end) for start, end in offsets)


_known: WeakKeyDictionary[Any, _Stretches] = WeakKeyDictionary()


def _of(tokenizer: Any) -> _Stretches:
    stretches = _known.get(tokenizer)
    if stretches is None or stretches.size != len(tokenizer):  # tokens were added since
        stretches = _known[tokenizer] = _Stretches(tokenizer)
    return stretches


def _cutter(added: dict[int, Any]) -> re.Pattern[str] | None:
    """Finds the added tokens as the tokenizer does: leftmost, and of those the longest.

    None where one of them does more than match (it takes white space along, or is looked for in
    the normalised text), since a cut there would not be exact.
    """
    tokens = list(added.values())
    plain = all(
        not (token.lstrip or token.rstrip or token.single_word or (token.normalized))
        for token in tokens
    )
    if not tokens or not plain:
        return None
    contents = sorted({token.content for token in tokens}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, contents)))
