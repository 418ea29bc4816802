"""From a seed to a level that is solvable, is not solved, and is as hard as wanted.

A room is carved (`room.py`), targets are laid into it, the boxes are pulled away from them
(`retreat.py`), and the solver measures what came out (`draft.py`). Here are the arguments, their
errors, and the drawing of the level. The same arguments give the same level in every process, on
every platform and Python version: nothing looks at a clock, at `hash`, or at the order of a set.
"""

from __future__ import annotations

from operator import index

from envs.sokoban.board import (
    BOX,
    BOX_ON_TARGET,
    EDGE,
    FLOOR,
    PLAYER,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
    Board,
)
from envs.sokoban.draft import Draft, Range, Request, draft
from envs.sokoban.level import LARGEST, Level, LevelError, check_board
from envs.sokoban.maze import cells_in
from envs.sokoban.walks import lurd_of

SMALLEST = 3
MOST_BOXES = 32

_WHERE = "level generator"


def generate_level(
    seed: int,
    rows: int = 10,
    columns: int = 10,
    boxes: int = 4,
    *,
    pushes: Range | None = None,
    moves: Range | None = None,
) -> Level:
    """A solvable level; the same one whenever and wherever the arguments are the same.

    No box starts on a target, unless the board or the range leaves no other way. With a range of
    moves the level's `solution` has the fewest moves. Otherwise it has the fewest pushes, proved
    within the range and wherever the solver proves that soon, which is nearly always on boards of
    the usual sizes.

    Args:
        seed: any whole number.
        rows, columns: the board's size, its outer walls included; 3 to 64.
        boxes: how many boxes, and targets; 1 to 32.
        pushes: the fewest pushes that solve the level are to be in this range, (low, high), both
            included.
        moves: the same of the fewest moves; pushes count as moves too.

    Raises:
        LevelError: an argument is out of bounds, or no such level was found in as much work as
            takes a second or two.
    """
    request = Request(
        _whole("seed", seed),
        _whole("rows", rows, SMALLEST, LARGEST),
        _whole("columns", columns, SMALLEST, LARGEST),
        _whole("boxes", boxes, 1, MOST_BOXES),
        _range("pushes", pushes),
        _range("moves", moves),
    )
    drafted = draft(request) if _conceivable(request) else None
    if drafted is None:
        raise _not_found(request)
    return _level(request, drafted)


def _whole(name: str, value: int, low: int | None = None, high: int | None = None) -> int:
    try:
        number = index(value)
    except TypeError:
        what = f"{name} is {value!r}"
        raise LevelError(what, where=_WHERE, remedy="Give a whole number") from None
    if low is not None and high is not None and not low <= number <= high:
        what = f"{name} is {number}"
        raise LevelError(what, where=_WHERE, remedy=f"Choose {name} from {low} to {high}")
    return number


def _range(name: str, value: Range | None) -> Range | None:
    if value is None:
        return None
    try:
        low, high = map(index, value)
    except (TypeError, ValueError):
        low, high = 1, 0
    if not 1 <= low <= high:
        remedy = "Give two whole numbers, the least and the most, such as (8, 12); at least 1"
        raise LevelError(f"{name} is {value!r}", where=_WHERE, remedy=remedy)
    return low, high


def _conceivable(request: Request) -> bool:
    """Whether it is worth a try.

    A push takes three cells in line, and is a move too; each box, the player and a target that is
    free take a cell.
    """
    rows, columns = request.rows - 2, request.columns - 2
    if request.pushes and request.moves and request.pushes[0] > request.moves[1]:
        return False
    return max(rows, columns) >= 3 and rows * columns >= request.boxes + 2


def _boxes(request: Request) -> str:
    return "1 box" if request.boxes == 1 else f"{request.boxes} boxes"


def _not_found(request: Request) -> LevelError:
    wanted, remedy = _boxes(request), "Take a larger board or fewer boxes"
    for name, limits in (("pushes", request.pushes), ("moves", request.moves)):
        if limits:
            wanted += f" and {limits[0]} to {limits[1]} {name}"
    if request.pushes or request.moves:
        remedy = "Widen the range, take another seed, or change the size or the number of boxes"
    size = f"{request.rows} rows and {request.columns} columns"
    return LevelError(f"found no level of {size} with {wanted}", where=_WHERE, remedy=remedy)


def _level(request: Request, drafted: Draft) -> Level:
    maze, boxes, player, plan = drafted
    cells = bytearray([WALL] * request.columns + [EDGE]) * request.rows
    for kind, kind_on_target, where in (
        (FLOOR, TARGET, maze.floor),
        (BOX, BOX_ON_TARGET, boxes),
        (PLAYER, PLAYER_ON_TARGET, 1 << player),
    ):
        for cell in cells_in(where):
            cells[cell] = kind_on_target if maze.targets >> cell & 1 else kind
    on_target = (boxes & maze.targets).bit_count()
    board = Board(bytes(cells), maze.stride, player, request.boxes, on_target)
    check_board(board)
    title = f"{request.rows}x{request.columns}, {_boxes(request)}, seed {request.seed}"
    return Level(board, title=title, solution=lurd_of(maze, player, boxes, plan))
