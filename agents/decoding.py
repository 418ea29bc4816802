"""One request to a local model, step by step: read the prompt, score the actions, write the answer.

Each step yields a `Reply` snapshot. Threads, waiting and errors are `agents.local_model`'s; what a
legal answer is, `agents.constrained`'s. The ids that the model reads are the prompt's own.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeGuard

import torch
from transformers import (
    LogitsProcessorList,
    PrefixConstrainedLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from agents.answers import NoLegalAnswer
from agents.base import Alternative, FinishReason, Mode, Reply
from agents.constrained import Allowed, AnswerGrammar, Paths
from agents.interruption import Interrupted, interruptible
from agents.prefixes import Prefix, PrefixStore, keeps_all_tokens
from agents.produced_text import ProducedText, finished_characters
from configs.schema import GenerationConfig, PromptConfig
from errors import UserError
from prompting import Prompt

_ALTERNATIVES = 8

# How many tokens of a prompt are read in one pass. Measured on two cores with 6,443 tokens: 25 s in
# pieces of 256 or 512, 28 s in 128s or all at once, 64 s in 64s.
_PIECE = 512


class CannotAnswer(UserError):
    """This model cannot take this prompt."""


class Request(NamedTuple):
    """What is asked of the model: everything that the response depends on."""

    prompt: Prompt
    prompt_config: PromptConfig
    mode: Mode
    generation: GenerationConfig
    stop_at_closing_tag: bool = True


class Decoding:
    """The work on one request.

    Args:
        processor, model: of transformers; a tokenizer, or a processor that has one.
        store: where an earlier request may have left a prefix; this one leaves its own there.
        stopped: asked before every step; once true, the reply ends as "stopped".
        started: the `time.perf_counter()` from which the reply's seconds count.
        limit: seconds after which the answer ends, or None.
    """

    def __init__(
        self,
        processor: Any,
        model: Any,
        store: PrefixStore,
        request: Request,
        stopped: Callable[[], bool],
        started: float,
        *,
        limit: float | None = None,
    ) -> None:
        tokenizer = getattr(processor, "tokenizer", processor)
        self._processor, self._tokenizer = processor, tokenizer
        self._model, self._store = model, store
        self._limit = limit
        self._pictures: dict[str, Any] = {}
        self._request, self._stopped, self._started = request, stopped, started
        self._ids = list(request.prompt.token_ids)
        self._text = ProducedText(tokenizer, self._ids)
        self._pick = Sampler(request.generation)
        self._ends = _end_tokens(model, tokenizer)
        self._produced: list[int] = []
        self._logits = torch.empty(0)
        self._foreseen: dict[tuple[int, ...], torch.Tensor] = {}  # produced tokens → logits
        self._reply = Reply(prompt_tokens=len(self._ids))

    def replies(self) -> Iterator[Reply]:
        """Snapshots, the last with a finish reason.

        Raises:
            UserError: the prompt or the config cannot be answered.
            Exception: whatever the model raises; its half-made cache is dropped.
        """
        self._check()
        if self._request.prompt.images:
            self._pictures = pictures(self._processor, self._request.prompt)
        grammar = self._grammar()
        # Ids alone do not tell which picture was read, so a prefix with pictures is not shared.
        shared = not self._pictures
        prefix = self._store.take(self._ids) if shared else Prefix(self._model)
        try:
            with interruptible(self._model, self._interruption):
                yield from self._answer(prefix, grammar)
        except Interrupted:
            yield self._finish(self._interruption() or "stopped")
        if shared:
            self._store.put(prefix)

    def _answer(self, prefix: Prefix, grammar: AnswerGrammar | None) -> Iterator[Reply]:
        paths = grammar.answers([]) if grammar else {}
        yield from self._read(prefix, paths)
        if self._request.mode == "choice":
            yield self._choose(paths)
        else:
            yield from self._write(prefix, grammar)

    def _check(self) -> None:
        if self._request.prompt.images and not _sees(self._processor):
            raise CannotAnswer(
                "this model reads text only, and the prompt holds images",
                remedy="Choose a model with a processor, or a config without images",
            )
        if not self._ids:
            raise CannotAnswer("the prompt has no tokens", remedy="Check the chat template")
        longest = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        if longest is not None and len(self._ids) >= longest:
            raise CannotAnswer(
                f"the prompt has {len(self._ids)} tokens, and this model reads {longest} at most",
                remedy="Undo some turns, or choose a model with a longer context",
            )

    def _grammar(self) -> AnswerGrammar | None:
        """The legal answers; None where there are none and a free answer needs none."""
        try:
            return AnswerGrammar(
                self._tokenizer,
                self._request.prompt_config,
                self._ids,
                vocabulary=min(
                    len(self._tokenizer), self._model.config.get_text_config().vocab_size
                ),
                max_new_tokens=self._request.generation.max_new_tokens,
            )
        except NoLegalAnswer:
            if self._request.mode != "free":
                raise
            return None

    def _read(self, prefix: Prefix, paths: Paths) -> Iterator[Reply]:
        """The prompt's tokens that `prefix` lacks; after them, the `paths` are scored."""
        self._reply = replace(self._reply, reused_tokens=len(prefix))
        while len(prefix) < len(self._ids):
            if self._interruption():
                raise Interrupted
            # Pictures are read with all their placeholders, so such a prompt is one piece.
            size = len(self._ids) if self._pictures else _PIECE
            piece = self._ids[len(prefix) : len(prefix) + size]
            if paths and len(prefix) + len(piece) == len(self._ids):
                self._score(prefix, piece, paths)
            else:
                self._extend(prefix, piece)
            yield self._snapshot()
        self._reply = replace(self._reply, alternatives=self._alternatives())

    def _choose(self, paths: Paths) -> Reply:
        scores = torch.tensor([value for _, value in self._reply.action_log_probabilities])
        name = list(paths)[self._pick(scores, limits=False)]
        self._produced = list(paths[name])
        self._reply = replace(self._reply, forced_tokens=len(self._produced))
        return self._finish("closing tag")

    def _write(self, prefix: Prefix, grammar: AnswerGrammar | None) -> Iterator[Reply]:
        """Token after token, until the answer or something else ends it."""
        thinking = self._thinking(grammar)
        while True:
            if thinking and not self._thinking(grammar):
                thinking = False
                self._score_after_thought(prefix, grammar)
            allowed = grammar.allowed(self._produced) if self._limited(grammar) else None
            reason = self._reason(allowed)
            if reason:
                yield self._finish(reason)
                return
            self._produced.append(self._next(prefix, allowed))
            yield self._snapshot()

    def _limited(self, grammar: AnswerGrammar | None) -> TypeGuard[AnswerGrammar]:
        return self._request.mode == "grammar"

    def _thinking(self, grammar: AnswerGrammar | None) -> bool:
        if self._limited(grammar):
            return grammar.thinking(self._produced)
        return grammar is not None and grammar.thought_is_open(self._produced)

    def _score_after_thought(self, prefix: Prefix, grammar: AnswerGrammar | None) -> None:
        assert grammar is not None, "without one there is no telling a thought"
        with contextlib.suppress(NoLegalAnswer):  # a free text may have spoilt its chance
            self._score(prefix, self._unread(prefix), grammar.answers(self._produced))

    def _next(self, prefix: Prefix, allowed: Allowed | None) -> int:
        """The next token; where only one may follow, the model need not be asked."""
        if allowed is not None and len(allowed) == 1:
            self._reply = replace(self._reply, forced_tokens=self._reply.forced_tokens + 1)
            return int(allowed[0])
        foreseen = self._foreseen.get(tuple(self._produced))
        if foreseen is not None:  # it goes along a path that was scored: nothing to compute
            return self._pick(foreseen, allowed)
        if unread := self._unread(prefix):
            self._extend(prefix, unread)
        return self._pick(self._logits, allowed)

    def _extend(self, prefix: Prefix, tokens: list[int]) -> None:
        """Read `tokens`, and the prompt's pictures if they are the prompt's."""
        pictures = self._pictures if len(prefix) < len(self._ids) else {}
        self._logits = prefix.extend(tokens, **pictures)

    def _unread(self, prefix: Prefix) -> list[int]:
        """What was produced since the model was last asked."""
        return self._produced[len(prefix) - len(self._ids) :]

    def _score(self, prefix: Prefix, unread: list[int], paths: Paths) -> None:
        """Read `unread`, and put the log-probability of each path after it into the reply."""
        ahead = self._ahead(prefix, unread, [path[:-1] for path in paths.values()])
        scores = []
        for (name, path), after in zip(paths.items(), ahead, strict=True):
            scores.append((name, _path_score(self._logits, path, after)))
            for read, logits in enumerate(after, start=1):
                produced = (*self._produced, *path[:read])
                self._foreseen[produced] = logits
        self._reply = replace(self._reply, action_log_probabilities=tuple(scores))

    def _ahead(
        self, prefix: Prefix, unread: list[int], branches: list[tuple[int, ...]]
    ) -> Sequence[torch.Tensor]:
        """Read `unread`; for each branch after it the logits after each of its tokens."""
        forgets = not keeps_all_tokens(self._model)
        if not forgets and not _sees(self._processor):
            logits, ahead = prefix.look_ahead(branches, after=unread)
            self._logits = logits if unread else self._logits
            return ahead
        if unread:
            self._extend(prefix, unread)
        if forgets:
            return [_alone(self._model, prefix, branch, self._pictures) for branch in branches]
        # Where a token stands may depend on the pictures before it.
        return [prefix.look_along(branch) for branch in branches]

    def _alternatives(self) -> tuple[Alternative, ...]:
        best = torch.softmax(self._logits, dim=-1).topk(min(_ALTERNATIVES, len(self._logits)))
        return tuple(
            Alternative(token, self._tokenizer.decode([token]), probability)
            for token, probability in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        )

    def _reason(self, allowed: Allowed | None) -> FinishReason | None:
        """Why the response ends here, if it does; `allowed`: what may follow, in a grammar."""
        if interruption := self._interruption():
            return interruption
        if allowed is not None:
            return None if len(allowed) else "closing tag"
        if self._produced and self._produced[-1] in self._ends:
            return "end of text"
        if self._request.stop_at_closing_tag and "</answer>" in self._text.decode(self._produced):
            return "closing tag"
        limit = self._request.generation.max_new_tokens
        return "length" if len(self._produced) >= limit else None

    def _interruption(self) -> FinishReason | None:
        if self._stopped():
            return "stopped"
        late = self._limit is not None and time.perf_counter() - self._started > self._limit
        return "time" if late else None

    def _finish(self, reason: FinishReason) -> Reply:
        return replace(
            self._snapshot(), text=self._text.decode(self._produced), finish_reason=reason
        )

    def _snapshot(self) -> Reply:
        seconds = time.perf_counter() - self._started
        first = self._reply.seconds_to_first
        self._reply = replace(
            self._reply,
            text=finished_characters(self._text.decode(self._produced)),
            token_ids=tuple(self._produced),
            seconds=seconds,
            seconds_to_first=seconds if first is None and self._produced else first,
        )
        return self._reply


