"""What a server is asked for one answer: the bodies of its requests, and what cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from agents.answers import answer_endings
from agents.base import Mode
from agents.constrained import AnswerGrammar
from agents.notation import gbnf, regex
from configs.schema import GenerationConfig, PromptConfig, ServerConfig
from errors import UserError
from prompting import Prompt


class CannotAsk(UserError):
    """This server cannot be asked that, by what its config says."""


class Question:
    """A prompt to be answered, in the words of the OpenAI protocol.

    Args:
        tokenizer: the one that made the prompt's ids.
        config: the prompt config, which says what the legal answers are.

    Raises:
        CannotAsk: the server does not take such a prompt, or does not decide in this way.
    """

    def __init__(
        self,
        prompt: Prompt,
        server: ServerConfig,
        tokenizer: Any,
        config: PromptConfig,
        generation: GenerationConfig,
        mode: Mode,
    ) -> None:
        self._prompt, self._server, self._tokenizer = prompt, server, tokenizer
        self._config, self._generation, self._mode = config, generation, mode
        self._check()

    def _check(self) -> None:
        if self._prompt.images:
            raise CannotAsk(
                "this server is sent text only, and the prompt holds images",
                remedy="Choose a model with a processor, or a config without images",
            )
        if self._server.api == "chat" and not self._prompt.messages:
            raise CannotAsk(
                "a chat server takes messages, and this prompt was kept without them",
                remedy="Render the prompt again, or set `api: completions`",
            )
        if self._mode == "choice" and self._server.scores == "none":
            raise CannotAsk(
                "this server cannot score choices: it gives no log-probabilities of a prompt",
                where=self._server.model,
                remedy="Let it answer freely, or set `scores: echo` in models.yaml if it does",
            )

    @property
    def path(self) -> str:
        """Where the question goes, under the server's base URL."""
        return "chat/completions" if self._server.api == "chat" else "completions"

    def body(self) -> dict[str, Any]:
        """The request for an answer.

        No stop text is in it: most servers cut it off, and then say "stop" whether the model wrote
        it or just ended, so that putting it back would be a guess. The tag is looked for in what
        arrives instead, and the connection closed when it is there.
        """
        generation = self._generation
        body = self._input(self._prompt.text, self._prompt.token_ids) | {
            "temperature": generation.temperature,
            "top_p": generation.top_p,
            "seed": generation.seed,
            "max_tokens": generation.max_new_tokens,
            "stream": True,
        }
        top_k = generation.top_k or self._server.no_top_k
        if top_k is not None:
            body["top_k"] = top_k
        if self._mode == "grammar":
            body |= self._grammar()
            body["max_tokens"] = max(body["max_tokens"], self._longest_answer())
        if self._server.api == "completions" and self._server.alternatives:
            body["logprobs"] = self._server.alternatives
        if self._server.returns_ids:
            body["return_token_ids"] = True
        return body

    def _input(self, text: str, token_ids: tuple[int, ...]) -> dict[str, Any]:
        model = {"model": self._server.model}
        if self._server.api == "chat":
            messages = [
                {"role": message["role"], "content": str(message["content"])}
                for message in self._prompt.messages
            ]
            return model | {"messages": messages}
        if self._server.sends == "ids":
            return model | {"prompt": list(token_ids)}
        # The template has written every special token already; vLLM would put another in front.
        return model | {"prompt": text, "add_special_tokens": False}

    def _grammar(self) -> dict[str, Any]:
        kind, answers = self._server.grammar, self._legal_answers()
        thoughtful = any("</think>" in answer for answer in answers)
        if kind == "none":
            raise CannotAsk(
                "this server is not known to limit an answer to the legal actions",
                where=self._server.model,
                remedy="Let it answer freely, or set `grammar` in models.yaml to what it offers",
            )
        if kind == "gbnf":
            return {"grammar": gbnf(answers)}
        if kind == "guided_choice":
            return {"guided_regex": regex(answers)} if thoughtful else {"guided_choice": answers}
        return {
            "structured_outputs": {"regex": regex(answers)} if thoughtful else {"choice": answers}
        }

    def _legal_answers(self) -> list[str]:
        """All that the model may write; on a chat server that begins with the forced start."""
        start = self._config.response_start if self._server.api == "chat" else ""
        return [start + ending for ending in answer_endings("", self._config).values()]

    def _longest_answer(self) -> int:
        """Tokens for it, and one more that a server may count."""
        encode = self._tokenizer
        answers = self._legal_answers()
        return 1 + max(len(encode(a, add_special_tokens=False)["input_ids"]) for a in answers)

    def scoring(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The name of each legal action, the text that answers it, and the request for its score:
        to read the prompt with that text at its end, and to give the log-probabilities."""
        for name, ending in answer_endings("", self._config).items():
            ids = self._prompt.token_ids + self.paths.get(name, ())
            # One token is made and thrown away: some servers read 0 as "no limit".
            yield (
                name,
                ending,
                self._input(self._prompt.text + ending, ids)
                | {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0.0},
            )

    @cached_property
    def paths(self) -> dict[str, tuple[int, ...]]:
        """The token ids of each legal action's answer; empty where the server is sent text."""
        if self._server.sends != "ids":
            return {}
        grammar = AnswerGrammar(
            self._tokenizer,
            self._config,
            self._prompt.token_ids,
            vocabulary=len(self._tokenizer),
            max_new_tokens=self._generation.max_new_tokens,
        )
        return grammar.answers([])
