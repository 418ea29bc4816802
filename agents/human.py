"""A person at a terminal, asked for one line a turn.

A name or a key becomes that action's response; any other line is taken as the raw response itself
and goes through the same parser as a model's. Drawing the board is the caller's.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

from agents.answers import answer_endings
from agents.base import Reply
from configs.schema import PromptConfig
from errors import UserError
from prompting import Prompt

# The environment's action numbers: up, left, down, right.
KEYS = {"w": 1, "a": 3, "s": 2, "d": 4}


class HumanAgent:
    """Reads from `source` (standard input) and asks on `screen` (standard error).

    A line may be an action's name, one of w, a, s, d, an action's first letter where only one
    action has it (in upper case, where it is also one of w, a, s, d), or a raw response, with or
    without its forced start. The end of the input ends the reply as "stopped".
    """

    exact = True

    def __init__(
        self,
        prompt_config: PromptConfig,
        *,
        source: TextIO | None = None,
        screen: TextIO | None = None,
    ) -> None:
        self.name = "human"
        self._config, self._source, self._screen = prompt_config, source, screen

    def respond(self, prompt: Prompt, *, stop: threading.Event | None = None) -> Iterator[Reply]:
        started = time.perf_counter()
        line = self._ask()
        yield Reply(
            text="" if line is None else self._response(line),
            finish_reason="stopped" if line is None else "end of text",
            prompt_tokens=len(prompt.token_ids),
            seconds=time.perf_counter() - started,
        )

    def _ask(self) -> str | None:
        """The next line that says something; None at the end of the input."""
        source, screen = self._source or sys.stdin, self._screen or sys.stderr
        names = ", ".join((self._config.action_lookup or {}).values())
        while True:
            print(f"Your action ({names}; or w a s d; or a response): ", end="", file=screen)
            screen.flush()
            try:
                line = source.readline()
            except UnicodeDecodeError:
                print("That line is not UTF-8 text; once more.", file=screen)
                continue
            if not line:
                print(file=screen)
                return None
            if line.strip():
                return line.rstrip("\r\n")

    def _response(self, line: str) -> str:
        name = self._action(line.strip())
        try:
            return line if name is None else answer_endings("", self._config).get(name, name)
        except UserError:
            return line  # no response can name an action: the parser says why

    def _action(self, word: str) -> str | None:
        """The name of the action that `word` stands for, or None."""
        actions = self._config.action_lookup or {}
        for name in actions.values():
            if word.lower() == name.lower():
                return name
        if word in KEYS:
            return actions.get(KEYS[word])
        begun = [name for name in actions.values() if name[:1].lower() == word.lower()]
        return begun[0] if len(begun) == 1 else None
