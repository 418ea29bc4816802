"""What four real chat templates do, said again in plain Python, to hold the page's claims against.

Each family writes a message as (front, body, back): the body is what it makes of the content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

Messages = list[dict[str, str]]
Part = tuple[str, int | None]  # text, and the message whose body it is; None: the template's own


@dataclass(frozen=True)
class Family:
    """`parts` renders the messages; `end` is its end-of-turn token; `lints` what a thinking episode
    gets beside what its texts bring; `bos` what a tokenisation by default would add again."""

    name: str
    package: str
    parts: Callable[[Messages], Iterator[Part]]
    opens: str
    end: str
    lints: frozenset[str]
    bos: str | None = None


def qwen(messages: Messages) -> Iterator[Part]:
    last_query = max(i for i, message in enumerate(messages) if message["role"] == "user")
    for index, message in enumerate(messages):
        yield f"<|im_start|>{message['role']}\n", None
        yield qwen_body(message, last=index > last_query), index
        yield "<|im_end|>\n", None


def qwen_body(message: dict[str, str], *, last: bool) -> str:
    """Thoughts go, but for the last response's, which gets one even where it has none."""
    content, thought = message["content"], ""
    if message["role"] != "assistant":
        return content
    if "</think>" in content:
        thought = content.split("</think>")[0].rstrip("\n").split("<think>")[-1].lstrip("\n")
        content = content.split("</think>")[-1].lstrip("\n")
    if not last:
        return content
    return "<think>\n" + thought.strip("\n") + "\n</think>\n\n" + content.lstrip("\n")


def llama(messages: Messages) -> Iterator[Part]:
    yield "<|begin_of_text|>", None
    for index, message in enumerate(messages):
        yield f"<|start_header_id|>{message['role']}<|end_header_id|>\n\n", None
        yield message["content"].strip(), index
        yield "<|eot_id|>", None


def gemma(messages: Messages) -> Iterator[Part]:
    yield "<bos>", None
    for index, message in enumerate(messages):
        role = "model" if message["role"] == "assistant" else "user"
        if index == 0 or messages[index - 1]["role"] != "system":
            yield f"<start_of_turn>{role}\n", None
        if message["role"] == "system":
            yield message["content"], index
            yield "\n\n", None
        else:
            yield message["content"].strip(), index
            yield "<end_of_turn>\n", None


def deepseek(messages: Messages) -> Iterator[Part]:
    yield "<｜begin▁of▁sentence｜>", None
    for index, message in enumerate(messages):
        if message["role"] != "system":
            yield f"<｜{message['role'].capitalize()}｜>", None
        yield message["content"], index
        if message["role"] == "assistant":
            yield "<｜end▁of▁sentence｜>", None


FAMILIES = (
    Family(
        "qwen3", "tokenizer-qwen3", qwen, "<|im_start|>assistant\n", "<|im_end|>",
        frozenset({"thought_dropped"}),
    ),
    Family(
        "llama3_1", "tokenizer-llama3_1", llama,
        "<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>",
        frozenset({"trimmed", "bos_hint"}), bos="<|begin_of_text|>",
    ),
    Family(
        "gemma3", "tokenizer-gemma3", gemma, "<start_of_turn>model\n", "<end_of_turn>",
        frozenset({"trimmed", "bos_hint"}), bos="<bos>",
    ),
    Family(
        "deepseek_v3", "tokenizer-deepseek_v3", deepseek,
        "<｜Assistant｜>", "<｜end▁of▁sentence｜>", frozenset(),
    ),
)  # fmt: skip
