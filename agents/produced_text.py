"""Token ids back to text, in the place where they stand: right after a prompt's own tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Some tokenizers write a leading space or not by what stands before; a few tokens settle that.
_CONTEXT = 4


class ProducedText:
    """Decodes what follows `prompt_ids`, special tokens skipped."""

    def __init__(self, tokenizer: Any, prompt_ids: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._context = list(prompt_ids[-_CONTEXT:])
        self._before = self._decode(self._context)

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of `token_ids`; an unfinished character shows as U+FFFD at the end."""
        text = self._decode([*self._context, *token_ids])
        if text.startswith(self._before):
            return text[len(self._before) :]
        return self._decode(list(token_ids))

    def _decode(self, token_ids: list[int]) -> str:
        return str(
            self._tokenizer.decode(
                token_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        )


def finished_characters(text: str) -> str:
    """`text` without a character at its end of which some bytes are still to come."""
    return text.rstrip("\ufffd")
