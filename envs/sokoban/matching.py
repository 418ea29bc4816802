"""Which box goes to which target at the least cost: the bound that steers search and generator.

The cost of a pair is the pushes that the box would need if it were alone, so the sum is never more
than the real number of pushes. It knows nothing of the player.
"""

from __future__ import annotations

from typing import NamedTuple

from envs.sokoban.maze import UNREACHABLE, Maze, cells_in

_NO_BOX = -1


class Matching(NamedTuple):
    """A least-cost pairing of boxes and targets, with what makes the next one cheap to find.

    Attributes:
        pushes: the sum of the costs.
        boxes: by target in reading order, the cell of the box that goes there.
        box_prices, target_prices: by target, the dual prices of the box that goes there and of the
            target itself. A box's and a target's price add up to no more than their cost, and to
            just that where they are paired, which proves the pairing cheapest.
    """

    pushes: int
    boxes: list[int]
    box_prices: list[int]
    target_prices: list[int]


def match(maze: Maze, boxes: int) -> Matching | None:
    """The cheapest pairing of these boxes, as many as targets; None if a target stays empty."""
    size = maze.targets.bit_count()
    paired, box_prices, target_prices = [_NO_BOX] * size, [0] * size, [0] * size
    for box in cells_in(boxes):
        _pair(maze, box, paired, box_prices, target_prices)
    return _summed(maze, paired, box_prices, target_prices)


def after_push(maze: Maze, matching: Matching, cell: int, to: int) -> Matching | None:
    """The cheapest pairing after a box was pushed from `cell` to the next one, or None as above.

    One push brings no target nearer by more than one. So where the box has come nearer to its own
    target, the same pairing is still the cheapest.
    """
    target = matching.boxes.index(cell)
    if maze.distances[to][target] != maze.distances[cell][target] - 1:
        return after_move(maze, matching, cell, to)
    boxes, box_prices = matching.boxes.copy(), matching.box_prices.copy()
    boxes[target] = to
    box_prices[target] -= 1
    return Matching(matching.pushes - 1, boxes, box_prices, matching.target_prices)


def after_move(maze: Maze, matching: Matching, cell: int, to: int) -> Matching | None:
    """The cheapest pairing after one box went from `cell` to any other, or None as for `match`."""
    boxes, box_prices = matching.boxes.copy(), matching.box_prices.copy()
    target_prices = matching.target_prices.copy()
    boxes[boxes.index(cell)] = _NO_BOX
    _pair(maze, to, boxes, box_prices, target_prices)
    return _summed(maze, boxes, box_prices, target_prices)


def _summed(
    maze: Maze, boxes: list[int], box_prices: list[int], target_prices: list[int]
) -> Matching | None:
    pushes = 0
    for target, box in enumerate(boxes):
        pushes += maze.distances[box][target]
    if pushes >= UNREACHABLE:
        return None
    return Matching(pushes, boxes, box_prices, target_prices)


def _pair(
    maze: Maze, box: int, boxes: list[int], box_prices: list[int], target_prices: list[int]
) -> None:
    """Bring in one box, in place: the Hungarian method's step, shortest path by slack.

    `boxes` holds _NO_BOX at one target at least. The path starts at the new box and goes from a
    target to the box that holds it, until it meets a target that is free.
    """
    distances, size = maze.distances, len(boxes)
    slack = [UNREACHABLE << 20] * size  # by target: the shortest path's length to it so far
    came_from = [_NO_BOX] * size  # by target: the target before it on that path
    open_targets = list(range(size))
    passed: list[int] = []

    row, before, length = distances[box], _NO_BOX, 0
    new_price = price = min(map(int.__sub__, row, target_prices))
    while True:
        nearest, shortest = _NO_BOX, UNREACHABLE << 21
        for target in open_targets:
            through = length + row[target] - price - target_prices[target]
            if through < slack[target]:
                slack[target], came_from[target] = through, before
            if slack[target] < shortest:
                nearest, shortest = target, slack[target]
        length = shortest
        if boxes[nearest] == _NO_BOX:
            break
        passed.append(nearest)
        open_targets.remove(nearest)
        row, price, before = distances[boxes[nearest]], box_prices[nearest], nearest

    for target in passed:
        box_prices[target] += length - slack[target]
        target_prices[target] -= length - slack[target]
    target = nearest
    while (before := came_from[target]) != _NO_BOX:
        boxes[target], box_prices[target] = boxes[before], box_prices[before]
        target = before
    boxes[target], box_prices[target] = box, new_price + length
