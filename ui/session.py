"""What one visitor's tab holds: an immutable value, replaced by every event.

The prompt that is shown is rendered here once, kept, and handed to whoever answers; so what a turn
records as sent is the object that was on the screen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from agents import Reply
from errors import UserError
from play import Episode
from prompting import Prompt

# From a session to the tokenizer (or processor) that renders its prompts.
Tokenizers = Callable[["Session"], Any]

MAIN = "main"  # the branch that every episode begins on


@dataclass(frozen=True, eq=False)  # told apart by identity: to compare them would take long
class Session:
    """One visitor's state.

    Attributes:
        model: the name in models.yaml whose chat template renders the prompt.
        prompt: the next prompt, or None where it cannot be rendered; `refusal` then says why.
        look: the number of the earlier turn that is looked at, or None for now.
        live: what the model has said so far while it answers, or what it said when it was stopped.
        thinking: the model is answering; moves wait. loading: its weights come first.
        message: what the last action could not do, in words; empty when all went well.
        serial: counts the events, so that the page sees an answer even to an event without effect.
        template: a chat template (Jinja) in place of the model's own, or None.
        sampled_ids: prompts go on from the ids that the model sampled, see `Episode.prompt`.
        branch: the name of the branch that `episode` is; `branches` holds all others as they were
            left.
    """

    episode: Episode
    model: str
    prompt: Prompt | None = None
    refusal: str = ""
    look: int | None = None
    live: Reply | None = None
    thinking: bool = False
    loading: bool = False
    message: str = ""
    serial: int = 0
    template: str | None = None
    sampled_ids: bool = False
    branch: str = MAIN
    branches: tuple[tuple[str, Episode], ...] = ()

    def with_episode(self, episode: Episode, tokenizer: Tokenizers) -> Session:
        """The same tab with another episode, and the prompt that comes next in it."""
        return replace(self, episode=episode, look=None, live=None).rendered(tokenizer)

    def told(self, message: str = "") -> Session:
        """The same after one more event, with what it could not do, if anything."""
        return replace(self, message=message, serial=self.serial + 1)

    def rendered(self, tokenizer: Tokenizers) -> Session:
        """Render the next prompt; a template's refusal or a missing model becomes `refusal`."""
        try:
            # When the episode is over nothing more is sent, so what it trains on is shown instead.
            prompt = self.episode.prompt(
                tokenizer(self), training=self.episode.over, sampled_ids=self.sampled_ids
            )
        except UserError as error:
            return replace(self, prompt=None, refusal=str(error))
        return replace(self, prompt=prompt, refusal="")

    # -- branches

    def forked(self, episode: Episode, why: str, tokenizer: Tokenizers) -> Session:
        """Go on with `episode` on a branch of its own; the one in hand is kept as it is."""
        names = {self.branch, *(name for name, _ in self.branches)}
        number = next(n for n in range(2, len(names) + 3) if not _numbered(names, n))
        kept = (*self.branches, (self.branch, self.episode))
        moved = replace(self, branch=f"{number}: {why}", branches=kept)
        return moved.with_episode(episode, tokenizer)

    def switched(self, name: str, tokenizer: Tokenizers) -> Session:
        """Go on with another branch; an unknown name changes nothing."""
        found = dict(self.branches)
        if name not in found:
            return self
        rest = tuple(pair for pair in self.branches if pair[0] != name)
        kept = (*rest, (self.branch, self.episode))
        return replace(self, branch=name, branches=kept).with_episode(found[name], tokenizer)

    @property
    def branch_names(self) -> list[str]:
        """All branches, the main one first, then in the order of their numbers."""
        names = [self.branch, *(name for name, _ in self.branches)]
        return sorted(
            names, key=lambda name: (name != MAIN, int(name.split(":")[0]) if name != MAIN else 0)
        )

    def act(self, action: str, tokenizer: Tokenizers) -> Session:
        """One thing a person does on the board: "1" to "4" move, "undo", "redo" or "reset"."""
        if action in ("undo", "redo", "reset"):
            return self.with_episode(getattr(self.episode, action)(), tokenizer)
        return self.with_episode(self.episode.act(int(action), prompt=self.sent), tokenizer)

    def seen(self, view: str, tokenizer: Tokenizers) -> Prompt | None:
        """The prompt that a view shows: what was or is sent, or what a trainer reads of it."""
        if view != "training":
            # The very object that was sent, or that will be.
            return self.episode.turns[self.look - 1].prompt if self.look else self.prompt
        if self.prompt is None:
            return None
        turns = self.look or len(self.episode.turns)
        episode = self.episode.undo(len(self.episode.turns) - turns)
        return episode.prompt(tokenizer(self), training=True)

    def at(self, place: str, tokenizer: Tokenizers) -> Prompt | None:
        """What a diff compares with: the prompt of a turn ("3"), or the next one of a branch.

        Any other place is the turn before; None where there is none. A prompt that was never sent,
        since its past was changed later, is rendered.
        """
        episode = dict(self.branches).get(place)
        if episode is None:
            turns = self.episode.turns
            known = place.isdecimal() and 1 <= int(place) <= len(turns)
            number = int(place) if known else len(self.past.turns)
            if number == 0 or turns[number - 1].prompt is not None:
                return turns[number - 1].prompt if number else None
            episode = self.episode.undo(len(turns) - number + 1)
        return replace(self, episode=episode, look=None).rendered(tokenizer).prompt

    @property
    def places(self) -> list[str]:
        """Every turn and other branch that `at` knows."""
        turns = range(1, len(self.episode.turns) + 1)
        return [*map(str, turns), *(name for name, _ in self.branches)]

    @property
    def sent(self) -> Prompt | None:
        """The prompt that an answer given now answers."""
        return None if self.episode.over else self.prompt

    @property
    def past(self) -> Episode:
        """The episode as it stood when the turn that is looked at was asked for."""
        if self.look is None:
            return self.episode
        return self.episode.undo(len(self.episode.turns) - self.look + 1)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Session:
        return self  # nothing can change it


def _numbered(names: set[str], number: int) -> bool:
    return any(name.startswith(f"{number}:") for name in names)
