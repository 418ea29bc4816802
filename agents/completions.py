"""A language model on a server that speaks the OpenAI protocol: vLLM, llama.cpp, SGLang, Ollama, …

The completions endpoint takes the prompt as it is, so the server reads the very text or ids that
are shown. A chat endpoint renders the messages by itself, and its agent says that it is not exact.
Queueing is the server's; the wire, with its failures, is `agents.protocol`'s.
"""

from __future__ import annotations

import contextlib
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from agents.answers import answer_endings
from agents.background import in_background
from agents.base import Alternative, FinishReason, Mode, Reply
from agents.protocol import Connection, ServerTrouble, pulled
from agents.question import CannotAsk, Question
from configs.schema import GenerationConfig, PromptConfig, ServerConfig
from errors import UserError
from prompting import Prompt, parse_response

CHAT_DOUBT = "the server renders the prompt itself, so the string shown is not certain"

_TAG = "</answer>"
# How servers call the ends of an answer; any other reason is trouble.
_ENDS: dict[str, FinishReason] = {
    "stop": "end of text",
    "eos_token": "end of text",
    "stop_sequence": "end of text",
    "length": "length",
}


class ServedModel:
    """A model on a server, and the tokenizer that makes its prompts.

    Args:
        tokenizer: a transformers tokenizer; the chat template in it renders the prompt.
        seconds_per_answer: an answer that takes longer ends there.
        connection: None for one to where `server` says.
    """

    def __init__(
        self,
        tokenizer: Any,
        server: ServerConfig,
        label: str,
        *,
        seconds_per_answer: float | None = None,
        connection: Connection | None = None,
    ) -> None:
        self.tokenizer, self.server, self.label = tokenizer, server, label
        self.seconds_per_answer = seconds_per_answer
        self.connection = connection or Connection(server)

    @property
    def doubt(self) -> str:
        """Why the string that is shown may not be what the model reads; empty where it is."""
        return CHAT_DOUBT if self.server.api == "chat" else ""

    @property
    def exact(self) -> bool:
        return not self.doubt

    def agent(
        self,
        prompt_config: PromptConfig,
        *,
        constrained: bool = True,
        generation: GenerationConfig | None = None,
        mode: Mode | None = None,
        stop_at_closing_tag: bool = True,
    ) -> ServedAgent:
        """An agent that answers prompts of `prompt_config`; see `LocalModel.agent`.

        A free thought before a legal answer may hold no `<` here, and may use up all the tokens.
        """
        return ServedAgent(
            self,
            prompt_config,
            mode or ("grammar" if constrained else "free"),
            generation or GenerationConfig(),
            stop_at_closing_tag,
        )


class ServedAgent:
    """Answers with a `ServedModel`; any number of threads may use one at the same time."""

    def __init__(
        self,
        model: ServedModel,
        prompt_config: PromptConfig,
        mode: Mode,
        generation: GenerationConfig,
        stop_at_closing_tag: bool = True,
    ) -> None:
        self.name, self.exact, self.doubt = model.label, model.exact, model.doubt
        self.mode: Mode = mode
        self.model, self.prompt_config, self.generation = model, prompt_config, generation
        self.stop_at_closing_tag = stop_at_closing_tag

    def respond(self, prompt: Prompt, *, stop: threading.Event | None = None) -> Iterator[Reply]:
        """See `Agent.respond`; stopping hangs up, which ends the work on the server as well."""
        yield from in_background(
            lambda stopped: _Asking(self, prompt, stopped).replies(),
            Reply(prompt_tokens=len(prompt.token_ids)),
            stop,
        )


