"""Sokoban as a Gymnasium environment: a thin adapter over `board.step`.

It adds what an episode needs and the rules do not know: which level, how many steps, spaces, info.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.base import Observation
from envs.sokoban import board as rules
from envs.sokoban.board import ACTION_NAMES, Board
from envs.sokoban.drawing import rgb
from envs.sokoban.formats import parse_level
from envs.sokoban.generator import generate_level
from envs.sokoban.level import LARGEST, Level, LevelError, check_board
from envs.sokoban.render import Vocabulary
from errors import UserError

TILE = 16  # pixels a cell in RGB observations and renderings


class EpisodeOver(UserError):
    """A step was asked for after the episode ended, or before it began."""


class Snapshot(NamedTuple):
    """The whole state of an episode: the board and the counts so far."""

    board: Board
    steps: int
    moves: int
    pushes: int


class SokobanEnv(gym.Env[Any, int]):
    """Push every box onto a target.

    ## Description
    The rules and rewards are those of gym-sokoban, which frameworks for training language-model
    agents use. Where gym-sokoban is wrong this environment is right: boxes that start on targets
    are counted at reset (no +1 for nothing on the first step), the first observation comes in the
    form that was asked for, a level's edge never wraps, and a seed gives the same level in every
    process.

    ## Action Space
    `Discrete(5)`: 0 no-op, 1 Up, 2 Down, 3 Left, 4 Right. A move into a box pushes it if the cell
    behind is free floor or a free target; otherwise, and at a wall, nothing moves.

    ## Observation Space
    By `observation`: "text" (default) is `Text`, the rows joined by newlines, one symbol a cell;
    "grid" is `Box(0, 6, (rows, columns), uint8)` of cell numbers (0 wall, 1 floor, 2 target, 3 box
    on target, 4 box, 5 player, 6 player on target); "rgb" is
    `Box(0, 255, (16 * rows, 16 * columns, 3), uint8)`.

    ## Rewards
    -0.1 each step; +1 where the number of boxes on targets rose, -1 where it fell; +10 when every
    target holds a box. The sum is exact to one decimal.

    ## Episode End
    terminated: every target holds a box, also on the last allowed step. truncated: `max_steps` were
    taken without that. Never both. A step after the end raises `EpisodeOver`.

    ## Info
    `action_is_effective` (the player moved), `pushed`, `success`, `boxes_on_target`, `moves`,
    `pushes`, `max_steps_used` (steps so far out of `max_steps`).

    ## Arguments
    - `level`: a `Level`, a `Board`, or the text of a level file (its first level).
    - `seed`, `size` (an int, or (rows, columns)), `boxes`: without a level, what to generate. With
      `seed` every reset brings that seed's level; without, `reset(seed=…)` decides, and resets
      without a seed draw new levels.
    - `max_steps`: steps until truncation.
    - `vocabulary`: the symbols of the text, see `Vocabulary`; a string of seven will do.
    - `render_mode`: "ansi" (the text) or "rgb_array".
    - `reset(options={"level": …})` plays that level in this episode.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

    def __init__(
        self,
        level: Level | Board | str | None = None,
        *,
        seed: int | None = None,
        size: int | tuple[int, int] = (7, 7),
        boxes: int = 2,
        max_steps: int = 100,
        vocabulary: Vocabulary | str | None = None,
        observation: Literal["text", "grid", "rgb"] = "text",
        render_mode: str | None = None,
    ) -> None:
        if observation not in ("text", "grid", "rgb"):
            raise UserError(f"observation is {observation!r}", remedy="Use 'text', 'grid' or 'rgb'")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise UserError(
                f"render_mode is {render_mode!r}", remedy="Use 'ansi', 'rgb_array' or None"
            )
        if max_steps < 1:
            raise UserError(f"max_steps is {max_steps}", remedy="Allow at least one step")
        self.level = None if level is None else as_level(level)
        self._level_seed = seed
        rows, columns = (size, size) if isinstance(size, int) else size
        self._sizes = (rows, columns, boxes)
        if self.level is not None:
            rows, columns = self.level.board.rows, self.level.board.columns
        self.max_steps = max_steps
        self.vocabulary = (
            vocabulary
            if isinstance(vocabulary, Vocabulary)
            else Vocabulary(vocabulary or "#_O√XPS")
        )
        self.observation, self.render_mode = observation, render_mode
        self.action_space = spaces.Discrete(len(ACTION_NAMES))
        self.observation_space = self._space(rows, columns)
        self._shape = (rows, columns)
        self._board: Board | None = None
        self._steps = self._moves = self._pushes = 0
        self._over = False

    def _space(self, rows: int, columns: int) -> spaces.Space[Any]:
        if self.observation == "grid":
            return spaces.Box(0, 6, (rows, columns), np.uint8)
        if self.observation == "rgb":
            return spaces.Box(0, 255, (rows * TILE, columns * TILE, 3), np.uint8)
        longest = LARGEST * (LARGEST + 1) - 1
        return spaces.Text(longest, min_length=1, charset=self.vocabulary.symbols + "\n")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; see Arguments for which level it plays.

        Raises:
            LevelError: the level in `options` does not fit the observation space.
        """
        super().reset(seed=seed)
        level = self._next_level(seed, options or {})
        shape = (level.board.rows, level.board.columns)
        if self.observation != "text" and shape != self._shape:
            raise LevelError(
                f"the level is {shape[0]} by {shape[1]}, the observation space holds "
                f"{self._shape[0]} by {self._shape[1]}",
                remedy="Use observation='text', or make an environment of that size",
            )
        self._playing = level
        self.restore(Snapshot(level.board, 0, 0, 0))
        return self._observation(), self._info(False, False)

    def _next_level(self, seed: int | None, options: dict[str, Any]) -> Level:
        if options.get("level") is not None:
            return as_level(options["level"])
        if self.level is not None:
            return self.level
        if seed is None:
            seed = self._level_seed
        if seed is None:
            seed = int(self.np_random.integers(2**31))
        return generate_level(seed, *self._sizes)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step; see Rewards, Episode End and Info.

        Raises:
            EpisodeOver: the episode has ended, or `reset` was not called.
            UserError: the action is not 0 to 4.
        """
        if self._over or self._board is None:
            what = "the episode has ended" if self._over else "no episode has begun"
            raise EpisodeOver(what, where="step", remedy="Call reset() to begin a new one")
        action = int(action)
        if not 0 <= action <= 4:
            raise UserError(f"action {action} is not there", where="step", remedy="Use 0 to 4")
        board, reward, moved, pushed = rules.step(self._board, action)
        self._board = board
        self._steps += 1
        self._moves += moved
        self._pushes += pushed
        terminated = board.boxes_on_target == board.boxes
        truncated = not terminated and self._steps >= self.max_steps
        self._over = terminated or truncated
        return self._observation(), reward, terminated, truncated, self._info(moved, pushed)

    def _observation(self) -> Any:
        board = self.board
        if self.observation == "text":
            return self.vocabulary.text(board)
        if self.observation == "grid":
            cells: NDArray[np.uint8] = np.frombuffer(board.cells, np.uint8)
            return cells.reshape(board.rows, board.stride)[:, :-1].copy()
        return rgb(board, tile=TILE)

    def _info(self, moved: bool, pushed: bool) -> dict[str, Any]:
        board = self.board
        return {
            "action_is_effective": moved,
            "pushed": pushed,
            "success": board.boxes_on_target == board.boxes,
            "boxes_on_target": board.boxes_on_target,
            "moves": self._moves,
            "pushes": self._pushes,
            "max_steps_used": self._steps,
        }

    def render(self) -> Any:
        """The text ("ansi") or the picture ("rgb_array") of the board; None without a mode."""
        if self.render_mode == "ansi":
            return self.vocabulary.text(self.board)
        return rgb(self.board, tile=TILE) if self.render_mode == "rgb_array" else None

    @property
    def board(self) -> Board:
        """The position now."""
        if self._board is None:
            raise EpisodeOver("no episode has begun", remedy="Call reset() first")
        return self._board

    @property
    def playing(self) -> Level:
        """The level of this episode: the one given, or the one generated at reset."""
        return self._playing

    @property
    def actions(self) -> Mapping[int, str]:
        """The moves a player may choose; the no-op is the environment's own."""
        return {action: ACTION_NAMES[action] for action in range(1, len(ACTION_NAMES))}

    def observe(self, *, image: bool = False) -> Observation:
        """What the player sees now, whatever the observation space."""
        picture = rgb(self.board, tile=TILE) if image else None
        return Observation(self.vocabulary.text(self.board), picture)

    def snapshot(self) -> Snapshot:
        """The whole state as a plain value."""
        return Snapshot(self.board, self._steps, self._moves, self._pushes)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state that `snapshot` returned."""
        self._board, self._steps, self._moves, self._pushes = snapshot
        self._over = self._steps > 0 and (self.board.solved or self._steps >= self.max_steps)


def as_level(level: Level | Board | str) -> Level:
    """A level from any of the forms in which one is given.

    Raises:
        LevelError: it is not valid.
    """
    if isinstance(level, Level):
        return level
    if isinstance(level, Board):
        check_board(level)
        return Level(level)
    return parse_level(level)
