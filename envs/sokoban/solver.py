"""Optimal solutions of a level or of any position in it, and so how far from solved it is.

The search itself is `search.py`; here are its limits and what it found in a player's terms. Pure
Python, and never longer than it was allowed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from envs.sokoban.board import Board
from envs.sokoban.deadlocks import Deadlock, is_deadlocked
from envs.sokoban.level import Level, check_board
from envs.sokoban.maze import boxes_of, maze_of
from envs.sokoban.search import ByMoves, ByPushes, search
from envs.sokoban.walks import lurd_of

__all__ = ["Deadlock", "Solution", "is_deadlocked", "solve"]

MAX_STATES = 200_000  # positions kept; at most about 200 megabytes on a board of usual size
SECONDS = 3.0

SOLVED, UNSOLVABLE, NOT_FOUND = "solved", "unsolvable", "not_found"


@dataclass(frozen=True)
class Solution:
    """What `solve` found; true where it is a solution.

    Attributes:
        status: "solved", "unsolvable" (proved), or "not_found" (within the limits).
        lurd: the solution, lower case a move, upper case a push; empty where there is none, and
            where the position is solved already.
        pushes, moves: its length; pushes count as moves too.
        states: how many positions were expanded.
        seconds: how long it took.
    """

    status: str
    lurd: str = ""
    pushes: int = 0
    moves: int = 0
    states: int = 0
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return self.status == SOLVED


def solve(
    position: Level | Board,
    *,
    optimize: str = "pushes",
    max_states: int = MAX_STATES,
    seconds: float | None = SECONDS,
) -> Solution:
    """An optimal solution of a level, or of any position of one.

    `solve(board).pushes` is how far the board is from solved. Asking for many positions of a level
    is cheap: what depends on walls and targets alone is worked out once.

    Args:
        position: a level, or a board; its boxes may stand on targets, and it may be solved.
        optimize: "pushes" for the fewest pushes, with a shortest walk to each; or "moves" for the
            fewest moves, which takes longer.
        max_states: the most positions to keep in memory.
        seconds: the most time to take; None for no limit but `max_states`, so that the outcome does
            not depend on the machine.

    Raises:
        LevelError: the board is not a valid level.
        ValueError: `optimize` is something else.
    """
    started = time.perf_counter()
    if optimize not in ("pushes", "moves"):
        raise ValueError(f'optimize is "pushes" or "moves", not {optimize!r}')
    board = position.board if isinstance(position, Level) else position
    check_board(board)
    maze, boxes, player = maze_of(board), boxes_of(board), 1 << board.player
    found = search(
        maze,
        boxes,
        player if optimize == "moves" else maze.reach(player, boxes),
        successors=ByMoves if optimize == "moves" else ByPushes,
        max_states=max_states,
        deadline=None if seconds is None else started + seconds,
    )
    if found.plan is None:
        status, lurd = UNSOLVABLE if found.complete else NOT_FOUND, ""
    else:
        status, lurd = SOLVED, lurd_of(maze, board.player, boxes, found.plan)
    return Solution(
        status,
        lurd,
        pushes=len(found.plan or ()),
        moves=len(lurd),
        states=found.expanded,
        seconds=time.perf_counter() - started,
    )
