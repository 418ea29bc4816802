"""A language model on this machine, shared by all who ask: one request at a time, first come first.

What the work on a request is, step by step, is `agents.decoding`'s; that it runs in a thread of its
own, `agents.background`'s.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from agents import zero
from agents.attention import use_fast_attention
from agents.background import HEARTBEAT, in_background
from agents.base import Mode, Reply
from agents.decoding import Decoding, Request
from agents.prefixes import PrefixStore, keeps_all_tokens
from agents.turnstile import Turnstile
from configs.schema import GenerationConfig, ModelsConfig, PromptConfig
from prompting import Prompt


class LocalModel:
    """A tokenizer and its model, ready to answer.

    Args:
        tokenizer: a transformers tokenizer, or a processor that has one.
        model: a transformers model for causal language modelling, on its device.
        label: what a person calls it.
        cache_bytes: how much memory the prefixes of earlier requests may take together.
        seconds_per_answer: an answer that takes longer, once it is being made, ends there.
        borrowed: on ZeroGPU, the name and the config by which the process with the GPU finds it.
    """

    exact, doubt = True, ""

    def __init__(
        self,
        tokenizer: Any,
        model: Any,
        label: str,
        *,
        cache_bytes: int = 2 * 1024**3,
        seconds_per_answer: float | None = None,
        borrowed: tuple[str, ModelsConfig] | None = None,
    ) -> None:
        self.tokenizer, self.model, self.label = tokenizer, model.eval(), label
        self.seconds_per_answer, self.borrowed = seconds_per_answer, borrowed
        # A model with eyes may mask its pictures in ways of its own.
        if keeps_all_tokens(model) and not hasattr(tokenizer, "image_processor"):
            use_fast_attention(model)
        self.prefixes = PrefixStore(model, cache_bytes)
        self.line = Turnstile()

    def agent(
        self,
        prompt_config: PromptConfig,
        *,
        constrained: bool = True,
        generation: GenerationConfig | None = None,
        mode: Mode | None = None,
        stop_at_closing_tag: bool = True,
    ) -> LocalAgent:
        """An agent that answers prompts of `prompt_config` with this model.

        Args:
            constrained: the answer is a legal action (mode "grammar"), or else whatever comes
                (mode "free").
            mode: in place of `constrained`; "choice" scores the legal actions and writes nothing
                else. At temperature 0 it takes the likeliest, else it draws by their probabilities
                at that temperature.
            stop_at_closing_tag: a free answer ends at `</answer>`.
        """
        return LocalAgent(
            self,
            prompt_config,
            mode or ("grammar" if constrained else "free"),
            generation or GenerationConfig(),
            stop_at_closing_tag,
        )

    def work(self, request: Request, stopped: Callable[[], bool]) -> Iterator[Reply]:
        """The work itself, here and now: only for whoever is first in the line."""
        return Decoding(
            self.tokenizer,
            self.model,
            self.prefixes,
            request,
            stopped,
            time.perf_counter(),
            limit=self.seconds_per_answer,
        ).replies()


class LocalAgent:
    """Answers with a `LocalModel`; any number of threads may use one at the same time."""

    exact, doubt = True, ""

    def __init__(
        self,
        model: LocalModel,
        prompt_config: PromptConfig,
        mode: Mode,
        generation: GenerationConfig,
        stop_at_closing_tag: bool = True,
    ) -> None:
        self.name = model.label
        self.mode: Mode = mode
        self._model, self._config, self._generation = model, prompt_config, generation
        self._stop_at_closing_tag = stop_at_closing_tag

    def respond(self, prompt: Prompt, *, stop: threading.Event | None = None) -> Iterator[Reply]:
        """See `Agent.respond`. A snapshot may come twice where nothing happened meanwhile."""
        yield from in_background(
            lambda stopped: self._replies(prompt, stopped),
            Reply(prompt_tokens=len(prompt.token_ids)),
            stop,
        )

    def _replies(self, prompt: Prompt, stopped: Callable[[], bool]) -> Iterator[Reply]:
        started = time.perf_counter()
        line = self._model.line
        ticket = line.join()
        try:
            while place := line.ahead(ticket, timeout=HEARTBEAT):
                waiting = Reply(
                    prompt_tokens=len(prompt.token_ids),
                    place=place,
                    seconds=time.perf_counter() - started,
                )
                if stopped():
                    yield replace(waiting, finish_reason="stopped")
                    return
                yield waiting
            waited = time.perf_counter() - started
            for reply in self._served(prompt, stopped):
                yield _later(reply, waited)
        finally:
            line.leave(ticket)

    def _served(self, prompt: Prompt, stopped: Callable[[], bool]) -> Iterator[Reply]:
        request = Request(
            prompt, self._config, self.mode, self._generation, self._stop_at_closing_tag
        )
        if self._model.borrowed is None:
            yield from self._model.work(request, stopped)
            return
        replies = zero.replies(*self._model.borrowed, request)
        for reply in replies:
            if stopped() and reply.finish_reason is None:
                replies.close()
                reply = replace(reply, finish_reason="stopped")
            yield reply


def _later(reply: Reply, waited: float) -> Reply:
    """`reply` with the seconds in the line added, which whoever made it does not know."""
    first = reply.seconds_to_first
    return replace(
        reply,
        seconds=reply.seconds + waited,
        seconds_to_first=None if first is None else first + waited,
    )
