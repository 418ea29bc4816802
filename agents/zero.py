"""A GPU that is lent for one answer at a time: the ZeroGPU hardware of Hugging Face Spaces.

There the `spaces` package must be imported before anything touches CUDA; it lets models be moved to
a GPU that is not there yet, and runs a decorated function in a forked process that has one. Only
what can be pickled goes in and comes out, so the function gets a model's name, not the model, and
closing its iterator is what stops it. Anywhere else this module does nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from agents.base import Reply
from configs.schema import ModelsConfig
from prompting import Prompt

if TYPE_CHECKING:
    from agents.decoding import Request

# Seconds of GPU to ask for where the config sets no limit; a visitor's daily quota is minutes.
SECONDS = 60.0


def is_here() -> bool:
    """This runs on ZeroGPU, by the variable that the `spaces` package itself goes by."""
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")


def prepare() -> None:
    """To be called before torch is imported and before the page is launched."""
    if is_here():
        _borrowed()


def replies(name: str, models: ModelsConfig, request: Request) -> Generator[Reply, None, None]:
    """The answer of the model called `name`, made in the process that has the GPU.

    Closing the iterator ends the work at its next snapshot, which is a token away at most.
    """
    # Only what the model reads: a message may hold what cannot be pickled, and costs time.
    sent = request.prompt
    prompt = Prompt(text=sent.text, token_ids=sent.token_ids, images=sent.images)
    yield from _borrowed()(name, models, request._replace(prompt=prompt))


@cache
def _borrowed() -> Callable[..., Iterator[Reply]]:
    """`_answer` with a GPU; made once, since `spaces` reports at launch what is decorated."""
    spaces = import_module("spaces")  # it is installed on such Spaces only
    lent: Callable[..., Iterator[Reply]] = spaces.GPU(_answer, duration=_duration)
    return lent


def _duration(name: str, models: ModelsConfig, request: Request) -> float:
    return models.seconds_per_answer or SECONDS


def _answer(name: str, models: ModelsConfig, request: Request) -> Iterator[Reply]:
    """What runs in the forked process, which has the models that were loaded before the fork.

    A model that was chosen later is loaded there.
    """
    from agents.models import load_local_model

    yield from load_local_model(name, models).work(request, lambda: False)
