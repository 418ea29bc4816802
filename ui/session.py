"""What one visitor's tab holds: an immutable value, replaced by every event.

The prompt that is shown is rendered here once, kept, and handed to whoever answers; so what a turn
records as sent is the object that was on the screen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from agents import Reply
from envs.sokoban import Level, format_rle
from errors import UserError
from play import Episode
from prompting import Prompt


@dataclass(frozen=True)
class Session:
    """One visitor's state.

    Attributes:
        model: the name in models.yaml whose chat template renders the prompt.
        prompt: the next prompt, or None where it cannot be rendered; `refusal` then says why.
        look: the number of the earlier turn that is looked at, or None for now.
        live: what the model has said so far while it answers, or what it said when it was stopped.
        thinking: the model is answering; moves wait.
        message: what the last action could not do, in words; empty when all went well.
        serial: counts the events, so that the page sees an answer even to an event without effect.
        home: the level that an address without a query opens.
    """

    episode: Episode
    model: str
    prompt: Prompt | None = None
    refusal: str = ""
    look: int | None = None
    live: Reply | None = None
    thinking: bool = False
    message: str = ""
    serial: int = 0
    home: Level | None = None

    def with_episode(self, episode: Episode, tokenizer: Callable[[str], Any]) -> Session:
        """The same tab with another episode, and the prompt that comes next in it."""
        return replace(self, episode=episode, look=None, live=None).rendered(tokenizer)

    def rendered(self, tokenizer: Callable[[str], Any]) -> Session:
        """Render the next prompt; a template's refusal or a missing model becomes `refusal`."""
        try:
            # When the episode is over nothing more is sent, so what it trains on is shown instead.
            prompt = self.episode.prompt(tokenizer(self.model), training=self.episode.over)
        except UserError as error:
            return replace(self, prompt=None, refusal=str(error))
        return replace(self, prompt=prompt, refusal="")

    def act(self, action: str, tokenizer: Callable[[str], Any]) -> Session:
        """One thing a person does on the board: "1" to "4" move, "undo", "redo" or "reset"."""
        if action in ("undo", "redo", "reset"):
            return self.with_episode(getattr(self.episode, action)(), tokenizer)
        return self.with_episode(self.episode.act(int(action), prompt=self.sent), tokenizer)

    def seen(self, view: str, tokenizer: Callable[[str], Any]) -> Prompt | None:
        """The prompt that a view shows: what was or is sent, or what a trainer reads of it."""
        if view != "training":
            return self.episode.turns[self.look - 1].prompt if self.look else self.prompt
        if self.prompt is None:
            return None
        turns = self.look or len(self.episode.turns)
        episode = self.episode.undo(len(self.episode.turns) - turns)
        return episode.prompt(tokenizer(self.model), training=True)

    @property
    def sent(self) -> Prompt | None:
        """The prompt that an answer given now answers."""
        return None if self.episode.over else self.prompt

    @property
    def address(self) -> str:
        """The query that reopens this level with these moves; the responses are not in it."""
        if self.episode.level == self.home and not self.episode.turns:
            return ""
        moves = "".join("?udlr"[turn.action] for turn in self.episode.turns)
        level = quote(format_rle(self.episode.level), safe="|@$.*+-")
        return f"?level={level}" + (f"&moves={moves.replace('?', '')}" if moves else "")

    @property
    def past(self) -> Episode:
        """The episode as it stood when the turn that is looked at was asked for."""
        if self.look is None:
            return self.episode
        return self.episode.undo(len(self.episode.turns) - self.look + 1)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Session:
        return self  # nothing can change it
