"""An episode as one JSON text that holds everything needed to show each turn's prompt again.

Nothing is rendered anew on loading: text, token ids, offsets and spans of every prompt that was
sent are in the file, each as what it keeps of the turn before and what it adds, since a prompt
mostly extends the last. A damaged or foreign file is refused with the place and what to do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents import Reply
from configs.schema import PromptConfig
from envs.sokoban import Level, SokobanEnv, format_xsb, parse_level
from errors import UserError
from play.episode import Episode
from play.fit import check_fits
from play.turn import Turn, Verdict
from prompting import Change, Prompt, Span
from prompting.formatter import Origin

FORMAT = "prompt-playground-episode"
VERSION = 1


class EpisodeFileError(UserError):
    """A file that is not a saved episode, is damaged, or comes from another version."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Addition(_Record):
    """A sequence as what it keeps from its predecessor's front, and what follows."""

    keep: Annotated[int, Field(ge=0)]
    add: Any


class _PromptRecord(_Record):
    text: _Addition
    token_ids: _Addition
    offsets: _Addition
    spans: _Addition
    changes: _Addition
    control: _Addition


class _TurnRecord(_Record):
    state: str
    actions_left: Annotated[int, Field(ge=0)]
    llm_raw_response: str
    llm_response: str
    reward: float
    action: Annotated[int, Field(ge=0, le=4)]
    problem: str | None = None
    note: str | None = None
    by: str = "person"
    prompt: _PromptRecord | None = None
    reply: Reply | None = None
    verdict: Verdict | None = None


class _File(_Record):
    format: Literal["prompt-playground-episode"]
    version: Literal[1]
    level: str
    prompt_config: PromptConfig
    turns: list[_TurnRecord]
    undone: Annotated[int, Field(ge=0)] = 0


class _ParsedPrompt(_Record):
    """The types that the sequences of a prompt must have, checked once they are put together."""

    text: str
    token_ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    spans: tuple[tuple[int, int, Origin, int], ...]
    changes: tuple[tuple[int, Literal["trimmed", "changed", "dropped"], Origin, int, str], ...]
    control: tuple[int, ...]


def save_episode(episode: Episode) -> str:
    """The episode as JSON text, ending in a newline."""
    turns = (*episode.turns, *episode.undone)
    data = {
        "format": FORMAT,
        "version": VERSION,
        "level": format_xsb(episode.level),
        "prompt_config": episode.config.model_dump(mode="json"),
        "turns": list(_turn_records(turns)),
        "undone": len(episode.undone),
    }
    return json.dumps(data, ensure_ascii=False) + "\n"


def load_episode(text: str, *, where: str = "episode file") -> Episode:
    """Read what `save_episode` wrote.

    Raises:
        EpisodeFileError: it is not JSON, not an episode, of an unknown version, or its turns do not
            follow from its level.
    """
    record = _read(text, where)
    level = _level(record, where)
    try:
        check_fits(record.prompt_config)
    except UserError as error:
        raise EpisodeFileError(
            error.what, where=f"{where}, {error.where}", remedy=error.remedy
        ) from None
    done = len(record.turns) - record.undone
    if done < 0:
        raise _damaged("undone", f"{record.undone} of {len(record.turns)} turns are undone", where)
    turns = tuple(_turns(record, level, where))
    return Episode(level, record.prompt_config, turns[:done], turns[done:])


def _turn_records(turns: Iterable[Turn]) -> Iterable[dict[str, Any]]:
    before: Prompt | None = None
    plain = ("state", "actions_left", "llm_raw_response", "llm_response", "reward", "action")
    for turn in turns:
        data = {name: getattr(turn, name) for name in (*plain, "problem", "note", "by")}
        if turn.prompt is not None:
            data["prompt"] = {
                name: _addition(getattr(turn.prompt, name), getattr(before, name, ()))
                for name in _PromptRecord.model_fields
            }
            before = turn.prompt
        for name in ("reply", "verdict"):
            if getattr(turn, name) is not None:
                data[name] = asdict(getattr(turn, name))
        yield data


