"""Ends a pass through a model half way, so that Stop need not wait for a long prompt to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Interrupted(Exception):
    """A pass was ended before its last layer; its outputs are lost, and its cache is uneven."""


@contextmanager
def interruptible(model: Any, wanted: Callable[[], object]) -> Iterator[None]:
    """Within, a pass through `model` asks `wanted` before each layer, and ends where it is true.

    Layers are what transformers keeps together on one device, `_no_split_modules`; a model that
    names none is only asked between passes.

    Raises:
        Interrupted: from the pass.
    """

    def ask(*_: Any) -> None:
        if wanted():
            raise Interrupted

    kinds = set(getattr(model, "_no_split_modules", None) or ())
    hooks = [
        module.register_forward_pre_hook(ask)
        for module in model.modules()
        if type(module).__name__ in kinds
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
