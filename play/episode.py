"""The episode: an immutable value of a level, a prompt config and the turns taken so far.

Everything that is shown is computed from it, so undo, redo, reset, replay and sharing are all
"make another value". It puts `envs` and `prompting` together, and knows no page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from agents import Reply
from configs.schema import GeneratorConfig, PlaygroundConfig, PromptConfig
from envs.sokoban import (
    Board,
    EpisodeOver,
    Level,
    SokobanEnv,
    Vocabulary,
    as_level,
    generate_level,
    parse_level,
    rgb,
)
from envs.sokoban.env import Snapshot
from errors import UserError
from play.fit import action_number, check_fits
from play.turn import Turn
from prompting import (
    Prompt,
    canonical_response,
    complete_response,
    format_messages,
    parse_response,
    render_prompt,
    with_sampled_ids,
)


@dataclass(frozen=True)
class Episode:
    """A level, a prompt config and the turns so far; `undone` holds what `redo` brings back."""

    level: Level
    config: PromptConfig
    turns: tuple[Turn, ...] = ()
    undone: tuple[Turn, ...] = ()

    @classmethod
    def start(
        cls,
        config: PlaygroundConfig | PromptConfig,
        level: Level | Board | str | None = None,
        *,
        seed: int | None = None,
    ) -> Episode:
        """A new episode.

        Args:
            config: a whole playground config, or a prompt config alone.
            level: a `Level`, a `Board`, the text of a level file (its first level), or the name of
                a level that the playground config offers.
            seed: without a level, generate the level of this seed; with neither, take the
                playground config's level, or the level of seed 0.

        Raises:
            LevelError: the level is not valid.
            UserError: both level and seed are given, or the config's actions or symbols do not fit.
        """
        if level is not None and seed is not None:
            raise UserError(
                "both a level and a seed are given",
                where="Episode.start",
                remedy="Give one: a level to play, or a seed to generate one from",
            )
        playground = config if isinstance(config, PlaygroundConfig) else None
        prompt_config = config.prompt if isinstance(config, PlaygroundConfig) else config
        check_fits(prompt_config)
        if level is None and seed is None and playground is not None:
            level = playground.level
        if level is None:
            sizes = playground.generator if playground else GeneratorConfig()
            return cls(generated(seed or 0, sizes), prompt_config)
        if playground is not None and isinstance(level, str) and level in playground.levels:
            return cls(parse_level(playground.levels[level], where=level), prompt_config)
        return cls(as_level(level), prompt_config)

    # -- where the episode stands

    @property
    def snapshot(self) -> Snapshot:
        """The environment's state now."""
        return self.turns[-1].after if self.turns else Snapshot(self.level.board, 0, 0, 0)

    @property
    def board(self) -> Board:
        return self.snapshot.board

    @property
    def solved(self) -> bool:
        """Terminated by success; a level that starts solved still waits for its first turn."""
        return bool(self.turns) and self.board.solved

    @property
    def over(self) -> bool:
        """Terminated (solved) or truncated (no actions left)."""
        return self.solved or self.actions_left == 0

    @property
    def actions_left(self) -> int:
        return max(0, self.config.max_actions_per_traj - len(self.turns))

    @property
    def total_reward(self) -> float:
        return round(sum(turn.reward for turn in self.turns), 10)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.from_config(self.config.grid_vocab, self.config.grid_lookup)

    # -- what the model reads

    def history(self, *, images: bool = False) -> list[Any]:
        """The turns and, while the episode goes on, the open turn: the state to be answered.

        With `images`, every turn also carries its board's picture.
        """
        turns: list[Any] = list(self.turns)
        if not self.over:
            state = self.vocabulary.text(self.board)
            turns.append({"state": state, "actions_left": self.actions_left})
        if not images:
            return turns
        boards = [self.level.board, *(turn.after.board for turn in self.turns)]
        keys = ("state", "actions_left", "llm_response", "llm_raw_response", "reward")
        return [
            {key: turn.get(key) if isinstance(turn, dict) else getattr(turn, key) for key in keys}
            | {"image": rgb(board, tile=32)}
            for turn, board in zip(turns, boards, strict=False)
        ]

    def messages(
        self, *, training: bool = False, raw_responses: bool = False, images: bool = False
    ) -> list[dict[str, Any]]:
        """The messages that the chat template receives."""
        return format_messages(
            self.config,
            self.history(images=images),
            training=training,
            raw_responses=raw_responses,
        )

    def prompt(
        self,
        tokenizer: Any,
        *,
        training: bool = False,
        raw_responses: bool = False,
        sampled_ids: bool = False,
    ) -> Prompt:
        """The exact prompt that comes next; with a processor, the boards go along as pictures.

        Args:
            sampled_ids: go on from the ids that the model sampled for the last turn, where its
                response stands in the history as it came, in place of encoding its text anew.

        Raises:
            TemplateRefusal: the chat template does not take these messages.
        """
        images = hasattr(tokenizer, "image_processor")
        views: dict[str, bool] = {"training": training, "raw_responses": raw_responses}
        messages = self.messages(images=images, **views)
        prompt = render_prompt(messages, tokenizer, self.config, **views)
        last = self.turns[-1] if self.turns else None
        if not sampled_ids or training or last is None or not last.prompt or not last.reply:
            return prompt
        reply = last.reply
        return with_sampled_ids(prompt, last.prompt, reply.token_ids, reply.text, tokenizer)

    # -- making another value

    def respond(
        self,
        raw: str,
        *,
        by: str = "person",
        prompt: Prompt | None = None,
        reply: Reply | None = None,
    ) -> Episode:
        """Take a response through the parser and the environment: one more turn.

        Args:
            raw: the response; the forced start is put in front where it does not bring its own.
            prompt: the prompt that it answers, kept on the turn.

        Raises:
            EpisodeOver: the episode has ended.
        """
        if self.over:
            raise EpisodeOver(
                "the level is solved" if self.solved else "no actions are left",
                where=f"turn {len(self.turns) + 1}",
                remedy="Undo, reset, or start a new level",
            )
        raw = complete_response(_encodable(raw), self.config)
        parsed = parse_response(raw, self.config)
        turn = Turn(
            **self._stepped(parsed.action or 0, parsed.problem),
            llm_raw_response=raw,
            llm_response=parsed.llm_response,
            problem=parsed.problem,
            note=parsed.note,
            by=by,
            prompt=prompt,
            reply=reply,
        )
        return replace(self, turns=(*self.turns, turn), undone=())

    def _stepped(self, action: int, problem: str | None) -> dict[str, Any]:
        """What the environment makes of an action here: the fields of a turn that it decides."""
        env = self._env()
        env.restore(self.snapshot)
        _, reward, *_ = env.step(action)
        if problem is not None:
            reward = round(reward + self.config.format_penalty, 10)
        return {
            "state": self.vocabulary.text(self.board),
            "actions_left": self.actions_left,
            "reward": reward,
            "action": action,
            "after": env.snapshot(),
        }

    def act(
        self, action: str | int, *, by: str = "person", prompt: Prompt | None = None
    ) -> Episode:
        """Respond as a key press does: with the canonical response that names this action.

        Args:
            action: its number, or its name in the config or in the environment, in any case.

        Raises:
            UserError: there is no such action.
            EpisodeOver: the episode has ended.
        """
        number = action_number(action, self.config)
        return self.respond(canonical_response(number, self.config), by=by, prompt=prompt)

    def undo(self, turns: int = 1) -> Episode:
        """Take back the last turn (or several); `redo` brings them back."""
        keep = max(0, len(self.turns) - turns)
        return replace(self, turns=self.turns[:keep], undone=self.turns[keep:] + self.undone)

    def redo(self, turns: int = 1) -> Episode:
        """Bring back the next turn that was undone (or several)."""
        back, rest = self.undone[:turns], self.undone[turns:]
        return replace(self, turns=self.turns + back, undone=rest)

    def reset(self) -> Episode:
        """Back to the start of the level; every turn can be brought back by `redo`."""
        return self.undo(len(self.turns))

    def with_config(self, config: PromptConfig) -> Episode:
        """The same moves under another prompt config: states and actions left are shown anew.

        Responses stay as they were given, and every turn keeps the prompt that it was sent.

        Raises:
            UserError: the config's actions or symbols do not fit the environment.
        """
        check_fits(config)
        episode = replace(self, config=config)
        text = episode.vocabulary.text
        boards = [self.level.board]
        turns: list[Turn] = []
        for turn in (*self.turns, *self.undone):
            left = max(0, config.max_actions_per_traj - len(turns))
            turns.append(replace(turn, state=text(boards[-1]), actions_left=left))
            boards.append(turn.after.board)
        count = len(self.turns)
        return replace(episode, turns=tuple(turns[:count]), undone=tuple(turns[count:]))

    # -- another past

    def with_response(self, number: int, raw: str) -> Episode:
        """The episode as it would be had turn `number` been answered with `raw`.

        The later turns keep their responses; the environment takes their actions anew, so states
        and rewards are those that would have followed. Where the episode ends earlier now, what
        came after is left out. No turn from `number` on has a prompt: none was sent.
        """
        edited = self.undo(len(self.turns) - number + 1)
        answered = replace(edited, undone=()).respond(raw, by="person, edited")
        return answered._followed_by(self.turns[number:])

    def without_turn(self, number: int) -> Episode:
        """The episode as it would be had turn `number` never been; like `with_response`."""
        before = replace(self, turns=self.turns[: number - 1], undone=())
        return before._followed_by(self.turns[number:])

    def with_reward(self, number: int, reward: float) -> Episode:
        """The history tells of another reward for turn `number`; nothing else changes.

        Raises:
            UserError: the reward is not a finite number.
        """
        if not math.isfinite(reward):
            raise UserError(
                f"the reward is {reward}", where=f"turn {number}", remedy="Give a finite number"
            )
        turns = list(self.turns)
        turns[number - 1] = replace(turns[number - 1], reward=reward)
        return replace(self, turns=tuple(turns), undone=())

    def _followed_by(self, turns: Sequence[Turn]) -> Episode:
        episode = self
        for turn in turns:
            if episode.over:
                break
            fields = episode._stepped(turn.action, turn.problem)
            again = replace(turn, **fields, prompt=None, reply=None, verdict=None)
            episode = replace(episode, turns=(*episode.turns, again))
        return episode

    def _env(self) -> SokobanEnv:
        return SokobanEnv(
            self.level, max_steps=self.config.max_actions_per_traj, vocabulary=self.vocabulary
        )

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Episode:
        return self  # nothing can change it


def _encodable(text: str) -> str:
    """Half of a surrogate pair is no character: no tokenizer, file or page can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"the response holds half a character, {text[error.start]!r}",
            where="response",
            column=error.start + 1,
            remedy="Delete that character",
        ) from None
    return text


def generated(seed: int, sizes: GeneratorConfig) -> Level:
    """The generated level of `seed` in the sizes of a config."""
    return generate_level(seed, rows=sizes.rows, columns=sizes.columns, boxes=sizes.boxes)
