"""The solver against a plain search by the rules, and what it leans on against slower ways."""

from __future__ import annotations

import time
from collections import deque
from itertools import permutations, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from envs.sokoban.board import BOX, BOX_ON_TARGET, DOWN, LEFT, RIGHT, UP, Board, step
from envs.sokoban.deadlocks import frozen
from envs.sokoban.formats import parse_level
from envs.sokoban.generator import generate_level
from envs.sokoban.level import LevelError
from envs.sokoban.matching import after_move, after_push, match
from envs.sokoban.maze import UNREACHABLE, boxes_of, cells_in, maze_of
from envs.sokoban.search import MOST_BOXES
from envs.sokoban.solver import Deadlock, is_deadlocked, solve
from envs.sokoban.walks import shortest_walk

ACTIONS = {"u": UP, "d": DOWN, "l": LEFT, "r": RIGHT}


def board(*rows: str) -> Board:
    return parse_level("\n".join(rows)).board


def replay(start: Board, lurd: str) -> list[Board]:
    """The positions along a solution; each letter moves, and pushes where upper case."""
    positions = [start]
    for letter in lurd:
        outcome = step(positions[-1], ACTIONS[letter.lower()])
        assert outcome.moved
        assert outcome.pushed == letter.isupper()
        positions.append(outcome.board)
    return positions


def fewest(start: Board, count_moves: bool) -> int | None:
    """The fewest moves or pushes by trying every step of the player; None where nothing solves."""
    best, todo = {start.cells: 0}, deque([(0, start)])
    while todo:
        cost, position = todo.popleft()
        if cost > best[position.cells]:
            continue
        if position.solved:
            return cost
        for action in ACTIONS.values():
            after, _, moved, pushed = step(position, action)
            total = cost + (1 if count_moves else pushed)
            if moved and total < best.get(after.cells, total + 1):
                best[after.cells] = total
                # What costs nothing goes first, so that costs leave the queue in order.
                (todo.append if total > cost else todo.appendleft)((total, after))
    return None


