"""What every agent shares: the `Agent` protocol and the `Reply` that it gives, bit by bit.

A reply is data, an error in it included: an agent never raises because of what a model, a person
or a setting did. How a response is read is `prompting`'s, and what it does is the environment's.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from prompting import Prompt

FinishReason = Literal["closing tag", "end of text", "length", "time", "stopped", "error"]

# free: sampled as the model pleases; grammar: the thought is free, the answer a legal action;
# choice: no text is generated, the legal actions are scored.
Mode = Literal["free", "grammar", "choice"]


class Alternative(NamedTuple):
    """A token that could have come first, and its probability before any sampling setting.

    A server tells a token by its text; `token_id` is -1 where that does not say which one it is.
    """

    token_id: int
    text: str
    probability: float


@dataclass(frozen=True)
class Reply:
    """A response so far; the last one of a request has its `finish_reason` set.

    Attributes:
        text: what was produced after the forced start, without special tokens. While a reply
            streams, each text begins with the one before.
        token_ids: the produced ids as they came, special ones included. Empty where a server does
            not tell them.
        finish_reason: None while more may come.
        error: with the reason "error", what went wrong and what to do about it.
        prompt_tokens: how many tokens the prompt has.
        reused_tokens: how many of them were not computed again, thanks to an earlier request.
        seconds: since the request was made, the wait for other requests included.
        seconds_to_first: the same, when the first token came; None before that.
        place: how many requests are served before this one can start; 0 once it is being served.
        action_log_probabilities: for each legal action the natural logarithm of the probability
            that the model writes it, to its closing tag, at the forced start (or, where there was
            a thought, right after it). Empty where they are unknown.
        alternatives: the likeliest first tokens after the forced start.
        forced_tokens: how many of the `token_ids` the model was not asked for, since nothing else
            was allowed there.
    """

    text: str = ""
    token_ids: tuple[int, ...] = ()
    finish_reason: FinishReason | None = None
    error: str | None = None
    prompt_tokens: int = 0
    reused_tokens: int = 0
    seconds: float = 0.0
    seconds_to_first: float | None = None
    place: int = 0
    action_log_probabilities: tuple[tuple[str, float], ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    forced_tokens: int = 0

    @property
    def action_probabilities(self) -> dict[str, float]:
        """The legal actions' probabilities among themselves (they sum to 1), by action name."""
        if not self.action_log_probabilities:
            return {}
        highest = max(value for _, value in self.action_log_probabilities)
        weights = {name: math.exp(value - highest) for name, value in self.action_log_probabilities}
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items()}

    @property
    def legal_probability(self) -> float | None:
        """The probability that the model, left free, writes any legal action here."""
        if not self.action_log_probabilities:
            return None
        return sum(math.exp(value) for _, value in self.action_log_probabilities)

    @property
    def tokens_per_second(self) -> float | None:
        """How fast tokens came after the first; None where the model wrote fewer than two."""
        written = len(self.token_ids) - self.forced_tokens
        if self.seconds_to_first is None or written < 2:
            return None
        passed = self.seconds - self.seconds_to_first
        return (written - 1) / passed if passed > 0 else None


class Agent(Protocol):
    """Somebody who answers a prompt."""

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool:
        """The model reads the prompt's own text or ids, not another rendering of the messages."""
        ...

    def respond(self, prompt: Prompt, *, stop: threading.Event | None = None) -> Iterator[Reply]:
        """Answer `prompt`: cumulative snapshots, at least one, the last with a `finish_reason`.

        Setting `stop`, or closing the iterator, ends the work within a token. An answer that
        reaches its time limit ends as "time", with what there was of it.
        """
        ...
