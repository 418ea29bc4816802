"""From a prompt config and a history to the messages that a chat template receives.

This is the `_format_messages` of the prompt guide of ROLL / MARSHAL, piece by piece. It knows no
game, no tokenizer and no page. Contents are ordinary strings (or lists of parts, with pictures)
that also remember which piece of the config or the history each stretch came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any, Literal, NamedTuple

from configs.schema import PromptConfig
from errors import UserError
from prompting import history as turns

Origin = Literal[
    "template", "system", "rules", "symbols", "actions", "turn", "state", "format",
    "response", "reward", "forced_start",
]  # fmt: skip


class HistoryError(UserError):
    """A history that cannot be formatted, for example a turn without the response asked for."""


class Piece(NamedTuple):
    """A stretch of a message: its text, where it came from, and the turn (0: before the first)."""

    text: str
    origin: Origin
    turn: int = 0


class Content(str):
    """A message's text that remembers its pieces; in every other way a plain string."""

    pieces: tuple[Piece, ...]

    def __new__(cls, pieces: Sequence[Piece]) -> Content:
        content = super().__new__(cls, "".join(piece.text for piece in pieces))
        runs = groupby((piece for piece in pieces if piece.text), key=lambda piece: piece[1:])
        content.pieces = tuple(
            Piece("".join(piece.text for piece in run), *source) for source, run in runs
        )
        return content


class ImagePart(dict[str, str]):
    """The guide's `{"type": "image"}` part, with the picture that goes along as `image`."""

    def __init__(self, image: Any, turn: int) -> None:
        super().__init__(type="image")
        self.image, self.turn = image, turn


@dataclass
class _Draft:
    """A message being written: its role, and its pieces and pictures in order."""

    role: str
    parts: list[Piece | ImagePart] = field(default_factory=list)

    def text(self) -> Content:
        return _content(tuple(part for part in self.parts if isinstance(part, Piece)))

    def content_parts(self) -> Iterator[dict[str, str]]:
        """Text parts as long as they can be, with the image parts where they stand."""
        run: list[Piece] = []
        for part in [*self.parts, None]:
            if isinstance(part, Piece):
                run.append(part)
                continue
            if run:
                yield {"type": "text", "text": _content(tuple(run))}
                run = []
            if part is not None:
                yield part


def format_messages(
    prompt_config: PromptConfig,
    history: Sequence[Any],
    *,
    training: bool = False,
    raw_responses: bool = False,
) -> list[dict[str, Any]]:
    """The messages for `history`, as `{"role", "content"}` dictionaries.

    Args:
        prompt_config: the texts and switches; the defaults are the guide's own.
        history: turns, oldest first, each a dataclass or a mapping with the guide's keys `state`,
            `actions_left`, `llm_response`, `llm_raw_response`, `reward` (and `image`).
        training: the guide's `prepare_for_update`: the last turn's reward is left out, and so is a
            last turn that has only a state (unless `raw_responses`).
        raw_responses: use `llm_raw_response` in place of the canonical `llm_response`.

    Where any turn carries an image, every content is a list of parts, with an image part in the
    place of that turn's state text.

    Raises:
        HistoryError: a turn lacks the kind of response that was asked for, or its `actions_left`.
    """
    history = list(history)
    if training and not raw_responses and history and turns.is_open(history[-1]):
        history.pop()
    raw = raw_responses or prompt_config.history_response == "raw"

    drafts = _opening(prompt_config)
    for number, turn in enumerate(history, start=1):
        _add_heading(drafts, prompt_config, number)
        if turns.value(turn, "state") is not None or turns.value(turn, "image") is not None:
            drafts[-1].parts += _state_block(prompt_config, turn, number)
        response = _response(turn, raw, number)
        if response is not None:
            drafts.append(_Draft("assistant", [Piece(response, "response", number)]))
        reward = turns.value(turn, "reward")
        if reward is not None and not (training and number == len(history)):
            block = fill(prompt_config.reward_block, reward=turns.number_text(reward))
            drafts.append(_Draft("user", [Piece(text, "reward", number) for _, text in block]))
    return _messages(drafts)


