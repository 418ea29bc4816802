"""Another past: forks and edits of earlier turns, each on a branch of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from errors import UserError
from play import Episode
from ui.session import Session

if TYPE_CHECKING:
    from ui.handlers import Handlers


class Past:
    """The handlers of the history's edits; the original is never lost."""

    def __init__(self, core: Handlers) -> None:
        self._core = core

    def fork(self, session: Session) -> Session:
        """A branch that goes on from the turn that is looked at, or from now."""
        number = session.look or len(session.episode.turns) + 1
        return session.forked(session.past, f"from turn {number}", self._core.tokenizer).told()

    def edit_response(self, session: Session, raw: str) -> Session:
        """A branch in which the turn that is looked at was answered otherwise."""
        return self._edited(
            session, "answers anew", lambda turn: session.episode.with_response(turn, raw)
        )

    def edit_reward(self, session: Session, reward: float | None) -> Session:
        """A branch in which the turn that is looked at was paid otherwise."""
        if reward is None:
            return session.told("Give the reward as a number.")
        return self._edited(
            session, "pays anew", lambda turn: session.episode.with_reward(turn, reward)
        )

    def drop(self, session: Session) -> Session:
        """A branch without the turn that is looked at."""
        return self._edited(session, "is dropped", session.episode.without_turn)

    def _edited(self, session: Session, why: str, edit: Callable[[int], Episode]) -> Session:
        if session.look is None:
            return session.told("Choose a turn in the history first.")
        try:
            episode = edit(session.look)
        except UserError as error:
            return session.told(str(error))
        return session.forked(episode, f"turn {session.look} {why}", self._core.tokenizer).told()

    def switch(self, session: Session, branch: str) -> Session:
        """Another branch."""
        return session.switched(branch, self._core.tokenizer).told()