def shared(before: Sequence[Any], now: Sequence[Any]) -> int:
    """How many leading items of two sequences are equal."""
    low, high = 0, min(len(before), len(now))
    while low < high:  # by bisection, since slices compare quickly
        middle = (low + high + 1) // 2
        if before[low:middle] == now[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _addition(sequence: Sequence[Any], before: Sequence[Any]) -> dict[str, Any]:
    keep = shared(before, sequence)
    return {"keep": keep, "add": sequence[keep:]}


def _read(text: str, where: str) -> _File:
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise EpisodeFileError(
            f"this is not JSON: {getattr(error, 'msg', 'it is nested too deeply')}",
            where=where,
            line=getattr(error, "lineno", None),
            column=getattr(error, "colno", None),
            remedy="Choose a file that this playground saved",
        ) from None
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise EpisodeFileError(
            f"this is JSON, but not a saved episode: its `format` is not {FORMAT!r}",
            where=where,
            remedy="Choose a file that this playground saved",
        )
    if data.get("version") != VERSION:
        raise EpisodeFileError(
            f"its format version is {data.get('version')!r}; this playground reads {VERSION}",
            where=where,
            remedy="Open it with the version of the playground that saved it",
        )
    try:
        # By JSON's own rules (a list may fill a tuple), which plain Python values would not meet.
        return _File.model_validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(step) for step in problem["loc"])
        raise _damaged(place, problem["msg"], where) from None


def _damaged(place: str, what: str, where: str) -> EpisodeFileError:
    return EpisodeFileError(
        f"{place}: {what}",
        where=where,
        remedy="The file is damaged: choose another copy. The episode in hand is unchanged",
    )


def _level(record: _File, where: str) -> Level:
    try:
        return parse_level(record.level, where=f"{where}, level")
    except UserError as error:
        raise _damaged("level", str(error), where) from None


def _turns(record: _File, level: Level, where: str) -> Iterable[Turn]:
    """The turns, with the boards that follow from the level; each state must be as recorded."""
    config = record.prompt_config
    env = SokobanEnv(level, max_steps=max(len(record.turns), 1))
    empty = Episode(level, config)
    env.reset()
    before: Prompt | None = None
    for number, data in enumerate(record.turns, start=1):
        if data.state != empty.vocabulary.text(env.board):
            raise _damaged(f"turn {number}", "its state does not follow from the level", where)
        if number > 1 and env.board.solved:
            raise _damaged(f"turn {number}", "the level was solved before it", where)
        env.step(data.action)
        if data.prompt is not None:
            before = _prompt(data.prompt, before, number, where)
        fields = {name: getattr(data, name) for name in _TurnRecord.model_fields}
        fields["prompt"] = before if data.prompt is not None else None
        yield Turn(**fields, after=env.snapshot())


def _prompt(record: _PromptRecord, before: Prompt | None, number: int, where: str) -> Prompt:
    try:
        whole: dict[str, Any] = {}
        for name in _PromptRecord.model_fields:
            part: _Addition = getattr(record, name)
            kept = getattr(before, name, "" if name == "text" else ())[: part.keep]
            if len(kept) != part.keep:
                raise ValueError(f"{name} keeps more than the turn before has")
            whole[name] = [*kept, *part.add] if name != "text" else f"{kept}{part.add}"
        checked = _ParsedPrompt(**whole)
    except (ValidationError, ValueError, TypeError) as error:
        first = str(error).splitlines()[0]
        raise _damaged(f"turn {number}, prompt", first, where) from None
    if problem := _incoherence(checked):
        raise _damaged(f"turn {number}, prompt", problem, where)
    return Prompt(
        text=checked.text,
        token_ids=checked.token_ids,
        offsets=checked.offsets,
        spans=tuple(Span(*span) for span in checked.spans),
        changes=tuple(Change(*change) for change in checked.changes),
        control=checked.control,
    )


def _incoherence(prompt: _ParsedPrompt) -> str | None:
    """How the parts of a prompt contradict each other, or None."""
    bounds = [0, *(span[1] for span in prompt.spans)]
    if [span[0] for span in prompt.spans] != bounds[:-1] or bounds[-1] != len(prompt.text):
        return "its spans do not cover its text"
    if prompt.offsets and len(prompt.offsets) != len(prompt.token_ids):
        return "it has not one offset for each token"
    if any(not 0 <= index < len(prompt.token_ids) for index in prompt.control):
        return "a control token is none of its tokens"
    return None
