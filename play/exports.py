"""An episode in the forms that others read: fine-tuning files, a test file, an animated picture.

Every text here is rendered from the episode's own config by the tokenizer that is given, so the
lines agree with each other even where the config was changed after the turns were played. It knows
the formats, and no page, disk or network; a processor's pictures are left out.
"""

from __future__ import annotations

import io
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from envs.sokoban import ACTION_NAMES, rgb
from errors import UserError
from play.episode import Episode, Turn
from prompting import Prompt, format_messages, render_prompt
from prompting.tokens import tokenize

# -- fine-tuning files: one JSON value a line


def as_messages_jsonl(episodes: Iterable[Episode]) -> str:
    """OpenAI's fine-tuning format: a line `{"messages": [{"role", "content"}, …]}` an episode.

    The messages are those of the training view, so the last one is the assistant's. An episode
    without a turn has nothing to learn from and gets no line.
    """
    return _lines(
        {"messages": _plain(episode.messages(training=True))}
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
        for turn, (_, prompt) in zip(episode.turns, _prompts(episode, tokenizer), strict=False)
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


def _token_line(episode: Episode, tokenizer: Any) -> dict[str, Any]:
    messages = episode.messages(training=True)
    prompt = render_prompt(messages, tokenizer, episode.config, training=True)
    mask = loss_mask(prompt, tokenizer)
    responses = _responses(prompt)
    starts = [start for start, _ in prompt.offsets]
    rewards = []
    for number, turn in enumerate(episode.turns, start=1):
        if number in responses:
            last = bisect_left(starts, responses[number][1]) - 1
            # Floats throughout, since a column has one type.
            rewards.append([last, round(float(turn.reward), 10)])
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


def _prompts(episode: Episode, tokenizer: Any) -> Iterator[tuple[list[dict[str, Any]], Prompt]]:
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


def _plain(messages: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
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


# -- a test file


def as_pytest(episode: Episode, tokenizer_name: str, tokenizer: Any) -> str:
    """A pytest file with the episode's prompts as golden texts, for a trainer of one's own.

    The file stands alone: its `render(messages)` uses transformers until the reader puts their
    trainer's function there. It is plain ASCII but for letters and symbols that can be seen, so no
    text in it can hide what it says.

    Args:
        tokenizer_name: what `AutoTokenizer.from_pretrained` takes: a repository or a folder.
        tokenizer: the same tokenizer, to render the prompts with.

    Raises:
        TemplateRefusal: the chat template does not take these messages.
    """
    config = episode.config
    prompts = list(_prompts(episode, tokenizer))
    # Every turn's messages begin the last turn's, so they are written down once.
    messages = _plain(prompts[-1][0] if prompts else episode.messages())
    cases, before = [], ""
    for some, prompt in prompts:
        keep = _common(before, prompt.text)
        cases.append(f"    ({len(some)}, {keep}, {_literal(prompt.text[keep:], 8)}),\n")
        before = prompt.text
    rows = "".join(
        f"    {{'role': {m['role']!r}, 'content': {_literal(m['content'], 8)}}},\n"
        for m in messages
    )
    return _PYTEST.format(
        tokenizer=repr(tokenizer_name),
        forced_start=repr(config.response_start),
        cleaning=repr(config.cleaning),
        messages=rows,
        prompts="".join(cases),
    )


def _common(before: str, text: str) -> int:
    """How many characters at the front two texts share."""
    low, high = 0, min(len(before), len(text))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[:middle] == text[:middle] else (low, middle - 1)
    return low


def _literal(text: str, indent: int) -> str:
    """`text` as Python writes it, a line of it on a line."""
    lines = [repr(line) for line in text.split("\n")]
    if len(lines) == 1:
        return lines[0]
    whole = [repr(line + "\n") for line in text.split("\n")[:-1]]
    last = [lines[-1]] if lines[-1] != "''" else []
    space = "\n" + " " * indent
    return f"({space}{space.join([*whole, *last])}\n{' ' * (indent - 4)})"


_PYTEST = '''\
"""Golden prompts of one episode: the messages of each turn, and the exact text they must become.

Run it with `pytest`. To test your own trainer, let `render` call the trainer's function in place of
the lines that are there.
"""

from functools import lru_cache

import pytest

TOKENIZER = {tokenizer}
FORCED_START = {forced_start}
CLEANING = {cleaning}

# All messages of the last turn's prompt; each earlier prompt has the first so many of them.
MESSAGES = [
{messages}]

# For each turn: how many messages its prompt has, how many characters its text keeps from the front
# of the text before, and what follows them.
PROMPTS = [
{prompts}]


@lru_cache
def load_tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(TOKENIZER)


def render(messages):
    """The exact prompt for `messages`, up to where the model writes on."""
    text = load_tokenizer().apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True
    )
    text += FORCED_START
    for old, new in CLEANING:
        text = text.replace(old, new)
    return text


def cases():
    text = ""
    for turn, (count, keep, added) in enumerate(PROMPTS, start=1):
        text = text[:keep] + added
        yield pytest.param(MESSAGES[:count], text, id="turn %d" % turn)


@pytest.mark.parametrize(("messages", "text"), cases())
def test_prompt(messages, text):
    assert render(messages) == text
'''


# -- an animated picture

# Larger boards get smaller tiles, so that no side of the picture is longer (in pixels).
_LONGEST_SIDE = 1024
_HOLD = 2500  # milliseconds, of the last picture
_PACK = np.array([65536, 256, 1], np.int32)  # a colour as one number
_INK, _PAPER = (32, 33, 36), (250, 250, 248)


def as_gif(episode: Episode, tile: int = 32, milliseconds: int = 400) -> bytes:
    """An animated GIF of the episode, endless: the level, then a picture a turn, the last one held.

    Under the board a strip names the turn, its action and its reward.

    Args:
        tile: side of a cell in pixels, made smaller where the board would be over 1,024 pixels.
        milliseconds: how long each picture stands; a GIF counts in hundredths of a second.

    Raises:
        UserError: a tile or a time that is not positive.
    """
    for name, number in (("tile", tile), ("milliseconds", milliseconds)):
        if number < 1:
            raise UserError(f"{name} is {number}", where="GIF", remedy="Give a positive number")
    first = episode.level.board
    tile = max(1, min(tile, _LONGEST_SIDE // max(first.rows, first.columns)))
    boards = [first, *(turn.after.board for turn in episode.turns)]
    pictures = [rgb(board, tile=tile) for board in boards]
    captions = _captions(episode)
    font = _font(captions, pictures[0].shape[1])
    strip = 2 * round(font.size)
    frames = [
        _frame(picture, caption, font, strip)
        for picture, caption in zip(pictures, captions, strict=True)
    ]
    flat = _indexed(frames)
    data = io.BytesIO()
    flat[0].save(
        data,
        "GIF",
        save_all=True,
        append_images=flat[1:],
        duration=[milliseconds] * (len(flat) - 1) + [max(milliseconds, _HOLD)],
        loop=0,
        disposal=1,
        optimize=False,
    )
    return data.getvalue()


def _captions(episode: Episode) -> list[str]:
    """In the environment's own words, since the font has no letters but Latin ones."""
    captions = ["start"]
    for number, turn in enumerate(episode.turns, start=1):
        action = "INVALID" if turn.problem else ACTION_NAMES[turn.action]
        captions.append(f"turn {number}: {action}  {float(turn.reward):+g}")
    if episode.solved:
        captions[-1] += "  solved"
    return captions


def _font(captions: Sequence[str], width: int) -> ImageFont.FreeTypeFont:
    """The largest font, 8 to 15 pixels high, in which every caption fits."""
    size = 15
    while size > 8 and max(_new_font(size).getlength(text) for text in captions) > width - 8:
        size -= 1
    return _new_font(size)


def _new_font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont), "a size was asked for"
    return font


def _frame(
    picture: NDArray[np.uint8], caption: str, font: ImageFont.FreeTypeFont, strip: int
) -> Image.Image:
    height, width, _ = picture.shape
    frame = Image.new("RGB", (width, height + strip), _PAPER)
    frame.paste(Image.fromarray(picture), (0, 0))
    ImageDraw.Draw(frame).text((4, height + strip // 2), caption, _INK, font, anchor="lm")
    return frame


def _indexed(frames: Sequence[Image.Image]) -> list[Image.Image]:
    """The frames in one palette of at most 256 colours, the most frequent ones exactly as they are.

    Nothing is dithered: a flat colour stays flat. Boards have few flat colours and many mixed ones
    at the edges, so those that find no room, and take the nearest, are the ones seen least.
    (Pillow's own `quantize` rounds colours to steps of four, which shows.)
    """
    counts: Counter[tuple[int, int, int]] = Counter()
    for frame in frames:
        for count, colour in frame.getcolors(frame.width * frame.height) or ():
            counts[colour] += count  # type: ignore[index]
    colours = np.array([colour for colour, _ in counts.most_common()], np.int32)
    kept = colours[:256]
    nearest: NDArray[np.uint8] = np.zeros(1 << 24, np.uint8)
    for colour, packed in zip(colours, colours @ _PACK, strict=True):
        nearest[packed] = np.argmin(((kept - colour) ** 2).sum(axis=1))
    flat = []
    for frame in frames:
        image = Image.fromarray(nearest[np.asarray(frame) @ _PACK])
        image.putpalette(kept.astype(np.uint8).tobytes())
        flat.append(image)
    return flat
