"""Levels on the page: chosen, generated, opened, drawn; moves in and out; the referee's help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envs.sokoban import (
    ACTION_NAMES,
    Level,
    parse_level,
    parse_levels,
    read_lurd,
    write_lurd,
)
from errors import UserError
from play import Episode, referee
from play.episode import generated
from ui import levels as levels_view
from ui.files import read_upload
from ui.session import MAIN, Session

if TYPE_CHECKING:
    from ui.handlers import Handlers


class Shelf:
    """The handlers of everything that changes which level is played."""

    def __init__(self, core: Handlers) -> None:
        self._core = core

    def shipped(self) -> list[Level]:
        """The levels that come along."""
        return [parse_level(text, where=name) for name, text in self._core.config.levels.items()]

    def choose_level(self, session: Session, name: str) -> Session:
        """A shipped level, by its name."""
        return self._new(session, lambda: parse_level(self._core.config.levels[name], where=name))

    def generate(self, session: Session, seed: float | None) -> Session:
        """The level of a seed."""
        if seed is None or seed != int(seed) or not 0 <= seed < 2**53:
            return session.told(f"The seed is {seed}: give a whole number from 0 on.")
        return self._new(session, lambda: generated(int(seed), self._core.config.generator))

    def following(self, session: Session, seed: float | None) -> tuple[Session, int]:
        """The level of the next seed, and that seed."""
        seed = int(seed or 0) + 1
        return self.generate(session, seed), seed

    def paste_level(self, session: Session, text: str) -> Session:
        """The first level of a text in any format."""
        return self._new(session, lambda: parse_level(text, where="level"))

    def open_levels(
        self, session: Session, text: str, where: str = "level text"
    ) -> tuple[Session, list[Level] | None]:
        """Every level of a text for the shelf, the first one in play; None where there is none."""
        try:
            levels = parse_levels(text, where=where)
        except UserError as error:
            return session.told(str(error)), None
        return self._new(session, lambda: levels[0]), levels

    def open_file(self, session: Session, path: str) -> tuple[Session, list[Level] | None]:
        """Every level of an uploaded file, like `open_levels`."""
        try:
            text = read_upload(path)
        except UserError as error:
            return session.told(str(error)), None
        return self.open_levels(session, text, Path(path).name)

    def pick(self, session: Session, levels: Sequence[Level], data: Any) -> Session:
        """One of the levels on the shelf."""
        index = data.get("index") if isinstance(data, dict) else None
        if not isinstance(index, int) or not 0 <= index < len(levels):
            return session.told()
        return self._new(session, lambda: levels[index])

    def paint(self, session: Session, data: Any) -> dict[str, Any]:
        """What the editor says of what was painted; of anything else, the level in play."""
        try:
            return levels_view.painted_view(_rows(data))
        except UserError:
            return levels_view.editor_view(session.episode.level)

    def play_painted(self, session: Session, data: Any) -> Session:
        """The painted level, if it is one."""
        return self._new(session, lambda: levels_view.painted_level(_rows(data)))

    def play_moves(self, session: Session, lurd: str) -> Session:
        """The level in play from its start, with these moves as turns."""
        try:
            episode = session.episode.reset()
            tokenizer = self._core.tokenizer(session)
            for action in read_lurd(lurd, where="moves"):
                if episode.over:
                    break
                episode = episode.act(action, prompt=episode.prompt(tokenizer))
        except UserError as error:
            return session.told(str(error))
        return session.with_episode(episode, self._core.tokenizer).told()

    def moves(self, session: Session) -> str:
        """The moves so far as LURD, a push in upper case; invalid turns have no letter."""
        actions = [turn.action for turn in session.episode.turns if turn.action]
        return write_lurd(session.episode.level.board, actions)

    def help(self, session: Session, data: Any) -> tuple[Session, str, list[Sequence[str]]]:
        """What the referee was asked for: a rescue, a hint's action, or a solution's pictures."""
        what = data.get("what") if isinstance(data, dict) else None
        board = session.past.board
        if what == "rescue" and not session.thinking:
            number = referee.fatal_turn(session.episode, referee.known)
            if number is not None:
                back = session.episode.undo(len(session.episode.turns) - number + 1)
                return session.with_episode(back, self._core.tokenizer).told(), "", []
        if what == "hint" and (action := referee.hint(board)) is not None:
            names = session.episode.config.action_lookup or {}
            return session.told(), names.get(action, ACTION_NAMES[action]), []
        if what == "solution":
            return session.told(), "", levels_view.replay(board)
        return session.told(), "", []

    def _new(self, session: Session, level: Any) -> Session:
        try:
            episode = Episode.start(session.episode.config, level())
        except UserError as error:
            return session.told(str(error))
        alone = replace(session, thinking=False, branch=MAIN, branches=())
        return alone.with_episode(episode, self._core.tokenizer).told()


def _rows(data: Any) -> Any:
    return data.get("rows") if isinstance(data, dict) else None
