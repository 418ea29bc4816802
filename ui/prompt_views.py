"""The exact prompt, in five views, as blocks of parts that the page binds through `textContent`.

In every view of the text itself the parts join to the prompt, character by character. Pure
functions; nothing here knows Gradio.
"""

from __future__ import annotations

import base64
import io
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import regex
from PIL import Image

from play.storage import shared
from prompting import Content, ImagePart, Prompt
from prompting.lints import Lint, LintKind
from prompting.spans import Span
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

# What a lint's badge says; its sentence opens from there.
BADGES: dict[LintKind, str] = {
    "thought_dropped": "thought dropped",
    "trimmed": "text trimmed",
    "changed": "text changed",
    "double_bos": "two BOS",
    "bos_hint": "BOS",
    "doubled_start": "start doubled",
    "open_thought": "thought left open",
    "control_inside": "control token inside",
    "rewritten": "text rewritten",
    "near_context": "context nearly full",
    "over_context": "context exceeded",
    "drift": "drift",
}

# How many of the latest rewards are listed.
_SHOWN = 8
# What a reader sees as one character: a base with its marks, an emoji with its joiners. Only beside
# letters beyond ASCII, or at a Windows line end, can it be more than one code point.
_GRAPHEME = regex.compile(r"\X")
_PERHAPS_JOINED = re.compile(r"\r\n|[^\x00-\x7f]+")

_ORIGIN = {origin: index for index, origin in enumerate(ORIGINS)}

