"""Worlds as Gymnasium environments that also speak text. Importing this registers them."""

import envs.sokoban  # noqa: F401
