"""How fast levels are made and solved, beside gym-sokoban's room generator where it is installed.

    python -m bench.sokoban                        our generator and solver, and gym-sokoban's
    python -m bench.sokoban FILE[:N] ...           and the first N levels of level files (60)

Everything runs one after the other on one core, in one process, and is told in processor time, so
that a busy machine does not change it. A failed call is one that raises; its time counts. Of the
two generators it knows only what they give back.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from envs.sokoban import Level, LevelError, generate_level, parse_levels, solve
from envs.sokoban.board import Board

SIZES = ((6, 1), (6, 2), (10, 3), (10, 4), (13, 5))
# Beyond this size a call of gym-sokoban's takes seconds.
SMALL = 6
# How long the fewest moves of a level are looked for.
SECONDS = 2.0

Generate = Callable[[int, int, int], Board]


class Run(NamedTuple):
    """Seconds by call, the boards that came of them, and how many calls failed."""

    seconds: list[float]
    boards: list[Board]
    failed: int


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sokoban", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("files", nargs="*", metavar="FILE[:N]", help="level files to solve")
    parser.add_argument("--calls", type=int, default=500, help="calls of our generator per size")
    parser.add_argument("--gym-calls", type=int, default=20, help="calls of gym-sokoban's per size")
    options = parser.parse_args(arguments)
    theirs = gym_sokoban()
    if theirs is None:
        print("gym-sokoban is not installed (see bench/requirements.txt): ours only\n")
    generators(theirs, options.calls, options.gym_calls)
    print()
    solver(options.files)


def generators(theirs: Generate | None, calls: int, gym_calls: int) -> None:
    print("generators, seconds per call; fewest moves in the median")
    row("size/boxes", "by", "calls", "failed", "median", "p90", "times faster", "moves")
    for size, boxes in SIZES:
        ours = run(our_board, size, boxes, calls)
        gym = None
        if theirs is not None:
            gym = run(theirs, size, boxes, gym_calls * (10 if size <= SMALL else 1))
        faster = ""
        if gym is not None:
            faster = f"{median(gym.seconds) / median(ours.seconds):.0f}"
            faster += f" (p90 {ninth(gym.seconds) / ninth(ours.seconds):.0f})"
        generator_row(f"{size}x{size}/{boxes}", "ours", ours, faster)
        if gym is not None:
            generator_row("", "gym-sokoban", gym, "")


def generator_row(name: str, by: str, result: Run, faster: str) -> None:
    times = [f"{of(result.seconds):.5f}" for of in (median, ninth)]
    moves = fewest_moves(result.boards[:60])
    row(name, by, len(result.seconds), result.failed, *times, faster, moves)


def run(generate: Generate, size: int, boxes: int, calls: int) -> Run:
    seconds, boards, failed = [], [], 0
    for seed in range(calls):
        begun = time.process_time()
        try:
            boards.append(generate(seed, size, boxes))
        # gym-sokoban raises a RuntimeWarning as its error.
        except (RuntimeError, RuntimeWarning, LevelError):
            failed += 1
        seconds.append(time.process_time() - begun)
    return Run(seconds, boards, failed)


def our_board(seed: int, size: int, boxes: int) -> Board:
    return generate_level(seed, size, size, boxes).board


def gym_sokoban() -> Generate | None:
    """gym-sokoban's room generator, with the arguments that its environment gives it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            rooms = import_module("gym_sokoban.envs.room_utils")
        except ImportError:
            return None
    import numpy as np

    def generate(seed: int, size: int, boxes: int) -> Board:
        random.seed(seed)
        np.random.seed(seed)
        steps = int(1.7 * 2 * size)
        structure, state, _ = rooms.generate_room((size, size), num_steps=steps, num_boxes=boxes)
        return gym_board(structure, state)

    return generate


def gym_board(structure: Any, state: Any) -> Board:
    """A room of gym-sokoban's as a board; its state says box and player, its structure target."""
    on_target = {4: 3, 5: 6}
    return Board.from_rows(
        [
            on_target.get(int(cell), int(cell)) if under == 2 else int(cell)
            for cell, under in zip(cells, unders, strict=True)
        ]
        for cells, unders in zip(state, structure, strict=True)
    )


def fewest_moves(boards: Iterable[Board]) -> str:
    """The median of the fewest moves; levels where they are still open count as the longest."""
    moves = [solve(board, optimize="moves", seconds=SECONDS) for board in boards]
    solved = [solution.moves for solution in moves if solution]
    if not solved:
        return "?"
    missing = len(moves) - len(solved)
    return f"{median(solved + [max(solved)] * missing):.0f}" + (
        f" ({missing} open)" * (missing > 0)
    )


def solver(files: Iterable[str]) -> None:
    print("solver, fewest pushes, milliseconds per level, best of three")
    row("levels", "", "levels", "solved", "median", "p90", "worst", "positions expanded")
    for size, boxes in SIZES:
        levels = [generate_level(seed, size, size, boxes) for seed in range(100)]
        solver_row(f"ours {size}x{size}/{boxes}", levels)
    for name in files:
        path, _, count = name.partition(":")
        text = Path(path).read_text(encoding="utf-8")
        solver_row(Path(path).name, parse_levels(text, where=path)[: int(count or 60)])


def solver_row(name: str, levels: Sequence[Level]) -> None:
    solutions, times = [], []
    for level in levels:
        tries = []
        for _ in range(3):
            begun = time.process_time()
            solution = solve(level, seconds=30.0)
            tries.append(1000 * (time.process_time() - begun))
        solutions.append(solution)
        times.append(min(tries))
    states = f"{median(solution.states for solution in solutions):.0f}"
    figures = [f"{figure:.1f}" for figure in (median(times), ninth(times), max(times))]
    row(name, "", len(levels), sum(map(bool, solutions)), *figures, states)


def ninth(values: Sequence[float]) -> float:
    """The value that nine tenths do not exceed."""
    return sorted(values)[max(0, -(-9 * len(values) // 10) - 1)]


def row(name: str, by: str, *figures: object) -> None:
    print(f"{name:26}{by:12}" + "".join(f"{figure!s:>18}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
