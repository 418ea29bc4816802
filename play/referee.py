"""What each turn did to the level: optimal pushes left before and after, and the fatal move.

The solver judges a board once and remembers; a board that it cannot judge in its time is left
unjudged, never guessed. It is too slow for a key press, so whoever shows verdicts asks for them
after the move is on the screen, and `carry` takes only what is known already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock

from envs.sokoban import Board, Solution, is_deadlocked, solve
from play.episode import Episode
from play.turn import Verdict

SECONDS = 1.0  # for one board; nearly all of usual size take a few thousandths
_MOST_KEPT = 20_000

_REASONS = {
    "dead square": "a box stands where no push can bring it to a target",
    "freeze": "a box off its target can never move again",
}

_kept: dict[Board, Solution] = {}
_lock = Lock()


def judge(board: Board) -> Solution:
    """The solver's answer for one board: a solution, a proof that there is none, or "not_found"."""
    found = _kept.get(board)
    if found is None:
        found = solve(board, seconds=SECONDS)
        with _lock:
            if len(_kept) >= _MOST_KEPT:
                del _kept[next(iter(_kept))]
            _kept[board] = found
    return found


def known(board: Board) -> Solution | None:
    """What `judge` found for a board before; None where it was not asked."""
    return _kept.get(board)


def verdicts(
    episode: Episode, judged: Callable[[Board], Solution | None] = judge
) -> list[Verdict | None]:
    """One verdict for each turn; None where `judged` does not know one of its two boards."""
    boards = [episode.level.board, *(turn.after.board for turn in episode.turns)]
    found = [judged(board) for board in boards]
    pushes = [0, *(turn.after.pushes for turn in episode.turns)]
    steps = zip(found, found[1:], boards[1:], pushes, pushes[1:], strict=False)
    return [
        None if was is None or now is None else verdict(was, now, after, done > before)
        for was, now, after, before, done in steps
    ]


def verdict(was: Solution, now: Solution, after: Board, pushed: bool) -> Verdict:
    """What the step from a board judged `was` to one judged `now` did."""
    lost = now.status == "unsolvable"
    optimal: bool | None = None
    if was and (now or lost):
        optimal = not lost and now.pushes == was.pushes - pushed
    return Verdict(
        pushes_before=was.pushes if was else None,
        pushes_after=now.pushes if now else None,
        optimal=optimal,
        fatal=bool(was) and lost,
        reason=reason(after) if lost else "",
    )


def carry(episode: Episode) -> Episode:
    """The episode with the verdicts that are known already on its turns; nothing is computed."""
    turns = tuple(
        replace(turn, verdict=found or turn.verdict)
        for turn, found in zip(episode.turns, verdicts(episode, known), strict=True)
    )
    return replace(episode, turns=turns)


def fatal_turn(episode: Episode, judged: Callable[[Board], Solution | None] = judge) -> int | None:
    """The number of the turn, from 1, that made the level unsolvable; None where none did."""
    found = enumerate(verdicts(episode, judged), start=1)
    return next((number for number, each in found if each is not None and each.fatal), None)


def hint(board: Board) -> int | None:
    """The action that an optimal solution begins with; None where none is known or needed."""
    lurd = judge(board).lurd
    return "udlr".index(lurd[0].lower()) + 1 if lurd else None


def reason(board: Board) -> str:
    """Why a board that cannot be solved cannot be, in words."""
    deadlock = is_deadlocked(board)
    if deadlock is None:
        return "no way of pushing the boxes onto the targets is left"
    row, column = deadlock.position
    return f"{_REASONS[deadlock.reason]} (row {row + 1}, column {column + 1})"
