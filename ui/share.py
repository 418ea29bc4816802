"""The page's address: a query that reopens the same level, turns, prompt config, template and view.

What is short is readable in it (a level as run-length rows, moves as LURD, shipped configs by
name); the rest is compressed. It comes back from anybody's browser, so it is read with care.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from configs import PlaygroundConfig, PromptConfig, dump_prompt_config, parse_prompt_config
from envs.sokoban import Level, format_rle, parse_level, read_lurd, write_lurd
from errors import UserError
from play import Episode
from prompting import canonical_response
from ui.session import Session

_MOST = 2_000_000  # characters that a compressed part may unfold to


@dataclass(frozen=True)
class Opened:
    """What an address asks for. `raws` are raw responses, oldest first."""

    level: Level
    prompt_config: PromptConfig
    raws: tuple[str, ...]
    view: str
    model: str
    template: str | None


def address(session: Session, view: str, config: PlaygroundConfig) -> str:
    """The query for this session and view; empty where it is what the page opens with."""
    episode = session.episode
    parts: dict[str, str] = {}
    if episode.level.board != Episode.start(config).level.board:
        parts["level"] = quote(format_rle(episode.level), safe="|@$.*+-")
    if episode.turns:
        parts |= _turns(episode)
    if episode.config != config.prompt:
        parts |= _config(episode.config, config)
    if session.template is not None:
        parts["template"] = _pack(session.template)
    if session.model != config.models.default:
        parts["model"] = quote(session.model, safe="")
    if view != "text":
        parts["view"] = view
    return "?" + "&".join(f"{key}={value}" for key, value in parts.items()) if parts else ""


def open_address(query: Mapping[str, str], config: PlaygroundConfig) -> Opened:
    """What a query asks for.

    Raises:
        UserError: a part of it cannot be read.
    """
    start = Episode.start(config)
    prompt_config = config.prompt
    if "prompt" in query:
        prompt_config = _named(query["prompt"], config)
    if "config" in query:
        prompt_config = parse_prompt_config(
            _unpack(query["config"], "config"), "config in the link"
        )
    level = parse_level(query["level"], where="level in the link") if "level" in query else None
    raws: tuple[str, ...] = ()
    if "moves" in query:
        actions = read_lurd(query["moves"], where="moves in the link")
        raws = tuple(canonical_response(action, prompt_config) for action in actions)
    elif "raw" in query:
        raws = _raws(_unpack(query["raw"], "raw"))
    return Opened(
        level=level or start.level,
        prompt_config=prompt_config,
        raws=raws,
        view=query.get("view", "text"),
        model=query.get("model", config.models.default),
        template=_unpack(query["template"], "template") if "template" in query else None,
    )


def _turns(episode: Episode) -> dict[str, str]:
    canonical = all(
        turn.action and turn.llm_raw_response == canonical_response(turn.action, episode.config)
        for turn in episode.turns
    )
    if canonical:
        actions = [turn.action for turn in episode.turns]
        return {"moves": write_lurd(episode.level.board, actions)}
    raws = [turn.llm_raw_response for turn in episode.turns]
    return {"raw": _pack(json.dumps(raws, ensure_ascii=False))}


def _config(prompt_config: PromptConfig, config: PlaygroundConfig) -> dict[str, str]:
    for name, text in config.prompts.items():
        if parse_prompt_config(text) == prompt_config:
            return {"prompt": quote(name, safe="")}
    return {"config": _pack(dump_prompt_config(prompt_config))}


def _named(name: str, config: PlaygroundConfig) -> PromptConfig:
    if name not in config.prompts:
        raise UserError(
            f"there is no prompt config {name!r}",
            where="prompt in the link",
            remedy=f"Choose one of {', '.join(config.prompts)}",
        )
    return parse_prompt_config(config.prompts[name], name)


def _raws(text: str) -> tuple[str, ...]:
    try:
        raws: Any = json.loads(text)
    except (ValueError, RecursionError):
        raws = None
    if not isinstance(raws, list) or not all(isinstance(raw, str) for raw in raws):
        raise _damaged("raw")
    return tuple(raws)


def _pack(text: str) -> str:
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def _unpack(text: str, part: str) -> str:
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        unfolded = zlib.decompressobj().decompress(data, _MOST)
        return unfolded.decode()
    except (ValueError, zlib.error):
        raise _damaged(part) from None


def _damaged(part: str) -> UserError:
    return UserError(
        "it is damaged", where=f"{part} in the link", remedy="Copy the whole link once more"
    )
