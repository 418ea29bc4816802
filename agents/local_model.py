"""A language model on this machine, shared by all who ask: one request at a time, first come first.

The work runs in a thread of its own and hands over snapshots, so a slow reader never holds the
model, and closing the iterator (a closed tab) ends the work within a token. What the work is, step
by step, is `agents.decoding`'s.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from agents.attention import use_fast_attention
from agents.base import Mode, Reply
from agents.decoding import Decoding, Request
from agents.prefixes import PrefixStore, keeps_all_tokens
from agents.turnstile import Turnstile
from configs.schema import GenerationConfig, PromptConfig
from errors import UserError
from prompting import Prompt

# Without news the last snapshot comes again after this many seconds: a generator can only be
# closed while it yields.
_HEARTBEAT = 0.25


class LocalModel:
    """A tokenizer and its model, ready to answer.

    Args:
        tokenizer: a transformers tokenizer, or a processor that has one.
        model: a transformers model for causal language modelling, on its device.
        label: what a person calls it.
        cache_bytes: how much memory the prefixes of earlier requests may take together.
    """

    def __init__(
        self, tokenizer: Any, model: Any, label: str, *, cache_bytes: int = 2 * 1024**3
    ) -> None:
        self.tokenizer, self.model, self.label = tokenizer, model.eval(), label
        if keeps_all_tokens(model):
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


class LocalAgent:
    """Answers with a `LocalModel`; any number of threads may use one at the same time."""

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
        closed = threading.Event()
        replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        worker = threading.Thread(
            target=self._work,
            args=(prompt, lambda: closed.is_set() or (stop is not None and stop.is_set()), replies),
            name="answering",
            daemon=True,
        )
        worker.start()
        reply = Reply(prompt_tokens=len(prompt.token_ids))
        try:
            while reply.finish_reason is None:
                try:
                    reply = replies.get(timeout=_HEARTBEAT)
                except queue.Empty:
                    reply = replace(reply, seconds=reply.seconds + _HEARTBEAT)
                yield reply
        finally:
            closed.set()
            worker.join()

    def _work(
        self, prompt: Prompt, stopped: Callable[[], bool], replies: queue.SimpleQueue[Reply]
    ) -> None:
        """Put all snapshots into `replies`; whatever happens, the last has a finish reason."""
        last = Reply(prompt_tokens=len(prompt.token_ids))
        started = time.perf_counter()
        try:
            for reply in self._replies(prompt, stopped, started):
                last = reply
                replies.put(last)
        except Exception as error:  # out of memory, a setting that torch refuses, a broken model
            replies.put(
                replace(
                    last,
                    finish_reason="error",
                    error=_message(error),
                    seconds=time.perf_counter() - started,
                )
            )

    def _replies(
        self, prompt: Prompt, stopped: Callable[[], bool], started: float
    ) -> Iterator[Reply]:
        line = self._model.line
        ticket = line.join()
        try:
            while place := line.ahead(ticket, timeout=_HEARTBEAT):
                waiting = Reply(
                    prompt_tokens=len(prompt.token_ids),
                    place=place,
                    seconds=time.perf_counter() - started,
                )
                if stopped():
                    yield replace(waiting, finish_reason="stopped")
                    return
                yield waiting
            yield from self._decoding(prompt, stopped, started).replies()
        finally:
            line.leave(ticket)

    def _decoding(self, prompt: Prompt, stopped: Callable[[], bool], started: float) -> Decoding:
        tokenizer = getattr(self._model.tokenizer, "tokenizer", self._model.tokenizer)
        request = Request(
            prompt, self._config, self.mode, self._generation, self._stop_at_closing_tag
        )
        return Decoding(
            tokenizer, self._model.model, self._model.prefixes, request, stopped, started
        )


def _message(error: Exception) -> str:
    """What went wrong, for a person: a user's mistake has its own words."""
    if isinstance(error, UserError):
        return str(error)
    words = " ".join(str(error).split())[:300] or type(error).__name__
    if isinstance(error, MemoryError) or "out of memory" in words or "can't allocate" in words:
        return f"The model ran out of memory: {words}. Undo some turns, or choose a smaller model."
    kind = type(error).__name__
    return f"The model failed: {kind}: {words}. Check the sampling settings, or try again."
