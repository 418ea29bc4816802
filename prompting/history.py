"""The history as the formatter reads it: turns by the guide's keys, from a dataclass or a mapping.

A turn has `state`, `actions_left`, `llm_response`, `llm_raw_response`, `reward` and, where the
environment gives pictures, `image`. What is absent (no key, no attribute, or None) has not happened
yet. Nothing here knows which game the states come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

KEYS = ("state", "actions_left", "llm_response", "llm_raw_response", "reward", "image")


def value(turn: Any, key: str) -> Any:
    """The turn's value under one of the guide's `KEYS`, or None where it is absent."""
    return turn.get(key) if isinstance(turn, Mapping) else getattr(turn, key, None)


def is_open(turn: Any) -> bool:
    """The turn still lacks its response and its reward: only the state has been shown."""
    return all(value(turn, key) is None for key in ("llm_response", "llm_raw_response", "reward"))


def number_text(number: Real) -> str:
    """A reward as Python prints it (`-0.1`, `10.9`, `0`), without binary noise.

    NumPy numbers print as the Python numbers they stand for.
    """
    if isinstance(number, Integral):
        return str(int(number))
    return str(round(float(number), 10))
