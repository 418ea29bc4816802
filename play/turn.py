"""A turn of an episode, and the solver's word on it."""

from __future__ import annotations

from dataclasses import dataclass

from agents import Reply
from envs.sokoban.env import Snapshot
from prompting import Prompt


@dataclass(frozen=True)
class Verdict:
    """What a turn did to the level, by the solver.

    Attributes:
        pushes_before, pushes_after: the fewest pushes left; None where no solution is known.
        optimal: the turn wasted no push (walking never does); None where that is unknown.
        fatal: the level could be solved before the turn, and cannot be after it.
        reason: why the level cannot be solved after the turn, in words; else empty.
    """

    pushes_before: int | None
    pushes_after: int | None
    optimal: bool | None
    fatal: bool
    reason: str = ""


@dataclass(frozen=True)
class Turn:
    """One decision: what was shown, what came back, what it did, and the very prompt that was sent.

    The first five bear the guide's names, so a turn can stand in a history as it is.

    Attributes:
        action: what the environment was given; 0, its no-op, where the response was invalid.
        problem: why the response was invalid, or None. note: what a valid one lost.
        by: who answered, in words for a person ("person", "random", a model's label).
        after: the environment's state after the action.
        prompt: the prompt that was answered; None where no tokenizer was at hand.
        reply: what the agent said of its answer (sampled ids, finish reason, seconds, …).
        verdict: what it did to the level, where the referee was asked.
    """

    state: str
    actions_left: int
    llm_raw_response: str
    llm_response: str
    reward: float
    action: int
    after: Snapshot
    problem: str | None = None
    note: str | None = None
    by: str = "person"
    prompt: Prompt | None = None
    reply: Reply | None = None
    verdict: Verdict | None = None
