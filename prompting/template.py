"""From messages to the one string, and its token ids, that a model receives.

The tokenizer (or processor) is a protocol of this module's own, the part of transformers' that is
used; nothing here imports transformers or a model. What a template refuses becomes a
`TemplateRefusal` that says what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import ge
from typing import Any, Protocol

from jinja2 import TemplateError, TemplateSyntaxError

from configs.schema import PromptConfig
from errors import UserError
from prompting.formatter import ImagePart, opening_length
from prompting.spans import Change, Span, clean, trace
from prompting.tokens import control_tokens, tokenize

_WHITE = " \t\r\n▁"  # the last is how SentencePiece writes a space

# This many messages hold every pair of roles in a row: system, user (twice, where rewards stand
# alone), assistant.
_FEW = 6


class TemplateRefusal(UserError):
    """The chat template does not take these messages; the episode is not touched."""


class Tokenizer(Protocol):
    """What a transformers tokenizer offers and this package uses; a processor has a `tokenizer`."""

    def apply_chat_template(
        self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool
    ) -> Any: ...

    def __call__(self, text: str, **options: Any) -> Any: ...


@dataclass(frozen=True)
class Prompt:
    """What is shown and what is sent: one object, made once.

    Attributes:
        text: the string, byte for byte.
        token_ids: its token ids, without any that a tokenizer would add by itself.
        offsets: for each token the (start, end) of its characters in `text`; several tokens may
            share one character. Empty where the tokenizer cannot say, or images were expanded.
        spans: cover `text` without gap or overlap, and say where each stretch came from.
        changes: what the chat template did not take over as it was.
        control: indices of the tokens that are control tokens to this tokenizer.
        images: the pictures that go along, in the order of their placeholders.
        messages: what the chat template received, for a server that insists on rendering itself.
    """

    text: str
    token_ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...] = ()
    spans: tuple[Span, ...] = ()
    changes: tuple[Change, ...] = ()
    control: tuple[int, ...] = ()
    images: tuple[Any, ...] = field(default=(), compare=False)
    messages: tuple[dict[str, Any], ...] = field(default=(), compare=False)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Prompt:
        return self  # nothing can change it


def render_prompt(
    messages: Sequence[dict[str, Any]],
    tokenizer: Any,
    prompt_config: PromptConfig,
    *,
    training: bool = False,
    raw_responses: bool = False,
) -> Prompt:
    """Render `messages` through the chat template of `tokenizer` (or of a processor).

    Args:
        messages: what `format_messages` made, with the same `training` and `raw_responses`.
        tokenizer: a transformers tokenizer, or a processor that has one as `tokenizer`.
        training: the guide's `prepare_for_update`: no generation prompt and no forced start; with
            `raw_responses`, the first two messages' rendering is cut from the front as well.

    Raises:
        TemplateRefusal: the template refuses these messages, or there is none.
    """
    messages = list(messages)
    forced = "" if training else prompt_config.response_start
    rendered = _apply(tokenizer, messages, generation_prompt=not training) + forced
    text = clean(rendered, prompt_config.cleaning)
    first = 0
    if training and raw_responses:
        first = opening_length(prompt_config)
        text = _without_opening(text, messages[:first], tokenizer, prompt_config)
    end = len(text) - (len(forced) if text.endswith(forced) else 0)
    spans, changes = trace(
        text,
        messages[first:],
        prompt_config.cleaning,
        end=end,
        first=first,
        befores=_befores(tokenizer, messages, prompt_config)[first:],
    )
    if end < len(text):
        spans.append(Span(end, len(text), "forced_start"))
    images = tuple(_images(messages[first:]))
    token_ids, offsets = _tokenize(tokenizer, text, images)
    return Prompt(
        text=text,
        token_ids=token_ids,
        offsets=offsets,
        spans=tuple(spans),
        changes=tuple(changes),
        control=_control(tokenizer, text, token_ids, offsets),
        images=images,
        messages=tuple(messages),
    )


def with_sampled_ids(
    prompt: Prompt, before: Prompt, sampled: Sequence[int], text: str, tokenizer: Any
) -> Prompt:
    """`prompt` with the ids that a model really sampled, where re-encoding would give others.

    Args:
        before: the prompt that the model answered.
        sampled: the ids that it produced; `text` is what they read as, special tokens skipped.

    Returns:
        `prompt` itself where it does not go on with just that text after `before`: a response that
        the history shows otherwise has no sampled ids.
    """
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    known = before.text + text
    ids = list(sampled)
    while ids and control_tokens(tokenizer, (ids[-1],)):
        ids.pop()  # the template writes the end of the turn itself
    if not text or not prompt.text.startswith(known) or not prompt.offsets:
        return prompt
    ends = [len(tokenizer.decode(ids[: count + 1])) for count in range(len(ids))]
    if not ends or ends[-1] != len(text):
        return prompt
    places = [
        (len(before.text) + start, len(before.text) + end)
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    rest, offsets = tokenize(tokenizer, prompt.text[len(known) :])
    at = len(known)
    token_ids = (*before.token_ids, *ids, *rest)
    return replace(
        prompt,
        token_ids=token_ids,
        offsets=(*before.offsets, *places, *((at + a, at + b) for a, b in offsets)),
        control=control_tokens(tokenizer, token_ids),
    )


def _apply(tokenizer: Any, messages: list[dict[str, Any]], *, generation_prompt: bool) -> str:
    try:
        text = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=generation_prompt
        )
    except TemplateSyntaxError as error:
        raise TemplateRefusal(
            f"the chat template is not valid Jinja: {error.message}",
            where="chat template",
            line=error.lineno,
            remedy="Correct that line",
        ) from None
    except TemplateError as error:
        raise TemplateRefusal(
            f"the chat template refuses these messages: {error}",
            where="chat template",
            remedy=_way_out(str(error)),
        ) from None
    except (ValueError, TypeError, AttributeError) as error:
        # transformers raises ValueError where a tokenizer has no template at all; the others come
        # from a template that meets a content of a shape it does not expect.
        raise TemplateRefusal(
            f"the messages cannot be rendered: {' '.join(str(error).split())[:300]}",
            where="chat template",
            remedy="Choose a model with a chat template for such messages",
        ) from None
    return str(text)


def _way_out(refusal: str) -> str:
    words = refusal.lower()
    if "system" in words:
        return "Set `merge_system: true` to put the system text into the first user message"
    if "alternat" in words or "roles" in words:
        return "Set `merge_rewards: true` and `merge_system: true`, so that the two alternate"
    return "Change the prompt config as it says, or choose another model"


def _without_opening(
    text: str, opening: list[dict[str, Any]], tokenizer: Any, config: PromptConfig
) -> str:
    alone = clean(_apply(tokenizer, opening, generation_prompt=False), config.cleaning)
    if not text.startswith(alone):
        raise TemplateRefusal(
            "the opening rendered alone is not the beginning of the whole, so it cannot be cut off",
            where="chat template",
            remedy="Use the training view with canonical responses, or another model's template",
        )
    return text[len(alone) :]


def _befores(tokenizer: Any, messages: list[dict[str, Any]], config: PromptConfig) -> list[str]:
    """What the template writes right before each message's content; "" where that is not known.

    Learnt from how it renders a few words in the roles of the first messages. A user message is
    put at the end, since a template may treat a last response in its own way.
    """
    if not all(isinstance(message["content"], str) for message in messages):
        return [""] * len(messages)
    roles = [message["role"] for message in messages]
    few = [*roles[:_FEW], "user"] if roles[:_FEW][-1:] == ["assistant"] else roles[:_FEW]
    words = [f"Word{number}of{len(few)}" for number in range(len(few))]
    trial = [{"role": role, "content": word} for role, word in zip(few, words, strict=True)]
    try:
        text = clean(_apply(tokenizer, trial, generation_prompt=False), config.cleaning)
    except TemplateRefusal:
        return [""] * len(messages)
    known: dict[tuple[str | None, str], str] = {}
    at = 0
    for pair, word in zip(zip([None, *few[:-1]], few, strict=True), words, strict=True):
        found = text.find(word, at)
        if found >= 0:
            known.setdefault(pair, text[at:found])
            at = found + len(word)
    return [known.get(pair, "") for pair in zip([None, *roles[:-1]], roles, strict=True)]


def _images(messages: list[dict[str, Any]]) -> list[Any]:
    return [
        part.image
        for message in messages
        if isinstance(message["content"], list)
        for part in message["content"]
        if isinstance(part, ImagePart)
    ]


def _tokenize(
    tokenizer: Any, text: str, images: tuple[Any, ...]
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    if images:
        # The processor puts as many placeholder tokens as an image has patches, so the ids are its.
        ids = tokenizer(text=[text], images=list(images), add_special_tokens=False)["input_ids"]
        return tuple(int(token) for token in ids[0]), ()
    ids, offsets = tokenize(getattr(tokenizer, "tokenizer", tokenizer), text)
    return ids, _without_gaps(offsets, len(text))


def _control(
    tokenizer: Any,
    text: str,
    token_ids: tuple[int, ...],
    offsets: tuple[tuple[int, int], ...],
) -> tuple[int, ...]:
    """The control tokens. Some tokenizers (Gemma's) hold line breaks and indents among their added
    tokens too; white space controls nothing."""
    control = control_tokens(getattr(tokenizer, "tokenizer", tokenizer), token_ids)
    if not offsets:
        return control
    return tuple(index for index in control if text[slice(*offsets[index])].strip(_WHITE))


def _without_gaps(offsets: tuple[tuple[int, int], ...], end: int) -> tuple[tuple[int, int], ...]:
    """A character that no token owns (an accent that the tokenizer joined to its letter) goes to
    the token before it, so that the tokens together show the whole text."""
    starts, ends = [start for start, _ in offsets], [stop for _, stop in offsets]
    nexts = [*starts[1:], end][: len(offsets)]
    if all(map(ge, ends, nexts)):
        return offsets
    return tuple(zip(starts, map(max, ends, nexts), strict=True))
