"""The same environment for `import gym` users (gym 0.26), whose spaces are classes of gym's own.

Imported only where old gym is installed. Its own checker breaks under NumPy 2, so it is not used.
"""

from __future__ import annotations

from typing import Any

import gym
from gymnasium import spaces

from envs.sokoban.env import SokobanEnv


class OldGymSokoban(gym.Env):
    """`SokobanEnv`, with gym 0.26's base class and spaces; see there for what it does."""

    metadata = SokobanEnv.metadata

    def __init__(self, **arguments: Any) -> None:
        self.env = SokobanEnv(**arguments)
        self.render_mode = self.env.render_mode
        self.action_space = gym.spaces.Discrete(self.env.action_space.n)
        self.observation_space = _old(self.env.observation_space)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return self.env.reset(seed=seed, options=options)

    def step(self, action: int) -> Any:
        return self.env.step(action)

    def render(self) -> Any:
        return self.env.render()


def _old(space: Any) -> Any:
    if isinstance(space, spaces.Text):
        return gym.spaces.Text(
            max_length=space.max_length,
            min_length=space.min_length,
            charset="".join(space.character_list),
        )
    return gym.spaces.Box(space.low.min(), space.high.max(), space.shape, space.dtype)


def register(env_id: str) -> None:
    """Register the environment with old gym, once."""
    if env_id not in gym.envs.registry:
        gym.register(env_id, entry_point=OldGymSokoban, disable_env_checker=True)
