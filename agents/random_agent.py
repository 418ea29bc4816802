"""An agent that leaves it to chance: every legal action is equally likely.

The choice depends on the seed and the prompt alone, so the same episode replays the same way and
any number of visitors may share one agent.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Iterator

from agents.answers import answer_endings
from agents.base import Reply
from configs.schema import PromptConfig
from errors import UserError
from prompting import Prompt


class RandomAgent:
    """Answers with a legal action drawn by `seed`; its response always parses."""

    exact = True

    def __init__(self, prompt_config: PromptConfig, seed: int = 0) -> None:
        self.name = "random"
        self._config, self._seed = prompt_config, seed

    def respond(self, prompt: Prompt, *, stop: threading.Event | None = None) -> Iterator[Reply]:
        started = time.perf_counter()
        try:
            endings = answer_endings("", self._config)
        except UserError as error:
            yield Reply(finish_reason="error", error=str(error))
            return
        chance = random.Random(f"{self._seed} {prompt.text}")
        yield Reply(
            text=chance.choice(list(endings.values())),
            finish_reason="closing tag",
            prompt_tokens=len(prompt.token_ids),
            seconds=time.perf_counter() - started,
            action_log_probabilities=tuple((name, -math.log(len(endings))) for name in endings),
        )
