"""What each turn did to the level: optimal pushes left before and after, and the fatal move.

The solver judges a board once and remembers; a board that it cannot judge in its time is left
unjudged, never guessed. It is far too slow for a key press, so whoever shows verdicts asks for them
after the move is on the screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from envs.sokoban import Board, Solution, is_deadlocked, solve
from play.episode import Episode

SECONDS = 1.0  # for one board; nearly all of usual size take a few thousandths

_REASONS = {
    "dead square": "a box stands where no push can bring it to a target",
    "freeze": "boxes hold one another off their targets for good",
}


@lru_cache(maxsize=4096)
def judge(board: Board) -> Solution:
    """The solver's answer for one board: a solution, a proof that there is none, or "not_found"."""
    return solve(board, seconds=SECONDS)


@dataclass(frozen=True)
class Verdict:
    """What one turn did, or with `before` and `after` equal what the board is like now.

    Attributes:
        before, after: the optimal pushes left; None where there is no solution or none was found.
        optimal: no sequence of pushes that begins otherwise is shorter; None where unknown.
        fatal: the level could be solved before the turn, and cannot be after it.
        lost: the level cannot be solved after the turn.
        reason: why it is lost, in words; empty otherwise.
    """

    before: int | None
    after: int | None
    optimal: bool | None
    fatal: bool
    lost: bool
    reason: str


def verdict(before: Board, after: Board) -> Verdict:
    """Judge the step from one board to the next."""
    was, now = judge(before), judge(after)
    lost = now.status == "unsolvable"
    left_before = was.pushes if was else None
    left_after = now.pushes if now else None
    optimal: bool | None = None
    if was and (now or lost):
        pushed = before.cells != after.cells and _boxes(before) != _boxes(after)
        optimal = not lost and now.pushes == was.pushes - pushed
    return Verdict(
        left_before, left_after, optimal, bool(was) and lost, lost, _reason(after) if lost else ""
    )


def verdicts(episode: Episode) -> list[Verdict]:
    """One for each turn of the episode, in order."""
    boards = [episode.level.board, *(turn.after.board for turn in episode.turns)]
    return [verdict(before, after) for before, after in zip(boards, boards[1:], strict=False)]


def fatal_turn(judged: Sequence[Verdict]) -> int | None:
    """The number of the turn, from 1, that made the level unsolvable; None where none did."""
    return next((number for number, each in enumerate(judged, start=1) if each.fatal), None)


def hint(board: Board) -> int | None:
    """The action that an optimal solution begins with; None where none is known or needed."""
    lurd = judge(board).lurd
    return "udlr".index(lurd[0].lower()) + 1 if lurd else None


def _boxes(board: Board) -> tuple[int, ...]:
    return tuple(i for i, cell in enumerate(board.cells) if cell in (3, 4))


def _reason(board: Board) -> str:
    deadlock = is_deadlocked(board)
    if deadlock is None:
        return "no way of pushing the boxes onto the targets is left"
    row, column = deadlock.position
    return f"{_REASONS[deadlock.reason]} (row {row + 1}, column {column + 1})"
