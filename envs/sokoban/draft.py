"""A level before it is drawn: a room with targets, and a position in it that is hard enough.

One attempt after another is made at a request until one will do or the work allowed is used up. All
limits are counts of positions, so the outcome depends on the request and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from envs.sokoban.board import EDGE, FLOOR, TARGET, WALL
from envs.sokoban.chance import Chance
from envs.sokoban.maze import UNREACHABLE, Maze, cells_in
from envs.sokoban.retreat import Position, Work, retreat
from envs.sokoban.room import carve_room
from envs.sokoban.search import ByMoves, ByPushes, Found, Successors, search
from envs.sokoban.walks import Push, lurd_of

Range = tuple[int, int]

# Positions to look at for one request, on a small board with few boxes: a second or two.
_WORK = 120_000
# Positions that the solver may keep to find the best solution of one level, and to measure one.
_KEPT_TO_SOLVE, _KEPT_TO_MEASURE = 1_000, 12_000
# How much of a room is floor: from and to, and so much more in a small one. Where ways are narrow
# the fewest moves are many, and soon measured.
_SHARES, _SHARES_FOR_MOVES, _MORE_IF_SMALL = (0.35, 0.7), (0.3, 0.6), 0.15
# The best of so many rooms is taken, or at once one where each box needs enough pushes; while there
# are too few, the search for a better room goes on for longer.
_ROOMS, _MOST_ROOMS = 3, 12
_ENOUGH_PUSHES_A_BOX, _FEWEST_PUSHES_A_BOX = 4, 2
# How many positions of a generation are pulled on; each attempt at a range looks a little wider.
_WIDTH, _WIDEST = 4, 40


class Request(NamedTuple):
    """What is asked for, checked; rows and columns count the outer walls, ranges their ends."""

    seed: int
    rows: int
    columns: int
    boxes: int
    pushes: Range | None
    moves: Range | None


class Draft(NamedTuple):
    """A maze, the cells where its boxes and its player start, and the pushes that solve it."""

    maze: Maze
    boxes: int
    player: int
    plan: list[Push]


class _Attempt(NamedTuple):
    """A room with targets, and the farthest that its boxes could be pulled.

    `late` says that most of the work allowed had gone before it.
    """

    maze: Maze
    farthest: Position
    late: bool

    def fits(self, position: Position) -> bool:
        """Whether no box is on a target; late, where that was in vain, any position fits."""
        return self.late or not position.boxes & self.maze.targets


def draft(request: Request) -> Draft | None:
    """A draft that answers the request, or None if none was found with the work allowed."""
    chance = Chance(repr(tuple(request)))
    # A larger board and more boxes take longer for each position.
    cells = request.rows * request.columns
    work = Work(_WORK * 32_000 // ((1_000 + cells) * (32 + request.boxes)))
    attempts = _attempts(request, chance, work)
    if request.pushes or request.moves:
        return _in_range(request, chance, attempts, work)
    return _farthest(request, chance, attempts)


def _attempts(request: Request, chance: Chance, work: Work) -> Iterator[_Attempt]:
    cells = request.rows * request.columns
    in_range = request.pushes is not None or request.moves is not None
    allowed, width = work.left, _WIDTH
    while work.left > 0:
        spent = 1 - work.left / allowed
        share = chance.between(*(_SHARES_FOR_MOVES if request.moves else _SHARES))
        if min(request.rows, request.columns) < 8:
            share += _MORE_IF_SMALL
        if not in_range:
            # In vain so far, so the boxes are many: give them more and more floor.
            share += spent
        floor = carve_room(chance, request.rows, request.columns, share)
        work.spend(8 + cells // 20)
        if floor.bit_count() >= request.boxes + 2:
            maze = _with_targets(request, chance, floor)
            farthest = retreat(maze, chance, width, work)
            if farthest is not None:
                yield _Attempt(maze, farthest, spent > 0.5)
        width = min(width + 1, _WIDEST)


def _with_targets(request: Request, chance: Chance, floor: int) -> Maze:
    """The room with as many targets as boxes, each anywhere or beside one that is there already."""
    stride = request.columns + 1
    anywhere = list(cells_in(floor))
    targets = 0
    while targets.bit_count() < request.boxes:
        near = targets << 1 | targets >> 1 | targets << stride | targets >> stride
        beside = list(cells_in(near & floor & ~targets))
        together = beside and chance.random() < 0.35
        targets |= 1 << chance.pick(beside if together else anywhere)
    cells = bytearray([WALL] * request.columns + [EDGE]) * request.rows
    for cell in anywhere:
        cells[cell] = TARGET if targets >> cell & 1 else FLOOR
    return Maze(bytes(cells), stride)


def _farthest(request: Request, chance: Chance, attempts: Iterator[_Attempt]) -> Draft | None:
    """The farthest position of the best of a few rooms, with its best solution if soon found.

    One with boxes on targets is taken only if there was none without.
    """
    best, best_rank, rooms = None, (False, 0), 0
    for attempt in attempts:
        fits = attempt.fits(attempt.farthest)
        rank = (fits, attempt.farthest.far)
        if best is None or rank > best_rank:
            best, best_rank = attempt, rank
        if not fits:
            continue
        rooms += 1
        pushes_a_box = len(best.farthest.plan()) / request.boxes
        if pushes_a_box >= _ENOUGH_PUSHES_A_BOX or rooms == _MOST_ROOMS:
            break
        if pushes_a_box >= _FEWEST_PUSHES_A_BOX and rooms >= _ROOMS:
            break
    if best is None:
        return None
    maze, (boxes, reach, *_) = best.maze, best.farthest
    found = search(maze, boxes, reach, successors=ByPushes, max_states=_KEPT_TO_SOLVE)
    player = chance.pick(list(cells_in(reach)))
    return Draft(maze, boxes, player, found.plan or best.farthest.plan())


def _in_range(
    request: Request, chance: Chance, attempts: Iterator[_Attempt], work: Work
) -> Draft | None:
    """A position in range, looked for on the way to the farthest of one room after another.

    What a position needs rises by one push at most from pull to pull, and mostly does, so that one
    in range is found by halving the way.
    """
    fewest = request.pushes[0] if request.pushes else 1
    for attempt in attempts:
        way = attempt.farthest.way()[::-1]
        low, high = fewest, len(way) - 1
        while low <= high and work.left > 0:
            middle = (low + high + chance.below(2)) // 2
            position = way[middle]
            player = chance.pick(list(cells_in(position.reach)))
            order, plan = _measure(request, attempt.maze, position, player, work)
            if order == 0 and attempt.fits(position):
                return Draft(attempt.maze, position.boxes, player, plan)
            if order > 0:
                high = middle - 1
            else:
                low = middle + 1
    return None


def _measure(
    request: Request, maze: Maze, position: Position, player: int, work: Work
) -> tuple[int, list[Push]]:
    """Whether a position needs too little (-1), too much (1) or is in range (0), and its solution.

    What cannot be measured with the work allowed counts as too much.
    """
    boxes, pushes, moves = position.boxes, request.pushes or (1, UNREACHABLE), request.moves
    work.spend(request.boxes * request.rows * request.columns // 200)

    found = _solve(maze, boxes, position.reach, ByPushes, pushes[1], work)
    order = _order(found, pushes)
    if order or not moves or found.plan is None:
        return order, found.plan or []
    # No more moves are needed than this solution has, which is told sooner than the fewest.
    if len(lurd_of(maze, player, boxes, found.plan)) < moves[0]:
        return -1, []
    found = _solve(maze, boxes, 1 << player, ByMoves, moves[1], work)
    return _order(found, moves), found.plan or []


def _solve(
    maze: Maze, boxes: int, player: int, successors: type[Successors], most: int, work: Work
) -> Found:
    kept = min(_KEPT_TO_MEASURE, work.left)
    found = search(maze, boxes, player, successors=successors, max_states=kept, most=most)
    work.spend(found.kept)
    return found


def _order(found: Found, wanted: Range) -> int:
    if found.plan is None or found.cost > wanted[1]:
        return 1
    return -1 if found.cost < wanted[0] else 0