class Sampler:
    """Picks a token by the settings, with a random stream of its own: nobody else's is touched."""

    def __init__(self, generation: GenerationConfig) -> None:
        self._chance = torch.Generator().manual_seed(generation.seed)
        self._greedy = generation.temperature == 0
        self._warmers = LogitsProcessorList()
        self._limits = LogitsProcessorList()
        if not self._greedy and generation.temperature != 1:
            self._warmers.append(TemperatureLogitsWarper(generation.temperature))
        if generation.top_k:
            self._limits.append(TopKLogitsWarper(generation.top_k))
        if generation.top_p < 1:
            self._limits.append(TopPLogitsWarper(generation.top_p))

    def __call__(
        self, logits: torch.Tensor, allowed: Allowed | None = None, *, limits: bool = True
    ) -> int:
        """An index into `logits` (vocabulary), among the `allowed` ones if they are given.

        `limits`: whether top-k and top-p count.
        """
        scores, none = logits[None], torch.zeros(1, 0, dtype=torch.long)
        if allowed is not None:
            scores = PrefixConstrainedLogitsProcessor(lambda *_: allowed, num_beams=1)(none, scores)
        if self._greedy:
            return int(scores.argmax())
        scores = self._warmers(none, scores)
        if limits:
            scores = self._limits(none, scores)
        return int(torch.multinomial(torch.softmax(scores, -1), 1, generator=self._chance))


