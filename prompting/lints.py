"""What a person should know about a finished prompt before they trust it, a sentence each.

A lint only reads: the prompt, its tokenizer and its config. It changes nothing, asks no model, and
knows no page. Where many turns share one fault they share one lint.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from configs.schema import PromptConfig
from prompting.spans import Change, Span
from prompting.template import Prompt
from prompting.tokens import tokenize

LintKind = Literal[
    "thought_dropped", "trimmed", "changed", "double_bos", "bos_hint", "doubled_start",
    "open_thought", "control_inside", "rewritten", "near_context", "over_context", "drift",
]  # fmt: skip

# A tokenizer without a limit of its own says 10 to the 30th.
_NO_LIMIT = 10**9
_NEAR = 0.9
_NOT_CONTENT = ("template", "forced_start")

_NAMES = {
    "system": "the system text",
    "rules": "the rules",
    "symbols": "the symbols",
    "actions": "the actions",
    "state": "the state",
    "format": "the format text",
    "response": "the response",
    "reward": "the reward",
    "turn": "the turn's heading",
}


class Lint(NamedTuple):
    """One remark. `span` is the (start, end) of the characters that it is about, or None where
    they are not in the prompt (what a template dropped) or are all of it."""

    kind: LintKind
    message: str
    span: tuple[int, int] | None = None


def lints(
    prompt: Prompt,
    prompt_config: PromptConfig,
    tokenizer: Any,
    *,
    sampled: Sequence[tuple[Sequence[int], str]] = (),
    context_length: int | None = None,
) -> list[Lint]:
    """Everything that is worth a badge, the template's doings first.

    Args:
        prompt: what `render_prompt` made of `prompt_config` with `tokenizer`.
        tokenizer: a transformers tokenizer, or a processor that has one as `tokenizer`.
        sampled: for each turn the ids that a model produced after the forced start, and the raw
            response (with the forced start); () for the ids of a turn that nobody sampled.
        context_length: the tokens that the model can read; by default what the tokenizer says.
    """
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    limit = context_length or int(getattr(tokenizer, "model_max_length", _NO_LIMIT))
    return [
        *_changes(prompt.changes),
        *_bos(prompt, tokenizer),
        *_start(prompt, prompt_config),
        *_control_inside(prompt, prompt_config),
        *_rewritten(prompt, tokenizer),
        *_context(prompt, limit),
        *_drift(sampled, prompt_config, tokenizer),
    ]


# -- what the template did


def _changes(changes: Sequence[Change]) -> Iterator[Lint]:
    thoughts = [change for change in changes if _is_thought(change)]
    trimmed = [change for change in changes if change.kind == "trimmed"]
    others = [c for c in changes if c.kind != "trimmed" and not _is_thought(c)]
    if thoughts:
        yield Lint(
            "thought_dropped",
            f"The chat template leaves out the thought of {_turns(thoughts)}, so the model does "
            "not read it: if it should, choose another template, or keep thoughts out of the "
            "<think> tags.",
        )
    if trimmed:
        yield Lint(
            "trimmed",
            f"The chat template cuts white space off the ends of {_count(trimmed, 'message')} "
            f"({_turns(trimmed)}), so the model reads the text without it: take it out of the "
            "config too, where your trainer must give the same text.",
        )
    for change in others[:1]:
        lost = _quote(change.lost)
        more = f" and so with {_count(others[1:], 'other message')}" if others[1:] else ""
        verb = "leaves out" if change.kind == "dropped" else "does not take over"
        yield Lint(
            "changed",
            f"The chat template {verb} {lost} of {_place(change.origin, change.turn)}{more}: read "
            "the prompt as it is shown, and change the text or the template where that is not "
            "meant.",
        )


def _is_thought(change: Change) -> bool:
    return change.origin == "response" and "think>" in change.lost and change.kind != "trimmed"


def _turns(changes: Sequence[Change]) -> str:
    """`turn 3`, or `turns 1, 2, 5 to 9`; what comes before the first turn is the opening."""
    numbers = sorted({change.turn for change in changes})
    runs: list[list[int]] = []
    for number in (n for n in numbers if n):
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    words = [" to ".join(map(str, run)) for run in runs]
    if len(words) > 6:
        words = [*words[:5], "…", words[-1]]
    one = len(words) == 1 and len(runs[0]) == 1
    turns = f"turn{'' if one else 's'} {', '.join(words)}" if words else ""
    return " and ".join([*(["the opening"] if 0 in numbers else []), *([turns] if turns else [])])


def _count(things: Sequence[Any], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _place(origin: str, turn: int) -> str:
    return _NAMES.get(origin, origin) + (f" of turn {turn}" if turn else "")


def _quote(text: str, longest: int = 40) -> str:
    return repr(text if len(text) <= longest else text[: longest - 1] + "…")


# -- the ends of the prompt


def _bos(prompt: Prompt, tokenizer: Any) -> Iterator[Lint]:
    bos = getattr(tokenizer, "bos_token_id", None)
    if bos is None or prompt.token_ids[:1] != (bos,):
        return
    name = tokenizer.bos_token
    if prompt.token_ids[:2] == (bos, bos):
        yield Lint(
            "double_bos",
            f"The prompt begins with {name} twice, which models are not trained on: take it out of "
            "the config's text or of the template.",
            (0, prompt.offsets[1][1]) if prompt.offsets else None,
        )
    if list(tokenizer("a")["input_ids"])[:1] == [bos]:
        yield Lint(
            "bos_hint",
            f"The template writes {name}, and this tokenizer would add another by default: here "
            "that is switched off, so do the same in your trainer (add_special_tokens=False).",
            (0, prompt.offsets[0][1]) if prompt.offsets else None,
        )


def _start(prompt: Prompt, config: PromptConfig) -> Iterator[Lint]:
    if not prompt.spans or prompt.spans[-1].origin != "forced_start":
        return
    start, end = prompt.spans[-1][:2]
    forced = prompt.text[start:end]
    # Only what the template itself opened: a response may well end with these words.
    opened = prompt.text[prompt.spans[-2].start : start] if prompt.spans[:-1] else ""
    bare = opened.rstrip()
    if forced.strip() and bare.endswith(forced.strip()):
        yield Lint(
            "doubled_start",
            f"The template already opens the answer with {forced.strip()}, and the forced start "
            f'writes it again: set {_start_field(config)} to "", or use a template that leaves '
            "it out.",
            (start - len(opened) + len(bare) - len(forced.strip()), end),
        )
    elif bare.endswith("<think>"):
        yield Lint(
            "open_thought",
            f"The template opens <think>, and the forced start {forced} follows without closing "
            "it: set enable_think: true, or use the template without thinking.",
            (start - len(opened) + len(bare) - len("<think>"), end),
        )


def _start_field(config: PromptConfig) -> str:
    return "forced_think_start" if config.enable_think else "forced_start"


# -- its tokens


def _control_inside(prompt: Prompt, config: PromptConfig) -> Iterator[Lint]:
    """One lint for each stretch of content that holds control tokens, at the first of them.

    The tags that the format asks for are meant, where a tokenizer has them (Qwen's <think>).
    """
    if not prompt.offsets:
        return
    tags = {*re.findall(r"</?\w+>", config.format_text + config.format_think_text)}
    starts = [span.start for span in prompt.spans]
    found: dict[Span, list[tuple[int, int]]] = {}
    for index in prompt.control:
        place = prompt.offsets[index]
        span = prompt.spans[bisect_right(starts, place[0]) - 1]
        if span.origin not in _NOT_CONTENT and prompt.text[slice(*place)] not in tags:
            found.setdefault(span, []).append(place)
    for span, places in found.items():
        first = prompt.text[slice(*places[0])]
        more = f" and {_count(places[1:], 'more such token')}" if places[1:] else ""
        yield Lint(
            "control_inside",
            f"{_place(span.origin, span.turn).capitalize()} holds {first}{more}, which the model "
            "reads as a control token and not as text: remove it, or put it into "
            "special_token_list.",
            places[0],
        )


def _rewritten(prompt: Prompt, tokenizer: Any) -> Iterator[Lint]:
    """Only a tokenizer with a normaliser can do it, and only decoding tells what it did."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or backend.normalizer is None or not prompt.offsets:
        return
    read = backend.decode(list(prompt.token_ids), skip_special_tokens=False)
    if read == prompt.text:
        return
    at = next(
        (i for i, pair in enumerate(zip(read, prompt.text, strict=False)) if pair[0] != pair[1]),
        min(len(read), len(prompt.text)),
    )
    yield Lint(
        "rewritten",
        f"The tokenizer itself rewrites some characters (the first is {prompt.text[at : at + 1]!r} "
        f"at character {at + 1:,}, which the model reads as {read[at : at + 1]!r}): write them in "
        "a form that it keeps, where the difference matters.",
        (at, min(at + 1, len(prompt.text))),
    )


def _context(prompt: Prompt, limit: int) -> Iterator[Lint]:
    count = len(prompt.token_ids)
    if limit >= _NO_LIMIT or count <= _NEAR * limit:
        return
    if count <= limit:
        yield Lint(
            "near_context",
            f"The prompt has {count:,} of the {limit:,} tokens that the model can read, which "
            f"leaves {limit - count:,} for the answer: nothing is cut here, so shorten the texts "
            "or play fewer turns.",
        )
        return
    span = (prompt.offsets[limit][0], len(prompt.text)) if prompt.offsets else None
    yield Lint(
        "over_context",
        f"The prompt has {count:,} tokens and the model can read {limit:,}: nothing is cut here, "
        f"but the last {count - limit:,} are more than it was made for (a server may refuse or cut "
        "them), so shorten the texts or play fewer turns.",
        span,
    )


# -- what was sampled


def _drift(
    sampled: Iterable[tuple[Sequence[int], str]], config: PromptConfig, tokenizer: Any
) -> Iterator[Lint]:
    """A trainer that encodes the raw response again must get what the model read and wrote."""
    special = set(getattr(tokenizer, "all_special_ids", ()))
    start = config.response_start
    start_ids, _ = tokenize(tokenizer, start)
    turns: list[Change] = []
    for number, (ids, raw) in enumerate(sampled, start=1):
        if not ids:
            continue
        written = (*start_ids, *ids) if raw.startswith(start) else tuple(ids)
        again, _ = tokenize(tokenizer, raw)
        if [i for i in again if i not in special] != [i for i in written if i not in special]:
            turns.append(Change(0, "changed", "response", number, ""))
    if turns:
        yield Lint(
            "drift",
            f"The response of {_turns(turns)} has other token ids when its text is encoded again "
            "than the model sampled: train on the sampled ids, never on the text.",
        )
