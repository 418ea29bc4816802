"""The answer limited to the legal actions: after each token, the tokens that may come next.

Without thinking, exactly one legal answer is spelled. With thinking the thought is free until it
closes itself or its budget is used up; then it is closed, and a legal answer follows. The mask is
put on by transformers' own `PrefixConstrainedLogitsProcessor`; this module knows tokenizers and no
model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from agents.answers import NoLegalAnswer, answer_endings
from agents.produced_text import ProducedText
from configs.schema import PromptConfig

# Tokens as a list, or as an array where they are most of the vocabulary.
Allowed: TypeAlias = "list[int] | np.ndarray[Any, Any]"

# For each legal action the tokens that make a response its answer.
Paths: TypeAlias = dict[str, tuple[int, ...]]


class AnswerGrammar:
    """Which tokens may follow, for one request.

    Args:
        tokenizer: a transformers tokenizer.
        prompt_ids: the prompt's tokens, forced start included.
        vocabulary: how many tokens the model knows.
        max_new_tokens: the thought gets what a legal answer leaves of it. An answer is always
            finished, even where it alone takes more.

    Raises:
        NoLegalAnswer: the config allows none, or this tokenizer cannot spell one.
    """

    def __init__(
        self,
        tokenizer: Any,
        prompt_config: PromptConfig,
        prompt_ids: Sequence[int],
        *,
        vocabulary: int,
        max_new_tokens: int,
    ) -> None:
        self._tokenizer, self._config = tokenizer, prompt_config
        self._produced = ProducedText(tokenizer, prompt_ids)
        self._opening = self._spell([], _opening(prompt_config))
        paths = self.answers(self._opening)
        self._budget = max_new_tokens - max(len(path) for path in paths.values())
        self._free: Allowed = np.setdiff1d(np.arange(vocabulary), list(_control_ids(tokenizer)))
        self._paths: list[tuple[int, ...]] | None = None
        self._answer_at = 0

    def allowed(self, produced: Sequence[int]) -> Allowed:
        """The tokens that may follow the `produced` ones; none where the answer is complete.

        To be asked after every token, in order.
        """
        if len(produced) < len(self._opening):
            return [self._opening[len(produced)]]
        if self._paths is None:
            if self.thinking(produced):
                return self._free
            self._paths = list(self.answers(produced).values())
            self._answer_at = len(produced)
        spelled = tuple(produced[self._answer_at :])
        length = len(spelled)
        open_paths = (p for p in self._paths if p[:length] == spelled and len(p) > length)
        return sorted({path[length] for path in open_paths})

    def thinking(self, produced: Sequence[int]) -> bool:
        """The thought is open, and its budget lets it go on."""
        return len(produced) < self._budget and self.thought_is_open(produced)

    def thought_is_open(self, produced: Sequence[int]) -> bool:
        """There is a thought, and it has not closed itself."""
        raw = self._config.response_start + self._produced.decode(produced)
        return self._config.enable_think and "</think>" not in raw

    def answers(self, produced: Sequence[int]) -> Paths:
        """For each legal action, the tokens that complete the `produced` ones to its answer."""
        text = self._produced.decode(produced)
        endings = answer_endings(text, self._config)
        return {name: self._spell(produced, ending) for name, ending in endings.items()}

    def _spell(self, produced: Sequence[int], ending: str) -> tuple[int, ...]:
        """Tokens that add exactly `ending`: the tokenizer's own, else one character at a time."""
        if not ending:
            return ()
        wanted = self._produced.decode(produced) + ending
        for pieces in ([ending], list(ending)):
            tokens = tuple(token for piece in pieces for token in self._encode(piece))
            if self._produced.decode([*produced, *tokens]) == wanted:
                return tokens
        raise NoLegalAnswer(
            f"this model's tokenizer cannot write {ending!r} as it is",
            where="action_lookup",
            remedy="Choose other action names, or let the model answer freely",
        )

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])


def prefix_allowed_tokens(
    grammar: AnswerGrammar, prompt_length: int
) -> Callable[[int, Any], Allowed]:
    """`grammar` as the `prefix_allowed_tokens_fn` that transformers' `generate` takes."""
    return lambda _, sequence: grammar.allowed(sequence[prompt_length:].tolist())


def _opening(config: PromptConfig) -> str:
    """What a response with a thought still needs before the thought."""
    start = config.response_start
    if not config.enable_think or start.startswith("<think>"):
        return ""
    return "<think>"[len(start) :] if "<think>".startswith(start) else ""


def _control_ids(tokenizer: Any) -> set[int]:
    added = getattr(tokenizer, "added_tokens_decoder", {})
    return set(tokenizer.all_special_ids) | {i for i, token in added.items() if token.special}
