"""An episode's prompts as a pytest file, for somebody else's trainer to be held to.

The file stands alone: it needs pytest, and transformers where its `render` is left as it is.
"""

from __future__ import annotations

from typing import Any

from play.episode import Episode
from play.exports import plain_messages, turn_prompts
from play.storage import shared


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
    prompts = list(turn_prompts(episode, tokenizer))
    # Every turn's messages begin the last turn's, so they are written down once.
    messages = plain_messages(prompts[-1][0] if prompts else episode.messages())
    cases, before = [], ""
    for some, prompt in prompts:
        keep = shared(before, prompt.text)
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
