"""Chance that falls the same way for the same key, in every process and on every platform.

Of `random.Random` only `random()` is used, which Python promises not to change; its other methods
draw differently from version to version, and `hash` differs from process to process.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """A stream of random choices that depends on nothing but the text it is made with."""

    def __init__(self, key: str) -> None:
        seed = int.from_bytes(sha256(key.encode()).digest()[:8], "big")
        self.random = Random(seed).random

    def below(self, limit: int) -> int:
        """A whole number from 0 to limit - 1."""
        return int(self.random() * limit)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]
