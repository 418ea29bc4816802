"""TextEnv: what a world must speak so that a language model can play it.

A TextEnv is a Gymnasium environment that also shows itself as text (and as a picture), names its
legal actions, and can be put back to any earlier state. It knows nothing of prompts or models.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Observation:
    """What a player sees: the state's text, and on request its picture (rows, columns, 3) uint8."""

    text: str
    image: NDArray[np.uint8] | None = None


@runtime_checkable
class TextEnv(Protocol):
    """A Gymnasium environment that speaks text. The protocol names what comes on top of `step`."""

    @property
    def actions(self) -> Mapping[int, str]:
        """The number and the name of every action that a player may choose."""
        ...

    def observe(self, *, image: bool = False) -> Observation:
        """What the player sees now."""
        ...

    def snapshot(self) -> Hashable:
        """The whole state as a plain immutable value."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Go back to a state that `snapshot` returned."""
        ...
