"""Sokoban: board and rules, environment, level files, generator, solver, pictures.

`gymnasium.make("PromptPlayground/Sokoban-v0")` works once this package is imported, and so does
`gym.make` where the old gym is installed.
"""

import contextlib
import importlib.util
import io

import gymnasium

from envs.sokoban.board import ACTION_NAMES, Board, Outcome, step
from envs.sokoban.drawing import rgb, svg, tiles
from envs.sokoban.env import EpisodeOver, SokobanEnv, as_level
from envs.sokoban.formats import format_rle, format_xsb, parse_level, parse_levels
from envs.sokoban.generator import generate_level
from envs.sokoban.level import Level, LevelError
from envs.sokoban.lurd import play_lurd, read_lurd, write_lurd
from envs.sokoban.render import Vocabulary, VocabularyError
from envs.sokoban.solver import Deadlock, Solution, is_deadlocked, solve

ENV_ID = "PromptPlayground/Sokoban-v0"

if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point="envs.sokoban.env:SokobanEnv")
if importlib.util.find_spec("gym") is not None:
    # Importing old gym prints a notice, which whoever plays here can do nothing about.
    with contextlib.redirect_stderr(io.StringIO()):
        from envs.sokoban.old_gym import register

    register(ENV_ID)

__all__ = [
    "ACTION_NAMES",
    "ENV_ID",
    "Board",
    "Deadlock",
    "EpisodeOver",
    "Level",
    "LevelError",
    "Outcome",
    "SokobanEnv",
    "Solution",
    "Vocabulary",
    "VocabularyError",
    "as_level",
    "format_rle",
    "format_xsb",
    "generate_level",
    "is_deadlocked",
    "parse_level",
    "parse_levels",
    "play_lurd",
    "read_lurd",
    "rgb",
    "solve",
    "step",
    "svg",
    "tiles",
    "write_lurd",
]
