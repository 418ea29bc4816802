"""Steps a second of the Sokoban environment, beside gym-sokoban where it is installed.

    python -m bench.environment

Both walk at random on a 10x10 level with 4 boxes, one after the other on one core, in processor
time. gym-sokoban's own level takes many seconds to generate; that is not counted.
"""

from __future__ import annotations

import copy
import random
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from envs.sokoban import SokobanEnv, generate_level, rgb

STEPS = 40_000
ROUNDS = 5

Step = Callable[[int], Any]


def main() -> None:
    print(f"{'':34}{'ours':>14}{'gym-sokoban':>14}{'times':>8}")
    theirs = gym_sokoban()
    row(
        "steps/s, text observation",
        ours("text"),
        theirs and steps(theirs[0], STEPS),
        "theirs: no observation",
    )
    row("steps/s, RGB observation", ours("rgb"), theirs and steps(theirs[1], 1000))
    row("pictures/s, 16 pixels a cell", pictures(), theirs and steps(theirs[2], 300))


def row(name: str, ours: float, theirs: float | None, note: str = "") -> None:
    other = f"{theirs:,.0f}" if theirs else "—"
    times = f"{ours / theirs:.1f}" if theirs else ""
    print(f"{name:34}{ours:>14,.0f}{other:>14}{times:>8}  {note}")


def ours(observation: str) -> float:
    env = SokobanEnv(generate_level(1), observation=observation, max_steps=10**9)  # type: ignore[arg-type]
    env.reset()
    return steps(env.step, STEPS if observation == "text" else STEPS // 8)


def pictures() -> float:
    board = generate_level(1).board
    return steps(lambda _: rgb(board), 5000)


def gym_sokoban() -> tuple[Step, Step, Step] | None:
    """gym-sokoban's step without a picture, its step as it is, and its picture alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = import_module("gym_sokoban.envs.sokoban_env")
        except ImportError:
            return None
        env = None
        for _ in range(20):  # its generator fails now and then
            try:
                env = module.SokobanEnv(dim_room=(10, 10), num_boxes=4, max_steps=10**9)
            except (RuntimeError, RuntimeWarning):
                continue
            break
    if env is None:
        return None

    bare = copy.copy(env)
    bare.get_image = lambda *_: None  # it always draws; without that, its rules alone are left
    return bare.step, env.step, lambda _: env.render(mode="rgb_array")


def steps(step: Step, count: int) -> float:
    """Calls a second of processor time, the best of some rounds."""
    chance = random.Random(0)
    actions = [chance.randrange(1, 5) for _ in range(count)]
    best = 0.0
    for _ in range(ROUNDS):
        begun = time.process_time()
        for action in actions:
            step(action)
        best = max(best, count / (time.process_time() - begun))
    return best


if __name__ == "__main__":
    main()