class _Asking:
    """The work on one request."""

    def __init__(self, agent: ServedAgent, prompt: Prompt, stopped: Callable[[], bool]) -> None:
        self._agent, self._prompt, self._stopped = agent, prompt, stopped
        self._model, self._server = agent.model, agent.model.server
        self._config, self._generation = agent.prompt_config, agent.generation
        self._question = Question(
            prompt, self._server, self._model.tokenizer, self._config, self._generation, agent.mode
        )
        self._started = time.perf_counter()
        self._received = ""
        self._reply = Reply(prompt_tokens=len(prompt.token_ids))

    def replies(self) -> Iterator[Reply]:
        """Snapshots, the last with a finish reason.

        Raises:
            UserError: the server does not do it, or not now.
        """
        if self._agent.mode == "choice":
            yield self._choose()
            return
        reason: FinishReason | None = None
        for event in self._events(self._question.path, self._question.body()):
            reason = self._take(event)
            if reason:
                break
            yield self._snapshot()
        reason = self._interrupted() or reason
        if reason is None:
            raise ServerTrouble(
                "the connection ended before the answer did",
                where=self._server.model,
                remedy="Try again, or look at the server's log",
            )
        yield self._finish(reason)

    # -- what comes back

    def _events(self, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        return pulled(self._model.connection.events(path, body), lambda: bool(self._interrupted()))

    def _interrupted(self) -> FinishReason | None:
        if self._stopped():
            return "stopped"
        limit = self._model.seconds_per_answer
        late = limit is not None and time.perf_counter() - self._started > limit
        return "time" if late else None

    def _take(self, event: dict[str, Any]) -> FinishReason | None:
        """Add what an event brings; why the answer ends with it, if it does."""
        try:
            choice = (event.get("choices") or [{}])[0]  # an event of counts alone has none
            said = choice.get("delta") or choice.get("message") or {}
            self._received += choice.get("text") or said.get("content") or ""
            ids = tuple(int(token) for token in choice.get("token_ids") or ())
            first = self._reply.alternatives or self._alternatives(choice.get("logprobs"))
            ended = choice.get("finish_reason")
        except (AttributeError, LookupError, TypeError, ValueError):
            raise self._unreadable("an event of it has another shape than the protocol's") from None
        ids = self._reply.token_ids + ids
        self._reply = replace(self._reply, token_ids=ids, alternatives=first)
        if self._agent.stop_at_closing_tag and _TAG in self._received:
            # An event may bring several tokens, so there may be more than the tag's.
            self._received = self._received[: self._received.index(_TAG) + len(_TAG)]
            return "closing tag"
        if not ended:
            return None
        if ended not in _ENDS:
            raise ServerTrouble(
                f"the server ended the answer by {str(ended)[:40]!r}",
                where=self._server.model,
                remedy="Look at the server's log, or try again",
            )
        return _ENDS[ended]

    def _unreadable(self, why: str) -> ServerTrouble:
        return ServerTrouble(
            f"the server's answer cannot be read: {why}",
            where=self._server.model,
            remedy="Check `api` and base_url in models.yaml",
        )

    def _alternatives(self, logprobs: Any) -> tuple[Alternative, ...]:
        top = (logprobs or {}).get("top_logprobs") or [None]
        pairs = sorted((top[0] or {}).items(), key=lambda pair: -pair[1])
        return tuple(Alternative(self._id(text), text, math.exp(value)) for text, value in pairs)

    def _id(self, text: str) -> int:
        tokenizer = self._model.tokenizer
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        return int(ids[0]) if len(ids) == 1 and tokenizer.decode(ids) == text else -1

    def _text(self, *, complete: bool) -> str:
        """What was received, after the forced start, which a chat model has to write itself."""
        start, received = self._config.response_start, self._received
        if self._server.api != "chat" or not start:
            return received
        if received.lstrip().startswith(start):
            return received.lstrip()[len(start) :]
        coming = start.startswith(received.lstrip()) and not complete
        return "" if coming else received

    def _snapshot(self) -> Reply:
        seconds = time.perf_counter() - self._started
        first = self._reply.seconds_to_first
        self._reply = replace(
            self._reply,
            text=self._text(complete=False),
            seconds=seconds,
            seconds_to_first=seconds if first is None and self._received else first,
        )
        return self._reply

    def _finish(self, reason: FinishReason) -> Reply:
        self._snapshot()
        self._reply = replace(self._reply, text=self._text(complete=True), finish_reason=reason)
        if self._agent.mode == "grammar" and reason in ("closing tag", "end of text"):
            self._check_legal(self._reply.text)
        if self._server.scores == "echo" and reason not in ("stopped", "time"):
            with contextlib.suppress(UserError):  # an answer is an answer without the odds too
                self._score()
        return self._reply

    def _check_legal(self, text: str) -> None:
        """A server that does not know a parameter may ignore it without a word."""
        if parse_response(self._config.response_start + text, self._config).action is None:
            raise CannotAsk(
                f"the server was told to give a legal answer only, and gave {text[:60]!r}",
                where=self._server.model,
                remedy="Correct `grammar` in models.yaml, or let it answer freely",
            )

    # -- scores

    def _choose(self) -> Reply:
        self._score()
        if reason := self._interrupted():
            return replace(self._snapshot(), finish_reason=reason)
        scores = dict(self._reply.action_log_probabilities)
        name = draw(scores, self._generation)
        self._received = answer_endings("", self._config)[name]
        ids = self._question.paths.get(name, ())
        self._reply = replace(self._reply, token_ids=ids, forced_tokens=len(ids))
        return replace(self._snapshot(), finish_reason="closing tag")

    def _score(self) -> None:
        """Put the log-probability of each legal answer into the reply, one request for each."""
        pairs = []
        for name, ending, body in self._question.scoring():
            answers = list(self._events("completions", body))
            if self._interrupted():
                return
            pairs.append((name, self._sum(answers, ending)))
        self._reply = replace(self._reply, action_log_probabilities=tuple(pairs))

    def _sum(self, answers: list[dict[str, Any]], ending: str) -> float:
        """The log-probabilities of the echoed tokens that spell `ending`, added up."""
        try:
            logprobs = answers[0]["choices"][0]["logprobs"]
            tokens, values = logprobs["tokens"], logprobs["token_logprobs"]
            # The token that was made comes last, unless it was one that is not shown.
            for made in (1, 0):
                count = _spelling(tokens[: len(tokens) - made], ending)
                if count:
                    end = len(tokens) - made
                    return float(sum(values[end - count : end]))
        except (LookupError, TypeError):
            raise self._no_scores("it did not repeat the prompt with log-probabilities") from None
        raise self._no_scores(
            f"{ending!r} does not begin with a token of its own, or is not repeated"
        )

    def _no_scores(self, why: str) -> CannotAsk:
        return CannotAsk(
            f"this server cannot score choices: {why}",
            where=self._server.model,
            remedy="Let it answer freely, or try `sends: ids` in models.yaml",
        )


def draw(scores: dict[str, float], generation: GenerationConfig) -> str:
    """One of the names: the likeliest at temperature 0, else by chance, as the seed has it."""
    best = max(scores, key=lambda name: scores[name])
    if generation.temperature == 0:
        return best
    weights = [
        math.exp((value - scores[best]) / generation.temperature) for value in scores.values()
    ]
    return random.Random(generation.seed).choices(list(scores), weights)[0]


def _spelling(tokens: list[str], text: str) -> int:
    """How many of the last tokens spell exactly `text`; 0 where none do."""
    spelled = ""
    for count, token in enumerate(reversed(tokens), 1):
        spelled = token + spelled
        if len(spelled) >= len(text):
            return count if spelled == text else 0
    return 0