@st.composite
def small_boards(draw: st.DrawFn) -> Board:
    """A closed board of up to 4 by 5 cells with one to three boxes, solvable or not."""
    rows, columns = draw(st.sampled_from([(3, 3), (3, 4), (4, 4), (2, 5), (4, 5)]))
    cells = [(row, column) for row in range(1, rows + 1) for column in range(1, columns + 1)]
    boxes = draw(st.integers(1, 3 if rows * columns < 20 else 2))
    order = draw(st.permutations(cells))
    targets = set(draw(st.permutations(order))[:boxes])
    player, full, rest = order[0], set(order[1 : boxes + 1]), order[boxes + 1 :]
    walls = set(rest[: draw(st.integers(0, rows * columns // 3))]) - targets
    grid = [[0] * (columns + 2) for _ in range(rows + 2)]
    for row, column in set(cells) - walls:
        grid[row][column] = 2 if (row, column) in targets else 1
    for row, column in full:
        grid[row][column] = 3 if (row, column) in targets else 4
    grid[player[0]][player[1]] = 6 if player in targets else 5
    return Board.from_rows(grid)


some = settings(max_examples=150, deadline=None, database=None, derandomize=True)

# Our own levels, the fewest pushes and the fewest moves, each told by hand or by `fewest`.
LEVELS = [
    (["#####", "#@$.#", "#####"], 1, 1),
    (["######", "#+$  #", "#    #", "######"], 1, 5),
    (["#######", "#.   .#", "# $@$ #", "#     #", "#######"], 4, 10),
    (["  ####", "###  #", "#@ $.#", "# $.##", "#  ###", "####"], 2, 4),
    (["########", "#  #   #", "# $  $ #", "#. ##@.#", "########"], 4, 17),
    (["#######", "#  .  #", "# $#$ #", "#  @ .#", "#  #  #", "#######"], 4, 15),
    (["########", "#@ $  .#", "# #### #", "# $   .#", "#  #####", "####"], 7, 14),
]


@pytest.mark.parametrize(("rows", "pushes", "moves"), LEVELS)
def test_optimal(rows, pushes, moves):
    start = board(*rows)
    by_pushes, by_moves = solve(start), solve(start, optimize="moves")
    assert (by_pushes.pushes, by_moves.moves) == (pushes, moves)
    assert (fewest(start, False), fewest(start, True)) == (pushes, moves)
    for solution in (by_pushes, by_moves):
        assert replay(start, solution.lurd)[-1].solved
        assert solution.moves == len(solution.lurd)
        assert solution.pushes == sum(letter.isupper() for letter in solution.lurd)


@some
@given(small_boards())
def test_like_trying_everything(start):
    pushes, moves = fewest(start, False), fewest(start, True)
    by_pushes, by_moves = solve(start), solve(start, optimize="moves")
    if pushes is None:
        assert by_pushes.status == by_moves.status == "unsolvable"
        assert not by_pushes
        assert by_pushes.lurd == by_moves.lurd == ""
        return
    assert by_pushes
    assert by_moves
    assert (by_pushes.pushes, by_moves.moves) == (pushes, moves)
    assert replay(start, by_pushes.lurd)[-1].solved
    assert replay(start, by_moves.lurd)[-1].solved
    assert is_deadlocked(start) is None


@pytest.mark.parametrize("seed", range(12))
def test_every_push_of_a_solution_brings_it_one_nearer(seed):
    level = generate_level(seed, 8, 8, 2 + seed % 2)
    solution = solve(level)
    assert solution
    left = solution.pushes
    positions = replay(level.board, solution.lurd)
    for position, letter in zip(positions, f" {solution.lurd}", strict=True):
        left -= letter.isupper()
        assert is_deadlocked(position) is None
        assert solve(position).pushes == left
    assert left == 0


def test_solved_already():
    solution = solve(board("#####", "#@ *#", "#####"))
    assert solution
    assert (solution.status, solution.lurd, solution.pushes, solution.moves) == ("solved", "", 0, 0)


def test_a_level_or_its_board():
    level = generate_level(1, 6, 6, 1)
    assert solve(level).lurd == solve(level.board).lurd


def test_positions_of_a_level_share_their_maze():
    level = generate_level(1, 8, 8, 2)
    mazes = {id(maze_of(position)) for position in replay(level.board, level.solution)}
    assert len(mazes) == 1


@pytest.mark.parametrize(
    "rows",
    [
        ["######", "#@   #", "#  $ #", "#   .#", "#   $#", "#  . #", "######"],
        ["######", "#@ #.#", "# $# #", "#  # #", "######"],
        ["#######", "#@ $$.#", "#.    #", "#######"],
        ["#####", "#*@$#", "### #", "  #.#", "  ###"],
    ],
)
def test_solvable_or_not_as_by_trying_everything(rows):
    start = board(*rows)
    assert bool(solve(start)) == (fewest(start, False) is not None)


HARD = generate_level(3, 30, 30, 25)


@pytest.mark.parametrize("optimize", ["pushes", "moves"])
def test_gives_up_in_time(optimize):
    begun = time.perf_counter()
    solution = solve(HARD, optimize=optimize, seconds=0.3)
    assert time.perf_counter() - begun < 5  # the rest is for a machine that is busy
    assert (solution.status, bool(solution), solution.lurd) == ("not_found", False, "")
    assert solution.states > 0


@pytest.mark.parametrize("optimize", ["pushes", "moves"])
def test_gives_up_by_count_alike_each_time(optimize):
    found = [solve(HARD, optimize=optimize, max_states=500, seconds=None) for _ in range(2)]
    assert found[0].status == found[1].status == "not_found"
    assert found[0].states == found[1].states < 500


def test_gives_up_at_once_on_very_many_boxes():
    rows = [[0] * 30, [0, 5, *[1] * 27, 0]]
    for _ in range(20):
        rows += [[0, *[1, 2, 4] * 9, 1, 0], [0, *[1] * 28, 0]]
    start = Board.from_rows([*rows, [0] * 30])
    assert start.boxes > MOST_BOXES
    assert solve(start).status == "not_found"
    assert is_deadlocked(start) is None


def test_the_largest_board():
    rows = [[0] * 64, *[[0, *[1] * 62, 0] for _ in range(62)], [0] * 64]
    rows[62][62], rows[2][2], rows[1][1] = 2, 4, 5
    solution = solve(Board.from_rows(rows))
    assert (solution.status, solution.pushes) == ("solved", 120)


def test_refuses_what_is_no_level():
    with pytest.raises(LevelError, match="leave the board"):
        solve(Board.from_rows([[1, 1, 1, 1], [5, 4, 2, 1], [1, 1, 1, 1]]))
    with pytest.raises(LevelError, match="2 boxes"):
        solve(Board.from_rows([[0] * 6, [0, 5, 4, 4, 2, 0], [0] * 6]))
    with pytest.raises(ValueError, match="'steps'"):
        solve(HARD, optimize="steps")


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        # A corner, and a wall without a target along it.
        (["#####", "#$  #", "# @.#", "#####"], ("dead square", (1, 1))),
        (["######", "#  $ #", "# @  #", "# .  #", "######"], ("dead square", (1, 3))),
        # The same wall with a target along it; a target in the corner; a box on it.
        (["######", "# .$ #", "# @  #", "######"], None),
        (["#####", "#.$ #", "# @ #", "#####"], None),
        (["#####", "#*  #", "#@$.#", "#####"], None),
        # Two by a wall, one of them off its target; the same with both on theirs.
        (["######", "# *$ #", "# @ .#", "######"], ("freeze", (1, 3))),
        (["######", "# ** #", "#@$. #", "######"], None),
        # Four in a square, boxes and walls.
        (["######", "#    #", "# $# #", "# $$ #", "#@...#", "######"], ("freeze", (2, 2))),
        (["######", "#    #", "# ** #", "# ** #", "# @  #", "######"], None),
        # A row along a wall, held at its end; and one whose last box is free.
        (["#######", "#.   ##", "#.$$*##", "#@ ####", "#######"], ("freeze", (2, 3))),
        (
            ["#######", "#. .  #", "#     #", "#  $$ #", "#@ #  #", "#     #", "#######"],
            None,
        ),
        # Boxes that hold one another in a ring, though each has a free cell beside it.
        (
            ["########", "#@ ....#", "# #$$  #", "#  $$# #", "#      #", "########"],
            ("freeze", (2, 3)),
        ),
    ],
)
def test_deadlocks(rows, found):
    assert is_deadlocked(board(*rows)) == (found and Deadlock(*found))


def test_no_solvable_position_of_a_small_room_is_deadlocked():
    """Every placing of two boxes and the player in one room, by the rules alone."""
    rows = ["######", "#.   #", "#  # #", "#.   #", "######"]
    bare = [[" .#".index(cell) for cell in row] for row in rows]
    floor = [(r, c) for r, row in enumerate(bare) for c, cell in enumerate(row) if cell < 2]
    deadlocked = 0
    for first, second, player in permutations(floor, 3):
        if first > second:
            continue
        grid = [[(1, 2, 0)[cell] for cell in row] for row in bare]
        for (row, column), onto in ((first, 2), (second, 2), (player, 4)):
            grid[row][column] += onto if onto == 4 else (3, 1)[bare[row][column]]
        start = Board.from_rows(grid)
        if is_deadlocked(start):
            deadlocked += 1
            assert fewest(start, False) is None
    assert deadlocked > 100


@some
@given(small_boards())
def test_frozen_boxes_never_move(start):
    """What `frozen` names stays where it is, whatever is played, or all is lost."""
    stuck = frozen(maze_of(start), boxes_of(start))
    assume(stuck)
    seen, todo = {start.cells}, [start]
    while todo:
        position = todo.pop()
        if boxes_of(position) & stuck != stuck:
            assert fewest(position, False) is None
            continue
        for action in ACTIONS.values():
            after = step(position, action).board
            if after.cells not in seen:
                seen.add(after.cells)
                todo.append(after)


@pytest.mark.parametrize("seed", range(6))
def test_bound_and_reach_along_random_play(seed):
    """The cheapest pairing against all pairings, and the kept reach against a walk from scratch."""
    level = generate_level(seed, 9, 9, 4)
    maze, position = maze_of(level.board), level.board
    matching = match(maze, boxes_of(position))
    reach = maze.reach(1 << position.player, boxes_of(position))
    draws = generate_level(seed + 100, 20, 20, 15).solution * 20
    for letter in draws:
        before, (position, _, _, pushed) = position, step(position, ACTIONS[letter.lower()])
        if not pushed:
            continue
        cell = position.player
        to = 2 * cell - before.player
        boxes = boxes_of(position)
        moved = after_move(maze, matching, cell, to)
        matching = after_push(maze, matching, cell, to)
        costs = [maze.distances[box] for box in cells_in(boxes)]
        cheapest = min(
            sum(cost[target] for cost, target in zip(costs, order, strict=True))
            for order in permutations(range(4))
        )
        if cheapest >= UNREACHABLE:
            assert matching is None
            assert moved is None
            return
        assert matching.pushes == moved.pushes == cheapest == match(maze, boxes).pushes
        reach = maze.reach_after_push(reach, 1 << cell, 1 << to, boxes)
        assert reach == maze.reach(1 << cell, boxes)


def test_distances_are_those_of_a_lone_box():
    rows = ["#######", "#  #  #", "#     #", "# # # #", "#  .  #", "#######"]
    empty = board(*rows[:1], "#@ #  #", *rows[2:-2], "# $.  #", rows[-1])
    maze = maze_of(empty)
    for cell in cells_in(maze.floor & ~maze.targets):
        needed = []
        for player in cells_in(maze.floor & ~(1 << cell)):
            cells = bytearray(empty.cells)
            cells[empty.player] = 1
            cells[boxes_of(empty).bit_length() - 1] = 1
            cells[cell] = BOX
            cells[player] = 6 if maze.targets >> player & 1 else 5
            needed.append(fewest(empty._replace(cells=bytes(cells), player=player), False))
        solvable = [pushes for pushes in needed if pushes is not None]
        assert bool(solvable) == bool(maze.live >> cell & 1)
        assert maze.distances[cell][0] <= min(solvable, default=UNREACHABLE)


def test_walks_are_shortest():
    start = board("######", "#@   #", "# ## #", "#  $.#", "######")
    maze, boxes = maze_of(start), boxes_of(start)
    assert shortest_walk(maze, boxes, start.player, start.player) == ""
    free = list(cells_in(maze.floor & ~boxes))
    for one, other in product(free, free):
        there, back = (shortest_walk(maze, boxes, *pair) for pair in ((one, other), (other, one)))
        assert len(there) == len(back)
    with pytest.raises(ValueError, match="cannot walk"):
        shortest_walk(maze, boxes, start.player, boxes.bit_length() - 1)
    assert start.cells[boxes.bit_length() - 1] in (BOX, BOX_ON_TARGET)