def opening_length(prompt_config: PromptConfig) -> int:
    """How many messages the opening has: system and first user, or one where they are merged."""
    return 1 if prompt_config.merge_system else 2


def fill(template: str, **values: str) -> list[tuple[str | None, str]]:
    """Split `template` at its `{name}` placeholders: (None, literal) and (name, value) pairs.

    Only the names in `values` are placeholders; every other brace stays as it is, and values are
    never read again, so a state or a response may hold braces.
    """
    return [
        (name, values[name] if name else text) for name, text in _split(template, tuple(values))
    ]


@lru_cache(maxsize=256)
def _split(template: str, names: tuple[str, ...]) -> tuple[tuple[str | None, str], ...]:
    """(name, "") where a placeholder stands, (None, literal) between."""
    parts = re.split(rf"\{{({'|'.join(map(re.escape, names))})\}}", template)
    pieces = ((part, "") if index % 2 else (None, part) for index, part in enumerate(parts))
    return tuple((name, text) for name, text in pieces if name or text)


# A conversation grows by a turn at a time, and all before it is asked for again.
@lru_cache(maxsize=4096)
def _content(pieces: tuple[Piece, ...]) -> Content:
    return Content(pieces)


def _opening(config: PromptConfig) -> list[_Draft]:
    user = [Piece(config.env_instruction, "rules")]
    if config.grid_vocab:
        entries = (
            "".join(text for _, text in fill(config.vocab_entry, symbol=symbol, meaning=meaning))
            for symbol, meaning in config.grid_vocab.items()
        )
        text = config.vocab_heading + config.vocab_separator.join(entries)
        user.append(Piece(text, "symbols"))
    if config.action_lookup:
        names = config.actions_separator.join(config.action_lookup.values())
        user.append(Piece(config.actions_heading + names, "actions"))
    system = Piece(config.system_prompt, "system")
    if config.merge_system:
        return [_Draft("user", [system, Piece(config.system_joint, "system"), *user])]
    return [_Draft("system", [system]), _Draft("user", list(user))]


def _add_heading(drafts: list[_Draft], config: PromptConfig, number: int) -> None:
    heading = "".join(text for _, text in fill(config.turn_heading, turn=str(number)))
    if number > 1 and not config.merge_rewards:
        # A message of its own begins with the heading's words, as the guide prints it; a merged
        # one needs the line break that separates the heading from the reward before it.
        drafts.append(_Draft("user"))
        heading = heading.removeprefix("\n")
    drafts[-1].parts.append(Piece(heading, "turn", number))


def _state_block(config: PromptConfig, turn: Any, number: int) -> list[Piece | ImagePart]:
    actions_left = turns.value(turn, "actions_left")
    if actions_left is None:
        raise HistoryError(
            "the turn has a state but no actions_left",
            where=f"turn {number}",
            remedy="Give actions_left with every state",
        )
    image = turns.value(turn, "image")
    length = "".join(t for _, t in fill(config.length_text, max_tokens=str(config.max_tokens)))
    block = fill(
        config.state_block,
        state=turns.value(turn, "state") or "",
        actions_left=str(actions_left),
        format=config.format_think_text if config.enable_think else config.format_text,
        length=length,
    )
    parts: list[Piece | ImagePart] = []
    origin: Origin = "turn"
    for name, text in block:
        if name == "state":
            parts.append(
                Piece(text, "state", number) if image is None else ImagePart(image, number)
            )
            origin = "format"
        else:
            parts.append(Piece(text, origin, number))
    return parts


def _response(turn: Any, raw: bool, number: int) -> str | None:
    wanted, other = ("llm_raw_response", "llm_response")[:: 1 if raw else -1]
    response: str | None = turns.value(turn, wanted)
    if response is None and turns.value(turn, other) is not None:
        raise HistoryError(
            f"the turn has {other} but no {wanted}",
            where=f"turn {number}",
            remedy="Give both responses with every answered turn",
        )
    return response


def _messages(drafts: list[_Draft]) -> list[dict[str, Any]]:
    pictures = any(isinstance(part, ImagePart) for draft in drafts for part in draft.parts)
    return [
        {
            "role": draft.role,
            "content": list(draft.content_parts()) if pictures else draft.text(),
        }
        for draft in drafts
    ]