# [text, index of the origin in ORIGINS, turn, mark]. In the tokens' view a part is a run of pieces,
# most of them one token, and goes on with: the id of each piece, or its ids, and the characters
# (code points) in each.
Part = list[Any]


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
        lints: what is to be said above it, a badge each.
        doubt: why it may not be what the model reads.
        loss: for each token of a training view, whether a loss would cover it.
        landings: (token, reward) of a training view, where each reward lands.
    """
    shown: dict[str, Any] = {
        "kind": view,
        "blocks": [],
        "images": [_data_url(image) for image in prompt.images] if prompt else [],
        "stats": [],
        "notes": [],
        "badges": [],
        "file": f"prompt-turn-{session.look or len(session.episode.turns) + 1}.txt",
        "end": bool(session.episode.turns) and session.look != 1,
        "serial": session.serial,
    }
    if view == "messages":
        return shown | _messages(session) | {"text": prompt.text if prompt else ""}
    if prompt is None:
        missing = "No prompt was rendered for this turn: no chat template was at hand then."
        problem = missing if session.look else session.refusal
        note = ["error", problem] if problem else ["wait", "The chat template is loading …"]
        return shown | {"notes": [note]}
    before = _before(session) if view != "training" else None
    shown["stats"] = _stats(prompt, before, session)
    shown["notes"] = [["warn", doubt]] * bool(doubt) + _notes(session, view)
    shown["badges"] = [_badge(lint) for lint in lints]
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
    return shown | {"blocks": _chunks(parts, 96 if view == "tokens" else 24)}


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
            origin, turn, old = rest
            yield [text[at - begin : stop - begin], origin, turn, mark if inside else old]
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
    parts = ([text, _ORIGIN[origin], *rest] for text, origin, *rest in diff_parts(other, prompt))
    return {
        "text": prompt.text,
        "blocks": _chunks(parts),
        "notes": [["look", first_break(other, prompt)], *notes],
    }


def side_by_side(session: Session, other: Session) -> tuple[dict[str, Any], dict[str, Any]]:
    """The next prompts of two sessions, each with what "only" it has marked."""
    views = tuple(
        prompt_view(one, "text", one.prompt) | {"kind": "beside", "end": False}
        for one in (session, other)
    )
    if session.prompt is not None and other.prompt is not None:
        parts = [
            [text, _ORIGIN[origin], *rest]
            for text, origin, *rest in diff_parts(session.prompt, other.prompt)
        ]
        for view, here in zip(views, ("gone", "added"), strict=True):
            own = (part for part in parts if part[3] in ("", here))
            view["blocks"] = _chunks([*part[:3], "only" if part[3] else ""] for part in own)
    return views[0], views[1]


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


def _badge(lint: Lint) -> list[str]:
    """[kind, name, sentence]"""
    return ["hint" if lint.kind == "bos_hint" else "warn", BADGES[lint.kind], lint.message]


def _notes(session: Session, view: str) -> list[list[str]]:
    notes = []
    if view == "training":
        notes.append(["look", "The training view: what a trainer reads, not what is sent."])
    elif session.look:
        notes.append(["look", f"This is what was sent at turn {session.look}."])
    elif session.episode.over:
        notes.append(
            ["over", "The episode is over and nothing more is sent: this is what it trains on."]
        )
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
            yield [prompt.text[at:stop], _ORIGIN[span.origin], span.turn, mark]
            at = stop


def _token_parts(prompt: Prompt) -> Iterator[Part]:
    """Runs of tokens of one origin; those that share a grapheme (√, an emoji, é) are one piece."""
    tokens = prompt.token_ids
    if not prompt.offsets:
        words = [f"{token} " for token in tokens]
        yield ["".join(words), _ORIGIN["template"], 0, "", list(tokens), [*map(len, words)]]
        return
    firsts = _first_of_pieces(prompt)
    ids: list[Any] = [
        tokens[first] if end == first + 1 else tokens[first:end]
        for first, end in pairwise([*firsts, len(tokens)])
    ]
    places = [prompt.offsets[first][0] for first in firsts]
    lengths = [end - start for start, end in pairwise([*places, len(prompt.text)])]
    control = iter([bisect_right(firsts, index) - 1 for index in prompt.control])
    special = next(control, len(firsts))
    at = 0
    for span in (*prompt.spans, Span(0, len(prompt.text) + 1, "template")):
        until = bisect_left(places, span.end, at)
        while at < until:
            mark = "control" if special == at else ""
            stop = at + 1 if mark else min(until, special)
            text = prompt.text[places[at] : places[at] + sum(lengths[at:stop])]
            yield [text, _ORIGIN[span.origin], span.turn, mark, ids[at:stop], lengths[at:stop]]
            at = stop
            if mark:
                special = next(control, len(firsts))


def _first_of_pieces(prompt: Prompt) -> list[int]:
    """The index of the first token of each piece: where no token and no grapheme is cut."""
    inside = _inside_graphemes(prompt.text)
    reached = accumulate((end for _, end in prompt.offsets), max, initial=0)
    return [
        index
        for index, ((start, _), before) in enumerate(zip(prompt.offsets, reached, strict=False))
        if start >= before and start not in inside
    ]


def _inside_graphemes(text: str) -> set[int]:
    """The places where a cut would part what is seen as one character."""
    inside: set[int] = set()
    for match in _PERHAPS_JOINED.finditer(text):
        begin = max(0, match.start() - 1)
        inside.update(begin + at for at in _joints(text[begin : match.end() + 1]))
    return inside


@lru_cache(maxsize=1024)
def _joints(text: str) -> list[int]:
    """The same for a short text; a prompt says most of its symbols many times."""
    return [
        at for match in _GRAPHEME.finditer(text) for at in range(match.start() + 1, match.end())
    ]


def tokens_view(prompt: Prompt | None, serial: int) -> dict[str, Any]:
    """The tokens of the prompt that is shown: ids, and where each starts and ends.

    Places count UTF-16 units, as a browser does.
    """
    if prompt is None:
        return {"serial": serial, "ids": [], "starts": [], "ends": []}
    units = list(accumulate((1 + (ord(c) > 0xFFFF) for c in prompt.text), initial=0))
    return {
        "serial": serial,
        "ids": list(prompt.token_ids),
        "starts": [units[start] for start, _ in prompt.offsets],
        "ends": [units[end] for _, end in prompt.offsets],
    }


def _chunks(parts: Iterable[Part], size: int = 24) -> list[dict[str, Any]]:
    """Parts in runs of `size` pieces or more, each but the last one ending a line.

    So the page can keep the runs that did not change, and lay out each by itself.
    """
    blocks: list[dict[str, Any]] = []
    run: list[Part] = []
    count = 0
    for part in parts:
        run.append(part)
        count += len(part[4]) if len(part) > 4 else 1
        if count >= size and part[0].endswith("\n"):
            blocks.append({"parts": run})
            run, count = [], 0
    return [*blocks, {"parts": run}] if run else blocks


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
            yield ["[image]", _ORIGIN["state"], item.turn, ""]
            continue
        text = item["text"] if isinstance(item, dict) else item
        for piece in text.pieces if isinstance(text, Content) else []:
            yield [piece.text, _ORIGIN[piece.origin], piece.turn, ""]
