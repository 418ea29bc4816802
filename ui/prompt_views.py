"""The exact prompt, in five views, as blocks of parts that the page binds through `textContent`.

In every view of the text itself the parts join to the prompt, character by character. Pure
functions; nothing here knows Gradio.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import regex
from PIL import Image

from play.storage import shared
from prompting import Content, ImagePart, Prompt
from prompting.lints import Lint
from ui.diff import diff_parts, first_break
from ui.session import Session

VIEWS = {
    "text": "Text",
    "messages": "Messages",
    "tokens": "Tokens",
    "diff": "Diff",
    "training": "Training",
}

ORIGINS = {
    "template": "template",
    "system": "system",
    "rules": "rules",
    "symbols": "symbols",
    "actions": "actions",
    "turn": "turn",
    "state": "state",
    "format": "format",
    "response": "response",
    "reward": "reward",
    "forced_start": "forced start",
}

# How many of the latest rewards are listed.
_SHOWN = 8
# What a reader sees as one character: a base with its marks, an emoji with its joiners.
_GRAPHEME = regex.compile(r"\X")

Part = list[Any]  # [text, origin, turn, mark, title]


def signed(number: float) -> str:
    """A reward as the prompt prints it, with a real minus sign."""
    return str(number).replace("-", "−")


def prompt_view(
    session: Session,
    view: str,
    prompt: Prompt | None,
    other: Prompt | None = None,
    *,
    lints: Sequence[Lint] = (),
    doubt: str = "",
    loss: Sequence[bool] = (),
    landings: Sequence[tuple[int, float]] = (),
) -> dict[str, Any]:
    """`prompt` in one of `VIEWS`, for now or for the turn that is looked at.

    Args:
        other: what the diff compares with; by default the prompt of the turn before.
        lints: what is to be said above it.
        doubt: why it may not be what the model reads.
        loss: for each token of a training view, whether a loss would cover it.
        landings: (token, reward) of a training view, where each reward lands.
    """
    shown: dict[str, Any] = {
        "kind": view,
        "text": prompt.text if prompt else "",
        "blocks": [],
        "images": [_data_url(image) for image in prompt.images] if prompt else [],
        "stats": [],
        "notes": [],
        "file": f"prompt-turn-{session.look or len(session.episode.turns) + 1}.txt",
        "end": bool(session.episode.turns) and session.look != 1,
        "serial": session.serial,
    }
    if view == "messages":
        return shown | _messages(session)
    if prompt is None:
        missing = "No prompt was rendered for this turn: no chat template was at hand then."
        problem = missing if session.look else session.refusal
        note = ["error", problem] if problem else ["wait", "The chat template is loading …"]
        return shown | {"notes": [note]}
    before = _before(session) if view != "training" else None
    shown["stats"] = _stats(prompt, before, session)
    shown["notes"] = [["warn", doubt]] * bool(doubt) + _notes(session, view, lints)
    if view == "diff":
        return shown | _diff(prompt, other or before, shown["notes"])
    parts = _token_parts(prompt) if view == "tokens" else _text_parts(prompt)
    if loss:
        parts = _marked(parts, _covered(prompt, loss), "loss")
        shown["stats"].append(f"{sum(loss):,} tokens under the loss (underlined)")
    if landings:
        places = [f"{signed(reward)} at token {token:,}" for token, reward in landings[-_SHOWN:]]
        more = "… " if len(landings) > _SHOWN else ""
        shown["notes"].append(
            ["hint", f"Rewards land at the ends of responses: {more}{', '.join(places)}."]
        )
    return shown | {"blocks": _chunks(parts)}


def _covered(prompt: Prompt, loss: Sequence[bool]) -> list[tuple[int, int]]:
    """The stretches of text whose tokens are all under the loss."""
    covered: list[tuple[int, int]] = []
    for (start, end), under in zip(prompt.offsets, loss, strict=True):
        if under and covered and start <= covered[-1][1]:
            covered[-1] = (covered[-1][0], max(end, covered[-1][1]))
        elif under:
            covered.append((start, end))
    return covered


def _marked(
    parts: Iterable[Part], stretches: Sequence[tuple[int, int]], mark: str
) -> Iterator[Part]:
    """The parts, cut where a stretch begins or ends, those inside one marked."""
    at = 0
    edges = sorted({edge for stretch in stretches for edge in stretch})
    starts = {start for start, _ in stretches}
    inside = False
    for text, *rest in parts:
        begin, end = at, at + len(text)
        while at < end:
            inside = at in starts or (inside and at not in edges)
            stop = min(end, next((edge for edge in edges if edge > at), end))
            origin, turn, old, title = rest
            piece = text[at - begin : stop - begin]
            yield [piece, origin, turn, mark if inside else old, title]
            at = stop


def _data_url(image: Any) -> str:
    """A picture (rows, columns, 3) as the page shows it beside the text."""
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def _diff(prompt: Prompt, other: Prompt | None, notes: list[list[str]]) -> dict[str, Any]:
    if other is None:
        note = ["look", "There is no earlier prompt to compare with: this is the first turn."]
        return {"blocks": _chunks(_text_parts(prompt)), "notes": [note, *notes]}
    parts = [[*part, ORIGINS[part[1]]] for part in diff_parts(other, prompt)]
    return {
        "blocks": _chunks(iter(parts)),
        "notes": [["look", first_break(other, prompt)], *notes],
    }


def _before(session: Session) -> Prompt | None:
    turns = session.past.turns
    return turns[-1].prompt if turns else None


def _stats(prompt: Prompt, before: Prompt | None, session: Session) -> list[str]:
    stats = [f"{len(prompt.token_ids):,} tokens", f"{len(prompt.text):,} characters"]
    if before is not None:
        more = len(prompt.token_ids) - len(before.token_ids)
        stats.append(f"{'+' if more >= 0 else '−'}{abs(more):,} this turn")
        stats.append(f"{shared(before.token_ids, prompt.token_ids):,} as in the turn before")
    if session.look and session.episode.turns[session.look - 1].reply:
        stats.append("ids shown = ids sent ✓")
    return stats


def _notes(session: Session, view: str, lints: Sequence[Lint]) -> list[list[str]]:
    notes = []
    if view == "training":
        notes.append(["look", "The training view: what a trainer reads, not what is sent."])
    elif session.look:
        notes.append(["look", f"This is what was sent at turn {session.look}."])
    elif session.episode.over:
        notes.append(
            ["over", "The episode is over and nothing more is sent: this is what it trains on."]
        )
    quiet = ("bos_hint",)
    notes += [["hint" if lint.kind in quiet else "warn", lint.message] for lint in lints]
    return notes


def _text_parts(prompt: Prompt) -> Iterator[Part]:
    """The spans, cut further where a control token begins or ends.

    A control token is "control" where the template wrote it, "foreign" inside a content.
    """
    control = iter([prompt.offsets[i] for i in prompt.control] if prompt.offsets else [])
    token = next(control, None)
    for span in prompt.spans:
        at = span.start
        while at < span.end:
            while token is not None and token[1] <= at:
                token = next(control, None)
            inside = token is not None and token[0] <= at
            stop = min(span.end, (token[1] if inside else token[0]) if token else span.end)
            mark = ""
            if inside:
                ours = span.origin in ("template", "forced_start")
                mark = "control" if ours else "foreign"
            yield [prompt.text[at:stop], span.origin, span.turn, mark, ORIGINS[span.origin]]
            at = stop


def _token_parts(prompt: Prompt) -> Iterator[Part]:
    """One part a token; tokens that share a grapheme (√, an emoji, é) are one part with all ids."""
    if not prompt.offsets:
        for index, token in enumerate(prompt.token_ids):
            yield [f"{token} ", "template", 0, "", f"token {index}, id {token}"]
        return
    control = set(prompt.control)
    whole = {match.start() for match in _GRAPHEME.finditer(prompt.text)}
    spans = iter(prompt.spans)
    span = next(spans, None)
    index = 0
    while index < len(prompt.token_ids):
        first, (start, end) = index, prompt.offsets[index]
        index += 1
        while index < len(prompt.offsets) and (
            prompt.offsets[index][0] < end or prompt.offsets[index][0] not in whole
        ):
            end = max(end, prompt.offsets[index][1])
            index += 1
        while span is not None and span.end <= start:
            span = next(spans, None)
        origin, turn = (span.origin, span.turn) if span else ("template", 0)
        ids = ", ".join(str(token) for token in prompt.token_ids[first:index])
        many = f"tokens {first}–{index - 1}, ids" if index - first > 1 else f"token {first}, id"
        mark = (
            "control" if first in control else "newline" if "\n" in prompt.text[start:end] else ""
        )
        yield [prompt.text[start:end], origin, turn, mark, f"{many} {ids} · {ORIGINS[origin]}"]


def _chunks(parts: Iterator[Part], size: int = 24) -> list[dict[str, Any]]:
    """Parts in runs of a fixed size: the page keeps those that did not change."""
    blocks = []
    while run := list(islice(parts, size)):
        blocks.append({"parts": run})
    return blocks


def _messages(session: Session) -> dict[str, Any]:
    messages = session.past.messages(training=session.past.over)
    blocks = [
        {"heading": message["role"], "parts": list(_content_parts(message["content"]))}
        for message in messages
    ]
    count = f"{len(messages)} messages"
    return {"blocks": blocks, "stats": [count, "as the chat template receives them"]}


def _content_parts(content: Any) -> Iterator[Part]:
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, ImagePart):
            yield ["[image]", "state", item.turn, "", "the board as a picture"]
            continue
        text = item["text"] if isinstance(item, dict) else item
        for piece in text.pieces if isinstance(text, Content) else []:
            yield [piece.text, piece.origin, piece.turn, "", ORIGINS[piece.origin]]