def _path_score(first: torch.Tensor, path: Sequence[int], after: torch.Tensor) -> float:
    """The log-probability of `path`, given the logits before it and after each but its last."""
    total = torch.log_softmax(first, -1)[path[0]]
    if len(path) > 1:
        rest = torch.tensor(path[1:])[:, None]
        total = total + torch.log_softmax(after, -1).gather(1, rest).sum()
    return float(total)


def _alone(
    model: Any, prefix: Prefix, branch: tuple[int, ...], pictures: dict[str, Any]
) -> torch.Tensor:
    """The logits after each token of `branch`, from a pass over everything.

    For models whose caches cannot be cropped.
    """
    ids = torch.tensor([[*prefix.tokens, *branch]], device=model.device)
    seen = prefix.placed(pictures)
    with torch.inference_mode():
        logits = model(
            input_ids=ids, use_cache=False, logits_to_keep=len(branch) + 1, **seen
        ).logits
    return logits[0, 1:].float().cpu()


def pictures(processor: Any, prompt: Prompt) -> dict[str, Any]:
    """What the model is given of the prompt's pictures besides the ids, on the CPU.

    Raises:
        CannotAnswer: the processor now makes other ids of the prompt than those that are shown.
    """
    made = dict(
        processor(
            text=[prompt.text],
            images=list(prompt.images),
            add_special_tokens=False,
            return_tensors="pt",
        )
    )
    if tuple(made.pop("input_ids")[0].tolist()) != prompt.token_ids:
        raise CannotAnswer(
            "the processor makes other token ids of this prompt than those that are shown",
            remedy="Render the prompt again with this model",
        )
    made.pop("attention_mask", None)  # nothing is padded
    return made


def _sees(processor: Any) -> bool:
    return hasattr(processor, "image_processor")


def _end_tokens(model: Any, tokenizer: Any) -> set[int]:
    ends = getattr(model.generation_config, "eos_token_id", None)
    listed = ends if isinstance(ends, list) else [ends]
    return {token for token in (*listed, tokenizer.eos_token_id) if token is not None}
