"""The generator: what every level keeps to, that it never changes, and what it refuses."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.sokoban.board import DOWN, LEFT, RIGHT, UP, WALL, step
from envs.sokoban.generator import MOST_BOXES, generate_level
from envs.sokoban.level import Level, LevelError, check_board
from envs.sokoban.maze import cells_in, maze_of
from envs.sokoban.room import carve_room, open_room
from envs.sokoban.solver import is_deadlocked, solve

ACTIONS = {"u": UP, "d": DOWN, "l": LEFT, "r": RIGHT}
ROOT = Path(__file__).parents[2]


def check(level: Level, rows: int, columns: int, boxes: int) -> None:
    """What holds of every level: its shape, and a solution that solves it letter by letter."""
    board = level.board
    check_board(board)
    assert (board.rows, board.columns, board.boxes) == (rows, columns, boxes)
    grid = board.grid()
    border = grid[0] + grid[-1] + [cell for row in grid for cell in (row[0], row[-1])]
    assert set(border) == {WALL}
    assert not board.solved
    assert is_deadlocked(board) is None
    floor = maze_of(board).floor
    assert maze_of(board).reach(floor & -floor, 0) == floor  # all floor hangs together
    for letter in level.solution:
        outcome = step(board, ACTIONS[letter.lower()])
        assert outcome.moved
        assert outcome.pushed == letter.isupper()
        assert not board.solved
        board = outcome.board
    assert board.solved


@pytest.mark.parametrize(
    ("rows", "columns", "boxes", "seeds"),
    [
        (6, 6, 1, 200),
        (6, 6, 2, 100),
        (7, 9, 2, 50),
        (10, 10, 3, 30),
        (10, 10, 4, 30),
        (13, 13, 5, 20),
        (20, 20, 8, 8),
    ],
)
def test_every_level(rows, columns, boxes, seeds):
    boards = set()
    for seed in range(seeds):
        level = generate_level(seed, rows, columns, boxes)
        check(level, rows, columns, boxes)
        assert level.board.boxes_on_target == 0
        assert sum(letter.isupper() for letter in level.solution) >= 2 * boxes - 1
        boards.add(level.board.cells)
    assert len(boards) > 0.9 * seeds


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(
    st.integers(),
    st.integers(5, 16),
    st.integers(6, 16),
    st.integers(1, 3),
)
def test_any_size(seed, rows, columns, boxes):
    check(generate_level(seed, rows, columns, boxes), rows, columns, boxes)


@pytest.mark.parametrize(
    ("rows", "columns", "boxes"),
    [(3, 5, 1), (5, 3, 1), (5, 5, 1), (5, 5, 3), (3, 64, 1), (64, 5, 2), (64, 64, 3), (30, 30, 15)],
)
def test_odd_sizes(rows, columns, boxes):
    check(generate_level(1, rows, columns, boxes), rows, columns, boxes)


@pytest.mark.parametrize(("rows", "columns", "boxes"), [(6, 3, 2), (5, 5, 5), (10, 10, 32)])
def test_boxes_start_on_targets_only_where_they_must(rows, columns, boxes):
    level = generate_level(2, rows, columns, boxes)
    check(level, rows, columns, boxes)
    assert level.board.boxes_on_target > 0


@pytest.mark.parametrize(
    ("rows", "columns", "boxes", "moves"),
    # What gym-sokoban's own levels need in the median is 2 to 3, 7, 24 and 31 moves.
    [(6, 6, 1, 4), (6, 6, 2, 7), (10, 10, 3, 25), (10, 10, 4, 31)],
)
def test_no_filler(rows, columns, boxes, moves):
    needed = []
    for seed in range(15):
        level = generate_level(seed, rows, columns, boxes)
        solution = solve(level, optimize="moves", max_states=4_000, seconds=None)
        # Where the fewest moves take long to prove they are many.
        needed.append(solution.moves if solution else len(level.solution))
    assert median(needed) >= moves


@pytest.mark.parametrize(
    ("arguments", "pushes", "moves"),
    [
        ((6, 6, 1), (2, 3), None),
        ((6, 6, 1), None, (5, 5)),
        ((6, 6, 2), (6, 8), None),
        ((6, 6, 2), (3, 9), (10, 20)),
        ((10, 10, 4), (8, 10), None),
        ((10, 10, 4), (20, 24), None),
        ((10, 10, 3), None, (20, 30)),
        ((10, 10, 4), (2, 2), None),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_difficulty(seed, arguments, pushes, moves):
    level = generate_level(seed, *arguments, pushes=pushes, moves=moves)
    check(level, *arguments)
    if pushes:
        assert pushes[0] <= solve(level, seconds=None).pushes <= pushes[1]
    if moves:
        fewest = solve(level, optimize="moves", seconds=None).moves
        assert moves[0] <= fewest <= moves[1]
        assert fewest == len(level.solution)


def test_the_solution_has_the_fewest_pushes():
    for seed in range(20):
        level = generate_level(seed, 8, 8, 2)
        assert solve(level).pushes == sum(letter.isupper() for letter in level.solution)


def test_titles():
    assert generate_level(7, 10, 10, 4).title == "10x10, 4 boxes, seed 7"
    assert generate_level(-3, 6, 7, 1).title == "6x7, 1 box, seed -3"


def digest(level: Level) -> str:
    board = level.board
    text = f"{board.stride} {board.cells.hex()} {level.title} {level.solution}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


PINNED = {
    (0, 6, 6, 1, ()): "2be1c990db1703cb",
    (1, 6, 6, 2, ()): "d8179fc9406007a3",
    (-5, 7, 9, 2, ()): "daad42079860c0a8",
    (2**70, 10, 10, 3, ()): "22ae6bb9a631488d",
    (7, 10, 10, 4, ()): "2a1e578dd6ebdd67",
    (3, 13, 13, 5, ()): "8aa9580041db954b",
    (4, 20, 20, 8, ()): "fcf609538b2e722a",
    (5, 5, 5, 4, ()): "fd43fa153b68e637",
    (6, 64, 64, 2, ()): "36a6dc672b1e50e3",
    (8, 10, 10, 4, (("pushes", (12, 16)),)): "0b7d7a29ac61ec3c",
    (9, 8, 8, 2, (("moves", (15, 25)),)): "3a5ab9a542f69046",
}


@pytest.mark.parametrize("arguments", PINNED)
def test_levels_never_change(arguments):
    """Who stored a seed gets the same level for ever: change a digest only on purpose."""
    *sizes, limits = arguments
    assert digest(generate_level(*sizes, **dict(limits))) == PINNED[arguments]


def test_the_same_in_every_process():
    code = (
        "import hashlib; from envs.sokoban import generate_level;"
        "levels = [generate_level(seed, 8, 8, 2) for seed in range(5)];"
        "print([(level.board.cells.hex(), level.solution) for level in levels])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env={**os.environ, "PYTHONHASHSEED": salt},
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout
        for salt in ("1", "2")
    }
    assert len(printed) == 1


@pytest.mark.parametrize(
    ("arguments", "ranges", "says"),
    [
        ((4, 4, 3), {}, "4 rows and 4 columns with 3 boxes"),
        ((4, 4, 1), {}, "1 box"),
        ((3, 5, 2), {}, "2 boxes"),
        ((5, 5, 8), {}, "8 boxes"),
        ((2, 2, 1), {}, "rows is 2"),
        ((6, 65, 1), {}, "columns is 65"),
        ((6, 6, 0), {}, "boxes is 0"),
        ((6, 6, -1), {}, "boxes is -1"),
        ((6, 6, MOST_BOXES + 1), {}, "boxes is 33"),
        ((6.0, 6, 1), {}, "rows is 6.0"),
        ((6, 6, "1"), {}, "boxes is '1'"),
        ((6, 6, 1), {"pushes": (3, 2)}, r"pushes is \(3, 2\)"),
        ((6, 6, 1), {"pushes": (0, 2)}, r"pushes is \(0, 2\)"),
        ((6, 6, 1), {"moves": 7}, "moves is 7"),
        ((6, 6, 1), {"moves": (1, 2, 3)}, "moves is"),
        ((6, 6, 1), {"pushes": (300, 400)}, "1 box and 300 to 400 pushes"),
        ((10, 10, 4), {"moves": (900, 999)}, "4 boxes and 900 to 999 moves"),
        ((6, 6, 1), {"pushes": (5, 9), "moves": (1, 4)}, "5 to 9 pushes and 1 to 4 moves"),
        ((64, 64, 32), {"pushes": (4000, 4001)}, "4000 to 4001 pushes"),
    ],
)
def test_refusals(arguments, ranges, says):
    begun = time.process_time()
    with pytest.raises(LevelError, match=says) as caught:
        generate_level(1, *arguments, **ranges)
    # A second or two; the rest is for a machine that is slow.
    assert time.process_time() - begun < 10
    assert caught.value.what
    assert caught.value.where == "level generator"
    assert caught.value.remedy


def test_a_seed_is_a_whole_number():
    with pytest.raises(LevelError, match="seed is None"):
        generate_level(None, 6, 6, 1)


class Draws:
    """Chance as `Chance` gives it, from a list that repeats."""

    def __init__(self, draws):
        self.draws, self.count = draws, 0

    def random(self):
        self.count += 1
        return self.draws[self.count % len(self.draws)]

    def below(self, limit):
        return int(self.random() * limit)

    def pick(self, choices):
        return choices[self.below(len(choices))]


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(
    st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=40),
    st.integers(3, 12),
    st.integers(3, 12),
    st.floats(0, 1.5),
)
def test_rooms_hang_together_within_their_walls(draws, rows, columns, share):
    floor = carve_room(Draws(draws), rows, columns, share)
    inside = open_room(rows, columns)
    assert len(list(cells_in(inside))) == (rows - 2) * (columns - 2)
    assert floor
    assert floor & ~inside == 0
    reached, stride = floor & -floor, columns + 1
    for _ in range(rows * columns):
        near = reached << 1 | reached >> 1 | reached << stride | reached >> stride
        reached |= near & floor
    assert reached == floor
    if share >= 1:
        assert floor == inside
