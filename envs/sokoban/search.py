"""A* over pushes: the cheapest plan from a position to one that is solved, within given limits.

It works on a maze and sets of cells, and knows nothing of levels, boards and LURD. What is cheap is
the caller's choice of successors: pushes alone count, or the walks between them as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from envs.sokoban.deadlocks import frozen
from envs.sokoban.matching import Matching, after_push, match
from envs.sokoban.maze import Maze, cells_in
from envs.sokoban.walks import Push

# Beyond this many boxes even the first bound takes long, and no search has a chance.
MOST_BOXES = 128


class Found(NamedTuple):
    """What a search came to.

    Attributes:
        plan: the cheapest; None where there is none (`complete`), or none within the limits.
        cost: the plan's cost, 0 without one.
        expanded, kept: how many positions were expanded, and how many were seen.
    """

    plan: list[Push] | None
    complete: bool
    cost: int = 0
    expanded: int = 0
    kept: int = 0


class _Node(NamedTuple):
    cost: int
    parent: _Node | None
    push: Push


class Bounds:
    """Lower bounds on the pushes that a set of boxes still needs; None says it is lost.

    Each set is worked out once, from the one that a push has made it of.
    """

    def __init__(self, maze: Maze, boxes: int) -> None:
        self._maze = maze
        lost = boxes & ~maze.live or frozen(maze, boxes) & ~maze.targets
        self._known: dict[int, Matching | None] = {boxes: None if lost else match(maze, boxes)}

    def __getitem__(self, boxes: int) -> Matching | None:
        return self._known[boxes]

    def after_push(self, before: int, after: int, cell: int, to: int) -> Matching | None:
        """The bound for `after`, made of `before` (not lost) by pushing a box from cell to cell."""
        if after in self._known:
            return self._known[after]
        matching = self._known[before]
        if matching is not None:
            lost = frozen(self._maze, after) & ~self._maze.targets
            matching = None if lost else after_push(self._maze, matching, cell, to)
        self._known[after] = matching
        return matching


# A position one push on: its boxes, where the player is, what it cost to get there, the push, and
# the bound.
Step = tuple[int, int, int, Push, int]


class Successors(Protocol):
    """The positions one push on from boxes, where the player is, and what it cost to get here."""

    def __init__(self, maze: Maze, bounds: Bounds) -> None: ...

    def __call__(self, boxes: int, player: int, cost: int) -> Iterator[Step]: ...


class ByPushes:
    """Successors at a cost of one a push; where the player is, is all that he can reach."""

    def __init__(self, maze: Maze, bounds: Bounds) -> None:
        self._maze, self._bounds = maze, bounds

    def __call__(self, boxes: int, player: int, cost: int) -> Iterator[Step]:
        maze, after_push = self._maze, self._bounds.after_push
        stride, enterable = maze.stride, maze.live & ~boxes
        for step, movable in (
            (-stride, boxes & player >> stride & enterable << stride),
            (stride, boxes & player << stride & enterable >> stride),
            (-1, boxes & player >> 1 & enterable << 1),
            (1, boxes & player << 1 & enterable >> 1),
        ):
            for cell in cells_in(movable):
                left, entered = 1 << cell, 1 << cell + step
                after = boxes ^ left ^ entered
                bound = after_push(boxes, after, cell, cell + step)
                if bound is not None:
                    reach = maze.reach_after_push(player, left, entered, after)
                    yield after, reach, 1, (cell, step), bound.pushes


class ByMoves:
    """Successors at the cost of the walk and the push; where the player is, is his cell alone."""

    def __init__(self, maze: Maze, bounds: Bounds) -> None:
        self._maze, self._bounds = maze, bounds
        # By boxes: the cost at which the player stood there, and the cells that he reached from
        # there in no more than so many steps.
        self._walks: dict[int, list[tuple[int, list[int]]]] = {}

    def __call__(self, boxes: int, player: int, cost: int) -> Iterator[Step]:
        maze, after_push = self._maze, self._bounds.after_push
        walks = self._walks.setdefault(boxes, [])
        for other_cost, within in walks:
            # Who stood here no later by walking over from there has seen to all that follows.
            if cost >= other_cost and within[min(cost - other_cost, len(within) - 1)] & player:
                return
        stride, enterable = maze.stride, maze.live & ~boxes
        stands = (  # by step: from where a box can be pushed so
            (-stride, (boxes & enterable << stride) << stride),
            (stride, (boxes & enterable >> stride) >> stride),
            (-1, (boxes & enterable << 1) << 1),
            (1, (boxes & enterable >> 1) >> 1),
        )
        wanted = stands[0][1] | stands[1][1] | stands[2][1] | stands[3][1]
        free = maze.floor & ~boxes
        layer, seen, within = player, player, [player]
        while layer:
            if layer & wanted:
                for step, stand in stands:
                    for here in cells_in(layer & stand):
                        cell = here + step
                        left = 1 << cell
                        after = boxes ^ left ^ 1 << cell + step
                        bound = after_push(boxes, after, cell, cell + step)
                        if bound is not None:
                            yield after, left, len(within), (cell, step), bound.pushes
            near = layer << 1 | layer >> 1 | layer << stride | layer >> stride
            layer = near & free & ~seen
            seen |= layer
            within.append(seen)
        walks.append((cost, within))


def search(
    maze: Maze,
    boxes: int,
    player: int,
    *,
    successors: type[Successors],
    max_states: int,
    deadline: float | None = None,
    most: int | None = None,
) -> Found:
    """The cheapest plan that solves this position.

    Positions wait in stacks by cost plus bound, so among equals the deepest goes first. The bound
    falls by no more than a push costs, so a position is at its cheapest when it is expanded.

    Args:
        player: the player's place as `successors` takes it, a set of cells.
        max_states: how many positions to keep at most, which is what bounds the memory.
        deadline: when to stop, by `time.perf_counter`; None is never.
        most: stop where every plan costs more than this; None is never.
    """
    if boxes.bit_count() > MOST_BOXES:
        return Found(None, complete=False)
    bounds = Bounds(maze, boxes)
    first = bounds[boxes]
    if first is None:
        return Found(None, complete=True)
    if most is not None and first.pushes > most:
        return Found(None, complete=False)
    root = _Node(0, None, (0, 0))
    cheapest = {(boxes, player): root}
    lowest = first.pushes
    waiting = {lowest: [(boxes, player, root)]}
    steps_from = successors(maze, bounds)
    expanded = 0
    while waiting:
        stack = waiting[lowest]
        if not stack:
            del waiting[lowest]
            lowest = min(waiting, default=0)
            if most is not None and lowest > most:
                return Found(None, False, 0, expanded, len(cheapest))
            continue
        boxes, player, node = stack.pop()
        if cheapest[boxes, player] is not node:
            continue
        if boxes == maze.targets:
            return Found(_plan(node), True, node.cost, expanded, len(cheapest))
        late = deadline is not None and time.perf_counter() > deadline
        if late or len(cheapest) > max_states:
            return Found(None, False, 0, expanded, len(cheapest))
        expanded += 1
        for after, there, cost, push, bound in steps_from(boxes, player, node.cost):
            total = node.cost + cost
            known = cheapest.get((after, there))
            if known is None or known.cost > total:
                child = cheapest[after, there] = _Node(total, node, push)
                waiting.setdefault(total + bound, []).append((after, there, child))
    return Found(None, True, 0, expanded, len(cheapest))


def _plan(node: _Node) -> list[Push]:
    plan = []
    while node.parent is not None:
        plan.append(node.push)
        node = node.parent
    return plan[::-1]
