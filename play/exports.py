"""Episodes as fine-tuning files, one JSON value a line, that `datasets.load_dataset` reads.

Every text here is rendered from the episode's own config by the tokenizer that is given, so the
lines agree with each other even where the config was changed after the turns were played. It knows
the formats, and no page, disk or network; a processor's pictures are left out.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from errors import UserError
from play.episode import Episode
from play.turn import Turn
from prompting import Prompt, format_messages, render_prompt
from prompting.tokens import tokenize


def as_messages_jsonl(episodes: Iterable[Episode]) -> str:
    """OpenAI's fine-tuning format: a line `{"messages": [{"role", "content"}, …]}` an episode.

    The messages are those of the training view, so the last one is the assistant's. An episode
    without a turn has nothing to learn from and gets no line.
    """
    return _lines(
        {"messages": plain_messages(episode.messages(training=True))}
        for episode in episodes
        if episode.turns
    )


def as_token_jsonl(episodes: Iterable[Episode], tokenizer: Any) -> str:
    """The training view in tokens, a line an episode that has turns.

    Each line is `{"text", "input_ids", "labels_mask", "rewards"}`: `labels_mask` is `loss_mask` as
    ones and zeros, one a token, and `rewards` has `[index of the response's last token, reward]`
    for each turn, oldest first. A turn whose whole response the template dropped has no such token
    and is not in `rewards`.

    Raises:
        TemplateRefusal: the chat template does not take these messages.
        UserError: the tokenizer cannot tell which characters a token stands for.
    """
    return _lines(_token_line(episode, tokenizer) for episode in episodes if episode.turns)


def as_prompt_completion_jsonl(episodes: Iterable[Episode], tokenizer: Any) -> str:
    """A line a turn: `{"prompt", "completion", "prompt_ids", "completion_ids", "reward"}`.

    The prompt ends with the forced start and the completion is the raw response after it. Where an
    agent answered this very prompt, `completion_ids` are the ids that it sampled, special tokens
    included, and they may decode to more than `completion` (the end-of-turn token, say);
    elsewhere they are the completion's encoding.

    Raises:
        TemplateRefusal: the chat template does not take these messages.
    """
    return _lines(
        _completion_line(turn, prompt, tokenizer)
        for episode in episodes
        for turn, (_, prompt) in zip(episode.turns, turn_prompts(episode, tokenizer), strict=False)
    )


def loss_mask(prompt: Prompt, tokenizer: Any) -> tuple[bool, ...]:
    """For each token of a training view, whether a loss covers it.

    Covered is each response, from its first character to its last with whatever the template wrote
    in between, and the end-of-turn token that the template puts after it, with white space before
    that token. That is the tokenizer's `eos_token` or the control token that ends the whole text;
    where a template ends turns with ordinary text, that text is not covered. What the template
    writes before a response (the role, an empty thought) is not covered either.

    A token that reaches over an edge counts by its first character. Tokens that share one
    character (the bytes of an emoji) count alike.

    Raises:
        UserError: the prompt has no offsets, since its tokenizer is a slow one or it has pictures.
    """
    _check_offsets(prompt)
    starts = [start for start, _ in prompt.offsets]
    mask = [False] * len(starts)
    ends = _end_tokens(prompt, tokenizer)
    for start, end in _responses(prompt).values():
        # With equal starts all tokens of one character go together.
        low, high = bisect_left(starts, start), bisect_left(starts, end)
        high = _with_end_of_turn(prompt, high, end, ends)
        mask[low:high] = [True] * (high - low)
    return tuple(mask)


def landings(prompt: Prompt, episode: Episode) -> list[tuple[int, float]]:
    """Where each reward lands in a training view: (index of its response's last token, reward).

    A turn whose response the template dropped has none.
    """
    responses = _responses(prompt)
    starts = [start for start, _ in prompt.offsets]
    return [
        (bisect_left(starts, responses[number][1]) - 1, turn.reward)
        for number, turn in enumerate(episode.turns, start=1)
        if number in responses
    ]


def _token_line(episode: Episode, tokenizer: Any) -> dict[str, Any]:
    messages = episode.messages(training=True)
    prompt = render_prompt(messages, tokenizer, episode.config, training=True)
    mask = loss_mask(prompt, tokenizer)
    rewards = [
        {"token": token, "reward": round(float(reward), 10)}
        for token, reward in landings(prompt, episode)
    ]
    return {
        "text": prompt.text,
        "input_ids": list(prompt.token_ids),
        "labels_mask": [int(covered) for covered in mask],
        "rewards": rewards,
    }


def _check_offsets(prompt: Prompt) -> None:
    if len(prompt.offsets) != len(prompt.token_ids):
        raise UserError(
            "this tokenizer does not tell which characters a token stands for",
            where="loss mask",
            remedy="Choose a model with a fast tokenizer, and a prompt without pictures",
        )


def _responses(prompt: Prompt) -> dict[int, tuple[int, int]]:
    """By turn, the first and the last (exclusive) character of what is there of the response."""
    found: dict[int, tuple[int, int]] = {}
    for span in prompt.spans:
        if span.origin == "response":
            found[span.turn] = (found.get(span.turn, span)[0], span.end)
    return found


def _end_tokens(prompt: Prompt, tokenizer: Any) -> set[int]:
    """The ids that may end a turn: the tokenizer's own, and the one that ends the training view."""
    ends = {getattr(getattr(tokenizer, "tokenizer", tokenizer), "eos_token_id", None)}
    last = max((end for _, end in _responses(prompt).values()), default=len(prompt.text))
    ending = [index for index in prompt.control if prompt.offsets[index][0] >= last]
    if ending and prompt.spans[-1].origin in ("response", "template"):
        closing = prompt.text[last : prompt.offsets[ending[0]][0]]
        if not closing.strip() and len(ending) == 1:
            ends.add(prompt.token_ids[ending[0]])
    return ends - {None}  # type: ignore[return-value]


def _with_end_of_turn(prompt: Prompt, index: int, end: int, ends: set[int]) -> int:
    """The index after the end-of-turn token that follows character `end`; else `index`."""
    control = bisect_left(prompt.control, index)
    if control == len(prompt.control):
        return index
    token = prompt.control[control]
    between = prompt.text[end : prompt.offsets[token][0]]
    return token + 1 if prompt.token_ids[token] in ends and not between.strip() else index


def turn_prompts(episode: Episode, tokenizer: Any) -> Iterator[tuple[list[dict[str, Any]], Prompt]]:
    """For each turn, and for the open one, the messages and the prompt that it answers."""
    history = episode.history()
    for number, turn in enumerate(history):
        # Not `Episode.prompt`: under a changed config a turn may stand beyond the last action.
        shown = turn if isinstance(turn, dict) else _shown(turn)
        messages = format_messages(episode.config, [*history[:number], shown])
        yield messages, render_prompt(messages, tokenizer, episode.config)


def _shown(turn: Turn) -> dict[str, Any]:
    return {"state": turn.state, "actions_left": turn.actions_left}


def _completion_line(turn: Turn, prompt: Prompt, tokenizer: Any) -> dict[str, Any]:
    forced = prompt.spans[-1] if prompt.spans else None
    start = prompt.text[slice(*forced[:2])] if forced and forced.origin == "forced_start" else ""
    completion = turn.llm_raw_response.removeprefix(start)
    sent = turn.prompt is not None and turn.prompt.token_ids == prompt.token_ids
    ids = turn.reply.token_ids if turn.reply is not None and sent else ()
    return {
        "prompt": prompt.text,
        "completion": completion,
        "prompt_ids": list(prompt.token_ids),
        "completion_ids": list(
            ids or tokenize(getattr(tokenizer, "tokenizer", tokenizer), completion)[0]
        ),
        "reward": round(float(turn.reward), 10),
    }


def plain_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Without what the contents remember of their pieces."""
    return [{"role": m["role"], "content": "".join(m["content"])} for m in messages]


def _lines(values: Iterable[dict[str, Any]]) -> str:
    return "".join(_line(value) for value in values)


def _line(value: dict[str, Any]) -> str:
    text = json.dumps(value, ensure_ascii=False)
    # JSON lets these stand, but some readers (Python's splitlines) take them for line breaks.
    for character in "\x85\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text + "\n"
